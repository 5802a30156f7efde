"""The best cut for absolute error: weighted medians of both children of every cut.

Rows enter a child one by one. A Fenwick tree over the ranks of the targets holds the weights and
the weighted targets of those that are in, so the median and the sum of the distances from it take
log(n) steps. All sums are whole numbers.

References
----------
P. M. Fenwick (1994), A new data structure for cumulative frequency tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.tree._cart_criterion_numba import TARGETS, WEIGHT, is_large_enough, keeps_order
from tenfold.tree._cart_sort_numba import key_code, key_row, make_key, sort_keys
from tenfold.tree._compile_options import INNER


class MedianScratch(NamedTuple):
    """Memory of the search: ranks and sorted targets of a node by output, Fenwick tree, losses."""

    ranks: np.ndarray  # (n_outputs, n) position of each row among the targets of the node
    levels: np.ndarray  # (n_outputs, n) targets of the node in ascending order
    fenwick: np.ndarray  # (2, n + 1) weights, weighted targets
    losses: np.ndarray  # (4, n) losses of left and right children, and their medians
    order: np.ndarray  # (n,) rows in the order of a column


@njit(**INNER)
def rank_targets(data, rules, rows, start, end, k, keys, counts, medians):
    """Sort the targets of output k: ranks and levels.

    Returns the weighted median and the weighted sum of distances from it, in units.
    """
    table, m, place = data.table, end - start, TARGETS + rules.n_outputs + k
    low, high = np.int64(1) << 32, np.int64(-1)
    for i in range(start, end):
        rank = table[rows[i], place]
        keys[0, i - start] = make_key(rank, rows[i])
        low, high = min(low, rank), max(high, rank)
    sort_keys(keys, m, low, high, counts)
    total = np.int64(0)
    for i in range(m):
        row = key_row(keys[0, i])
        medians.ranks[k, row] = i
        medians.levels[k, i] = table[row, TARGETS + k]
        total += table[row, WEIGHT]
    below, upper, lower = np.int64(0), m - 1, m - 1
    for i in range(m):
        below += table[key_row(keys[0, i]), WEIGHT]
        if 2 * below >= total:
            lower, upper = i, i + 1 if 2 * below == total else i
            break
    loss, median = np.int64(0), medians.levels[k, lower]
    for i in range(m):
        loss += table[key_row(keys[0, i]), WEIGHT] * abs(medians.levels[k, i] - median)
    return np.float64(median) / 2 + np.float64(medians.levels[k, upper]) / 2, np.float64(loss)


@njit(**INNER)
def _locate(tree, size, weight, strict):
    """First position whose cumulated weight, twice, reaches `weight` (exceeds it, if strict).

    Returns the position, counted from 0, and the sums of weights and targets before it.
    """
    step = 1
    while step * 2 <= size:
        step *= 2
    position, below, targets = 0, np.int64(0), np.int64(0)
    while step > 0:
        after = position + step
        if after <= size:
            doubled = 2 * (below + tree[0, after])
            if doubled < weight or (strict and doubled == weight):
                position = after
                below += tree[0, after]
                targets += tree[1, after]
        step //= 2
    return position, below, targets


@njit(**INNER)
def _sweep(data, rules, k, n, side, scratch):
    """Add the losses of the first 1, 2, ... rows in their order (side 0), or of the last (1)."""
    tree = scratch.fenwick
    for i in range(n + 1):
        tree[0, i] = 0
        tree[1, i] = 0
    weight, total = np.int64(0), np.int64(0)
    for step in range(n):
        i = n - 1 - step if side == 1 else step
        row = scratch.order[i]
        w = data.table[row, WEIGHT]
        wz = w * data.table[row, TARGETS + k]
        position = scratch.ranks[k, row] + 1
        while position <= n:
            tree[0, position] += w
            tree[1, position] += wz
            position += position & -position
        weight += w
        total += wz
        at, below, targets = _locate(tree, n, weight, False)
        median = scratch.levels[k, at]
        loss = median * below - targets + (total - targets) - median * (weight - below)
        scratch.losses[side, i] += np.float64(loss) * rules.units[k]
        if rules.has_monotone:
            above = _locate(tree, n, weight, True)[0]
            upper = scratch.levels[k, min(above, n - 1)]
            scratch.losses[2 + side, i] = np.float64(median) / 2 + np.float64(upper) / 2


@njit(**INNER)
def _sum_losses(data, rules, keys, m, n, missing_left, scratch):
    """Losses of both children of every cut; the number of missing values that come first."""
    offset = n - m if missing_left else 0
    for i in range(m):
        scratch.order[i + offset] = key_row(keys[0, i])
    for i in range(m, n):
        scratch.order[i - m if missing_left else i] = key_row(keys[0, i])
    for i in range(n):
        scratch.losses[0, i] = 0.0
        scratch.losses[1, i] = 0.0
    for k in range(rules.n_outputs):
        _sweep(data, rules, k, n, 0, scratch)
        _sweep(data, rules, k, n, 1, scratch)
    return offset


@njit(**INNER)
def scan_absolute(data, rules, keys, m, n, facts, sign, missing_left, scratch):
    """Best cut of sorted keys: (score, keys with a value on the left)."""
    order, losses = scratch.order, scratch.losses
    offset = _sum_losses(data, rules, keys, m, n, missing_left, scratch)
    best, cut, w_left = -np.inf, -1, np.int64(0)
    for i in range(offset):
        w_left += data.table[order[i], WEIGHT]
    last = m if m < n and not missing_left else m - 1
    for i in range(last):
        at = i + offset
        w_left += data.table[order[at], WEIGHT]
        if i + 1 < m and key_code(keys[0, i + 1]) == key_code(keys[0, i]):
            continue
        wl, wr = np.float64(w_left), np.float64(facts.weight - w_left)
        if not is_large_enough(rules, at + 1, n - at - 1, wl, wr):
            continue
        if rules.has_monotone and not keeps_order(
            sign, losses[2, at], losses[3, at + 1], facts.low, facts.high
        ):
            continue
        score = -(losses[0, at] + losses[1, at + 1])
        if score > best:
            best, cut = score, i + 1
    return best, cut
