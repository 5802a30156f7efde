"""Columns as rank codes: the k-th smallest distinct value of a column becomes k.

A tree asks of a column only the order of its values, so codes lose nothing. They take two bytes a
cell (four where a column has more than 65,535 distinct values, one in very large tables of few
values), and lie in memory column by column, or in a temporary file if they would take too much of
it. A missing value has the code after the last. Columns of tables with more than `EXACT_ROWS` rows
and more than 65,535 distinct values are cut at 65,535 quantiles; that is a matter of the data and
not of the machine, so trees do not depend on where the rows lie.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.arrays import ArraySource
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import available_memory
from tenfold.engine.rows import Rows
from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.tree._cart_criterion_numba import BITS, EDGES, RANKS
from tenfold.tree._rank_codes_numba import rank_singles, rank_sorted

EXACT_ROWS = 2**25
MISSING_BITS = 2**32 - 1  # code of a missing value among the bits of numbers
_SHORT_CODES = 65_535  # with the code of a missing value they fit two bytes
_BYTE_TABLE_CELLS = 2**28  # from so many cells on, one byte is used where it suffices
_BLOCK_BYTES = 2**28  # columns of a file that are held at once


# arrays and their codes, within `reuse_codes`
_known_codes: ContextVar[list[tuple[Any, Any]] | None] = ContextVar("known_codes", default=None)


class ColumnCodes(NamedTuple):
    """Rank codes of all columns.

    Attributes
    ----------
    codes : (n_features, n) uint8, uint16 or uint32
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
    """Codes of the columns of all rows; where ranks are not needed, bits if rows are float32."""
    known, source = _known_codes.get(), rows.source
    is_single = isinstance(source, ArraySource) and source.X.dtype == np.float32
    if is_single and not need_ranks and known is None:
        return _encode_bits(rows)
    if known is None or not isinstance(source, ArraySource):
        return _encode_columns(rows)
    for X, codes in known:
        if X is source.X:
            return codes
    codes = _encode_columns(rows)
    known.append((source.X, codes))
    return codes


def _encode_columns(rows: Rows) -> ColumnCodes:
    columns: list[_Column] = []
    names = rows.source.column
    for block in _column_blocks(rows):
        first = len(columns)
        columns += _map_threads(lambda j, X=block: _encode(X[:, j]), block.shape[1])
        for j in range(first, len(columns)):
            _check_infinity(columns[j].values, names(j))
    return _join(columns, rows.n_rows)


def _encode_bits(rows: Rows) -> ColumnCodes:
    """The bits of float32 numbers as codes in the order of the numbers."""
    X: np.ndarray = rows.source.X  # pyright: ignore[reportAttributeAccessIssue]
    p = rows.n_features
    codes = _allocate((p, rows.n_rows), np.dtype(np.uint32))

    def encode(j: int) -> _Column:
        x = np.ascontiguousarray(X[:, j], np.float32) + np.float32(0.0)  # -0 becomes 0
        bits = x.view(np.uint32)
        codes[j] = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
        codes[j, np.isnan(x)] = MISSING_BITS
        extremes = np.array([np.nanmin(x), np.nanmax(x)]) if not np.isnan(x).all() else x[:0]
        _check_infinity(extremes, rows.source.column(j))
        return _Column(codes[j], x[:0].astype(np.float64), exact=True)

    _map_threads(encode, p)
    kinds, missing = np.full(p, BITS), np.full(p, MISSING_BITS)
    return ColumnCodes(codes, np.zeros(1), np.zeros(p, np.int64), kinds, missing)


def _column_blocks(rows: Rows) -> Iterator[np.ndarray]:
    """The columns of X, some at a time, as arrays (n, ...)."""
    source, p = rows.source, rows.n_features
    if isinstance(source, ArraySource):
        yield source.X
        return
    width = max(_BLOCK_BYTES // max(rows.n_rows * rows.dtype.itemsize, 1), 1)
    for first in range(0, p, width):
        yield rows.each(select_columns, first, min(first + width, p))


def select_columns(chunk: Chunk, first: int, end: int) -> np.ndarray:
    """Some columns of a chunk, dense."""
    X = chunk.X[:, first:end]
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X.toarray()


def _map_threads(f: Callable[[int], _Column], n: int) -> list[_Column]:
    """f(0), ..., f(n - 1), on all threads."""
    results: list[_Column | None] = [None] * n
    errors: list[BaseException] = []
    tickets = itertools.count()

    def work() -> None:
        for i in tickets:
            if i >= n or errors:
                return
            try:
                results[i] = f(i)
            except BaseException as error:  # noqa: BLE001 - raised again below
                errors.append(error)

    run_in_threads(work, min(n_threads(), n) - 1)
    if errors:
        raise errors[0]
    return [result for result in results if result is not None]


def _encode(x: np.ndarray) -> _Column:
    """Codes and distinct values of one column."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    narrow = x if x.dtype == np.float32 else x.astype(np.float32)
    n_missing = int(np.isnan(x).sum())
    is_single = x.dtype == np.float32 or bool(((narrow == x) | np.isnan(x)).all())
    if is_single:
        codes, values = rank_singles(narrow)
    else:
        order = np.argsort(x)
        codes, values = rank_sorted(x, order, len(x) - n_missing)
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


def _join(columns: list[_Column], n: int) -> ColumnCodes:
    """All columns in one table of codes."""
    starts = np.cumsum([0, *(len(column.values) for column in columns)])
    most, p = max(len(column.values) for column in columns), len(columns)
    small = most < 256 and n * p > _BYTE_TABLE_CELLS
    dtype = np.dtype(np.uint8 if small else np.uint16 if most <= _SHORT_CODES else np.uint32)
    codes = _allocate((p, n), dtype)
    for j, column in enumerate(columns):
        codes[j] = column.codes
        columns[j] = column._replace(codes=column.codes[:0])
    values = np.concatenate([column.values for column in columns])
    kinds = np.array([RANKS if column.exact else EDGES for column in columns])
    return ColumnCodes(codes, values, starts[:-1].astype(np.int64), kinds, np.diff(starts))


def _allocate(shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """Memory for codes, or a temporary file without a name if they take half of what is free."""
    size = shape[0] * shape[1] * dtype.itemsize
    if size < 2**28 or size < available_memory() / 2:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:  # unlinked; the mapping keeps the file
        return np.asarray(np.memmap(file, dtype, "w+", shape=shape))
