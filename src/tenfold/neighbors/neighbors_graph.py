"""Graphs of neighbors: as functions, and as steps of pipelines."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import StrOptions
from tenfold.base.mixins import Transformer
from tenfold.neighbors._base import (
    K_CONSTRAINT,
    NEIGHBOR_CONSTRAINTS,
    RADIUS_CONSTRAINT,
    NeighborsModel,
)
from tenfold.neighbors._searches import KNeighborsSearch, RadiusSearch
from tenfold.neighbors._stored_rows import NeighborRows
from tenfold.neighbors.nearest_neighbors import NearestNeighbors

_MODE: dict[str, Any] = {"mode": [StrOptions({"distance", "connectivity"})]}


class GraphTransformer(ClassNamePrefixFeaturesOutMixin, NeighborsModel, Transformer):
    """A transformer whose columns are the training rows."""

    _law_rows = 1500

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Store the rows for searches.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for metric="precomputed" their distances from each other.
        y : ignored

        Returns
        -------
        self
        """
        del y
        return self._fit_with_groups(X, None, None, None)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> csr_matrix:
        """Store the rows, and return the graph of their neighbors, each row its own one.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : ignored
        **fit_params
            Arguments of `fit`.

        Returns
        -------
        (n, n) CSR matrix
        """
        return self.fit(X, y, **fit_params).transform(X)

    def _finalize(self, s: NeighborRows, dtype: np.dtype) -> dict[str, Any]:
        return {**super()._finalize(s, dtype), "_n_features_out": s.n_rows}


class KNeighborsTransformer(KNeighborsSearch, GraphTransformer):
    r"""The graph of the k nearest training rows of each row: :math:`A_{qi} = d(q, x_i)`.

    For estimators that take `metric="precomputed"`: the graph is computed once for many of their
    settings. Parameters are those of `sklearn.neighbors.KNeighborsTransformer`.

    Parameters
    ----------
    mode : {"distance", "connectivity"}
        Whether edges are distances or ones. For "distance" one more neighbor is searched, since a
        training row is its own first one.
    n_neighbors : int
        Number of neighbors.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
        How to search; the result is the same.
    leaf_size : int
        Most rows of a leaf of a tree.
    metric : str or callable
        As in `NearestNeighbors`.
    p : float
        Power of the Minkowski metric.
    metric_params : dict, optional
        Further parameters of the metric.
    n_jobs : int, optional
        Number of threads; by default all.

    Attributes
    ----------
    n_samples_fit_ : number of training rows
    effective_metric_, effective_metric_params_ : the metric, "minkowski" by the name of its case
    statistic_ : the training rows, to which `partial_fit` adds and which `tenfold.merge` joins

    See Also
    --------
    RadiusNeighborsTransformer : The graph of all rows within a radius.

    References
    ----------
    F. Preparata and M. Shamos (1985), Computational geometry, chapter 5.

    Examples
    --------
    >>> from tenfold import KNeighborsTransformer
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    _parameter_constraints = {**_MODE, **K_CONSTRAINT, **NEIGHBOR_CONSTRAINTS}

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.mode = mode
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def transform(self, X: Any) -> csr_matrix:
        """The graph of the neighbors of rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n, n_samples_fit) CSR matrix
        """
        check_is_fitted(self)
        k = self.n_neighbors + (self.mode == "distance")
        return self.kneighbors_graph(X, k, self.mode)


class RadiusNeighborsTransformer(RadiusSearch, GraphTransformer):
    r"""The graph of the training rows within a radius of each row: :math:`A_{qi} = d(q, x_i)`.

    For estimators that take `metric="precomputed"`: the graph is computed once for many of their
    settings. Parameters are those of `sklearn.neighbors.RadiusNeighborsTransformer`.

    Parameters
    ----------
    mode : {"distance", "connectivity"}
        Whether edges are distances or ones.
    radius : float
        Largest distance of neighbors, itself included.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
        How to search; the result is the same.
    leaf_size : int
        Most rows of a leaf of a tree.
    metric : str or callable
        As in `NearestNeighbors`.
    p : float
        Power of the Minkowski metric.
    metric_params : dict, optional
        Further parameters of the metric.
    n_jobs : int, optional
        Number of threads; by default all.

    Attributes
    ----------
    n_samples_fit_ : number of training rows
    effective_metric_, effective_metric_params_ : the metric, "minkowski" by the name of its case
    statistic_ : the training rows, to which `partial_fit` adds and which `tenfold.merge` joins

    See Also
    --------
    KNeighborsTransformer : The graph of a fixed number of neighbors.

    References
    ----------
    F. Preparata and M. Shamos (1985), Computational geometry, chapter 5.

    Examples
    --------
    >>> from tenfold import RadiusNeighborsTransformer
    >>> RadiusNeighborsTransformer(radius=1.5).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """

    _parameter_constraints = {**_MODE, **RADIUS_CONSTRAINT, **NEIGHBOR_CONSTRAINTS}

    def __init__(
        self,
        *,
        mode: str = "distance",
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.mode = mode
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def transform(self, X: Any) -> csr_matrix:
        """The graph of the neighbors of rows, nearest first.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.

        Returns
        -------
        (n, n_samples_fit) CSR matrix
        """
        check_is_fitted(self)
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)


def _search_of(X: Any, metric: Any, p: float, params: dict | None, n_jobs: int | None) -> Any:
    """A fitted search; one that is given has to have the same metric."""
    if not isinstance(X, KNeighborsSearch | RadiusSearch):
        search = NearestNeighbors(metric=metric, p=p, metric_params=params, n_jobs=n_jobs)
        return search.fit(X)
    given = X.get_params()
    for name, value in (("metric", metric), ("p", p), ("metric_params", params)):
        if value != given[name]:
            raise ValueError(
                f"Got {value} for {name}, while the estimator has {given[name]} for the same "
                "parameter."
            )
    return X


def kneighbors_graph(
    X: Any,
    n_neighbors: int,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: dict | None = None,
    include_self: Any = False,
    n_jobs: int | None = None,
) -> csr_matrix:
    """The graph of the k nearest rows of each row.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection, or a fitted search
        The rows.
    n_neighbors : int
        Number of neighbors.
    mode : {"connectivity", "distance"}
        Whether edges are ones or distances.
    metric, p, metric_params : as in `NearestNeighbors`
    include_self : bool or "auto"
        Whether a row is its own first neighbor; "auto": for mode="connectivity".
    n_jobs : int, optional
        Number of threads; by default all.

    Returns
    -------
    (n, n) CSR matrix

    Examples
    --------
    >>> from tenfold.neighbors.neighbors_graph import kneighbors_graph
    >>> kneighbors_graph([[0.0], [3.0], [1.0]], 2, include_self=True).toarray()
    array([[1., 0., 1.],
           [0., 1., 1.],
           [1., 0., 1.]])
    """
    search = _search_of(X, metric, p, metric_params, n_jobs)
    own = mode == "connectivity" if include_self == "auto" else include_self
    queries = search.statistic_.X if own else None
    return search.kneighbors_graph(queries, n_neighbors, mode)


def radius_neighbors_graph(
    X: Any,
    radius: float,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: dict | None = None,
    include_self: Any = False,
    n_jobs: int | None = None,
) -> csr_matrix:
    """The graph of all rows within a radius of each row.

    Parameters
    ----------
    X : array, sparse matrix, table, path, Dask collection, or a fitted search
        The rows.
    radius : float
        Largest distance, itself included.
    mode : {"connectivity", "distance"}
        Whether edges are ones or distances.
    metric, p, metric_params : as in `NearestNeighbors`
    include_self : bool or "auto"
        Whether a row is its own first neighbor; "auto": for mode="connectivity".
    n_jobs : int, optional
        Number of threads; by default all.

    Returns
    -------
    (n, n) CSR matrix

    Examples
    --------
    >>> from tenfold.neighbors.neighbors_graph import radius_neighbors_graph
    >>> radius_neighbors_graph([[0.0], [3.0], [1.0]], 1.5, mode="connectivity").toarray()
    array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """
    search = _search_of(X, metric, p, metric_params, n_jobs)
    own = mode == "connectivity" if include_self == "auto" else include_self
    queries = search.statistic_.X if own else None
    return search.radius_neighbors_graph(queries, radius, mode)
