"""Graphs of neighbors: as functions, and as steps of pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import StrOptions
from tenfold.base.docstrings import inherit_descriptions
from tenfold.base.mixins import Transformer
from tenfold.neighbors._base import (
    K_CONSTRAINT,
    NEIGHBOR_CONSTRAINTS,
    RADIUS_CONSTRAINT,
    UnsupervisedNeighbors,
)
from tenfold.neighbors._searches import KNeighborsSearch, RadiusSearch
from tenfold.neighbors._stored_rows import NeighborRows
from tenfold.neighbors.nearest_neighbors import NearestNeighbors

_MODE: dict[str, Any] = {"mode": [StrOptions({"distance", "connectivity"})]}


class GraphTransformer(ClassNamePrefixFeaturesOutMixin, UnsupervisedNeighbors, Transformer):  # pyright: ignore[reportIncompatibleMethodOverride]
    """A transformer whose columns are the training rows.

    Parameters
    ----------
    mode : {"distance", "connectivity"}
        Whether edges are distances or ones.
    """

    _law_rows = 1500

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
        return self._graph(X)

    def _graph(self, X: Any) -> csr_matrix:
        raise NotImplementedError

    def _finalize(self, s: NeighborRows, dtype: np.dtype) -> dict[str, Any]:
        return {**super()._finalize(s, dtype), "_n_features_out": s.n_rows}


@inherit_descriptions
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
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)
        self.mode = mode
        self.n_neighbors = n_neighbors

    def _graph(self, X: Any) -> csr_matrix:
        k = self.n_neighbors + (self.mode == "distance")
        return self.kneighbors_graph(X, k, self.mode)


@inherit_descriptions
class RadiusNeighborsTransformer(RadiusSearch, GraphTransformer):
    r"""The graph of the training rows within a radius of each row: :math:`A_{qi} = d(q, x_i)`.

    For estimators that take `metric="precomputed"`: the graph is computed once for many of their
    settings. Parameters are those of `sklearn.neighbors.RadiusNeighborsTransformer`.

    Parameters
    ----------
    radius : float
        Largest distance of neighbors, itself included.

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
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)
        self.mode = mode
        self.radius = radius

    def _graph(self, X: Any) -> csr_matrix:
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


def _queries_of(search: Any, mode: str, include_self: Any) -> Any:
    """The training rows, or None if none of them is its own neighbor."""
    own = mode == "connectivity" if include_self == "auto" else include_self
    return search.statistic_.X if own else None


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
    return search.kneighbors_graph(_queries_of(search, mode, include_self), n_neighbors, mode)


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
    return search.radius_neighbors_graph(_queries_of(search, mode, include_self), radius, mode)
