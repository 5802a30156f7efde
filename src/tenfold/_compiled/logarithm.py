"""log in steps that fit vector registers, which calls of the C library do not.

User: the divergence of non-negative factorizations (`benchmarks` case nmf-kl).
"""

from __future__ import annotations

import numpy as np
from numba import njit

_ROOT_HALF_BITS = 0x3FE6A09E667F3BCD  # of the square root of 1/2
_MANTISSA_BITS = 0x000FFFFFFFFFFFFF
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # k LN2_HIGH is exact


@njit(cache=True, nogil=True, fastmath={"contract"})
def fast_log(x):  # noqa: ANN001, ANN202
    """log(x) of normal numbers x > 0, to a unit in the last place or two; of 0 a finite number.

    x = m 2^k with m between the roots of 1/2 and 2; log(m) by its series in (m - 1) / (m + 1).
    """
    bits = np.float64(x).view(np.int64) - _ROOT_HALF_BITS
    k = np.float64(bits >> 52)
    m = np.int64((bits & _MANTISSA_BITS) + _ROOT_HALF_BITS).view(np.float64)
    r = (m - 1.0) / (m + 1.0)
    z = r * r
    s = 1.0 / 21
    s = s * z + 1.0 / 19
    s = s * z + 1.0 / 17
    s = s * z + 1.0 / 15
    s = s * z + 1.0 / 13
    s = s * z + 1.0 / 11
    s = s * z + 1.0 / 9
    s = s * z + 1.0 / 7
    s = s * z + 1.0 / 5
    s = s * z + 1.0 / 3
    return k * _LN2_HIGH + (2.0 * r + (2.0 * r * (s * z) + k * _LN2_LOW))
