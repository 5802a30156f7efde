"""One iteration of Lloyd's algorithm: assign rows to nearest centers, average the rows of each.

Read in order: `summarize_data` (before the first pass), `_assignment_sums` (the statistic of a
pass), `update_centers` (from one set of centers to the next), `_refill_empty_clusters`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.reductions import label_sums
from tenfold.cluster._kmeans_assign import (
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
from tenfold.stats.decorators import on_runs, propagates_nan

MAX_MEAN_IN_DEVIATIONS = (
    4.0  # columns whose mean is this many deviations from zero are shifted before products
)


CarriedBounds = CenterBounds | RowNorms | None


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
    X: Any, bounds: CarriedBounds, centres: np.ndarray, hint: Hint | None
) -> tuple[np.ndarray, CarriedBounds]:
    """Number of the nearest centre of each row, the first one on a tie, and bounds on it."""
    if not isinstance(X, np.ndarray):
        return nearest_centers(X, centres), None
    if hint is None:
        return find_nearest_centers(X, centres).label, None
    return assign_rows(X, bounds, centres, hint.value)


def _assignment_sums_of_run(
    run: Chunk,
    grid: int,
    bounds: CarriedBounds,
    centres: np.ndarray,
    origin: np.ndarray | None,
    hint: Hint,
) -> tuple[_AssignmentSums, CarriedBounds]:
    """The same for a run of chunks."""
    if origin is not None or not isinstance(run.X, np.ndarray):
        return _merge_parts(_assignment_sums, run, grid, bounds, centres, origin, hint)
    w = np.empty(0, run.X.dtype) if run.w is None else run.w
    labels, bounds = _nearest_labels(run.X, bounds, centres, hint)
    return _AssignmentSums(*label_sums(run.X, w, labels, len(centres), grid)), bounds


def _merge_parts(
    f: Callable[..., tuple[Any, Any]], run: Chunk, grid: int, bounds: Any, *state: Any
) -> tuple[Any, Any]:
    """A function of a chunk and its bounds on all chunks of a run."""
    statistics, columns = [], []
    for part in split_run(run, grid):
        first = part.first - run.first
        own = None if bounds is None else slice_columns(bounds, first, first + part.rows)
        statistic, column = f(part, own, *state)
        statistics.append(statistic)
        columns.append(column)
    return merge_in_order(statistics), concatenate_columns(columns)


@on_runs(_assignment_sums_of_run)
def _assignment_sums(
    chunk: Chunk,
    bounds: CarriedBounds,
    centres: np.ndarray,
    origin: np.ndarray | None,
    hint: Hint,
) -> tuple[_AssignmentSums, CarriedBounds]:
    """Weights and sums of the rows nearest to each centre, and bounds for the next iteration."""
    X = _shift_rows(chunk, origin)
    k = len(centres)
    labels, bounds = _nearest_labels(X, bounds, centres, hint)
    if isinstance(X, np.ndarray):
        w = np.empty(0, X.dtype) if chunk.w is None else chunk.w
        return _AssignmentSums(*label_sums(X, w, labels, k, chunk.rows)), bounds
    from scipy.sparse import csr_array

    w = chunk.weights().astype(np.float64)
    hot = csr_array((w, labels, np.arange(chunk.rows + 1)), shape=(chunk.rows, k))
    return _AssignmentSums(hot.sum(axis=0), (hot.T @ X).toarray()), None


def label_chunk(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Number of the nearest centre of each row."""
    return _nearest_labels(_shift_rows(chunk, origin), None, centres, None)[0]


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
    bounds: CarriedBounds = None,
    hint: Hint | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Number of the nearest centre of each row, and its squared distance."""
    X = _shift_rows(chunk, origin)
    labels, _ = _nearest_labels(X, bounds, centres, hint)
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
    bounds: CarriedBounds,
    centres: np.ndarray,
    origin: np.ndarray | None,
    hint: Hint,
) -> tuple[FinalAssignment, None]:
    """The same for a run of chunks."""
    if origin is not None:
        return _merge_parts(_carried_assignment, run, grid, bounds, centres, origin, hint)
    labels, squares = labels_and_squared_distances(run, centres, origin, bounds, hint)
    parts = split_run(run._replace(X=squares), grid)
    cost = merge_in_order(float(part.weights() @ part.X) for part in parts)
    return FinalAssignment(cost, labels), None


@on_runs(_final_assignment_of_run)
def _carried_assignment(
    chunk: Chunk,
    bounds: CarriedBounds,
    centres: np.ndarray,
    origin: np.ndarray | None,
    hint: Hint,
) -> tuple[FinalAssignment, None]:
    """Cost and labels of a chunk after the last iteration."""
    labels, squares = labels_and_squared_distances(chunk, centres, origin, bounds, hint)
    return FinalAssignment(float(chunk.weights() @ squares), labels), None


def final_assignment(
    chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None
) -> FinalAssignment:
    """Cost and labels of a chunk."""
    labels, squares = labels_and_squared_distances(chunk, centres, origin)
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


class CenterBoundsPass(NamedTuple):
    """The bounds that the last pass left, and its centres."""

    columns: CarriedColumns | None = None
    centres: np.ndarray | None = None

    def total(
        self, f: Callable[..., Any], rows: Rows, centres: np.ndarray, origin: np.ndarray | None
    ) -> tuple[Any, CenterBoundsPass]:
        """A pass with other centres, and what it leaves."""
        hint = Hint(center_hint(centres, self.centres))
        total, columns = rows.carry(f, self.columns, centres, origin, hint)
        return total, CenterBoundsPass(columns, centres)


def update_centers(
    rows: Rows, cloud: DataSummary, centres: np.ndarray, last: CenterBoundsPass
) -> tuple[np.ndarray, float, CenterBoundsPass]:
    """The means of the rows nearest to each centre, and the cost of the centres as they were."""
    a, last = last.total(_assignment_sums, rows, centres.astype(rows.dtype), cloud.origin)
    empty = np.flatnonzero(a.weight == 0)
    means = a.sums / np.where(a.weight > 0, a.weight, 1.0)[:, None]
    within = cloud.squares - float((a.weight * (means**2).sum(axis=1)).sum())
    before = max(within, 0.0) + float((a.weight * ((means - centres) ** 2).sum(axis=1)).sum())
    if len(empty):
        a = _refill_empty_clusters(rows, cloud, centres, a, empty)
        means = a.sums / np.where(a.weight > 0, a.weight, 1.0)[:, None]
    return np.where(a.weight[:, None] > 0, means, centres), before, last


def assign_finally(
    rows: Rows, cloud: DataSummary, centres: np.ndarray, last: CenterBoundsPass
) -> FinalAssignment:
    """Cost and labels of all rows at the last centres; the bounds are freed."""
    end, last = last.total(_carried_assignment, rows, centres.astype(rows.dtype), cloud.origin)
    if last.columns is not None:
        last.columns.close()
    return end


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
