"""Search and construction of a proximity graph, compiled.

A candidate is one whole number, ``float32 bits of the squared distance << 32 | node << 1 | done``:
bits of numbers that are not negative ascend with them, so candidates are compared by distance and
then by node, and the last bit says that the edges of the node were followed. Everything that
threads write belongs to one node, and no thread reads what another writes in the same phase; so the
graph does not depend on their number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.prefetch import prefetch
from tenfold._compiled.squared_distance import squared_distance_float32
from tenfold._compiled.work_counter import claim_item
from tenfold.neighbors._heap_numba import INLINE, JIT

NODES_PER_ITEM = 16  # nodes that a thread claims at once
_STARTS = 4  # entry nodes at which a search begins
_LINE = 16  # float32 numbers in a cache line
_NONE = np.int64(0)  # a plain 0 would be a type of its own, for which functions are compiled again


class Graph(NamedTuple):
    """Nodes, their points and their edges."""

    points: np.ndarray  # flat (n, width) float32
    width: int
    edges: np.ndarray  # (n, capacity) int32
    degrees: np.ndarray  # (n,) int32
    entries: np.ndarray  # (E,) int32, where searches begin


class Workspace(NamedTuple):
    """What a thread needs for a search."""

    beam: np.ndarray  # (L + 1,) candidates, ascending
    pool: np.ndarray  # (P,) candidates whose edges were followed, or all that are to be pruned
    near: np.ndarray  # (capacity,) int32, neighbors that were not met before
    stamps: np.ndarray  # (n,) int32, number of the last search that met a node
    sizes: np.ndarray  # (3,) size of the beam, size of the pool, number of searches so far


class Proposals(NamedTuple):
    """Edges of the nodes of a batch, before they are part of the graph."""

    nodes: np.ndarray  # (m,) int32
    edges: np.ndarray  # (m, R) int32
    squares: np.ndarray  # (m, R) float32
    degrees: np.ndarray  # (m,) int32


def make_workspace(n: int, beam: int, capacity: int) -> Workspace:
    """A workspace for searches with a beam of this size."""
    return Workspace(
        np.empty(beam + 1, np.int64),
        np.empty(8 * beam + 2 * capacity, np.int64),
        np.empty(capacity, np.int32),
        np.zeros(n, np.int32),
        np.zeros(3, np.int64),
    )


@INLINE
def _candidate(square: Any, node: Any) -> Any:
    """The candidate with this squared distance."""
    return (np.int64(np.float32(square).view(np.int32)) << 32) | (np.int64(node) << 1)


@INLINE
def _node(candidate: Any) -> Any:
    return (candidate & 0xFFFFFFFF) >> 1


@INLINE
def _square(candidate: Any) -> Any:
    return np.int32(candidate >> 32).view(np.float32)


@INLINE
def _insert(beam: Any, size: int, limit: int, candidate: Any) -> int:
    """Put a candidate into the sorted beam of at most `limit`; its place, or `limit`."""
    if size == limit and candidate >= beam[size - 1]:
        return limit
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if beam[middle] < candidate:
            low = middle + 1
        else:
            high = middle
    for j in range(min(size, limit - 1), low, -1):
        beam[j] = beam[j - 1]
    beam[low] = candidate
    return low


@INLINE
def _enter(
    graph: Any, n_entries: int, queries: Any, at: int, limit: int, stamp: int, work: Any
) -> int:
    """Begin a search with the nearest entry nodes; how many."""
    size, width = _NONE, graph.width
    for e in range(n_entries):
        node = np.int64(graph.entries[e])
        square = squared_distance_float32(queries, at, graph.points, node * width, width)
        if _insert(work.beam, size, limit, _candidate(square, node)) < limit:
            size = min(size + 1, limit)
    for j in range(size):
        work.stamps[_node(work.beam[j])] = stamp
    return size  # pyright: ignore[reportReturnType]


@INLINE
def _prefetch_edges(graph: Any, candidate: Any) -> None:
    edges = graph.edges[_node(candidate)]
    for offset in range(0, len(edges), _LINE):
        prefetch(edges, offset)


@INLINE
def beam_search(graph: Any, n_entries: int, queries: Any, at: int, limit: int, work: Any) -> None:
    """Search the graph for the nodes nearest to a point, keeping the best `limit` in the beam.

    The edges of the nearest node that is not done are followed until all in the beam are done.
    """
    width, points = graph.width, graph.points
    work.sizes[2] += 1
    stamp = work.sizes[2]
    size = _enter(graph, n_entries, queries, at, min(_STARTS, limit), stamp, work)
    done, cursor = 0, 0
    while cursor < size:
        candidate = work.beam[cursor]
        work.beam[cursor] = candidate | 1
        if done < len(work.pool):
            work.pool[done] = candidate
            done += 1
        found, node = 0, _node(candidate)
        _prefetch_edges(graph, work.beam[min(cursor + 1, size - 1)])  # most likely the next
        for j in range(graph.degrees[node]):
            other = graph.edges[node, j]
            if work.stamps[other] != stamp:
                work.stamps[other] = stamp
                work.near[found] = other
                found += 1
                for offset in range(0, width, _LINE):
                    prefetch(points, np.int64(other) * width + offset)
        for j in range(found):
            other = np.int64(work.near[j])
            square = squared_distance_float32(queries, at, points, other * width, width)
            place = _insert(work.beam, size, limit, _candidate(square, other))
            if place < limit:
                size = min(size + 1, limit)
                cursor = min(cursor, place)
        while cursor < size and work.beam[cursor] & 1:
            cursor += 1
    work.sizes[0], work.sizes[1] = size, done


@INLINE
def _sort(pool: Any, size: int) -> None:
    """Sort candidates; they come almost sorted."""
    for j in range(1, size):
        candidate, at = pool[j], j
        while at > 0 and pool[at - 1] > candidate:
            pool[at] = pool[at - 1]
            at -= 1
        pool[at] = candidate


@INLINE
def _prune(
    points: Any, width: int, pool: Any, size: int, alpha: float, edges: Any, squares: Any, most: int
) -> int:
    """Choose edges among sorted candidates: none that an edge chosen before makes superfluous.

    A candidate c is dropped if a chosen node s has alpha^2 |s - c|^2 <= |p - c|^2. The number of
    edges, at most `most`.
    """
    chosen = 0
    for j in range(size):
        if chosen == most:
            break
        node, square = _node(pool[j]), _square(pool[j])
        keep = True
        for s in range(chosen):
            other = np.int64(edges[s])
            apart = squared_distance_float32(points, node * width, points, other * width, width)
            if alpha * alpha * apart <= square:
                keep = False
                break
        if keep:
            edges[chosen], squares[chosen] = node, square
            chosen += 1
    return chosen


@JIT
def propose_edges(
    counts: Any, graph: Any, n_entries: int, batch: Any, limit: int, alpha: float, work: Any
) -> None:
    """Edges of the nodes of a batch, from searches of the graph as it is before the batch."""
    m = len(batch.nodes)
    while True:
        first = claim_item(counts) * NODES_PER_ITEM
        if first >= m:
            return
        for b in range(first, min(first + NODES_PER_ITEM, m)):
            at = np.int64(batch.nodes[b]) * graph.width
            beam_search(graph, n_entries, graph.points, at, limit, work)
            _sort(work.pool, work.sizes[1])
            batch.degrees[b] = _prune(
                graph.points,
                graph.width,
                work.pool,
                work.sizes[1],
                alpha,
                batch.edges[b],
                batch.squares[b],
                batch.edges.shape[1],
            )


@JIT
def link_batch(
    graph: Any, squares: Any, batch: Any, heads: Any, following: Any, targets: Any
) -> int:
    """Add the nodes of a batch with their edges, and list the reversed edges by target.

    `heads` (n,), all -1, gets the first edge of each target, `following` (m R,) the next one, in
    the order of the batch. The number of targets.
    """
    m, most = batch.edges.shape
    n_targets = 0
    for b in range(m - 1, -1, -1):
        node = batch.nodes[b]
        graph.degrees[node] = batch.degrees[b]
        for j in range(batch.degrees[b] - 1, -1, -1):
            target = batch.edges[b, j]
            graph.edges[node, j], squares[node, j] = target, batch.squares[b, j]
            if heads[target] < 0:
                targets[n_targets] = target
                n_targets += 1
            following[b * most + j] = heads[target]
            heads[target] = b * most + j
    return n_targets


@JIT
def reverse_edges(
    counts: Any,
    graph: Any,
    squares: Any,
    batch: Any,
    heads: Any,
    following: Any,
    targets: Any,
    most: int,
    alpha: float,
    work: Any,
) -> None:
    """Add the reversed edges to their targets; those with too many are pruned to `most`."""
    n_targets, R = len(targets), batch.edges.shape[1]
    capacity = graph.edges.shape[1]
    while True:
        first = claim_item(counts) * NODES_PER_ITEM
        if first >= n_targets:
            return
        for place in range(first, min(first + NODES_PER_ITEM, n_targets)):
            target = np.int64(targets[place])
            degree, edge, size = np.int64(graph.degrees[target]), heads[target], _NONE
            heads[target] = -1
            while edge >= 0:
                b, j = edge // R, edge % R
                if degree < capacity:
                    graph.edges[target, degree] = batch.nodes[b]
                    squares[target, degree] = batch.squares[b, j]
                    degree += 1
                elif size < len(work.pool) - capacity:
                    work.pool[size] = _candidate(batch.squares[b, j], batch.nodes[b])
                    size += 1
                edge = following[edge]
            if size > 0:
                degree = _prune_node(graph, squares, target, degree, size, most, alpha, work)
            graph.degrees[target] = degree


@INLINE
def _prune_node(
    graph: Any, squares: Any, node: Any, degree: int, size: int, most: int, alpha: float, work: Any
) -> int:
    """Prune the edges of a node and `size` candidates in the pool; the number of edges left."""
    for j in range(degree):
        work.pool[size] = _candidate(squares[node, j], graph.edges[node, j])
        size += 1
    _sort(work.pool, size)
    return _prune(
        graph.points, graph.width, work.pool, size, alpha, graph.edges[node], squares[node], most
    )


@JIT
def prune_all(counts: Any, graph: Any, squares: Any, most: int, alpha: float, work: Any) -> None:
    """Prune every node to at most `most` edges, the nearest first."""
    n = len(graph.degrees)
    while True:
        first = claim_item(counts) * NODES_PER_ITEM
        if first >= n:
            return
        for node in range(first, min(first + NODES_PER_ITEM, n)):
            degree = np.int64(graph.degrees[node])
            if degree > most:
                graph.degrees[node] = _prune_node(
                    graph, squares, node, degree, _NONE, most, alpha, work
                )


@JIT
def search_graph(
    graph: Any,
    Q: Any,
    points: Any,
    excluded: Any,
    rows: Any,
    scale: float,
    limit: int,
    work: Any,
    order: Any,
    values: Any,
    distances: Any,
    numbers: Any,
) -> None:
    """The k nearest rows of the beam of each query, measured in float64.

    `Q` are the queries in float64, `points` the same as the graph has its points, `scale` times as
    large. A query whose beam holds too few rows is compared with all rows.
    """
    k = distances.shape[1]
    for i in range(len(Q)):
        beam_search(graph, len(graph.entries), points, i * graph.width, limit, work)
        found, blur = _NONE, _blur(points, i * graph.width, graph.width)
        for j in range(work.sizes[0]):
            node, near = _node(work.beam[j]), np.sqrt(np.float64(_square(work.beam[j])))
            if found >= k and near * 0.9999 - blur > scale * np.sqrt(values[k - 1]):
                break
            if node != excluded[i]:
                found = _add_row(Q, i, rows, node, order, values, found, limit)
        if found < k:
            found = _NONE
            for node in range(len(rows)):
                if node != excluded[i]:
                    found = _add_row(Q, i, rows, node, order, values, found, k)
        for j in range(k):
            distances[i, j], numbers[i, j] = np.sqrt(values[j]), order[j]


@INLINE
def _blur(points: Any, at: int, width: int) -> float:
    """Bound on the change of distances by rounding of coordinates, those of nodes at most 1."""
    largest = 1.0
    for j in range(width):
        largest = max(largest, abs(np.float64(points[at + j])))
    return largest * np.sqrt(np.float64(width)) * 2.0**-22


@INLINE
def _add_row(
    Q: Any, i: int, rows: Any, node: int, order: Any, values: Any, size: int, limit: int
) -> int:
    """Put a row into the list of the nearest, by distance and number; the new size."""
    total = 0.0
    for t in range(Q.shape[1]):
        difference = Q[i, t] - np.float64(rows[node, t])
        total += difference * difference
    at = size
    while at > 0 and (values[at - 1] > total or (values[at - 1] == total and order[at - 1] > node)):
        if at < limit:
            values[at], order[at] = values[at - 1], order[at - 1]
        at -= 1
    if at < limit:
        values[at], order[at] = total, node
    return min(size + 1, limit)
