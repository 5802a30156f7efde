"""Agglomerative hierarchical clustering."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import HasMethods, Hidden, Interval, StrOptions
from tenfold.base.mixins import Clusterer
from tenfold.cluster._connectivity import constrained_linkage
from tenfold.cluster._object_rows import check_objects, holds_objects
from tenfold.cluster.dendrogram import (
    EUCLIDEAN_METRICS,
    SQUARED_LINKAGES,
    cut_tree,
    flat_labels,
    linkage_matrix,
)
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.distances import pairwise_distances

_LINKAGES = {"single", "complete", "average", "centroid", "median", "ward"}


class AgglomerativeClustering(Clusterer):
    r"""Agglomerative clustering: merge the two nearest clusters until one is left; cut the tree.

    The linkage defines the distance of two clusters:

    .. math::
        \text{single: } \min \lVert a - b \rVert, \quad
        \text{complete: } \max \lVert a - b \rVert, \quad
        \text{average: } \frac{1}{|A| |B|} \sum_{a, b} \lVert a - b \rVert, \quad
        \text{centroid: } \lVert \bar a - \bar b \rVert, \quad
        \text{Ward: } \sqrt{\tfrac{2 |A| |B|}{|A| + |B|}} \lVert \bar a - \bar b \rVert

    The result is deterministic. Single linkage finds elongated clusters, complete linkage compact
    ones; heights of centroid and median linkage may fall. All rows are gathered in memory. Single
    linkage, and Ward linkage of up to 32 features, need no more than that; the others hold the
    distances of all pairs (8 bytes each). Time grows with the square of the rows. With
    `connectivity` only adjacent clusters merge: pairs are not held, and the time grows with the
    edges. Parameters and attributes are those of
    `sklearn.cluster.AgglomerativeClustering`, without `memory`.

    Parameters
    ----------
    n_clusters : int or None
        Number of clusters; None with `distance_threshold`.
    metric : str or callable
        Any of `tenfold.math.distances.pairwise_distances`; "precomputed" for a matrix of distances.
        "ward" takes "euclidean" alone. A function `f(a, b)` of two rows and "hamming" take rows of
        text or other objects too, in memory; the function gets them as tuples.
    memory : str, object with a `cache` method, or None
        Ignored: the fitted model itself keeps the tree, and `cut` cuts it anew.
    connectivity : (n_samples, n_samples) array or sparse matrix, or callable, optional
        Graph of the rows that may merge: nonzero entries are edges, in both directions. A callable
        computes it from the rows, as `sklearn.neighbors.kneighbors_graph` does. Components of a
        disconnected graph get an edge between their nearest rows, with a warning. Not for
        "centroid" and "median". Along edges heights may fall; a threshold then undoes as many of
        the last merges as there are heights that reach it.
    compute_full_tree : "auto" or bool
        Whether a tree with `connectivity` is complete or ends at `n_clusters`; "auto" ends it if
        `n_clusters` is at least 100 and 2 % of the rows. Without `connectivity`, and for "single",
        the tree is always complete. False is incompatible with `distance_threshold`.
    linkage : {"ward", "complete", "average", "single", "centroid", "median"}
        Distance of two clusters.
    distance_threshold : float, optional
        Cut at this height instead: clusters at least this far apart do not merge.
    compute_distances : bool
        Ignored: `distances_` are always computed.

    Attributes
    ----------
    labels_ : (n_samples,) cluster of each row; clusters are numbered by their first rows
    n_clusters_ : number of clusters
    n_leaves_ : number of rows
    n_connected_components_ : components of the given graph; 1 without one
    children_ : (n_samples - 1, 2) clusters that merge in step t to cluster n_samples + t; rows are
        clusters 0 to n_samples - 1; fewer merges if the tree ends early
    distances_ : (n_samples - 1,) heights of the merges
    linkage_ : (n_samples - 1, 4) linkage matrix, as in `scipy.cluster.hierarchy`

    See Also
    --------
    KMeans : Flat clusters of many rows.
    KMedoids : Flat clusters for any distance.

    References
    ----------
    J. H. Ward (1963), Hierarchical grouping to optimize an objective function.

    D. Müllner (2011), Modern hierarchical, agglomerative clustering algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import AgglomerativeClustering
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> model = AgglomerativeClustering(n_clusters=2, linkage="average").fit(X)
    >>> model.labels_.tolist(), model.distances_.round(4).tolist()
    ([0, 0, 0, 1], [1.0, 2.5, 5.6667])
    >>> model.cut(height=2.0).tolist()
    [0, 0, 1, 2]
    """

    _min_rows = 2
    _has_quadratic_time = True
    _law_rows = 2000
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [str, callable],
        "memory": [str, HasMethods("cache"), None],
        "connectivity": ["array-like", "sparse matrix", callable, None],
        "compute_full_tree": [StrOptions({"auto"}), "boolean"],
        "linkage": [StrOptions(_LINKAGES), Hidden(None)],
        "distance_threshold": [Interval(Real, 0, None, closed="left"), None],
        "compute_distances": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: Any = "euclidean",
        memory: Any = None,
        connectivity: Any = None,
        compute_full_tree: Any = "auto",
        linkage: str = "ward",
        distance_threshold: float | None = None,
        compute_distances: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Compute the tree of the rows, and cut it.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; all distances for the metric "precomputed".
        y : None
            Ignored; present for API consistency.
        """
        return self._fit_objects(X) if holds_objects(X, self.metric) else super().fit(X)

    def _fit_objects(self, X: Any) -> Self:
        """Fit to rows that are not numbers."""
        self._validate_params()
        rows = check_objects(self, X, reset=True)
        self._check_parameters(len(rows), rows.shape[1])
        if self.connectivity is not None:
            raise ValueError("connectivity needs rows of numbers: leave it out")
        with self._work_context():
            D = pairwise_distances(rows, metric=self.metric)
            self._set_learned(self._cut(linkage_matrix(D, self.linkage, "precomputed")))
        return self

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._check_parameters(rows.n_rows, rows.n_features)
        X = rows.each(_chunk_rows)
        if self.connectivity is not None:
            return self._fit_connected(X)
        return self._cut(linkage_matrix(X, self.linkage, self.metric))

    def _cut(self, Z: np.ndarray) -> dict[str, Any]:
        """Learned attributes of a tree."""
        if self.distance_threshold is None:
            labels = cut_tree(Z, n_clusters=self.n_clusters)
        else:
            labels = cut_tree(Z, height=self.distance_threshold)
        return _learned_tree(Z[:, :2].astype(np.int64), Z[:, 2].copy(), labels)

    def _fit_connected(self, X: np.ndarray) -> dict[str, Any]:
        """Cluster along the graph; the last merges are undone, whatever their heights."""
        n, graph = len(X), self.connectivity
        graph = graph(X) if callable(graph) else graph
        end = 1 if self.n_clusters is None else self._final_clusters(self.n_clusters, n)
        tree = constrained_linkage(X, graph, self.linkage, self.metric, end)
        k = self.n_clusters
        if k is None:
            k = 1 + int(np.count_nonzero(tree.heights >= self.distance_threshold))
        labels = flat_labels(tree.children, np.arange(len(tree.children)) < n - k, n)
        return _learned_tree(tree.children, tree.heights, labels, tree.n_components)

    def _final_clusters(self, k: int, n: int) -> int:
        """Number of clusters at which a tree of n rows along a graph ends."""
        full = self.compute_full_tree
        if full == "auto":
            full = k < max(100, 0.02 * n)
        return 1 if full else k

    def _check_parameters(self, n: int, p: int) -> None:
        """Raise errors for parameters that contradict each other or the rows."""
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError(
                "Exactly one of n_clusters and distance_threshold has to be set, and the other "
                "needs to be None."
            )
        if self.distance_threshold is not None and self.compute_full_tree is False:
            raise ValueError("compute_full_tree must be True if distance_threshold is set.")
        euclidean = isinstance(self.metric, str) and self.metric in EUCLIDEAN_METRICS
        precomputed = isinstance(self.metric, str) and self.metric == "precomputed"
        if (
            self.linkage in SQUARED_LINKAGES
            and not euclidean
            and (self.linkage == "ward" or not precomputed)
        ):
            raise ValueError(
                f"{self.metric} was provided as metric. {self.linkage.capitalize()} can only work "
                "with euclidean distances."
            )
        if self.connectivity is not None and self.linkage in {"centroid", "median"}:
            raise ValueError(
                f"linkage={self.linkage!r} does not support connectivity: use 'ward', 'complete', "
                "'average' or 'single', or leave out connectivity"
            )
        if precomputed and n != p:
            raise ValueError(
                f"Distance matrix should be square, got matrix of shape ({n}, {p}): give the "
                "distances of all pairs"
            )
        if self.n_clusters is not None and self.n_clusters > n:
            raise ValueError(
                f"Cannot extract more clusters than samples: {self.n_clusters} clusters where "
                f"given for a tree with {n} leaves."
            )

    @property
    def linkage_(self) -> np.ndarray:
        """Linkage matrix, as in `scipy.cluster.hierarchy`, (n_samples - 1, 4)."""
        check_is_fitted(self)
        sizes = np.ones(self.n_leaves_ + len(self.children_))
        for t, (a, b) in enumerate(self.children_, self.n_leaves_):
            sizes[t] = sizes[a] + sizes[b]
        return np.column_stack([self.children_, self.distances_, sizes[self.n_leaves_ :]])

    def cut(self, *, n_clusters: int | None = None, height: float | None = None) -> np.ndarray:
        """Labels of another cut of the same tree, (n_samples,).

        Parameters
        ----------
        n_clusters : int, optional
            Number of clusters.
        height : float, optional
            Height of the cut.
        """
        check_is_fitted(self)
        if len(self.children_) < self.n_leaves_ - 1:
            raise ValueError(
                f"the tree ends at {self.n_clusters_} clusters: fit with compute_full_tree=True"
            )
        return cut_tree(self.linkage_, n_clusters=n_clusters, height=height)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _learned_tree(
    children: np.ndarray, heights: np.ndarray, labels: np.ndarray, n_components: int = 1
) -> dict[str, Any]:
    """Learned attributes."""
    return {
        "labels_": labels,
        "n_clusters_": int(labels.max()) + 1,
        "n_leaves_": len(labels),
        "n_connected_components_": n_components,
        "children_": children,
        "distances_": heights,
    }


def _chunk_rows(chunk: Chunk) -> np.ndarray:
    """The rows of a chunk."""
    return chunk.X
