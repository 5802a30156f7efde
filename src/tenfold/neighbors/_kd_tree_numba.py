"""A kd-tree in flat arrays: splits at the median of the widest column, leaves stored as columns.

Node i has the children 2 i + 1 and 2 i + 2 and halves its range of rows, so ranges are not stored.
A node keeps its split column, the largest value of the lower half and the smallest of the upper.

Bounds are exact: rounding is monotone, and the distance to a box is computed by the operations, in
the order of columns, by which the distance to a row is. So no row of a box is nearer in float64
than the bound of the box, and boxes whose bound is above the k-th distance are skipped safely.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.neighbors._heap_numba import INLINE, JIT, push, sort_heap

SQUARES, ABSOLUTES, MAXIMUM = 0, 1, 2  # how differences of columns make a distance


@INLINE
def _widest_column(points: Any, start: int, end: int) -> Any:
    best, width = 0, -1.0
    for j in range(points.shape[1]):
        low = high = points[start, j]
        for i in range(start + 1, end):
            low, high = min(low, points[i, j]), max(high, points[i, j])
        if high - low > width:
            best, width = j, high - low
    return best


@INLINE
def _swap(points: Any, order: Any, a: int, b: int) -> None:
    for j in range(points.shape[1]):
        points[a, j], points[b, j] = points[b, j], points[a, j]
    order[a], order[b] = order[b], order[a]


@INLINE
def _select(points: Any, order: Any, start: int, end: int, column: int, middle: int) -> None:
    """Partition rows so that none before the middle is larger in a column than any after it."""
    low, high = start, end - 1
    while high > low:
        a, b, c = points[low, column], points[(low + high) // 2, column], points[high, column]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while points[i, column] < pivot:
                i += 1
            while points[j, column] > pivot:
                j -= 1
            if i <= j:
                _swap(points, order, i, j)
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@INLINE
def _split_node(
    points: Any, order: Any, start: int, end: int, node: int, column: Any, split: Any
) -> None:
    """Split a range of rows at the median of its widest column."""
    middle = (start + end) // 2
    widest = _widest_column(points, start, end)
    _select(points, order, start, end, widest, middle)
    largest, smallest = points[start, widest], points[middle, widest]
    for i in range(start + 1, middle):
        largest = max(largest, points[i, widest])
    for i in range(middle + 1, end):
        smallest = min(smallest, points[i, widest])
    column[node], split[node, 0], split[node, 1] = widest, largest, smallest


@INLINE
def _write_leaf(points: Any, start: int, end: int, columns: Any) -> None:
    """Write the rows of a leaf as columns."""
    size, d = end - start, points.shape[1]
    for j in range(d):
        for i in range(size):
            columns[start * d + j * size + i] = points[start + i, j]


@JIT
def split_range(
    points: Any, order: Any, start: int, end: int, node: int, column: Any, split: Any
) -> None:
    """Split one node; see `build_subtree`."""
    _split_node(points, order, start, end, node, column, split)


@JIT
def build_subtree(
    points: Any,
    order: Any,
    start: int,
    end: int,
    node: int,
    n_inner: int,
    column: Any,
    split: Any,
    columns: Any,
    stack: Any,
) -> None:
    """Build the part of the tree below a node.

    Parameters
    ----------
    points, order : (n, d) rows and (n,) their numbers, which are permuted together
    start, end : range of the node
    node : its number
    n_inner : number of inner nodes; nodes from this number on are leaves
    column, split : (n_inner,) split columns, (n_inner, 2) largest and smallest values at the split
    columns : (n d,) rows of leaves as columns, a result
    stack : (64, 3) work space
    """
    stack[0, 0], stack[0, 1], stack[0, 2] = node, start, end
    top = 1
    while top:
        top -= 1
        node, start, end = stack[top, 0], stack[top, 1], stack[top, 2]
        if node >= n_inner:
            _write_leaf(points, start, end, columns)
            continue
        _split_node(points, order, start, end, node, column, split)
        middle = (start + end) // 2
        stack[top, 0], stack[top, 1], stack[top, 2] = 2 * node + 1, start, middle
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = 2 * node + 2, middle, end
        top += 2


@JIT
def locate_leaves(Q: Any, n_inner: int, column: Any, split: Any, leaf: Any) -> None:
    """Number of the leaf that each query falls into."""
    for i in range(Q.shape[0]):
        node = 0
        while node < n_inner:
            v = Q[i, column[node]]
            right = v - split[node, 0] > split[node, 1] - v
            node = 2 * node + 1 + right
        leaf[i] = node


@INLINE
def _leaf_distances(q: Any, columns: Any, base: int, size: int, kind: int, distance: Any) -> None:
    """Distances of the rows of a leaf, each summed in the order of columns."""
    n = np.uint64(size)
    for i in range(n):
        distance[i] = 0.0
    for j in range(q.shape[0]):
        v = q[j]
        at = np.uint64(base + j * size)
        if kind == SQUARES:
            for i in range(n):
                difference = columns[at + i] - v
                distance[i] += difference * difference
        elif kind == ABSOLUTES:
            for i in range(n):
                distance[i] += abs(columns[at + i] - v)
        else:
            for i in range(n):
                difference = abs(columns[at + i] - v)
                distance[i] = max(distance[i], difference)


@INLINE
def _count_up_to(distance: Any, size: int, limit: float) -> Any:
    hits = np.uint32(0)
    for i in range(np.uint64(size)):
        hits += np.uint32(distance[i] <= limit)
    return hits


@INLINE
def _box_distance(offset: Any, kind: int) -> float:
    """Distance of the query to a box, from the distance in each column."""
    total = 0.0
    for j in range(offset.shape[0]):
        v = offset[j]
        if kind == SQUARES:
            total += v * v
        elif kind == ABSOLUTES:
            total += v
        elif v > total:
            total = v
    return total


@INLINE
def _descend(
    q: Any, top: int, limit: float, n_inner: int, column: Any, split: Any, kind: int, place: Any,
    bound: Any, offset: Any,
) -> int:  # fmt: skip
    """Go down from the top of the stack to a leaf, and leave the other children on the stack.

    The leaf comes to lie at the place that is returned; everything below it waits.
    """
    node, start, end = place[top, 0], place[top, 1], place[top, 2]
    d = q.shape[0]
    while node < n_inner:
        c = column[node]
        v, middle = q[c], (start + end) // 2
        below, above = v - split[node, 0], split[node, 1] - v
        right = below > above
        far = below if right else above  # distance to the half that is farther away
        # the far half takes the place of the node, the near one comes on top of it
        for j in range(d):
            offset[top + 1, j] = offset[top, j]
        near_bound = bound[top]
        offset[top, c] = max(far, offset[top, c])
        bound[top] = _box_distance(offset[top], kind)
        place[top, 0] = 2 * node + 2 - right
        place[top, 1] = start if right else middle
        place[top, 2] = middle if right else end
        node = 2 * node + 1 + right
        start, end = (middle, end) if right else (start, middle)
        if bound[top] <= limit:
            top += 1
        else:
            for j in range(d):
                offset[top, j] = offset[top + 1, j]
        bound[top] = near_bound
    place[top, 0], place[top, 1], place[top, 2] = node, start, end
    return top


@JIT
def search_tree(
    Q: Any, turn: Any, n_rows: int, n_inner: int, column: Any, split: Any, columns: Any, order: Any,
    kind: int, row_codes: Any, query_codes: Any, place: Any, bound: Any, offset: Any, distance: Any,
    distances: Any, rows: Any,
) -> None:  # fmt: skip
    """The k nearest rows of each query.

    Parameters
    ----------
    Q, turn : (m, d) float64 queries, and the order in which they are searched
    n_rows, n_inner, column, split, columns, order : the tree
    kind : SQUARES, ABSOLUTES or MAXIMUM
    row_codes, query_codes : rows of the same code as the query are left out; empty: none
    place, bound, offset, distance : work space
    distances, rows : (m, k) results, filled with infinity and NOBODY
    """
    k, d = distances.shape[1], Q.shape[1]
    for number in turn:
        q, best, row = Q[number], distances[number], rows[number]
        place[0, 0], place[0, 1], place[0, 2], bound[0] = 0, 0, n_rows, 0.0
        for j in range(d):
            offset[0, j] = 0.0
        top = np.int64(
            0
        )  # the constant 0 would be a type of its own, and `_descend` compiled twice
        while top >= 0:
            if bound[top] > best[0]:
                top -= 1
                continue
            top = _descend(q, top, best[0], n_inner, column, split, kind, place, bound, offset)
            start, end = place[top, 1], place[top, 2]
            size = end - start
            _leaf_distances(q, columns, start * d, size, kind, distance)
            if _count_up_to(distance, size, best[0]):
                for i in range(size):
                    if distance[i] <= best[0]:
                        r = order[start + i]
                        if query_codes.shape[0] == 0 or row_codes[r] != query_codes[number]:
                            push(best, row, k, distance[i], r)
            top -= 1
        sort_heap(best, row, k)


@JIT
def search_radius(
    Q: Any, turn: Any, n_rows: int, n_inner: int, column: Any, split: Any, columns: Any, order: Any,
    kind: int, row_codes: Any, query_codes: Any, place: Any, bound: Any, offset: Any, distance: Any,
    radius: float, starts: Any, distances: Any, rows: Any,
) -> None:  # fmt: skip
    """Count or list the rows within a radius of each query.

    Parameters
    ----------
    Q, turn, ..., distance : as in `search_tree`
    radius : largest distance, in the units of `kind`
    starts : (m + 1,) where the list of each query begins; numbers of rows if `rows` is empty
    distances, rows : all lists, results; empty: rows are only counted
    """
    d, counts = Q.shape[1], rows.shape[0] == 0
    for number in turn:
        q = Q[number]
        place[0, 0], place[0, 1], place[0, 2], bound[0] = 0, 0, n_rows, 0.0
        for j in range(d):
            offset[0, j] = 0.0
        top, found, at = np.int64(0), 0, starts[number]
        while top >= 0:
            if bound[top] > radius:
                top -= 1
                continue
            top = _descend(q, top, radius, n_inner, column, split, kind, place, bound, offset)
            start, end = place[top, 1], place[top, 2]
            _leaf_distances(q, columns, start * d, end - start, kind, distance)
            for i in range(end - start):
                if distance[i] <= radius:
                    r = order[start + i]
                    if query_codes.shape[0] > 0 and row_codes[r] == query_codes[number]:
                        continue
                    if not counts:
                        distances[at + found], rows[at + found] = distance[i], r
                    found += 1
            top -= 1
        if counts:
            starts[number] = found
