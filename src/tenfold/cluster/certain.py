"""Nearest centres that no order of summation can change.

Products in single precision are fast and tell the nearest centre of nearly every row beyond doubt:
the gap to the second nearest is wider than all rounding. The few rows in doubt are asked again in
double precision, and what is then still in doubt (ties) is decided by the differences themselves,
summed one after the other. So a label depends on its row and the centres alone, neither on the
rows beside it nor on the library that multiplies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.maths.registers import TILE, aligned, blocks_of, to_lanes, two_best

PRODUCTS = 2**16  # products of rows and centres that are held at once
SINGLE, DOUBLE = (float(np.finfo(dtype).eps) for dtype in (np.float32, np.float64))
FEW = 2**16  # steps of the slow way that are sooner done than products


class Nearest(NamedTuple):
    """What is known of rows and their nearest centres."""

    label: np.ndarray  # (n,) int32, number of the nearest centre
    gap: np.ndarray  # (n,) how much nearer it is than any other: half the difference of squares
    radius: np.ndarray  # (n,) distance to it, or a little more
    length: np.ndarray  # (n,) of the rows themselves


class Scaled(NamedTuple):
    """Centres as products in some precision need them."""

    k: int
    centres: np.ndarray
    half: np.ndarray  # half their squares
    share: float  # of squared lengths that rounding may be
    reach: float  # of the longest centre


def nearest_of(X: np.ndarray, centres: np.ndarray, single: Scaled | None = None) -> Nearest:
    """Nearest centre of each row, the first one on a tie; `single` may be known already.

    Examples
    --------
    >>> import numpy as np
    >>> found = nearest_of(np.array([[0.0], [1.0], [9.0]]), np.array([[1.0], [8.0], [-1.0]]))
    >>> found.label.tolist()
    [0, 0, 1]
    """
    X, n = np.ascontiguousarray(X), len(X)
    label, gap, radius = np.zeros(n, np.int32), np.zeros(n), np.full(n, np.inf)
    if n * centres.size <= FEW:
        settle(X, np.arange(n), centres.astype(np.float64), label)
        return Nearest(label, gap, radius, radius)
    found = Nearest(label, gap, radius, lengths(X))
    look_again(X, centres, None, found, single)
    return found


def lengths(X: np.ndarray) -> np.ndarray:
    """Length of each row."""
    with np.errstate(over="ignore"):  # such rows stay in doubt
        return np.sqrt(np.einsum("ij,ij->i", X, X)).astype(np.float64)


def look_again(
    X: np.ndarray,
    centres: np.ndarray,
    rows: np.ndarray | None,
    found: Nearest,
    single: Scaled | None = None,
    room: Desk | None = None,
) -> None:
    """Find the nearest centres of some rows (None: of all) anew; there may be room for it."""
    rows = np.arange(len(X)) if rows is None else rows
    room = room or desk(len(rows), X.shape[1])
    doubts = by_single_products(X, rows, single or in_blocks(centres), found, room)
    if not doubts:
        return
    rows = room.doubtful[:doubts]
    centres = centres.astype(np.float64)
    if len(rows) * centres.size > FEW:
        rows = by_double_products(X, rows, centres, found)
    settle(X, rows, centres, found.label)


def in_double(centres: np.ndarray) -> Scaled:
    """Centres, half their squares, and what rounding depends on."""
    squares = np.einsum("ij,ij->i", centres, centres)
    share = (centres.shape[1] + 8) * DOUBLE
    return Scaled(len(centres), centres, squares / 2, share, float(np.sqrt(squares.max())))


def in_blocks(centres: np.ndarray) -> Scaled:
    """Centres in single precision, as registers take them."""
    squares = np.einsum("ij,ij->i", centres, centres, dtype=np.float64)
    with np.errstate(over="ignore"):  # rows stay in doubt
        narrow, half = blocks_of(centres, squares / 2)
    share = (centres.shape[1] + 8) * SINGLE
    return Scaled(len(centres), narrow, half, share, float(np.sqrt(squares.max())))


class Desk(NamedTuple):
    """Room for work on a tile of rows; what compiled code allocates itself compiles slowly."""

    columns: np.ndarray  # (d, TILE)
    best: np.ndarray
    second: np.ndarray
    near: np.ndarray
    far: np.ndarray
    wide: np.ndarray
    doubtful: np.ndarray  # (n,)


def desk(n: int, d: int) -> Desk:
    """Room for n rows of d columns."""
    best, second = np.empty((2, TILE), np.float32)
    far, wide = np.empty((2, TILE))
    columns, near = aligned((d, TILE), np.float32), np.empty(TILE, np.int32)
    return Desk(columns, best, second, near, far, wide, np.empty(n, np.int64))


@njit(cache=True, nogil=True)
def by_single_products(X, rows, c, found, room):  # noqa: ANN001, ANN201
    """Label rows by |c|^2/2 - c.x in single precision; how many of them stay in doubt.

    One compiled call for a run: threads that meet at the interpreter every few rows wait for
    each other longer than they work.
    """
    n, m = len(rows), 0
    for start in range(0, n, TILE):
        count = min(TILE, n - start)
        to_lanes(X, rows, start, count, room.columns)
        two_best(room.columns, c.centres, c.half, room.best, room.second, room.near)
        for i in range(count):
            room.far[i] = found.length[rows[start + i]]
        measure(room.best, room.second, room.far, room.wide, c.share, c.reach)
        for i in range(count):
            row, between = rows[start + i], room.wide[i]
            found.label[row], found.gap[row] = room.near[i], between
            found.radius[row] = room.far[i]
            if not (0.0 < between < np.inf or c.k == 1):  # neither holds for NaN
                found.gap[row] = 0.0
                room.doubtful[m] = row
                m += 1
    return m


@njit(cache=True, nogil=True, inline="always")
def measure(best, second, far, wide, share, reach):  # noqa: ANN001, ANN201
    """Gaps that rounding cannot close, in `wide`; from lengths of rows to radii, in `far`."""
    for i in range(len(far)):
        low, x = np.float64(best[i]), far[i]
        rounding = share * (x * x + x * reach + reach * reach)
        wide[i] = np.float64(second[i]) - low - rounding
        square = x * x + 2.0 * low + rounding
        far[i] = np.sqrt(square if square > 0.0 else 0.0)  # noqa: FURB136 - max() is slow


def by_double_products(
    X: np.ndarray, rows: np.ndarray, centres: np.ndarray, found: Nearest
) -> np.ndarray:
    """Label rows that single precision left in doubt; those that still are."""
    _, C, half, share, reach = in_double(centres)
    doubtful = []
    for some in np.array_split(rows, len(rows) * len(C) // PRODUCTS + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = half - np.take(X, some, axis=0).astype(np.float64, copy=False) @ C.T
            near = scores.argmin(axis=1)
            low = np.take_along_axis(scores, near[:, None], axis=1)[:, 0]
            np.put_along_axis(scores, near[:, None], np.inf, axis=1)
            x = found.length[some]
            rounding = share * (x * x + x * reach + reach * reach)
            between = scores.min(axis=1) - low - rounding
            sure = (between > 0) & (between < np.inf)
            found.radius[some] = np.sqrt(np.maximum(x * x + 2 * low + rounding, 0.0))
        found.label[some] = near
        found.gap[some] = np.where(sure, between, 0.0)
        doubtful.append(some[~sure])
    return np.concatenate(doubtful)


@njit(cache=True, nogil=True)
def settle(X, rows, centres, label):  # noqa: ANN001, ANN201
    """Label rows by the differences themselves, in float64; the first centre on a tie."""
    k, d = centres.shape
    for i in rows:
        least = np.inf
        for j in range(k):
            square = 0.0
            for t in range(d):
                difference = np.float64(X[i, t]) - centres[j, t]
                square += difference * difference
            if square < least:
                least, label[i] = square, j
