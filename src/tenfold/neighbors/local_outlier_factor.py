"""Outliers by the density of their neighborhood."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import OutlierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.docstrings import inherit_descriptions
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.neighbors._base import (
    K_CONSTRAINT,
    NEIGHBOR_CONSTRAINTS,
    UnsupervisedNeighbors,
    nearest_of_chunk,
)
from tenfold.neighbors._searches import KNeighborsSearch
from tenfold.neighbors._stored_rows import NeighborRows
from tenfold.neighbors._votes import NeighborSearch

_AUTO_OFFSET = -1.5  # factor of an outlier, as in scikit-learn
_SMALLEST = 1e-10  # is added to reachability distances: duplicates are at distance zero
_SUSPICIOUS = -1e7  # factors below it come from duplicates


def _for_novelty(method: str) -> Any:
    """Whether a method for other rows than the training rows is available."""

    def check(model: LocalOutlierFactor) -> bool:
        if model.novelty:
            return True
        raise AttributeError(
            f"{method} is not available when novelty=False: use fit_predict or "
            "negative_outlier_factor_ for the training rows, and novelty=True for other rows"
        )

    return check


def _for_training_rows(model: LocalOutlierFactor) -> bool:
    if not model.novelty:
        return True
    raise AttributeError(
        "fit_predict is not available when novelty=True. Use novelty=False if you want to predict "
        "on the training set."
    )


@inherit_descriptions
class LocalOutlierFactor(OutlierMixin, KNeighborsSearch, UnsupervisedNeighbors):  # pyright: ignore[reportIncompatibleMethodOverride]
    r"""Find rows whose neighbors lie closer to each other than they do.

    With :math:`d_k(x)` the distance of the k-th neighbor, the reachability distance of x from a
    neighbor o is :math:`\max(d_k(o), d(x, o))`, the density of x is
    :math:`\rho(x) = 1 / \operatorname{mean}_{o \in N_k(x)} \max(d_k(o), d(x, o))`, and its factor

    .. math:: \operatorname{LOF}(x) = \operatorname{mean}_{o \in N_k(x)} \rho(o) / \rho(x)

    is about one inside of a cluster and larger for outliers. Parameters are those of
    `sklearn.neighbors.LocalOutlierFactor`.

    Parameters
    ----------
    n_neighbors : int
        Number k of neighbors.
    contamination : "auto" or float
        Share of outliers among the training rows; "auto" takes a factor of 1.5 as the limit.
    novelty : bool
        Whether other rows than the training rows are scored.

    Attributes
    ----------
    negative_outlier_factor_ : (n,) minus the factors of the training rows
    n_neighbors_ : number of neighbors, less than the number of rows
    offset_ : rows with a smaller negative factor are outliers

    See Also
    --------
    IsolationForest : Outliers by random splits.

    References
    ----------
    M. Breunig, H.-P. Kriegel, R. Ng and J. Sander (2000), LOF: identifying density-based local
    outliers.

    Examples
    --------
    >>> from tenfold import LocalOutlierFactor
    >>> LocalOutlierFactor(n_neighbors=2).fit_predict([[-1.1], [0.2], [101.1], [0.3]]).tolist()
    [1, 1, -1, 1]
    """

    _law_params = {"n_neighbors": 5, "novelty": True}
    _parameter_constraints = {
        **K_CONSTRAINT,
        **NEIGHBOR_CONSTRAINTS,
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "novelty": ["boolean"],
    }

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict | None = None,
        contamination: Any = "auto",
        novelty: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)
        self.n_neighbors = n_neighbors
        self.contamination = contamination
        self.novelty = novelty

    def _finalize(self, s: NeighborRows, dtype: np.dtype) -> dict[str, Any]:
        learned = super()._finalize(s, dtype)
        n = s.n_rows
        if self.n_neighbors > n:
            warnings.warn(
                f"n_neighbors ({self.n_neighbors}) is greater than the total number of samples "
                f"({n}). n_neighbors will be set to (n_samples - 1) for estimation.",
                stacklevel=5,
            )
        k = max(1, min(self.n_neighbors, n - 1))
        if n <= k:
            raise ValueError(
                f"Expected n_neighbors < n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {n}, n_samples = {n}"
            )
        own = np.arange(n)
        search = NeighborSearch(learned["_index"], k, row_codes=own, query_codes=own)
        source = SparseSource(s.X) if sparse.issparse(s.X) else ArraySource(s.X)
        found = Rows(source, allow_nan=True).each(nearest_of_chunk, search)
        distances, rows = found["distance"].astype(dtype), np.ascontiguousarray(found["row"])
        density = _densities(distances, distances[:, -1][rows])
        factor = -_mean_over_neighbors(density[rows] / density[:, None])
        if factor.min() < _SUSPICIOUS and not self.novelty:
            warnings.warn(
                "Duplicate values are leading to incorrect results. Increase the number of "
                "neighbors for more accurate results.",
                stacklevel=5,
            )
        return {
            **learned,
            "n_neighbors_": k,
            "negative_outlier_factor_": factor,
            "offset_": self._offset(factor),
            "_kth_distance": distances[:, -1].copy(),
            "_lrd": density,
        }

    def _offset(self, factor: np.ndarray) -> float:
        if isinstance(self.contamination, str):
            return _AUTO_OFFSET
        return float(np.percentile(factor, 100.0 * self.contamination))

    def _check_learned(self) -> None:
        """Refuse a loaded model whose arrays do not fit the rows; see `NeighborsModel`."""
        super()._check_learned()
        for name in ("_kth_distance", "_lrd", "negative_outlier_factor_"):
            if hasattr(self, name) and len(getattr(self, name)) != self.n_samples_fit_:
                raise ValueError(f"{name} is not for {self.n_samples_fit_} rows")

    @available_if(_for_training_rows)
    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Fit, and say for each training row whether it is an outlier (-1) or not (1).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for metric="precomputed" their distances from each other.
        y : ignored

        Returns
        -------
        (n,) array of -1 and 1
        """
        del y
        self.fit(X)
        return np.where(self.negative_outlier_factor_ < self.offset_, -1, 1)

    @available_if(_for_novelty("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Say for each row whether it is an outlier (-1) or not (1).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows, none of them a training row.

        Returns
        -------
        (n,) array of -1 and 1
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    @available_if(_for_novelty("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Negative factor of each row less the offset: outliers are below zero.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows, none of them a training row.

        Returns
        -------
        (n,) array
        """
        return self.score_samples(X) - self.offset_

    @available_if(_for_novelty("score_samples"))
    def score_samples(self, X: Any) -> np.ndarray:
        """Minus the factor of each row.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows, none of them a training row.

        Returns
        -------
        (n,) array
        """
        check_is_fitted(self)
        search = NeighborSearch(self._index, self.n_neighbors_)
        return self._map_queries(X, factors_of_chunk, search, self._kth_distance, self._lrd)


def factors_of_chunk(
    chunk: Chunk, search: NeighborSearch, kth_distance: np.ndarray, density: np.ndarray
) -> np.ndarray:
    """Minus the factors of queries."""
    found = search.nearest(chunk.X, chunk.first)
    own = _densities(found.distances.astype(kth_distance.dtype), kth_distance[found.rows])
    return -_mean_over_neighbors(density[found.rows] / own[:, None])


def _densities(distances: np.ndarray, kth_distances: np.ndarray) -> np.ndarray:
    """Inverse mean reachability distances, from distances to neighbors and those of theirs."""
    mean = _mean_over_neighbors(np.maximum(distances, kth_distances))
    return 1 / (mean + mean.dtype.type(_SMALLEST))


def _mean_over_neighbors(values: np.ndarray) -> np.ndarray:
    """Means of rows, summed in the order of neighbors."""
    total = np.zeros(len(values), values.dtype)
    for column in values.T:
        total += column
    return total / values.shape[1]
