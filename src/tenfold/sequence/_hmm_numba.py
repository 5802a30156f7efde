"""Messages of hidden Markov models along sequences.

`B` holds emission densities of each step and state, divided by the largest of the step (1 for the
most likely state), so that nothing underflows; the logarithm of the divisor is added to the
log-likelihood outside. Sums over states run over contiguous entries of `A` or its transpose, one
entry of the result in each lane, so they need no reordering to be vectorized.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.exponential import fast_exp

_NEVER = -700.0  # a density that is smaller by this power of e is zero


@njit(cache=True, nogil=True)
def scale_rows(B, shift):
    """Densities divided by the largest of each step, and the logarithm of that divisor.

    `B` holds log-densities, and the densities afterwards. A step that no state can emit has
    densities of zero.
    """
    n, K = B.shape
    for t in range(n):
        largest = B[t, 0]
        for k in range(1, K):
            largest = max(largest, B[t, k])
        shift[t] = largest
        if largest == -np.inf:
            B[t] = 0.0
            continue
        for k in range(K):
            below = B[t, k] - largest
            B[t, k] = fast_exp(below) if below > _NEVER else 0.0


@njit(cache=True, nogil=True)
def _multiply(vector, matrix, result):
    """Write the product of a vector and a matrix to `result`, four rows at a time."""
    K = len(vector)
    for j in range(K):
        result[j] = 0.0
    whole = K - K % 4
    for i in range(0, whole, 4):
        a, b, c, d = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        for j in range(K):
            result[j] += (a * matrix[i, j] + b * matrix[i + 1, j]) + (
                c * matrix[i + 2, j] + d * matrix[i + 3, j]
            )
    for i in range(whole, K):
        a = vector[i]
        for j in range(K):
            result[j] += a * matrix[i, j]


@njit(cache=True, nogil=True)
def filter_states(B, offsets, start, A, alpha, scale):
    """Filtered probabilities of the states, and the scale of each step.

    Returns the number of the first sequence that is impossible, or -1.
    """
    K = len(start)
    for s in range(len(offsets) - 1):
        for t in range(offsets[s], offsets[s + 1]):
            if t == offsets[s]:
                total = 0.0
                for k in range(K):
                    alpha[t, k] = start[k] * B[t, k]
                    total += alpha[t, k]
                if total > 0:
                    for k in range(K):
                        alpha[t, k] /= total
            else:
                _multiply(alpha[t - 1], A, alpha[t])
                total = 0.0
                for k in range(K):
                    alpha[t, k] *= B[t, k]
                    total += alpha[t, k]
                inverse = 1.0 / total if total > 0 else 0.0
                for k in range(K):
                    alpha[t, k] *= inverse
            if not total > 0:
                return s
            scale[t] = total
    return -1


@njit(cache=True, nogil=True)
def smooth_states(B, offsets, A_transposed, alpha, scale, beta):
    """Backward messages, and the messages that lead to them in place of the densities.

    Filtered probabilities times backward messages are smoothed ones; the messages in B, zero at
    first steps, times filtered probabilities one step before are the expected transitions over A.
    """
    K = alpha.shape[1]
    for s in range(len(offsets) - 1):
        low, high = offsets[s], offsets[s + 1]
        if low == high:
            continue
        beta[high - 1] = 1.0
        for t in range(high - 1, low, -1):
            inverse = 1.0 / scale[t]
            for k in range(K):
                B[t, k] *= beta[t, k] * inverse
            _multiply(B[t], A_transposed, beta[t - 1])
        B[low] = 0.0


@njit(cache=True, nogil=True)
def smooth_pairs(B, offsets, A, alpha, scale, gamma, xi):
    """Smoothed probabilities of states and of pairs of neighbouring states, step by step."""
    K = alpha.shape[1]
    beta, message = np.empty(K), np.empty(K)
    for s in range(len(offsets) - 1):
        low, high = offsets[s], offsets[s + 1]
        beta[:] = 1.0
        for t in range(high - 1, low - 1, -1):
            for k in range(K):
                gamma[t, k] = alpha[t, k] * beta[k]
            if t == low:
                break
            for k in range(K):
                message[k] = B[t, k] * beta[k] / scale[t]
            for i in range(K):
                total = 0.0
                for j in range(K):
                    moved = A[i, j] * message[j]
                    xi[t - 1, i, j] = alpha[t - 1, i] * moved
                    total += moved
                beta[i] = total


@njit(cache=True, nogil=True)
def smooth_with_lag(B, offsets, A, alpha, lag, gamma):
    """Probabilities of each state given the steps up to `lag` further ones."""
    K = alpha.shape[1]
    beta, moved = np.empty(K), np.empty(K)
    for s in range(len(offsets) - 1):
        for t in range(offsets[s], offsets[s + 1]):
            beta[:] = 1.0
            for u in range(min(t + lag, offsets[s + 1] - 1), t, -1):
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
def find_best_paths(values, offsets, log_start, log_A, states, scores):
    """Viterbi: most probable paths and their log-probabilities; the lower state wins ties.

    `values` are log-densities of the steps and become those of the best path to each state. Where
    a path came from is found on the way back, for its own states alone.
    """
    K = len(log_start)
    best_ways = np.empty(K)
    for s in range(len(offsets) - 1):
        low, high = offsets[s], offsets[s + 1]
        scores[s] = 0.0
        if low == high:
            continue
        for k in range(K):
            values[low, k] += log_start[k]
        for t in range(low + 1, high):
            _add_best(values[t - 1], log_A, best_ways, values[t])
        best = np.argmax(values[high - 1])
        scores[s] = values[high - 1, best]
        states[high - 1] = best
        for t in range(high - 2, low - 1, -1):
            best = _find_source(values[t], log_A, best)
            states[t] = best


@njit(cache=True, nogil=True)
def _add_best(before, log_A, best, values):
    """Add the value of the best way to each state, four ways at a time."""
    K = len(before)
    for j in range(K):
        best[j] = -np.inf
    whole = K - K % 4
    for i in range(0, whole, 4):
        a, b, c, d = before[i], before[i + 1], before[i + 2], before[i + 3]
        for j in range(K):
            first, second = a + log_A[i, j], b + log_A[i + 1, j]
            third, fourth = c + log_A[i + 2, j], d + log_A[i + 3, j]
            first = second if second > first else first  # noqa: FURB136 - a select
            third = fourth if fourth > third else third  # noqa: FURB136
            first = third if third > first else first  # noqa: FURB136
            best[j] = first if first > best[j] else best[j]  # noqa: FURB136
    for i in range(whole, K):
        for j in range(K):
            way = before[i] + log_A[i, j]
            best[j] = way if way > best[j] else best[j]  # noqa: FURB136
    for j in range(K):
        values[j] += best[j]


@njit(cache=True, nogil=True)
def _find_source(before, log_A, state):
    """The state from which the best way to a state comes."""
    source, best = 0, before[0] + log_A[0, state]
    for i in range(1, len(before)):
        candidate = before[i] + log_A[i, state]
        if candidate > best:
            source, best = i, candidate
    return source


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
