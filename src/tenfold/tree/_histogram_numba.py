"""Histograms of gradients: for each column and bin, the sums of g, h and the number of rows.

Bins lie row by row, so the cells of a row are one or two cache lines, and consecutive additions go
to different places. Words (`_fixed_point_numba`) are added in a table that stays in the cache; the
words of a column are unpacked into sums of 64 bits when one of its bins may soon overflow. Columns
that are bundled (`_bundles`) have a column of the table in common. Indices are unsigned: signed
ones are tested for being negative, which doubles the time. All sums are exact, so a histogram does
not depend on the order of the rows, and that of one child is that of the parent minus the other's.

Benchmark cases: `gbdt-higgs`, `gbdt-covertype` (benchmarks/trees.py).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.prefetch import prefetch
from tenfold.tree._compile_options import INNER, LOOP
from tenfold.tree._fixed_point_numba import FINE, count_bits, unpack_word

GROUP_COLUMNS = 64  # columns whose words are added at a time: their table stays near
MAX_CODES = 2**8  # of a column or bundle
_AHEAD = np.uintp(12)  # rows that are fetched in advance
_SIZE = np.uintp(MAX_CODES + 9)  # words between columns of the table: at a distance of a power of
# two, columns of two values would share few lines of the cache, which takes 17 times as long; a
# constant, so that four columns need one address

_ONE, _TWO, _STEP = np.uintp(1), np.uintp(2), np.uintp(4)  # columns of a step of the inner loop

# integers of a member of a bundle: its column, the bin that code 0 stands for (-1: the column is
# alone, and bins are codes), the code of its first other bin, its bins
COLUMN, DEFAULT, FIRST_CODE, BINS = 0, 1, 2, 3


def make_table(q: int) -> np.ndarray:
    """Room in which words of some of q columns are added up."""
    return np.zeros(2 * min(GROUP_COLUMNS, q) * int(_SIZE), np.int64)


@njit(**LOOP)
def add_rows(codes, rows, first, end, word, second, layout, limit, table, starts, members, sums):
    """Add the rows `rows[first:end]` to a histogram.

    Parameters
    ----------
    codes : (n * q,) uint8 array, codes of all rows, one row after the other
    rows : int32 array of row numbers
    word, second : (n,) int64 arrays, words of the rows; the second is used in the layout FINE
    layout : layout of the words
    limit : rows whose words may be added before they are unpacked
    table : array of zeros, scratch; see `make_table`
    starts, members : (q + 1,) and (p, 4) int64 arrays; see `tenfold.tree._bundles.Bundles`
    sums : (p * width, 3) int64 array, the histogram
    """
    q = len(starts) - 1
    for c in range(0, q, GROUP_COLUMNS):
        stop = c + GROUP_COLUMNS if c + GROUP_COLUMNS < q else q  # noqa: FURB136 - less to compile
        start, step = first, limit
        while start < end:
            last = start + step if start + step < end else end  # noqa: FURB136
            if layout == FINE:
                _add_fine(codes, q, rows, start, last, word, second, c, stop, table)
            else:
                _add_packed(codes, q, rows, start, last, word, c, stop, table)
            start, most = last, limit if last < end else np.int64(0)
            step = _unpack_filled(table, layout, c, stop, most, starts, members, sums)


@njit(**INNER)
def _add_packed(codes, q, rows, first, end, word, c, stop, table):
    """Add words of rows to the table of the columns c to stop - 1; layouts of one word."""
    n, whole = np.uintp(stop - c), np.uintp(stop - c) // _STEP * _STEP
    last = np.uintp(end - 1)
    for t in range(np.uintp(first), np.uintp(end)):
        ahead = np.int64(rows[t + _AHEAD if t + _AHEAD < last else last])  # noqa: FURB136
        prefetch(codes, ahead * q + c)
        prefetch(codes, ahead * q + stop - 1)
        prefetch(word, ahead)
        i = np.uintp(rows[t])
        x, at, base = word[i], i * np.uintp(q) + np.uintp(c), np.uintp(0)
        for j in range(np.uintp(0), whole, _STEP):
            for u in range(_STEP):
                table[base + u * _SIZE + np.uintp(codes[at + j + u])] += x
            base += _STEP * _SIZE
        for j in range(whole, n):
            table[base + np.uintp(codes[at + j])] += x
            base += _SIZE


@njit(**INNER)
def _add_fine(codes, q, rows, first, end, word, second, c, stop, table):
    """The same for the layout of two words."""
    n, whole = np.uintp(stop - c), np.uintp(stop - c) // _STEP * _STEP
    last = np.uintp(end - 1)
    for t in range(np.uintp(first), np.uintp(end)):
        ahead = np.int64(rows[t + _AHEAD if t + _AHEAD < last else last])  # noqa: FURB136
        prefetch(codes, ahead * q + c)
        prefetch(codes, ahead * q + stop - 1)
        prefetch(word, ahead)
        prefetch(second, ahead)
        i = np.uintp(rows[t])
        x, y, at, base = word[i], second[i], i * np.uintp(q) + np.uintp(c), np.uintp(0)
        for j in range(np.uintp(0), whole, _STEP):
            for u in range(_STEP):
                k = _TWO * (base + u * _SIZE + np.uintp(codes[at + j + u]))
                table[k] += x
                table[k + _ONE] += y
            base += _STEP * _SIZE
        for j in range(whole, n):
            k = _TWO * (base + np.uintp(codes[at + j]))
            table[k] += x
            table[k + _ONE] += y
            base += _SIZE


@njit(**INNER)
def _unpack_filled(table, layout, c, stop, limit, starts, members, sums):
    """Unpack columns of which a bin may be half full; how many rows may be added after that."""
    mask, top = (np.int64(1) << count_bits(layout)) - 1, np.int64(0)
    width = len(sums) // len(members)
    for u in range(c, stop):
        is_alone = members[starts[u], DEFAULT] < 0
        seen, first, codes = np.int64(0), np.uintp(u - c) * _SIZE, width if is_alone else MAX_CODES
        if layout == FINE:
            for b in range(np.uintp(codes)):
                seen |= table[_TWO * (first + b) + _ONE]
        else:
            for b in range(np.uintp(codes)):
                seen |= table[first + b]
        seen &= mask  # at least the count of each bin
        if 2 * seen <= limit:
            top = max(top, seen)
        elif is_alone:
            _unpack_column(table, first, layout, width, members[starts[u], COLUMN], sums)
        else:
            _unpack_bundle(table, first, layout, width, starts[u], starts[u + 1], members, sums)
    return limit - top


@njit(**INNER)
def _take_word(table, at, layout):
    """Sums of g, h and the count at a place of the table, which becomes 0."""
    y = np.int64(0)
    if layout == FINE:
        at *= _TWO
        y = table[at + _ONE]
        table[at + _ONE] = 0
    x = table[at]
    table[at] = 0
    return unpack_word(x, y, layout)


@njit(**INNER)
def _unpack_column(table, first, layout, width, column, sums):
    """Add the words of a column, which begin at a place of the table, to its sums."""
    for b in range(np.uintp(width)):
        g, h, count = _take_word(table, first + b, layout)
        if count > 0:
            k = np.uintp(column) * np.uintp(width) + b
            sums[k, 0] += g
            sums[k, 1] += h
            sums[k, 2] += count


@njit(**INNER)
def _unpack_bundle(table, first, layout, width, begin, end, members, sums):
    """The same for a bundle: all rows are in the default bin of a member but those in others."""
    total_g, total_h, total = _take_word(table, first, layout)
    for m in range(begin, end):
        column, default = members[m, COLUMN] * width, members[m, DEFAULT]
        own_g = own_h = own = np.int64(0)
        for b in range(members[m, BINS] - 1):
            at = first + np.uintp(members[m, FIRST_CODE] + b)
            g, h, count = _take_word(table, at, layout)
            k = np.uintp(column + b + (b >= default))
            sums[k, 0] += g
            sums[k, 1] += h
            sums[k, 2] += count
            own_g, own_h, own = own_g + g, own_h + h, own + count
        k = np.uintp(column + default)
        sums[k, 0] -= own_g
        sums[k, 1] -= own_h
        sums[k, 2] -= own
        total_g, total_h, total = total_g + own_g, total_h + own_h, total + own
    for m in range(begin, end):
        k = np.uintp(members[m, COLUMN] * width + members[m, DEFAULT])
        sums[k, 0] += total_g
        sums[k, 1] += total_h
        sums[k, 2] += total


@njit(**LOOP)
def add_histogram(sums, other, sign, n_bins):
    """Add one histogram to another, or subtract it; only bins that columns have are visited.

    `n_bins` are those of each column without that of missing values, which is the last.
    """
    p = len(n_bins)
    size = 3 * (len(sums) // p)
    ours, theirs = sums.reshape(-1), other.reshape(-1)
    for j in range(p):
        first, end = np.uintp(j * size), np.uintp((j + 1) * size)
        for k in range(first, first + np.uintp(3 * n_bins[j])):
            ours[k] += sign * theirs[k]
        for k in range(end - np.uintp(3), end):
            ours[k] += sign * theirs[k]


@njit(**LOOP)
def write_codes(column, usual, first, out):
    """Write the codes of the bins of a column that are not the usual one."""
    for i in range(len(out)):
        b = np.int64(column[i])
        if b != usual:
            out[i] = first + b - (b > usual)
