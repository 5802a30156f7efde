"""Compiled passes over a junction tree, row by row: only cells that agree with the row are visited.

Cliques are numbered so that a parent comes before its children. `x` holds the number of the state
of each variable, negative where it is unknown.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class JunctionArrays(NamedTuple):
    """A junction tree in flat arrays.

    Attributes
    ----------
    sizes : states of each variable
    scope_start, scope, stride : variables of each clique and their steps in its table
    cell_start : where the cells of each clique begin
    parent : number of the parent clique, -1 for roots
    child_start, child : children of each clique
    up_map : for each cell its place in the separator above
    sep_start : where the separator above each clique begins
    down_start, down_map : for each clique, the place in its separator of each cell of its parent
    family_clique, family_map_start, family_map : for each variable a clique with its family, and
        for each cell of that clique its place in the table of the variable
    table_start : where the table of each variable begins, among all tables
    home : a small clique with each variable
    state_start : where the states of each variable begin, among all states
    """

    sizes: np.ndarray
    scope_start: np.ndarray
    scope: np.ndarray
    stride: np.ndarray
    cell_start: np.ndarray
    parent: np.ndarray
    child_start: np.ndarray
    child: np.ndarray
    up_map: np.ndarray
    sep_start: np.ndarray
    down_start: np.ndarray
    down_map: np.ndarray
    family_clique: np.ndarray
    family_map_start: np.ndarray
    family_map: np.ndarray
    table_start: np.ndarray
    home: np.ndarray
    state_start: np.ndarray


# Places of the arrays above: compiled functions get a plain tuple, whose type has no name that a
# cached compilation would have to find again.
(
    SIZES,
    SCOPE_START,
    SCOPE,
    STRIDE,
    CELL_START,
    PARENT,
    CHILD_START,
    CHILD,
    UP_MAP,
    SEP_START,
    DOWN_START,
    DOWN_MAP,
    FAMILY_CLIQUE,
    FAMILY_MAP_START,
    FAMILY_MAP,
    TABLE_START,
    HOME,
    STATE_START,
) = range(len(JunctionArrays._fields))


@njit(cache=True, nogil=True)
def _list_cells(tree, x, c, cells):
    """Cells of a clique that agree with x, ascending; their number is returned."""
    cells[0] = 0
    count = 1
    for at in range(tree[SCOPE_START][c + 1] - 1, tree[SCOPE_START][c] - 1, -1):
        v, step = tree[SCOPE][at], tree[STRIDE][at]
        if x[v] >= 0:
            for i in range(count):
                cells[i] += x[v] * step
        else:
            for state in range(1, tree[SIZES][v]):
                for i in range(count):
                    cells[state * count + i] = cells[i] + state * step
            count *= tree[SIZES][v]
    return count


@njit(cache=True, nogil=True)
def _pass_up(tree, potentials, x, largest, work, up, cells):
    """Messages toward the roots; log of the sum (or of the maximum) over all that agrees with x.

    Afterwards `work` holds each clique's table times the messages from below, `up` the messages.
    """
    score = 0.0
    for c in range(len(tree[PARENT]) - 1, -1, -1):
        first, sep, sep_end = tree[CELL_START][c], tree[SEP_START][c], tree[SEP_START][c + 1]
        for s in range(sep, sep_end):
            up[s] = 0.0
        count = _list_cells(tree, x, c, cells)
        total = 0.0
        for i in range(count):
            cell = cells[i]
            value = potentials[first + cell]
            for k in range(tree[CHILD_START][c], tree[CHILD_START][c + 1]):
                ch = tree[CHILD][k]
                value *= up[tree[SEP_START][ch] + tree[DOWN_MAP][tree[DOWN_START][ch] + cell]]
            work[first + cell] = value
            if largest:
                total = max(total, value)
            else:
                total += value
            if tree[PARENT][c] >= 0:
                s = sep + tree[UP_MAP][first + cell]
                if largest:
                    up[s] = max(up[s], value)
                else:
                    up[s] += value
        if not total > 0:
            return -np.inf
        score += np.log(total)
        for s in range(sep, sep_end):
            up[s] /= total
    return score


@njit(cache=True, nogil=True)
def _pass_down(tree, x, work, up, down, cells):
    """Messages toward the leaves: `work` becomes the distribution of each clique given x."""
    for c in range(len(tree[PARENT])):
        first = tree[CELL_START][c]
        count = _list_cells(tree, x, c, cells)
        total = 0.0
        for i in range(count):
            cell = first + cells[i]
            if tree[PARENT][c] >= 0:
                work[cell] *= down[tree[SEP_START][c] + tree[UP_MAP][cell]]
            total += work[cell]
        for i in range(count):
            work[first + cells[i]] /= total
        for k in range(tree[CHILD_START][c], tree[CHILD_START][c + 1]):
            ch = tree[CHILD][k]
            begin = tree[SEP_START][ch]
            for s in range(begin, tree[SEP_START][ch + 1]):
                down[s] = 0.0
            for i in range(count):
                s = begin + tree[DOWN_MAP][tree[DOWN_START][ch] + cells[i]]
                if up[s] > 0:
                    down[s] += work[first + cells[i]] / up[s]


@njit(cache=True, nogil=True)
def _pick_best(tree, x, work, cells):
    """Set the unknown states in x to the most probable ones together, from the roots down."""
    for c in range(len(tree[PARENT])):
        first = tree[CELL_START][c]
        count = _list_cells(tree, x, c, cells)
        best = cells[0]
        for i in range(1, count):
            if work[first + cells[i]] > work[first + best]:
                best = cells[i]
        for at in range(tree[SCOPE_START][c], tree[SCOPE_START][c + 1]):
            v = tree[SCOPE][at]
            x[v] = (best // tree[STRIDE][at]) % tree[SIZES][v]


@njit(cache=True, nogil=True)
def _scratch(tree):
    widest = 1
    for c in range(len(tree[PARENT])):
        widest = max(widest, tree[CELL_START][c + 1] - tree[CELL_START][c])
    cells = np.empty(widest, np.int64)
    work = np.zeros(tree[CELL_START][-1])
    return work, np.zeros(tree[SEP_START][-1]), np.zeros(tree[SEP_START][-1]), cells


@njit(cache=True, nogil=True)
def score_rows(tree, potentials, states):
    """Log of the probability of what each column of `states` knows."""
    n = states.shape[1]
    work, up, _, cells = _scratch(tree)
    scores = np.empty(n)
    x = np.empty(len(states), np.int64)
    for i in range(n):
        x[:] = states[:, i]
        scores[i] = _pass_up(tree, potentials, x, False, work, up, cells)
    return scores


@njit(cache=True, nogil=True)
def target_rows(tree, potentials, states, target):
    """Distribution of a variable, which the first clique holds, given each column of `states`.

    What is known of the variable itself is not looked at. NaN where the rest is impossible.
    """
    n = states.shape[1]
    work, up, _, cells = _scratch(tree)
    found = np.zeros((n, tree[SIZES][target]))
    x = np.empty(len(states), np.int64)
    step = 1
    for at in range(tree[SCOPE_START][0], tree[SCOPE_START][1]):
        if tree[SCOPE][at] == target:
            step = tree[STRIDE][at]
    for i in range(n):
        x[:] = states[:, i]
        x[target] = -1
        score = _pass_up(tree, potentials, x, False, work, up, cells)
        count = _list_cells(tree, x, 0, cells)
        total = 0.0
        for k in range(count):
            value = work[cells[k]]
            found[i, (cells[k] // step) % tree[SIZES][target]] += value
            total += value
        if score == -np.inf:
            found[i] = np.nan
        else:
            found[i] /= total
    return found


@njit(cache=True, nogil=True)
def marginal_rows(tree, potentials, states):
    """Distributions of all variables given each column of `states`, (n, states of all variables).

    NaN where what is known is impossible.
    """
    n = states.shape[1]
    work, up, down, cells = _scratch(tree)
    found = np.zeros((n, tree[STATE_START][-1]))
    x = np.empty(len(states), np.int64)
    for i in range(n):
        x[:] = states[:, i]
        if _pass_up(tree, potentials, x, False, work, up, cells) == -np.inf:
            found[i] = np.nan
            continue
        _pass_down(tree, x, work, up, down, cells)
        for v in range(len(tree[SIZES])):
            c = tree[HOME][v]
            step = 1
            for at in range(tree[SCOPE_START][c], tree[SCOPE_START][c + 1]):
                if tree[SCOPE][at] == v:
                    step = tree[STRIDE][at]
            count = _list_cells(tree, x, c, cells)
            for k in range(count):
                state = (cells[k] // step) % tree[SIZES][v]
                found[i, tree[STATE_START][v] + state] += work[tree[CELL_START][c] + cells[k]]
    return found


@njit(cache=True, nogil=True)
def best_rows(tree, potentials, states):
    """Columns of `states` with the unknown ones set to the most probable together, and their log.

    Columns that are impossible keep their gaps.
    """
    d, n = states.shape
    work, up, _, cells = _scratch(tree)
    filled = states.astype(np.int64)
    scores = np.empty(n)
    x = np.empty(d, np.int64)
    for i in range(n):
        x[:] = filled[:, i]
        scores[i] = _pass_up(tree, potentials, x, True, work, up, cells)
        if scores[i] > -np.inf:
            _pick_best(tree, x, work, cells)
            filled[:, i] = x
    return filled, scores


@njit(cache=True, nogil=True)
def expected_counts(tree, potentials, states, w):
    """Expected weights of all families given the columns of `states`, and their log-likelihood."""
    work, up, down, cells = _scratch(tree)
    counts = np.zeros(tree[TABLE_START][-1])
    likelihood = 0.0
    x = np.empty(len(states), np.int64)
    for i in range(states.shape[1]):
        if not w[i] > 0:
            continue
        x[:] = states[:, i]
        score = _pass_up(tree, potentials, x, False, work, up, cells)
        likelihood += w[i] * score
        if score == -np.inf:
            continue
        _pass_down(tree, x, work, up, down, cells)
        for v in range(len(tree[SIZES])):
            c = tree[FAMILY_CLIQUE][v]
            count = _list_cells(tree, x, c, cells)
            for k in range(count):
                cell = tree[TABLE_START][v] + tree[FAMILY_MAP][tree[FAMILY_MAP_START][v] + cells[k]]
                counts[cell] += w[i] * work[tree[CELL_START][c] + cells[k]]
    return counts, likelihood
