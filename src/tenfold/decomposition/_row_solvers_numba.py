"""Compiled solvers of many small quadratic problems that share one matrix.

Each row of V minimizes ``1/2 v'Gv - c'v + l1 |v|_1 + l2/2 |v|^2`` for its own row c of C, where G
is a Gram matrix: the codes of rows for a dictionary D have G = DD' and C = XD', the columns of a
dictionary for codes Z have G = Z'Z and C = X'Z. The gradient is kept beside v, so that a step along
one coordinate costs one row of G, and a coordinate that stays costs nothing.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.decomposition._growing_cholesky_numba import (
    append_atom,
    remove_atom,
    solve_chosen,
    subtract_products,
)

_ROUNDING = 1e-15  # of the largest gradient: what is smaller is zero


@njit(cache=True, nogil=True, error_model="numpy")
def descend_rows(V, C, G, l1, l2, positive, max_sweeps, ratio, tol):
    """Coordinate descent on each row of V, in place, from where it stands.

    A row ends when a sweep violates the conditions of a minimum by no more than `ratio` times its
    first sweep, or by `tol` in all. Returns the violation of the first sweeps, over all rows, and
    the number of rows that `max_sweeps` ended.
    """
    n, k = V.shape
    g, v = np.empty(k), np.empty(k)
    total, ended = 0.0, 0
    for i in range(n):
        for t in range(k):
            v[t] = V[i, t]
            g[t] = C[i, t]
        for t in range(k):
            if v[t] != 0.0:
                value = v[t]
                for r in range(k):
                    g[r] -= value * G[t, r]
        first = 0.0
        for sweep in range(max_sweeps):
            violation = _sweep(v, g, G, l1, l2, positive)
            if sweep == 0:
                first = violation
            if violation <= tol or (sweep > 0 and violation <= ratio * first):
                break
            if sweep == max_sweeps - 1:
                ended += 1
        total += first
        for t in range(k):
            V[i, t] = v[t]
    return total, ended


@njit(cache=True, nogil=True, error_model="numpy")
def descend_own_rows(V, C, G, l1, l2, max_sweeps, ratio, tol):
    """The same with a matrix for each row, G[i] its upper triangle row by row; V >= 0."""
    n, k = V.shape
    g, v, Q = np.empty(k), np.empty(k), np.empty((k, k))
    total = 0.0
    for i in range(n):
        at = 0
        for t in range(k):
            for r in range(t, k):
                Q[t, r] = Q[r, t] = G[i, at]
                at += 1
        for t in range(k):
            v[t] = V[i, t]
            g[t] = C[i, t]
        for t in range(k):
            for r in range(k):
                g[r] -= v[t] * Q[t, r]
        first = 0.0
        for sweep in range(max_sweeps):
            violation = _sweep(v, g, Q, l1, l2, True)
            if sweep == 0:
                first = violation
            if violation <= tol or (sweep > 0 and violation <= ratio * first):
                break
        total += first
        for t in range(k):
            V[i, t] = v[t]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(v, g, G, l1, l2, positive):
    """A step along every coordinate; returns the sum of the violations that the steps removed."""
    violation = 0.0
    for t in range(len(v)):
        curvature = G[t, t] + l2
        old = v[t]
        if (
            curvature <= 0.0
        ):  # no part of the objective: it stays, for the other factor may revive it
            continue
        rho = g[t] + G[t, t] * old
        if rho > l1:
            new = (rho - l1) / curvature
        elif rho < -l1 and not positive:
            new = (rho + l1) / curvature
        else:
            new = 0.0
        change = new - old
        if change != 0.0:
            violation += abs(change) * curvature
            v[t] = new
            for r in range(len(v)):
                g[r] -= change * G[t, r]
    return violation


@njit(cache=True, nogil=True, error_model="numpy")
def solve_nonnegative_rows(V, C, G, l1, l2):
    """Exact non-negative minimum of each row, by the active-set method of Lawson and Hanson.

    Starts with the positive coordinates of V. The Cholesky factor of the positive coordinates
    grows and shrinks with them.
    """
    n, k = V.shape
    L, U, free = np.empty((k, k)), np.empty((k, k)), np.empty(k, np.int64)
    x, solution, slope = np.empty(k), np.empty(k), np.empty(k)
    closed = np.empty(k, np.bool_)  # free, or dependent on the free coordinates
    for i in range(n):
        m, largest = np.int64(0), 0.0
        for t in range(k):
            slope[t], closed[t] = C[i, t] - l1, False
            largest = max(largest, abs(C[i, t]))
            if V[i, t] > 0.0 and append_atom(L, U, G, l2, free, m, t):
                x[m], closed[t] = V[i, t], True
                m += 1
        m = _settle(x, m, C[i], l1, L, U, free, solution, closed)
        for _ in range(10 * k + 10):
            for t in range(k):
                slope[t] = C[i, t] - l1
            subtract_products(slope, x, G, free, m)
            entering, steepest = np.int64(-1), _ROUNDING * k * (largest + l1)
            for t in range(k):
                if slope[t] > steepest and not closed[t]:
                    steepest, entering = slope[t], t
            if entering < 0:
                break
            closed[entering] = True
            if append_atom(L, U, G, l2, free, m, entering):
                x[m] = 0.0
                m = _settle(x, m + 1, C[i], l1, L, U, free, solution, closed)
        for t in range(k):
            V[i, t] = 0.0
        for a in range(m):
            V[i, free[a]] = x[a]


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(x, m, c, l1, L, U, free, solution, closed):
    """Minimum over m free coordinates; those that would turn negative leave, one by one."""
    while m > 0:
        for a in range(m):
            solution[a] = c[free[a]] - l1
        solve_chosen(L, U, m, solution)
        step, blocking = 1.0, np.int64(-1)
        for a in range(m):
            if solution[a] <= 0.0:
                share = x[a] / (x[a] - solution[a]) if x[a] > solution[a] else 0.0
                if share < step or blocking < 0:
                    step, blocking = min(share, step), a
        for a in range(m):
            x[a] += step * (solution[a] - x[a])
        if blocking < 0:
            return m
        remove_atom(L, U, free, x, m, blocking)
        m -= 1
        for t in range(len(closed)):
            closed[t] = False
        for a in range(m):
            closed[free[a]] = True
    return m
