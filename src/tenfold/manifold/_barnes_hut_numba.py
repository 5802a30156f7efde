"""Repulsion of t-SNE by a tree of cells: far cells stand for their points (Barnes and Hut 1986)."""

from __future__ import annotations

import numpy as np
from numba import njit

_MAX_DEPTH = 40  # points in a cell of this depth are taken as one place
_STACK = 4096


def build_tree(Y: np.ndarray) -> tuple[np.ndarray, ...]:
    """Cells of a tree over points (n, k): centers, counts, squared widths, and what comes next.

    Cells stand in the order of a visit, children after their parent; `after[c]` is the cell that
    comes when the children of c are left out. A leaf has the width 0. Points are inserted in their
    order.
    """
    n, k = Y.shape
    size = 4 * n + 8
    while True:
        children = np.full((size, 1 << k), -1, np.int64)
        sums, middle = np.zeros((size, k)), np.zeros((size, k))
        counts, widths = np.zeros(size), np.zeros(size)
        owner, depth = np.full(size, -1, np.int64), np.zeros(size, np.int64)
        low, high = Y.min(axis=0), Y.max(axis=0)
        middle[0] = 0.5 * (low + high)
        widths[0] = max(float((high - low).max()), 1e-300) * 1.00001
        used = _insert_points(Y, children, sums, middle, counts, widths, owner, depth)
        if used >= 0:
            return _order_cells(children[:used], sums, counts, widths)
        size *= 2


@njit(cache=True, nogil=True, error_model="numpy")
def _insert_points(Y, children, sums, middle, counts, widths, owner, depth):
    """Insert all points; the number of cells, or -1 if there is no room for them."""
    n, k = Y.shape
    used = 1
    for i in range(n):
        cell = 0
        while True:
            counts[cell] += 1.0
            for d in range(k):
                sums[cell, d] += Y[i, d]
            if counts[cell] == 1.0:
                owner[cell] = i
                break
            if depth[cell] >= _MAX_DEPTH:
                break
            if used + 2 >= len(counts):
                return -1
            old = owner[cell]
            if old >= 0:  # a leaf becomes a cell of two points
                owner[cell] = -1
                used = _enter(Y, old, cell, used, children, middle, widths, depth)
                child = used - 1
                counts[child], owner[child] = 1.0, old
                for d in range(k):
                    sums[child, d] = Y[old, d]
            before = used
            used = _enter(Y, i, cell, used, children, middle, widths, depth)
            cell = used - 1 if used > before else _part(Y, i, cell, children, middle)
    return used


@njit(cache=True, nogil=True)
def _part(Y, i, cell, children, middle):
    """The part of a cell in which a point lies, -1 if it is not there yet."""
    at = 0
    for d in range(Y.shape[1]):
        at |= (1 << d) if Y[i, d] > middle[cell, d] else 0
    return children[cell, at]


@njit(cache=True, nogil=True)
def _enter(Y, i, cell, used, children, middle, widths, depth):
    """Make the part of a cell in which a point lies, unless it is there; the number of cells."""
    at, quarter = 0, 0.25 * widths[cell]
    for d in range(Y.shape[1]):
        above = Y[i, d] > middle[cell, d]
        at |= (1 << d) if above else 0
        middle[used, d] = middle[cell, d] + (quarter if above else -quarter)
    if children[cell, at] >= 0:
        return used
    children[cell, at] = used
    widths[used] = 0.5 * widths[cell]
    depth[used] = depth[cell] + 1
    return used + 1


@njit(cache=True, nogil=True, error_model="numpy")
def _order_cells(children, sums, counts, widths):
    """The cells in the order of a visit."""
    n_cells, k = len(children), sums.shape[1]
    centers, squares = np.empty((n_cells, k)), np.zeros(n_cells)
    numbers, after = np.empty(n_cells), np.empty(n_cells, np.int64)
    stack, place = np.empty(_STACK, np.int64), np.empty(_STACK, np.int64)
    done, top = 0, 1
    stack[0] = 0
    while top > 0:
        top -= 1
        cell = stack[top]
        if cell < 0:  # all below this place have been visited
            after[place[top]] = done
            continue
        for d in range(k):
            centers[done, d] = sums[cell, d] / counts[cell]
        numbers[done] = counts[cell]
        stack[top], place[top] = -1, done
        top += 1
        for c in range(children.shape[1] - 1, -1, -1):
            if children[cell, c] >= 0:
                squares[done] = widths[cell] * widths[cell]
                stack[top] = children[cell, c]
                top += 1
        done += 1
    return centers, numbers, squares, after


@njit(cache=True, nogil=True, error_model="numpy")
def repel_by_cells(Y, first, freedom, angle, tree, force, mass):
    """Repulsion of the points from `first` on; a cell counts as one if width / distance < angle."""
    centers, counts, squares, after = tree
    k, n_cells = Y.shape[1], len(counts)
    power, sharpness = 0.5 * (freedom + 1.0), angle * angle
    for row in range(len(mass)):
        i = first + row
        total = 0.0
        for d in range(k):
            force[d, row] = 0.0
        cell = 0
        while cell < n_cells:
            square = 0.0
            for d in range(k):
                gap = Y[i, d] - centers[cell, d]
                square += gap * gap
            if squares[cell] > 0.0 and squares[cell] >= sharpness * square:
                cell += 1
                continue
            u = 1.0 / (1.0 + square / freedom)
            q = counts[cell] * (u if freedom == 1.0 else u**power)
            total += q
            for d in range(k):
                force[d, row] += q * u * (Y[i, d] - centers[cell, d])
            cell = after[cell]
        mass[row] = total
