"""Histograms of gradients: for each column and bin, the sums of g, h and the number of rows.

Bins lie row by row, so the cells of a row are one or two cache lines, and consecutive additions go
to different places. Words (`_fixed_point_numba`) are added in a table that stays in the cache, and
unpacked into sums of 64 bits before they overflow. Indices are unsigned: signed ones are tested
for being negative, which doubles the time. All sums are exact, so a histogram does not
depend on the order of the rows, and that of one child is that of the parent minus the other's.

Benchmark case: `gbdt-higgs` (benchmarks/trees.py).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.prefetch import prefetch
from tenfold.tree._compile_options import INNER, LOOP
from tenfold.tree._fixed_point_numba import FINE, unpack_words

GROUP_COLUMNS = 64  # columns whose words are added at a time: their table stays near
_AHEAD = 12  # rows that are fetched in advance
_PAD = 9  # unused words after each column of the table: columns at a distance of a power of two
# would share few lines of the cache, which takes 17 times as long for columns of two values


def make_table(p: int, width: int) -> np.ndarray:
    """Room in which words of some columns are added up."""
    return np.zeros(2 * min(GROUP_COLUMNS, p) * (width + _PAD), np.int64)


@njit(**LOOP)
def add_rows(bins, p, rows, first, end, word, second, layout, step, table, sums):
    """Add the rows `rows[first:end]` to a histogram.

    Parameters
    ----------
    bins : (n * p,) uint8 array, bins of all rows, one row after the other
    p : number of columns
    rows : int32 array of row numbers
    word, second : (n,) int64 arrays, words of the rows; the second is used in the layout FINE
    layout : layout of the words
    step : rows whose words may be added before they are unpacked
    table : int64 array of zeros, scratch; see `make_table`
    sums : (p * width, 3) int64 array, the histogram
    """
    width = len(sums) // p
    for c in range(0, p, GROUP_COLUMNS):
        stop = c + GROUP_COLUMNS if c + GROUP_COLUMNS < p else p  # noqa: FURB136 - less to compile
        for start in range(first, end, step):
            last = start + step if start + step < end else end  # noqa: FURB136
            if layout == FINE:
                _add_fine(bins, p, rows, start, last, word, second, c, stop, width, table)
            else:
                _add_packed(bins, p, rows, start, last, word, c, stop, width, table)
            unpack_words(table, layout, width, _PAD, c, stop, sums)


@njit(**INNER)
def _add_packed(bins, p, rows, first, end, word, c, stop, width, table):
    """Add words of rows to the table of the columns c to stop - 1; layouts of one word."""
    for t in range(first, end):
        ahead = np.int64(rows[t + _AHEAD if t + _AHEAD < end else end - 1])
        prefetch(bins, ahead * p + c)
        prefetch(word, ahead)
        i = np.uintp(rows[t])
        x, at, base = word[i], i * np.uintp(p), np.uintp(0)
        for j in range(c, stop):
            table[base + np.uintp(bins[at + np.uintp(j)])] += x
            base += np.uintp(width + _PAD)


@njit(**INNER)
def _add_fine(bins, p, rows, first, end, word, second, c, stop, width, table):
    """The same for the layout of two words."""
    for t in range(first, end):
        ahead = np.int64(rows[t + _AHEAD if t + _AHEAD < end else end - 1])
        prefetch(bins, ahead * p + c)
        prefetch(word, ahead)
        prefetch(second, ahead)
        i = np.uintp(rows[t])
        x, y, at, base = word[i], second[i], i * np.uintp(p), np.uintp(0)
        for j in range(c, stop):
            k = np.uintp(2) * (base + np.uintp(bins[at + np.uintp(j)]))
            table[k] += x
            table[k + np.uintp(1)] += y
            base += np.uintp(width + _PAD)
