"""Second moments of all rows in one pass, accurate wherever the data lie.

Products about zero are the fastest and lose digits when columns lie far from zero. So the first
rows say whether to subtract an origin, and the totals say whether it was good enough; if not
(rows sorted so that the first are unlike the rest), a second pass uses the mean.
"""

from __future__ import annotations

import numpy as np

from tenfold.maths.moments import Moments, Sums, narrow, sums
from tenfold.maths.promises import on_runs, shows_nan
from tenfold.maths.square_sums import square_sums
from tenfold.rows import Chunk, Rows
from tenfold.rows.chunk import pieces
from tenfold.rows.tree import merged_in_order

HEAD = 256  # rows that are looked at first
NEAR = {4: 4.0, 8: 50.0}  # deviations from zero up to which nothing is subtracted
LOST = {4: 1e2, 8: 1e5}  # squared offset over variance that costs too many digits of 4 or 8 bytes


def second_moments(rows: Rows, *, target: bool = False) -> Moments:
    """Moments of X, or of [X y], about their mean."""
    with np.errstate(over="ignore", invalid="ignore"):  # who needs the squares looks at them
        return _second_moments(rows, target=target)


def _second_moments(rows: Rows, *, target: bool) -> Moments:
    if not rows.sparse and rows.n_rows <= rows.source.grid:
        return rows.total(whole_moments, target)
    origin = None if rows.sparse else starting_point(rows, target=target)
    total = rows.total(row_sums, origin, target)
    if not rows.sparse and far_off(total, rows.dtype):
        origin = _about(origin, total) + total.shift
        total = rows.total(row_sums, origin.astype(rows.dtype), target)
        origin = origin.astype(rows.dtype)
    return total.moments(_about(origin, total))


def _about(origin: np.ndarray | None, total: Sums) -> np.ndarray:
    return np.zeros(len(total.shift)) if origin is None else origin.astype(np.float64)


def far_off(total: Sums, dtype: np.dtype, columns: int | None = None) -> bool:
    """Whether some of the first columns lies so far from the origin that variance lost digits."""
    squares = total.products.diagonal()[:-1][:columns] / total.n
    offset = total.shift[:columns] ** 2
    variance = np.maximum(squares - offset, np.finfo(dtype).eps * squares)
    return bool((offset > LOST[dtype.itemsize] * variance).any())


def starting_point(rows: Rows, *, target: bool) -> np.ndarray | None:
    """The mean of the first rows, or None where zero is near enough."""
    head = rows.take(np.arange(min(HEAD, rows.n_rows)))
    Z = np.hstack([head.X, targets(head)]) if target else head.X
    mean = Z.mean(axis=0, dtype=np.float64)
    near = NEAR[rows.dtype.itemsize] * Z.std(axis=0, dtype=np.float64) + np.finfo(rows.dtype).tiny
    return None if (np.abs(mean) <= near).all() else mean.astype(rows.dtype)


def targets(chunk: Chunk) -> np.ndarray:
    """The targets of a chunk, (n, q)."""
    return chunk.y.reshape(chunk.rows, -1)


@shows_nan
def whole_moments(chunk: Chunk, target: bool) -> Moments:
    """Moments of a table of one chunk, straight about its own mean: small fits count too."""
    X, n = chunk.X, chunk.weight
    shares = np.full(chunk.rows, 1.0 / n) if chunk.w is None else chunk.w / np.float64(n)
    # exactly zero in constant columns, and small wherever the data lie
    first, D = X[0].astype(np.float64), X - X[0]
    if target:
        Y = targets(chunk)
        first, D = np.append(first, Y[0]), np.hstack([D, (Y - Y[0]).astype(X.dtype)])
    shift = (shares @ D).astype(X.dtype)
    D -= shift
    mean = first + shift + shares @ D
    D = D if chunk.w is None else D * np.sqrt(chunk.w)[:, None].astype(X.dtype)
    return Moments(n, mean, D.T @ D, chunk.rows)


def run_sums(run: Chunk, grid: int, origin: np.ndarray | None, target: bool) -> Sums:
    """Sums of the rows of a run of chunks about an origin."""
    if not narrow(run.X, _targets(run, target)):
        return merged_in_order(row_sums(part, origin, target) for part in pieces(run, grid))
    n = float(run.rows)
    if run.w is not None:
        n = merged_in_order(part.weight for part in pieces(run, grid))
    products = square_sums(run.X, _targets(run, target), run.w, origin, grid)
    return Sums(n, products, run.rows)


@on_runs(run_sums)
@shows_nan
def row_sums(chunk: Chunk, origin: np.ndarray | None, target: bool) -> Sums:
    """Sums of the rows of a chunk about an origin."""
    return sums(chunk.X, _targets(chunk, target), chunk.w, origin)


def _targets(chunk: Chunk, target: bool) -> np.ndarray:
    return targets(chunk) if target else np.empty((chunk.rows, 0), np.float32)
