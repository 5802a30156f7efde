"""Compiled solvers of many small quadratic problems that share one matrix.

Each row of V minimizes ``1/2 v'Gv - c'v + l1 |v|_1 + l2/2 |v|^2`` for its own row c of C, where G
is a Gram matrix: the codes of rows for a dictionary D have G = DD' and C = XD', the columns of a
dictionary for codes Z have G = Z'Z and C = X'Z. The gradient is kept beside v, so that a step along
one coordinate costs one row of G, and a coordinate that stays costs nothing.
"""

from __future__ import annotations

import numpy as np
from numba import njit

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

    Starts with the positive coordinates of V. The matrix of the positive coordinates is factored
    anew at each step: there are few.
    """
    n, k = V.shape
    L, free = np.empty((k, k)), np.empty(k, np.int64)
    x, solution, inside = np.empty(k), np.empty(k), np.empty(k, np.bool_)
    for i in range(n):
        largest = 0.0
        for t in range(k):
            x[t] = V[i, t]
            inside[t] = x[t] > 0.0
            largest = max(largest, abs(C[i, t]))
        entering = -1
        for _ in range(10 * k + 10):
            _settle(x, inside, C[i], G, l1, l2, L, free, solution, entering)
            entering, steepest = -1, _ROUNDING * k * (largest + l1)
            for t in range(k):
                if not inside[t]:
                    slope = C[i, t] - l1
                    for r in range(k):
                        slope -= G[t, r] * x[r]
                    if slope > steepest:
                        steepest, entering = slope, t
            if entering < 0:
                break
            inside[entering] = True
        for t in range(k):
            V[i, t] = x[t]


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(x, inside, c, G, l1, l2, L, free, solution, entering):
    """Minimum over the positive coordinates; those that would turn negative leave, one by one."""
    k = len(x)
    while True:
        m = 0
        for t in range(k):
            if inside[t]:
                free[m] = t
                m += 1
        if not _solve_free(c, G, l1, l2, L, free, m, solution):
            drop = entering if entering >= 0 and inside[entering] else free[m - 1]
            x[drop], inside[drop] = 0.0, False
            continue
        step, blocking = 1.0, -1
        for a in range(m):
            t = free[a]
            if solution[a] <= 0.0:
                share = x[t] / (x[t] - solution[a]) if x[t] > solution[a] else 0.0
                if share < step or blocking < 0:
                    step, blocking = min(share, step), t
        for a in range(m):
            x[free[a]] += step * (solution[a] - x[free[a]])
        if blocking < 0:
            return
        x[blocking], inside[blocking] = 0.0, False


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_free(c, G, l1, l2, L, free, m, solution):
    """Solve (G + l2) s = c - l1 for the first m of `free` by Cholesky; False if singular."""
    for a in range(m):
        for b in range(a + 1):
            entry = G[free[a], free[b]] + (l2 if a == b else 0.0)
            scale = entry
            for r in range(b):
                entry -= L[a, r] * L[b, r]
            if a == b:
                if entry <= 1e-13 * scale or scale <= 0.0:
                    return False
                L[a, a] = np.sqrt(entry)
            else:
                L[a, b] = entry / L[b, b]
    for a in range(m):
        value = c[free[a]] - l1
        for r in range(a):
            value -= L[a, r] * solution[r]
        solution[a] = value / L[a, a]
    for a in range(m - 1, -1, -1):
        value = solution[a]
        for r in range(a + 1, m):
            value -= L[r, a] * solution[r]
        solution[a] = value / L[a, a]
    return True
