"""Second moments of all rows in one pass, accurate wherever the data lie.

Products about zero are the fastest and lose digits when columns lie far from zero. So the first
rows say whether to subtract an origin, and the totals say whether it was good enough; if not
(rows sorted so that the first are unlike the rest), a second pass uses the mean.
"""

from __future__ import annotations

import numpy as np

from tenfold.maths.moments import Moments, Sums, sums
from tenfold.maths.promises import shows_nan
from tenfold.rows import Chunk, Rows

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
        origin = _about(origin, total) + shift(total)
        total = rows.total(row_sums, origin.astype(rows.dtype), target)
        origin = origin.astype(rows.dtype)
    return total.moments(_about(origin, total))


def _about(origin: np.ndarray | None, total: Sums) -> np.ndarray:
    size = total.lines.shape[1] + len(total.y)
    return np.zeros(size) if origin is None else origin.astype(np.float64)


def shift(total: Sums) -> np.ndarray:
    """Mean less the origin."""
    return np.concatenate([total.lines[0], total.y]) / total.n


def far_off(total: Sums, dtype: np.dtype) -> bool:
    """Whether some column lies so far from the origin that its variance has lost digits."""
    squares = np.concatenate([total.xx.diagonal(), total.yy.diagonal()]) / total.n
    offset = shift(total) ** 2
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
    X, Y = chunk.X, targets(chunk) if target else np.empty((chunk.rows, 0))
    w = chunk.weights().astype(np.float64)
    shares = w / w.sum()
    # exactly zero in constant columns, and small wherever the data lie
    D = np.hstack([X - X[0], (Y - Y[0]).astype(X.dtype)])
    shift = (shares @ D).astype(X.dtype)
    D -= shift
    mean = np.append(X[0].astype(np.float64), Y[0]) + shift + shares @ D
    D = D if chunk.w is None else D * np.sqrt(chunk.w)[:, None].astype(X.dtype)
    return Moments(float(w.sum()), mean, D.T @ D, chunk.rows)


@shows_nan
def row_sums(chunk: Chunk, origin: np.ndarray | None, target: bool) -> Sums:
    """Sums of the rows of a chunk about an origin."""
    Y = targets(chunk) if target else np.empty((chunk.rows, 0), chunk.X.dtype)
    return sums(chunk.X, Y, chunk.w, origin)
