"""Messages of linear-Gaussian state spaces along sequences.

Shapes use d hidden and p observed dimensions. A missing entry (NaN) is left out of its step. The
covariance after a step is updated in Joseph's form, which stays symmetric and positive.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_LOG_2PI = np.log(2 * np.pi)


@njit(cache=True, nogil=True)
def _observe(x, C, R, m, P):
    """Mean and covariance of a state after its step was seen, and the log-density of the step."""
    seen = np.flatnonzero(~np.isnan(x))
    q = len(seen)
    if q == 0:
        return m, P, 0.0
    c, r, error = np.empty((q, len(m))), np.empty((q, q)), np.empty(q)
    for a in range(q):
        c[a] = C[seen[a]]
        error[a] = x[seen[a]]
        for b in range(q):
            r[a, b] = R[seen[a], seen[b]]
    error = error - c @ m
    S = c @ P @ c.T + r
    factor = np.linalg.cholesky(S)
    solved = np.linalg.solve(factor, error)
    log_density = -0.5 * (solved @ solved + q * _LOG_2PI) - np.log(np.diag(factor)).sum()
    gain = np.linalg.solve(S, c @ P).T
    left = np.eye(len(m)) - gain @ c
    updated = left @ P @ left.T + gain @ r @ gain.T
    return m + gain @ error, 0.5 * (updated + updated.T), log_density


@njit(cache=True, nogil=True)
def filter_sequence(X, A, C, Q, R, m0, P0, means, covariances, predicted, predicted_covariances):
    """Filtered and predicted states of one sequence; returns its log-density."""
    total = 0.0
    m, P = m0.copy(), P0.copy()
    for t in range(len(X)):
        if t > 0:
            m, P = A @ m, A @ P @ A.T + Q
        predicted[t], predicted_covariances[t] = m, P
        m, P, log_density = _observe(X[t], C, R, m, P)
        means[t], covariances[t] = m, P
        total += log_density
    return total


@njit(cache=True, nogil=True)
def smooth_sequence(A, means, covariances, predicted, predicted_covariances, cross):
    """Smoothed states in place of the filtered ones; `cross` gets Cov(state t + 1, state t)."""
    for t in range(len(means) - 2, -1, -1):
        gain = np.linalg.solve(predicted_covariances[t + 1], A @ covariances[t]).T
        means[t] += gain @ (means[t + 1] - predicted[t + 1])
        change = covariances[t + 1] - predicted_covariances[t + 1]
        updated = covariances[t] + gain @ change @ gain.T
        cross[t] = covariances[t + 1] @ gain.T
        covariances[t] = 0.5 * (updated + updated.T)
