"""Gradients and curvatures of losses in compiled loops.

Trees must not depend on the processor. So exp is computed here, from additions and products in a
written order, without fused operations; the C library's differs in the last bit from one processor
to another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._compile_options import LOOP

_MIN_EXPONENT, _MAX_EXPONENT = -708.0, 709.0  # within them exp is a normal number
_ROUND_TO_INTEGER = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the bits
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # k LN2_HIGH is exact


@njit(**LOOP)
def portable_exp(x):
    """exp(x), the same bits on every processor."""
    x = _MIN_EXPONENT if x < _MIN_EXPONENT else x  # noqa: FURB136 - max() would hide NaN
    x = _MAX_EXPONENT if x > _MAX_EXPONENT else x  # noqa: FURB136
    shifted = x * _LOG2_E + _ROUND_TO_INTEGER
    k = shifted - _ROUND_TO_INTEGER
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    s = 1.0 / 6227020800
    s = s * r + 1.0 / 479001600
    s = s * r + 1.0 / 39916800
    s = s * r + 1.0 / 3628800
    s = s * r + 1.0 / 362880
    s = s * r + 1.0 / 40320
    s = s * r + 1.0 / 5040
    s = s * r + 1.0 / 720
    s = s * r + 1.0 / 120
    s = s * r + 1.0 / 24
    s = s * r + 1.0 / 6
    s = s * r + 0.5
    s = s * r + 1.0
    s = s * r + 1.0
    power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52)
    return s * power.view(np.float64)


@njit(**LOOP)
def exponentials(x, out):
    """Exponentials of all numbers of an array."""
    for i in range(len(x)):
        out[i] = portable_exp(x[i])


@njit(**LOOP)
def log_loss_gradients(y, score, g, h):
    """Gradients p - y and p (1 - p) of the log-loss with p = 1 / (1 + exp(-score))."""
    for i in range(len(y)):
        z = score[i, 0]
        e = portable_exp(-abs(z))
        p = (1.0 if z >= 0 else e) / (1.0 + e)
        g[i] = p - y[i]
        h[i] = e / ((1.0 + e) * (1.0 + e))


@njit(**LOOP)
def softmax_columns(score, room, out):
    """Probabilities of the classes of each row; all arrays are (k, n), a class after the other.

    Every loop works on several rows at once; `room` is scratch of n numbers.
    """
    k, n = score.shape
    for c in range(k):
        for i in range(n):
            room[i] = max(room[i], score[c, i]) if c > 0 else score[c, i]
    for c in range(k):
        for i in range(n):
            score[c, i] -= room[i]
    exponentials(score.reshape(-1), out.reshape(-1))
    for c in range(k):
        for i in range(n):
            room[i] = out[c, i] + (room[i] if c > 0 else 0.0)
    for c in range(k):
        for i in range(n):
            out[c, i] /= room[i]


@njit(**LOOP)
def softmax_gradients(y, p, k, g, h):
    """Gradients and curvatures of the log-loss in the score of class k from its probabilities."""
    for i in range(len(y)):
        g[i] = p[i] - (y[i] == k)
        h[i] = p[i] * (1.0 - p[i])
