"""Messages of linear-Gaussian state spaces along sequences.

Shapes use d hidden and p observed dimensions. A missing entry (NaN) is left out of its step. The
covariance after a step is updated in Joseph's form, which stays symmetric and positive. Products
are plain loops on given memory: matrices are small, and to compile `numpy.linalg` takes seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS

_LOG_2PI = np.log(2 * np.pi)
# Sums may be taken in any order, so that several run side by side; what is no number stays so.
_INNER: dict = INNER_OPTIONS | {"fastmath": {"reassoc", "contract", "nsz"}}
_SINGULAR = "the matrix is not positive definite"


@njit(**_INNER)
def _multiply(a, b, out, n, inner, m):
    """Set out[:n, :m] to a[:n, :inner] b[:inner, :m]."""
    for i in range(n):
        for j in range(m):
            out[i, j] = 0.0
        for k in range(inner):
            for j in range(m):
                out[i, j] += a[i, k] * b[k, j]


@njit(**_INNER)
def _multiply_transposed(a, b, out, n, inner, m):
    """Set out[:n, :m] to a[:n, :inner] b[:m, :inner]'."""
    for i in range(n):
        for j in range(m):
            total = 0.0
            for k in range(inner):
                total += a[i, k] * b[j, k]
            out[i, j] = total


@njit(**_INNER)
def _symmetrize(M, d):
    """Replace M[:d, :d] by the mean of itself and its transpose."""
    for i in range(d):
        for j in range(i):
            M[i, j] = M[j, i] = 0.5 * (M[i, j] + M[j, i])


@njit(**_INNER)
def _factorize(S, n):
    """Put the Cholesky factor of S[:n, :n] into its lower triangle; whether there is one."""
    for j in range(n):
        for i in range(j, n):
            total = S[i, j]
            for k in range(j):
                total -= S[i, k] * S[j, k]
            if i > j:
                S[i, j] = total / S[j, j]
            elif total > 0:
                S[j, j] = np.sqrt(total)
            else:
                return False
    return True


@njit(**_INNER)
def _solve_forward(L, B, n, m):
    """Replace B[:n, :m] by the solution of L X = B, with L lower triangular."""
    for i in range(n):
        for k in range(i):
            for j in range(m):
                B[i, j] -= L[i, k] * B[k, j]
        for j in range(m):
            B[i, j] /= L[i, i]


@njit(**_INNER)
def _solve_backward(L, B, n, m):
    """Replace B[:n, :m] by the solution of L' X = B, with L lower triangular."""
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            for j in range(m):
                B[i, j] -= L[k, i] * B[k, j]
        for j in range(m):
            B[i, j] /= L[i, i]


@njit(**_INNER)
def _eliminate(M, B, c, n, m):
    """Clear column c of M below the diagonal, the largest entry first; whether there is one."""
    best = c
    for i in range(c + 1, n):
        if abs(M[i, c]) > abs(M[best, c]):
            best = i
    if not abs(M[best, c]) > 0:
        return False
    for j in range(n):
        M[c, j], M[best, j] = M[best, j], M[c, j]
    for j in range(m):
        B[c, j], B[best, j] = B[best, j], B[c, j]
    for i in range(c + 1, n):
        ratio = M[i, c] / M[c, c]
        for j in range(c + 1, n):
            M[i, j] -= ratio * M[c, j]
        for j in range(m):
            B[i, j] -= ratio * B[c, j]
    return True


@njit(**_INNER)
def _solve(M, B, n, m):
    """Replace B[:n, :m] by the solution of M X = B; M is lost. False if M is singular."""
    for c in range(n):
        if not _eliminate(M, B, c, n, m):
            return False
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            for j in range(m):
                B[i, j] -= M[i, k] * B[k, j]
        for j in range(m):
            B[i, j] /= M[i, i]
    return True


@njit(**_INNER)
def _select(t, X, C, R, predicted, seen, c, r, gain):
    """Rows of C and R of the q entries of a step that are known, and their errors; q."""
    d, q = C.shape[1], 0
    for a in range(X.shape[1]):
        if not np.isnan(X[t, a]):
            seen[q] = a
            q += 1
    for a in range(q):
        error = X[t, seen[a]]
        for i in range(d):
            c[a, i] = C[seen[a], i]
            error -= c[a, i] * predicted[t, i]
        gain[a, d] = error  # beside the columns of the gain
        for b in range(q):
            r[a, b] = R[seen[a], seen[b]]
    return q


@njit(**_INNER)
def _update_covariance(P, c, r, gain, q, d, left, product, updated):
    """Joseph's form: (1 - K c) P (1 - K c)' + K r K', with K the transposed gain."""
    for i in range(d):
        for j in range(d):
            left[i, j] = 1.0 if i == j else 0.0
        for a in range(q):
            for j in range(d):
                left[i, j] -= gain[a, i] * c[a, j]
    _multiply(left, P, product, d, d, d)
    _multiply_transposed(product, left, updated, d, d, d)
    _multiply(r, gain, c, q, q, d)
    for i in range(d):
        for a in range(q):
            for j in range(d):
                updated[i, j] += gain[a, i] * c[a, j]
    _symmetrize(updated, d)


@njit(**_INNER)
def _observe(t, X, C, R, predicted, P, means, covariances, seen, c, r, S, gain, left, product):
    """Mean and covariance of a state after its step was seen; log-density of the step, or NaN."""
    d, q = len(P), _select(t, X, C, R, predicted, seen, c, r, gain)
    _multiply(c, P, gain, q, d, d)
    _multiply_transposed(gain, c, S, q, d, q)
    for a in range(q):
        for b in range(q):
            S[a, b] += r[a, b]
    if not _factorize(S, q):
        return np.nan
    _solve_forward(S, gain, q, d + 1)
    log_density = -0.5 * q * _LOG_2PI
    for a in range(q):
        log_density -= 0.5 * gain[a, d] * gain[a, d] + np.log(S[a, a])
    for i in range(d):
        means[t, i] = predicted[t, i]
        for a in range(q):
            means[t, i] += gain[a, i] * gain[a, d]
    _solve_backward(S, gain, q, d)
    _update_covariance(P, c, r, gain, q, d, left, product, covariances)
    return log_density


@njit(**ENTRY_OPTIONS)
def _filter(
    X, A, C, Q, R, m0, P0, means, covariances, predicted, spread, seen, c, r, S, gain, left, product
):
    d, total = len(m0), 0.0
    for t in range(len(X)):
        P = spread[t]
        for i in range(d):
            predicted[t, i] = m0[i] if t == 0 else 0.0
            for j in range(d):
                P[i, j] = P0[i, j]
        if t > 0:
            for i in range(d):
                for j in range(d):
                    predicted[t, i] += A[i, j] * means[t - 1, j]
            _multiply(A, covariances[t - 1], product, d, d, d)
            _multiply_transposed(product, A, P, d, d, d)
            for i in range(d):
                for j in range(d):
                    P[i, j] += Q[i, j]
        total += _observe(
            t, X, C, R, predicted, P, means, covariances[t], seen, c, r, S, gain, left, product
        )
        if np.isnan(total):
            break
    return total


@njit(**ENTRY_OPTIONS)
def _smooth(A, means, covariances, predicted, spread, cross, gain, matrix, product):
    d = len(A)
    for t in range(len(means) - 2, -1, -1):
        P, later = covariances[t], covariances[t + 1]
        _multiply(A, P, gain, d, d, d)
        for i in range(d):
            for j in range(d):
                matrix[i, j] = spread[t + 1, i, j]
        if not _solve(matrix, gain, d, d):
            return False
        for i in range(d):
            for k in range(d):
                means[t, i] += gain[k, i] * (means[t + 1, k] - predicted[t + 1, k])
                matrix[i, k] = later[i, k] - spread[t + 1, i, k]
        _multiply(matrix, gain, product, d, d, d)
        for i in range(d):
            for k in range(d):
                for j in range(d):
                    P[i, j] += gain[k, i] * product[k, j]
        _symmetrize(P, d)
        _multiply(later, gain, cross[t], d, d, d)
    return True


def filter_sequence(X: np.ndarray, space: Any, *states: np.ndarray) -> float:
    """Filter one sequence: its log-density.

    `states` are filled: means (n, d) and covariances (n, d, d) given the steps so far, and the same
    given the steps before.
    """
    d, p = len(space.m), len(space.R)
    seen = np.empty(p, np.int64)
    shapes: Any = (p, d), (p, p), (p, p), (p, d + 1), (d, d), (d, d)
    memory = [np.empty(shape) for shape in shapes]
    total = _filter(*(X, *space, *states, seen, *memory))  # pyright: ignore[reportCallIssue]
    if np.isnan(total):
        raise np.linalg.LinAlgError(_SINGULAR)
    return total


def smooth_sequence(A: np.ndarray, *states: np.ndarray) -> None:
    """Smoothed states in place of the filtered ones.

    `states` are those of `filter_sequence`, and an array that gets Cov(state t + 1, state t).
    """
    if not _smooth(A, *states, *np.empty((3, *A.shape))):
        raise np.linalg.LinAlgError(_SINGULAR)
