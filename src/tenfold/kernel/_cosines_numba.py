"""Cosines of many numbers in steps that fit vector registers."""

from __future__ import annotations

from math import cos

import numpy as np
from numba import njit, types
from numba.extending import overload

_LARGEST, _LARGEST_32 = 1e15, 1e7  # beyond them multiples of pi are not exact
_ROUND, _ROUND_32 = 1.5 * 2.0**52, np.float32(1.5 * 2.0**23)  # leave the nearest integer
_INVERSE_PI, _INVERSE_PI_32 = 1 / np.pi, np.float32(1 / np.pi)
_PI_1, _PI_2, _PI_3 = 3.1415926534682512, 1.215420100718692e-10, 5.825464112186712e-20
_PI_1_32, _PI_2_32, _PI_3_32 = (
    np.float32(3.140625),
    np.float32(9.67502593994e-4),
    np.float32(1.509957990978376432e-7),
)
_C2, _C4, _C6, _C8 = -1 / 2, 1 / 24, -1 / 720, 1 / 40320
_C10, _C12, _C14 = -1 / 3628800, 1 / 479001600, -1 / 87178291200
_C16, _C18, _C20 = 1 / 20922789888000, -1 / 6402373705728000, 1 / 2432902008176640000
_F2, _F4, _F6, _F8 = (np.float32(c) for c in (_C2, _C4, _C6, _C8))
_F10, _F12, _ONE_32 = np.float32(_C10), np.float32(_C12), np.float32(1)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _cos64(x):
    """cos(x) = (-1)^k cos(x - k pi), by its series."""
    k = (x * _INVERSE_PI + _ROUND) - _ROUND
    r = ((x - k * _PI_1) - k * _PI_2) - k * _PI_3
    s = r * r
    c = _C20
    c = c * s + _C18
    c = c * s + _C16
    c = c * s + _C14
    c = c * s + _C12
    c = c * s + _C10
    c = c * s + _C8
    c = c * s + _C6
    c = c * s + _C4
    c = c * s + _C2
    c = c * s + 1.0
    half = k * 0.5
    odd = half - ((half + _ROUND) - _ROUND)  # 0, or a half up or down
    return c * (1.0 - 4.0 * abs(odd))


@njit(cache=True, nogil=True, fastmath={"contract"})
def _cos32(x):
    """The same in float32 throughout."""
    k = (x * _INVERSE_PI_32 + _ROUND_32) - _ROUND_32
    r = ((x - k * _PI_1_32) - k * _PI_2_32) - k * _PI_3_32
    s = r * r
    c = _F12
    c = c * s + _F10
    c = c * s + _F8
    c = c * s + _F6
    c = c * s + _F4
    c = c * s + _F2
    c = c * s + _ONE_32
    half = k * np.float32(0.5)
    odd = half - ((half + _ROUND_32) - _ROUND_32)
    return c * (_ONE_32 - np.float32(4) * abs(odd))


def _cosine(x):
    """cos(x) in the type of x."""


@overload(_cosine)
def _overload_cosine(x):
    def cosine32(x):
        return _cos32(x)

    def cosine64(x):
        return _cos64(x)

    return cosine32 if x == types.float32 else cosine64


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest(row):
    """Largest absolute value."""
    largest = abs(row[0])
    for j in range(len(row)):
        largest = max(largest, abs(row[j]))
    return largest


@njit(cache=True, nogil=True)
def cosine_features(P, offset, scale):
    """Replace projections by scale * cos(projection + offset)."""
    limit = _LARGEST_32 if P.itemsize == 4 else _LARGEST
    for i in range(len(P)):
        row = P[i]
        if _largest(row) < limit:
            for j in range(len(row)):
                row[j] = scale * _cosine(row[j] + offset[j])
        else:  # one by one
            for j in range(len(row)):
                row[j] = scale * cos(np.float64(row[j] + offset[j]))
