"""Entries (user, item, value) sorted by user and by item, in memory or in temporary files."""

from __future__ import annotations

import tempfile
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.recommend._tuning import MAX_BYTES_IN_MEMORY

_FIRST_CAPACITY = 2**16  # entries


def empty_column(size: int, dtype: Any) -> np.ndarray:
    """An array that is not initialized; a large one lies in a file that is gone with it."""
    if size * np.dtype(dtype).itemsize <= MAX_BYTES_IN_MEMORY:
        return np.empty(size, dtype)
    with tempfile.TemporaryFile(prefix="tenfold-ratings-") as file:  # the mapping keeps it
        return np.memmap(file, dtype, "w+", shape=(size,))


class Triples:
    """Entries in the order in which they come, in columns that grow.

    Parameters
    ----------
    weighted : bool
        Whether entries have weights.
    """

    def __init__(self, *, weighted: bool) -> None:
        self.n = 0
        kinds = {"user": np.int32, "item": np.int32, "value": np.float64}
        kinds |= {"weight": np.float64} if weighted else {}
        self.columns = {name: empty_column(_FIRST_CAPACITY, kind) for name, kind in kinds.items()}

    def append(self, **parts: np.ndarray) -> None:
        """Add entries, a part for each column."""
        end = self.n + len(parts["user"])
        for name, column in self.columns.items():
            if end > len(column):
                self.columns[name] = self._grow(column, end)
            self.columns[name][self.n : end] = parts[name]
        self.n = end

    def _grow(self, column: np.ndarray, end: int) -> np.ndarray:
        larger = empty_column(max(end, 2 * len(column)), column.dtype)
        larger[: self.n] = column[: self.n]
        return larger

    def column(self, name: str) -> np.ndarray:
        """One column; that of the weights is empty if there are none."""
        return self.columns[name][: self.n] if name in self.columns else np.empty(0)


class SortedEntries(NamedTuple):
    """Entries by rows, columns ascending within a row.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Where rows begin.
    indices : ndarray of shape (n_entries,), int32
        Columns.
    values : ndarray of shape (n_entries,)
        float32 if it holds all values exactly, else float64.
    weights : ndarray of shape (n_entries,) or None
        None: all 1.
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    weights: np.ndarray | None

    @property
    def counts(self) -> np.ndarray:
        """Entries of each row."""
        return np.diff(self.indptr)

    @property
    def masses(self) -> np.ndarray:
        """Weight of the entries of each row."""
        if self.weights is None:
            return self.counts.astype(np.float64)
        return _row_sums(self.indptr, np.asarray(self.weights))

    def row(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Columns and values of a row."""
        span = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[span], self.values[span]


def sort_entries(triples: Triples, n_users: int, n_items: int) -> SortedEntries:
    """Entries by user, items ascending; equal pairs stay in the order in which they came."""
    value, weight = triples.column("value"), triples.column("weight")
    user, item = triples.column("user"), triples.column("item")
    kind = np.float32 if _fits_float32(value) else np.float64
    weighted = len(weight) > 0
    by_item = _allocate(triples.n, kind, weighted=weighted)
    _scatter(item, user, value, weight, n_items, *by_item)
    item_of = _expand(np.bincount(item, minlength=n_items))
    by_user = _allocate(triples.n, kind, weighted=weighted)
    counts = _scatter(by_item[0], item_of, by_item[1], by_item[2], n_users, *by_user)
    indptr = np.concatenate([[0], counts.cumsum()])
    return SortedEntries(indptr, by_user[0], by_user[1], by_user[2] if weighted else None)


def transpose_entries(entries: SortedEntries, n_columns: int) -> SortedEntries:
    """The same entries by columns, rows ascending."""
    weights = np.empty(0) if entries.weights is None else entries.weights
    weighted = entries.weights is not None
    transposed = _allocate(len(entries.indices), entries.values.dtype, weighted=weighted)
    rows = _expand(entries.counts)
    counts = _scatter(entries.indices, rows, entries.values, weights, n_columns, *transposed)
    indptr = np.concatenate([[0], counts.cumsum()])
    return SortedEntries(indptr, transposed[0], transposed[1], transposed[2] if weighted else None)


def merge_equal_pairs(entries: SortedEntries, how: str) -> SortedEntries:
    """Entries of the same pair as one: their sum, or their mean with the sum of their weights."""
    same = np.zeros(len(entries.indices), bool)
    same[1:] = entries.indices[1:] == entries.indices[:-1]
    starts = entries.indptr[:-1]
    same[starts[starts < len(same)]] = False  # the first of a row is no pair of the row before
    if not same.any():
        return entries
    group = np.cumsum(~same) - 1
    ones = np.ones(len(same)) if entries.weights is None else entries.weights
    weights = np.bincount(group, ones)
    values = np.bincount(group, ones * entries.values)
    if how == "mean":
        values = np.divide(values, weights, out=np.zeros_like(values), where=weights > 0)
    before = np.concatenate([[0], np.cumsum(~same)])
    indptr = before[entries.indptr]
    return SortedEntries(
        indptr, entries.indices[~same], values, weights if how == "mean" else entries.weights
    )


def _allocate(n: int, kind: Any, *, weighted: bool) -> tuple[np.ndarray, ...]:
    columns = empty_column(n, np.int32), empty_column(n, kind)
    return (*columns, empty_column(n if weighted else 0, np.float64))


def _fits_float32(values: np.ndarray) -> bool:
    step = 2**22
    return all(
        bool((values[i : i + step].astype(np.float32) == values[i : i + step]).all())
        for i in range(0, len(values), step)
    )


def _expand(counts: np.ndarray) -> np.ndarray:
    """The row of each entry."""
    rows = empty_column(int(counts.sum()), np.int32)
    _fill_rows(counts, rows)
    return rows


@njit(cache=True, nogil=True)
def _fill_rows(counts, rows):  # noqa: ANN001, ANN202
    at = 0
    for i in range(len(counts)):
        for _ in range(counts[i]):
            rows[at] = i
            at += 1


@njit(cache=True, nogil=True)
def _scatter(key, other, value, weight, n, columns, values, weights):  # noqa: ANN001, ANN202
    """Counting sort by key, which keeps the order of equal keys; returns the counts."""
    counts = np.zeros(n, np.int64)
    for e in range(len(key)):
        counts[key[e]] += 1
    place = np.zeros(n, np.int64)
    for i in range(1, n):
        place[i] = place[i - 1] + counts[i - 1]
    for e in range(len(key)):
        at = place[key[e]]
        place[key[e]] += 1
        columns[at] = other[e]
        values[at] = value[e]
        if len(weight):
            weights[at] = weight[e]
    return counts


@njit(cache=True, nogil=True)
def _row_sums(indptr, values):  # noqa: ANN001, ANN202
    sums = np.zeros(len(indptr) - 1)
    for i in range(len(sums)):
        for e in range(indptr[i], indptr[i + 1]):
            sums[i] += values[e]
    return sums
