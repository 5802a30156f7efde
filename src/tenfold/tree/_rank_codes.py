"""Columns as rank codes: the k-th smallest distinct value of a column becomes k.

A tree asks of a column only the order of its values, so codes lose nothing. They take two bytes a
cell (four where a column has more than 65,535 distinct values, one in very large tables of few
values), and lie in memory row by row (a node that asks some columns of scattered rows then touches
few cache lines), or in a temporary file if they would take too much of it. A missing value has the
code after the last. Where ranks are not needed or take too much memory, the bits of float32 numbers
are codes as good. Columns of float64 numbers with more than `EXACT_ROWS` rows and more than 65,535
distinct values are cut at 65,535 quantiles; that is a matter of the data and not of the machine, so
trees do not depend on where the rows lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import available_memory
from tenfold.engine.rows import Rows
from tenfold.engine.thread_pool import map_threads
from tenfold.tree._cart_criterion_numba import BITS, EDGES, RANKS
from tenfold.tree._cart_sort_numba import MAX_DIGIT_VALUES
from tenfold.tree._large_arrays import allocate, is_mapped, row_blocks, uses_files
from tenfold.tree._rank_codes_numba import rank_singles, rank_sorted, sort_column

EXACT_ROWS = 2**25
_BITS_ROWS = 2**13  # rows whose bits a thread takes at a time
MISSING_BITS = 2**32 - 1  # code of a missing value among the bits of numbers
_SHORT_CODES = 65_535  # with the code of a missing value they fit two bytes
_BYTE_TABLE_CELLS = 2**28  # from so many cells on, one byte is used where it suffices
_MAX_ORDER_BYTES = 2**31  # of orders of rows by columns, and the copy of a tree
_BLOCK_BYTES = 2**28  # columns of a file that are held at once


# codes of arrays, within `reuse_codes`
_known_codes: ContextVar[list[_KnownCodes] | None] = ContextVar("known_codes", default=None)


class ColumnCodes(NamedTuple):
    """Rank codes of all columns.

    Attributes
    ----------
    codes : (n_features, n) uint8, uint16 or uint32, in Fortran order
    values : sorted distinct values of all columns, one after the other
    starts : (n_features,) where the values of each column begin
    kinds : (n_features,) RANKS, EDGES (a value is the upper edge of a bin) or BITS (codes are the
        bits of float32 numbers, in an order that is that of the numbers; there are no values)
    missing : (n_features,) the code of a missing value
    """

    codes: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    kinds: np.ndarray
    missing: np.ndarray


@dataclass
class _KnownCodes:
    """An array, its codes, and its rows in the order of each column, where they were asked for."""

    X: Any
    codes: ColumnCodes
    order: np.ndarray | None = None


class _Column(NamedTuple):
    codes: np.ndarray
    values: np.ndarray
    exact: bool


@contextmanager
def reuse_codes() -> Iterator[None]:
    """Within it, trees that are fitted to the same array share its codes."""
    token = _known_codes.set([])
    try:
        yield
    finally:
        _known_codes.reset(token)


def encode_columns(rows: Rows, *, need_ranks: bool = True) -> ColumnCodes:
    """Codes of the columns of all rows.

    Rows of float32 get bits in place of ranks where ranks are not needed, where they would take too
    much memory, and where there are too many rows for ranks that are exact.
    """
    known, source = _known_codes.get(), rows.source
    is_shared = known is not None and isinstance(source, ArraySource)
    for entry in known if known is not None and is_shared else ():
        if entry.X is source.X:  # pyright: ignore[reportAttributeAccessIssue]
            return entry.codes
    mapped = uses_files(rows, 4)
    with_bits = mapped or rows.n_rows > EXACT_ROWS or not (need_ranks or is_shared)
    if with_bits and _dtype(rows) == np.float32:
        codes = _encode_bits(rows, mapped=mapped)
    else:
        codes = _encode_columns(rows, mapped=mapped)
    if known is not None and is_shared:
        known.append(_KnownCodes(source.X, codes))  # pyright: ignore[reportAttributeAccessIssue]
    return codes


def _dtype(rows: Rows) -> np.dtype:
    source = rows.source
    return source.X.dtype if isinstance(source, ArraySource) else rows.dtype


def sort_rows(columns: ColumnCodes) -> np.ndarray | None:
    """Keys (code, row) of all columns in their order, or None if they take too much memory.

    Trees that look at most columns of each node keep the rows of all nodes in these orders, in
    place of sorting them again.
    """
    for entry in _known_codes.get() or ():
        if entry.codes is columns:
            entry.order = _sort_rows(columns) if entry.order is None else entry.order
            return entry.order
    return _sort_rows(columns)


def _sort_rows(columns: ColumnCodes) -> np.ndarray | None:
    p, n = columns.codes.shape
    if 16 * p * n > min(available_memory() / 4, _MAX_ORDER_BYTES) or is_mapped(columns.codes):
        return None
    order = np.empty((p, n), np.uint64)

    def sort(j: int) -> None:
        keys, counts = np.empty((2, n), np.uint64), np.empty(MAX_DIGIT_VALUES, np.int64)
        sort_column(np.ascontiguousarray(columns.codes[j], np.uint32), keys, counts)
        order[j] = keys[0]

    map_threads(sort, p)
    return order


def _encode_columns(rows: Rows, *, mapped: bool) -> ColumnCodes:
    columns: list[_Column] = []
    names = rows.source.column
    for block in _column_blocks(rows, mapped=mapped):
        first, width = len(columns), block.shape[1]
        if mapped:  # one after the other, for the sake of memory
            columns += [_move_to_file(_encode(block[:, j])) for j in range(width)]
        else:
            columns += map_threads(lambda j, X=block: _encode(X[:, j]), width)
        for j in range(first, len(columns)):
            _check_infinity(columns[j].values, names(j))
    return _join(columns, rows.n_rows, mapped=mapped)


def _move_to_file(column: _Column) -> _Column:
    """A column whose codes and values lie in files, if they are many."""
    parts = column.codes, column.values
    moved = [allocate(part.shape, part.dtype, mapped=True) for part in parts]
    for copy, part in zip(moved, parts, strict=True):
        copy[:] = part
    return _Column(*moved, exact=column.exact)


def _encode_bits(rows: Rows, *, mapped: bool) -> ColumnCodes:
    """The bits of float32 numbers as codes in the order of the numbers."""
    source, p = rows.source, rows.n_features
    codes = allocate((rows.n_rows, p), np.uint32, mapped=mapped)
    if not isinstance(source, ArraySource):
        rows.each(chunk_bits, into=codes)
    blocks = row_blocks(rows.n_rows, _BITS_ROWS)

    def encode(i: int) -> tuple[np.ndarray, np.ndarray]:
        part = codes[blocks[i]]
        if isinstance(source, ArraySource):
            part[:] = ordered_bits(source.X[blocks[i]])
        return part.min(axis=0), (part + np.uint32(1)).max(axis=0)  # a missing value becomes 0

    extremes = map_threads(encode, len(blocks))
    least, largest = (np.stack(part) for part in zip(*extremes, strict=True))
    ends = [least.min(axis=0), largest.max(axis=0) - np.uint32(1)]
    for j in range(p):
        if ends[0][j] != MISSING_BITS:  # some value is not missing
            _check_infinity(np.array([_bits_value(end[j]) for end in ends]), source.column(j))
    kinds, missing = np.full(p, BITS), np.full(p, MISSING_BITS)
    return ColumnCodes(codes.T, np.zeros(1), np.zeros(p, np.int64), kinds, missing)


def ordered_bits(X: np.ndarray) -> np.ndarray:
    """The bits of float32 numbers as whole numbers in the order of the numbers; NaN is last."""
    x = np.ascontiguousarray(X, np.float32) + np.float32(0.0)  # -0 becomes 0
    bits = x.view(np.uint32)
    codes = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    codes[np.isnan(x)] = MISSING_BITS
    return codes


def chunk_bits(chunk: Chunk) -> np.ndarray:
    """`ordered_bits` of the rows of a chunk."""
    return ordered_bits(select_columns(chunk, 0, chunk.X.shape[1]))


def _bits_value(code: np.uint32) -> np.float32:
    """The number of a code of `ordered_bits`."""
    sign = np.uint32(1 << 31)
    return (code ^ sign if code & sign else ~code).view(np.float32)


def _column_blocks(rows: Rows, *, mapped: bool) -> Iterator[np.ndarray]:
    """The columns of X, some at a time, as arrays (n, ...)."""
    source, p = rows.source, rows.n_features
    if isinstance(source, ArraySource):
        yield source.X
        return
    width = max(_BLOCK_BYTES // max(rows.n_rows * rows.dtype.itemsize, 1), 1)
    for first in range(0, p, width):
        end = min(first + width, p)
        into = None
        if mapped:
            into = allocate((rows.n_rows, end - first), rows.dtype, mapped=True)
        yield rows.each(select_columns, first, end, into=into)


def select_columns(chunk: Chunk, first: int, end: int) -> np.ndarray:
    """Some columns of a chunk, dense."""
    X = chunk.X[:, first:end]
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X.toarray()


def _encode(x: np.ndarray) -> _Column:
    """Codes and distinct values of one column."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    with np.errstate(over="ignore"):  # what overflows is no single
        narrow = x.astype(np.float32, copy=False)
    n_missing = int(np.isnan(x).sum())
    is_single = x.dtype == np.float32 or bool(((narrow == x) | np.isnan(x)).all())
    codes, values = np.empty(len(x), np.uint32), np.empty(len(x) - n_missing)
    if is_single:
        bits = (narrow + np.float32(0.0)).view(np.uint32)  # -0 becomes 0
        keys, counts = np.empty((2, len(x)), np.uint64), np.empty(MAX_DIGIT_VALUES, np.int64)
        n_values = rank_singles(narrow, bits, keys, counts, codes, values)
    else:
        n_values = rank_sorted(x, np.argsort(x), len(x) - n_missing, codes, values)
    values = values[:n_values].copy()
    if len(values) > _SHORT_CODES and len(x) > EXACT_ROWS:
        return _bin_column(x, n_missing)
    kind = np.uint8 if len(values) < 256 else np.uint16 if len(values) <= _SHORT_CODES else None
    return _Column(codes if kind is None else codes.astype(kind), values, exact=True)


def _bin_column(x: np.ndarray, n_missing: int) -> _Column:
    """A column cut at quantiles."""
    ordered = np.sort(x)[: len(x) - n_missing]
    places = (np.arange(1, _SHORT_CODES + 1) * len(ordered)) // _SHORT_CODES - 1
    edges = np.unique(ordered[np.maximum(places, 0)])
    codes = np.searchsorted(edges, x).astype(np.uint16)  # NaN comes after the last
    return _Column(codes, edges.astype(np.float64), exact=False)


def _check_infinity(values: np.ndarray, name: str) -> None:
    if len(values) and not (np.isfinite(values[0]) and np.isfinite(values[-1])):
        raise ValueError(
            f"Input X contains infinity: column {name}. Replace it by a large finite number, or "
            "by NaN where the value is missing."
        )


def _join(columns: list[_Column], n: int, *, mapped: bool) -> ColumnCodes:
    """All columns in one table of codes."""
    starts = np.cumsum([0, *(len(column.values) for column in columns)])
    most, p = max(len(column.values) for column in columns), len(columns)
    small = most < 256 and n * p > _BYTE_TABLE_CELLS
    dtype = np.dtype(np.uint8 if small else np.uint16 if most <= _SHORT_CODES else np.uint32)
    codes = allocate((n, p), dtype, mapped=mapped).T
    if mapped:  # a file is written once, from its beginning to its end
        for block in row_blocks(n):
            for j, column in enumerate(columns):
                codes[j, block] = column.codes[block]
    for j, column in enumerate(columns):
        if not mapped:
            codes[j] = column.codes
        columns[j] = column._replace(codes=column.codes[:0].copy())
    values = allocate((int(starts[-1]),), np.float64, mapped=mapped)
    for j, column in enumerate(columns):
        values[starts[j] : starts[j + 1]] = column.values
    kinds = np.array([RANKS if column.exact else EDGES for column in columns])
    return ColumnCodes(codes, values, starts[:-1].astype(np.int64), kinds, np.diff(starts))
