"""exp in steps that fit vector registers, which calls of the C library do not.

Users: softmax of linear models (`benchmarks` case softmax-mnist), kernel values (rbf-block).
"""

from __future__ import annotations

import numpy as np
from numba import njit

_MIN_EXPONENT = -708.0  # below it exp leaves the normal numbers
_ROUND_TO_INTEGER = (
    1.5 * 2.0**52
)  # added to a number, it leaves the nearest integer in the last bits
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # k LN2_HIGH is exact

_MIN_EXPONENT_32 = np.float32(-87.0)
_ROUND_TO_INTEGER_32 = np.float32(1.5 * 2.0**23)
_LOG2_E_32 = np.float32(_LOG2_E)
_LN2_HIGH_32, _LN2_LOW_32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
_C7, _C6, _C5, _C4, _C3 = (np.float32(1 / k) for k in (5040, 720, 120, 24, 6))
_HALF_32, _ONE_32, _ZERO_32 = np.float32(0.5), np.float32(1), np.float32(0)


@njit(cache=True, nogil=True, fastmath={"contract"})
def fast_exp(x):  # noqa: ANN001, ANN202
    """exp(x) for x <= 0; not below exp(-708).

    x = k log 2 + r with an integer k; exp(r) by its series, times 2^k made of bits.
    """
    x = _MIN_EXPONENT if x < _MIN_EXPONENT else x  # noqa: FURB136 - max() would hide NaN
    shifted = x * _LOG2_E + _ROUND_TO_INTEGER
    k = shifted - _ROUND_TO_INTEGER
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    s = 1.0 / 479001600
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


@njit(cache=True, nogil=True, fastmath={"contract"})
def fast_exp32(x):  # noqa: ANN001, ANN202
    """exp(x) of a float32 x <= 0, in float32 throughout; not below exp(-87)."""
    x = _MIN_EXPONENT_32 if x < _MIN_EXPONENT_32 else x  # noqa: FURB136
    shifted = x * _LOG2_E_32 + _ROUND_TO_INTEGER_32
    k = shifted - _ROUND_TO_INTEGER_32
    r = (x - k * _LN2_HIGH_32) - k * _LN2_LOW_32
    s = _C7
    s = s * r + _C6
    s = s * r + _C5
    s = s * r + _C4
    s = s * r + _C3
    s = s * r + _HALF_32
    s = s * r + _ONE_32
    s = s * r + _ONE_32
    power = np.int32((np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23))
    return s * power.view(np.float32)
