"""Kernel ridge regression, and the choice of its penalty by leave-one-out."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.mixins import Regressor
from tenfold.engine.rows import Rows
from tenfold.engine.tiled_cholesky import cholesky, solve_cholesky
from tenfold.kernel._model_base import (
    KERNEL_CONSTRAINTS,
    GatheredRows,
    KernelParameters,
    kernel_scores,
)
from tenfold.math.distances import symmetrize

_CURE = (
    "take KernelRidge on landmarks instead (NystroemRidge: one pass over any number of rows), "
    "Nystroem or RBFSampler before Ridge, or fewer rows"
)
_SINGULAR = (
    "Singular matrix in solving dual problem. Using least-squares solution instead: raise alpha, "
    "or leave out rows that are repeated."
)


def as_penalties(given: Any, name: str) -> np.ndarray:
    """One or several penalties as an array; refuse none, and what is no penalty."""
    penalties = np.atleast_1d(np.asarray(given, np.float64))
    if penalties.ndim > 1 or not len(penalties) or not (penalties >= 0).all():
        raise ValueError(f"{name}={given!r}: give a penalty, or a list of them, all at least 0")
    return penalties


class _KernelRegressor(KernelParameters, Regressor):
    """A regressor with dual coefficients: f(x) = sum_i dual_coef_i k(x_i, x)."""

    _sparse_ok = True
    _multi_output = True
    _has_quadratic_time = True
    _law_rows = 600
    _chunk_rows = 512  # a chunk of queries meets all rows of the fit
    _float64_learned = ("dual_coef_",)  # small penalties make them large: they need the digits
    _learned_shapes = {"X_fit_": "n p", "dual_coef_": "n | n t", "leave_one_out_": "n | n t"}

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row, (n_rows,) or (n_rows, n_targets).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        check_is_fitted(self)
        state = self._kernel_object(self.n_features_in_), self.X_fit_.astype(np.float64)
        return self._map_rows(X, kernel_scores, *state, self.dual_coef_.astype(np.float64))


class KernelRidge(_KernelRegressor):
    r"""Kernel ridge regression: ridge regression in the feature space of a kernel.

    .. math:: \min_f \sum_i \omega_i (y_i - f(x_i))^2 + \alpha \lVert f \rVert^2, \qquad
              f(x) = \sum_i a_i \, k(x_i, x), \quad (K + \alpha \Omega^{-1}) a = y

    The system is solved by a Cholesky factorization on all threads. Time grows with the cube of the
    rows, memory with their square: data that are too large are refused. Parameters and attributes
    are those of `sklearn.kernel_ridge.KernelRidge`.

    Parameters
    ----------
    alpha : float or (n_targets,) array
        Penalty, one for all targets or one for each.
    kernel : str, callable or kernel object
        A name ("linear", "poly", "rbf", "sigmoid", "laplacian", "chi2", "additive_chi2", "cosine",
        "precomputed"), a function of two rows, or a kernel of `tenfold.kernel` or of
        `sklearn.gaussian_process.kernels`. With a kernel of objects (strings, sets) X is a list
        of them.
    gamma, degree, coef0 : float
        Parameters of named kernels; gamma is 1 / n_features by default.
    kernel_params : dict, optional
        Further arguments of a function.

    Attributes
    ----------
    dual_coef_ : (n_samples,) or (n_samples, n_targets) coefficients of the rows of the fit
    X_fit_ : (n_samples, n_features) the rows of the fit; for a precomputed kernel the values

    See Also
    --------
    KernelRidgeCV : Chooses the penalty by leave-one-out, from one decomposition.
    NystroemRidge : On landmarks, in one pass over any number of rows.
    Ridge : With a linear kernel, the same predictions.

    References
    ----------
    K. P. Murphy (2012), Machine Learning: A Probabilistic Perspective, section 14.4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(alpha=1e-3, kernel="rbf", gamma=0.5).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 1e-3)
    True
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        **KERNEL_CONSTRAINTS,
    }

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        alphas = as_penalties(self.alpha, "alpha")
        train = self._gather_rows(rows, copies=1 if len(alphas) == 1 else 3, cure=_CURE)
        y = train.y.reshape(rows.n_rows, -1).astype(np.float64)
        if len(alphas) not in (1, y.shape[1]):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: {y.shape[1]} and "
                f"{len(alphas)}: give one alpha for each target, or one for all"
            )
        problem = WeightedSystem.weigh(train.gram(), y, train.w)
        dual = problem.solve(alphas)
        return {
            "dual_coef_": dual.reshape(train.y.shape),
            "X_fit_": train.X,
        }


class WeightedSystem(NamedTuple):
    """The system (S K S + alpha I) b = S y with the roots S of the weights; a = S b."""

    K: np.ndarray
    y: np.ndarray
    roots: np.ndarray | None  # (n, 1), or None where all weights are 1

    @classmethod
    def weigh(cls, K: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> WeightedSystem:
        """The system of a kernel matrix, which is weighted in place."""
        if w is None:
            return cls(K, y, None)
        roots = np.sqrt(w)[:, None]
        K *= roots
        K *= roots[:, 0]
        return cls(K, y * roots, roots)

    def solve(self, alphas: np.ndarray) -> np.ndarray:
        """Dual coefficients (n, n_targets) for one penalty or one of each target; spends K."""
        if len(alphas) > 1:
            return self._unweight(_solve_each(*np.linalg.eigh(self.K), self.y, alphas))
        diagonal = self.K.diagonal().copy()
        np.fill_diagonal(self.K, diagonal + alphas[0])
        try:
            L = cholesky(self.K, overwrite=True)
        except np.linalg.LinAlgError:
            warnings.warn(_SINGULAR, stacklevel=2)
            symmetrize(self.K)  # the factor was begun in the lower triangle
            np.fill_diagonal(self.K, diagonal + alphas[0])
            return self._unweight(np.linalg.lstsq(self.K, self.y, rcond=None)[0])
        return self._unweight(solve_cholesky(L, self.y))

    def _unweight(self, dual: np.ndarray) -> np.ndarray:
        return dual if self.roots is None else dual * self.roots


def _solve_each(
    values: np.ndarray, vectors: np.ndarray, y: np.ndarray, alphas: np.ndarray
) -> np.ndarray:
    """(K + alpha I)^-1 y of each target with its own penalty; the shortest solution if singular."""
    strengths = values[:, None] + alphas
    known = strengths > len(values) * np.finfo(np.float64).eps * np.abs(values).max()
    if not known.all():
        warnings.warn(_SINGULAR, stacklevel=2)
    shares = np.divide(vectors.T @ y, strengths, out=np.zeros_like(strengths), where=known)
    return vectors @ shares


class KernelRidgeCV(_KernelRegressor):
    r"""Kernel ridge regression with the penalty chosen by leave-one-out.

    One eigendecomposition :math:`K = Q \Lambda Q^T` gives the dual coefficients and the prediction
    of each row by the fit without it, for every penalty:

    .. math:: y_i - f_{-i}(x_i) = \frac{a_i}{[(K + \alpha I)^{-1}]_{ii}}, \qquad
              a = Q (\Lambda + \alpha I)^{-1} Q^T y

    Of a row of weight 2, which is the row twice, one of the two is left out.

    Parameters
    ----------
    alphas : array
        The penalties.
    kernel, gamma, degree, coef0, kernel_params : Any
        The kernel, as in `KernelRidge`.
    alpha_per_target : bool
        Whether each target has a penalty of its own.

    Attributes
    ----------
    alpha_ : float, or (n_targets,) array
        The penalty with the least mean squared leave-one-out error.
    best_score_ : float, or (n_targets,) array
        Minus that error.
    dual_coef_, X_fit_ : as in `KernelRidge`
    mse_path_ : (n_alphas, n_targets) mean squared leave-one-out error for each penalty
    leave_one_out_ : (n_samples,) or (n_samples, n_targets) predictions of each row by the fit
        without it, with the chosen penalty

    See Also
    --------
    KernelRidge : With a given penalty.
    RidgeCV : The same for linear models.

    References
    ----------
    R. Rifkin and R. Lippert (2007), Notes on regularized least squares.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(60, 1))
    >>> y = np.sin(X[:, 0]) + rng.normal(scale=0.2, size=60)
    >>> KernelRidgeCV(alphas=[1e-6, 1e-1, 1e3], kernel="rbf").fit(X, y).alpha_
    0.1
    """

    _parameter_constraints = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "alpha_per_target": ["boolean"],
        **KERNEL_CONSTRAINTS,
    }
    _min_rows = 2

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha_per_target = alpha_per_target

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        alphas = as_penalties(self.alphas, "alphas")
        if (alphas <= 0).any():
            raise ValueError(f"alphas={alphas.tolist()}: leave-one-out needs penalties above 0")
        train = self._gather_rows(rows, copies=3, cure=_CURE)
        y = train.y.reshape(rows.n_rows, -1).astype(np.float64)
        problem = WeightedSystem.weigh(train.gram(), y, train.w)
        spectrum = np.linalg.eigh(problem.K)
        weights = np.ones(len(y)) if train.w is None else train.w
        residuals = [_leave_one_out_residuals(*spectrum, problem, alpha) for alpha in alphas]
        squares = np.array([weights @ np.square(r) for r in residuals])
        mse = squares / weights.sum()
        compared = mse if self.alpha_per_target else mse.mean(axis=1, keepdims=True)
        best = compared.argmin(axis=0)
        values, vectors = spectrum
        penalties = alphas[best]
        scaled = vectors @ (vectors.T @ problem.y / (values[:, None] + penalties))
        dual = scaled if problem.roots is None else scaled * problem.roots
        targets = np.broadcast_to(best, y.shape[1])
        chosen = np.column_stack([residuals[k][:, t] for t, k in enumerate(targets)])
        single = not self.alpha_per_target or train.y.ndim == 1
        return {
            "alpha_": float(penalties[0]) if single else penalties,
            "best_score_": -float(compared[best[0], 0]) if single else -compared.min(axis=0),
            "dual_coef_": dual.reshape(train.y.shape),
            "mse_path_": mse.astype(rows.dtype),
            "leave_one_out_": self._leave_one_out(train, y, problem, dual, chosen).astype(
                rows.dtype
            ),
            "X_fit_": train.X,
        }

    @staticmethod
    def _leave_one_out(
        train: GatheredRows,
        y: np.ndarray,
        problem: WeightedSystem,
        dual: np.ndarray,
        residuals: np.ndarray,
    ) -> np.ndarray:
        """Predictions of each row without it; a row of weight 0 has no part in the fit anyway."""
        if problem.roots is None:
            return (y - residuals).reshape(train.y.shape)
        fitted = train.gram() @ dual
        return np.where(problem.roots > 0, y - residuals, fitted).reshape(train.y.shape)


def _leave_one_out_residuals(
    values: np.ndarray, vectors: np.ndarray, problem: WeightedSystem, alpha: float
) -> np.ndarray:
    """Errors of each row under the fit without it, (n, n_targets); 0 for rows of weight 0.

    What is left out is the row once: of a weight of 2, a weight of 1 stays.
    """
    inverse = 1 / (values + alpha)
    dual = vectors @ (inverse[:, None] * (vectors.T @ problem.y))
    diagonal = (vectors**2 @ inverse)[:, None]
    if problem.roots is None:
        return dual / diagonal
    weights = problem.roots**2
    share = np.minimum(1.0, 1 / np.where(weights > 0, weights, 1.0))
    kept = (1 - share) + share * alpha * diagonal
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(weights > 0, alpha * dual / (problem.roots * kept), 0.0)
