"""Gradients as whole numbers: sums of them are exact, so their order does not matter.

A gradient g and a curvature h of a row become integers in units that are powers of two. Of these a
row has one or two words of 64 bits, which histograms add up; three layouts::

    CONSTANT   [ g: 51 bits | count: 13 ]             curvature 1, 8184 rows until it overflows
    COARSE     [ g: 28 bits | h: 25 | count: 11 ]     g, h in units of 2^-16, 2040 rows
    FINE       [ g: 64 bits ] [ h: 47 | count: 17 ]   anything else, 65,535 rows

`COARSE` rounds g and h to 16 bits, up or down at random by a hash of the number itself, so that
sums are right on average; values of leaves come from a second word with 32 bits of both.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._compile_options import LOOP

CONSTANT, COARSE, FINE = 0, 1, 2
BLOCK_ROWS = (8184, 2040, 65535)  # rows whose words may be added before they are unpacked

G_BITS = 37  # of |g|, relative to the largest, in CONSTANT and FINE
COARSE_UNIT = 2.0**-16  # of g and h, which are at most 1
FINE_H_BITS = 30  # of h
EXACT_G, EXACT_H = 2.0**32, 2.0**30  # units of the second word of COARSE, inverted

_C0, _C1, _C2 = 13, 11, 17  # bits of the count in the layouts
_H1 = 25  # bits of h in COARSE
_H_EXACT = 29  # bits of h in the second word of COARSE


def block_rows(layout: int, most_copies: int) -> int:
    """Rows whose words may be added; only in FINE a row may count as several copies of it."""
    return BLOCK_ROWS[layout] // (most_copies if layout == FINE else 1)


@njit(cache=True, nogil=True, inline="always")
def mix_bits(x):
    """A hash of 64 bits (the finalizer of MurmurHash3)."""
    x = np.uint64(x)
    x ^= x >> np.uint64(33)
    x *= np.uint64(0xFF51AFD7ED558CCD)
    x ^= x >> np.uint64(33)
    x *= np.uint64(0xC4CEB9FE1A85EC53)
    x ^= x >> np.uint64(33)
    return x


def quantize(
    g: np.ndarray,
    h: np.ndarray,
    copies: np.ndarray,
    layout: int,
    scale_g: float,
    scale_h: float,
    word: np.ndarray,
    second: np.ndarray,
) -> None:
    """Write the words of some rows; `scale_g` and `scale_h` are the inverse units.

    In FINE, a row counts as so many copies of it as its entry in `copies` says, if there is any.
    """
    if layout == CONSTANT:
        _write_constant(g, scale_g, word)
    elif layout == FINE:
        _write_fine(g, h, copies, scale_g, scale_h, word, second)
    else:
        _write_coarse(g, h, word, second)


@njit(**LOOP)
def _write_constant(g, scale_g, word):
    """Words of the layout CONSTANT."""
    for i in range(len(g)):
        word[i] = (np.int64(np.rint(g[i] * scale_g)) << _C0) + 1


@njit(**LOOP)
def _write_fine(g, h, copies, scale_g, scale_h, word, second):
    """Words of the layout FINE."""
    for i in range(len(g)):
        m = copies[i] if len(copies) else np.int64(1)
        word[i] = m * np.int64(np.rint(g[i] * scale_g))
        second[i] = ((m * np.int64(np.rint(h[i] * scale_h))) << _C2) + 1


@njit(**LOOP)
def _write_coarse(g, h, word, second):
    """Words of the layout COARSE."""
    for i in range(len(g)):
        gi = np.int64(np.rint(g[i] * EXACT_G))
        hi = np.int64(np.rint(h[i] * EXACT_H))
        exact = (gi << _H_EXACT) + hi
        dither = mix_bits(exact)
        g16 = (gi + np.int64(dither & np.uint64(0xFFFF))) >> 16
        h16 = (hi + np.int64((dither >> np.uint64(16)) & np.uint64(0x3FFF))) >> 14
        word[i] = (g16 << (_H1 + _C1)) + (h16 << _C1) + 1
        second[i] = exact


@njit(cache=True, nogil=True, inline="always")
def unpack_word(x, y, layout):
    """Sums of g and h and the count of a sum of words; `y` is the second word of FINE."""
    if layout == FINE:
        return x, y >> _C2, y & ((1 << _C2) - 1)
    bits = _C0 if layout == CONSTANT else _C1
    count = x & ((1 << bits) - 1)
    rest = (x - count) >> bits
    h = count if layout == CONSTANT else rest & ((1 << _H1) - 1)
    return rest if layout == CONSTANT else (rest - h) >> _H1, h, count


@njit(cache=True, nogil=True, inline="always")
def count_bits(layout):
    """Bits of the count, the lowest ones of its word."""
    if layout == FINE:
        return _C2
    return _C0 if layout == CONSTANT else _C1


@njit(**LOOP)
def leaf_sums(rows, first, end, word, second, layout):
    """Exact sums of g and h of some rows, for the value of a leaf."""
    g = h = np.int64(0)
    for t in range(np.uintp(first), np.uintp(end)):
        i = np.uintp(rows[t])
        if layout == CONSTANT:
            g += (word[i] - 1) >> _C0
            h += 1
        elif layout == COARSE:
            part = second[i] & ((1 << _H_EXACT) - 1)
            g += (second[i] - part) >> _H_EXACT
            h += part
        else:
            g += word[i]
            h += second[i] >> _C2
    return g, h


@njit(**LOOP)
def exact_sum(bits, copies, pieces):
    """Add numbers to a sum of 68 pieces of 32 bits, exactly; each so often as `copies` says.

    `bits` are those of the numbers, as int64.
    """
    for i in range(len(bits)):
        b = bits[i]
        exponent = (b >> 52) & 2047
        mantissa = b & ((1 << 52) - 1)
        if exponent > 0:
            mantissa |= 1 << 52
        else:
            exponent = 1
        at, shift = exponent >> 5, exponent & 31
        low = (mantissa << shift) & 0xFFFFFFFF
        rest = mantissa >> (32 - shift)
        sign = np.int64(-1 if b < 0 else 1)
        if len(copies):
            sign *= copies[i]
        pieces[at] += sign * low
        pieces[at + 1] += sign * (rest & 0xFFFFFFFF)
        pieces[at + 2] += sign * (rest >> 32)
