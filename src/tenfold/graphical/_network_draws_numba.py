"""Compiled draws from a Bayesian network, parents before children."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def draw_rows(uniform, cumulated, table_start, sizes, parents, parent_start, strides):
    """States of all variables in each row of uniform numbers, (variables, rows).

    `cumulated` holds the tables of the variables, summed up along their last axis, one after the
    other; strides lead from the states of the parents to a row of the table.
    """
    n, d = uniform.shape
    states = np.empty((d, n), np.int16)
    for v in range(d):
        size = sizes[v]
        for i in range(n):
            at = table_start[v]
            for k in range(parent_start[v], parent_start[v + 1]):
                at += states[parents[k], i] * strides[k]
            limit = uniform[i, v] * cumulated[at + size - 1]
            state = 0
            while state < size - 1 and cumulated[at + state] <= limit:
                state += 1
            states[v, i] = state
    return states
