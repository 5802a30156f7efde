"""Least squares on one-hot targets: a linear discriminant for each class, the largest wins."""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.mixins import encode_row_labels
from tenfold.base.one_pass import OnePassClassifier
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import choose_origin, has_cancellation
from tenfold.linear._base import linear_score
from tenfold.linear._least_squares_solvers import (
    LeastSquaresProblem,
    ThinSVD,
    centered_qr,
    is_well_conditioned,
    problem_from_moments,
    solve_least_squares,
    thin_svd,
    with_triangular_factor,
)
from tenfold.linear._thresholds import MAX_SPARSE_GRAM_COLUMNS
from tenfold.stats.moments import GramStatistic, Moments, TriangularFactor, gram_statistic


class ClassMeansAndMoments(NamedTuple):
    """Weight and mean of each class, and the moments of all rows.

    Attributes
    ----------
    n, mean : (k,) and (k, p)
    moments : moments of X over all classes
    """

    n: np.ndarray
    mean: np.ndarray
    moments: Moments

    def merge(self, other: ClassMeansAndMoments) -> ClassMeansAndMoments:
        n = self.n + other.n
        share = (other.n / np.where(n > 0, n, 1.0))[:, None]
        mean = self.mean + share * (other.mean - self.mean)
        return ClassMeansAndMoments(n, mean, self.moments.merge(other.moments))

    def expand_to_classes(self, places: np.ndarray, k: int) -> ClassMeansAndMoments:
        """The same statistic for k classes, of which these have the numbers `places`."""
        n, mean = np.zeros(k), np.zeros((k, self.mean.shape[1]))
        n[places], mean[places] = self.n, self.mean
        return ClassMeansAndMoments(n, mean, self.moments)

    def with_targets(self) -> Moments:
        """Moments of [x y] for one-hot targets y."""
        total, center, scatter, rows = self.moments
        y = self.n / total
        xy = (self.mean - center).T * self.n
        yy = np.diag(self.n) - total * np.multiply.outer(y, y)
        joint = np.block([[scatter, xy], [xy.T, yy]])
        return Moments(total, np.append(center, y), joint, rows)


def _one_hot(chunk: Chunk, k: int) -> np.ndarray:
    """Targets (n, k): 1 in the column of the row's class."""
    return (chunk.y[:, None] == np.arange(k)).astype(chunk.X.dtype)


def _one_hot_sums(chunk: Chunk, origin: np.ndarray | None, k: int) -> GramStatistic:
    """Sums of the rows of a chunk and of their one-hot targets about an origin."""
    return gram_statistic(chunk.X, _one_hot(chunk, k), chunk.w, origin)


def _one_hot_qr(chunk: Chunk, mean: np.ndarray, k: int) -> TriangularFactor:
    """Triangular factor of the rows and their one-hot targets, less their mean."""
    return centered_qr(chunk._replace(y=_one_hot(chunk, k)), mean)


def _class_statistic(rows: Rows, k: int) -> ClassMeansAndMoments:
    """Weights and means of classes, and the moments of all rows; one pass, rarely two."""
    with np.errstate(over="ignore", invalid="ignore"):  # the solvers check that products are finite
        p = rows.n_features
        origin = None if rows.sparse else choose_origin(rows, target=False)
        total = _sum_pass(rows, origin, k)
        if not rows.sparse and has_cancellation(total, rows.dtype, p):
            origin = (0 if origin is None else origin) + total.shift[:p]
            origin = origin.astype(rows.dtype)
            total = _sum_pass(rows, origin, k)
    about = np.zeros(p) if origin is None else origin.astype(np.float64)
    n = total.products[p:-1, -1]
    mean = (about + total.products[p:-1, :p] / np.where(n > 0, n, 1.0)[:, None]) * (n > 0)[:, None]
    n_all, center, scatter, count = total.moments(np.append(about, np.zeros(k)))
    return ClassMeansAndMoments(n, mean, Moments(n_all, center[:p], scatter[:p, :p], count))


def _sum_pass(rows: Rows, origin: np.ndarray | None, k: int) -> GramStatistic:
    padded = None if origin is None else np.append(origin, np.zeros(k, origin.dtype))
    return rows.total(_one_hot_sums, padded, k)


class LeastSquaresClassifier(OnePassClassifier):
    r"""Linear discriminants, one per class, by least squares on one-hot targets.

    .. math:: \min_{W, b} \sum_i \omega_i \lVert W x_i + b - t_i \rVert^2
              + \alpha \lVert W \rVert^2, \qquad \hat y = \arg\max_k (W x + b)_k

    with t the one-hot label. A closed form from one pass; with an intercept the outputs sum to 1.
    Rows far on the right side cost as much as rows on the wrong side, so outliers move the
    boundary: see `LogisticRegression` and `LinearSVC` for losses without that fault. Rows of one
    class alone are fitted too, since models of parts merge; that class is then always predicted.

    Parameters
    ----------
    alpha : float
        Weight of the penalty on the coefficients.
    fit_intercept : bool
        Whether there are intercepts b; they are not penalized.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_ : (n_classes, n_features) coefficients, one discriminant for each class
    intercept_ : (n_classes,) intercepts
    statistic_ : class weights and means, and moments of X, from which all this was computed

    See Also
    --------
    LogisticRegression : A loss that rows far on the right side do not enter.
    LinearDiscriminantAnalysis : The generative counterpart.

    References
    ----------
    * C. M. Bishop (2006). Pattern Recognition and Machine Learning, section 4.1.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.least_squares_classifier import LeastSquaresClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "a", "b", "b"])
    >>> model = LeastSquaresClassifier().fit(X, y)
    >>> model.coef_.round(9).tolist(), model.predict([[1.4], [1.6]]).tolist()
    ([[-0.4], [0.4]], ['a', 'b'])
    """

    _sparse_ok = True
    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, *, alpha: float = 0.0, fit_intercept: bool = True) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if not rows.sparse and rows.n_rows < rows.n_features:
            return self._attributes_from_svd(self._svd(rows), rows.dtype)
        statistic = self._statistic(rows)
        s = statistic.with_targets()
        P = problem_from_moments(s, rows.n_features, rows.dtype, intercept=self.fit_intercept)
        if not rows.sparse and not is_well_conditioned(P, self._alpha, rows.dtype):
            P = self._with_qr(rows, s, P)
        learned = self._solve(P, s, rows.dtype)
        return {**learned, "statistic_": statistic, "dtype_": rows.dtype}

    @property
    def _alpha(self) -> np.ndarray:
        return np.full(len(self.classes_), float(self.alpha))

    def _statistic(self, rows: Rows) -> ClassMeansAndMoments:
        if rows.n_features > MAX_SPARSE_GRAM_COLUMNS and rows.sparse:
            raise ValueError(
                f"least squares keeps a dense Gram matrix; {rows.n_features} columns are too many "
                f"(at most {MAX_SPARSE_GRAM_COLUMNS}). Hash to fewer columns, or take LinearSVC."
            )
        return _class_statistic(rows, len(self.classes_))

    def _finalize(self, statistic: ClassMeansAndMoments, dtype: np.dtype) -> dict[str, Any]:
        s = statistic.with_targets()
        P = problem_from_moments(s, self.n_features_in_, dtype, intercept=self.fit_intercept)
        return self._solve(P, s, dtype)

    def _with_qr(self, rows: Rows, s: Moments, P: LeastSquaresProblem) -> LeastSquaresProblem:
        """The same problem with its triangular factor, from a second pass."""
        mean = s.mean if self.fit_intercept else np.zeros_like(s.mean)
        R = rows.total(_one_hot_qr, mean, len(self.classes_)).R
        return with_triangular_factor(P, R, mean, s.n)

    def _solve(self, P: LeastSquaresProblem, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        p = len(P.AA)
        coef = solve_least_squares(P, self._alpha)
        intercept = s.mean[p:] - s.mean[:p] @ coef if self.fit_intercept else np.zeros(len(coef.T))
        return {"coef_": coef.T.astype(dtype), "intercept_": intercept.astype(dtype)}

    def _has_statistic(self, rows: Rows) -> bool:
        return rows.sparse or rows.n_rows >= rows.n_features

    def _svd(self, rows: Rows) -> ThinSVD:
        chunk = rows.gather()
        targets = _one_hot(chunk, len(self.classes_))
        return thin_svd(Rows(ArraySource(chunk.X, targets, chunk.w)), intercept=self.fit_intercept)

    def _attributes_from_svd(self, svd: ThinSVD, dtype: np.dtype) -> dict[str, Any]:
        coef, intercept = svd.solution(self._alpha)
        learned = {"coef_": coef.T, "intercept_": intercept * self.fit_intercept}
        return {k: v.astype(dtype) for k, v in learned.items()} | {"statistic_": None}

    def _fit_path(self, rows: Rows, settings: list[dict]) -> list[Any] | None:
        """All penalties from one decomposition, where the rows are fewer than the columns."""
        if self._has_statistic(rows) or any(set(s) != {"alpha"} for s in settings):
            return None
        first = copy(self)
        first.classes_, rows = encode_row_labels(rows)
        svd, models = first._svd(rows), [copy(first) for _ in settings]
        for model, setting in zip(models, settings, strict=True):
            model.set_params(**setting)
            model._validate_params()
            model._set_learned(model._attributes_from_svd(svd, rows.dtype))
        return models

    def _scorer(self) -> tuple:
        return linear_score, self.coef_, self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """The discriminants of each row, (n_rows, n_classes); of two, their difference, (n_rows,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._map_rows(X, linear_score, self.coef_, self.intercept_)
        return Z[:, 1] - Z[:, 0] if Z.shape[1] == 2 else Z
