"""Gaussian-process regression in which each row is conditioned on its nearest neighbors."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Regressor
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.gaussian_process._evidence import as_float64, location_and_scale, noise_of_rows
from tenfold.gaussian_process._evidence_of_fit import EvidenceOfFit
from tenfold.gaussian_process._hyperparameters import (
    check_kernel_columns,
    maximize_evidence,
    warn_about_bounds,
)
from tenfold.gaussian_process._vecchia import (
    DIRECT_ROWS,
    ConditioningSets,
    block_size,
    condition_on_neighbors,
    evaluate,
    length_scales,
    order_rows,
    predict_block,
)
from tenfold.kernel._gradient_tiles import copy_kernel, translate_kernel
from tenfold.kernel.base import ConstantKernel, WhiteKernel
from tenfold.kernel.kernels import KERNEL_NAMES
from tenfold.kernel.object_kernels import takes_objects
from tenfold.kernel.stationary import Matern
from tenfold.neighbors._direct_search import nearest_directly
from tenfold.neighbors._row_index import RowIndex

_SAMPLE_ROWS = 1_000  # at which the distance of neighbors is measured, for a first length scale
_NO_SETS = np.empty((0, 1), np.int64)


class NearestNeighborGaussianProcessRegressor(EvidenceOfFit, Regressor):
    r"""Gaussian-process regression in which each row depends on a few near rows before it alone.

    Rows are put in an order, and the density of the targets is approximated by

    .. math:: p(y \mid X, \theta) \approx \prod_i p(y_i \mid y_{N(i)}, X, \theta),

    where N(i) are the m nearest rows among those before i (Vecchia). Time grows with
    :math:`n m^3` and memory with :math:`n m`. Hyperparameters maximize this likelihood, and a
    prediction is conditioned on the m nearest rows of all. With m at least the number of rows this
    is `GaussianProcessRegressor`. It sees short length scales, which a few inducing points of
    `SparseGaussianProcessRegressor` cannot carry.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        The covariance function, as in `GaussianProcessRegressor`. None is
        ``ConstantKernel(1.0) * Matern(s, nu=1.5) + WhiteKernel(0.1)``, where s is the median
        distance of a row from the farthest of its neighbors, with bounds from 1e-5 s to 1e5 s.
    n_neighbors : int
        Rows that each row, and each prediction, is conditioned on.
    alpha : float or (n_samples,) array
        Variance of the noise, one for all rows or one for each, of normalized targets. A
        `WhiteKernel` learns it instead.
    ordering : {"maximin", "random", "given"}
        Order of the rows: each of the first 5,000 as far as possible from those before and the
        others at random, all at random, or as they come.
    n_neighbor_updates : int
        How often neighbors are chosen anew in units of the length scales that were found, if the
        kernel has one for each column, after which the search for hyperparameters goes on.
    optimizer : "fmin_l_bfgs_b", callable or None
        How to maximize the likelihood; None keeps the kernel as it is.
    n_restarts_optimizer : int
        Further starts, uniform within the bounds of the kernel.
    max_iter_optimizer : int
        Most iterations of the optimizer.
    normalize_y : bool
        Subtract the mean of the target and divide by its standard deviation; the default, as in
        `SparseGaussianProcessRegressor`.
    random_state : int, RandomState or None
        Seed of the order and of the starts.

    Attributes
    ----------
    X_train_, y_train_ : the rows and the (normalized) targets
    kernel_ : the kernel with fitted hyperparameters
    order_ : (n_samples,) row numbers in the order in which rows are conditioned on those before
    log_marginal_likelihood_value_ : the approximate likelihood at `kernel_.theta`
    n_iter_, converged_, history_ : iterations of the last search, whether it converged, and the
        negative likelihood ("objective") after each, with "seconds"

    See Also
    --------
    GaussianProcessRegressor : Exact, for thousands of rows.
    SparseGaussianProcessRegressor : Rows in files and on clusters; smooth functions.

    References
    ----------
    A. V. Vecchia (1988), Estimation and model identification for continuous spatial processes.

    A. Datta, S. Banerjee, A. O. Finley and A. E. Gelfand (2016), Hierarchical nearest-neighbor
    Gaussian process models for large geostatistical datasets.

    J. Guinness (2018), Permutation and grouping methods for sharpening Gaussian process
    approximations.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NearestNeighborGaussianProcessRegressor
    >>> X = np.linspace(0, 20, 400)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(50 * X[:, 0])
    >>> model = NearestNeighborGaussianProcessRegressor(n_neighbors=20).fit(X, y)
    >>> mean, std = model.predict([[3.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(3.0)) < std[0])
    True
    """

    _multi_output = True
    _samples_rows = True
    _law_rows = 700
    _chunk_rows = 256
    _float64_learned = ("y_train_",)
    _law_params = {"optimizer": None, "n_neighbors": 10, "ordering": "random"}
    _parameter_constraints = {
        "kernel": [None, StrOptions(set(KERNEL_NAMES)), callable],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left"), np.ndarray],
        "ordering": [StrOptions({"maximin", "random", "given"})],
        "n_neighbor_updates": [Interval(Integral, 0, None, closed="left")],
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
        n_neighbors: int = 30,
        alpha: Any = 1e-10,
        ordering: str = "maximin",
        n_neighbor_updates: int = 1,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        max_iter_optimizer: int = 100,
        normalize_y: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.ordering = ordering
        self.n_neighbor_updates = n_neighbor_updates
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter_optimizer = max_iter_optimizer
        self.normalize_y = normalize_y
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Learn from rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; they are gathered in memory.
        y : (n_samples,) or (n_samples, n_targets) array, or column name
            Targets.

        Returns
        -------
        self
        """
        if takes_objects(self.kernel):
            raise ValueError(
                f"the kernel {self.kernel} is for objects, which have no nearest neighbors here: "
                "take GaussianProcessRegressor"
            )
        return super().fit(X, y)

    def _check_memory(self, rows: Rows) -> None:
        n, m, p = rows.n_rows, min(self.n_neighbors, rows.n_rows), rows.n_features
        check_memory(
            8.0 * (n * (m + 1 + 4 * p) + 6.0 * m * m),
            f"{type(self).__name__} of {n:,} rows with {m:,} neighbors each",
            "choose a smaller n_neighbors, or SparseGaussianProcessRegressor (any number of rows)",
        )

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        rows.total(_count_rows)  # looks at all rows, chunk by chunk, before they are gathered
        chunk = rows.gather()
        X, y = np.array(chunk.X), np.array(chunk.y, np.float64)
        noise = noise_of_rows(self.alpha, len(y))
        self._y_train_mean, self._y_train_std = location_and_scale(y, scale=self.normalize_y)
        y = (y - self._y_train_mean) / self._y_train_std
        m = self.n_neighbors
        kernel_: Any = _default_kernel(X, m) if self.kernel is None else copy_kernel(self.kernel, X)
        seed, report = int(rng.integers(2**31)), {}
        updates = (
            self.n_neighbor_updates if np.ndim(length_scales(translate_kernel(kernel_))) else 0
        )
        scale, order, data = self._condition(X, y, noise, kernel_, seed)
        if self.optimizer is not None and kernel_.n_dims > 0:
            for update in range(1 + updates):
                if update:
                    scale, order, data = self._condition(X, y, noise, kernel_, seed)
                restarts = 0 if update else self.n_restarts_optimizer
                kernel_, report = self._maximize(kernel_, data, restarts, rng)
            warn_about_bounds(kernel_)
        value = evaluate(translate_kernel(kernel_), data, eval_gradient=False)
        if not np.isfinite(value):
            raise np.linalg.LinAlgError(
                f"The kernel, {kernel_}, gives neighbors that determine each other up to rounding, "
                "and the covariance of some is not positive definite: increase alpha, or add a "
                "WhiteKernel"
            )
        return {
            "X_train_": X,
            "y_train_": y,
            "kernel_": kernel_,
            "order_": order,
            "log_marginal_likelihood_value_": value,
            "_scale": np.broadcast_to(np.asarray(scale, np.float64), (X.shape[1],)).copy(),
            "_index": _make_index(X, scale),
            **report,
        }

    def _condition(
        self, X: np.ndarray, y: np.ndarray, noise: Any, kernel: Any, seed: int
    ) -> tuple[Any, np.ndarray, ConditioningSets]:
        """The scale of the columns, the order of the rows, and their neighbors."""
        scale, X = length_scales(translate_kernel(kernel)), as_float64(X)
        order = order_rows(X / scale, self.ordering, np.random.default_rng(seed))
        Y = y.reshape(len(y), -1)
        data = condition_on_neighbors(X, Y, noise, order, self.n_neighbors, scale)
        return scale, order, data

    def _maximize(
        self, kernel_: Any, data: ConditioningSets, n_restarts: int, rng: np.random.Generator
    ) -> tuple[Any, dict[str, Any]]:
        """The kernel with the best hyperparameters, and the report of the search."""
        kernel = translate_kernel(clone(kernel_))

        def likelihood(theta: np.ndarray, eval_gradient: bool) -> Any:
            kernel.theta = theta
            return evaluate(kernel, data, eval_gradient=eval_gradient)

        theta, _, report = maximize_evidence(
            likelihood, kernel_, self.optimizer, n_restarts, rng, self.max_iter_optimizer
        )
        return kernel_.clone_with_theta(theta), report

    _learned_shapes = {
        "X_train_": "n p",
        "y_train_": "n q=1 | n q",
        "order_": "n : index n",
        "_scale": "p",
        "_y_train_mean": "q",
        "_y_train_std": "q",
    }

    def _check_learned(self) -> None:
        check_kernel_columns(self.kernel_, self.X_train_)
        if not (self._scale > 0).all():
            raise ValueError("_scale has entries that are not positive")
        if not hasattr(self, "_index"):  # a loaded model
            self._index = _make_index(self.X_train_, self._scale)

    def _evidence_of(self, kernel: Any, *, eval_gradient: bool) -> Any:
        """The approximate evidence; order and neighbors are those of the fit."""
        n = len(self.y_train_)
        data = condition_on_neighbors(
            as_float64(self.X_train_),
            self.y_train_.reshape(n, -1),
            noise_of_rows(self.alpha, n),
            self.order_,
            self.n_neighbors,
            self._scale,
        )
        return evaluate(kernel, data, eval_gradient=eval_gradient)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of the prediction, and on request its standard deviation.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        return_std : bool
            Whether to return standard deviations as well; those of a kernel with a `WhiteKernel`
            include the noise, as in `GaussianProcessRegressor`.

        Returns
        -------
        y_mean : (n_samples,) or (n_samples, n_targets) array
        y_std : (n_samples,) or (n_samples, n_targets) array, if it was asked for
        """
        check_is_fitted(self)
        n = len(self.y_train_)
        y, noise = self.y_train_.reshape(n, -1), noise_of_rows(self.alpha, n)
        rows = as_float64(self.X_train_)
        data = ConditioningSets(rows, y, noise, _NO_SETS, _NO_SETS[:, 0])
        m = min(self.n_neighbors, n)
        kernel = translate_kernel(self.kernel_)
        values = self._map_rows(X, _predict_chunk, kernel, data, self._index, self._scale, m)
        k = y.shape[1]
        scale, offset = (a.astype(values.dtype) for a in (self._y_train_std, self._y_train_mean))
        mean = values[:, :k] * scale + offset
        deviation = np.sqrt(np.maximum(values[:, k:], 0.0)) * scale
        if self.y_train_.ndim == 1:
            mean, deviation = mean[:, 0], deviation[:, 0]
        return (mean, deviation) if return_std else mean


def _count_rows(chunk: Chunk) -> float:
    return chunk.weight


def _default_kernel(X: np.ndarray, m: int) -> Any:
    """The kernel of a model that was given none, at the distance of its neighbors."""
    sample, k = X[:: -(-len(X) // _SAMPLE_ROWS)], min(m + 1, len(X))
    if len(X) <= DIRECT_ROWS:
        found = nearest_directly(as_float64(X), as_float64(sample), k)
        farthest = np.sqrt(found.distances[:, -1])
    else:
        farthest = _make_index(X, 1.0).nearest(as_float64(sample), k).distances[:, -1]
    reach = float(np.median(farthest)) or 1.0
    near = Matern(reach, (1e-5 * reach, 1e5 * reach), nu=1.5)
    return ConstantKernel() * near + WhiteKernel(0.1)


def _make_index(X: np.ndarray, scale: Any) -> RowIndex:
    """The rows of predictions; of few, a tree would take longer to compile than it saves."""
    algorithm = "brute" if len(X) <= DIRECT_ROWS else "auto"
    return RowIndex(np.ascontiguousarray(as_float64(X) / scale), algorithm=algorithm)


def _predict_chunk(
    chunk: Chunk, kernel: Any, data: ConditioningSets, index: RowIndex, scale: np.ndarray, m: int
) -> np.ndarray:
    """Means of all outputs and the variance, of normalized targets."""
    X = as_float64(chunk.X)
    neighbors = index.nearest(X / scale, m).rows
    size = block_size(m + 1)
    blocks = (slice(first, first + size) for first in range(0, len(X), size))
    values = [predict_block(kernel, X[rows], data, neighbors[rows]) for rows in blocks]
    return np.concatenate(values).astype(chunk.X.dtype, copy=False)
