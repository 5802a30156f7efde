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
from tenfold.tree._fixed_point_numba import BLOCK_ROWS, FINE, unpack_words

GROUP_COLUMNS = 64  # columns whose words are added at a time: their table stays near
_AHEAD = 12  # rows that are fetched in advance
_PAD = 9  # unused words after each column of the table: columns at a distance of a power of two
# would share few lines of the cache, which takes 17 times as long for columns of two values


def make_table(p: int, width: int) -> np.ndarray:
    """Room in which words of some columns are added up."""
    return np.zeros(2 * min(GROUP_COLUMNS, p) * (width + _PAD), np.int64)


@njit(cache=True, nogil=True)
def add_packed_rows(bins, p, rows, first, end, word, layout, table, sums):
    """Add the rows `rows[first:end]` to a histogram; layouts of one word.

    Parameters
    ----------
    bins : (n * p,) uint8 array, bins of all rows, one row after the other
    p : number of columns
    rows : int32 array of row numbers
    word : (n,) int64 array, words of the rows
    layout : layout of the words
    table : int64 array of zeros, scratch; see `make_table`
    sums : (p * width, 3) int64 array, the histogram
    """
    width = len(sums) // p
    step = BLOCK_ROWS[layout]
    for c in range(0, p, GROUP_COLUMNS):
        stop = min(c + GROUP_COLUMNS, p)
        for start in range(first, end, step):
            last = min(start + step, end)
            for t in range(start, last):
                ahead = np.int64(rows[min(t + _AHEAD, last - 1)])
                prefetch(bins, ahead * p + c)
                prefetch(word, ahead)
                i = np.uintp(rows[t])
                x, at, base = word[i], i * np.uintp(p), np.uintp(0)
                for j in range(c, stop):
                    table[base + np.uintp(bins[at + np.uintp(j)])] += x
                    base += np.uintp(width + _PAD)
            unpack_words(table, layout, width, _PAD, sums[c * width : stop * width])


@njit(cache=True, nogil=True)
def add_fine_rows(bins, p, rows, first, end, word, second, step, table, sums):
    """The same for the layout of two words, unpacked after `step` rows."""
    width = len(sums) // p
    for c in range(0, p, GROUP_COLUMNS):
        stop = min(c + GROUP_COLUMNS, p)
        for start in range(first, end, step):
            last = min(start + step, end)
            for t in range(start, last):
                ahead = np.int64(rows[min(t + _AHEAD, last - 1)])
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
            unpack_words(table, FINE, width, _PAD, sums[c * width : stop * width])
