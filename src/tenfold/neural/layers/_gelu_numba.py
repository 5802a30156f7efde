"""Compiled GELU: z times the normal distribution function of z, and its derivative."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from tenfold._compiled.exponential import fast_exp32
from tenfold._compiled.gemm import ENTRY_OPTIONS

_ENTRY = ENTRY_OPTIONS | {"fastmath": {"contract"}}
_ROOT_HALF, _DENSITY_AT_0 = math.sqrt(0.5), math.sqrt(0.5 / math.pi)


def _normal(z):
    """Distribution function and density of the standard normal distribution."""
    return 0.5 * (1 + math.erf(_ROOT_HALF * z)), _DENSITY_AT_0 * np.exp(-0.5 * z * z)


@overload(_normal, jit_options={"error_model": "numpy", "fastmath": {"contract"}})
def _overload_normal(z):
    """In float32 by Hastings' rational approximation, whose error is below 1e-7."""
    if z != types.float32:
        return lambda z: (
            0.5 * (1.0 + math.erf(_ROOT_HALF * z)),
            _DENSITY_AT_0 * math.exp(-0.5 * z * z),
        )
    one, half, zero = np.float32(1), np.float32(0.5), np.float32(0)
    slope, density = np.float32(0.3275911 * _ROOT_HALF), np.float32(_DENSITY_AT_0)
    a1, a2, a3, a4, a5 = (
        np.float32(a / 2)
        for a in (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    )

    def rational(z):
        t = one / (one + slope * abs(z))
        e = fast_exp32(-half * z * z)
        tail = ((((a5 * t + a4) * t + a3) * t + a2) * t + a1) * t * e
        return tail if z < zero else one - tail, density * e

    return rational


@njit(**_ENTRY)
def gelu(z, out):
    """GELU of flat z, into `out`."""
    for i in range(len(z)):
        out[i] = z[i] * _normal(z[i])[0]


@njit(**_ENTRY)
def gelu_backward(z, gradient):
    """The gradient in z, in place of that in the value."""
    for i in range(len(z)):
        share, density = _normal(z[i])
        gradient[i] *= share + z[i] * density
