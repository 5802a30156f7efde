"""A round of k-means: each row to its nearest centre, each centre to the mean of its rows.

Read in order: `survey` (what is known before), `assign` (what a pass says), `move` (from one set of
centres to the next), `refill` (clusters that have lost all their rows).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.cluster.certain import nearest_of
from tenfold.cluster.memory import Memory
from tenfold.maths.distances import nearest_centres
from tenfold.maths.leaves import run_sums, squares_to
from tenfold.maths.promises import on_runs, shows_nan
from tenfold.rows import Chunk, Rows
from tenfold.rows.chunk import pieces
from tenfold.rows.tree import merged_in_order

FAR = 4.0  # columns whose mean is this many deviations from zero are shifted before products


class Spread(NamedTuple):
    """Weight, sum, and sum of squares of each column about a point."""

    n: float
    x: np.ndarray
    xx: np.ndarray


@shows_nan
def spread(chunk: Chunk, origin: np.ndarray) -> Spread:
    """How the columns of a chunk lie about a point."""
    w = chunk.weights()
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - origin
        return Spread(chunk.weight, w @ D, w @ (D * D))
    return Spread(chunk.weight, chunk.X.T @ w, chunk.X.power(2).T @ w)


class Assignment(NamedTuple):
    """Weight and sum of the rows that are nearest to each centre."""

    weight: np.ndarray  # (k,)
    sums: np.ndarray  # (k, p)


def shifted(chunk: Chunk, origin: np.ndarray | None) -> Any:
    """The rows of a chunk about the origin."""
    return chunk.X if origin is None else chunk.X - origin


def nearest(X: Any, centres: np.ndarray, first: int, memory: Memory | None) -> np.ndarray:
    """Number of the nearest centre of each row, the first one on a tie."""
    if not isinstance(X, np.ndarray):
        return nearest_centres(X, centres)
    if memory is None:
        return nearest_of(X, centres).label
    return memory.labels(X, centres, first)


def assign_run(
    run: Chunk,
    grid: int,
    centres: np.ndarray,
    origin: np.ndarray | None,
    memory: Memory | None = None,
) -> Assignment:
    """Give each row of a run of chunks to its nearest centre."""
    if origin is not None or not isinstance(run.X, np.ndarray):
        return merged_in_order(assign(part, centres, origin, memory) for part in pieces(run, grid))
    w = np.empty(0, run.X.dtype) if run.w is None else run.w
    labels = nearest(run.X, centres, run.first, memory)
    return Assignment(*run_sums(run.X, w, labels, len(centres), grid))


@on_runs(assign_run)
def assign(
    chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None, memory: Memory | None = None
) -> Assignment:
    """Give each row to its nearest centre."""
    X = shifted(chunk, origin)
    k = len(centres)
    labels = nearest(X, centres, chunk.first, memory)
    if isinstance(X, np.ndarray):
        w = np.empty(0, X.dtype) if chunk.w is None else chunk.w
        return Assignment(*run_sums(X, w, labels, k, chunk.rows))
    from scipy.sparse import csr_array

    w = chunk.weights().astype(np.float64)
    hot = csr_array((w, labels, np.arange(chunk.rows + 1)), shape=(chunk.rows, k))
    return Assignment(hot.sum(axis=0), (hot.T @ X).toarray())


def label_rows(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Number of the nearest centre of each row."""
    return nearest(shifted(chunk, origin), centres, chunk.first, None)


def cost(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> float:
    """Weighted sum of squared distances to the nearest centre, from the differences themselves."""
    return float(chunk.weights() @ own_distances(chunk, centres, origin))


def own_distances(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Squared distance of each row to its nearest centre."""
    return labelled(chunk, centres, origin)[1]


def labelled(
    chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None, memory: Memory | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Number of the nearest centre of each row, and its squared distance."""
    X = shifted(chunk, origin)
    labels = nearest(X, centres, chunk.first, memory)
    return labels, squares_to(X if isinstance(X, np.ndarray) else X.toarray(), labels, centres)


class Ending(NamedTuple):
    """Cost and labels of rows at the last centres; labels of parts follow each other."""

    cost: float
    labels: np.ndarray
    narrow = True  # labels need no 64 bits

    def merge(self, other: Ending) -> Ending:
        return Ending(self.cost + other.cost, np.append(self.labels, other.labels))


def ending_run(
    run: Chunk,
    grid: int,
    centres: np.ndarray,
    origin: np.ndarray | None,
    memory: Memory | None = None,
) -> Ending:
    """Cost and labels of a run of chunks."""
    if origin is not None:
        return merged_in_order(ending(part, centres, origin, memory) for part in pieces(run, grid))
    labels, squares = labelled(run, centres, origin, memory)
    parts = pieces(run._replace(X=squares), grid)
    return Ending(merged_in_order(float(part.weights() @ part.X) for part in parts), labels)


@on_runs(ending_run)
def ending(
    chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None, memory: Memory | None = None
) -> Ending:
    """Cost and labels of a chunk."""
    labels, squares = labelled(chunk, centres, origin, memory)
    return Ending(float(chunk.weights() @ squares), labels)


class Solution(NamedTuple):
    """Where one start has led."""

    centres: np.ndarray  # about the origin
    end: Ending
    report: dict[str, Any]


class Farthest(NamedTuple):
    """The rows farthest from their centres, by distance and then by number."""

    distance: np.ndarray  # (m,)
    row: np.ndarray  # (m,)
    label: np.ndarray  # (m,)
    X: np.ndarray  # (m, p)
    w: np.ndarray  # (m,)

    def merge(self, other: Farthest) -> Farthest:
        parts = [np.concatenate(pair) for pair in zip(self, other, strict=True)]
        most = np.lexsort((parts[1], -parts[0]))[: max(len(self.row), len(other.row))]
        return Farthest(*(part[most] for part in parts))


def farthest(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None, m: int) -> Farthest:
    """The m rows of a chunk that lie farthest from their centres."""
    distance = own_distances(chunk, centres, origin) * (chunk.weights() > 0)
    order = np.argsort(-distance, kind="stable")[:m]
    X = shifted(chunk, origin)
    X = X[order] if isinstance(X, np.ndarray) else X[order].toarray()
    label = label_rows(chunk, centres, origin)[order]
    return Farthest(distance[order], chunk.first + order, label, X, chunk.weights()[order])


class Cloud(NamedTuple):
    """What is known of the rows before the first pass of a start."""

    n: float
    mean: np.ndarray  # (p,)
    variance: float  # mean over the columns
    squares: float  # sum of squares about the origin
    origin: np.ndarray | None  # subtracted from rows before products


def survey(rows: Rows) -> Cloud:
    """Weight, mean and variance of the rows, and whether they lie too far from zero."""
    head = np.zeros(rows.n_features, rows.dtype)
    if not rows.sparse:
        head = rows.take(np.zeros(1, np.int64)).X[0]
    s = rows.total(spread, head)
    offset = s.x / s.n
    variance = np.maximum(s.xx / s.n - offset**2, 0.0)
    mean = head + offset
    if rows.sparse or (np.abs(mean) <= FAR * np.sqrt(variance) + np.finfo(rows.dtype).tiny).all():
        return Cloud(s.n, mean, variance.mean(), s.n * float((variance + mean**2).sum()), None)
    origin = mean.astype(rows.dtype)
    squares = s.n * float((variance + (mean - origin) ** 2).sum())
    return Cloud(s.n, mean, variance.mean(), squares, origin)


def move(rows: Rows, cloud: Cloud, centres: np.ndarray, memory: Memory) -> tuple[np.ndarray, float]:
    """The means of the rows nearest to each centre, and the cost of the centres as they were."""
    a = rows.total(assign, centres.astype(rows.dtype), cloud.origin, memory)
    empty = np.flatnonzero(a.weight == 0)
    means = a.sums / np.where(a.weight > 0, a.weight, 1.0)[:, None]
    within = cloud.squares - float((a.weight * (means**2).sum(axis=1)).sum())
    before = max(within, 0.0) + float((a.weight * ((means - centres) ** 2).sum(axis=1)).sum())
    if len(empty):
        a = refill(rows, cloud, centres, a, empty)
        means = a.sums / np.where(a.weight > 0, a.weight, 1.0)[:, None]
    return np.where(a.weight[:, None] > 0, means, centres), before


def refill(
    rows: Rows, cloud: Cloud, centres: np.ndarray, a: Assignment, empty: np.ndarray
) -> Assignment:
    """Give each empty cluster one of the rows farthest from their centres."""
    far = rows.total(farthest, centres.astype(rows.dtype), cloud.origin, len(empty))
    weight, sums = a.weight.copy(), a.sums.copy()
    for target, old, x, w in zip(empty, far.label, far.X, far.w, strict=False):
        if weight[old] > w > 0:
            weight[old] -= w
            sums[old] -= w * x
            weight[target], sums[target] = w, w * x
    return Assignment(weight, sums)
