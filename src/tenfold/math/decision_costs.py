"""Cost-sensitive decisions: expected cost, the decision of least cost, thresholds, cost reports.

A cost matrix has a row for each true class and a column for each decision. Decisions may be other
than the classes, and more. [000, 1.1; 001, 1.3]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.math.labels import encode_labels
from tenfold.math.links import as_float_array


def expected_cost(probabilities: Any, costs: Any) -> np.ndarray:
    """Expected cost sum_c p(c) cost(c, d) of each decision d, (n, k) and (k, m) -> (n, m).

    Examples
    --------
    >>> expected_cost([[0.75, 0.25]], [[0, 10], [100, 0]]).tolist()
    [[25.0, 7.5]]
    """
    return as_float_array(probabilities) @ check_cost_matrix(costs)


def least_cost_decision(probabilities: Any, costs: Any) -> np.ndarray:
    """Number of the decision of least expected cost; the first of equally good ones.

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
    An alarm at 1/11, and treatment from x-rays at 1/1001 [001, Ex. 1.3.1]:

    >>> (
    ...     round(decision_threshold([[0, 10], [100, 0]]), 6),
    ...     round(decision_threshold([[0, 1], [1000, 0]]), 6),
    ... )
    (0.090909, 0.000999)
    """
    false_alarm, miss = cost_class_weights(costs)
    return float(false_alarm / (false_alarm + miss))


def cost_class_weights(costs: Any) -> np.ndarray:
    """What a mistake in each of two classes costs: as weights of a training, they build costs in.

    A classifier that was trained with them decides at probability 1/2 as one without them does at
    `decision_threshold(costs)`.

    Examples
    --------
    >>> cost_class_weights([[0, 10], [100, 0]]).tolist()
    [10.0, 100.0]
    """
    costs = check_cost_matrix(costs)
    if costs.shape != (2, 2):
        raise ValueError(f"this is for two classes and two decisions, not for {costs.shape}")
    lost = np.array([costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]])
    if not (lost > 0).all():
        raise ValueError("the right decision must cost less than the wrong one, in both rows")
    return lost


def check_cost_matrix(costs: Any) -> np.ndarray:
    """Costs as a matrix of finite numbers."""
    costs = np.asarray(costs, float)
    if costs.ndim != 2 or not np.isfinite(costs).all():
        raise ValueError("costs must be a matrix of finite numbers: true classes x decisions")
    return costs


class CostReport(NamedTuple):
    """What decisions have cost.

    Attributes
    ----------
    counts : (k, m) weight of the rows of each true class that got each decision
    costs : (k, m) cost of each such row
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
        """Cost per row of each true class, (k,); 0 for a class without rows."""
        rows = self.counts.sum(axis=1)
        return (self.counts * self.costs).sum(axis=1) / np.where(rows > 0, rows, 1)

    @property
    def constant(self) -> np.ndarray:
        """Cost per row if the same decision were taken always, for each decision, (m,)."""
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
    """Count which decisions were taken in which true class, and what they cost.

    Parameters
    ----------
    y, decisions : (n,) arrays
        True classes, and what was decided.
    costs : (k, m) array
        Cost of each decision in each true class.
    classes : (k,) array, optional
        True classes in the order of the rows of `costs`; the sorted labels of y by default.
    labels : (m,) array, optional
        Decisions in the order of its columns; the classes by default.
    weights : (n,) array, optional
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
