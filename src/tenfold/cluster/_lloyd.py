"""One iteration of Lloyd's algorithm: assign each row to its nearest center, move each center to the mean of its rows.

Read in order: `summarize_data` (what is known before), `_assignment_sums` (what a pass says), `update_centers` (from one set of
centres to the next), `_refill_empty_clusters` (clusters that have lost all their rows).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.reductions import label_sums
from tenfold.cluster._kmeans_assign import HamerlyBounds, find_nearest_centers
from tenfold.engine.chunk import Chunk, split_run
from tenfold.engine.merge_tree import merge_in_order
from tenfold.engine.rows import Rows
from tenfold.math.distances import nearest_centers, squared_distances_to_assigned
from tenfold.stats.decorators import on_runs, propagates_nan

MAX_MEAN_IN_DEVIATIONS = (
    4.0  # columns whose mean is this many deviations from zero are shifted before products
)


class _ShiftedMoments(NamedTuple):
    """Weight, sum, and sum of squares of each column about a point."""

    n: float
    x: np.ndarray
    xx: np.ndarray


@propagates_nan
def _shifted_moments(chunk: Chunk, origin: np.ndarray) -> _ShiftedMoments:
    """How the columns of a chunk lie about a point."""
    w = chunk.weights()
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - origin
        return _ShiftedMoments(chunk.weight, w @ D, w @ (D * D))
    return _ShiftedMoments(chunk.weight, chunk.X.T @ w, chunk.X.power(2).T @ w)


class _AssignmentSums(NamedTuple):
    """Weight and sum of the rows that are nearest to each centre."""

    weight: np.ndarray  # (k,)
    sums: np.ndarray  # (k, p)


def _shift_rows(chunk: Chunk, origin: np.ndarray | None) -> Any:
    """The rows of a chunk about the origin."""
    return chunk.X if origin is None else chunk.X - origin


def _nearest_labels(
    X: Any, centres: np.ndarray, first: int, memory: HamerlyBounds | None
) -> np.ndarray:
    """Number of the nearest centre of each row, the first one on a tie."""
    if not isinstance(X, np.ndarray):
        return nearest_centers(X, centres)
    if memory is None:
        return find_nearest_centers(X, centres).label
    return memory.labels(X, centres, first)


def _assignment_sums_of_run(
    run: Chunk,
    grid: int,
    centres: np.ndarray,
    origin: np.ndarray | None,
    memory: HamerlyBounds | None = None,
) -> _AssignmentSums:
    """Give each row of a run of chunks to its nearest centre."""
    if origin is not None or not isinstance(run.X, np.ndarray):
        return merge_in_order(
            _assignment_sums(part, centres, origin, memory) for part in split_run(run, grid)
        )
    w = np.empty(0, run.X.dtype) if run.w is None else run.w
    labels = _nearest_labels(run.X, centres, run.first, memory)
    return _AssignmentSums(*label_sums(run.X, w, labels, len(centres), grid))


@on_runs(_assignment_sums_of_run)
def _assignment_sums(
    chunk: Chunk,
    centres: np.ndarray,
    origin: np.ndarray | None,
    memory: HamerlyBounds | None = None,
) -> _AssignmentSums:
    """Give each row to its nearest centre."""
    X = _shift_rows(chunk, origin)
    k = len(centres)
    labels = _nearest_labels(X, centres, chunk.first, memory)
    if isinstance(X, np.ndarray):
        w = np.empty(0, X.dtype) if chunk.w is None else chunk.w
        return _AssignmentSums(*label_sums(X, w, labels, k, chunk.rows))
    from scipy.sparse import csr_array

    w = chunk.weights().astype(np.float64)
    hot = csr_array((w, labels, np.arange(chunk.rows + 1)), shape=(chunk.rows, k))
    return _AssignmentSums(hot.sum(axis=0), (hot.T @ X).toarray())


def label_chunk(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Number of the nearest centre of each row."""
    return _nearest_labels(_shift_rows(chunk, origin), centres, chunk.first, None)


def inertia(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> float:
    """Weighted sum of squared distances to the nearest centre, from the differences themselves."""
    return float(chunk.weights() @ _nearest_squared_distances(chunk, centres, origin))


def _nearest_squared_distances(
    chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None
) -> np.ndarray:
    """Squared distance of each row to its nearest centre."""
    return labels_and_squared_distances(chunk, centres, origin)[1]


def labels_and_squared_distances(
    chunk: Chunk,
    centres: np.ndarray,
    origin: np.ndarray | None,
    memory: HamerlyBounds | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Number of the nearest centre of each row, and its squared distance."""
    X = _shift_rows(chunk, origin)
    labels = _nearest_labels(X, centres, chunk.first, memory)
    return labels, squared_distances_to_assigned(
        X if isinstance(X, np.ndarray) else X.toarray(), labels, centres
    )


class FinalAssignment(NamedTuple):
    """Cost and labels of rows at the last centres; labels of parts follow each other."""

    cost: float
    labels: np.ndarray
    narrow = True  # labels need no 64 bits

    def merge(self, other: FinalAssignment) -> FinalAssignment:
        return FinalAssignment(self.cost + other.cost, np.append(self.labels, other.labels))


def _final_assignment_of_run(
    run: Chunk,
    grid: int,
    centres: np.ndarray,
    origin: np.ndarray | None,
    memory: HamerlyBounds | None = None,
) -> FinalAssignment:
    """Cost and labels of a run of chunks."""
    if origin is not None:
        return merge_in_order(
            final_assignment(part, centres, origin, memory) for part in split_run(run, grid)
        )
    labels, squares = labels_and_squared_distances(run, centres, origin, memory)
    parts = split_run(run._replace(X=squares), grid)
    return FinalAssignment(merge_in_order(float(part.weights() @ part.X) for part in parts), labels)


@on_runs(_final_assignment_of_run)
def final_assignment(
    chunk: Chunk,
    centres: np.ndarray,
    origin: np.ndarray | None,
    memory: HamerlyBounds | None = None,
) -> FinalAssignment:
    """Cost and labels of a chunk."""
    labels, squares = labels_and_squared_distances(chunk, centres, origin, memory)
    return FinalAssignment(float(chunk.weights() @ squares), labels)


class KMeansSolution(NamedTuple):
    """Where one start has led."""

    centres: np.ndarray  # about the origin
    end: FinalAssignment
    report: dict[str, Any]


class FarthestRows(NamedTuple):
    """The rows farthest from their centres, by distance and then by number."""

    distance: np.ndarray  # (m,)
    row: np.ndarray  # (m,)
    label: np.ndarray  # (m,)
    X: np.ndarray  # (m, p)
    w: np.ndarray  # (m,)

    def merge(self, other: FarthestRows) -> FarthestRows:
        parts = [np.concatenate(pair) for pair in zip(self, other, strict=True)]
        most = np.lexsort((parts[1], -parts[0]))[: max(len(self.row), len(other.row))]
        return FarthestRows(*(part[most] for part in parts))


def _farthest_rows(
    chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None, m: int
) -> FarthestRows:
    """The m rows of a chunk that lie farthest from their centres."""
    distance = _nearest_squared_distances(chunk, centres, origin) * (chunk.weights() > 0)
    order = np.argsort(-distance, kind="stable")[:m]
    X = _shift_rows(chunk, origin)
    X = X[order] if isinstance(X, np.ndarray) else X[order].toarray()
    label = label_chunk(chunk, centres, origin)[order]
    return FarthestRows(distance[order], chunk.first + order, label, X, chunk.weights()[order])


class DataSummary(NamedTuple):
    """What is known of the rows before the first pass of a start."""

    n: float
    mean: np.ndarray  # (p,)
    variance: float  # mean over the columns
    squares: float  # sum of squares about the origin
    origin: np.ndarray | None  # subtracted from rows before products


def summarize_data(rows: Rows) -> DataSummary:
    """Weight, mean and variance of the rows, and whether they lie too far from zero."""
    head = np.zeros(rows.n_features, rows.dtype)
    if not rows.sparse:
        head = rows.take(np.zeros(1, np.int64)).X[0]
    s = rows.total(_shifted_moments, head)
    offset = s.x / s.n
    variance = np.maximum(s.xx / s.n - offset**2, 0.0)
    mean = head + offset
    if (
        rows.sparse
        or (
            np.abs(mean) <= MAX_MEAN_IN_DEVIATIONS * np.sqrt(variance) + np.finfo(rows.dtype).tiny
        ).all()
    ):
        return DataSummary(
            s.n, mean, variance.mean(), s.n * float((variance + mean**2).sum()), None
        )
    origin = mean.astype(rows.dtype)
    squares = s.n * float((variance + (mean - origin) ** 2).sum())
    return DataSummary(s.n, mean, variance.mean(), squares, origin)


def update_centers(
    rows: Rows, cloud: DataSummary, centres: np.ndarray, memory: HamerlyBounds
) -> tuple[np.ndarray, float]:
    """The means of the rows nearest to each centre, and the cost of the centres as they were."""
    a = rows.total(_assignment_sums, centres.astype(rows.dtype), cloud.origin, memory)
    empty = np.flatnonzero(a.weight == 0)
    means = a.sums / np.where(a.weight > 0, a.weight, 1.0)[:, None]
    within = cloud.squares - float((a.weight * (means**2).sum(axis=1)).sum())
    before = max(within, 0.0) + float((a.weight * ((means - centres) ** 2).sum(axis=1)).sum())
    if len(empty):
        a = _refill_empty_clusters(rows, cloud, centres, a, empty)
        means = a.sums / np.where(a.weight > 0, a.weight, 1.0)[:, None]
    return np.where(a.weight[:, None] > 0, means, centres), before


def _refill_empty_clusters(
    rows: Rows, cloud: DataSummary, centres: np.ndarray, a: _AssignmentSums, empty: np.ndarray
) -> _AssignmentSums:
    """Give each empty cluster one of the rows farthest from their centres."""
    far = rows.total(_farthest_rows, centres.astype(rows.dtype), cloud.origin, len(empty))
    weight, sums = a.weight.copy(), a.sums.copy()
    for target, old, x, w in zip(empty, far.label, far.X, far.w, strict=False):
        if weight[old] > w > 0:
            weight[old] -= w
            sums[old] -= w * x
            weight[target], sums[target] = w, w * x
    return _AssignmentSums(weight, sums)
