"""Messages of hidden Markov models in logarithms, for one stretch of steps at a time.

They hold paths whose probabilities differ by more than floating-point numbers can, at several times
the cost of the scaled messages of `_hmm_numba`. Tables are (n_steps, K). `begins` says at which
steps a sequence begins.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _log_sum(values):
    """Logarithm of the sum of exponentials; -inf if there is none."""
    top = values[0]
    for k in range(1, len(values)):
        top = max(top, values[k])
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(len(values)):
        total += np.exp(values[k] - top)
    return top + np.log(total)


@njit(cache=True, nogil=True)
def filter_logs(log_B, begins, log_start, log_A, log_before, log_alpha, log_scale):
    """Logarithms of filtered probabilities, and of the density of each step given those before it.

    `log_before`, (K,), belongs to the step before the first one, where its sequence goes on. After
    an impossible step, with the density -inf, all states are equally probable.
    """
    n, K = log_B.shape
    ways = np.empty(K)
    for t in range(n):
        before = log_before if t == 0 else log_alpha[t - 1]
        for j in range(K):
            if begins[t]:
                log_alpha[t, j] = log_start[j] + log_B[t, j]
            else:
                for i in range(K):
                    ways[i] = before[i] + log_A[i, j]
                log_alpha[t, j] = _log_sum(ways) + log_B[t, j]
        log_scale[t] = _log_sum(log_alpha[t])
        for j in range(K):
            possible = log_scale[t] > -np.inf
            log_alpha[t, j] = log_alpha[t, j] - log_scale[t] if possible else -np.log(K)


@njit(cache=True, nogil=True)
def smooth_logs(log_B, begins, log_A, log_scale, log_after, log_beta):
    """Logarithms of backward messages over the scales of the later steps.

    `log_after`, (K,), are those of the last step.
    """
    n, K = log_B.shape
    ways = np.empty(K)
    log_beta[n - 1] = log_after
    for t in range(n - 2, -1, -1):
        for i in range(K):
            if begins[t + 1]:
                log_beta[t, i] = 0.0
            else:
                for j in range(K):
                    ways[j] = log_A[i, j] + log_B[t + 1, j] + log_beta[t + 1, j]
                log_beta[t, i] = _log_sum(ways) - log_scale[t + 1]


@njit(cache=True, nogil=True)
def count_pairs_in_logs(log_alpha, begins, log_A, log_before, log_message, weights, counts):
    """Add the expected transitions of weighted steps to `counts`, (K, K)."""
    n, K = log_alpha.shape
    for t in range(n):
        if begins[t]:
            continue
        before = log_before if t == 0 else log_alpha[t - 1]
        for i in range(K):
            for j in range(K):
                counts[i, j] += weights[t] * np.exp(before[i] + log_A[i, j] + log_message[t, j])


@njit(cache=True, nogil=True)
def smooth_logs_with_lag(log_B, log_A, log_alpha, lag, gamma):
    """Probabilities of each state of one sequence given the steps up to `lag` further ones."""
    n, K = log_B.shape
    beta, moved, ways = np.empty(K), np.empty(K), np.empty(K)
    for t in range(n):
        beta[:] = 0.0
        for u in range(min(t + lag, n - 1), t, -1):
            for i in range(K):
                for j in range(K):
                    ways[j] = log_A[i, j] + log_B[u, j] + beta[j]
                moved[i] = _log_sum(ways)
            beta[:] = moved
        for k in range(K):
            ways[k] = log_alpha[t, k] + beta[k]
        total = _log_sum(ways)
        for k in range(K):
            gamma[t, k] = np.exp(ways[k] - total)


@njit(cache=True, nogil=True)
def draw_path_from_logs(log_alpha, log_A, draws, states):
    """A path of one sequence from its posterior: filtered forward, drawn backward."""
    n, K = log_alpha.shape
    ways = np.empty(K)
    for t in range(n - 1, -1, -1):
        for k in range(K):
            ways[k] = log_alpha[t, k] + (0.0 if t == n - 1 else log_A[k, states[t + 1]])
        total, cumulated, chosen = _log_sum(ways), 0.0, -1
        for k in range(K):
            weight = np.exp(ways[k] - total)
            if weight > 0 and (chosen < 0 or cumulated <= draws[t]):
                chosen = k
            cumulated += weight
        states[t] = chosen


@njit(cache=True, nogil=True)
def join_messages(factors, rows, where, before, after):
    """Messages at the edges of pieces, in logarithms: filtered before each, backward after each.

    `rows`, (n_rows, K), hold one row of each piece, or K rows; piece p has those from `where[p]` up
    to `where[p + 1]`. Returns the logarithm of the product of all pieces.
    """
    n, K = factors.shape
    ways, left = np.empty(K), np.empty(K)
    before[0] = -np.log(K)
    value = 0.0
    for p in range(n):
        step = 0 if where[p + 1] - where[p] == 1 else 1
        for k in range(K):
            for i in range(K):
                ways[i] = before[p, i] + factors[p, i] + rows[where[p] + step * i, k]
            left[k] = _log_sum(ways)
        total = _log_sum(left)
        value += total
        if p + 1 < n:
            for k in range(K):  # where nothing is possible, the pass over the piece says so
                before[p + 1, k] = left[k] - total if total > -np.inf else -np.log(K)
    after[n - 1] = 0.0
    for p in range(n - 1, 0, -1):
        step = 0 if where[p + 1] - where[p] == 1 else 1
        for i in range(K):
            for k in range(K):
                ways[k] = rows[where[p] + step * i, k] + after[p, k]
            left[i] = _log_sum(ways) + factors[p, i]
        total = _log_sum(before[p] + left)
        for i in range(K):
            after[p - 1, i] = left[i] - total if total > -np.inf else 0.0
    return value
