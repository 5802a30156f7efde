"""Sparse Gaussian-process regression with inducing points, for any number of rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Regressor
from tenfold.engine.merge_tree import merge as merge_statistics
from tenfold.engine.rows import Rows
from tenfold.engine.tiled_cholesky import solve_triangular
from tenfold.gaussian_process._collapsed_bound import (
    InducingPoints,
    InducingStatistic,
    Normalization,
    bound_gradient,
    inducing_statistic,
    infer,
    place_inducing_points,
    predict_chunk,
)
from tenfold.gaussian_process._hyperparameters import (
    check_kernel_columns,
    maximize_evidence,
    warn_about_bounds,
)
from tenfold.gaussian_process._inducing_points import (
    choose_inducing_points,
    resolve_sparse_kernel,
)
from tenfold.kernel._gradient_tiles import translate_kernel
from tenfold.kernel.base import ConstantKernel, Sum, WhiteKernel
from tenfold.kernel.kernels import KERNEL_NAMES
from tenfold.kernel.stationary import RBF


class SparseGaussianProcessRegressor(Regressor):
    r"""Gaussian-process regression through the values at a few inducing points.

    The posterior is approximated by one that depends on the rows only through the values of the
    function at m inducing points Z, the best such by the variational bound

    .. math:: F = \log \mathcal N(y \mid 0, Q + \sigma^2 I)
              - \frac{1}{2 \sigma^2} \operatorname{tr}(K_{nn} - Q) \le \log p(y), \qquad
              Q = K_{nm} K_{mm}^{-1} K_{mn}.

    The bound and its gradient are two passes over the rows, whose statistics do not grow with
    them: any number of rows, from arrays, files or a cluster, with the same bits. Hyperparameters
    maximize the bound by L-BFGS on all rows. With fixed ones (``optimizer=None``) and given
    inducing points, models merge (`tenfold.merge`) and learn on (`partial_fit`). With all rows as
    inducing points this is `GaussianProcessRegressor`.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        The covariance function, without noise, as in `GaussianProcessRegressor`; None is
        ``ConstantKernel(1.0) * RBF(s)``, where s is the root of the summed variances of the columns
        of the inducing points, with bounds from 1e-5 s to 1e5 s.
    n_inducing : int
        Number of inducing points.
    inducing : {"kmeans", "uniform"} or (m, n_features) array
        The inducing points: centers of clusters, rows drawn at random, or these. `partial_fit`
        takes them from its first rows.
    noise_level : float
        Variance of the noise, :math:`\sigma^2`, of normalized targets; where a search for
        hyperparameters begins.
    noise_level_bounds : pair of floats or "fixed"
        Bounds of that variance.
    optimizer : "fmin_l_bfgs_b", callable or None
        How to maximize the bound; None keeps kernel and noise as they are.
    n_restarts_optimizer : int
        Further starts, uniform within the bounds.
    max_iter_optimizer : int
        Most iterations of the optimizer; each takes two passes or a few more.
    normalize_y : bool
        Subtract the mean of the target and divide by its standard deviation. Unlike in
        `GaussianProcessRegressor`, whose default is that of scikit-learn, this is the default: the
        prior has mean 0 and variances near 1, and on targets far from that, in which noise
        and signal differ little, the search ends where the function is zero almost everywhere.
    random_state : int, RandomState or None
        Seed of inducing points and starts.

    Attributes
    ----------
    kernel_, noise_level_ : kernel and variance of the noise with fitted hyperparameters, of
        normalized targets
    inducing_points_ : (m, n_features) array
    lower_bound_ : the bound at these
    alpha_ : (m,) or (m, n_targets) weights: the mean of normalized targets is ``k(x, Z) @ alpha_``
    statistic_ : what the rows said; from it come merging and `partial_fit`
    n_iter_, converged_, history_ : iterations of the best start, whether it converged, and the
        negative bound ("objective") after each, with "seconds"

    See Also
    --------
    GaussianProcessRegressor : Exact, for thousands of rows.

    References
    ----------
    M. K. Titsias (2009), Variational learning of inducing variables in sparse Gaussian processes.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SparseGaussianProcessRegressor
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(50 * X[:, 0])
    >>> model = SparseGaussianProcessRegressor(n_inducing=12, random_state=0).fit(X, y)
    >>> bool(abs(model.predict([[3.0]])[0] - np.sin(3.0)) < 0.05)
    True
    """

    _multi_output = True
    _samples_rows = True
    _chunk_rows = 1024
    _law_rows = 2500
    _float64_learned = ("inducing_points_", "alpha_")
    _law_params = {
        "kernel": ConstantKernel() * RBF(),  # None would see how often a row is repeated
        "optimizer": None,
        "inducing": "uniform",
        "n_inducing": 150,
        "noise_level": 0.1,
    }
    _parameter_constraints = {
        "kernel": [None, StrOptions(set(KERNEL_NAMES)), callable],
        "n_inducing": [Interval(Integral, 1, None, closed="left")],
        "inducing": [StrOptions({"kmeans", "uniform"}), "array-like"],
        "noise_level": [Interval(Real, 0, None, closed="neither")],
        "noise_level_bounds": [StrOptions({"fixed"}), tuple, list],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "max_iter_optimizer": [Interval(Integral, 1, None, closed="left")],
        "normalize_y": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_inducing: int = 100,
        inducing: Any = "kmeans",
        noise_level: float = 1.0,
        noise_level_bounds: Any = (1e-5, 1e5),
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        max_iter_optimizer: int = 100,
        normalize_y: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.noise_level = noise_level
        self.noise_level_bounds = noise_level_bounds
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter_optimizer = max_iter_optimizer
        self.normalize_y = normalize_y
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._target_shape = rows.target_shape
        Z = self._choose_inducing(rows, rng)
        prior = self._prior(Z)
        report: dict[str, Any] = {}
        if self.optimizer is not None and prior.n_dims > 0:

            def bound(theta: np.ndarray, eval_gradient: bool) -> Any:
                at = prior.clone_with_theta(theta)
                return self._evaluate(rows, at, Z, eval_gradient=eval_gradient)

            theta, _, report = maximize_evidence(
                bound,
                prior,
                self.optimizer,
                self.n_restarts_optimizer,
                rng,
                self.max_iter_optimizer,
            )
            prior = prior.clone_with_theta(theta)
            warn_about_bounds(prior)
        points = place_inducing_points(translate_kernel(prior.k1), Z)
        statistic = rows.total(inducing_statistic, points, self.normalize_y)
        return {
            **self._learned_attributes(statistic, points, prior),
            "dtype_": rows.dtype,
            **report,
        }

    def _normalize(self, s: InducingStatistic) -> tuple[InducingStatistic, Normalization]:
        if self.normalize_y:
            return s.normalize()
        return s, Normalization(np.zeros_like(s.yy), np.ones_like(s.yy))

    def _evaluate(self, rows: Rows, prior: Any, Z: np.ndarray, *, eval_gradient: bool) -> Any:
        """The bound at some hyperparameters, with its gradient on request."""
        noise = prior.k2.noise_level
        try:
            points = place_inducing_points(translate_kernel(prior.k1), Z)
            s, normalization = self._normalize(
                rows.total(inducing_statistic, points, self.normalize_y)
            )
            if not eval_gradient:
                return infer(s, noise).bound
            bound, gradient = bound_gradient(rows, points, s, normalization, noise)
        except np.linalg.LinAlgError:
            return (-np.inf, np.zeros(prior.n_dims)) if eval_gradient else -np.inf
        return bound, gradient[: prior.n_dims]

    def _prior(self, Z: np.ndarray) -> Any:
        """The kernel plus the noise, as one kernel: its theta has all hyperparameters."""
        kernel = resolve_sparse_kernel(
            self.kernel, Z, "and give `noise_level`", optimized=self.optimizer is not None
        )
        return Sum(kernel, WhiteKernel(self.noise_level, self.noise_level_bounds))

    def _choose_inducing(self, rows: Rows, rng: np.random.Generator) -> np.ndarray:
        name = type(self).__name__
        return choose_inducing_points(rows, self.inducing, self.n_inducing, rng, name)

    def _learned_attributes(
        self, statistic: InducingStatistic, points: InducingPoints, prior: Any
    ) -> dict[str, Any]:
        normalized, normalization = self._normalize(statistic)
        found = infer(normalized, prior.k2.noise_level)
        dual = solve_triangular(points.L, found.w, transposed=True)
        return {
            "kernel_": prior.k1,
            "noise_level_": float(prior.k2.noise_level),
            "inducing_points_": points.Z,
            "lower_bound_": float(found.bound),
            "alpha_": dual if self._target_shape else dual[:, 0],
            "statistic_": statistic,
            "_prior_factor": points.L,
            "_noise_factor": found.L_B,
            "_weights": found.w,
            "_y_train_mean": normalization.offset,
            "_y_train_std": normalization.scale,
        }

    def _check_learned(self) -> None:
        check_kernel_columns(self.kernel_, self.inducing_points_)

    def _from_statistic(self, statistic: InducingStatistic, dtype: np.dtype) -> dict[str, Any]:
        """The learned attributes at the given hyperparameters, for `tenfold.merge`."""
        if self.optimizer is not None or isinstance(self.inducing, str):
            raise ValueError(
                "models with inducing points or hyperparameters of their own rows do not merge: "
                "give inducing=array and optimizer=None"
            )
        Z = np.array(self.inducing, np.float64)
        prior = self._prior(Z)
        points = place_inducing_points(translate_kernel(prior.k1), Z)
        return {**self._learned_attributes(statistic, points, prior), "dtype_": dtype}

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows at fixed inducing points and hyperparameters.

        The first call takes them from the parameters and its own rows, without a search; after a
        `fit` they are those of the fit.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The further rows.
        y : array or column name
            Their targets.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            first = not hasattr(self, "statistic_")
            rows = self._rows(X, y, sample_weight, reset=first)
            if first:
                self._target_shape = rows.target_shape
                Z = self._choose_inducing(rows, self._rng())
                prior = self._prior(Z)
            else:
                noise = WhiteKernel(self.noise_level_, self.noise_level_bounds)
                prior, Z = Sum(self.kernel_, noise), self.inducing_points_
            points = place_inducing_points(translate_kernel(prior.k1), Z)
            statistic, dtype = rows.total(inducing_statistic, points, self.normalize_y), rows.dtype
            if not first:
                statistic = merge_statistics(self.statistic_, statistic)
                dtype = np.result_type(self.dtype_, dtype)
            self._set_learned(
                {**self._learned_attributes(statistic, points, prior), "dtype_": dtype}
            )
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of the prediction, and on request its standard deviation.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        return_std : bool
            Whether to return the standard deviation of the function, without the noise, as well.

        Returns
        -------
        y_mean : (n_samples,) or (n_samples, n_targets) array
        y_std : (n_samples,) or (n_samples, n_targets) array, if it was asked for
        """
        check_is_fitted(self)
        kernel = translate_kernel(self.kernel_)
        points = InducingPoints(kernel, self.inducing_points_, self._prior_factor)
        normalization = Normalization(self._y_train_mean, self._y_train_std)
        state = points, self._noise_factor, self._weights, normalization, return_std
        values = self._map_rows(X, predict_chunk, *state)
        k = self._weights.shape[1]
        mean = values[:, :k] if self._target_shape else values[:, 0]
        if not return_std:
            return mean
        deviation = np.sqrt(np.maximum(values[:, k:], 0.0)) * self._y_train_std.astype(values.dtype)
        return mean, deviation if self._target_shape else deviation[:, 0]
