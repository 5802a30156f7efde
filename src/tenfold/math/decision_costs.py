"""Cost-sensitive decisions: expected cost, the decision of least cost, thresholds, cost reports.

A cost matrix has a row for each true class and a column for each decision. There may be other
decisions than the classes, and more of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.math.labels import encode_labels
from tenfold.math.links import as_float_array


def expected_cost(probabilities: Any, costs: Any) -> np.ndarray:
    """Expected cost sum_c p(c) cost(c, d) of each decision d, (n_rows, n_decisions).

    Examples
    --------
    >>> expected_cost([[0.75, 0.25]], [[0, 10], [100, 0]]).tolist()
    [[25.0, 7.5]]
    """
    return as_float_array(probabilities) @ check_cost_matrix(costs)


def least_cost_decision(probabilities: Any, costs: Any) -> np.ndarray:
    """Index of the decision of least expected cost (the Bayes decision); the first on a tie.

    Examples
    --------
    A thief is unlikely, but a false alarm costs 10 and a missed thief 100:

    >>> least_cost_decision([[0.95, 0.05], [0.9, 0.1]], [[0, 10], [100, 0]]).tolist()
    [0, 1]
    """
    return expected_cost(probabilities, costs).argmin(axis=-1)


def decision_threshold(costs: Any) -> float:
    """Probability of the second of two classes above which the second decision is the better one.

    Examples
    --------
    An alarm at 1/11, and treatment from x-rays at 1/1001:

    >>> (
    ...     round(decision_threshold([[0, 10], [100, 0]]), 6),
    ...     round(decision_threshold([[0, 1], [1000, 0]]), 6),
    ... )
    (0.090909, 0.000999)
    """
    false_alarm, miss = cost_class_weights(costs)
    return float(false_alarm / (false_alarm + miss))


def cost_class_weights(costs: Any) -> np.ndarray:
    """Cost of an error in each of two classes, for use as class weights.

    A classifier that is trained with these weights decides at probability 1/2 as one without them
    does at `decision_threshold(costs)`.

    Examples
    --------
    >>> cost_class_weights([[0, 10], [100, 0]]).tolist()
    [10.0, 100.0]
    """
    costs = check_cost_matrix(costs)
    if costs.shape != (2, 2):
        raise ValueError(f"this is for two classes and two decisions, not for {costs.shape}")
    regret = np.array([costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]])
    if not (regret > 0).all():
        raise ValueError("the right decision must cost less than the wrong one, in both rows")
    return regret


def check_cost_matrix(costs: Any) -> np.ndarray:
    """Costs as a matrix of finite numbers."""
    costs = np.asarray(costs, float)
    if costs.ndim != 2 or not np.isfinite(costs).all():
        raise ValueError("costs must be a matrix of finite numbers: true classes x decisions")
    return costs


class CostReport(NamedTuple):
    """Cost of decisions that were made.

    Attributes
    ----------
    counts : (n_classes, n_decisions) weight of the rows of each true class with each decision
    costs : (n_classes, n_decisions) cost of each such row
    """

    counts: np.ndarray
    costs: np.ndarray

    @property
    def total(self) -> float:
        """Cost of all rows."""
        return float((self.counts * self.costs).sum())

    @property
    def mean(self) -> float:
        """Cost per row."""
        return self.total / float(self.counts.sum())

    @property
    def by_class(self) -> np.ndarray:
        """Cost per row of each true class, (n_classes,); 0 for a class without rows."""
        rows = self.counts.sum(axis=1)
        return (self.counts * self.costs).sum(axis=1) / np.where(rows > 0, rows, 1)

    @property
    def constant(self) -> np.ndarray:
        """Cost per row of always making the same decision, for each decision, (n_decisions,)."""
        return self.counts.sum(axis=1) @ self.costs / self.counts.sum()


def cost_report(
    y: Any,
    decisions: Any,
    costs: Any,
    *,
    classes: Any = None,
    labels: Any = None,
    weights: Any = None,
) -> CostReport:
    """Count the decisions in each true class, and their cost.

    Parameters
    ----------
    y, decisions : (n_rows,) arrays
        True classes, and decisions.
    costs : (n_classes, n_decisions) array
        Cost of each decision in each true class.
    classes : (n_classes,) array, optional
        True classes in the order of the rows of `costs`; the sorted labels of y by default.
    labels : (n_decisions,) array, optional
        Decisions in the order of its columns; the classes by default.
    weights : (n_rows,) array, optional
        Weight of each row.

    Examples
    --------
    >>> report = cost_report([0, 0, 1, 1], [0, 1, 1, 0], [[0, 10], [100, 0]])
    >>> report.counts.tolist(), report.total, report.mean, report.constant.tolist()
    ([[1.0, 1.0], [1.0, 1.0]], 110.0, 27.5, [50.0, 5.0])
    """
    costs = check_cost_matrix(costs)
    classes = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
    labels = classes if labels is None else np.asarray(labels)
    if costs.shape != (len(classes), len(labels)):
        raise ValueError(
            f"costs have shape {costs.shape}, but there are {len(classes)} classes and "
            f"{len(labels)} decisions: give classes= and labels="
        )
    counts = np.zeros(costs.shape)
    cells = encode_labels(y, classes), encode_labels(decisions, labels)
    np.add.at(counts, cells, 1.0 if weights is None else np.asarray(weights, float))
    return CostReport(counts, costs)
