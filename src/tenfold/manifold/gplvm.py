"""The Gaussian process latent variable model."""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.decomposition.pca import PCA
from tenfold.engine.rows import Rows
from tenfold.engine.tiled_cholesky import (
    cholesky,
    invert_cholesky,
    log_determinant,
    run_pieces,
    solve_cholesky,
)
from tenfold.gaussian_process._evidence import LOG_2PI
from tenfold.kernel._block import check_gram_memory, gram_matrix, kernel_matrix
from tenfold.kernel._gradient_tiles import (
    TILE,
    copy_kernel,
    dense_gradient,
    gram_gradient,
    has_tiles,
    translate_kernel,
)
from tenfold.kernel._input_gradients import input_gradient
from tenfold.kernel.base import ConstantKernel, Kernel, WhiteKernel, sk
from tenfold.kernel.stationary import RBF
from tenfold.manifold._embedding import ManifoldModel, check_finite_start, gather_rows
from tenfold.math.distances import pairwise_squared_distances

_CURE = "take a sample of the rows; new rows are placed by transform"
_BACK_PENALTY = 1e-3  # of the ridge regression that starts a back constraint
_MAX_PLACE_ITER = 100
_NO_VALUE = 1e25  # where a covariance has no factor: a line search turns back


class LatentData(NamedTuple):
    """Centered rows, and the variance that is added to every covariance."""

    Y: np.ndarray  # (n, p)
    jitter: float
    precision: float  # of the prior of the points


class GPLVM(ManifoldModel):
    r"""Gaussian process latent variable model: points from which smooth functions give the rows.

    .. math:: \max_{Z, \theta} \; \sum_{d=1}^{p} \log N(x_{\cdot d} \mid 0, K_\theta(Z, Z))
              - \tfrac{\lambda}{2} \lVert Z \rVert^2

    Each column of the (centered) rows is a draw of one Gaussian process over the points. With a
    linear kernel the maximum is the subspace of PCA (dual probabilistic PCA); other kernels bend
    it. Points that are close have similar rows. With a back constraint the points are a smooth
    function of the rows, :math:`Z = K_b(X, X) A`, so that similar rows are close as well.

    Parameters
    ----------
    n_components : int
        Dimensions of the map.
    kernel : Kernel, optional
        A kernel of the points, with the noise as a `WhiteKernel`; by default
        ``1.0 * RBF(1.0) + WhiteKernel(0.1)``. Its hyperparameters are learned within their bounds.
    init : {"pca", "random"} or (n_samples, n_components) array
        Where to start; columns of "pca" have variance 1.
    back_constraint : bool
        Whether the points are a function of the rows.
    back_gamma : float, optional
        Gamma of the RBF kernel of this function; one over the median squared distance by default.
    prior_precision : float
        :math:`\lambda`; 0 for no prior of the points.
    alpha : float
        Variance that is added to the diagonal of the covariance, for its factor to exist.
    max_iter : int
        Maximum iterations of L-BFGS.
    tol : float
        Converged when the objective of a row falls by less than this, relative to its value.
    random_state : int, optional
        Seed of a random start.
    n_jobs : int, optional
        Number of threads; by default all.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) the points
    kernel_ : the kernel with learned hyperparameters
    log_likelihood_ : log-density of the rows, without the prior of the points
    mean_ : (n_features,) mean of the rows
    back_coef_ : (n_samples, n_components) A, with a back constraint
    n_iter_, converged_ : iterations, and whether they converged
    history_ : negative log-posterior ("objective") after each iteration, and "seconds"

    See Also
    --------
    KernelPCA : Components in the feature space of a kernel of the rows.
    PCA : What a linear kernel gives.

    References
    ----------
    N. D. Lawrence (2005), Probabilistic non-linear principal component analysis with Gaussian
    process latent variable models.

    N. D. Lawrence and J. Quiñonero-Candela (2006), Local distance preservation in the GP-LVM
    through back constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GPLVM
    >>> t = np.linspace(-1.5, 1.5, 25)
    >>> curve = np.c_[t, np.sin(3 * t), t**2]
    >>> model = GPLVM(1).fit(curve)
    >>> z = model.embedding_[:, 0]
    >>> bool(abs(np.corrcoef(z, t)[0, 1]) > 0.95)
    True
    """

    _samples_rows = True
    _min_rows = 2
    _law_rows = 40
    _law_params = {"init": "random", "tol": 1e-3}
    _float64_learned = ("_dual", "_factor")
    _learned_shapes = {
        "embedding_": "n m",
        "X_fit_": "n p",
        "mean_": "p",
        "_dual": "n p",
        "_factor": "n n",
        "back_coef_": "n m",
    }
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel": [sk.Kernel, None],
        "init": [StrOptions({"pca", "random"}), np.ndarray],
        "back_constraint": ["boolean"],
        "back_gamma": [Interval(Real, 0, None, closed="neither"), None],
        "prior_precision": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = None,
        init: Any = "pca",
        back_constraint: bool = False,
        back_gamma: float | None = None,
        prior_precision: float = 1.0,
        alpha: float = 1e-8,
        max_iter: int = 2000,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.init = init
        self.back_constraint = back_constraint
        self.back_gamma = back_gamma
        self.prior_precision = prior_precision
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        check_gram_memory(rows.n_rows, 4.0, type(self).__name__, _CURE)
        X = gather_rows(rows)
        Y = X.astype(np.float64)
        mean = Y.mean(axis=0)
        Y -= mean
        scale = float(np.sqrt((Y * Y).mean())) or 1.0  # variances of order 1 for the kernel
        data = LatentData(Y / scale, float(self.alpha), float(self.prior_precision))
        kernel = self._start_kernel()
        start = self._start(Y, rng)
        back, gamma = None, 0.0
        if self.back_constraint:
            gamma = self._resolve_back_gamma(Y)
            back = gram_matrix(Y, _back_kernel(gamma))
            ridge = back + _BACK_PENALTY * np.eye(len(back))
            start = solve_cholesky(cholesky(ridge, overwrite=True), start)
        found, kernel, report = _maximize(data, kernel, start, back, self.max_iter, self.tol)
        points = found if back is None else back @ found
        L, dual = _factorize(kernel, points, data)
        n, p = Y.shape
        dtype = rows.dtype
        learned = {
            "embedding_": points.astype(dtype),
            "kernel_": kernel,
            "log_likelihood_": _log_likelihood(data, L, dual) - n * p * float(np.log(scale)),
            "mean_": mean.astype(dtype),
            "scale_": scale,
            "X_fit_": X,
            "_dual": dual,
            "_factor": L,
            **report,
        }
        if back is not None:
            learned |= {"back_coef_": found.astype(dtype), "back_gamma_": gamma}
        return learned

    def _start_kernel(self) -> Kernel:
        if self.kernel is None:
            return ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
        return copy_kernel(translate_kernel(self.kernel), None)

    def _start(self, Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, k = len(Y), self.n_components
        if not isinstance(self.init, str):
            start = np.array(self.init, np.float64)
            if start.shape != (n, k):
                raise ValueError(f"init has shape {start.shape}, and the map ({n}, {k})")
            check_finite_start(start)
            return start
        if self.init == "random":
            return rng.normal(size=(n, k))
        if k > min(Y.shape):
            raise ValueError(
                f"n_components={k} must be between 0 and min(n_samples, n_features)="
                f"{min(Y.shape)} for init='pca': take init='random'"
            )
        scores = np.asarray(PCA(k).set_output(transform="default").fit_transform(Y))
        deviations = scores.std(axis=0)
        return scores / np.where(deviations > 0, deviations, 1.0)

    def _resolve_back_gamma(self, Y: np.ndarray) -> float:
        if self.back_gamma is not None:
            return float(self.back_gamma)
        squares = pairwise_squared_distances(Y)[np.triu_indices(len(Y), 1)]
        middle = float(np.median(squares)) if len(squares) else 1.0
        return 1.0 / middle if middle > 0 else 1.0

    def transform(self, X: Any) -> np.ndarray:
        """Points of new rows, each by itself.

        By the back constraint if there is one; else the point whose predicted row, with its
        variance, makes the row most likely, searched from the point of the nearest row of the fit.
        A row of the fit has its point.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        with self._work_context():
            queries = self._rows(X, reset=False).gather().X
            known = self.X_fit_.astype(np.float64) - self.mean_
            Y = queries.astype(np.float64) - self.mean_
            if self.back_constraint:
                values = kernel_matrix(Y, known, _back_kernel(self.back_gamma_))
                return (values @ self.back_coef_.astype(np.float64)).astype(queries.dtype)
            points = self.embedding_.astype(np.float64)
            placed = np.empty((len(Y), points.shape[1]))

            def work(i: int) -> None:
                gaps = np.einsum("ij,ij->i", known - Y[i], known - Y[i])
                nearest = int(gaps.argmin())
                same = gaps[nearest] == 0
                placed[i] = points[nearest] if same else self._place(Y[i], points[nearest], points)

            run_pieces(work, range(len(Y)))
        return placed.astype(queries.dtype)

    def _place(self, y: np.ndarray, start: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The most likely point of a row."""
        y = y / self.scale_

        def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
            _, mean, variance, solved = self._predict(z[None], points)
            gap = y - mean[0]
            square, p = float(gap @ gap), len(y)
            value = 0.5 * (p * np.log(variance[0]) + square / variance[0])
            by_variance = 0.5 * (p / variance[0] - square / variance[0] ** 2)
            weights = -(self._dual @ gap)[None] / variance[0] - 2.0 * by_variance * solved.T
            slope = input_gradient(self.kernel_, z[None], points, weights)[0]
            slope += by_variance * _diagonal_gradient(self.kernel_, z)
            prior = self.prior_precision
            return value + 0.5 * prior * float(z @ z), slope + prior * z

        found = scipy.optimize.minimize(
            objective, start, jac=True, method="L-BFGS-B", options={"maxiter": _MAX_PLACE_ITER}
        )
        return found.x

    def _predict(
        self, Z: np.ndarray, points: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Kernel values with the points, means, variances, and K^-1 k, at places Z."""
        values = kernel_matrix(Z, points, self.kernel_)
        solved = solve_cholesky(self._factor, values.T)
        prior = self.kernel_.diag(Z) + self.alpha
        variance = np.maximum(prior - np.einsum("ij,ji->i", values, solved), 1e-12)
        return values, values @ self._dual, variance, solved

    def inverse_transform(self, X: Any, return_std: bool = False) -> Any:
        """Rows at places of the map.

        Parameters
        ----------
        X : (m, n_components) array
            The places.
        return_std : bool
            Whether to return the standard deviation of the rows there too, noise included.

        Returns
        -------
        rows : (m, n_features) array
        deviation : (m,) array, if asked for
        """
        check_is_fitted(self)
        Z = np.ascontiguousarray(np.asarray(X, np.float64))
        if Z.ndim != 2 or Z.shape[1] != self.embedding_.shape[1]:
            raise ValueError(
                f"places have shape {Z.shape}, and the map {self.embedding_.shape[1]} columns"
            )
        with self._work_context():
            _, mean, variance, _ = self._predict(Z, self.embedding_.astype(np.float64))
        rows = (mean * self.scale_ + self.mean_).astype(self.X_fit_.dtype)
        if not return_std:
            return rows
        return rows, (np.sqrt(variance) * self.scale_).astype(rows.dtype)


def _back_kernel(gamma: float) -> Kernel:
    return RBF(float(np.sqrt(0.5 / gamma)))


def _diagonal_gradient(kernel: Any, z: np.ndarray) -> np.ndarray:
    """Derivatives of k(z, z) by z: twice those by the first argument."""
    return 2.0 * input_gradient(kernel, z[None], z[None], np.ones((1, 1)))[0]


def _factorize(kernel: Kernel, Z: np.ndarray, data: LatentData) -> tuple[np.ndarray, np.ndarray]:
    """The factor of the covariance, and K^-1 Y."""
    K = np.require(kernel(Z), np.float64, ["C", "W", "O"])
    K[np.diag_indices(len(K))] += data.jitter
    L = cholesky(K, overwrite=True)
    return L, solve_cholesky(L, data.Y)


def _log_likelihood(data: LatentData, L: np.ndarray, dual: np.ndarray) -> float:
    n, p = data.Y.shape
    fit = float(np.einsum("ij,ij->", data.Y, dual))
    return -0.5 * (fit + p * (float(log_determinant(L)) + n * LOG_2PI))


def log_posterior(
    kernel: Kernel, Z: np.ndarray, data: LatentData
) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-density of rows and points, with its derivatives by the points and by theta."""
    L, dual = _factorize(kernel, Z, data)
    G = invert_cholesky(L)
    G *= -data.Y.shape[1]
    G += dual @ dual.T
    G *= 0.5
    by_points = np.empty(Z.shape)

    def work(first: int) -> None:
        part = slice(first, first + TILE)
        by_points[part] = 2.0 * input_gradient(kernel, Z[part], Z, G[part])

    run_pieces(work, range(0, len(Z), TILE))
    if has_tiles(kernel):
        by_theta = gram_gradient(kernel, Z, lambda rows, columns: G[rows, columns])
    else:
        by_theta = dense_gradient(kernel, Z, G)
    value = _log_likelihood(data, L, dual) - 0.5 * data.precision * float((Z * Z).sum())
    return value, by_points - data.precision * Z, by_theta


def _maximize(
    data: LatentData,
    kernel: Kernel,
    start: np.ndarray,
    back: np.ndarray | None,
    max_iter: int,
    tol: float,
) -> tuple[np.ndarray, Kernel, dict[str, Any]]:
    """Points (or coefficients of the back constraint) and hyperparameters of largest posterior."""
    size, shape, n = start.size, start.shape, len(data.Y)
    begin = time.perf_counter()
    values: list[float] = []
    seconds: list[float] = []

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        A = flat[:size].reshape(shape)
        Z = A if back is None else back @ A
        try:
            value, by_points, by_theta = log_posterior(
                kernel.clone_with_theta(flat[size:]), Z, data
            )
        except np.linalg.LinAlgError:
            return _NO_VALUE, np.zeros(flat.shape)
        by_start = by_points if back is None else back.T @ by_points
        return -value / n, -np.concatenate([by_start.ravel(), by_theta]) / n

    def record(intermediate_result: Any) -> None:
        values.append(float(intermediate_result.fun) * n)
        seconds.append(time.perf_counter() - begin)

    bounds = [(None, None)] * size + [tuple(pair) for pair in kernel.bounds]
    found = scipy.optimize.minimize(
        objective,
        np.concatenate([start.ravel(), kernel.theta]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=record,
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol, "gtol": 1e-6},
    )
    if not values:  # the start was a maximum
        values, seconds = [float(found.fun) * n], [time.perf_counter() - begin]
    report = {
        "n_iter_": max(int(found.nit), 1),
        "converged_": bool(found.success),
        "history_": {"objective": np.array(values), "seconds": np.array(seconds)},
    }
    return found.x[:size].reshape(shape), kernel.clone_with_theta(found.x[size:]), report
