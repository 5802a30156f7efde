"""Lloyd's algorithm: assign rows to their nearest centers, move centers to the means of their rows.

`lloyd` is the loop; it takes any function that assigns rows. `BoundedAssignment` is the one of
k-means: exact labels, bounds that save searches, and no empty clusters. `nearest_sums` is a plain
one, for initial centers of other models. Shapes use k clusters and p features.

References
----------
S. P. Lloyd (1982), Least squares quantization in PCM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.reductions import add_rows_by_label, label_sums
from tenfold.cluster._kmeans_assign import (
    DIRECT_SEARCH_SIZE,
    CenterBounds,
    RowNorms,
    assign_rows,
    center_hint,
    find_nearest_centers,
)
from tenfold.engine.carried_columns import CarriedColumns, Hint, concatenate_columns, slice_columns
from tenfold.engine.chunk import Chunk, split_run
from tenfold.engine.merge_tree import merge_in_order
from tenfold.engine.rows import Rows
from tenfold.math.distances import nearest_centers, squared_distances_to_assigned
from tenfold.math.linalg import to_dense
from tenfold.optim.convergence import until_converged
from tenfold.stats.decorators import on_runs, propagates_nan

# Columns whose mean is more than this many standard deviations from zero are centered: products of
# rows and centers would lose digits.
MAX_MEAN_IN_DEVIATIONS = 4.0
_CENTER_ROUNDING = 16.0  # units of the last place: of a mean of equal rows

CarriedBounds = CenterBounds | RowNorms | None


class AssignmentSums(NamedTuple):
    """Weight and sum of the rows that are nearest to each center."""

    weight: np.ndarray  # (k,)
    sums: np.ndarray  # (k, p)

    def means(self, centers: np.ndarray) -> np.ndarray:
        """Mean of the rows of each center; an empty cluster keeps its center."""
        means = self.sums / np.where(self.weight > 0, self.weight, 1.0)[:, None]
        return np.where(self.weight[:, None] > 0, means, centers)


def lloyd(
    assign: Callable[[np.ndarray], tuple[AssignmentSums, float]],
    start: np.ndarray,
    *,
    tol: float,
    max_iter: int,
) -> until_converged[np.ndarray]:
    """Lloyd's algorithm from initial centers, whose dtype is kept.

    Parameters
    ----------
    assign : callable
        Returns the sums of the rows nearest to given centers, and the cost of these centers.
    start : (k, p) array
        Initial centers.
    tol : float
        Converged when the squared moves of all centers sum to at most this.
    max_iter : int
        Maximum iterations.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> def assign(centers):
    ...     s = nearest_sums(Chunk(X), centers)
    ...     return AssignmentSums(s.weight, s.sums), s.cost
    >>> lloyd(assign, X[:2], tol=0.0, max_iter=10).state.ravel().tolist()
    [0.5, 10.5]
    """
    loop = until_converged(start, tol=tol, max_iter=max_iter)
    for centers in loop:
        s, cost = assign(centers)
        updated = s.means(centers).astype(start.dtype, copy=False)
        loop.update(updated, objective=cost, change=((updated - centers) ** 2).sum())
    return loop


class NearestSums(NamedTuple):
    """Weight and sum of the rows nearest to each center, and their squared distances."""

    weight: np.ndarray  # (k,)
    sums: np.ndarray  # (k, p)
    cost: float


def nearest_sums(chunk: Chunk, centers: np.ndarray) -> NearestSums:
    """Assign the rows of a dense chunk by products, without a bound of their rounding."""
    labels = nearest_centers(chunk.X, centers)
    weight, sums = np.zeros(len(centers)), np.zeros(centers.shape)
    w = np.empty(0) if chunk.w is None else chunk.w.astype(np.float64)
    add_rows_by_label(chunk.X, w, labels, sums, weight)
    residuals = chunk.X - np.take(centers, labels, axis=0)
    squares = np.einsum("ij,ij->i", residuals, residuals)
    return NearestSums(weight, sums, float(chunk.weights() @ squares))


class _ShiftedMoments(NamedTuple):
    """Weight, sum, and sum of squares of each column about a point."""

    n: float
    x: np.ndarray
    xx: np.ndarray


@propagates_nan
def _shifted_moments(chunk: Chunk, origin: np.ndarray) -> _ShiftedMoments:
    """Weight, sum, and sum of squares of each column of a chunk about a point."""
    w = chunk.weights()
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - origin
        return _ShiftedMoments(chunk.weight, w @ D, w @ (D * D))
    return _ShiftedMoments(chunk.weight, chunk.X.T @ w, chunk.X.power(2).T @ w)


def _shift_rows(chunk: Chunk, origin: np.ndarray | None) -> Any:
    """The rows of a chunk relative to the origin."""
    return chunk.X if origin is None else chunk.X - origin


def _nearest_labels(
    X: Any, bounds: CarriedBounds, centers: np.ndarray, hint: Hint | None
) -> tuple[np.ndarray, CarriedBounds]:
    """Number of the nearest center of each row, the first one on a tie, and bounds."""
    if not isinstance(X, np.ndarray):
        return nearest_centers(X, centers), None
    if hint is None:
        return find_nearest_centers(X, centers).label, None
    return assign_rows(X, bounds, centers, hint.value)


def _assignment_sums_of_run(
    run: Chunk,
    grid: int,
    bounds: CarriedBounds,
    centers: np.ndarray,
    origin: np.ndarray | None,
    hint: Hint | None,
) -> tuple[AssignmentSums, CarriedBounds]:
    """`_assignment_sums` for a run of chunks."""
    if origin is not None or not isinstance(run.X, np.ndarray):
        return _merge_parts(_assignment_sums, run, grid, bounds, centers, origin, hint)
    w = np.empty(0, run.X.dtype) if run.w is None else run.w
    labels, bounds = _nearest_labels(run.X, bounds, centers, hint)
    return AssignmentSums(*label_sums(run.X, w, labels, len(centers), grid)), bounds


def _merge_parts(
    f: Callable[..., tuple[Any, Any]], run: Chunk, grid: int, bounds: Any, *state: Any
) -> tuple[Any, Any]:
    """Apply a function of a chunk and its bounds to all chunks of a run."""
    statistics, columns = [], []
    for part in split_run(run, grid):
        first = part.first - run.first
        part_bounds = None if bounds is None else slice_columns(bounds, first, first + part.rows)
        statistic, column = f(part, part_bounds, *state)
        statistics.append(statistic)
        columns.append(column)
    return merge_in_order(statistics), concatenate_columns(columns)


@on_runs(_assignment_sums_of_run)
def _assignment_sums(
    chunk: Chunk,
    bounds: CarriedBounds,
    centers: np.ndarray,
    origin: np.ndarray | None,
    hint: Hint | None,
) -> tuple[AssignmentSums, CarriedBounds]:
    """Weights and sums of the rows nearest to each center, and bounds for the next iteration."""
    X = _shift_rows(chunk, origin)
    k = len(centers)
    labels, bounds = _nearest_labels(X, bounds, centers, hint)
    if isinstance(X, np.ndarray):
        w = np.empty(0, X.dtype) if chunk.w is None else chunk.w
        return AssignmentSums(*label_sums(X, w, labels, k, chunk.rows)), bounds
    from scipy.sparse import csr_array

    w = chunk.weights().astype(np.float64)
    one_hot = csr_array((w, labels, np.arange(chunk.rows + 1)), shape=(chunk.rows, k))
    return AssignmentSums(one_hot.sum(axis=0), (one_hot.T @ X).toarray()), None


def label_chunk(chunk: Chunk, centers: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Number of the nearest center of each row."""
    return _nearest_labels(_shift_rows(chunk, origin), None, centers, None)[0]


def inertia(chunk: Chunk, centers: np.ndarray, origin: np.ndarray | None) -> float:
    """Weighted sum of squared distances to the nearest center, from differences."""
    return float(chunk.weights() @ _nearest_squared_distances(chunk, centers, origin))


def _nearest_squared_distances(
    chunk: Chunk, centers: np.ndarray, origin: np.ndarray | None
) -> np.ndarray:
    """Squared distance of each row to its nearest center."""
    return labels_and_squared_distances(chunk, centers, origin)[1]


def labels_and_squared_distances(
    chunk: Chunk,
    centers: np.ndarray,
    origin: np.ndarray | None,
    bounds: CarriedBounds = None,
    hint: Hint | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Number of the nearest center of each row, and its squared distance."""
    X = _shift_rows(chunk, origin)
    labels, _ = _nearest_labels(X, bounds, centers, hint)
    return labels, squared_distances_to_assigned(to_dense(X), labels, centers)


class FinalAssignment(NamedTuple):
    """Cost and labels of rows at the final centers; labels of parts are concatenated."""

    cost: float
    labels: np.ndarray
    narrow = True  # labels need no 64 bits

    def merge(self, other: FinalAssignment) -> FinalAssignment:
        return FinalAssignment(self.cost + other.cost, np.append(self.labels, other.labels))


def _final_assignment_of_run(
    run: Chunk,
    grid: int,
    bounds: CarriedBounds,
    centers: np.ndarray,
    origin: np.ndarray | None,
    hint: Hint | None,
) -> tuple[FinalAssignment, None]:
    """`_carried_assignment` for a run of chunks."""
    if origin is not None:
        return _merge_parts(_carried_assignment, run, grid, bounds, centers, origin, hint)
    labels, squares = labels_and_squared_distances(run, centers, origin, bounds, hint)
    parts = split_run(run._replace(X=squares), grid)
    cost = merge_in_order(float(part.weights() @ part.X) for part in parts)
    return FinalAssignment(cost, labels), None


@on_runs(_final_assignment_of_run)
def _carried_assignment(
    chunk: Chunk,
    bounds: CarriedBounds,
    centers: np.ndarray,
    origin: np.ndarray | None,
    hint: Hint | None,
) -> tuple[FinalAssignment, None]:
    """Cost and labels of a chunk after the last iteration."""
    labels, squares = labels_and_squared_distances(chunk, centers, origin, bounds, hint)
    return FinalAssignment(float(chunk.weights() @ squares), labels), None


def final_assignment(
    chunk: Chunk, centers: np.ndarray, origin: np.ndarray | None
) -> FinalAssignment:
    """Cost and labels of a chunk."""
    labels, squares = labels_and_squared_distances(chunk, centers, origin)
    return FinalAssignment(float(chunk.weights() @ squares), labels)


class KMeansSolution(NamedTuple):
    """Result of one initialization."""

    centers: np.ndarray  # relative to the origin
    end: FinalAssignment
    report: dict[str, Any]


class FarthestRows(NamedTuple):
    """The rows farthest from their centers, by distance and then by number."""

    distance: np.ndarray  # (m,)
    row: np.ndarray  # (m,)
    label: np.ndarray  # (m,)
    X: np.ndarray  # (m, p)
    w: np.ndarray  # (m,)

    def merge(self, other: FarthestRows) -> FarthestRows:
        parts = [np.concatenate(pair) for pair in zip(self, other, strict=True)]
        order = np.lexsort((parts[1], -parts[0]))[: max(len(self.row), len(other.row))]
        return FarthestRows(*(part[order] for part in parts))


def _farthest_rows(
    chunk: Chunk, centers: np.ndarray, origin: np.ndarray | None, m: int
) -> FarthestRows:
    """The m rows of a chunk that are farthest from their centers.

    A distance that is rounding of the center is none: of rows that repeat the same few points
    another one would be the farthest in every round.
    """
    distance = _nearest_squared_distances(chunk, centers, origin) * (chunk.weights() > 0)
    label = label_chunk(chunk, centers, origin)
    rounding = (_CENTER_ROUNDING * np.finfo(chunk.X.dtype).eps) ** 2
    distance[distance <= rounding * np.square(centers.astype(np.float64)).sum(axis=1)[label]] = 0
    order = np.argsort(-distance, kind="stable")[:m]
    X = to_dense(_shift_rows(chunk, origin)[order])
    label = label[order]
    return FarthestRows(distance[order], chunk.first + order, label, X, chunk.weights()[order])


class DataSummary(NamedTuple):
    """Moments of the data, and the origin of the coordinates of Lloyd's algorithm."""

    n: float
    mean: np.ndarray  # (p,)
    variance: float  # mean over the columns
    squares: float  # sum of squares about the origin
    origin: np.ndarray | None  # subtracted from rows before products


def summarize_data(rows: Rows) -> DataSummary:
    """Weight, mean and variance of the rows; the origin is the mean if that is far from zero."""
    pivot = np.zeros(rows.n_features, rows.dtype)
    if not rows.sparse:
        pivot = rows.take(np.zeros(1, np.int64)).X[0]
    s = rows.total(_shifted_moments, pivot)
    offset = s.x / s.n
    variance = np.maximum(s.xx / s.n - offset**2, 0.0)
    mean = pivot + offset
    limit = MAX_MEAN_IN_DEVIATIONS * np.sqrt(variance) + np.finfo(rows.dtype).tiny
    if rows.sparse or (np.abs(mean) <= limit).all():
        squares = s.n * float((variance + mean**2).sum())
        return DataSummary(s.n, mean, variance.mean(), squares, None)
    origin = mean.astype(rows.dtype)
    squares = s.n * float((variance + (mean - origin) ** 2).sum())
    return DataSummary(s.n, mean, variance.mean(), squares, origin)


class BoundedAssignment:
    """Assignment passes of k-means, each with the bounds that the last one left.

    Centers are relative to `data.origin`. Bounds save time and change no label.

    Parameters
    ----------
    rows : Rows
    data : DataSummary of the rows
    """

    def __init__(self, rows: Rows, data: DataSummary) -> None:
        self.rows, self.data = rows, data
        self._bounds: CarriedColumns | None = None
        self._centers: np.ndarray | None = None  # of the last pass

    def __call__(self, centers: np.ndarray) -> tuple[AssignmentSums, float]:
        """Sums of the rows nearest to each center, none of them empty, and the cost."""
        s = self._total(_assignment_sums, centers)
        empty = np.flatnonzero(s.weight == 0)
        means = s.sums / np.where(s.weight > 0, s.weight, 1.0)[:, None]
        within = self.data.squares - float((s.weight * (means**2).sum(axis=1)).sum())
        moved = float((s.weight * ((means - centers) ** 2).sum(axis=1)).sum())
        if len(empty):
            s = _refill_empty_clusters(self.rows, self.data, centers, s, empty)
        return s, max(within, 0.0) + moved

    def finish(self, centers: np.ndarray) -> FinalAssignment:
        """Cost and labels of all rows at the final centers; the bounds are freed."""
        end = self._total(_carried_assignment, centers)
        if self._bounds is not None:
            self._bounds.close()
        return end

    def _total(self, f: Callable[..., Any], centers: np.ndarray) -> Any:
        centers = centers.astype(self.rows.dtype)
        small = self.rows.n_rows * centers.size <= DIRECT_SEARCH_SIZE  # needs no products
        hint = None if small else Hint(center_hint(centers, self._centers))
        total, bounds = self.rows.carry(f, self._bounds, centers, self.data.origin, hint)
        self._bounds, self._centers = bounds, centers
        return total


def _refill_empty_clusters(
    rows: Rows, data: DataSummary, centers: np.ndarray, s: AssignmentSums, empty: np.ndarray
) -> AssignmentSums:
    """Give each empty cluster one of the rows farthest from their centers."""
    far = rows.total(_farthest_rows, centers.astype(rows.dtype), data.origin, len(empty))
    weight, sums = s.weight.copy(), s.sums.copy()
    for target, old, x, w in zip(empty, far.label, far.X, far.w, strict=False):
        if weight[old] > w > 0:
            weight[old] -= w
            sums[old] -= w * x
            weight[target], sums[target] = w, w * x
    return AssignmentSums(weight, sums)
