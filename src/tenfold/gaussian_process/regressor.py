"""Exact Gaussian-process regression."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Regressor
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.tiled_cholesky import invert_cholesky, solve_triangular
from tenfold.gaussian_process._evidence import (
    LOG_2PI,
    TrainingSet,
    as_float64,
    check_size,
    evaluate,
    factorize,
    location_and_scale,
    log_evidence,
    noise_of_rows,
)
from tenfold.gaussian_process._evidence_of_fit import EvidenceOfFit
from tenfold.gaussian_process._hyperparameters import (
    check_kernel_columns,
    maximize_evidence,
    warn_about_bounds,
)
from tenfold.kernel._block import kernel_block
from tenfold.kernel._gradient_tiles import copy_kernel, translate_kernel
from tenfold.kernel.base import ConstantKernel
from tenfold.kernel.kernels import KERNEL_NAMES
from tenfold.kernel.object_kernels import takes_objects
from tenfold.kernel.stationary import RBF


class _TargetSums(NamedTuple):
    n: float
    y: np.ndarray  # (k,)


class GaussianProcessRegressor(EvidenceOfFit, Regressor):
    r"""Gaussian-process regression: a Gaussian prior over functions, conditioned on the rows.

    .. math:: f \sim \mathcal{GP}(0, k), \quad y_i = f(x_i) + \epsilon_i, \quad
              \epsilon_i \sim \mathcal N(0, \alpha_i), \qquad
              f(x_*) \mid y \sim \mathcal N\bigl(k_*^T K^{-1} y, \; k_{**} - k_*^T K^{-1} k_*\bigr),

    with :math:`K = k(X, X) + \operatorname{diag}(\alpha)`. Hyperparameters of the kernel maximize
    the evidence :math:`\log p(y \mid X, \theta)`.

    The factor of K is computed by tiles on all threads, the gradient of the evidence without an
    array of n x n x parameters, and the bits depend on neither threads nor the place of the rows.
    Memory grows with :math:`n^2` and time with :math:`n^3`; what does not fit is refused.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        The covariance function: of `tenfold.kernel` or `sklearn.gaussian_process.kernels`, a name
        (as in `KernelRidge`, with its gamma as the start), or a function of two rows. None is
        ``ConstantKernel(1.0) * RBF(1.0)``. It is not changed; `kernel_` is the fitted one.
    alpha : float or (n_samples,) array
        Variance of the noise, one for all rows or one for each. A `WhiteKernel` learns it instead.
    optimizer : "fmin_l_bfgs_b", callable or None
        How to maximize the evidence; None keeps the kernel as it is. A function is called as
        ``optimizer(obj_func, initial_theta, bounds)`` and returns ``theta_opt, func_min``.
    n_restarts_optimizer : int
        Further starts, uniform within the bounds of the kernel.
    normalize_y : bool
        Subtract the mean of the target and divide by its standard deviation.
    copy_X_train : bool
        Whether to keep a copy of the rows; otherwise an array of the caller is kept.
    n_targets : int or None
        Number of outputs, for predictions and samples from the prior.
    random_state : int, RandomState or None
        Seed of the starts.

    Attributes
    ----------
    X_train_, y_train_ : the rows and the (normalized) targets
    kernel_ : the kernel with fitted hyperparameters
    L_ : (n_samples, n_samples) lower Cholesky factor of K
    alpha_ : (n_samples,) or (n_samples, n_targets), K^-1 y
    log_marginal_likelihood_value_ : the evidence at `kernel_.theta`
    n_iter_, converged_, history_ : iterations of the best start, whether it converged, and the
        negative evidence ("objective") after each, with "seconds"

    See Also
    --------
    SparseGaussianProcessRegressor : For any number of rows.
    NearestNeighborGaussianProcessRegressor : For rough functions of many rows.
    StateSpaceGaussianProcessRegressor : One column in linear time.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams (2006), Gaussian Processes for Machine Learning, ch. 2, 5.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianProcessRegressor
    >>> from tenfold.kernel import RBF
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = GaussianProcessRegressor(RBF(), alpha=1e-4).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[3.1]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(3.1)) < 0.01)
    True
    """

    _multi_output = True
    _law_rows = 700
    _chunk_rows = 256
    _float64_learned = ("L_", "alpha_", "y_train_")
    _law_params = {"optimizer": None, "alpha": 0.1}
    _parameter_constraints = {
        "kernel": [None, StrOptions(set(KERNEL_NAMES)), callable],
        "alpha": [Interval(Real, 0, None, closed="left"), np.ndarray],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "normalize_y": ["boolean"],
        "copy_X_train": ["boolean"],
        "n_targets": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = 1e-10,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        copy_X_train: bool = True,
        n_targets: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.copy_X_train = copy_X_train
        self.n_targets = n_targets
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Learn from rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; a sequence of objects if the kernel takes such.
        y : (n_samples,) or (n_samples, n_targets) array, or column name
            Targets.

        Returns
        -------
        self
        """
        if isinstance(self.kernel, CompoundKernel):
            raise ValueError(  # noqa: TRY004 (as the classifier)
                "kernel cannot be a CompoundKernel, which has several matrices: take a sum or a "
                "product of its kernels"
            )
        if not takes_objects(self.kernel):
            return super().fit(X, y)
        self._validate_params()
        with self._work_context():
            options: Any = {"multi_output": True, "y_numeric": True}
            checked: Any = validate_data(self, X, y, ensure_2d=False, dtype=None, **options)
            self._set_learned(self._learn(checked[0], checked[1], self._rng()))
        return self

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        check_size(rows.n_rows, type(self).__name__)
        rows.total(_target_sums)  # looks at all rows, chunk by chunk, before they are gathered
        chunk = rows.gather()
        X = np.array(chunk.X) if self.copy_X_train else chunk.X
        return self._learn(X, np.asarray(chunk.y), rng)

    def _learn(self, X: Any, y: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
        y = np.array(y, np.float64)
        n_targets = y.shape[1] if y.ndim > 1 else 1
        if self.n_targets is not None and n_targets != self.n_targets:
            raise ValueError(
                "The number of targets seen in `y` is different from the parameter `n_targets`. "
                f"Got {n_targets} != {self.n_targets}."
            )
        self._y_train_mean, self._y_train_std = location_and_scale(y, scale=self.normalize_y)
        y = (y - self._y_train_mean) / self._y_train_std
        data = TrainingSet(
            as_float64(X), y.reshape(len(y), n_targets), noise_of_rows(self.alpha, len(y))
        )
        kernel_: Any = _default_kernel() if self.kernel is None else copy_kernel(self.kernel, X)
        kernel, report = translate_kernel(clone(kernel_)), {}
        if self.optimizer is not None and kernel.n_dims > 0:

            def evidence(theta: np.ndarray, eval_gradient: bool) -> Any:
                kernel.theta = theta
                return evaluate(kernel, data, eval_gradient=eval_gradient)

            theta, _, report = maximize_evidence(
                evidence, kernel_, self.optimizer, self.n_restarts_optimizer, rng
            )
            kernel.theta = kernel_.theta = theta
            warn_about_bounds(kernel_)
        try:
            factor = factorize(kernel, data)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(
                f"The kernel, {kernel_}, is not returning a positive definite matrix. Try "
                "gradually increasing the 'alpha' parameter of your GaussianProcessRegressor "
                "estimator.",
                *error.args,
            ) from error
        return {
            "X_train_": X,
            "y_train_": y,
            "kernel_": kernel_,
            "L_": factor.L,
            "alpha_": factor.dual.reshape(y.shape),
            "log_marginal_likelihood_value_": log_evidence(data, factor),
            **report,
        }

    @property
    def _learned_shapes(self) -> dict[str, str]:
        return {
            "L_": "n n",
            "X_train_": "n p" if self.kernel_.requires_vector_input else "n : label",
            "alpha_": "n q=1 | n q",
            "y_train_": "n q=1 | n q",
            "_y_train_mean": "q",
            "_y_train_std": "q",
        }

    def _check_learned(self) -> None:
        check_kernel_columns(self.kernel_, self.X_train_)

    def _evidence_of(self, kernel: Any, *, eval_gradient: bool) -> Any:
        return evaluate(kernel, self._data(), eval_gradient=eval_gradient)

    def _data(self) -> TrainingSet:
        n = len(self.y_train_)
        return TrainingSet(
            as_float64(self.X_train_), self.y_train_.reshape(n, -1), noise_of_rows(self.alpha, n)
        )

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """The mean of the prediction, and on request its standard deviation or covariance.

        Without a fit the prediction is that of the prior.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        return_std, return_cov : bool
            Whether to return standard deviations, or the covariance of all rows (in memory).

        Returns
        -------
        y_mean : (n_samples,) or (n_samples, n_targets) array
        y_std : (n_samples,) or (n_samples, n_targets) array, if it was asked for
        y_cov : (n_samples, n_samples) or (n_samples, n_samples, n_targets) array, if asked for
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if not hasattr(self, "X_train_"):
            return self._predict_from_prior(X, return_std=return_std, return_cov=return_cov)
        if not self.kernel_.requires_vector_input:
            return self._predict_objects(X, return_std=return_std, return_cov=return_cov)
        if return_cov:
            with self._work_context():
                rows = self._rows(X, reset=False).gather().X
                return self._predict_jointly(rows)
        k = self.alpha_.size // len(self.alpha_)
        values = self._map_rows(X, _posterior, *self._posterior_state(), return_std)
        mean, variance = values[:, :k], values[:, k:]
        mean = mean[:, 0] if k == 1 else mean
        if not return_std:
            return mean
        return mean, np.sqrt(self._spread(variance[:, 0]))

    def _posterior_state(self) -> tuple:
        dual = self.alpha_.reshape(len(self.alpha_), -1) * self._y_train_std
        Z = as_float64(self.X_train_)
        return translate_kernel(self.kernel_), Z, dual, self._y_train_mean, self.L_

    def _spread(self, variance: np.ndarray) -> np.ndarray:
        """Variances, not below zero, in the units of each output."""
        if (variance < 0).any():
            warnings.warn(
                "Predicted variances smaller than 0. Setting those variances to 0.", stacklevel=3
            )
            variance = np.maximum(variance, 0.0)
        scale = np.atleast_1d(np.asarray(self._y_train_std, variance.dtype) ** 2)
        scaled = variance[..., None] * scale
        return scaled[..., 0] if len(scale) == 1 else scaled

    def _predict_jointly(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of rows in memory."""
        kernel, Z, dual, offset, L = self._posterior_state()
        check_size(max(len(X), len(Z)), type(self).__name__)
        rows = as_float64(X)
        K = kernel(rows, Z)
        mean = K @ dual + offset
        V = solve_triangular(L, K.T)
        covariance = kernel(rows) - V.T @ V
        scale = np.atleast_1d(self._y_train_std**2)
        if len(scale) == 1:
            return mean[:, 0], covariance * scale
        return mean, covariance[..., None] * scale

    def _predict_objects(self, X: Any, *, return_std: bool, return_cov: bool) -> Any:
        with self._work_context():
            mean, covariance = self._predict_jointly(X)
        if return_cov:
            return mean, covariance
        diagonal = np.einsum("ii...->i...", covariance)
        return (mean, np.sqrt(np.maximum(diagonal, 0.0))) if return_std else mean

    def _predict_from_prior(self, X: Any, *, return_std: bool, return_cov: bool) -> Any:
        if not takes_objects(self.kernel):
            X = as_float64(self._rows(X, reset=False).gather().X)
        kernel = _default_kernel() if self.kernel is None else copy_kernel(self.kernel, X)
        k, n = self.n_targets or 1, len(X)
        if return_cov:
            check_size(n, type(self).__name__)
        mean = np.zeros(n) if k == 1 else np.zeros((n, k))
        if not (return_std or return_cov):
            return mean
        kernel = translate_kernel(kernel)
        spread = kernel(X) if return_cov else np.sqrt(kernel.diag(X))
        return mean, (spread if k == 1 else np.repeat(spread[..., None], k, axis=-1))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw functions from the posterior (before a fit: the prior), at some rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        n_samples : int
            Number of functions.
        random_state : int, RandomState or None
            Seed of the draws.

        Returns
        -------
        (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples) array
        """
        rng = check_random_state(random_state)
        mean, covariance = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return rng.multivariate_normal(mean, covariance, n_samples).T
        draws = [
            rng.multivariate_normal(mean[:, j], covariance[..., j], n_samples).T
            for j in range(mean.shape[1])
        ]
        return np.stack(draws, axis=1)

    def predict_leave_one_out(self) -> tuple[np.ndarray, np.ndarray]:
        r"""Prediction of each row of the fit from all others, in closed form.

        :math:`\mu_i = y_i - (K^{-1} y)_i / (K^{-1})_{ii}` and
        :math:`\sigma_i^2 = 1 / (K^{-1})_{ii}`, at the hyperparameters of the fit.

        Returns
        -------
        mean, std : (n_samples,) or (n_samples, n_targets) arrays
            Of y, noise included, in its units.
        """
        mean, variance = self._leave_one_out()
        mean = mean * self._y_train_std + self._y_train_mean
        return mean.reshape(self.y_train_.shape), np.sqrt(self._spread(variance))

    def leave_one_out_log_density(self) -> np.ndarray:
        """Log density of each target given all other rows, (n_samples,) or (n_samples, n_targets).

        Its sum is the leave-one-out log predictive probability (Rasmussen and Williams 2006,
        eq. 5.11), a yardstick for kernels beside the evidence.
        """
        mean, variance = self._leave_one_out()
        residual = self.y_train_.reshape(mean.shape) - mean
        density = -0.5 * (residual**2 / variance[:, None] + np.log(variance)[:, None] + LOG_2PI)
        return (density - np.log(self._y_train_std)).reshape(self.y_train_.shape)

    def _leave_one_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Means (n, k) and variances (n,) in the units of `y_train_`."""
        check_is_fitted(self)
        with self._work_context():
            precision = invert_cholesky(self.L_).diagonal()
        dual = self.alpha_.reshape(len(precision), -1)
        y = self.y_train_.reshape(dual.shape)
        return y - dual / precision[:, None], 1.0 / precision

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def _default_kernel() -> Any:
    return ConstantKernel() * RBF()


def _target_sums(chunk: Chunk) -> _TargetSums:
    return _TargetSums(chunk.weight, np.asarray(chunk.y, np.float64).sum(axis=0))


def _posterior(
    chunk: Chunk,
    kernel: Any,
    Z: np.ndarray,
    dual: np.ndarray,
    offset: np.ndarray,
    L: np.ndarray,
    with_variance: bool,
) -> np.ndarray:
    """Means of all outputs, and the variance in the units of the normalized target."""
    X = as_float64(chunk.X)
    K = kernel_block(X, Z, kernel)
    values = K @ dual + offset
    if with_variance:
        V = solve_triangular(L, K.T)
        variance = kernel.diag(X) - np.einsum("ij,ij->j", V, V)
        values = np.column_stack([values, variance])
    return values.astype(chunk.X.dtype, copy=False)
