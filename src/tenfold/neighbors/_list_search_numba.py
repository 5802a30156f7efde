"""Search of inverted lists: float32 products find candidates, float64 differences decide.

For a query q and a row x of the list with center c, the filter computes

    |x - c|^2 / 2 - (q - c)'(x - c)    in float32,    plus |q - c|^2 / 2 in float64,

which is half the squared distance up to an error of at most `_filter_error`. Every row that may be
among the k nearest by this bound is kept, and measured again by differences in float64, summed in
the order of the columns. So the answer depends on the query and the lists alone, neither on the
other queries of the block nor on how BLAS sums. Many queries that read one list share a product.

Candidates of a query are (low, up, place): bounds on half the squared distance, and the place of
the row in the lists. `limit` is the k-th least `up` so far: what has a larger `low` cannot be an
answer. Equal distances are ordered by row number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold._compiled.gemm import matmul
from tenfold.neighbors._heap_numba import INLINE, JIT

TILE_QUERIES = 128
TILE_ROWS = 512
_LANES = 16
_MAX_FILTERED = 1e36  # products up to which float32 does not overflow
_TINY = 1e-37  # products below it lose digits in float32
UNREAD, READ, NEAREST = 0, 1, 2  # whether a query reads a list


class Lists(NamedTuple):
    """Rows in the order of their lists."""

    rows: np.ndarray  # (n, d)
    numbers: np.ndarray  # (n,) row numbers, ascending in each list
    offsets: np.ndarray  # (L + 1,) where lists begin and end
    half: np.ndarray  # (n,) float32, half the squared distance to the center of the list
    centers: np.ndarray  # (L, d) float64
    radii: np.ndarray  # (L,) float64, at least the largest distance of a row to its center


def distances_to_centers(Q: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances (m, L) by products in float64, and a bound (m,) on their errors.

    Rows are moved by the mean of the centers first, so that a shift of all data costs no digits.
    With u = 2^-53, the error of the product, of both norms, of the three sums and of the moves is
    at most (d + 12) u (|q|^2 + |c|^2); the bound is at least four times as much.
    """
    origin = centers.mean(axis=0)
    C, moved = centers - origin, Q - origin
    squares = np.einsum("ij,ij->i", C, C)
    lengths = np.einsum("ij,ij->i", moved, moved)
    apart = moved @ (-2.0 * C.T)
    apart += squares
    apart += lengths[:, None]
    np.maximum(apart, 0.0, out=apart)
    blur = (Q.shape[1] + 8) * 9e-16 * (lengths + squares.max())
    return apart, blur


class Candidates(NamedTuple):
    """What m queries have found so far; C places for each."""

    low: np.ndarray  # (m, C)
    up: np.ndarray  # (m, C)
    place: np.ndarray  # (m, C)
    size: np.ndarray  # (m,)
    limit: np.ndarray  # (m,)


class Tile(NamedTuple):
    """Buffers for the product of some queries with some rows of a list."""

    queries: np.ndarray  # flat (TILE_QUERIES, d) float32
    rows: np.ndarray  # flat (TILE_ROWS, d) float32
    products: np.ndarray  # flat (TILE_QUERIES, TILE_ROWS) float32
    chosen: np.ndarray  # (m,) numbers of queries that read the list
    order: np.ndarray  # (C,) space for one query
    values: np.ndarray  # (max(C, L),) the same


def make_candidates(m: int, k: int) -> Candidates:
    """Empty candidates of m queries for k neighbors."""
    size = 2 * k + 32
    low, up = np.empty((2, m, size))
    place, held = np.empty((m, size), np.int64), np.zeros(m, np.int64)
    return Candidates(low, up, place, held, np.full(m, np.inf))


def make_tile(m: int, k: int, n_lists: int, d: int) -> Tile:
    """Buffers for m queries."""
    queries, rows = np.empty(TILE_QUERIES * d, np.float32), np.empty(TILE_ROWS * d, np.float32)
    products = np.empty(TILE_QUERIES * TILE_ROWS, np.float32)
    order = np.empty(2 * k + 32, np.int64)
    values = np.empty(max(2 * k + 32, n_lists))
    return Tile(queries, rows, products, np.empty(m, np.int64), order, values)


@JIT
def choose_lists(Q, centers, apart, blur, offsets, n_probe, least, reads, values):
    """Mark the `n_probe` nearest lists of each query, and more while they hold too few rows.

    Of equally near lists the first is taken. The nearest is marked apart: it is read first. Where
    `apart`, which is right up to `blur`, does not tell which lists are nearer, differences do.
    """
    m, n_lists = apart.shape
    for i in range(m):
        nearest, wanted = 0, min(n_probe, n_lists)
        for c in range(n_lists):
            nearest = c if apart[i, c] < apart[i, nearest] else nearest
        while True:
            held = _mark_nearest(
                Q, i, centers, apart[i], blur[i], offsets, wanted, reads[i], values
            )
            if held >= least or wanted == n_lists:
                break
            wanted = min(2 * wanted, n_lists)
        reads[i, nearest] = NEAREST


@INLINE
def _mark_nearest(Q, i, centers, apart, blur, offsets, wanted, reads, values):
    """Mark so many nearest lists of one query; the number of rows that they hold."""
    n_lists, edge = len(apart), np.inf
    if wanted < n_lists:
        for c in range(n_lists):
            values[c] = apart[c]
        edge = kth_smallest(values, n_lists, wanted - 1)
    held = taken = unclear = 0
    for c in range(n_lists):
        near = apart[c] < edge - 2.0 * blur
        reads[c] = READ if near else UNREAD
        unclear += not near and apart[c] <= edge + 2.0 * blur
        if near:
            held, taken = held + offsets[c + 1] - offsets[c], taken + 1
    tied = unclear > wanted - taken
    for c in range(n_lists):
        values[c] = np.inf
        if reads[c] == UNREAD and apart[c] <= edge + 2.0 * blur:
            values[c] = squared_distance(Q, i, centers, c) if tied else -1.0
    for _ in range(wanted - taken):
        best = 0
        for c in range(n_lists):
            best = c if values[c] < values[best] else best
        reads[best], values[best] = READ, np.inf
        held += offsets[best + 1] - offsets[best]
    return held


@JIT
def kth_smallest(values, n, k):
    """The entry of rank k (from 0) among the first n; their order changes (quickselect)."""
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@JIT
def search_lists(Q, excluded, lists, apart, blur, reads, k, found, tile):
    """Collect candidates of all queries from the lists that each of them reads.

    The nearest list of a query comes first, so that the limit is near the truth when the others
    are looked at; a list that cannot hold an answer any more is passed over.
    """
    m, n_lists = apart.shape
    for turn in (NEAREST, READ):
        for c in range(n_lists):
            if lists.offsets[c] == lists.offsets[c + 1]:
                continue
            n_chosen = 0
            for i in range(m):
                if reads[i, c] == turn and not is_excluded_list(
                    apart[i, c] - blur[i], lists.radii[c], found.limit[i], Q.shape[1]
                ):
                    tile.chosen[n_chosen] = i
                    n_chosen += 1
            for start in range(0, n_chosen, TILE_QUERIES):
                chosen = tile.chosen[start : min(start + TILE_QUERIES, n_chosen)]
                _search_list(Q, excluded, lists, apart, blur, c, chosen, k, found, tile)
        for i in range(m):
            if turn == NEAREST and found.size[i] >= k:
                _shrink(Q, i, lists, k, found, tile)


@INLINE
def is_excluded_list(square, radius, limit, d):
    """Whether no row of a list can be as near as `limit`, by the triangle inequality.

    `square` is at most the squared distance of query and center, `limit` half a squared distance;
    sums of d terms in float64 are right up to a factor 1 +- (d + 4) 2^-52, which is allowed for.
    """
    if not square > radius * radius:
        return False
    slack = 1.0 - (d + 4) * 4.5e-16
    gap = np.sqrt(square) * slack - radius
    return gap > 0.0 and 0.5 * gap * gap * slack > limit


@INLINE
def _filter_error(distance, radius, d):
    """Bound on the error of half a squared distance of the filter.

    Products of d terms of vectors of the lengths `distance` and `radius`, each rounded to float32:
    at most (d + 3) u |q - c| |x - c| with u = 2^-24; half a square and the difference of both:
    2 u (|q - c| |x - c| + |x - c|^2 / 2). (d + 8) 2^-23 is twice as much. The second term is the
    error of sums in float64, the third that of numbers near the end of the range of float32.
    """
    both = distance + radius
    filtered = (d + 8) * 1.2e-7 * (distance * radius + radius * radius)
    return filtered + (d + 4) * 4.5e-16 * both * both + (d + 8) * _TINY


@INLINE
def _search_list(Q, excluded, lists, apart, blur, c, chosen, k, found, tile):
    """Candidates from list c for some queries."""
    d, first, end = Q.shape[1], lists.offsets[c], lists.offsets[c + 1]
    m, as_stored = len(chosen), False
    for row in range(m):
        for j in range(d):
            x = np.float64(Q[chosen[row], j]) - lists.centers[c, j]
            tile.queries[row * d + j] = np.float32(x)
    for start in range(first, end, TILE_ROWS):
        size = min(TILE_ROWS, end - start)
        for row in range(size):
            for j in range(d):
                x = np.float64(lists.rows[start + row, j]) - lists.centers[c, j]
                tile.rows[row * d + j] = np.float32(x)
        matmul(
            tile.queries, 0, as_stored, tile.rows, 0, not as_stored, tile.products, 0, m, d, size
        )
        for row in range(m):
            i = chosen[row]
            distance, radius = np.sqrt(apart[i, c] + blur[i]), lists.radii[c]
            at = row * size
            part = tile.products[at : at + size]
            error = _filter_error(distance, radius, d) + 0.5 * blur[i]
            base = 0.5 * apart[i, c]
            if not (distance + radius) * (distance + radius) < _MAX_FILTERED:
                error, base = np.inf, 0.0  # the filter knows nothing
                for j in range(size):
                    part[j] = 0.0
            _push_below(Q, i, excluded[i], lists, start, part, base, error, k, found, tile)


@INLINE
def _push_below(Q, i, excluded, lists, start, products, base, error, k, found, tile):
    """Keep the rows of a tile that may be answers of query i."""
    size = len(products)
    half = lists.half[start : start + size]
    for block in range(0, size, _LANES):
        stop = min(block + _LANES, size)
        bound = found.limit[i] - base + error
        edge = np.float32(bound + 1e-6 * abs(bound))
        hit = False
        for j in range(block, stop):
            hit |= half[j] - products[j] <= edge
        if hit:
            for j in range(block, stop):
                if half[j] - products[j] <= edge:
                    value = base + np.float64(half[j] - products[j])
                    _push(Q, i, excluded, lists, start + j, value, error, k, found, tile)


@INLINE
def _push(Q, i, excluded, lists, place, value, error, k, found, tile):
    """Add a candidate, after making room if there is none."""
    low, up = (value - error, value + error) if error < np.inf else (-np.inf, np.inf)
    if low > found.limit[i] or lists.numbers[place] == excluded:
        return
    if found.size[i] == found.low.shape[1]:
        _shrink(Q, i, lists, k, found, tile)
        if low > found.limit[i]:
            return
    at = found.size[i]
    found.low[i, at], found.up[i, at] = low, up
    found.place[i, at] = place
    found.size[i] = at + 1


@INLINE
def _shrink(Q, i, lists, k, found, tile):
    """Lower the limit of query i, and drop candidates beyond it.

    If that drops few (many rows as far as the k-th, up to rounding), exact distances decide.
    """
    count, size = found.size[i], found.low.shape[1]
    for j in range(count):
        tile.values[j] = found.up[i, j]
    found.limit[i] = min(found.limit[i], kth_smallest(tile.values, count, k - 1))
    kept = 0
    for j in range(count):
        if found.low[i, j] <= found.limit[i]:
            found.low[i, kept], found.up[i, kept] = found.low[i, j], found.up[i, j]
            found.place[i, kept] = found.place[i, j]
            kept += 1
    found.size[i] = kept
    if kept <= (size + k) // 2:
        return
    sort_candidates(Q, i, lists, found, tile)
    error = (Q.shape[1] + 4) * 4.5e-16
    for j in range(k):
        value = 0.5 * tile.values[j]
        found.low[i, j], found.up[i, j] = value * (1.0 - error), value * (1.0 + error)
        found.place[i, j] = tile.order[j]
        found.limit[i] = min(found.limit[i], found.up[i, k - 1]) if j == k - 1 else found.limit[i]
    found.size[i] = k


@INLINE
def squared_distance(Q, i, X, j):
    """Squared distance of two rows by differences in float64, in the order of the columns."""
    total = 0.0
    for t in range(Q.shape[1]):
        difference = np.float64(Q[i, t]) - np.float64(X[j, t])
        total += difference * difference
    return total


@INLINE
def sort_candidates(Q, i, lists, found, tile):
    """Exact squared distances of the candidates of query i in `values`, places in `order`.

    Both are sorted by distance, equal distances by row number.
    """
    for j in range(found.size[i]):
        place = found.place[i, j]
        square, at = squared_distance(Q, i, lists.rows, place), j
        while at > 0 and (
            tile.values[at - 1] > square
            or (
                tile.values[at - 1] == square
                and lists.numbers[tile.order[at - 1]] > lists.numbers[place]
            )
        ):
            tile.values[at], tile.order[at] = tile.values[at - 1], tile.order[at - 1]
            at -= 1
        tile.values[at], tile.order[at] = square, place


@JIT
def write_answers(Q, lists, apart, blur, reads, k, found, tile, distances, numbers, proven):
    """The k nearest candidates of each query, and whether no unread list can hold a nearer row."""
    m, n_lists = apart.shape
    d = Q.shape[1]
    for i in range(m):
        sort_candidates(Q, i, lists, found, tile)
        for j in range(k):
            distances[i, j] = np.sqrt(tile.values[j])
            numbers[i, j] = lists.numbers[tile.order[j]]
        limit = 0.5 * tile.values[k - 1] * (1.0 + (d + 4) * 4.5e-16)
        proven[i] = True
        for c in range(n_lists):
            if reads[i, c] == UNREAD and lists.offsets[c] < lists.offsets[c + 1]:
                square = apart[i, c] - blur[i]
                proven[i] &= is_excluded_list(square, lists.radii[c], limit, d)
