"""Approximate nearest neighbors by a greedy search along the edges of a proximity graph."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold._compiled.squared_distance import pad_columns
from tenfold._compiled.work_counter import make_counters
from tenfold.base._sklearn import Interval
from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.neighbors._approximate_base import (
    RECALL_QUERIES,
    ApproximateNeighbors,
    answer_type,
    gather_rows,
    kth_distances,
    reached_shares,
)
from tenfold.neighbors._graph_numba import (
    NODES_PER_ITEM,
    Graph,
    Proposals,
    link_batch,
    make_workspace,
    propose_edges,
    prune_all,
    reverse_edges,
    search_graph,
)

_LARGEST_BATCH = 0.02  # of the rows; nodes of one batch do not see each other
_SPARE_EDGES = 0.25  # edges beyond the degree that a node may have until it is pruned
_MAX_ENTRIES = 1024
_QUERIES_PER_CHUNK = 64


class _SearchIndex(NamedTuple):
    """What a query needs."""

    graph: Graph
    rows: np.ndarray  # (n, d) as given, for exact distances
    origin: np.ndarray  # (d,) float64
    scale: float


def search_chunk(
    chunk: Chunk, index: _SearchIndex, k: int, beam: int, excluded: np.ndarray
) -> np.ndarray:
    """Answers for the rows of a chunk."""
    m, n = chunk.rows, len(index.rows)
    Q = np.array(chunk.X, np.float64)
    points = pad_columns((Q - index.origin) * index.scale).ravel()
    limit = min(max(beam, k + 1), n)
    work = make_workspace(n, limit, index.graph.edges.shape[1])
    order, values = np.empty(limit, np.int64), np.empty(limit)
    distance, number = np.empty((m, k)), np.empty((m, k), np.int64)
    away = excluded[chunk.first : chunk.first + m]
    spaces = work, order, values, distance, number
    search_graph(index.graph, Q, points, away, index.rows, index.scale, limit, *spaces)
    answers = np.empty(m, answer_type(k))
    answers["distance"], answers["number"], answers["proven"] = distance, number, limit == n
    return answers


class GraphNearestNeighbors(ApproximateNeighbors):
    r"""Approximate nearest neighbors by a proximity graph (Vamana, one level).

    Every row is a node with at most `degree` edges. A search begins at the nearest of some entry
    nodes and follows the edges of the nearest node met so far, keeping the `beam` nearest, until
    the edges of all of these were followed. Edges of a node p are chosen from the nodes that a
    search for p meets, the nearest first; c is left out if a chosen node s makes the edge
    superfluous:

    .. math:: \alpha \lVert s - c \rVert \le \lVert p - c \rVert .

    Nodes are added in batches of doubling size (up to 2 % of the rows). All searches of a batch see
    the graph before it; then its edges are added, and their reverses, grouped by target. No thread
    waits for another, and the graph has the same bits with any number of threads.

    Exact and not exact: which rows are met is not guaranteed. The search measures distances in
    float32, after rows are centered; those in the beam are measured again in float64 from the rows
    as given, and ordered by distance and row number. So distances are right, and a missing neighbor
    is one that was not met. `recall_` estimates how often.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbors that `kneighbors` gives by default.
    degree : int
        Most edges of a node. More take more memory (4 bytes each) and find more.
    alpha : float
        How much longer a detour must be for an edge to be kept; more than 1 adds long edges. With
        1.2 a fit mostly takes longer than with 1.1, and a search of the same beam finds a little
        more in some data and less among clusters; with 1 it finds fewer.
    beam : int
        Nodes that a query keeps; at least one more than neighbors are asked for. The larger, the
        more neighbors are found, in time that grows with it.
    beam_construction : int
        The same while the graph is built.
    random_state : int, RandomState, optional
        Seed of the order in which rows are added, and of the rows for the estimate of the recall.
    n_jobs : int, optional
        Threads; all by default.

    Attributes
    ----------
    recall_ : share of the true `n_neighbors` neighbors found, estimated from at most 256 rows of
        the fit, each a query among all other rows, by exact search
    exact_share_ : share of these queries of which all neighbors were found
    certified_ : the same number, as of `IVFNearestNeighbors`
    edges_ : (n_rows, degree) int32, edges of each row; those beyond `degrees_` are 0
    degrees_ : (n_rows,) int32
    entries_ : row numbers of the nodes at which searches begin
    rows_ : (n_rows, n_features) the rows, as given
    n_samples_fit_ : number of rows

    See Also
    --------
    IVFNearestNeighbors : Inverted lists; answers can be proven, rows may lie in a file.
    NearestNeighbors : Exact search, any metric.

    Notes
    -----
    Rows are held twice: as given, and in float32. Rows of a file are read into memory. The distance
    is Euclidean; for the cosine, scale rows and queries to length 1.

    References
    ----------
    S. J. Subramanya et al. (2019), DiskANN: fast accurate billion-point nearest neighbor search on
    a single node.

    M. Dobson Manohar et al. (2024), ParlayANN: scalable and deterministic parallel graph-based
    approximate nearest neighbor search algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GraphNearestNeighbors
    >>> X = np.random.default_rng(0).normal(size=(2000, 4))
    >>> model = GraphNearestNeighbors(n_neighbors=3, random_state=0).fit(X)
    >>> distances, numbers = model.kneighbors(X[:2])
    >>> numbers[:, 0].tolist(), model.recall_ > 0.99
    ([0, 1], True)
    """

    _law_params: dict[str, Any] = {"degree": 12, "beam": 16, "beam_construction": 16}
    _learned_shapes = {
        "edges_": "n e : index n",
        "degrees_": "n : index",
        "entries_": "+ : index n",
        "rows_": "n p : float",
        "points_": "n w : float",
        "origin_": "p : float",
    }
    _parameter_constraints: dict[str, Any] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "degree": [Interval(Integral, 2, None, closed="left")],
        "alpha": [Interval(Real, 1, None, closed="left")],
        "beam": [Interval(Integral, 1, None, closed="left")],
        "beam_construction": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        degree: int = 32,
        alpha: float = 1.1,
        beam: int = 64,
        beam_construction: int = 40,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.degree = degree
        self.alpha = alpha
        self.beam = beam
        self.beam_construction = beam_construction
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_memory(self, rows: Rows) -> None:
        n, width = rows.n_rows, pad_columns(np.zeros((1, rows.n_features))).shape[1]
        edges = self.degree * (2 + 2 * _SPARE_EDGES)
        check_memory(
            n * (rows.dtype.itemsize * rows.n_features + 4.0 * width + 4.0 * edges),
            f"GraphNearestNeighbors of {n:,} rows",
            "take IVFNearestNeighbors with path=..., which keeps its rows in a file, or fewer rows",
        )

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        X = gather_rows(rows)
        origin = X[:: max(len(X) // 1000, 1)].mean(axis=0, dtype=np.float64)
        points, scale = _center_points(X, origin)
        order = rng.permutation(len(X)).astype(np.int32)
        graph = _build_graph(points, order, self.degree, self.beam_construction, self.alpha)
        learned = {
            "edges_": graph.edges,
            "degrees_": graph.degrees,
            "entries_": graph.entries,
            "rows_": X if X is not getattr(rows.source, "X", None) else X.copy(),
            "points_": points,
            "origin_": origin.astype(X.dtype),
            "scale_": scale,
            "n_samples_fit_": len(X),
        }
        return learned | self._estimate(learned, rng)

    def _estimate(self, learned: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """Recall for some rows of the fit, each a query among the others."""
        X, n = learned["rows_"], learned["n_samples_fit_"]
        k, m = min(self.n_neighbors, n - 1), min(n, RECALL_QUERIES)
        if k < 1:
            return {"recall_": 1.0, "exact_share_": 1.0}
        drawn = np.sort(rng.choice(n, m, replace=False, shuffle=False))
        queries = Rows(ArraySource(X[drawn], finite=True)).with_chunk_rows(_QUERIES_PER_CHUNK)
        found = queries.each(search_chunk, _make_index(learned), k, self.beam, drawn)["distance"]
        shares = reached_shares(found, kth_distances(X, X[drawn], k + 1))  # and the row itself
        return {"recall_": float(shares.mean()), "exact_share_": float((shares == 1).mean())}

    @property
    def certified_(self) -> float:
        """The same as `exact_share_`: these answers are proven by an exact search."""
        check_is_fitted(self)
        return self.exact_share_

    def certify(self, X: Any, n_neighbors: int | None = None) -> np.ndarray:
        """Whether the answer to each query is proven to be the exact one, (n_queries,).

        A graph proves nothing by itself: all rows are searched exactly, which takes as long as
        that. `IVFNearestNeighbors.certify` proves answers by the triangle inequality.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The queries.
        n_neighbors : int, optional
            Number of neighbors.
        """
        return self.measure_recall(X, n_neighbors) == 1

    def _answers(self, rows: Rows, k: int, excluded: np.ndarray) -> np.ndarray:
        return rows.each(search_chunk, _make_index(vars(self)), k, self.beam, excluded)

    def _answers_without_self(self, k: int) -> np.ndarray:
        with self._work_context():
            rows = Rows(ArraySource(self.rows_, finite=True))
            return self._answers(rows, k, np.arange(self.n_samples_fit_))

    def _check_learned(self) -> None:
        """Refuse a graph that points beyond itself: compiled search trusts it."""
        low, high = self.degrees_.min(initial=0), self.degrees_.max(initial=0)
        if low < 0 or high > self.edges_.shape[1]:
            raise ValueError("the degrees of the graph do not fit its edges")
        if self.points_.shape[1] != pad_columns(self.rows_[:1]).shape[1]:
            raise ValueError("the points of the graph do not fit its rows")
        if len(np.unique(self.entries_)) < len(self.entries_):
            raise ValueError("entries_ holds a row of the graph twice")
        if self.n_samples_fit_ != len(self.rows_):
            raise ValueError(f"rows_ has {len(self.rows_)} rows of {self.n_samples_fit_}")


def _center_points(X: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, float]:
    """Rows less an origin, scaled by a power of two to at most 1, in padded float32."""
    largest = max(float(np.abs(X).max(initial=0.0)), float(np.abs(origin).max(initial=0.0)))
    if not X.shape[1] * largest < 1e145:
        raise ValueError(
            "squared distances of the rows of GraphNearestNeighbors leave the range of float64: "
            "divide all rows by a constant"
        )
    scale = 2.0 ** -np.ceil(np.log2(largest) + 1.0) if largest > 0.0 else 1.0
    scale = min(float(scale), 2.0**1000)
    points = np.zeros((len(X), pad_columns(X[:1]).shape[1]), np.float32)
    step = max(2**20 // X.shape[1], 1)
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        points[part, : X.shape[1]] = (X[part] - origin) * scale
    return points, scale


def _run(kernel: Callable[..., None], items: int, spaces: list, *args: Any) -> None:
    """Run a compiled loop over items in threads, each with a workspace of its own."""
    counts, free = make_counters(), list(spaces)

    def work() -> None:
        kernel(counts, *args, free.pop())

    run_in_threads(work, min(len(spaces), -(-items // NODES_PER_ITEM)) - 1)


def _build_graph(
    points: np.ndarray, order: np.ndarray, degree: int, beam: int, alpha: float
) -> Graph:
    """Add the nodes in this order, in batches."""
    n, width = points.shape
    capacity = degree + max(int(_SPARE_EDGES * degree), 1)
    edges, squares = np.zeros((n, capacity), np.int32), np.zeros((n, capacity), np.float32)
    entries = order[: min(max(int(np.sqrt(n)), 1), _MAX_ENTRIES)].copy()
    graph = Graph(points.ravel(), width, edges, np.zeros(n, np.int32), entries)
    spaces = [make_workspace(n, beam, capacity) for _ in range(n_threads())]
    heads, most = np.full(n, -1, np.int64), max(int(_LARGEST_BATCH * n), 1)
    start = 1
    while start < n:
        m = min(start, most, n - start)
        batch = Proposals(
            order[start : start + m].copy(),
            np.zeros((m, degree), np.int32),
            np.zeros((m, degree), np.float32),
            np.zeros(m, np.int32),
        )
        known = min(len(entries), start)
        _run(propose_edges, m, spaces, graph, known, batch, beam, alpha)
        following, targets = np.empty(m * degree, np.int64), np.empty(n, np.int32)
        n_targets = link_batch(graph, squares, batch, heads, following, targets)
        reached = targets[:n_targets].copy()
        _run(
            reverse_edges,
            n_targets,
            spaces,
            graph,
            squares,
            batch,
            heads,
            following,
            reached,
            degree,
            alpha,
        )
        start += m
    _run(prune_all, n, spaces, graph, squares, degree, alpha)
    edges = np.where(np.arange(degree) < graph.degrees[:, None], edges[:, :degree], 0)
    return graph._replace(edges=edges.astype(np.int32))


def _make_index(learned: dict[str, Any]) -> _SearchIndex:
    """The learned arrays as compiled functions take them."""
    points = learned["points_"]
    graph = Graph(
        points.ravel(),
        points.shape[1],
        learned["edges_"],
        learned["degrees_"],
        learned["entries_"],
    )
    origin = learned["origin_"].astype(np.float64)
    return _SearchIndex(graph, learned["rows_"], origin, learned["scale_"])
