"""Compiled sparse codes of many rows on one Gram matrix: matching pursuit and least angles.

C holds the products of each row with the atoms, G those of the atoms with each other. The Cholesky
factor of the chosen atoms grows by a row with each atom.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_DEPENDENT = 1e-12  # of an atom's square: what is left of it beside the chosen ones


@njit(cache=True, nogil=True, error_model="numpy")
def _append_atom(L, G, chosen, m, atom):
    """Add a row to the Cholesky factor of the m chosen atoms; False if the atom depends on them."""
    rest = G[atom, atom]
    for a in range(m):
        value = G[atom, chosen[a]]
        for b in range(a):
            value -= L[a, b] * L[m, b]
        L[m, a] = value / L[a, a]
        rest -= L[m, a] * L[m, a]
    if rest <= _DEPENDENT * G[atom, atom]:
        return False
    L[m, m] = np.sqrt(rest)
    chosen[m] = atom
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_chosen(L, m, x):
    """Solve L L' x = x for the first m entries, in place."""
    for a in range(m):
        value = x[a]
        for b in range(a):
            value -= L[a, b] * x[b]
        x[a] = value / L[a, a]
    for a in range(m - 1, -1, -1):
        value = x[a]
        for b in range(a + 1, m):
            value -= L[b, a] * x[b]
        x[a] = value / L[a, a]


@njit(cache=True, nogil=True, error_model="numpy")
def orthogonal_matching_pursuit(C, G, n_nonzero, Z):  # noqa: C901
    """Codes with at most `n_nonzero` atoms: the atom most correlated with the residual, refitted.

    Z must be zeros. Ties go to the first atom.
    """
    n, k = C.shape
    limit = min(n_nonzero, k)
    L, chosen = np.empty((limit, limit)), np.empty(limit, np.int64)
    x, left, taken = np.empty(limit), np.empty(k), np.zeros(k, np.bool_)
    for i in range(n):
        m, first = 0, 0.0
        for t in range(k):
            left[t] = C[i, t]
            first = max(first, abs(left[t]))
        while m < limit:
            best, atom = 1e-14 * first, -1
            for t in range(k):
                if not taken[t] and abs(left[t]) > best:
                    best, atom = abs(left[t]), t
            if atom < 0 or not _append_atom(L, G, chosen, m, atom):
                break
            taken[atom] = True
            m += 1
            for a in range(m):
                x[a] = C[i, chosen[a]]
            _solve_chosen(L, m, x)
            for t in range(k):
                left[t] = C[i, t]
            for a in range(m):
                for t in range(k):
                    left[t] -= x[a] * G[chosen[a], t]
        for a in range(m):
            Z[i, chosen[a]] = x[a]
            taken[chosen[a]] = False


@njit(cache=True, nogil=True, error_model="numpy")
def least_angle_rows(C, G, alpha, lasso, positive, n_nonzero, max_steps, Z):  # noqa: C901, PLR0912
    """Codes on the path of least angles, at the penalty `alpha` or after `n_nonzero` atoms.

    With `lasso`, atoms whose coefficient reaches zero leave, so that the path is that of the lasso.
    Z must be zeros. Returns how many rows ended early, by `max_steps`.
    """
    n, k = C.shape
    size = min(k, max(n_nonzero, 1))
    L, chosen = np.empty((size + 1, size + 1)), np.empty(size + 1, np.int64)
    z, d, left, slope = np.empty(size + 1), np.empty(size + 1), np.empty(k), np.empty(k)
    inside, barred = np.zeros(k, np.bool_), np.zeros(k, np.bool_)
    unfinished = 0
    for i in range(n):
        for t in range(k):
            left[t] = C[i, t]
            inside[t] = barred[t] = False
        m, level, atom = 0, 0.0, -1
        for t in range(k):
            value = left[t] if positive else abs(left[t])
            if value > level:
                level, atom = value, t
        done = False
        for _ in range(max_steps):
            if level <= alpha or atom == -1:
                done = True
                break
            if atom >= 0:
                if m < size and _append_atom(L, G, chosen, m, atom):
                    z[m] = 0.0
                    inside[atom] = True
                    m += 1
                else:
                    barred[atom] = True
            if m == 0:
                done = True
                break
            _direction(L, m, left, chosen, d, G, slope, k)
            step, atom, drop = _next_event(
                left, slope, level, alpha, inside, barred, positive, lasso, z, d, m, k
            )
            for a in range(m):
                z[a] += step * d[a]
            for t in range(k):
                left[t] -= step * slope[t]
            level -= step
            if drop >= 0:
                inside[chosen[drop]] = False
                m = _remove_atom(L, G, chosen, z, m, drop)
            elif not lasso and m >= n_nonzero:
                done = True
                break
        if not done and level > alpha:
            unfinished += 1
        for a in range(m):
            Z[i, chosen[a]] = z[a]
    return unfinished


@njit(cache=True, nogil=True, error_model="numpy")
def _direction(L, m, left, chosen, d, G, slope, k):
    """Direction d in which all chosen correlations fall alike, and how fast the others move."""
    for a in range(m):
        d[a] = 1.0 if left[chosen[a]] >= 0.0 else -1.0
    _solve_chosen(L, m, d)
    for t in range(k):
        slope[t] = 0.0
    for a in range(m):
        for t in range(k):
            slope[t] += d[a] * G[chosen[a], t]


@njit(cache=True, nogil=True, error_model="numpy")
def _next_event(left, slope, level, alpha, inside, barred, positive, lasso, z, d, m, k):
    """Length of the step, the atom that joins (-1: the end, -2: none), the place that drops."""
    step, atom, drop = level - alpha, -1, -1
    for t in range(k):
        if inside[t] or barred[t]:
            continue
        if 1.0 - slope[t] > 1e-12:
            at = (level - left[t]) / (1.0 - slope[t])
            if at < step:
                step, atom = max(at, 0.0), t
        if not positive and 1.0 + slope[t] > 1e-12:
            at = (level + left[t]) / (1.0 + slope[t])
            if at < step:
                step, atom = max(at, 0.0), t
    if lasso:
        for a in range(m):
            if z[a] * d[a] < 0.0 and -z[a] / d[a] < step:
                step, atom, drop = -z[a] / d[a], -2, a
    return step, atom, drop


@njit(cache=True, nogil=True, error_model="numpy")
def _remove_atom(L, G, chosen, z, m, drop):
    """Take one atom out and factor those after it anew; returns how many are left."""
    for a in range(drop, m - 1):
        z[a] = z[a + 1]
        _append_atom(L, G, chosen, a, chosen[a + 1])
    return m - 1
