"""Sums over the rows of a node, and what is asked of these rows for each column, side by side."""

# ruff: noqa: ARG001 - the forms of an overload have the same arguments
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from tenfold.tree._cart_criterion_numba import (
    ENTROPY,
    LABEL_RULES,
    LABELS,
    MOMENT,
    NODE,
    TARGETS,
    WEIGHT,
    SquaredRules,
    add_row,
)
from tenfold.tree._compile_options import HOT_OVERLOAD, INNER


@njit(**INNER)
def _sum_classes(data, rules, rows, start, end, sums, held):
    """`sum_rows` for the classes of one output."""
    table = data.table
    for c in range(sums.shape[1]):
        sums[NODE, c] = 0
    weight, changes, label = np.int64(0), np.int64(0), table[rows[start], LABELS]
    for i in range(start, end):
        row = rows[i]
        w, c = table[row, WEIGHT], table[row, LABELS]
        held[0, i - start] = w
        held[1, i - start] = c
        weight += w
        changes |= c ^ label
    if changes == 0:
        sums[NODE, label] = weight
        return weight, np.int64(0), True
    for i in range(end - start):
        sums[NODE, held[1, i]] += held[0, i]
    return weight, np.int64(0), False


@njit(**INNER)
def _sum_labels(data, rules, rows, start, end, sums, held):
    """`_sum_classes` for `LABEL_RULES`."""
    labels, n = data.labels, end - start
    for c in range(sums.shape[1]):
        sums[NODE, c] = 0
    changes, first = np.uint32(0), labels[rows[start]] >> 16
    weight, second = np.uint32(0), np.uint32(0)
    for i in range(n):  # in four bytes each, so that many are looked at side by side
        label = labels[rows[start + i]]
        w, c = np.uint32(label & 0xFFFF), np.uint32(label >> 16)
        held[0, i] = w
        held[1, i] = c
        weight = np.uint32(weight + w)
        second = np.uint32(second + w * c)
        changes |= np.uint32(c ^ first)
    if changes == 0:
        sums[NODE, first] = weight
    elif sums.shape[1] == 2:
        sums[NODE, 0], sums[NODE, 1] = np.int64(weight) - np.int64(second), second
    else:
        for i in range(n):
            sums[NODE, held[1, i]] += held[0, i]
    return np.int64(weight), np.int64(0), changes == 0


@njit(**INNER)
def _sum_targets(data, rules, rows, start, end, sums, held):
    """`sum_rows` for one target."""
    table = data.table
    weight, moment, total = np.int64(0), np.int64(0), np.int64(0)
    changes, first = np.int64(0), table[rows[start], TARGETS + 1]
    for i in range(start, end):
        row = rows[i]
        w, target = table[row, WEIGHT], table[row, TARGETS]
        held[0, i - start] = w
        held[1, i - start] = target
        weight += w
        total += target
        moment += table[row, MOMENT]
        changes |= table[row, TARGETS + 1] ^ first
    sums[NODE, 0] = total
    return weight, moment, changes == 0


def _sum_outputs(data, rules, rows, start, end, sums, held):
    """`sum_rows` for any number of outputs."""
    table, is_class = data.table, rules.criterion <= ENTROPY
    if rules.n_outputs == 1 and is_class:
        return _sum_classes(data, rules, rows, start, end, sums, held)
    if rules.n_outputs == 1:
        return _sum_targets(data, rules, rows, start, end, sums, held)
    for c in range(sums.shape[1]):
        sums[NODE, c] = 0
    weight, moment, is_pure, first = np.int64(0), np.int64(0), True, rows[start]
    begin = LABELS if is_class else TARGETS + rules.n_outputs
    for i in range(start, end):
        row = rows[i]
        w = add_row(table, row, rules, sums, NODE)
        held[0, i - start] = w
        weight += w
        if not is_class:
            moment += table[row, MOMENT]
        for k in range(begin, begin + rules.n_outputs):
            is_pure = is_pure and table[row, k] == table[first, k]
    return weight, moment, is_pure


def sum_rows(data, rules, rows, start, end, sums, held) -> Any:
    """Sums of the rows of a node: (weight, moment, whether all targets are equal).

    Sets `held`, what is asked of the rows of one output for each column, side by side.
    """


@overload(sum_rows, jit_options=HOT_OVERLOAD)
def _overload_sum_rows(data, rules, rows, start, end, sums, held):
    if rules.instance_class in LABEL_RULES:
        return _sum_labels.py_func
    return _sum_targets.py_func if rules.instance_class is SquaredRules else _sum_outputs
