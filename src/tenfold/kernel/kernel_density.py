"""Kernel density estimation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import gammainc
from sklearn.neighbors import VALID_METRICS, BallTree, KDTree
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._kernel_sums import (
    DENSITY_KERNELS,
    LocalFit,
    Smoother,
    log_volume,
    sum_over,
)
from tenfold.kernel._training_rows import FIT_CHUNK_ROWS, QueryMixin, keep_rows

_METRICS = {*VALID_METRICS["kd_tree"], *VALID_METRICS["ball_tree"]}


class KernelDensity(QueryMixin, Estimator):
    r"""Kernel density estimation: a bump of mass at each row of the fit.

    .. math:: p(x) = \frac{1}{\sum_i \omega_i} \sum_i \frac{\omega_i}{V h^d}
              \, k\Bigl(\frac{\lVert x - x_i \rVert}{h}\Bigr)

    with the integral V of the kernel k. Sums are exact, in the log domain, by blocks of rows on all
    threads; there is no tree, and `atol`, `rtol`, `breadth_first` and `leaf_size`, which trade
    accuracy and time of one, are taken for compatibility. Other parameters are those of
    `sklearn.neighbors.KernelDensity`.

    Parameters
    ----------
    bandwidth : float or {"scott", "silverman"}
        The bandwidth h, or a rule for it.
    algorithm : {"auto", "kd_tree", "ball_tree"}
        Which metrics are allowed.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}
        The kernel.
    metric : str or callable
        Distance; V is that of Euclidean distance.
    atol, rtol : float
        Allowed errors; results have none.
    breadth_first, leaf_size : bool and int
        Of a tree.
    metric_params : dict, optional
        Parameters of the metric.

    Attributes
    ----------
    bandwidth_ : the bandwidth
    X_fit_, weights_fit_ : rows of the fit and their weights; None if they stay in a file
    total_weight_ : sum of the weights

    See Also
    --------
    GaussianMixture : A density of a few Gaussians.
    NadarayaWatsonRegressor : Means of targets with the same weights.

    References
    ----------
    B. W. Silverman (1986), Density Estimation for Statistics and Data Analysis.

    D. W. Scott (1992), Multivariate Density Estimation.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelDensity
    >>> density = KernelDensity(bandwidth=1.0).fit([[0.0], [2.0]])
    >>> np.exp(density.score_samples([[1.0]])).round(4).tolist()
    [0.242]
    """

    _law_rows = 1500
    _chunk_rows = FIT_CHUNK_ROWS
    _learned_shapes = {"X_fit_": "n p", "weights_fit_": "n"}
    _parameter_constraints = {
        "bandwidth": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"scott", "silverman"}),
        ],
        "algorithm": [StrOptions({"kd_tree", "ball_tree", "auto"})],
        "kernel": [StrOptions(set(DENSITY_KERNELS))],
        "metric": [
            StrOptions(set(VALID_METRICS["kd_tree"] + VALID_METRICS["ball_tree"])),
            callable,
        ],
        "atol": [Interval(Real, 0, None, closed="left")],
        "rtol": [Interval(Real, 0, None, closed="left")],
        "breadth_first": ["boolean"],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "metric_params": [None, dict],
    }

    def __init__(
        self,
        *,
        bandwidth: Any = 1.0,
        algorithm: str = "auto",
        kernel: str = "gaussian",
        metric: Any = "euclidean",
        atol: float = 0,
        rtol: float = 0,
        breadth_first: bool = True,
        leaf_size: int = 40,
        metric_params: dict[str, Any] | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.algorithm != "auto" and self.metric not in VALID_METRICS[self.algorithm]:
            raise ValueError(f"invalid metric for {self.algorithm}: '{self.metric}'")
        weight = float(rows.total(_total_weight))
        bandwidth, p = self.bandwidth, rows.n_features
        if bandwidth == "scott":
            bandwidth = rows.n_rows ** (-1 / (p + 4))
        elif bandwidth == "silverman":
            bandwidth = (rows.n_rows * (p + 2) / 4) ** (-1 / (p + 4))
        kept = keep_rows(rows, rows.dtype)
        return {"bandwidth_": float(bandwidth), "total_weight_": weight, **kept}

    def _check_learned(self) -> None:
        """Refuse a loaded model whose rows do not weigh what its density is divided by."""
        if self.X_fit_ is None:
            return
        w = self.weights_fit_
        weight = len(self.X_fit_) if w is None else float(np.sum(w))
        if not np.isclose(weight, self.total_weight_, rtol=1e-6, atol=0.0):
            raise ValueError(
                f"the rows of X_fit_ weigh {weight:g}, but total_weight_ is {self.total_weight_}"
            )

    @property
    def tree_(self) -> Any:
        """scikit-learn's tree of the rows of the fit, built when it is asked for."""
        if getattr(self, "X_fit_", None) is None:
            raise AttributeError("the rows of the fit are not in memory: there is no tree_")
        kinds = {"kd_tree": KDTree, "ball_tree": BallTree}
        fits = self.metric in VALID_METRICS["kd_tree"]
        auto = "kd_tree" if fits else "ball_tree"
        tree = kinds[auto if self.algorithm == "auto" else self.algorithm]
        params = self.metric_params or {}
        return tree(self.X_fit_, metric=self.metric, leaf_size=self.leaf_size, **params)

    def score_samples(self, X: Any) -> np.ndarray:
        """Logarithm of the density at each row, (n_rows,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        smoother = Smoother(
            self.kernel, np.array([self.bandwidth_]), self.metric, self.metric_params
        )
        scale = log_volume(self.kernel, self.bandwidth_, self.n_features_in_)
        return self._map_queries(X, _log_densities, smoother, scale + np.log(self.total_weight_))

    def score(self, X: Any, y: Any = None) -> float:
        """Logarithm of the probability of all rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Ignored; for pipelines.
        """
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draws from the density, (n_samples, n_features); of "gaussian" and "tophat" kernels.

        Parameters
        ----------
        n_samples : int
            Number of draws.
        random_state : int, RandomState or None
            Seed.
        """
        check_is_fitted(self)
        if self.kernel not in ("gaussian", "tophat"):
            raise NotImplementedError(
                f"draws are made of kernel='gaussian' and 'tophat', not of {self.kernel!r}"
            )
        if self.X_fit_ is None:
            raise ValueError("the rows of the fit are in a file: fit to a sample of them to draw")
        rng = check_random_state(random_state)
        u, n, p = rng.uniform(0, 1, size=n_samples), *self.X_fit_.shape
        if self.weights_fit_ is None:
            i = (u * n).astype(np.int64)
        else:
            cumulative = np.cumsum(self.weights_fit_)
            i = np.searchsorted(cumulative, u * cumulative[-1])
        X = self.X_fit_[i].astype(np.float64)
        steps = rng.normal(size=(n_samples, p))
        if self.kernel == "tophat":
            squares = np.einsum("ij,ij->i", steps, steps)
            shares = gammainc(0.5 * p, 0.5 * squares) ** (1.0 / p) / np.sqrt(squares)
            steps *= shares[:, None]
        return X + self.bandwidth_ * steps


def _total_weight(chunk: Chunk) -> float:
    return chunk.weight


def _log_densities(
    queries: np.ndarray, training: Rows, smoother: Smoother, scale: float
) -> np.ndarray:
    """Logarithms of the density at queries."""
    nothing = LocalFit(None, 0, classes=False, origin=np.zeros(0))
    found = sum_over(training, queries, smoother, nothing)
    with np.errstate(divide="ignore"):
        return found.top[:, 0] + np.log(found.mass[:, 0]) - scale
