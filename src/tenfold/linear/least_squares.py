"""Ordinary least squares from one pass of second moments, and its base class."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.base.one_pass import OnePass
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.linear._base import LinearRegressor
from tenfold.linear._least_squares_solvers import (
    LeastSquaresProblem,
    ThinSVD,
    conjugate_gradients,
    is_well_conditioned,
    problem_from_moments,
    problem_from_qr,
    solve_least_squares,
    solve_nonnegative,
    thin_svd,
)
from tenfold.linear._thresholds import MAX_SPARSE_GRAM_COLUMNS
from tenfold.math.linalg import to_dense
from tenfold.stats.moments import Moments


class LeastSquaresRegressor(OnePass, LinearRegressor):
    """Base of least-squares regressors, which chooses one of four solvers.

    Conjugate gradients for very wide sparse rows, singular values of the rows where they are fewer
    than the columns, normal equations elsewhere, and QR where these are badly conditioned.
    """

    _sparse_ok = True
    _multi_output = True
    _fits_from_moments = True  # the statistic is the moments of [X y]: see tenfold.model_selection

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        solver = self._solver()
        if solver == "sparse_cg" or self._is_iterative(rows):
            return self._fit_by_conjugate_gradients(rows)
        if self._is_wide(rows):
            return self._fit_by_svd(rows)
        s = self._statistic(rows)
        P = problem_from_moments(s, rows.n_features, rows.dtype, intercept=self.fit_intercept)
        ill = solver == "auto" and not is_well_conditioned(P, self._alpha(P), rows.dtype)
        if (solver == "svd" or ill) and not rows.sparse:
            P = problem_from_qr(rows, s, intercept=self.fit_intercept)
        return {**self._solve(P, s, rows.dtype), "statistic_": s, "dtype_": rows.dtype}

    def _solver(self) -> str:
        """The solver: "auto", "cholesky", "svd" or "sparse_cg"."""
        return "auto"

    def _statistic(self, rows: Rows) -> Moments:
        if self._is_iterative(rows):
            raise ValueError(
                f"partial_fit keeps a dense Gram matrix; {rows.n_features} columns are too many "
                f"(at most {MAX_SPARSE_GRAM_COLUMNS}). Use fit, or hash to fewer columns."
            )
        self._target_shape = rows.target_shape
        return second_moments(rows, target=True)

    def _finalize(self, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        P = problem_from_moments(s, self.n_features_in_, dtype, intercept=self.fit_intercept)
        return self._solve(P, s, dtype)

    def _solve(self, P: LeastSquaresProblem, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        p = len(P.AA)
        coef = (solve_nonnegative if self.positive else solve_least_squares)(P, self._alpha(P))
        return self._shape_attributes(
            coef, s.mean[p:] - s.mean[:p] @ coef, dtype
        ) | self._extra_attributes(P)

    def _statistic_suffices(
        self, s: Moments, n_rows: int, dtype: np.dtype, settings: list[dict]
    ) -> bool:
        if n_rows < self.n_features_in_ and not self.positive:
            return False
        parameters = [vars(self) | setting for setting in settings]
        if any(p.get("solver", "auto") in ("svd", "sparse_cg", "lbfgs") for p in parameters):
            return False
        P = problem_from_moments(s, self.n_features_in_, dtype, intercept=self.fit_intercept)
        smallest = np.min([np.min(p.get("alpha", 0.0)) for p in parameters])
        return is_well_conditioned(P, np.array([smallest]), dtype)

    def _leave_one_out(self, s: Moments) -> tuple | None:
        """Chunk function that predicts each row by the fit without it, and its state."""
        alpha = self._penalties(len(s.mean) - self.n_features_in_)
        if self.positive or len(np.unique(alpha)) > 1:
            return None
        P = problem_from_moments(
            s, self.n_features_in_, np.dtype(np.float64), intercept=self.fit_intercept
        )
        A = solve_least_squares(P._replace(AB=np.eye(len(P.AA))), np.full(len(P.AA), alpha[0]))
        coef = np.atleast_2d(self.coef_).astype(np.float64)
        mean = s.mean[: len(P.AA)] if self.fit_intercept else np.zeros(len(P.AA))
        share = 1 / s.n if self.fit_intercept else 0.0
        return _leave_one_out_predictions, coef, np.atleast_1d(self.intercept_), A, mean, share

    def _fit_by_svd(self, rows: Rows) -> dict[str, Any]:
        self._target_shape = rows.target_shape
        return self._attributes_from_svd(thin_svd(rows, intercept=self.fit_intercept), rows.dtype)

    def _attributes_from_svd(self, svd: ThinSVD, dtype: np.dtype) -> dict[str, Any]:
        alpha = self._penalties(svd.projected.shape[1])
        learned = self._shape_attributes(*svd.solution(alpha), dtype)
        spectrum = self._spectrum_attributes(svd.singular, float(np.finfo(dtype).eps))
        return learned | spectrum | {"statistic_": None}

    def _is_iterative(self, rows: Rows) -> bool:
        """Whether there are too many columns for a Gram matrix."""
        return rows.sparse and rows.n_features > MAX_SPARSE_GRAM_COLUMNS

    def _is_wide(self, rows: Rows) -> bool:
        """Whether there are fewer rows than columns: the Gram matrix is singular then."""
        return not (rows.sparse or self.positive) and rows.n_rows < rows.n_features

    def _has_statistic(self, rows: Rows) -> bool:
        return not self._is_wide(rows)

    def _fit_by_conjugate_gradients(self, rows: Rows) -> dict[str, Any]:
        if self.positive:
            raise ValueError(
                "positive=True needs a dense Gram matrix: at most "
                f"{MAX_SPARSE_GRAM_COLUMNS} sparse columns, not {rows.n_features}"
            )
        self._target_shape = rows.target_shape
        alpha = self._penalties(int(np.prod(rows.target_shape)))
        max_iter = getattr(self, "max_iter", None) or 10 * rows.n_features
        coef, intercept, report = conjugate_gradients(
            rows, alpha, intercept=self.fit_intercept, tol=self.tol, max_iter=max_iter
        )
        report |= {"statistic_": None, "solver_": "sparse_cg"}
        return self._shape_attributes(coef, intercept, rows.dtype) | report

    def _shape_attributes(
        self, coef: np.ndarray, intercept: np.ndarray, dtype: np.dtype
    ) -> dict[str, Any]:
        """Attributes as scikit-learn shapes them: no axis for a single target."""
        coef, intercept = coef.T.astype(dtype), intercept.astype(dtype)
        if not self._target_shape:
            coef, intercept = coef[0], intercept[0]
        return {"coef_": coef, "intercept_": intercept if self.fit_intercept else 0.0}

    def _alpha(self, P: LeastSquaresProblem) -> np.ndarray:
        return self._penalties(P.AB.shape[1])

    def _penalties(self, targets: int) -> np.ndarray:
        return np.zeros(targets)

    def _extra_attributes(self, P: LeastSquaresProblem) -> dict[str, Any]:
        return {}

    def _spectrum_attributes(self, singular: np.ndarray, eps: float) -> dict[str, Any]:
        return {}


def _leave_one_out_predictions(
    chunk: Chunk,
    coef: np.ndarray,
    intercept: np.ndarray,
    A: np.ndarray,
    mean: np.ndarray,
    share: float,
) -> np.ndarray:
    """Prediction of each row by the fit without it: y - (y - f(x)) / (1 - h), h its leverage."""
    X = to_dense(chunk.X)
    D = X - mean
    leverage = chunk.weights() * (share + ((D @ A) * D).sum(axis=1))
    Y = chunk.y.reshape(chunk.rows, -1).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Y - (Y - X @ coef.T - intercept) / (1 - leverage)[:, None]


class LinearRegression(LeastSquaresRegressor):
    r"""Ordinary least squares.

    .. math:: \min_{w, b} \sum_i \omega_i (y_i - x_i \cdot w - b)^2

    One pass over the data (second moments about the mean), a second one only when the columns are
    so nearly dependent that the moments would lose digits. Dependent columns and fewer rows than
    columns give the solution of minimum norm. Parameters and attributes are those of
    `sklearn.linear_model.LinearRegression`.

    Parameters
    ----------
    fit_intercept : bool
        Whether there is an intercept b.
    copy_X : bool
        X is never overwritten, whatever is given here.
    tol : float
        Relative precision of the iterative solver for very wide sparse X.
    n_jobs : int, optional
        Number of threads; all by default.
    positive : bool
        Whether coefficients must not be negative.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features) coefficients
    intercept_ : float or (n_targets,) intercept, 0.0 if `fit_intercept` is False
    rank_ : rank of the (centered) X
    singular_ : its singular values
    statistic_ : the moments of [X y] from which all this was computed

    See Also
    --------
    Ridge : With an L2 penalty.
    Lasso : With an L1 penalty.
    HuberRegressor : Robust to outliers.

    References
    ----------
    * T. Hastie, R. Tibshirani, J. Friedman (2009). The Elements of Statistical Learning, 2nd ed.,
      chapter 3.
    * A. Bjorck (1996). Numerical Methods for Least Squares Problems.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LinearRegression
    >>> X = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [2.0, 3.0]])
    >>> y = X @ [1, 2] + 3
    >>> model = LinearRegression().fit(X, y)
    >>> model.coef_.round(9).tolist(), round(float(model.intercept_), 9)
    ([1.0, 2.0], 3.0)
    """

    _parameter_constraints = {
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "positive": ["boolean"],
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    def _extra_attributes(self, P: LeastSquaresProblem) -> dict[str, Any]:
        return spectrum(P)

    def _spectrum_attributes(self, singular: np.ndarray, eps: float) -> dict[str, Any]:
        return {"singular_": singular, "rank_": numerical_rank(singular, self.n_features_in_, eps)}


def spectrum(P: LeastSquaresProblem) -> dict[str, Any]:
    """Singular values of the (centered) X, and its rank."""
    if P.R is not None:
        singular = np.linalg.svd(P.R, compute_uv=False)
        return {"singular_": singular, "rank_": numerical_rank(singular, len(P.AA), P.eps)}
    singular = np.sqrt(np.maximum(np.linalg.eigvalsh(P.AA)[::-1], 0.0))
    scale = np.sqrt(np.where(P.AA.diagonal() > 0, P.AA.diagonal(), 1.0))
    cosines = P.AA / scale / scale[:, None]
    return {
        "singular_": singular,
        "rank_": numerical_rank(np.abs(np.linalg.eigvalsh(cosines)), len(scale), P.eps),
    }


def numerical_rank(singular: np.ndarray, p: int, eps: float) -> int:
    """Number of singular values that are not zero to rounding."""
    return int((singular > p * eps * singular.max(initial=0.0)).sum())
