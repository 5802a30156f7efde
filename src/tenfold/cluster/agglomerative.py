"""Agglomerative hierarchical clustering."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Hidden, Interval, StrOptions
from tenfold.base.mixins import Clusterer
from tenfold.cluster._connectivity import constrained_linkage
from tenfold.cluster.dendrogram import (
    EUCLIDEAN_METRICS,
    SQUARED_LINKAGES,
    cut_tree,
    flat_labels,
    linkage_matrix,
)
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows

_LINKAGES = {"single", "complete", "average", "centroid", "median", "ward"}


class AgglomerativeClustering(Clusterer):
    r"""Clusters from a tree that grows upwards: the two nearest clusters join, until one is left.

    What is nearest is the linkage's word:

    .. math::
        \text{single: } \min \lVert a - b \rVert, \quad
        \text{complete: } \max \lVert a - b \rVert, \quad
        \text{average: } \frac{1}{|A| |B|} \sum_{a, b} \lVert a - b \rVert, \quad
        \text{centroid: } \lVert \bar a - \bar b \rVert, \quad
        \text{Ward: } \sqrt{\tfrac{2 |A| |B|}{|A| + |B|}} \lVert \bar a - \bar b \rVert

    There are no draws: the same rows give the same tree. Single linkage finds strings, complete
    linkage compact clusters; heights of centroid and median linkage may fall. All rows are gathered
    in memory. Single linkage, and Ward's of up to 32 columns, need no more than that; the others
    hold the distances of all pairs (8 bytes each). Time grows with the square of the rows.
    With `connectivity` only clusters that are linked join: no pairs are held then, and the time
    grows with the links. Parameters and attributes are those of
    `sklearn.cluster.AgglomerativeClustering`, without `memory`. [004, 6.3]

    Parameters
    ----------
    n_clusters : int or None
        Number of clusters; None with `distance_threshold`.
    metric : str or callable
        Any of `tenfold.math.distances.pairwise_distances`; "precomputed" for a matrix of distances.
        "ward" takes "euclidean" alone.
    connectivity : (n, n) array or sparse matrix, or callable, optional
        Rows that are linked: what is not zero, in both directions. A callable makes it from the
        rows, as `sklearn.neighbors.kneighbors_graph` does. A graph of several pieces gets a link
        between the nearest rows of each two, with a warning. Not for "centroid" and "median".
        Along links heights may fall; a threshold then undoes as many of the last joins as there
        are heights that reach it.
    compute_full_tree : "auto" or bool
        Whether the tree along links is whole or ends at `n_clusters`; "auto" ends it if these are
        many, at least 100 and 2 % of the rows. Without `connectivity`, and for "single", it is
        always whole. False contradicts `distance_threshold`.
    linkage : {"ward", "complete", "average", "single", "centroid", "median"}
        Distance of two clusters.
    distance_threshold : float, optional
        Cut at this height instead: clusters this far apart do not join.
    compute_distances : bool
        `distances_` are always there, whatever is given here.

    Attributes
    ----------
    labels_ : (n,) number of the cluster of each row, in the order of their first rows
    n_clusters_ : number of clusters
    n_leaves_ : number of rows
    n_connected_components_ : pieces of the graph as it was given; 1 without one
    children_ : (n - 1, 2) what joined in step t to become cluster n + t; rows are 0 to n - 1;
        fewer joins if the tree ends early
    distances_ : (n - 1,) the heights of the joins
    linkage_ : (n - 1, 4) the tree as `scipy.cluster.hierarchy` takes it

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.cluster.agglomerative import AgglomerativeClustering
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> model = AgglomerativeClustering(n_clusters=2, linkage="average").fit(X)
    >>> model.labels_.tolist(), model.distances_.round(4).tolist()
    ([0, 0, 0, 1], [1.0, 2.5, 5.6667])
    >>> model.cut(height=2.0).tolist()
    [0, 0, 1, 2]
    """

    _min_rows = 2
    _all_pairs = True
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [str, callable],
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
        connectivity: Any = None,
        compute_full_tree: Any = "auto",
        linkage: str = "ward",
        distance_threshold: float | None = None,
        compute_distances: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Grow the tree of rows, and cut it.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; all distances for the metric "precomputed".
        y : None
            Not used; there so that pipelines can pass it.
        """
        return super().fit(X)

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._agree(rows)
        X = rows.each(_chunk_rows)
        if self.connectivity is not None:
            return self._along_links(X)
        Z = linkage_matrix(X, self.linkage, self.metric)
        if self.distance_threshold is None:
            labels = cut_tree(Z, n_clusters=self.n_clusters)
        else:
            labels = cut_tree(Z, height=self.distance_threshold)
        return _learned_tree(Z[:, :2].astype(np.int64), Z[:, 2].copy(), labels)

    def _along_links(self, X: np.ndarray) -> dict[str, Any]:
        """The tree of linked clusters; the last joins are undone, however high they are."""
        n, links = len(X), self.connectivity
        links = links(X) if callable(links) else links
        end = 1 if self.n_clusters is None else self._end(self.n_clusters, n)
        found = constrained_linkage(X, links, self.linkage, self.metric, end)
        k = self.n_clusters
        if k is None:
            k = 1 + int(np.count_nonzero(found.heights >= self.distance_threshold))
        labels = flat_labels(found.children, np.arange(len(found.children)) < n - k, n)
        return _learned_tree(found.children, found.heights, labels, found.pieces)

    def _end(self, k: int, n: int) -> int:
        """Number of clusters at which a tree of n rows along links ends."""
        whole = self.compute_full_tree
        if whole == "auto":
            whole = k < max(100, 0.02 * n)
        return 1 if whole else k

    def _agree(self, rows: Rows) -> None:
        """Refuse parameters that contradict each other or the rows."""
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError(
                "Exactly one of n_clusters and distance_threshold has to be set, and the other "
                "needs to be None."
            )
        if self.distance_threshold is not None and self.compute_full_tree is False:
            raise ValueError("compute_full_tree must be True if distance_threshold is set.")
        plain = isinstance(self.metric, str) and self.metric in EUCLIDEAN_METRICS
        given = isinstance(self.metric, str) and self.metric == "precomputed"
        if self.linkage in SQUARED_LINKAGES and not plain and (self.linkage == "ward" or not given):
            raise ValueError(
                f"{self.metric} was provided as metric. {self.linkage.capitalize()} can only work "
                "with euclidean distances."
            )
        if self.connectivity is not None and self.linkage in {"centroid", "median"}:
            raise ValueError(
                f"linkage={self.linkage!r} knows no links: use 'ward', 'complete', 'average' or "
                "'single', or leave out connectivity"
            )
        if given and rows.n_rows != rows.n_features:
            raise ValueError(
                "Distance matrix should be square, got matrix of shape "
                f"({rows.n_rows}, {rows.n_features}): give the distances of all pairs"
            )
        if self.n_clusters is not None and self.n_clusters > rows.n_rows:
            raise ValueError(
                f"Cannot extract more clusters than samples: {self.n_clusters} clusters where "
                f"given for a tree with {rows.n_rows} leaves."
            )

    @property
    def linkage_(self) -> np.ndarray:
        """The tree as `scipy.cluster.hierarchy` takes it, (n - 1, 4)."""
        check_is_fitted(self)
        sizes = np.ones(self.n_leaves_ + len(self.children_))
        for t, (a, b) in enumerate(self.children_, self.n_leaves_):
            sizes[t] = sizes[a] + sizes[b]
        return np.column_stack([self.children_, self.distances_, sizes[self.n_leaves_ :]])

    def cut(self, *, n_clusters: int | None = None, height: float | None = None) -> np.ndarray:
        """Labels of another cut of the same tree, (n,).

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
    children: np.ndarray, heights: np.ndarray, labels: np.ndarray, pieces: int = 1
) -> dict[str, Any]:
    """What a fit has learned."""
    return {
        "labels_": labels,
        "n_clusters_": int(labels.max()) + 1,
        "n_leaves_": len(labels),
        "n_connected_components_": pieces,
        "children_": children,
        "distances_": heights,
    }


def _chunk_rows(chunk: Chunk) -> np.ndarray:
    """The rows themselves, which a pass brings together."""
    return chunk.X
