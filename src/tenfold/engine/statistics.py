"""Statistics that merge otherwise than by addition of whole arrays.

Each is a named tuple with a method `merge(other)`, associative and with `other` on the right: the
rows of `other` follow those of the statistic in the data set.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_DENSE_SHARE = 0.25  # of columns; a sum over more of them is stored for all columns


class SparseColumnSum(NamedTuple):
    """A sum of rows or matrices of which few columns differ from zero.

    Attributes
    ----------
    n_columns : number of columns of the whole sum
    columns : (m,) column numbers, ascending; None if all columns are stored
    block : (..., m) array, the entries of these columns

    Examples
    --------
    >>> a = SparseColumnSum.of(9, [2, 5], [1.0, 1.0])
    >>> b = SparseColumnSum.of(9, [5], [3.0])
    >>> a.merge(b).columns, a.merge(b).block
    (array([2, 5]), array([1., 4.]))
    """

    n_columns: int
    columns: np.ndarray | None
    block: np.ndarray
    narrow = True  # `merge` adds in 64 bits itself

    @classmethod
    def of(cls, n_columns: int, columns: Any, block: Any) -> SparseColumnSum:
        """The sum with these entries in these columns, which must ascend."""
        columns, block = np.asarray(columns, np.int64), _accumulator(np.asarray(block))
        return _densify(cls(n_columns, columns, block))

    def merge(self, other: SparseColumnSum) -> SparseColumnSum:
        """The sum of both, on the union of their columns."""
        if self.columns is None or other.columns is None:
            return SparseColumnSum(self.n_columns, None, self.dense() + other.dense())
        columns = np.union1d(self.columns, other.columns)
        dtype = np.result_type(self.block, other.block)
        block = np.zeros((*self.block.shape[:-1], len(columns)), dtype)
        block[..., np.searchsorted(columns, self.columns)] = self.block
        block[..., np.searchsorted(columns, other.columns)] += other.block
        return _densify(SparseColumnSum(self.n_columns, columns, block))

    def dense(self) -> np.ndarray:
        """The whole sum."""
        if self.columns is None:
            return self.block
        whole = np.zeros((*self.block.shape[:-1], self.n_columns), self.block.dtype)
        whole[..., self.columns] = self.block
        return whole


def _densify(total: SparseColumnSum) -> SparseColumnSum:
    """The sum with all columns, if many of them differ from zero."""
    if total.columns is None or len(total.columns) <= _DENSE_SHARE * total.n_columns:
        return total
    return SparseColumnSum(total.n_columns, None, total.dense())


class SmallestK(NamedTuple):
    """The k rows of the smallest values; of equal values the rows that come first.

    Attributes
    ----------
    k : number of rows that are kept
    values : (m,) values, ascending, m at most k
    rows : (m,) row numbers
    payload : (m, ...) array, what else belongs to the rows, or None

    Examples
    --------
    >>> a = SmallestK.of(2, [3.0, 1.0, 2.0], [0, 1, 2])
    >>> b = SmallestK.of(2, [2.0, 9.0], [3, 4])
    >>> a.merge(b).values, a.merge(b).rows
    (array([1., 2.]), array([1, 2]))
    """

    k: int
    values: np.ndarray
    rows: np.ndarray
    payload: np.ndarray | None = None
    narrow = True  # values and payload keep their types

    @classmethod
    def of(cls, k: int, values: Any, rows: Any, payload: Any = None) -> SmallestK:
        """The k smallest of values that belong to these rows."""
        values, rows = np.asarray(values), np.asarray(rows, np.int64)
        order = np.lexsort((rows, values))[:k]
        return cls(k, values[order], rows[order], None if payload is None else payload[order])

    def merge(self, other: SmallestK) -> SmallestK:
        """The k smallest of both."""
        payload = None
        if self.payload is not None and other.payload is not None:
            payload = np.concatenate([self.payload, other.payload])
        values = np.concatenate([self.values, other.values])
        return SmallestK.of(self.k, values, np.concatenate([self.rows, other.rows]), payload)


class SortedCounts(NamedTuple):
    """How often each key occurs.

    Attributes
    ----------
    keys : (m,) distinct keys, ascending
    counts : (m,) int64 numbers of occurrences

    Examples
    --------
    >>> SortedCounts.of([3, 1, 3]).merge(SortedCounts.of([2, 3]))
    SortedCounts(keys=array([1, 2, 3]), counts=array([1, 1, 3]))
    """

    keys: np.ndarray
    counts: np.ndarray
    narrow = True  # keys keep their type

    @classmethod
    def of(cls, keys: Any) -> SortedCounts:
        """The counts of some keys: numbers or text."""
        distinct, counts = np.unique(np.asarray(keys), return_counts=True)
        return cls(distinct, counts.astype(np.int64))

    def merge(self, other: SortedCounts) -> SortedCounts:
        """The counts of the keys of both."""
        keys = np.union1d(self.keys, other.keys)
        counts = np.zeros(len(keys), np.int64)
        counts[np.searchsorted(keys, self.keys)] = self.counts
        counts[np.searchsorted(keys, other.keys)] += other.counts
        return SortedCounts(keys, counts)


def _accumulator(block: np.ndarray) -> np.ndarray:
    """Entries in 64 bits."""
    if block.dtype.kind in "iub":
        return block.astype(np.int64, copy=False)
    return block.astype(np.float64, copy=False)
