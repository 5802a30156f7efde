"""Messages of one sequence at a time: lags, several paths, drawn paths.

Tables are (n_steps, K). What fits and predictions do most is in `_hmm_numba`.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def smooth_with_lag(B, A, alpha, lag, gamma):
    """Probabilities of each state of one sequence given the steps up to `lag` further ones."""
    T, K = alpha.shape
    beta, moved = np.empty(K), np.empty(K)
    for t in range(T):
        beta[:] = 1.0
        for u in range(min(t + lag, T - 1), t, -1):
            total = 0.0
            for i in range(K):
                moved[i] = 0.0
                for j in range(K):
                    moved[i] += A[i, j] * B[u, j] * beta[j]
                total += moved[i]
            for i in range(K):
                beta[i] = moved[i] / total
        total = 0.0
        for k in range(K):
            gamma[t, k] = alpha[t, k] * beta[k]
            total += gamma[t, k]
        for k in range(K):
            gamma[t, k] /= total


@njit(cache=True, nogil=True)
def find_k_best_paths(  # noqa: C901, PLR0912 - one loop over steps
    log_B, log_start, log_A, n_paths
):
    """The most probable paths of one sequence, (found, steps), and their log-probabilities."""
    T, K = log_B.shape
    value = np.full((T, K, n_paths), -np.inf)
    source = np.zeros((T, K, n_paths), np.int64)  # state * n_paths + rank, one step before
    for k in range(K):
        value[0, k, 0] = log_start[k] + log_B[0, k]
    for t in range(1, T):
        for j in range(K):
            for i in range(K):
                for r in range(n_paths):
                    candidate = value[t - 1, i, r] + log_A[i, j]
                    if not candidate > value[t, j, n_paths - 1]:
                        break  # ranks only get worse
                    at = n_paths - 1
                    while at > 0 and candidate > value[t, j, at - 1]:
                        value[t, j, at] = value[t, j, at - 1]
                        source[t, j, at] = source[t, j, at - 1]
                        at -= 1
                    value[t, j, at] = candidate
                    source[t, j, at] = i * n_paths + r
            for r in range(n_paths):
                value[t, j, r] += log_B[t, j]
    last = value[T - 1].copy().reshape(K * n_paths)
    paths, scores = np.zeros((n_paths, T), np.int64), np.full(n_paths, -np.inf)
    found = 0
    for path in range(n_paths):
        best = 0
        for k in range(1, K * n_paths):
            if last[k] > last[best]:
                best = k
        if last[best] == -np.inf:
            break
        scores[path], last[best] = last[best], -np.inf
        for t in range(T - 1, -1, -1):
            paths[path, t] = best // n_paths
            if t > 0:
                best = source[t, best // n_paths, best % n_paths]
        found += 1
    return paths[:found], scores[:found]


@njit(cache=True, nogil=True)
def draw_path(alpha, A, draws, states):
    """A path of one sequence from its posterior: filtered forward, drawn backward."""
    T, K = alpha.shape
    weights = np.empty(K)
    for t in range(T - 1, -1, -1):
        total = 0.0
        for k in range(K):
            weights[k] = alpha[t, k] * (1.0 if t == T - 1 else A[k, states[t + 1]])
            total += weights[k]
        target, cumulated, chosen = draws[t] * total, 0.0, -1
        for k in range(K):
            cumulated += weights[k]
            if weights[k] > 0 and (chosen < 0 or cumulated - weights[k] <= target):
                chosen = k
        states[t] = chosen
