"""Exact nearest centers of rows, with bounds that are carried from iteration to iteration.

A single-precision search with a rounding bound, a double-precision one for rows in doubt, and the
differences themselves for what is left: labels do not depend on the order of summation.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.nearest_centers import TILE_ROWS, pack_centers, transpose_rows, two_nearest
from tenfold._compiled.simd import aligned_zeros

_SCORES_PER_BLOCK = 2**16  # products of rows and centres that are held at once
_FLOAT32_EPS, _FLOAT64_EPS = (float(np.finfo(dtype).eps) for dtype in (np.float32, np.float64))
_DIRECT_SEARCH_SIZE = 2**16  # steps of the slow way that are sooner done than products


class _NearestCenters(NamedTuple):
    """Nearest centres of rows, with bounds."""

    label: np.ndarray  # (n,) int32, number of the nearest centre
    gap: np.ndarray  # (n,) lower bound on half the difference of squared distances to any other
    radius: np.ndarray  # (n,) upper bound on the distance to it
    length: np.ndarray  # (n,) norm of the row


class _PreparedCenters(NamedTuple):
    """Centres as products in some precision need them."""

    k: int
    centres: np.ndarray
    half: np.ndarray  # half their squares
    share: float  # of squared lengths that rounding may be
    reach: float  # of the longest centre


def find_nearest_centers(
    X: np.ndarray,
    centres: np.ndarray,
    single: _PreparedCenters | None = None,
    length: np.ndarray | None = None,
) -> _NearestCenters:
    """Nearest centre of each row, the first one on a tie.

    The centres in single precision and the norms of the rows are computed unless they are given.

    Examples
    --------
    >>> import numpy as np
    >>> found = find_nearest_centers(
    ...     np.array([[0.0], [1.0], [9.0]]), np.array([[1.0], [8.0], [-1.0]])
    ... )
    >>> found.label.tolist()
    [0, 0, 1]
    """
    X, n = np.ascontiguousarray(X), len(X)
    label, gap, radius = np.zeros(n, np.int32), np.zeros(n), np.full(n, np.inf)
    if n * centres.size <= _DIRECT_SEARCH_SIZE:
        _assign_by_differences(X, np.arange(n), centres.astype(np.float64), label)
        return _NearestCenters(label, gap, radius, radius)
    found = _NearestCenters(label, gap, radius, _row_norms(X) if length is None else length)
    _reassign_rows(X, centres, None, found, single)
    return found


def _row_norms(X: np.ndarray) -> np.ndarray:
    """Euclidean norm of each row."""
    with np.errstate(over="ignore"):  # rows of infinite norm are always assigned by differences
        return np.sqrt(np.einsum("ij,ij->i", X, X))


def _reassign_rows(
    X: np.ndarray,
    centres: np.ndarray,
    rows: np.ndarray | None,
    found: _NearestCenters,
    single: _PreparedCenters | None = None,
) -> None:
    """Compute the nearest centres of some rows (None: of all), and write them into `found`."""
    room = _thread_workspace(len(X), X.shape[1])
    rows = room.numbers[: len(X)] if rows is None else rows
    doubts = _assign_by_float32(X, rows, single or _prepare_float32(centres), found, room)
    if not doubts:
        return
    rows = room.doubtful[:doubts]
    centres = centres.astype(np.float64)
    if len(rows) * centres.size > _DIRECT_SEARCH_SIZE:
        rows = _assign_by_float64(X, rows, centres, found)
    _assign_by_differences(X, rows, centres, found.label)


def _prepare_float64(centres: np.ndarray) -> _PreparedCenters:
    """Centres, half their squares, and what rounding depends on."""
    squares = np.einsum("ij,ij->i", centres, centres)
    share = (centres.shape[1] + 8) * _FLOAT64_EPS
    return _PreparedCenters(
        len(centres), centres, squares / 2, share, float(np.sqrt(squares.max()))
    )


def _prepare_float32(centres: np.ndarray) -> _PreparedCenters:
    """Centres in single precision, as registers take them."""
    squares = np.einsum("ij,ij->i", centres, centres, dtype=np.float64)
    with np.errstate(over="ignore"):  # rows stay in doubt
        narrow, half = pack_centers(centres, squares / 2)
    share = (centres.shape[1] + 8) * _FLOAT32_EPS
    return _PreparedCenters(len(centres), narrow, half, share, float(np.sqrt(squares.max())))


class _TileWorkspace(NamedTuple):
    """Room for work on a tile of rows; what compiled code allocates itself compiles slowly."""

    columns: np.ndarray  # (d, TILE)
    best: np.ndarray
    second: np.ndarray
    near: np.ndarray
    far: np.ndarray
    wide: np.ndarray
    doubtful: np.ndarray  # (n,)
    numbers: np.ndarray  # (n,) 0, 1, 2, ...


_thread_buffers = threading.local()


def _thread_workspace(n: int, d: int) -> _TileWorkspace:
    """A workspace for up to n rows of d columns that this thread uses again and again."""
    workspace = getattr(_thread_buffers, "workspace", None)
    if workspace is None or len(workspace.columns) != d or len(workspace.numbers) < n:
        workspace = _thread_buffers.workspace = _allocate_workspace(n, d)
    return workspace


def _allocate_workspace(n: int, d: int) -> _TileWorkspace:
    """A workspace for n rows of d columns."""
    best, second = np.empty((2, TILE_ROWS), np.float32)
    far, wide = np.empty((2, TILE_ROWS))
    columns, near = aligned_zeros((d, TILE_ROWS), np.float32), np.empty(TILE_ROWS, np.int32)
    doubtful, numbers = np.empty(n, np.int64), np.arange(n)
    return _TileWorkspace(columns, best, second, near, far, wide, doubtful, numbers)


@njit(cache=True, nogil=True)
def _assign_by_float32(X, rows, c, found, room):  # noqa: ANN001, ANN202
    """Label rows by |c|^2/2 - c.x in single precision; how many of them stay in doubt.

    One compiled call for a run: threads that meet at the interpreter every few rows wait for
    each other longer than they work.
    """
    n, m = len(rows), 0
    for start in range(0, n, TILE_ROWS):
        count = min(TILE_ROWS, n - start)
        transpose_rows(X, rows, start, count, room.columns)
        two_nearest(room.columns, c.centres, c.half, room.best, room.second, room.near)
        for i in range(count):
            room.far[i] = found.length[rows[start + i]]
        _margins_and_radii(room.best, room.second, room.far, room.wide, c.share, c.reach)
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
def _margins_and_radii(best, second, far, wide, share, reach):  # noqa: ANN001, ANN202
    """Gaps that rounding cannot close, in `wide`; from lengths of rows to radii, in `far`."""
    for i in range(len(far)):
        low, x = np.float64(best[i]), far[i]
        rounding = share * (x * x + x * reach + reach * reach)
        wide[i] = np.float64(second[i]) - low - rounding
        square = x * x + 2.0 * low + rounding
        far[i] = np.sqrt(square if square > 0.0 else 0.0)  # noqa: FURB136 - max() is slow


def _assign_by_float64(
    X: np.ndarray, rows: np.ndarray, centres: np.ndarray, found: _NearestCenters
) -> np.ndarray:
    """Label rows that single precision left in doubt; those that still are."""
    _, C, half, share, reach = _prepare_float64(centres)
    doubtful = []
    for some in np.array_split(rows, len(rows) * len(C) // _SCORES_PER_BLOCK + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = half - np.take(X, some, axis=0).astype(np.float64, copy=False) @ C.T
            near = scores.argmin(axis=1)
            low = np.take_along_axis(scores, near[:, None], axis=1)[:, 0]
            np.put_along_axis(scores, near[:, None], np.inf, axis=1)
            x = found.length[some].astype(np.float64, copy=False)
            rounding = share * (x * x + x * reach + reach * reach)
            between = scores.min(axis=1) - low - rounding
            sure = (between > 0) & (between < np.inf)
            found.radius[some] = np.sqrt(np.maximum(x * x + 2 * low + rounding, 0.0))
        found.label[some] = near
        found.gap[some] = np.where(sure, between, 0.0)
        doubtful.append(some[~sure])
    return np.concatenate(doubtful)


@njit(cache=True, nogil=True)
def _assign_by_differences(X, rows, centres, label):  # noqa: ANN001, ANN202
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


_MIN_SIZE_FOR_BOUNDS = (
    512  # numbers in all centres up to which a search costs no more than a look at gaps
)
_MAX_REASSIGNED_SHARE = 0.6  # share of doubtful rows from which on all are asked
_ITERATIONS_WITHOUT_BOUNDS = 3  # rounds until the next try, then
_ROUNDING_ERROR = 1e-13  # of sums in float64, as a share of squared lengths


class _CenterMoves(NamedTuple):
    """How the centres have moved between two rounds, seen from each of them."""

    apart: np.ndarray  # (k, k) D_aj
    change: np.ndarray  # (k, k) T_aj
    length: np.ndarray  # (k,) of each move
    reach: float  # longest centre


class CenterBounds(NamedTuple):
    """Columns that k-means carries from one iteration to the next, one entry per row."""

    label: np.ndarray  # int32, number of the nearest centre
    gap: np.ndarray  # float64, lower bound on half the difference of squares to any other centre
    radius: np.ndarray  # float64, upper bound on the distance to the nearest centre
    length: np.ndarray  # norm of the row
    skip: np.ndarray  # int8, iterations in which the bounds are not tried


class RowNorms(NamedTuple):
    """The column that k-means carries where bounds would not pay."""

    length: np.ndarray


class CenterHint(NamedTuple):
    """What all chunks of a pass need of the centres, computed once."""

    prepared: _PreparedCenters
    moves: _CenterMoves | None  # since the pass that left the bounds
    with_bounds: bool  # whether bounds pay for centres of this size


def center_hint(centres: np.ndarray, last: np.ndarray | None) -> CenterHint:
    """The hint for a pass with these centres after one with the `last`."""
    moves, with_bounds = None, centres.size >= _MIN_SIZE_FOR_BOUNDS
    if last is not None and with_bounds:
        moves = _center_moves(last.astype(np.float64), centres.astype(np.float64))
    return CenterHint(_prepare_float32(centres), moves, with_bounds)


def assign_rows(
    X: np.ndarray, columns: CenterBounds | RowNorms | None, centres: np.ndarray, hint: CenterHint
) -> tuple[np.ndarray, CenterBounds | RowNorms | None]:
    """Number of the nearest centre of each row, and columns for the next iteration.

    The labels are the same with columns and without; bounds save the search for rows whose
    nearest centre cannot have changed.
    """
    n = len(X)
    if n * centres.size <= _DIRECT_SEARCH_SIZE:
        return find_nearest_centers(X, centres).label, None
    length = None if columns is None else columns.length
    if not hint.with_bounds:
        found = find_nearest_centers(X, centres, hint.prepared, length)
        return found.label, RowNorms(found.length)
    skip = int(columns.skip.max()) if isinstance(columns, CenterBounds) else 0
    if not isinstance(columns, CenterBounds) or hint.moves is None or skip:
        found = find_nearest_centers(X, centres, hint.prepared, length)
        return found.label, CenterBounds(*found, np.full(n, max(skip - 1, 0), np.int8))
    return _assign_by_bounds(X, columns, centres, hint.prepared, hint.moves)


def _assign_by_bounds(
    X: np.ndarray,
    bounds: CenterBounds,
    centres: np.ndarray,
    prepared: _PreparedCenters,
    moves: _CenterMoves,
) -> tuple[np.ndarray, CenterBounds]:
    """Search for the rows alone whose nearest centre may have changed."""
    n = len(X)
    label, gap, radius = (column.copy() for column in bounds[:3])
    found = _NearestCenters(label, gap, radius, bounds.length)
    doubtful = np.empty(n, np.int64)
    reach = np.full(len(centres), np.inf), np.zeros(len(centres))
    doubts = _update_bounds(*found[:3], *moves, *reach, doubtful)
    many = doubts > _MAX_REASSIGNED_SHARE * n
    if doubts:
        rows = None if many else doubtful[:doubts]
        _reassign_rows(np.ascontiguousarray(X), centres, rows, found, prepared)
    skip = _ITERATIONS_WITHOUT_BOUNDS if many else 0
    return found.label, CenterBounds(*found, np.full(n, skip, np.int8))


def _center_moves(old: np.ndarray, new: np.ndarray) -> _CenterMoves:
    """How centres have moved."""
    step = new - old
    squares = np.einsum("ij,ij->i", step, step)
    sums = squares[:, None] + squares
    apart = np.sqrt(np.maximum(sums - 2 * step @ step.T, 0) + 1e-14 * sums)
    gain = np.einsum("ij,ij->i", step, old + step / 2)
    along = old @ step.T  # (a, j)
    change = gain - gain[:, None] - along + along.diagonal()[:, None]
    np.fill_diagonal(apart, 0.0)
    np.fill_diagonal(change, np.inf)  # a centre is no rival of itself
    reach = np.sqrt(max(np.einsum("ij,ij->i", c, c).max() for c in (old, new)))
    return _CenterMoves(apart, change, np.sqrt(squares), float(reach))


@njit(cache=True, nogil=True)
def _update_bounds(label, gap, radius, apart, change, length, reach, low, high, doubtful):  # noqa: ANN001, ANN202
    """Move gaps and radii on with the centres; how many rows have a label in doubt now.

    `low` and `high`, infinite and zero, take the radii of each cluster.
    """
    n, m = len(label), 0
    for i in range(n):
        a, r = label[i], radius[i]
        low[a] = r if r < low[a] else low[a]  # noqa: FURB136 - min() is slow
        high[a] = r if r > high[a] else high[a]  # noqa: FURB136
    _chord_bounds(low, high, apart, change)
    for i in range(n):
        a, r = label[i], radius[i]
        gap[i] -= low[a] + high[a] * r
        radius[i] = r + length[a]
        far = r + reach
        if not gap[i] > _ROUNDING_ERROR * far * far:
            doubtful[m] = i
            m += 1
    return m


@njit(cache=True, nogil=True, inline="always")
def _chord_bounds(low, high, apart, change):  # noqa: ANN001, ANN202
    """From the radii of a cluster to the line above the most that a gap loses, max_j D_aj r - T_aj.

    `low` and `high` come as radii and leave as the line's value at zero and its slope.
    """
    k = len(low)
    for a in range(k):
        base = slope = 0.0
        if k > 1 and low[a] <= high[a]:
            near = far = -np.inf
            for j in range(k):
                least = apart[a, j] * low[a] - change[a, j]
                most = apart[a, j] * high[a] - change[a, j]
                near = least if least > near else near  # noqa: FURB136
                far = most if most > far else far  # noqa: FURB136
            wide = high[a] - low[a]
            if wide > 1e-9 * high[a]:
                slope = (far - near) / wide
                base = near - slope * low[a]
            else:
                base = near if near > far else far  # noqa: FURB136
        low[a], high[a] = base, slope
