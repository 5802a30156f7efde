"""Compiled loops over many small sets of rows: pairs within a set, and one row given the others.

Values of the pairs of a set of s rows lie in one line, row a with the rows b < a at
``a (a - 1) / 2 + b``; the last row of a set is the one that is conditioned on the others. Inner
loops run along memory and have no sums in them, so that they are compiled to vector instructions
without another order of additions. Work space is given and arrays are filled by loops: allocations
and assignments of arrays take longer to compile than all the rest.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS


@njit(**ENTRY_OPTIONS)
def pair_squares(columns, out):
    """Squared distances of all pairs of each set; `columns` is (sets, n_features, rows)."""
    for i in range(len(columns)):
        line = out[i]
        for e in range(line.shape[0]):
            line[e] = 0.0
        for d in range(columns.shape[1]):
            x, first = columns[i, d], 0
            for a in range(1, x.shape[0]):
                for b in range(a):
                    gap = x[a] - x[b]
                    line[first + b] += gap * gap
                first += a


@njit(**ENTRY_OPTIONS)
def pair_products(columns, out):
    """Products of all pairs of each set."""
    for i in range(len(columns)):
        line = out[i]
        for e in range(line.shape[0]):
            line[e] = 0.0
        for d in range(columns.shape[1]):
            x, first = columns[i, d], 0
            for a in range(1, x.shape[0]):
                for b in range(a):
                    line[first + b] += x[a] * x[b]
                first += a


@njit(cache=True, nogil=True)
def square_sums(columns, weights):
    """Weighted sums over all pairs of the squared differences of each column."""
    _, p, s = columns.shape
    sums = np.zeros((p, s))
    for i in range(len(columns)):
        line = weights[i]
        for d in range(p):
            x, total, first = columns[i, d], sums[d], 0
            for a in range(1, s):
                for b in range(a):
                    gap = x[a] - x[b]
                    total[b] += line[first + b] * (gap * gap)
                first += a
    return sums.sum(axis=1)


@njit(**ENTRY_OPTIONS)
def condition_sets(
    pairs, diagonal, Y, counts, least, mean, variance, G, G_diagonal, U, Q, inverse, w, u
):
    """Mean and variance of the last row of each set given the first `counts` of the others.

    `pairs`, `diagonal` : covariances; `Y` : (sets, rows, k) targets. A row whose variance given
    those before it is at most `least` of its own is left out; the number of such rows is returned.
    `G`, `G_diagonal` (zeros; no sets: not wanted) become the derivatives of the log density of the
    last row by the covariances, pairs counted twice. `U`, `Q`, `inverse`, `w`, `u` : (s, s), (s, k)
    and (s,) work space.
    """
    n, s, k = Y.shape
    dropped = 0
    for i in range(n):
        m = counts[i]
        dropped += _factorize(pairs, diagonal, Y, i, m, least, U, inverse, Q)
        rest = diagonal[i, s - 1]
        for a in range(m):
            rest -= U[a, m] * U[a, m]
        variance[i] = rest
        for c in range(k):
            mean[i, c] = 0.0
            for a in range(m):
                mean[i, c] += U[a, m] * Q[a, c]
        if G.shape[0] == 0 or not rest > 0.0:
            continue
        misfit = 0.0
        for a in range(m):
            w[a], u[a] = U[a, m], 0.0
        for c in range(k):
            error = Y[i, s - 1, c] - mean[i, c]
            misfit += error * error
            for a in range(m):
                u[a] += error * Q[a, c]
        _solve_back(U, inverse, m, w)
        _solve_back(U, inverse, m, u)
        _weigh(w, u, m, k, misfit, rest, i, G, G_diagonal)
    return dropped


@njit(**INNER_OPTIONS)
def _fill(pairs, diagonal, Y, i, m, U, Q):
    """Covariances of the first m rows and of the last one with them into U, targets into Q."""
    s = diagonal.shape[1]
    last = (s - 1) * (s - 2) // 2
    for b in range(m):
        U[b, b] = diagonal[i, b]
        for a in range(b + 1, m):
            U[b, a] = pairs[i, a * (a - 1) // 2 + b]
        U[b, m] = pairs[i, last + b]
        for c in range(Q.shape[1]):
            Q[b, c] = Y[i, b, c]


@njit(**INNER_OPTIONS)
def _factorize(pairs, diagonal, Y, i, m, least, U, inverse, Q):
    """U with U'U the covariance of the first m rows, U^-T of column m and of the targets."""
    _fill(pairs, diagonal, Y, i, m, U, Q)
    dropped = 0
    for j in range(m):
        if U[j, j] <= least * diagonal[i, j]:
            dropped += 1
            inverse[j] = 0.0
        else:
            inverse[j] = 1.0 / np.sqrt(U[j, j])
        row = U[j]
        for a in range(j, m + 1):
            row[a] *= inverse[j]
        for c in range(Q.shape[1]):
            Q[j, c] *= inverse[j]
        for b in range(j + 1, m):
            factor, other = row[b], U[b]
            for a in range(b, m + 1):
                other[a] -= factor * row[a]
            for c in range(Q.shape[1]):
                Q[b, c] -= factor * Q[j, c]
    return dropped


@njit(**INNER_OPTIONS)
def _solve_back(U, inverse, m, v):
    """Solve U x = v for the first m rows, in place."""
    for a in range(m - 1, -1, -1):
        for b in range(a + 1, m):
            v[a] -= U[a, b] * v[b]
        v[a] *= inverse[a]


@njit(**INNER_OPTIONS)
def _weigh(w, u, m, k, misfit, variance, i, G, G_diagonal):
    """Derivatives of the log density by covariances; see `tenfold.gaussian_process._vecchia`."""
    s = G_diagonal.shape[1]
    by_variance = 0.5 * (misfit / variance - k) / variance
    first = 0
    for a in range(m):
        for b in range(a):
            by_pair = 2.0 * by_variance * w[a] * w[b]
            G[i, first + b] = by_pair - (u[a] * w[b] + u[b] * w[a]) / variance
        G_diagonal[i, a] = by_variance * w[a] * w[a] - u[a] * w[a] / variance
        first += a
    first = (s - 1) * (s - 2) // 2
    for b in range(m):
        G[i, first + b] = u[b] / variance - 2.0 * by_variance * w[b]
    G_diagonal[i, s - 1] = by_variance


@njit(**ENTRY_OPTIONS)
def farthest_first(columns, order, first, least, squares):
    """Row numbers into `order`: `first`, then each the farthest from those before; `columns`: X'.

    Returns the squared distance of the last one. `least` holds infinities, `squares` is work space.
    """
    p, n = columns.shape
    chosen, distance = first, np.inf
    for i in range(order.shape[0]):
        order[i] = chosen
        for j in range(n):
            squares[j] = 0.0
        for d in range(p):
            x, at = columns[d], columns[d, chosen]
            for j in range(n):
                squares[j] += (x[j] - at) * (x[j] - at)
        for j in range(n):
            least[j] = min(least[j], squares[j])
        least[chosen] = -1.0
        chosen, distance = 0, least[0]
        for j in range(1, n):
            if least[j] > distance:
                chosen, distance = j, least[j]
    return distance
