"""Entries (user, item, value) sorted by user and by item, in memory or in temporary files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_array

from tenfold.engine.chunk import Chunk
from tenfold.engine.source import Source
from tenfold.recommend._thresholds import MAX_BYTES_IN_MEMORY

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
        kinds = {"user": np.int32, "item": np.int32, "value": np.float32}
        kinds |= {"weight": np.float64} if weighted else {}
        self.columns = {name: empty_column(_FIRST_CAPACITY, kind) for name, kind in kinds.items()}

    def append(self, **parts: np.ndarray) -> None:
        """Add entries, a part for each column; values are float32 while that is exact."""
        end = self.n + len(parts["user"])
        for name, column in self.columns.items():
            kind = column.dtype
            if kind == np.float32 and not _fits_float32(parts[name]):
                kind = np.dtype(np.float64)
            if end > len(column) or kind != column.dtype:
                size = max(end, 2 * len(column)) if end > len(column) else len(column)
                self.columns[name] = larger = empty_column(size, kind)
                larger[: self.n] = column[: self.n]
            self.columns[name][self.n : end] = parts[name]
        self.n = end

    def column(self, name: str) -> np.ndarray:
        """One column; that of the weights is empty if there are none."""
        return self.columns[name][: self.n] if name in self.columns else np.empty(0)

    def pop(self, name: str) -> np.ndarray:
        """One column, which is forgotten here: memory is what sorting needs most."""
        column = self.column(name)
        self.columns.pop(name, None)
        return column


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
        return row_sums(self.indptr, np.asarray(self.weights))

    def row(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Columns and values of a row."""
        span = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[span], self.values[span]


def sort_entries(triples: Triples, n_users: int, n_items: int) -> SortedEntries:
    """Entries by user, items ascending; equal pairs stay in the order in which they came.

    The triples are used up.
    """
    user, item = triples.pop("user"), triples.pop("item")
    value, weight = triples.pop("value"), triples.pop("weight")
    weighted = len(weight) > 0
    users, values, weights = _allocate(triples.n, value.dtype, weight)
    counts = _scatter(item, user, value, weight, n_items, users, values, weights)
    del user, item, value, weight
    item_of = _expand(counts)
    by_user = _allocate(triples.n, values.dtype, weights)
    counts = _scatter(users, item_of, values, weights, n_users, *by_user)
    indptr = np.concatenate([[0], counts.cumsum()])
    return SortedEntries(indptr, by_user[0], by_user[1], by_user[2] if weighted else None)


def transpose_entries(entries: SortedEntries, n_columns: int) -> SortedEntries:
    """The same entries by columns, rows ascending."""
    weights = np.empty(0) if entries.weights is None else entries.weights
    weighted = entries.weights is not None
    transposed = _allocate(len(entries.indices), entries.values.dtype, weights)
    rows = _expand(entries.counts)
    counts = _scatter(entries.indices, rows, entries.values, weights, n_columns, *transposed)
    indptr = np.concatenate([[0], counts.cumsum()])
    return SortedEntries(indptr, transposed[0], transposed[1], transposed[2] if weighted else None)


def merge_equal_pairs(entries: SortedEntries, how: str) -> SortedEntries:
    """Entries of the same pair as one: their mean with the sum of their weights, or their sum.

    In a sum a weight of two is the entry twice, so that sums have no weights.
    """
    if how == "sum" and entries.weights is not None:
        sums = empty_column(len(entries.indices), np.float64)
        np.multiply(entries.values, entries.weights, out=sums)
        entries = entries._replace(values=sums, weights=None)
    indptr, n = _count_pairs(entries.indptr, entries.indices)
    if n == len(entries.indices):
        return entries
    weighted = how == "mean" or entries.weights is not None
    columns = empty_column(n, np.int32), empty_column(n, entries.values.dtype)
    kind = np.float32 if entries.weights is None else np.float64  # numbers of equal pairs
    weights = empty_column(n if weighted else 0, kind)
    given = np.empty(0) if entries.weights is None else entries.weights
    _merge_pairs(
        entries.indptr, entries.indices, entries.values, given, how == "mean", *columns, weights
    )
    return SortedEntries(indptr, *columns, weights if weighted else None)


def join_weights(*parts: SortedEntries) -> np.ndarray:
    """The weights of all entries, one part after the other; empty if all of them are 1."""
    if all(part.weights is None for part in parts):
        return np.empty(0)
    return np.concatenate(
        [np.ones(len(e.indices)) if e.weights is None else e.weights for e in parts]
    )


def count_columns(entries: SortedEntries, n_columns: int) -> np.ndarray:
    """Entries of each column."""
    return _count(entries.indices, n_columns)


class EntriesSource(Source):
    """Rows of entries as chunks of a sparse matrix; where they have weights, these stand beside.

    Parameters
    ----------
    entries : SortedEntries
        Rows.
    n_columns : int
        Columns of the values; weights are in as many further ones.
    """

    sparse = True
    finite = True

    def __init__(self, entries: SortedEntries, n_columns: int) -> None:
        self.entries, self.n_columns = entries, n_columns
        self.n_rows = len(entries.indptr) - 1
        self.n_features = n_columns * (1 if entries.weights is None else 2)
        self.dtype = np.dtype(np.float64 if entries.weights is not None else entries.values.dtype)
        self.matrices: dict[tuple[int, int], csr_array] = {}  # views, made in the first pass

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"matrices": {}}

    @property
    def row_bytes(self) -> int:
        """Memory of a row, about."""
        return 16 * (1 + len(self.entries.indices) // max(self.n_rows, 1))

    def chunks(self, run: range) -> Iterator[Chunk]:
        """The chunks of a run."""
        for number in run:
            first, end = self.span(number)
            yield Chunk(self._matrix(first, end), first=first)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers."""
        if not len(rows):
            return Chunk(self._matrix(0, 0))
        first, end = int(rows[0]), int(rows[-1]) + 1
        return Chunk(self._matrix(first, end)[np.asarray(rows) - first])

    def _matrix(self, first: int, end: int) -> csr_array:
        if self.entries.weights is not None:  # a copy, too large to keep
            return self._make_matrix(first, end)
        if (first, end) not in self.matrices:
            self.matrices[first, end] = self._make_matrix(first, end)
        return self.matrices[first, end]

    def _make_matrix(self, first: int, end: int) -> csr_array:
        e, m = self.entries, self.n_columns
        span = slice(e.indptr[first], e.indptr[end])
        indptr = e.indptr[first : end + 1] - e.indptr[first]
        indices, values = np.asarray(e.indices[span]), np.asarray(e.values[span])
        if e.weights is None:
            return csr_array((values, indices, indptr), (end - first, m))
        row = np.repeat(np.arange(end - first), np.diff(indptr))
        place = np.arange(len(indices)) + indptr[row]
        both, data = np.empty(2 * len(indices), np.int32), np.empty(2 * len(indices))
        both[place], data[place] = indices, values
        beside = place + np.diff(indptr)[row]
        both[beside], data[beside] = indices + m, e.weights[span]
        return csr_array((data, both, 2 * indptr), (end - first, 2 * m))


def chunk_entries(X: Any, n_columns: int) -> SortedEntries:
    """The entries of a chunk of such rows, and their weights if it has them."""
    if X.shape[1] == n_columns:
        return SortedEntries(X.indptr, X.indices, X.data, None)
    first = X.indices < n_columns
    return SortedEntries(X.indptr // 2, X.indices[first], X.data[first], X.data[~first])


def _allocate(n: int, kind: Any, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    columns = empty_column(n, np.int32), empty_column(n, kind)
    return (*columns, empty_column(n if len(weights) else 0, weights.dtype))


def _fits_float32(values: np.ndarray) -> bool:
    step = 2**22
    with np.errstate(over="ignore"):  # what is too large becomes infinity, which differs
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
def row_sums(indptr, values):  # noqa: ANN001, ANN202
    sums = np.zeros(len(indptr) - 1)
    for i in range(len(sums)):
        for e in range(indptr[i], indptr[i + 1]):
            sums[i] += values[e]
    return sums


@njit(cache=True, nogil=True)
def _count(indices, n):  # noqa: ANN001, ANN202
    counts = np.zeros(n)
    for e in range(len(indices)):
        counts[indices[e]] += 1.0
    return counts


@njit(cache=True, nogil=True)
def _count_pairs(indptr, indices):  # noqa: ANN001, ANN202
    """Where rows begin if equal neighbors are one entry, and the number of entries then."""
    starts = np.zeros(len(indptr), np.int64)
    n = 0
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            n += e == indptr[i] or indices[e] != indices[e - 1]
        starts[i + 1] = n
    return starts, n


@njit(cache=True, nogil=True)
def _merge_pairs(indptr, indices, values, given, mean, columns, sums, weights):  # noqa: ANN001, ANN202
    at = -1
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            w = given[e] if len(given) else 1.0
            if e == indptr[i] or indices[e] != indices[e - 1]:
                at += 1
                columns[at], sums[at] = indices[e], 0.0
                if len(weights):
                    weights[at] = 0.0
            sums[at] += w * values[e]
            if len(weights):
                weights[at] += w
    if mean:
        for e in range(len(sums)):
            sums[e] /= weights[e]
