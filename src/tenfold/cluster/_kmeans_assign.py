"""Exact nearest centers of rows, with bounds that are carried from iteration to iteration.

Products in single precision decide the nearest center of nearly every row: the margin to the second
nearest exceeds the rounding error. The other rows are searched in double precision, and ties by
differences, summed in order. So a label depends on its row and the centers alone, neither on other
rows nor on the BLAS.

Bounds: a row keeps its center as long as the centers move less than the margin to the second
nearest. With old centers c, new ones c' and the row x at the distance r from its center a,

    s'_j(x) - s'_a(x) >= s_j(x) - s_a(x) + T_ja - D_ja r,     s_j(x) = |x - c_j|^2 / 2 - |x|^2 / 2,

where T_ja is the change at c_a itself and D_ja the length of the difference of the moves of j and
a. (Hamerly's bound, with moves that are compared and not added.)

References
----------
G. Hamerly (2010), Making k-means even faster.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.simd import aligned_zeros
from tenfold._compiled.two_nearest import TILE_ROWS, pack_centers, transpose_rows, two_nearest

# Chosen on the KMeans cases of benchmarks/speed.py; not swept.
DIRECT_SEARCH_SIZE = 2**16  # rows times entries of all centers up to which differences are faster
SCORES_PER_BLOCK = 2**16  # products of rows and centers in a block of the double-precision search
MIN_SIZE_FOR_BOUNDS = 512  # entries of all centers from which bounds cost less than a new search
MAX_REASSIGNED_SHARE = 0.6  # share of undecided rows from which on all rows are searched
ITERATIONS_WITHOUT_BOUNDS = 3  # iterations until bounds are tried again, then


_FLOAT32_EPS, _FLOAT64_EPS = (float(np.finfo(dtype).eps) for dtype in (np.float32, np.float64))
_MAX_FLOAT32_SQUARE = 1e38  # squared norms of centers whose scores do not overflow


class _NearestCenters(NamedTuple):
    """Nearest centers of rows, with bounds."""

    label: np.ndarray  # (n,) int32, number of the nearest center
    gap: np.ndarray  # (n,) lower bound on half the difference of squared distances to any other
    radius: np.ndarray  # (n,) upper bound on the distance to it
    length: np.ndarray  # (n,) norm of the row


class _PreparedCenters(NamedTuple):
    """Centers for products in some precision."""

    k: int
    centers: np.ndarray
    half: np.ndarray  # half their squares
    rounding: float  # error of a product, relative to squared norms
    max_norm: float  # of a center


def find_nearest_centers(
    X: np.ndarray,
    centers: np.ndarray,
    prepared: _PreparedCenters | None = None,
    length: np.ndarray | None = None,
) -> _NearestCenters:
    """Nearest center of each row, the first one on a tie.

    The centers in single precision and the norms of the rows are computed unless they are given.

    Examples
    --------
    >>> import numpy as np
    >>> nearest = find_nearest_centers(
    ...     np.array([[0.0], [1.0], [9.0]]), np.array([[1.0], [8.0], [-1.0]])
    ... )
    >>> nearest.label.tolist()
    [0, 0, 1]
    """
    X, n = np.ascontiguousarray(X), len(X)
    label, gap, radius = np.zeros(n, np.int32), np.zeros(n), np.full(n, np.inf)
    if n * centers.size <= DIRECT_SEARCH_SIZE:
        _assign_by_differences(X, np.arange(n), centers.astype(np.float64), label)
        return _NearestCenters(label, gap, radius, radius)
    nearest = _NearestCenters(label, gap, radius, _row_norms(X) if length is None else length)
    _reassign_rows(X, centers, None, nearest, prepared)
    return nearest


def _row_norms(X: np.ndarray) -> np.ndarray:
    """Euclidean norm of each row; read-only like columns that are carried, so of one type."""
    with np.errstate(over="ignore"):  # rows of infinite norm are always assigned by differences
        norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    norms.flags.writeable = False
    return norms


def _reassign_rows(
    X: np.ndarray,
    centers: np.ndarray,
    rows: np.ndarray | None,
    nearest: _NearestCenters,
    single: _PreparedCenters | None = None,
) -> None:
    """Compute the nearest centers of some rows (None: of all), and write them to `nearest`."""
    workspace = _thread_workspace(len(X), X.shape[1])
    rows = workspace.numbers[: len(X)] if rows is None else rows
    prepared = single or _prepare_float32(centers)
    n_undecided = _assign_by_float32(X, rows, prepared, nearest, workspace)
    if not n_undecided:
        return
    rows = workspace.undecided[:n_undecided]
    centers = centers.astype(np.float64)
    if len(rows) * centers.size > DIRECT_SEARCH_SIZE:
        rows = _assign_by_float64(X, rows, centers, nearest)
    _assign_by_differences(X, rows, centers, nearest.label)


def _prepare_float64(centers: np.ndarray) -> _PreparedCenters:
    """Centers, half their squared norms, and the rounding error of products."""
    squares = np.einsum("ij,ij->i", centers, centers)
    rounding = (centers.shape[1] + 8) * _FLOAT64_EPS
    max_norm = float(np.sqrt(squares.max()))
    return _PreparedCenters(len(centers), centers, squares / 2, rounding, max_norm)


def _prepare_float32(centers: np.ndarray) -> _PreparedCenters:
    """Centers in single precision, packed for the compiled search."""
    squares = np.einsum("ij,ij->i", centers, centers, dtype=np.float64)
    with np.errstate(over="ignore"):  # such rows are searched again
        packed, half = pack_centers(centers, squares / 2)
    rounding = (centers.shape[1] + 8) * _FLOAT32_EPS
    if not squares.max() < _MAX_FLOAT32_SQUARE:  # an infinite half is no center that is far away
        rounding = np.inf
    return _PreparedCenters(len(centers), packed, half, rounding, float(np.sqrt(squares.max())))


class _TileWorkspace(NamedTuple):
    """Buffers for a tile of rows; allocation inside compiled code compiles slowly."""

    columns: np.ndarray  # (d, TILE)
    best: np.ndarray
    second: np.ndarray
    label: np.ndarray
    radius: np.ndarray
    margin: np.ndarray
    undecided: np.ndarray  # (n,)
    numbers: np.ndarray  # (n,) 0, 1, 2, ...


_thread_buffers = threading.local()


def _thread_workspace(n: int, d: int) -> _TileWorkspace:
    """The workspace of this thread, for at least n rows of d columns."""
    workspace = getattr(_thread_buffers, "workspace", None)
    if workspace is None or len(workspace.columns) != d or len(workspace.numbers) < n:
        workspace = _thread_buffers.workspace = _allocate_workspace(n, d)
    return workspace


def _allocate_workspace(n: int, d: int) -> _TileWorkspace:
    """A workspace for n rows of d columns."""
    best, second = np.empty((2, TILE_ROWS), np.float32)
    radius, margin = np.empty((2, TILE_ROWS))
    columns, label = aligned_zeros((d, TILE_ROWS), np.float32), np.empty(TILE_ROWS, np.int32)
    undecided, numbers = np.empty(n, np.int64), np.arange(n)
    return _TileWorkspace(columns, best, second, label, radius, margin, undecided, numbers)


@njit(cache=True, nogil=True)
def _assign_by_float32(X, rows, c, nearest, tile):  # noqa: ANN001, ANN202
    """Label rows by |c|^2/2 - c.x in single precision; the number of undecided rows.

    One compiled call for a run of chunks: threads that enter the interpreter every few rows wait
    for each other.
    """
    n, m = len(rows), 0
    for start in range(0, n, TILE_ROWS):
        count = min(TILE_ROWS, n - start)
        transpose_rows(X, rows, start, count, tile.columns)
        two_nearest(tile.columns, c.centers, c.half, tile.best, tile.second, tile.label)
        for i in range(count):
            tile.radius[i] = nearest.length[rows[start + i]]
        _margins_and_radii(
            tile.best,
            tile.second,
            tile.radius,
            tile.margin,
            c.rounding,
            c.max_norm,
        )
        for i in range(count):
            row, margin = rows[start + i], tile.margin[i]
            nearest.label[row], nearest.gap[row] = tile.label[i], margin
            nearest.radius[row] = tile.radius[i]
            if not (0.0 < margin < np.inf or c.k == 1):  # neither holds for NaN
                nearest.gap[row] = 0.0
                tile.undecided[m] = row
                m += 1
    return m


@njit(cache=True, nogil=True, inline="always")
def _margins_and_radii(best, second, radius, margin, rounding, max_norm):  # noqa: ANN001, ANN202
    """Margins less the rounding error, in `margin`; `radius` has norms of rows, and gets radii."""
    for i in range(len(radius)):
        low, x = np.float64(best[i]), radius[i]
        error = rounding * (x * x + x * max_norm + max_norm * max_norm)
        margin[i] = np.float64(second[i]) - low - error
        square = x * x + 2.0 * low + error
        radius[i] = np.sqrt(square if square > 0.0 else 0.0)  # noqa: FURB136 - max() is slow


def _assign_by_float64(
    X: np.ndarray, rows: np.ndarray, centers: np.ndarray, nearest: _NearestCenters
) -> np.ndarray:
    """Label rows by products in double precision; the undecided rows."""
    _, C, half, rounding, max_norm = _prepare_float64(centers)
    undecided = []
    for block in np.array_split(rows, len(rows) * len(C) // SCORES_PER_BLOCK + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = half - np.take(X, block, axis=0).astype(np.float64, copy=False) @ C.T
            label = scores.argmin(axis=1)
            low = np.take_along_axis(scores, label[:, None], axis=1)[:, 0]
            np.put_along_axis(scores, label[:, None], np.inf, axis=1)
            x = nearest.length[block].astype(np.float64, copy=False)
            error = rounding * (x * x + x * max_norm + max_norm * max_norm)
            margin = scores.min(axis=1) - low - error
            decided = (margin > 0) & (margin < np.inf)
            nearest.radius[block] = np.sqrt(np.maximum(x * x + 2 * low + error, 0.0))
        nearest.label[block] = label
        nearest.gap[block] = np.where(decided, margin, 0.0)
        undecided.append(block[~decided])
    return np.concatenate(undecided)


@njit(cache=True, nogil=True)
def _assign_by_differences(X, rows, centers, label):  # noqa: ANN001, ANN202
    """Label rows by differences in float64; the first center on a tie."""
    k, d = centers.shape
    if X.shape[1] != d:
        raise ValueError("the centers are not those of the columns of X")
    for i in rows:
        least = np.inf
        for j in range(k):
            square = 0.0
            for t in range(d):
                difference = np.float64(X[i, t]) - centers[j, t]
                square += difference * difference
            if square < least:
                least, label[i] = square, j


_ROUNDING_ERROR = 1e-13  # of sums in float64, relative to squared norms


class _CenterMoves(NamedTuple):
    """Moves of the centers between two iterations, relative to each of them."""

    apart: np.ndarray  # (k, k) D_aj
    change: np.ndarray  # (k, k) T_aj
    length: np.ndarray  # (k,) of each move
    max_norm: float  # of a center


class CenterBounds(NamedTuple):
    """Columns that k-means carries from one iteration to the next, one entry per row."""

    label: np.ndarray  # int32, number of the nearest center
    gap: np.ndarray  # float64, lower bound on half the difference of squares to any other center
    radius: np.ndarray  # float64, upper bound on the distance to the nearest center
    length: np.ndarray  # norm of the row
    skip: np.ndarray  # int8, iterations in which the bounds are not tried


class RowNorms(NamedTuple):
    """The column that k-means carries where bounds would not pay."""

    length: np.ndarray


class CenterHint(NamedTuple):
    """What all chunks of a pass need of the centers, computed once."""

    prepared: _PreparedCenters
    moves: _CenterMoves | None  # since the pass that left the bounds
    with_bounds: bool  # whether bounds pay for centers of this size


def center_hint(centers: np.ndarray, last: np.ndarray | None) -> CenterHint:
    """The hint for a pass with these centers after one with the `last`."""
    moves, with_bounds = None, centers.size >= MIN_SIZE_FOR_BOUNDS
    if last is not None and with_bounds:
        moves = _center_moves(last.astype(np.float64), centers.astype(np.float64))
    return CenterHint(_prepare_float32(centers), moves, with_bounds)


def assign_rows(
    X: np.ndarray, columns: CenterBounds | RowNorms | None, centers: np.ndarray, hint: CenterHint
) -> tuple[np.ndarray, CenterBounds | RowNorms | None]:
    """Number of the nearest center of each row, and columns for the next iteration.

    The labels are the same with columns and without; bounds save the search for rows whose
    nearest center cannot have changed.
    """
    n = len(X)
    if n * centers.size <= DIRECT_SEARCH_SIZE:
        return find_nearest_centers(X, centers).label, None
    length = None if columns is None else columns.length
    if not hint.with_bounds:
        nearest = find_nearest_centers(X, centers, hint.prepared, length)
        return nearest.label, RowNorms(nearest.length)
    skip = int(columns.skip.max()) if isinstance(columns, CenterBounds) else 0
    if not isinstance(columns, CenterBounds) or hint.moves is None or skip:
        nearest = find_nearest_centers(X, centers, hint.prepared, length)
        return nearest.label, CenterBounds(*nearest, np.full(n, max(skip - 1, 0), np.int8))
    return _assign_by_bounds(X, columns, centers, hint.prepared, hint.moves)


def _assign_by_bounds(
    X: np.ndarray,
    bounds: CenterBounds,
    centers: np.ndarray,
    prepared: _PreparedCenters,
    moves: _CenterMoves,
) -> tuple[np.ndarray, CenterBounds]:
    """Search only for rows whose nearest center may have changed."""
    n = len(X)
    label, gap, radius = (column.copy() for column in bounds[:3])
    nearest = _NearestCenters(label, gap, radius, bounds.length)
    undecided = np.empty(n, np.int64)
    radii = np.full(len(centers), np.inf), np.zeros(len(centers))
    n_undecided = _update_bounds(*nearest[:3], *moves, *radii, undecided)
    many = n_undecided > MAX_REASSIGNED_SHARE * n
    if n_undecided:
        rows = None if many else undecided[:n_undecided]
        _reassign_rows(np.ascontiguousarray(X), centers, rows, nearest, prepared)
    skip = ITERATIONS_WITHOUT_BOUNDS if many else 0
    return nearest.label, CenterBounds(*nearest, np.full(n, skip, np.int8))


def _center_moves(old: np.ndarray, new: np.ndarray) -> _CenterMoves:
    """Moves of the centers."""
    step = new - old
    squares = np.einsum("ij,ij->i", step, step)
    sums = squares[:, None] + squares
    apart = np.sqrt(np.maximum(sums - 2 * step @ step.T, 0) + 1e-14 * sums)
    gain = np.einsum("ij,ij->i", step, old + step / 2)
    along = old @ step.T  # (a, j)
    change = gain - gain[:, None] - along + along.diagonal()[:, None]
    np.fill_diagonal(apart, 0.0)
    np.fill_diagonal(change, np.inf)  # a center does not compete with itself
    max_norm = np.sqrt(max(np.einsum("ij,ij->i", c, c).max() for c in (old, new)))
    return _CenterMoves(apart, change, np.sqrt(squares), float(max_norm))


@njit(cache=True, nogil=True)
def _update_bounds(label, gap, radius, apart, change, length, max_norm, low, high, undecided):  # noqa: ANN001, ANN202
    """Update gaps and radii for moved centers; the number of rows with an undecided label.

    `low` and `high`, infinite and zero, get the smallest and largest radius of each cluster.
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
        far = r + max_norm
        if not gap[i] > _ROUNDING_ERROR * far * far:
            undecided[m] = i
            m += 1
    return m


@njit(cache=True, nogil=True, inline="always")
def _chord_bounds(low, high, apart, change):  # noqa: ANN001, ANN202
    """Line above max_j D_aj r - T_aj, the largest loss of a gap, over the radii r of a cluster.

    The maximum is convex in r, so its chord is a bound. `low` and `high` hold radii on entry, and
    the intercept and slope of the chord on return.
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
            width = high[a] - low[a]
            if width > 1e-9 * high[a]:
                slope = (far - near) / width
                base = near - slope * low[a]
            else:
                base = near if near > far else far  # noqa: FURB136
        low[a], high[a] = base, slope
