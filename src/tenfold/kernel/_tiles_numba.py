"""Compiled loops over a tile of kernel values, while it lies in the cache.

`from_products` turns products x.z into kernel values of the distance |x - z|; where the products
cancel, the distance comes from differences, so that it is exactly 0 for equal rows.
`manhattan_tile` and `chi_square_tile` have no product in them and sum over columns.
`exponentiate_rows` is for sums of kernel values in the log domain.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import overload

from tenfold._compiled.exponential import fast_exp, fast_exp32

SQUARED_DISTANCE, EXPONENTIAL, MATERN_12, MATERN_32, MATERN_52 = range(5)
CANCELLATION = {4: 1e-3, 8: 1e-7}  # by bytes: d^2 / (|x|^2 + |z|^2) below which products cancel
_LOWEST = {4: -87.0, 8: -708.0}  # by bytes: exponents below which a kernel value is 0


def _decay(x, lowest):
    """exp(x) for x <= 0 in the type of x, 0 below `lowest`."""


@overload(_decay)
def _overload_decay(x, lowest):  # noqa: ARG001
    def decay32(x, lowest):
        value = fast_exp32(x)
        return value if x > lowest else np.float32(0)

    def decay64(x, lowest):
        value = fast_exp(x)
        return value if x > lowest else 0.0

    return decay32 if x == types.float32 else decay64


@njit(cache=True, nogil=True)
def from_products(P, x2, z2, X, Z, kind, cancellation, lowest):
    """Replace products P[i, j] = X[i].Z[j] by a function of |X[i] - Z[j]|^2.

    `x2` and `z2` are squared norms; rows are scaled so that the function has no parameter:
    exp(-d^2 / 2), exp(-d), and Matern's (1 + d) exp(-d), (1 + d + d^2 / 3) exp(-d).
    """
    for i in range(len(P)):
        row = P[i]
        _squared_distances(row, x2[i], z2, X[i], Z, cancellation)
        if kind != SQUARED_DISTANCE:
            _apply(row, kind, lowest)


@njit(cache=True, nogil=True)
def function_tile(squares, kind, lowest):
    """Replace squared distances by a function of them."""
    if kind != SQUARED_DISTANCE:
        for i in range(len(squares)):
            _apply(squares[i], kind, lowest)


@njit(cache=True, nogil=True)
def _squared_distances(row, x2, z2, x, Z, cancellation):
    """Replace products of x with all rows of Z by squared distances."""
    suspicious = 0
    for j in range(len(row)):
        total = x2 + z2[j]
        d = total - (row[j] + row[j])
        suspicious += not d > cancellation * total  # also where squares have overflowed
        row[j] = d
    if suspicious:
        for j in range(len(row)):
            if not row[j] > cancellation * (x2 + z2[j]):
                row[j] = _difference(x, Z[j])


@njit(cache=True, nogil=True)
def _difference(x, z):
    """|x - z|^2 from differences."""
    total = x[0] - x[0]
    for k in range(len(x)):
        gap = x[k] - z[k]
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def _apply(row, kind, lowest):
    """Replace squared distances by kernel values."""
    if kind == EXPONENTIAL:
        half = row.dtype.type(0.5)
        for j in range(len(row)):
            row[j] = _decay(-half * row[j], lowest)
        return
    one, third = row.dtype.type(1), row.dtype.type(1 / 3)
    for j in range(len(row)):
        d = np.sqrt(row[j])
        row[j] = min(d, -lowest)  # there the value is 0, and inf * 0 would be none
    if kind == MATERN_12:
        for j in range(len(row)):
            row[j] = _decay(-row[j], lowest)
    elif kind == MATERN_32:
        for j in range(len(row)):
            row[j] = (one + row[j]) * _decay(-row[j], lowest)
    else:
        for j in range(len(row)):
            d = row[j]
            row[j] = (one + d + third * (d * d)) * _decay(-d, lowest)


@njit(cache=True, nogil=True)
def manhattan_tile(X, Zt, out):
    """Sums of |x - z| over columns; Zt has the rows z as columns."""
    for i in range(len(X)):
        row = out[i]
        row[:] = 0
        for k in range(X.shape[1]):
            x, z = X[i, k], Zt[k]
            for j in range(len(row)):
                row[j] += abs(x - z[j])


@njit(cache=True, nogil=True)
def chi_square_tile(X, Zt, out):
    """Sums of (x - z)^2 / (x + z) over columns with x + z != 0; Zt has the rows z as columns."""
    zero, one = out.dtype.type(0), out.dtype.type(1)
    for i in range(len(X)):
        row = out[i]
        row[:] = 0
        for k in range(X.shape[1]):
            x, z = X[i, k], Zt[k]
            for j in range(len(row)):
                gap, total = x - z[j], x + z[j]
                row[j] += gap * gap / (total if total != zero else one)


@njit(cache=True, nogil=True)
def decay_tile(out, scale, lowest):
    """Replace values v >= 0 by exp(-scale v)."""
    for i in range(len(out)):
        row = out[i]
        for j in range(len(row)):
            row[j] = _decay(-scale * row[j], lowest)


@njit(cache=True, nogil=True)
def _largest(row, best):
    """The largest of a number and the entries of a row: four at once, as each waits for itself."""
    a, b, c, d = best, best, best, best
    whole = len(row) - len(row) % 4
    for j in range(0, whole, 4):
        a, b = max(a, row[j]), max(b, row[j + 1])
        c, d = max(c, row[j + 2]), max(d, row[j + 3])
    for j in range(whole, len(row)):
        a = max(a, row[j])
    return max(a, b, c, d)


@njit(cache=True, nogil=True)
def _sum_in_lanes(row):
    """Sum of a row in eight parts, of every eighth entry each."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = len(row) - len(row) % 8
    for j in range(0, whole, 8):
        a, b, c, d = a + row[j], b + row[j + 1], c + row[j + 2], d + row[j + 3]
        e, f, g, h = e + row[j + 4], f + row[j + 5], g + row[j + 6], h + row[j + 7]
    for j in range(whole, len(row)):
        a += row[j]
    return ((a + e) + (c + g)) + ((b + f) + (d + h))


@njit(cache=True, nogil=True)
def exponentiate_rows(L, top, factor, mass):
    """Replace logarithms by exponentials relative to the largest of each row so far.

    `top` is that largest one, `factor` what earlier sums are to be multiplied with, `mass` the sum
    of the exponentials of each row.
    """
    for i in range(len(L)):
        row = L[i]
        best = _largest(row, top[i])
        factor[i] = np.exp(top[i] - best) if top[i] > -np.inf else 0.0
        top[i] = best
        for j in range(len(row)):
            row[j] = _decay(row[j] - best, -708.0) if best > -np.inf else 0.0
        mass[i] = _sum_in_lanes(row)


def lowest_exponent(dtype: np.dtype) -> np.floating:
    """Exponent below which kernel values of this type are 0."""
    return dtype.type(_LOWEST[dtype.itemsize])
