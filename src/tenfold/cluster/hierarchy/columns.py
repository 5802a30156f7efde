"""Clusters as columns of coordinates: distances to a point, and the room that joined ones leave."""

from __future__ import annotations

from numba import njit

from tenfold.cluster.hierarchy.chain import kept_slots

BLOCK = 128  # rows whose distances are found at once


@njit(cache=True, nogil=True)
def squares_from(columns, point, start, m, out):  # noqa: ANN001, ANN201  (p, n), (p,) -> (m,)
    """Write squared distances of the rows from `start` to m to a point, some rows at a time."""
    p = len(columns)
    for first in range(start, m, BLOCK):
        end = min(first + BLOCK, m)
        part = out[first:end]
        part[:] = 0.0
        for d in range(0, p - 1, 2):  # two columns at once: half the traffic
            a, b, x, y = columns[d, first:end], columns[d + 1, first:end], point[d], point[d + 1]
            for i in range(len(part)):
                part[i] += (a[i] - x) * (a[i] - x) + (b[i] - y) * (b[i] - y)
        if p % 2:
            a, x = columns[p - 1, first:end], point[p - 1]
            for i in range(len(part)):
                part[i] += (a[i] - x) * (a[i] - x)


@njit(cache=True, nogil=True)
def compact(columns, name, size, m):  # noqa: ANN001, ANN201  (p, n), (n,), (n,) -> (alive,), (m,)
    """Move the clusters in use to the front; which these were, and where each slot has gone."""
    kept, place = kept_slots(size, m)
    alive = len(kept)
    for d in range(len(columns)):
        column = columns[d]
        for i in range(alive):  # whole arrays at once would take seconds to compile
            column[i] = column[kept[i]]
    for i in range(alive):
        name[i], size[i] = name[kept[i]], size[kept[i]]
    return kept, place
