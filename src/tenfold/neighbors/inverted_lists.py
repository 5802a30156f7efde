"""Approximate nearest neighbors by inverted lists: rows are kept by their nearest center."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.cluster._lloyd import (
    BoundedAssignment,
    labels_and_squared_distances,
    lloyd,
    summarize_data,
)
from tenfold.cluster.initialization import INIT_METHODS
from tenfold.engine.arrays import ArraySource
from tenfold.engine.atomic import atomic_path
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.math.distances import squared_distances_to_assigned
from tenfold.neighbors._approximate_base import (
    RECALL_QUERIES,
    ApproximateNeighbors,
    answer_type,
    found_share,
    gather_rows,
)
from tenfold.neighbors._list_search_numba import (
    Lists,
    choose_lists,
    distances_to_centers,
    make_candidates,
    make_tile,
    search_lists,
    write_answers,
)

_ROWS_PER_LIST = 64  # of the sample on which k-means finds the centers; 32 and 10 iterations of
# 1,024 lists of 500,000 x 96 rows cost 2 % more inertia and half the time
_ITERATIONS = 10
_MAX_PAIRS = 2**22  # distances of queries and centers in memory at once
_QUERIES_PER_CHUNK = 64  # of few queries that read most lists
_MAX_SQUARE = 1e290  # squared distances beyond it may overflow on the way
_RANGE = (
    "squared distances of the {} of IVFNearestNeighbors leave the range of float64: divide all "
    "rows by a constant"
)
_ROUND_UP = 4.5e-16  # relative error of a distance in float64, per column


def assign_to_lists(chunk: Chunk, centers: np.ndarray) -> np.ndarray:
    """Nearest center of each row, the first one on a tie, and its squared distance."""
    label, square = labels_and_squared_distances(chunk, centers, None)
    record = np.empty(chunk.rows, np.dtype([("label", np.int32), ("square", np.float64)]))
    record["label"], record["square"] = label, square
    return record


def copy_rows(chunk: Chunk) -> np.ndarray:
    """The rows themselves."""
    return chunk.X.copy()


def search_chunk(
    chunk: Chunk, lists: Lists, k: int, n_probe: int, excluded: np.ndarray
) -> np.ndarray:
    """Answers for the rows of a chunk, some thousand at a time; see `_list_search_numba`."""
    n_lists, d = lists.centers.shape
    answers = np.empty(chunk.rows, answer_type(k))
    step = max(_MAX_PAIRS // n_lists, 1)
    for start in range(0, chunk.rows, step):
        Q = np.array(chunk.X[start : start + step], np.float64)
        first, m = chunk.first + start, len(Q)
        apart, blur = distances_to_centers(Q, lists.centers)
        if not blur.max() < _MAX_SQUARE:
            raise ValueError(_RANGE.format("queries"))
        reads = np.empty((m, n_lists), np.uint8)
        found, tile = make_candidates(m, k), make_tile(m, k, n_lists, d)
        away, centers, offsets = excluded[first : first + m], lists.centers, lists.offsets
        choose_lists(Q, centers, apart, blur, offsets, n_probe, k + 1, reads, tile.values)
        search_lists(Q, away, lists, apart, blur, reads, k, found, tile)
        distance, number, proven = np.empty((m, k)), np.empty((m, k), np.int64), np.empty(m, bool)
        write_answers(Q, lists, apart, blur, reads, k, found, tile, distance, number, proven)
        part = answers[start : start + m]
        part["distance"], part["number"], part["proven"] = distance, number, proven
    return answers


class IVFNearestNeighbors(ApproximateNeighbors):
    r"""Approximate nearest neighbors by inverted lists (IVF).

    k-means divides the rows into lists, each with a center :math:`c` and the largest distance
    :math:`r` of its rows from it. A query reads the `n_probe` lists with the nearest centers. Since
    :math:`\lVert q - x \rVert \ge \lVert q - c \rVert - r` for every row x of a list, an answer is
    *proven* exact if

    .. math:: \lVert q - c \rVert - r > d_k \quad \text{for all lists that were not read,}

    with the distance :math:`d_k` of the k-th neighbor found. `certify` says which answers are.

    Exact and not exact: among the rows of the lists that are read, the k nearest are always found.
    Products in float32 filter them, with a bound on their rounding errors, and differences in
    float64 decide; equal distances are ordered by row number. Only lists that are not read can
    hold a nearer row. With ``n_probe="exact"`` a query reads until nothing can be missed, and
    neighbors and distances have the bits of a search of all rows. In high dimensions that may be
    almost all lists. Answers depend neither on the other queries nor on the number of threads.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbors that `kneighbors` gives by default.
    n_lists : int, optional
        Number of lists; about twice the root of the number of rows by default.
    n_probe : int, "auto" or "exact"
        Lists that a query reads. "auto" is the smallest number that reaches `recall` for some rows
        of the fit, each a query among the others.
    recall : float
        Share of the true neighbors that "auto" has to find.
    centers : (n_lists, n_features) array, optional
        Centers of the lists, instead of those of k-means. Indexes with the same centers merge.
    path : path, optional
        File (.npy) for the rows in the order of the lists, which are then mapped and not held in
        memory. Without it they are held as given, in float32 or float64.
    random_state : int, RandomState, optional
        Seed of the centers and of the rows for the estimate of the recall.
    n_jobs : int, optional
        Threads; all by default.

    Attributes
    ----------
    n_probe_ : lists that a query reads
    recall_ : share of the true `n_neighbors` neighbors found, estimated from at most 256 rows of
        the fit, each a query among all other rows
    certified_ : share of these queries whose answers are proven exact
    recall_curve_ : (n_lists,) the same estimate for 1, 2, ... lists
    centers_ : (n_lists, n_features)
    radii_ : (n_lists,) float64, upper bounds on the distances of rows to their center
    rows_ : (n_rows, n_features) rows in the order of the lists
    row_numbers_ : (n_rows,) their numbers, ascending in each list
    list_offsets_ : (n_lists + 1,) where lists begin in `rows_`
    n_samples_fit_ : number of rows

    See Also
    --------
    GraphNearestNeighbors : Search along the edges of a graph; faster for a high recall.
    NearestNeighbors : Exact search, any metric.

    Notes
    -----
    The distance is Euclidean. For the cosine, scale rows and queries to length 1
    (`sklearn.preprocessing.normalize`): the order of neighbors is the same.

    References
    ----------
    J. Sivic and A. Zisserman (2003), Video Google: a text retrieval approach to object matching in
    videos.

    H. Jégou, M. Douze and C. Schmid (2011), Product quantization for nearest neighbor search.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import IVFNearestNeighbors
    >>> X = np.random.default_rng(0).normal(size=(2000, 4))
    >>> model = IVFNearestNeighbors(n_neighbors=3, n_probe="exact", random_state=0).fit(X)
    >>> distances, numbers = model.kneighbors(X[:1])
    >>> np.array_equal(numbers[0], np.linalg.norm(X - X[0], axis=1).argsort()[:3])
    True
    >>> model.recall_, model.certified_
    (1.0, 1.0)
    """

    _law_params: dict[str, Any] = {"n_lists": 20}
    _learned_shapes = {
        "centers_": "m p : float",
        "radii_": "m : float",
        "rows_": "n p : float",
        "row_numbers_": "n",
        "list_offsets_": "_",
        "half_squares_": "n : float",
        "recall_curve_": "m",
    }
    _parameter_constraints: dict[str, Any] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_lists": [Interval(Integral, 1, None, closed="left"), None],
        "n_probe": [StrOptions({"auto", "exact"}), Interval(Integral, 1, None, closed="left")],
        "recall": [Interval(Real, 0, 1, closed="right")],
        "centers": ["array-like", None],
        "path": [str, Path, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        n_lists: int | None = None,
        n_probe: int | str = "auto",
        recall: float = 0.95,
        centers: Any = None,
        path: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_lists = n_lists
        self.n_probe = n_probe
        self.recall = recall
        self.centers = centers
        self.path = path
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_memory(self, rows: Rows) -> None:
        row = 20.0 if self.path else 20.0 + rows.dtype.itemsize * rows.n_features
        check_memory(
            rows.n_rows * row,
            f"IVFNearestNeighbors of {rows.n_rows:,} rows",
            "give path=..., so that rows lie in a file, or fewer rows",
        )

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        centers = self._list_centers(rows, rng)
        found = rows.each(assign_to_lists, centers)
        X = self._all_rows(rows)
        learned = self._build(X, found["label"], found["square"], np.arange(len(X)), centers)
        return learned | self._estimate(learned, int(rng.integers(2**31)))

    def _list_centers(self, rows: Rows, rng: np.random.Generator) -> np.ndarray:
        """Centers as given, or by k-means on a sample, in the number type of the rows."""
        if self.centers is not None:
            centers = np.asarray(self.centers, rows.dtype)
            if centers.ndim != 2 or centers.shape[1] != rows.n_features or not len(centers):
                raise ValueError(
                    f"centers has the shape {centers.shape}; (n_lists, {rows.n_features}) is needed"
                )
            if not np.isfinite(centers).all():
                raise ValueError("centers contains NaN or infinity")
            return centers
        k = self.n_lists or max(int(2 * np.sqrt(rows.n_rows)), 1)
        k = min(k, rows.n_rows)
        sample = rows.sample(_ROWS_PER_LIST * k, int(rng.integers(2**31)))
        return _sample_centers(sample.X, k, rng)

    def _all_rows(self, rows: Rows) -> np.ndarray:
        """All rows: in memory, or mapped from a file that is removed with the fit."""
        if self.path is None or isinstance(rows.source, ArraySource):
            return gather_rows(rows)
        return rows.each(copy_rows, into=self._scratch)

    @property
    def _scratch(self) -> Path:
        return Path(f"{self.path}.unsorted.npy")

    def _build(
        self,
        X: np.ndarray,
        label: np.ndarray,
        square: np.ndarray,
        numbers: np.ndarray,
        centers: np.ndarray,
    ) -> dict[str, Any]:
        """Lists of rows with these labels; numbers ascend among the rows of each label."""
        order, k = np.argsort(label, kind="stable"), len(centers)
        sizes = np.bincount(label, minlength=k)
        offsets, square = np.append(0, np.cumsum(sizes)), square[order]
        radii = np.zeros(k)
        filled = sizes > 0
        radii[filled] = np.sqrt(np.maximum.reduceat(square, offsets[:-1][filled]))
        radii *= 1.0 + (X.shape[1] + 4) * _ROUND_UP
        largest = np.abs(centers).max(initial=0.0).astype(float) + radii.max()
        if not len(centers) * X.shape[1] * largest < np.sqrt(_MAX_SQUARE):
            raise ValueError(_RANGE.format("rows"))
        with np.errstate(over="ignore"):  # such lists are searched in float64
            half = (0.5 * square).astype(np.float32)
        return {
            "centers_": centers,
            "radii_": radii,
            "rows_": self._ordered_rows(X, order),
            "row_numbers_": numbers[order],
            "list_offsets_": offsets,
            "half_squares_": half,
            "n_samples_fit_": len(X),
        }

    def _ordered_rows(self, X: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The rows in the order of their lists, in memory or in the file."""
        if self.path is None:
            return np.take(X, order, axis=0)
        with atomic_path(Path(self.path)) as temporary:
            mapped = np.lib.format.open_memmap(temporary, "w+", X.dtype, X.shape)
            step = max(2**24 // (X.itemsize * X.shape[1]), 1)
            for start in range(0, len(order), step):
                mapped[start : start + step] = X[order[start : start + step]]
            mapped.flush()
        self._scratch.unlink(missing_ok=True)
        return np.load(self.path, mmap_mode="c").view(np.ndarray)

    def _estimate(self, learned: dict[str, Any], seed: int) -> dict[str, Any]:
        """Lists to read, the recall that this gives, and the share of proven answers."""
        lists, n, n_lists = _make_lists(learned), learned["n_samples_fit_"], len(learned["radii_"])
        k = min(self.n_neighbors, n - 1)
        if k < 1:
            return {
                "n_probe_": n_lists,
                "recall_curve_": np.ones(n_lists),
                "recall_": 1.0,
                "certified_": 1.0,
            }
        m = min(n, RECALL_QUERIES)
        places = np.sort(np.random.default_rng(seed).choice(n, m, replace=False, shuffle=False))
        drawn = lists.rows[places]
        queries = Rows(ArraySource(drawn, finite=True)).with_chunk_rows(_QUERIES_PER_CHUNK)
        excluded = lists.numbers[places]
        truth = queries.each(search_chunk, lists, k, n_lists, excluded)
        curve = _recall_curve(lists, drawn, truth["number"])
        n_probe = self.n_probe
        if n_probe == "auto":
            n_probe = int(np.searchsorted(curve, min(self.recall, curve[-1]))) + 1
        elif n_probe == "exact":
            n_probe = n_lists
        n_probe = min(n_probe, n_lists)
        answers = queries.each(search_chunk, lists, k, n_probe, excluded)
        return {
            "n_probe_": n_probe,
            "recall_curve_": curve,
            "recall_": found_share(answers["number"], truth["number"]),
            "certified_": float(answers["proven"].mean()),
        }

    def _answers(self, rows: Rows, k: int, excluded: np.ndarray) -> np.ndarray:
        lists = _make_lists(vars(self))
        return rows.each(search_chunk, lists, k, self.n_probe_, excluded)

    def _answers_without_self(self, k: int) -> np.ndarray:
        rows = Rows(ArraySource(self.rows_, finite=True))
        with self._work_context():
            by_list = self._answers(rows, k, self.row_numbers_)
        answers = np.empty_like(by_list)
        answers[self.row_numbers_] = by_list
        return answers

    def certify(self, X: Any, n_neighbors: int | None = None) -> np.ndarray:
        """Whether the answer to each query is proven to be the exact one, (n_queries,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The queries.
        n_neighbors : int, optional
            Number of neighbors.
        """
        return self._query(X, n_neighbors)["proven"]

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add rows to the lists; their numbers follow those of the rows so far.

        The centers stay. `n_probe_`, `recall_` and `certified_` are estimated anew.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Ignored; present for API consistency.
        """
        if not hasattr(self, "centers_"):
            return self.fit(X)
        self._validate_params()
        with self._work_context():
            rows = self._rows(X, reset=False)
            found = rows.each(assign_to_lists, self.centers_)
            numbers = np.arange(rows.n_rows)
            self._join(gather_rows(rows), found["label"], found["square"], numbers)
        return self

    def merge(self, other: IVFNearestNeighbors) -> Self:
        """A new index of the rows of both, those of `other` after ours; equal to a fit on all.

        Parameters
        ----------
        other : IVFNearestNeighbors
            An index with the same centers: give both the same `centers`.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if not np.array_equal(self.centers_, other.centers_):
            raise ValueError("only indexes with the same centers merge: fit both with centers=...")
        joint: Any = copy(self)
        joint._join(other.rows_, *_stored_assignment(other), other.row_numbers_)  # noqa: SLF001 - of this class
        return joint

    def _join(
        self, X: np.ndarray, label: np.ndarray, square: np.ndarray, numbers: np.ndarray
    ) -> None:
        """Append rows; their numbers, here from 0 on, ascend among the rows of each label."""
        labels, squares = _stored_assignment(self)
        learned = self._build(
            np.concatenate([self.rows_, X]),
            np.append(labels, label),
            np.append(squares, square),
            np.append(self.row_numbers_, numbers + self.n_samples_fit_),
            self.centers_,
        )
        seed = int(self._rng().integers(2**31))
        self._set_learned(learned | self._estimate(learned, seed))

    def _check_learned(self) -> None:
        """Refuse lists that do not fit each other: compiled search trusts them."""
        n, offsets = len(self.rows_), self.list_offsets_
        if (
            len(offsets) != len(self.centers_) + 1
            or offsets[0] != 0
            or offsets[-1] != n
            or (np.diff(offsets) < 0).any()
            or not np.array_equal(np.sort(self.row_numbers_), np.arange(n))
        ):
            raise ValueError("the lists of the index do not fit its rows")


def _sample_centers(X: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Centers of k-means, in float32 or float64 as the rows; a power of two keeps them in range."""
    largest = float(np.abs(X).max())
    scale = 2.0 ** -np.round(np.log2(largest)) if 0.0 < largest < np.inf else 1.0
    X = X * X.dtype.type(scale)
    rows = Rows(ArraySource(X, finite=True))
    data = summarize_data(rows)
    start = INIT_METHODS["random"](X, np.ones(len(X)), k, rng).astype(np.float64)
    start = start if data.origin is None else start - data.origin
    found = lloyd(BoundedAssignment(rows, data), start, tol=0.0, max_iter=_ITERATIONS)
    centers = found.state if data.origin is None else found.state + data.origin
    return np.ascontiguousarray(centers / scale, X.dtype)


def _stored_assignment(model: IVFNearestNeighbors) -> tuple[np.ndarray, np.ndarray]:
    """List of each stored row, and its squared distance to the center."""
    label = np.repeat(np.arange(len(model.radii_)), np.diff(model.list_offsets_))
    return label, squared_distances_to_assigned(model.rows_, label, model.centers_)


def _make_lists(learned: dict[str, Any]) -> Lists:
    """The learned arrays as compiled functions take them."""
    return Lists(
        learned["rows_"],
        learned["row_numbers_"],
        learned["list_offsets_"],
        learned["half_squares_"],
        learned["centers_"].astype(np.float64),
        learned["radii_"],
    )


def _recall_curve(lists: Lists, Q: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """Share of these neighbors in the 1, 2, ... lists nearest to the queries."""
    n_lists = len(lists.radii)
    list_of = np.empty(len(lists.numbers), np.int64)
    list_of[lists.numbers] = np.repeat(np.arange(n_lists), np.diff(lists.offsets))
    apart, _ = distances_to_centers(Q.astype(np.float64), lists.centers)
    rank = np.argsort(np.argsort(apart, axis=1, kind="stable"), axis=1)
    ranks = np.take_along_axis(rank, list_of[neighbors], axis=1)
    return np.cumsum(np.bincount(ranks.ravel(), minlength=n_lists)) / ranks.size
