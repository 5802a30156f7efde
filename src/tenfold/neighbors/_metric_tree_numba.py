"""Search of a vantage-point tree by metrics that are compiled.

Node i has the children 2 i + 1 and 2 i + 2 and halves its range of rows, those nearer to its
vantage point v first. With the least and the largest distance a and b of the rows of a half from
v, the triangle inequality gives for each of them

    d(q, x) >= max(d(q, v) - b, a - d(q, v)) .

Distances are rounded, so a bound is lowered by `relative` times the sizes of its terms, and by
`absolute`; what it excludes is farther than the k-th row in float64 as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.neighbors._heap_numba import INLINE, JIT, push, sort_heap
from tenfold.neighbors._pair_distance_numba import SQUARES, pair_distance


@INLINE
def _lower_bound(apart: float, low: float, high: float, relative: float, absolute: float) -> float:
    """Least distance of rows that are between `low` and `high` away from a vantage point."""
    bound = max(apart - high, low - apart) - relative * (apart + high) - absolute
    return bound if apart < np.inf and high < np.inf else 0.0


@JIT
def lower_bounds(apart: float, ranges: Any, slack: Any, bounds: Any) -> None:
    """Write the bounds of both halves of a node.

    Parameters
    ----------
    apart : distance of the query from the vantage point
    ranges : (4,) least and largest distance of the rows of each half from it
    slack : (2,) relative and absolute error of distances
    bounds : (2,) result
    """
    bounds[0] = _lower_bound(apart, ranges[0], ranges[1], slack[0], slack[1])
    bounds[1] = _lower_bound(apart, ranges[2], ranges[3], slack[0], slack[1])


@JIT
def push_leaf(
    block: Any, numbers: Any, row_codes: Any, query_code: Any, distances: Any, rows: Any
) -> None:
    """Take the distances of the rows of a leaf into the heap of the k nearest.

    Parameters
    ----------
    block, numbers : (t,) distances and row numbers
    row_codes, query_code : rows of the same code as the query are left out; empty: none
    distances, rows : (k,) heap
    """
    for i in range(block.shape[0]):
        d = np.inf if np.isnan(block[i]) else block[i]
        if query_code.shape[0] == 0 or row_codes[numbers[i]] != query_code[0]:
            push(distances, rows, distances.shape[0], d, numbers[i])


@INLINE
def _expand(
    kind: int, q: Any, p: float, w: Any, slack: Any, vantage: Any, ranges: Any, top: int,
    place: Any, bound: Any,
) -> None:  # fmt: skip
    """Replace the inner node on top of the stack by its halves, the nearer one on top."""
    node, start, end, least = place[top, 0], place[top, 1], place[top, 2], bound[top]
    middle = (start + end) // 2
    apart = pair_distance(kind, q, vantage[node], p, w)
    if kind == SQUARES:
        apart = np.sqrt(apart)
    low = _lower_bound(apart, ranges[node, 0], ranges[node, 1], slack[0], slack[1])
    high = _lower_bound(apart, ranges[node, 2], ranges[node, 3], slack[0], slack[1])
    at = top if high < low else top + 1  # of the lower half
    other = 2 * top + 1 - at
    place[at, 0], place[at, 1], place[at, 2] = 2 * node + 1, start, middle
    place[other, 0], place[other, 1], place[other, 2] = 2 * node + 2, middle, end
    bound[at], bound[other] = max(least, low), max(least, high)


@JIT
def search_metric_tree(
    kind: int, p: float, w: Any, slack: Any, Q: Any, points: Any, order: Any, n_inner: int,
    vantage: Any, ranges: Any, row_codes: Any, query_codes: Any, place: Any, bound: Any,
    distances: Any, rows: Any,
) -> None:  # fmt: skip
    """The k nearest rows of each query.

    Parameters
    ----------
    kind, p, w : the metric
    slack : (2,) relative and absolute error of its distances
    Q : (m, d) float64 queries
    points, order, n_inner, vantage, ranges : the tree
    row_codes, query_codes : rows of the same code as the query are left out; empty: none
    place, bound : work space
    distances, rows : (m, k) results, filled with infinity and NOBODY
    """
    k = distances.shape[1]
    for number in range(Q.shape[0]):
        q, best, row = Q[number], distances[number], rows[number]
        place[0, 0], place[0, 1], place[0, 2], bound[0] = 0, 0, points.shape[0], 0.0
        top = 0
        while top >= 0:
            limit = np.sqrt(best[0]) if kind == SQUARES else best[0]
            if bound[top] > limit:
                top -= 1
                continue
            if place[top, 0] < n_inner:
                _expand(kind, q, p, w, slack, vantage, ranges, top, place, bound)
                top += 1
                continue
            for i in range(place[top, 1], place[top, 2]):
                d = pair_distance(kind, q, points[i], p, w)
                if np.isnan(d):
                    d = np.inf
                if d <= best[0] and (
                    query_codes.shape[0] == 0 or row_codes[order[i]] != query_codes[number]
                ):
                    push(best, row, k, d, order[i])
            top -= 1
        sort_heap(best, row, k)


@JIT
def search_metric_tree_radius(
    kind: int, p: float, w: Any, slack: Any, q: Any, points: Any, order: Any, n_inner: int,
    vantage: Any, ranges: Any, place: Any, bound: Any, radius: float, distances: Any, rows: Any,
) -> int:  # fmt: skip
    """List the rows within a radius of one query; their number.

    Parameters
    ----------
    kind, ..., bound : as in `search_metric_tree`
    q : (d,) float64 query
    radius : largest distance, for SQUARES its square
    distances, rows : (n,) results
    """
    found, top = 0, 0
    limit = np.sqrt(radius) if kind == SQUARES else radius
    place[0, 0], place[0, 1], place[0, 2], bound[0] = 0, 0, points.shape[0], 0.0
    while top >= 0:
        if bound[top] > limit:
            top -= 1
        elif place[top, 0] < n_inner:
            _expand(kind, q, p, w, slack, vantage, ranges, top, place, bound)
            top += 1
        else:
            for i in range(place[top, 1], place[top, 2]):
                d = pair_distance(kind, q, points[i], p, w)
                if d <= radius and d < np.inf:
                    distances[found], rows[found] = d, order[i]
                    found += 1
            top -= 1
    return found
