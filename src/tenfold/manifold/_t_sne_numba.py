"""Compiled loops of t-SNE: perplexity, attraction of neighbors, repulsion of all pairs.

Sums of repulsion run over sources, for a block of targets at once, and are added up in float64
after every 256 sources: their order does not depend on compiler or threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_SOURCES = 256  # whose sum is held in float32
_MAX_SEARCH_STEPS = 200
_ENTROPY_TOLERANCE = 1e-10
_MAX_LINE_STEPS = 30
_MAX_PLACE_STEP = 1.0  # of a new point: far from all points the divergence is flat


@njit(cache=True, nogil=True, error_model="numpy")
def conditional_probabilities(squares, perplexity, P):
    """p_{j|i} proportional to exp(-beta_i squares_ij), with entropy log(perplexity) in each row.

    beta by bisection; an entry of infinity has probability 0.
    """
    n, k = squares.shape
    wanted = np.log(perplexity)
    for i in range(n):
        least = squares[i, 0]
        for j in range(k):
            least = min(least, squares[i, j])
        low, high, beta, total = 0.0, np.inf, 1.0, 1.0
        for _ in range(_MAX_SEARCH_STEPS):
            total, moment = 0.0, 0.0
            for j in range(k):
                gap = squares[i, j] - least
                p = np.exp(-gap * beta) if gap < np.inf else 0.0
                P[i, j] = p
                total += p
                moment += p * gap if p > 0.0 else 0.0
            excess = np.log(total) + beta * moment / total - wanted
            if abs(excess) <= _ENTROPY_TOLERANCE:
                break
            if excess > 0:
                low = beta
                beta = 2.0 * beta if high == np.inf else 0.5 * (low + high)
            else:
                high = beta
                beta = 0.5 * (low + high)
            if beta == 0.0 or beta > 1e300:  # all distances are equal, or nearly all are zero
                break
        for j in range(k):
            P[i, j] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def repel_in_plane(x, y, first, force, mass):
    """Repulsion in two dimensions with one degree of freedom: the usual case, in float32.

    force (2, m) and mass (m,) are those of the points from `first` on.
    """
    one, n, m = np.float32(1.0), len(x), len(mass)
    fx, fy, fz = np.empty(m, np.float32), np.empty(m, np.float32), np.empty(m, np.float32)
    tx, ty = x[first : first + m].copy(), y[first : first + m].copy()
    force[:] = 0.0
    mass[:] = 0.0
    for block in range(0, n, _SOURCES):
        fx[:], fy[:], fz[:] = np.float32(0), np.float32(0), np.float32(0)
        end = min(block + _SOURCES, n)
        i = block
        while i + 4 <= end:
            x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
            y0, y1, y2, y3 = y[i], y[i + 1], y[i + 2], y[i + 3]
            for j in range(m):
                a0, b0 = tx[j] - x0, ty[j] - y0
                a1, b1 = tx[j] - x1, ty[j] - y1
                a2, b2 = tx[j] - x2, ty[j] - y2
                a3, b3 = tx[j] - x3, ty[j] - y3
                q0 = one / (one + a0 * a0 + b0 * b0)
                q1 = one / (one + a1 * a1 + b1 * b1)
                q2 = one / (one + a2 * a2 + b2 * b2)
                q3 = one / (one + a3 * a3 + b3 * b3)
                fz[j] += (q0 + q1) + (q2 + q3)
                q0, q1, q2, q3 = q0 * q0, q1 * q1, q2 * q2, q3 * q3
                fx[j] += (q0 * a0 + q1 * a1) + (q2 * a2 + q3 * a3)
                fy[j] += (q0 * b0 + q1 * b1) + (q2 * b2 + q3 * b3)
            i += 4
        while i < end:
            x0, y0 = x[i], y[i]
            for j in range(m):
                a0, b0 = tx[j] - x0, ty[j] - y0
                q0 = one / (one + a0 * a0 + b0 * b0)
                fz[j] += q0
                q0 = q0 * q0
                fx[j] += q0 * a0
                fy[j] += q0 * b0
            i += 1
        for j in range(m):
            mass[j] += fz[j]
            force[0, j] += fx[j]
            force[1, j] += fy[j]


@njit(cache=True, nogil=True, error_model="numpy")
def repel(Y, first, freedom, force, mass):
    """Repulsion in any number of dimensions and degrees of freedom; Y are columns, (k, n)."""
    k, n = Y.shape
    m = len(mass)
    square, weight = np.empty(m), np.empty(m)
    power = 0.5 * (freedom + 1.0)
    force[:] = 0.0
    mass[:] = 0.0
    for i in range(n):
        square[:] = 0.0
        for d in range(k):
            y = np.float64(Y[d, i])
            for j in range(m):
                gap = Y[d, first + j] - y
                square[j] += gap * gap
        for j in range(m):
            u = 1.0 / (1.0 + square[j] / freedom)
            if freedom == 1.0:
                q = u
            elif freedom == 2.0:
                q = u * np.sqrt(u)
            else:
                q = u**power
            mass[j] += q
            weight[j] = q * u
        for d in range(k):
            y = np.float64(Y[d, i])
            for j in range(m):
                force[d, j] += weight[j] * (Y[d, first + j] - y)


@njit(cache=True, nogil=True, error_model="numpy")
def attract(P, columns, starts, Y, first, freedom, force):
    """force_i = sum_j p_ij u_ij (y_i - y_j) of rows of a CSR matrix; Y are rows, (n, k)."""
    k = Y.shape[1]
    for row in range(force.shape[1]):
        i = first + row
        for d in range(k):
            force[d, row] = 0.0
        for entry in range(starts[i], starts[i + 1]):
            j = columns[entry]
            square = np.float32(0.0)
            for d in range(k):
                gap = Y[i, d] - Y[j, d]
                square += gap * gap
            pull = P[entry] / (np.float32(1.0) + square / freedom)
            for d in range(k):
                force[d, row] += pull * (Y[i, d] - Y[j, d])


@njit(cache=True, nogil=True, error_model="numpy")
def attract_in_plane(P, columns, starts, Y, first, force):
    """The same in two dimensions with one degree of freedom."""
    one = np.float32(1.0)
    for row in range(force.shape[1]):
        i = first + row
        x, y = Y[i, 0], Y[i, 1]
        fx, fy = 0.0, 0.0
        for entry in range(starts[i], starts[i + 1]):
            j = columns[entry]
            a, b = x - Y[j, 0], y - Y[j, 1]
            pull = P[entry] / (one + a * a + b * b)
            fx += pull * a
            fy += pull * b
        force[0, row], force[1, row] = fx, fy


@njit(cache=True, nogil=True, error_model="numpy")
def log_similarity_sums(P, columns, starts, Y, first, freedom, sums):
    """sums_i = sum_j p_ij log(1 + |y_i - y_j|^2 / freedom) of rows of a CSR matrix."""
    for row in range(len(sums)):
        i = first + row
        total = 0.0
        for entry in range(starts[i], starts[i + 1]):
            j = columns[entry]
            square = 0.0
            for d in range(Y.shape[1]):
                gap = np.float64(Y[i, d]) - np.float64(Y[j, d])
                square += gap * gap
            total += P[entry] * np.log1p(square / freedom)
        sums[row] = total


@njit(cache=True, nogil=True, error_model="numpy")
def descend(gradient, rate, momentum, Y, step, gains):
    """A step of gradient descent with momentum and a gain of each coordinate; its squared norm.

    A gain grows by 0.2 while gradient and last step have opposite signs, else shrinks by a fifth.
    """
    norm = 0.0
    for i in range(Y.shape[0]):
        for d in range(Y.shape[1]):
            g = gradient[i, d]
            gain = gains[i, d] + 0.2 if step[i, d] * g < 0.0 else gains[i, d] * 0.8
            gain = max(gain, 0.01)
            gains[i, d] = gain
            g = g * gain
            norm += g * g
            step[i, d] = momentum * step[i, d] - rate * g
            Y[i, d] = np.float32(Y[i, d] + step[i, d])
    return norm


@njit(cache=True, nogil=True, error_model="numpy")
def _own_divergence(z, Y, P, columns, freedom, gradient):
    """Divergence of one point's neighbors, with its gradient; the curvature of its attraction."""
    n, k = Y.shape
    power = 0.5 * (freedom + 1.0)
    mass, value, stiffness = 0.0, 0.0, 0.0
    push = np.zeros(k)
    gradient[:] = 0.0
    for j in range(n):
        square = 0.0
        for d in range(k):
            square += (z[d] - Y[j, d]) ** 2
        u = 1.0 / (1.0 + square / freedom)
        q = u if freedom == 1.0 else u**power
        mass += q
        for d in range(k):
            push[d] += q * u * (z[d] - Y[j, d])
    for entry in range(len(columns)):
        j = columns[entry]
        square = 0.0
        for d in range(k):
            square += (z[d] - Y[j, d]) ** 2
        u = 1.0 / (1.0 + square / freedom)
        value += P[entry] * power * np.log1p(square / freedom)
        stiffness += P[entry] * u
        for d in range(k):
            gradient[d] += P[entry] * u * (z[d] - Y[j, d])
    for d in range(k):
        gradient[d] -= push[d] / mass
    return value + np.log(mass), stiffness


@njit(cache=True, nogil=True, error_model="numpy")
def place_among(P, columns, Y, freedom, max_iter, tol, Z):
    """Move each point of Z to a minimum of its own divergence from fixed points Y, (n, k)."""
    k = Y.shape[1]
    gradient, other, trial = np.empty(k), np.empty(k), np.empty(k)
    for i in range(len(Z)):
        value, stiffness = _own_divergence(Z[i], Y, P[i], columns[i], freedom, gradient)
        for _ in range(max_iter):
            rate, better, new, stiffer = 1.0 / stiffness, False, value, stiffness
            length = 0.0
            for d in range(k):
                length += gradient[d] ** 2
            rate = min(rate, _MAX_PLACE_STEP / np.sqrt(length)) if length > 0.0 else rate
            for _ in range(_MAX_LINE_STEPS):
                for d in range(k):
                    trial[d] = Z[i, d] - rate * gradient[d]
                new, stiffer = _own_divergence(trial, Y, P[i], columns[i], freedom, other)
                if new < value:
                    better = True
                    break
                rate *= 0.5
            if not better:
                break
            moved = 0.0
            for d in range(k):
                moved = max(moved, abs(trial[d] - Z[i, d]))
                Z[i, d] = trial[d]
                gradient[d] = other[d]
            value, stiffness = new, stiffer
            if moved <= tol:
                break
