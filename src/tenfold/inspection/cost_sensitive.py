"""Cost-sensitive decisions from the probabilities of any classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from tenfold.math.decision_costs import (
    CostReport,
    check_cost_matrix,
    cost_report,
    decision_threshold,
    expected_cost,
)


class CostSensitiveClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""Decide at the least expected cost under the probabilities of another classifier.

    .. math:: d(x) = \arg\min_d \sum_c p(c \mid x)\, \mathrm{cost}(c, d)

    This is the Bayes decision rule, which has the least expected cost if the probabilities are
    right; calibrate a classifier with poor ones. With a cost of 1 for each error it predicts the
    most probable class. `score` is minus the mean cost, so that a search over parameters selects by
    cost.

    Parameters
    ----------
    estimator : classifier
        A model with `predict_proba`, of tenfold or scikit-learn. It gets X and y as they are given:
        arrays, tables, files.
    costs : (n_classes, n_decisions) array, optional
        Cost of each decision (column) in each true class (row), classes in sorted order; 1 for
        each error by default.
    decisions : (n_decisions,) array, optional
        Names of the decisions, if they are not the classes.
    reject : float or (n_classes,) array, optional
        Cost of rejecting a row, that is of leaving the decision to a human (in each class).
    reject_label : optional
        Output of `predict` for rejected rows; by default -1, or "rejected" for string labels.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : (n_classes,) labels
    decisions_ : (n_decisions,) possible outputs of `predict`
    costs_ : (n_classes, n_decisions) costs, including that of rejecting

    See Also
    --------
    LogisticRegression, GaussianNB

    References
    ----------
    Elkan, C. (2001). The Foundations of Cost-Sensitive Learning.
    Chow, C. K. (1970). On Optimum Recognition Error and Reject Tradeoff.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> costs = [[0, 10], [1, 0]]  # a missed tumor costs ten false alarms
    >>> model = CostSensitiveClassifier(LogisticRegression(), costs).fit(X, y)
    >>> model.report(X, y).counts.astype(int).tolist(), round(model.threshold_, 3)
    ([[211, 1], [35, 322]], 0.909)
    >>> model.set_params(reject=0.5).fit(X, y).report(X, y).counts.astype(int).tolist()
    [[207, 1, 4], [2, 310, 45]]
    """

    def __init__(
        self,
        estimator: Any,
        costs: Any = None,
        *,
        decisions: Any = None,
        reject: Any = None,
        reject_label: Any = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.decisions = decisions
        self.reject = reject
        self.reject_label = reject_label

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X, y, sample_weight :
            Whatever the classifier takes; weights are passed on only if they are given.
        **fit_params :
            Passed to its `fit`.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"{type(self.estimator).__name__} has no predict_proba: wrap it in "
                "sklearn.calibration.CalibratedClassifierCV"
            )
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        model: Any = clone(self.estimator)
        self.estimator_ = model.fit(X, y, **fit_params)
        self.classes_ = self.estimator_.classes_
        self._set_costs()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _set_costs(self) -> None:
        k = len(self.classes_)
        costs = 1 - np.eye(k) if self.costs is None else check_cost_matrix(self.costs)
        decisions = self.classes_ if self.decisions is None else np.asarray(self.decisions)
        if costs.shape != (k, len(decisions)):
            raise ValueError(
                f"costs must have a row for each of the {k} classes and a column for each of the "
                f"{len(decisions)} decisions, but have shape {costs.shape}; decisions= names others"
            )
        if self.reject is not None:
            costs = np.column_stack([costs, np.broadcast_to(self.reject, k)])
            decisions = _append_label(decisions, self._resolve_reject_label(decisions))
        self.costs_, self.decisions_ = costs, decisions

    def _resolve_reject_label(self, decisions: np.ndarray) -> Any:
        default = -1 if decisions.dtype.kind in "biuf" else "rejected"
        label = default if self.reject_label is None else self.reject_label
        if label in decisions.tolist():
            raise ValueError(f"reject_label={label!r} is a decision already: choose another")
        return label

    @property
    def threshold_(self) -> float:
        """Probability of the second of two classes above which it is predicted."""
        check_is_fitted(self)
        return decision_threshold(self.costs_)

    def predict(self, X: Any) -> np.ndarray:
        """The decision of least expected cost for each row, (n,).

        Parameters
        ----------
        X : whatever the classifier takes
            The rows.
        """
        cheapest = self.expected_cost(X).argmin(axis=1)
        return self.decisions_[cheapest]

    def expected_cost(self, X: Any) -> np.ndarray:
        """Expected cost of each decision for each row, (n, n_decisions).

        Parameters
        ----------
        X : whatever the classifier takes
            The rows.
        """
        return expected_cost(self.predict_proba(X), self.costs_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, n_classes), from the classifier.

        Parameters
        ----------
        X : whatever the classifier takes
            The rows.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def report(self, X: Any, y: Any, sample_weight: Any = None) -> CostReport:
        """Decisions by true class, and their costs.

        Parameters
        ----------
        X : whatever the classifier takes
            The rows.
        y, sample_weight : (n,) arrays
            True classes, and weights.
        """
        decisions = self.predict(X)
        return cost_report(
            y,
            decisions,
            self.costs_,
            classes=self.classes_,
            labels=self.decisions_,
            weights=sample_weight,
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean cost of the decisions.

        Parameters
        ----------
        X : whatever the classifier takes
            The rows.
        y, sample_weight : (n,) arrays
            True classes, and weights.
        """
        return -self.report(X, y, sample_weight).mean

    def save(self, path: str | Path) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist.model_file import save

        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _append_label(decisions: np.ndarray, label: Any) -> np.ndarray:
    """The decisions and one more; as objects if one type does not hold them all."""
    together = np.append(decisions, label)
    if together.dtype.kind == decisions.dtype.kind:
        return together
    return np.append(decisions.astype(object), np.array([label], dtype=object))
