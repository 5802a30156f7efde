"""Messages of hidden Markov models along eight lanes of steps (see `LaneLayout`).

`B` holds emission densities of each state and step, divided by the largest of the step (1 for the
most likely state), so that nothing underflows; the logarithm of the divisor is added to the
log-likelihood outside. Tables are (K, n_columns), flat.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.exponential import fast_exp
from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS
from tenfold._compiled.lanes import LANES, step_backward, step_best, step_forward
from tenfold.sequence._lanes import BEGINS, PAD

_NEVER = -700.0  # a density that is smaller by this power of e is zero


@njit(**ENTRY_OPTIONS)
def scale_columns(B, shift):
    """Densities divided by the largest of each step, and the logarithm of that divisor.

    `B` holds log-densities, and the densities afterwards. A step that no state can emit has
    densities of zero.
    """
    K, n = B.shape
    for c in range(n):
        shift[c] = B[0, c]
    for k in range(1, K):
        for c in range(n):
            shift[c] = B[k, c] if B[k, c] > shift[c] else shift[c]  # noqa: FURB136 - a select
    for k in range(K):
        for c in range(n):
            below = B[k, c] - shift[c]
            B[k, c] = fast_exp(below) if below > _NEVER else 0.0


@njit(**INNER_OPTIONS)
def _begin_lanes(B, codes, start, K, at, before, before_at, before_stride, alpha, scale):
    """Begin with `start` in the lanes whose sequence begins here; a pad repeats its lane."""
    n = len(codes)
    for c in range(at, at + LANES):
        if codes[c] == BEGINS:
            total = 0.0
            for k in range(K):
                joint = start[k] * B[k * n + c]
                alpha[k * n + c] = joint
                total += joint
            inverse = 1.0 / total if total > 0 else np.nan
            for k in range(K):
                alpha[k * n + c] *= inverse
            scale[c] = total
        elif codes[c] == PAD:
            for k in range(K):
                alpha[k * n + c] = before[before_at + k * before_stride + c - at]
            scale[c] = 1.0


@njit(**INNER_OPTIONS)
def _has_codes(codes, at):
    """Whether some lane does not simply continue its sequence."""
    for c in range(at, at + LANES):  # noqa: SIM110 - compiled
        if codes[c] != 0:
            return True
    return False


@njit(**INNER_OPTIONS)
def _raise_lanes(codes, K, at, alpha, scale, floor):
    """Raise the joint probabilities of states and a step, alpha times scale, to a floor."""
    n = len(codes)
    for c in range(at, at + LANES):
        if codes[c] == PAD:
            continue
        if not scale[c] > 0:
            scale[c] = K * floor
            for k in range(K):
                alpha[k * n + c] = 1.0 / K
            continue
        low, added = floor / scale[c], 0.0
        for k in range(K):
            if alpha[k * n + c] < low:
                added += low - alpha[k * n + c]
                alpha[k * n + c] = low
        inverse = 1.0 / (1.0 + added)
        scale[c] *= 1.0 + added
        for k in range(K):
            alpha[k * n + c] *= inverse


@njit(**ENTRY_OPTIONS)
def filter_lanes(B, codes, start, A, before, alpha, scale, first, end, floor):
    """Filtered probabilities of the states, and the scale of each step, of columns first:end.

    `before`, (K, 8), are those of the steps before the first ones, where a sequence goes on. A step
    that is impossible has the scale zero, and NaN follows until the next sequence. With a `floor`
    above what underflow can take away, scales are upper bounds of the true ones.
    """
    K, n = len(start), len(codes)
    table, place, stride = before, np.int64(0), np.int64(LANES)  # constants would be types
    for at in range(first, end, LANES):
        step_forward(table, place, stride, A, K, B, alpha, at, n, scale)
        if _has_codes(codes, at):
            _begin_lanes(B, codes, start, K, at, table, place, stride, alpha, scale)
        if floor > 0:
            _raise_lanes(codes, K, at, alpha, scale, floor)
        table, place, stride = alpha, at, n


@njit(**ENTRY_OPTIONS)
def smooth_lanes(B, codes, A_transposed, alpha, scale, after, beta, gamma):
    """Smoothed probabilities, and the messages that lead to them in place of the densities.

    Messages, zero where a sequence begins, times filtered probabilities one step before are the
    expected transitions over A. `after`, (K, 8), are the backward messages of the last
    steps, `beta` is memory of that size.
    """
    n = len(codes)
    K = len(B) // n
    for i in range(len(after)):
        beta[i] = after[i]
    for at in range(n - LANES, -1, -LANES):
        step_backward(beta, A_transposed, K, B, alpha, gamma, at, n, scale)
        if not _has_codes(codes, at):
            continue
        for c in range(at, at + LANES):
            if codes[c] == BEGINS:
                for k in range(K):
                    B[k * n + c] = 0.0
                    beta[k * LANES + c - at] = 1.0
            elif codes[c] == PAD:
                for k in range(K):
                    B[k * n + c] = gamma[k * n + c] = 0.0
                    beta[k * LANES + c - at] = after[k * LANES + c - at]


@njit(cache=True, nogil=True)
def follow_best(  # noqa: C901 - one loop over steps
    values, codes, log_start, log_A, before, first, end, joined
):
    """Log-probabilities of the best path to each state, in place of log-densities.

    `before`, (K, 8), are those of the steps before the first ones, where a sequence goes on. With
    `joined`, the best path of a sequence counts in the values of the next one.
    """
    K, n = len(log_start), len(codes)
    own = np.empty(K * LANES)
    table, place, stride = before, np.int64(0), np.int64(LANES)
    for at in range(first, end, LANES):
        special = _has_codes(codes, at)
        if special:
            for k in range(K):
                for lane in range(LANES):
                    own[k * LANES + lane] = values[k * n + at + lane]
        step_best(table, place, stride, log_A, K, values, at, n)
        if special:
            for c in range(at, at + LANES):
                ended = 0.0
                if joined and codes[c] == BEGINS:
                    ended = table[place + c - at]
                    for k in range(1, K):
                        ended = max(ended, table[place + k * stride + c - at])
                for k in range(K):
                    if codes[c] == BEGINS:
                        values[k * n + c] = own[k * LANES + c - at] + log_start[k] + ended
                    elif codes[c] == PAD:
                        values[k * n + c] = table[place + k * stride + c - at]
        table, place, stride = values, at, n


@njit(**ENTRY_OPTIONS)
def trace_best(values, codes, log_A, K, ends, states):
    """States of the best path, from the values of `follow_best`; the lower state wins ties.

    `ends`, (8,), are the states of the last steps of the lanes where those are known, else -1.
    """
    n = len(codes)
    for c in range(n - 1, -1, -1):
        if codes[c] == PAD:
            continue
        if c + LANES >= n or codes[c + LANES] == PAD:
            state = ends[c % LANES]
            states[c] = state if state >= 0 else _find_largest(values, c, n, K)
        elif codes[c + LANES] == BEGINS:
            states[c] = _find_largest(values, c, n, K)
        else:
            states[c] = _find_source(values, c, n, K, log_A, states[c + LANES])


@njit(**INNER_OPTIONS)
def _find_largest(values, c, n, K):
    best = 0
    for k in range(1, K):
        if values[k * n + c] > values[best * n + c]:
            best = k
    return best


@njit(**INNER_OPTIONS)
def _find_source(values, c, n, K, log_A, state):
    """The state from which the best way to a state comes."""
    source, best = 0, values[c] + log_A[state]
    for i in range(1, K):
        candidate = values[i * n + c] + log_A[i * K + state]
        if candidate > best:
            source, best = i, candidate
    return source


@njit(**ENTRY_OPTIONS)
def share_components(joint, log_densities, largest, total):  # noqa: C901 - loops over columns
    """Log-densities of mixtures, (K, n), from log-joints of their components, (K, M, n).

    The joints become the shares of the components in the density of a step; `largest` and `total`,
    (n,), are memory.
    """
    K, M, n = joint.shape
    for k in range(K):
        for c in range(n):
            largest[c], total[c] = joint[k, 0, c], 0.0
        for m in range(1, M):
            for c in range(n):
                one = joint[k, m, c]
                largest[c] = one if one > largest[c] else largest[c]  # noqa: FURB136
        for c in range(n):
            largest[c] = largest[c] if largest[c] > -np.inf else 0.0
        for m in range(M):
            for c in range(n):
                below = joint[k, m, c] - largest[c]
                joint[k, m, c] = fast_exp(below) if below > _NEVER else 0.0
                total[c] += joint[k, m, c]
        for c in range(n):
            log_densities[k, c] = largest[c] + np.log(total[c])
            total[c] = 1.0 / total[c] if total[c] > 0 else 0.0
        for m in range(M):
            for c in range(n):
                joint[k, m, c] *= total[c]
