"""Second moments of all rows in one pass, with an origin chosen against cancellation.

Products about zero are the fastest and lose digits when columns lie far from zero. So the first
rows say whether to subtract an origin, and the totals say whether it was good enough; if not
(rows sorted so that the first are unlike the rest), a second pass uses the mean.
"""

from __future__ import annotations

import numpy as np

from tenfold._compiled.gram import augmented_gram
from tenfold.engine.chunk import Chunk, split_run
from tenfold.engine.merge_tree import merge_in_order
from tenfold.engine.rows import Rows
from tenfold.stats.decorators import on_runs, propagates_nan
from tenfold.stats.moments import GramStatistic, Moments, can_use_simd_gram, gram_statistic

_HEAD_ROWS = 256  # rows that are looked at first
_NEGLIGIBLE_OFFSET_SD = {4: 4.0, 8: 50.0}  # deviations from zero up to which nothing is subtracted
MAX_OFFSET_TO_VARIANCE = {
    4: 1e2,
    8: 1e5,
}  # squared offset over variance that costs too many digits of 4 or 8 bytes


def second_moments(rows: Rows, *, target: bool = False) -> Moments:
    """Moments of X, or of [X y], about their mean."""
    with np.errstate(over="ignore", invalid="ignore"):  # checked where the squares are used
        return _second_moments(rows, target=target)


def _second_moments(rows: Rows, *, target: bool) -> Moments:
    if not rows.sparse and rows.n_rows <= rows.source.grid:
        return rows.total(single_chunk_moments, target)
    origin = None if rows.sparse else choose_origin(rows, target=target)
    total = rows.total(moment_sums, origin, target)
    if not rows.sparse and has_cancellation(total, rows.dtype):
        origin = _origin_or_zero(origin, total) + total.shift
        total = rows.total(moment_sums, origin.astype(rows.dtype), target)
        origin = origin.astype(rows.dtype)
    return total.moments(_origin_or_zero(origin, total))


def _origin_or_zero(origin: np.ndarray | None, total: GramStatistic) -> np.ndarray:
    return np.zeros(len(total.shift)) if origin is None else origin.astype(np.float64)


def has_cancellation(total: GramStatistic, dtype: np.dtype, columns: int | None = None) -> bool:
    """Whether some of the first columns lies so far from the origin that variance lost digits."""
    squares = total.products.diagonal()[:-1][:columns] / total.n
    offset = total.shift[:columns] ** 2
    variance = np.maximum(squares - offset, np.finfo(dtype).eps * squares)
    return bool((offset > MAX_OFFSET_TO_VARIANCE[dtype.itemsize] * variance).any())


def choose_origin(rows: Rows, *, target: bool) -> np.ndarray | None:
    """The mean of the first rows, or None where zero is near enough."""
    head = rows.take(np.arange(min(_HEAD_ROWS, rows.n_rows)))
    Z = np.hstack([head.X, target_columns(head)]) if target else head.X
    mean = Z.mean(axis=0, dtype=np.float64)
    near = (
        _NEGLIGIBLE_OFFSET_SD[rows.dtype.itemsize] * Z.std(axis=0, dtype=np.float64)
        + np.finfo(rows.dtype).tiny
    )
    return None if (np.abs(mean) <= near).all() else mean.astype(rows.dtype)


def target_columns(chunk: Chunk) -> np.ndarray:
    """The targets of a chunk, (n, q)."""
    return chunk.y.reshape(chunk.rows, -1)


@propagates_nan
def single_chunk_moments(chunk: Chunk, target: bool) -> Moments:
    """Moments of a table of one chunk, straight about its own mean: small fits count too."""
    X, n = chunk.X, chunk.weight
    shares = np.full(chunk.rows, 1.0 / n) if chunk.w is None else chunk.w / np.float64(n)
    # exactly zero in constant columns, and small wherever the data lie
    first, D = X[0].astype(np.float64), X - X[0]
    if target:
        Y = target_columns(chunk)
        first, D = np.append(first, Y[0]), np.hstack([D, (Y - Y[0]).astype(X.dtype)])
    shift = (shares @ D).astype(X.dtype)
    D -= shift
    mean = first + shift + shares @ D
    D = D if chunk.w is None else D * np.sqrt(chunk.w)[:, None].astype(X.dtype)
    return Moments(n, mean, D.T @ D, chunk.rows)


def moment_sums_of_run(
    run: Chunk, grid: int, origin: np.ndarray | None, target: bool
) -> GramStatistic:
    """Sums of the rows of a run of chunks about an origin."""
    if not can_use_simd_gram(run.X, _optional_targets(run, target)):
        return merge_in_order(moment_sums(part, origin, target) for part in split_run(run, grid))
    n = float(run.rows)
    if run.w is not None:
        n = merge_in_order(part.weight for part in split_run(run, grid))
    products = augmented_gram(run.X, _optional_targets(run, target), run.w, origin, grid)
    return GramStatistic(n, products, run.rows)


@on_runs(moment_sums_of_run)
@propagates_nan
def moment_sums(chunk: Chunk, origin: np.ndarray | None, target: bool) -> GramStatistic:
    """Sums of the rows of a chunk about an origin."""
    return gram_statistic(chunk.X, _optional_targets(chunk, target), chunk.w, origin)


def _optional_targets(chunk: Chunk, target: bool) -> np.ndarray:
    return target_columns(chunk) if target else np.empty((chunk.rows, 0), np.float32)
