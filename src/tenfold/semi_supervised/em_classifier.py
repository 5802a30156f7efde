"""EM for generative classifiers: rows without a label count for each class by its probability."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.base._sklearn import HasMethods, Interval, check_sample_weight
from tenfold.ensemble._members import Saveable
from tenfold.math.links import log_sum_exp, softmax
from tenfold.optim.convergence import until_converged
from tenfold.semi_supervised._labels import mark_unlabeled, split_rows


class EMClassifier(Saveable, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""A generative classifier that learns from rows with and without labels.

    EM climbs the likelihood of all rows,

    .. math::
        \sum_{i \in L} \log \pi_{y_i} p(x_i \mid y_i)
        + \lambda \sum_{i \in U} \log \sum_c \pi_c \, p(x_i \mid c)

    The E step computes :math:`p(c \mid x_i)` of rows without a label, the M step fits the
    classifier to all rows, in which such a row stands once for each class with this weight. The
    first classifier is fitted to the rows with labels alone.

    Where classes have not the shape that the model assumes, unlabeled rows can harm: compare with
    `unlabeled_weight=0` on held-out rows with labels.

    Parameters
    ----------
    estimator : classifier with `predict_joint_log_proba`
        `MultinomialNB`, `GaussianNB`, `LinearDiscriminantAnalysis` and other models by Bayes' rule.
    unlabeled_weight : float
        :math:`\lambda`, how much a row without a label counts.
    max_iter : int
        Most iterations.
    tol : float
        Relative change of the objective below which iterations end.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : (n_classes,) labels
    transduction_ : (n,) labels of all rows: given, or the most probable
    n_iter_, converged_, history_ : iterations, whether the last change was below `tol`, and the
        objective after each; none are needed if all rows have a label

    See Also
    --------
    SelfTrainingClassifier : Any classifier with probabilities, and labels instead of shares.

    References
    ----------
    Nigam, K., McCallum, A., Thrun, S. and Mitchell, T. (2000). Text classification from labeled and
    unlabeled documents using EM.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import EMClassifier, GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> known = np.where(np.arange(150) % 25 == 0, y, -1)
    >>> model = EMClassifier(GaussianNB(var_smoothing=1e-3)).fit(X, known)
    >>> model.converged_, bool(model.score(X, y) > 0.85)
    (True, True)
    """

    _parameter_constraints: dict[str, Any] = {
        "estimator": [HasMethods(["fit", "predict_joint_log_proba"])],
        "unlabeled_weight": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        unlabeled_weight: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.estimator = estimator
        self.unlabeled_weight = unlabeled_weight
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows of which some have a label.

        Parameters
        ----------
        X : array or sparse matrix
            The rows.
        y : (n,) array
            Labels; -1, None or NaN for rows without.
        sample_weight : (n,) array, optional
            Weight of each row.

        Returns
        -------
        self
        """
        self._validate_params()
        y = mark_unlabeled(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", ensure_all_finite=False)
        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        labeled, others = split_rows(y)
        known = X[labeled], y[labeled].astype(_plain_dtype(y[labeled])), w[labeled]
        unknown = X[others], self.unlabeled_weight * w[others]
        self.estimator_ = self._copy().fit(*known)
        self.classes_ = self.estimator_.classes_
        self.n_iter_, self.converged_, self.history_ = 0, True, {}
        if len(others):
            self._iterate(known, unknown)
        self.transduction_ = y.copy()
        if len(others):
            self.transduction_[others] = self.estimator_.predict(unknown[0])
        if hasattr(self, "feature_names_in_"):  # the classifier was fitted to bare arrays
            self.estimator_.feature_names_in_ = self.feature_names_in_
        return self

    def _copy(self) -> Any:
        return clone(self.estimator)

    def _iterate(self, known: tuple, unknown: tuple) -> None:
        start = softmax(self.estimator_.predict_joint_log_proba(unknown[0]))
        loop = until_converged(start, tol=self.tol, max_iter=self.max_iter)
        for shares in loop:
            model = self._maximize(known, unknown, shares)
            logs = model.predict_joint_log_proba(unknown[0])
            objective = _log_likelihood(model, known, logs, unknown[1])
            before = loop.objectives[-1] if loop.objectives else -np.inf
            change = abs(objective - before) / max(abs(objective), 1.0)
            loop.update(softmax(logs), objective=objective, change=change)
        self.estimator_ = self._maximize(known, unknown, loop.state)  # also after a resumed loop
        for name, value in loop.report.items():
            setattr(self, name, value)
        if not loop.converged:
            warnings.warn(
                f"EMClassifier did not converge in {loop.n_iter} iterations: raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _maximize(self, known: tuple, unknown: tuple, shares: np.ndarray) -> Any:
        """The classifier of all rows, those without a label once for each class."""
        X, y, w = known
        rows = [X] + [unknown[0]] * len(self.classes_)
        stack: Any = sparse.vstack(rows).tocsr() if sparse.issparse(X) else np.concatenate(rows)
        labels = np.concatenate([y, np.repeat(self.classes_, len(shares))])
        weights = np.concatenate([w, (shares * unknown[1][:, None]).T.ravel()])
        return self._copy().fit(stack, labels, weights)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class for each row, (n, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _plain_dtype(labels: np.ndarray) -> Any:
    """The type of labels without that of the mark beside them."""
    return np.array(labels.tolist()).dtype if labels.dtype.kind == "O" else labels.dtype


def _log_likelihood(model: Any, known: tuple, logs: np.ndarray, weights: np.ndarray) -> float:
    X, y, w = known
    own = model.predict_joint_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(w @ own) + float(weights @ log_sum_exp(logs))
