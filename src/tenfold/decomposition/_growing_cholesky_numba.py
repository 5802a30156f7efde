"""A Cholesky factor of chosen rows and columns of a Gram matrix, to which atoms come and go.

The factor L and its transpose U stand beside each other, so that both triangular solves run along
contiguous rows. `chosen` holds the atoms in the order in which they came.
"""

from __future__ import annotations

import numpy as np
from numba import njit

DEPENDENT = 1e-12  # of an atom's square: what is left of it beside the chosen ones


@njit(cache=True, nogil=True, error_model="numpy")
def append_atom(L, U, G, ridge, chosen, m, atom):
    """Add a row for an atom to the factor of m atoms; False if the atom depends on them."""
    square = G[atom, atom] + ridge
    for a in range(m):
        L[m, a] = G[atom, chosen[a]]
    rest = square
    for a in range(m):
        value = L[m, a] / L[a, a]
        for b in range(a + 1, m):
            L[m, b] -= U[a, b] * value
        L[m, a] = value
        rest -= value * value
    if not rest > DEPENDENT * square:
        return False
    L[m, m] = U[m, m] = np.sqrt(rest)
    for a in range(m):
        U[a, m] = L[m, a]
    chosen[m] = atom
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def solve_forward(L, m, x, first):
    """Solve L x = x for the entries first:m, in place; those before are solved already."""
    for a in range(first, m):
        value = x[a]
        for b in range(a):
            value -= L[a, b] * x[b]
        x[a] = value / L[a, a]


@njit(cache=True, nogil=True, error_model="numpy")
def solve_backward(L, m, x):
    """Solve L' x = x for the first m entries, in place."""
    for a in range(m - 1, -1, -1):
        value = x[a] / L[a, a]
        x[a] = value
        for b in range(a):
            x[b] -= L[a, b] * value


@njit(cache=True, nogil=True, error_model="numpy")
def solve_chosen(L, U, m, x):
    """Solve L L' x = x for the first m entries, in place."""
    for a in range(m):
        value = x[a] / L[a, a]
        x[a] = value
        for b in range(a + 1, m):
            x[b] -= U[a, b] * value
    solve_backward(L, m, x)


@njit(cache=True, nogil=True, error_model="numpy")
def remove_atom(L, U, chosen, z, m, drop):
    """Take one of m atoms out, with its entry of z; rotations make U triangular again."""
    last = m - 1
    for a in range(m):
        for b in range(max(drop, a - 1), last):
            U[a, b] = U[a, b + 1]
    for j in range(drop, last):
        chosen[j], z[j] = chosen[j + 1], z[j + 1]
        above, below = U[j], U[j + 1]
        length = np.sqrt(above[j] * above[j] + below[j] * below[j])
        c, s = above[j] / length, below[j] / length
        for b in range(j, last):
            upper, lower = above[b], below[b]
            above[b] = c * upper + s * lower
            below[b] = c * lower - s * upper
        above[j] = length
    for b in range(drop, last):
        for a in range(b + 1):
            L[b, a] = U[a, b]


@njit(cache=True, nogil=True, error_model="numpy")
def subtract_products(left, x, G, chosen, m):
    """Subtract the rows of G of the m chosen atoms, times x, from `left`; four at a time."""
    k, a = len(left), 0
    while a + 4 <= m:
        x0, x1, x2, x3 = x[a], x[a + 1], x[a + 2], x[a + 3]
        g0, g1, g2, g3 = G[chosen[a]], G[chosen[a + 1]], G[chosen[a + 2]], G[chosen[a + 3]]
        for t in range(k):
            left[t] -= (x0 * g0[t] + x1 * g1[t]) + (x2 * g2[t] + x3 * g3[t])
        a += 4
    while a < m:
        x0, g0 = x[a], G[chosen[a]]
        for t in range(k):
            left[t] -= x0 * g0[t]
        a += 1
