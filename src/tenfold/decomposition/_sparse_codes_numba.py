"""Compiled sparse codes of many rows on one Gram matrix: matching pursuit and least angles.

C holds the products of each row with the atoms, G those of the atoms with each other.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.decomposition._growing_cholesky_numba import (
    DEPENDENT,
    append_atom,
    remove_atom,
    solve_backward,
    solve_chosen,
    solve_forward,
    subtract_products,
)


@njit(cache=True, nogil=True, error_model="numpy")
def orthogonal_matching_pursuit(C, G, n_nonzero, Z):  # noqa: C901
    """Codes with at most `n_nonzero` atoms: the atom most correlated with the residual, refitted.

    Z must be zeros. Ties go to the first atom.
    """
    n, k = C.shape
    limit = min(n_nonzero, k)
    L, U, chosen = np.empty((limit, limit)), np.empty((limit, limit)), np.empty(limit, np.int64)
    x, left, taken = np.empty(limit), np.empty(k), np.zeros(k, np.bool_)
    for i in range(n):
        m, first = np.int64(0), 0.0
        for t in range(k):
            left[t] = C[i, t]
            first = max(first, abs(left[t]))
        while m < limit:
            best, atom = 1e-14 * first, np.int64(-1)
            for t in range(k):
                if abs(left[t]) > best and not taken[t]:
                    best, atom = abs(left[t]), t
            if atom < 0 or not append_atom(L, U, G, 0.0, chosen, m, atom):
                break
            taken[atom] = True
            m += 1
            for a in range(m):
                x[a] = C[i, chosen[a]]
            solve_chosen(L, U, m, x)
            if m < limit:
                for t in range(k):
                    left[t] = C[i, t]
                subtract_products(left, x, G, chosen, m)
        for a in range(m):
            Z[i, chosen[a]] = x[a]
            taken[chosen[a]] = False


@njit(cache=True, nogil=True, error_model="numpy")
def orthogonal_least_squares(C, G, n_nonzero, Z):  # noqa: C901
    """Codes with at most `n_nonzero` atoms: each time the one with which the error falls most.

    Row b of Q holds the products of the b-th direction with all atoms, directions being the parts
    of chosen atoms that are orthogonal to those before; `rest` the squared lengths that are left.
    Z must be zeros. Ties go to the first atom.
    """
    n, k = C.shape
    limit = min(n_nonzero, k)
    Q, chosen = np.empty((limit, k)), np.empty(limit, np.int64)
    x, left, rest, floor = np.empty(limit), np.empty(k), np.empty(k), np.empty(k)
    for t in range(k):
        floor[t] = DEPENDENT * G[t, t]
    for i in range(n):
        m, first = np.int64(0), 0.0
        for t in range(k):
            left[t], rest[t] = C[i, t], G[t, t]
            first = max(first, abs(left[t]))
        while m < limit:
            atom = _largest_fall(left, rest, floor, 1e-14 * first)
            if atom < 0:
                break
            chosen[m], length = atom, np.sqrt(rest[atom])
            q = Q[m]
            for t in range(k):
                q[t] = G[atom, t]
            for b in range(m):
                share = Q[b, atom]
                for t in range(k):
                    q[t] -= share * Q[b, t]
            for t in range(k):
                q[t] /= length
            x[m] = left[atom] / length
            for t in range(k):
                left[t] -= x[m] * q[t]
                rest[t] -= q[t] * q[t]
            rest[atom] = 0.0
            m += 1
        for a in range(m - 1, -1, -1):
            for b in range(a + 1, m):
                x[a] -= Q[a, chosen[b]] * x[b]
            x[a] /= Q[a, chosen[a]]
            Z[i, chosen[a]] = x[a]


@njit(cache=True, nogil=True, error_model="numpy")
def _largest_fall(left, rest, floor, least):
    """The atom with the largest left^2 / rest, of those that do not depend on chosen ones."""
    best, atom = 0.0, np.int64(-1)
    for t in range(len(left)):
        if rest[t] > floor[t] and abs(left[t]) > least and left[t] * left[t] > best * rest[t]:
            best, atom = left[t] * left[t] / rest[t], np.int64(t)
    return atom


@njit(cache=True, nogil=True, error_model="numpy")
def least_angle_rows(C, G, alpha, lasso, positive, n_nonzero, max_steps, Z):  # noqa: C901, PLR0912
    """Codes on the path of least angles, at the penalty `alpha` or after `n_nonzero` atoms.

    With `lasso`, atoms whose coefficient reaches zero leave, so that the path is that of the lasso.
    Z must be zeros. Returns how many rows ended early, by `max_steps`.
    """
    n, k = C.shape
    size = min(k, max(n_nonzero, 1)) + 1
    L, U, chosen = np.empty((size, size)), np.empty((size, size)), np.empty(size, np.int64)
    z, d, y, left, rise = np.empty(size), np.empty(size), np.empty(size), np.empty(k), np.empty(k)
    closed, lengths = np.empty(k), np.empty(k)  # infinite for atoms that cannot join; step to each
    unfinished = 0
    for i in range(n):
        m, known, atom = np.int64(0), np.int64(0), np.int64(-1)  # y is solved for `known` atoms
        level = 0.0
        for t in range(k):
            left[t], closed[t] = C[i, t], 0.0
            value = left[t] if positive else abs(left[t])
            if value > level:
                level, atom = value, t
        done = False
        for _ in range(max_steps):
            if level <= alpha or atom == -1:
                done = True
                break
            if atom >= 0:
                closed[atom] = np.inf  # chosen, or dependent on the chosen ones
                if m < size - 1 and append_atom(L, U, G, 0.0, chosen, m, atom):
                    z[m] = 0.0
                    m += 1
            if m == 0:
                break
            _direction(L, m, known, left, chosen, y, d, G, rise)
            known = m
            step, atom = _next_atom(left, rise, level, alpha, closed, positive, lengths)
            step, drop = _next_zero(z, d, m if lasso else 0, step)
            for a in range(m):
                z[a] += step * d[a]
            for t in range(k):
                left[t] += step * rise[t]
            level -= step
            if drop >= 0:
                remove_atom(L, U, chosen, z, m, drop)
                m, known, atom = m - 1, drop, -2
                _open_others(closed, chosen, m)
            elif not lasso and m >= n_nonzero:
                done = True
                break
        if not done and level > alpha:
            unfinished += 1
        for a in range(m):
            Z[i, chosen[a]] = z[a]
    return unfinished


@njit(cache=True, nogil=True, error_model="numpy")
def _direction(L, m, known, left, chosen, y, d, G, rise):
    """Direction d in which all chosen correlations fall alike, and how fast all of them rise."""
    for a in range(known, m):
        y[a] = 1.0 if left[chosen[a]] >= 0.0 else -1.0
    solve_forward(L, m, y, known)
    for a in range(m):
        d[a] = y[a]
    solve_backward(L, m, d)
    for t in range(len(rise)):
        rise[t] = 0.0
    subtract_products(rise, d, G, chosen, m)


@njit(cache=True, nogil=True, error_model="numpy")
def _next_atom(left, rise, level, alpha, closed, positive, lengths):
    """Length of the step, and the atom that joins after it (-1: the end of the path)."""
    for t in range(len(left)):
        speed = 1.0 + rise[t]
        length = (level - left[t]) / speed
        lengths[t] = closed[t] + (length if speed > 1e-12 else np.inf)
    if not positive:
        for t in range(len(left)):
            speed = 1.0 - rise[t]
            length = (level + left[t]) / speed
            lengths[t] = min(lengths[t], closed[t] + (length if speed > 1e-12 else np.inf))
    step, atom = level - alpha, -1
    for t in range(len(left)):
        if lengths[t] < step:
            step, atom = max(lengths[t], 0.0), t
    return step, atom


@njit(cache=True, nogil=True, error_model="numpy")
def _next_zero(z, d, m, step):
    """Length of the step, and the place of the coefficient that is zero after it (-1: none)."""
    drop = -1
    for a in range(m):
        if z[a] * d[a] < 0.0 and -z[a] / d[a] < step:
            step, drop = -z[a] / d[a], a
    return step, drop


@njit(cache=True, nogil=True, error_model="numpy")
def _open_others(closed, chosen, m):
    """Let all but the m chosen atoms join: what depended on the atom that left may do so now."""
    for t in range(len(closed)):
        closed[t] = 0.0
    for a in range(m):
        closed[chosen[a]] = np.inf
