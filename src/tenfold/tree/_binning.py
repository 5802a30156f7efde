"""Columns as a few hundred bins: thresholds from a sample, and rows as one byte a cell.

Thresholds follow scikit-learn's rule: midpoints between neighbors if a column has few different
values, else quantiles of a sample of 200,000 rows, which is drawn by row number here and so is the
same in memory, in files and on a cluster. The last bin is that of missing values.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tenfold.engine.arrays import slice_column
from tenfold.engine.chunk import Chunk
from tenfold.engine.fold import ChunkScheduler
from tenfold.engine.rows import Rows
from tenfold.engine.source import Source, concatenate_chunks, select_rows
from tenfold.engine.spool import SpoolFile
from tenfold.engine.task import FoldTask
from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.tree._binning_numba import CELLS, assign_bins, assign_category_bins, count_lower

SAMPLE_ROWS = 200_000
_SAMPLE_BYTES = 2**29  # of the sample, where rows are so wide that 200,000 of them are more
_MIN_SAMPLE_ROWS = 10_000
_ALMOST_INFINITE = 1e300  # thresholds are finite, as in scikit-learn
_MIN_PARALLEL_CELLS = 2**17  # of the sample, to look at columns in several threads


@dataclass(frozen=True, eq=False)
class BinMapper:
    """The bins of all columns.

    Attributes
    ----------
    thresholds : (p, width) float64 array, ascending, then +inf: bin b of column j has the values x
        with thresholds[j, b - 1] < x <= thresholds[j, b]
    n_bins : (p,) int64 array, number of bins of each column without that of missing values
    max_bins : most bins of any column, which is the number of the bin of missing values
    categories : tuple with an entry per column: None, or the categories of a categorical column,
        ascending; the number of a category in this list is its code
    category_bins : tuple with an entry per column: None, or the bin of each code; categories that
        are too many share the last bin
    """

    thresholds: np.ndarray
    n_bins: np.ndarray
    max_bins: int
    categories: tuple = ()
    category_bins: tuple = ()

    @property
    def is_categorical(self) -> np.ndarray:
        """Which columns have categories."""
        known = [c is not None for c in self.categories]
        return np.array(known or [False] * len(self.n_bins), bool)

    @property
    def dtype(self) -> np.dtype:
        """Type of bin numbers."""
        return np.dtype(np.uint8 if self.max_bins < 2**8 else np.uint16)

    @cached_property
    def _tables(self) -> dict[np.dtype, tuple[np.ndarray, ...]]:
        return {}

    def search_table(self, dtype: np.dtype) -> tuple[np.ndarray, ...]:
        """What `assign_bins` needs for values of a type."""
        if dtype not in self._tables:
            self._tables[dtype] = _search_table(self.thresholds, dtype)
        return self._tables[dtype]


def bin_rows(chunk: Chunk, mapper: BinMapper) -> np.ndarray:
    """Bin numbers (n, p) of the rows of a chunk."""
    X = chunk.X
    if not isinstance(X, np.ndarray):
        step = max(2**22 // max(X.shape[1], 1), 1)
        parts = (X[first : first + step].toarray() for first in range(0, X.shape[0], step))
        return np.concatenate([bin_rows(Chunk(part), mapper) for part in parts])
    out = np.empty(X.shape, mapper.dtype)
    thresholds, low, scale, starts = mapper.search_table(X.dtype)
    assign_bins(X, thresholds, low, scale, starts, mapper.max_bins, out)
    for j, categories in enumerate(mapper.categories):
        if categories is not None:
            bins = mapper.category_bins[j]
            assign_category_bins(X, j, categories, bins, mapper.max_bins, out)
    return out


def encode_categories(X: np.ndarray, categories: tuple) -> np.ndarray:
    """X with the codes of categories in the place of their values; NaN for unknown ones."""
    if all(known is None for known in categories):
        return X
    X = np.array(X)
    for j, known in enumerate(categories):
        if known is not None:
            code = np.minimum(np.searchsorted(known, X[:, j]), len(known) - 1)
            X[:, j] = np.where(known[code] == X[:, j], code, np.nan)
    return X


def learn_bins(
    rows: Rows,
    max_bins: int,
    seed: int,
    *,
    categories: tuple = (),
    category_bins: tuple = (),
    held_out: np.ndarray | None = None,
) -> BinMapper:
    """Bins of the columns from a sample of the rows, drawn by their numbers.

    Rows of weight zero, and those that are held out, are left out; a weight of two counts as the
    row twice.
    """
    sample = _draw_sample(rows, seed, held_out)
    weights = None if sample.w is None else np.asarray(sample.w, np.float64)
    X = sample.X if isinstance(sample.X, np.ndarray) else sample.X.tocsc()
    found: list[np.ndarray] = [np.empty(0)] * rows.n_features
    known = categories or (None,) * rows.n_features

    def find(j: int) -> None:
        if known[j] is None:
            values, w = _column_values(X, j, weights)
            found[j] = find_thresholds(values, max_bins, w)

    _for_columns(find, rows.n_features, X.shape[0] * rows.n_features)
    width = max((len(t) for t in found), default=0)
    thresholds = np.full((rows.n_features, width), np.inf)
    for j, t in enumerate(found):
        thresholds[j, : len(t)] = t
    n_bins = np.array([len(t) + 1 for t in found], np.int64)
    for j, bins in enumerate(category_bins):
        if bins is not None:
            n_bins[j] = int(bins.max(initial=-1)) + 1
    return BinMapper(thresholds, n_bins, int(n_bins.max(initial=1)), categories, category_bins)


def _draw_sample(rows: Rows, seed: int, held_out: np.ndarray | None) -> Chunk:
    """Some rows, drawn by their numbers."""
    cap = _SAMPLE_BYTES // max(rows.n_features * 8, 1)
    most = min(SAMPLE_ROWS, max(cap, _MIN_SAMPLE_ROWS))
    if held_out is None:
        return rows.sample(most, seed)
    numbers = np.flatnonzero(~held_out)
    if len(numbers) > most:
        chosen = np.random.default_rng(seed).choice(len(numbers), most, replace=False)
        numbers = numbers[np.sort(chosen)]
    return rows.take(numbers)


def find_thresholds(values: np.ndarray, max_bins: int, weights: np.ndarray | None) -> np.ndarray:
    """Ascending thresholds that cut values into at most `max_bins` bins.

    Examples
    --------
    >>> find_thresholds(np.array([3.0, 1.0, 2.0, 2.0, np.nan]), 255, None)
    array([1.5, 2.5])
    """
    if weights is None:
        ordered = np.sort(values).astype(np.float64)
        ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(ordered))]
        w = None
    else:
        there = (weights > 0) & ~np.isnan(values)
        order = np.argsort(values[there], kind="stable")
        ordered, w = values[there][order].astype(np.float64), weights[there][order]
    if len(ordered) == 0:
        return np.empty(0)
    new = np.flatnonzero(ordered[1:] != ordered[:-1])
    if len(new) < max_bins:
        return _midpoints(ordered[new], ordered[new + 1])
    cuts = _quantiles(ordered, w, max_bins)
    return np.unique(np.minimum(cuts, _ALMOST_INFINITE))


def _midpoints(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Numbers between neighbors: at least the lower one and less than the higher one."""
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    middle[np.isnan(middle)] = 0.0  # between the infinities
    middle = np.where((middle >= high) | (middle < low), low, middle)
    return np.minimum(middle, _ALMOST_INFINITE)


def _quantiles(ordered: np.ndarray, weights: np.ndarray | None, parts: int) -> np.ndarray:
    """Inner quantiles k / parts of ordered values by the averaged inverted distribution function.

    Products of whole numbers are compared, so that whole weights act as repeated values exactly.
    """
    k = np.arange(1, parts)
    if weights is None:
        place, rest = np.divmod(len(ordered) * k, parts)
        place = np.where(rest > 0, place, place - 1)
        exact = rest == 0
    else:
        reached = np.cumsum(weights) * parts
        wanted = reached[-1] / parts * k
        place = np.minimum(np.searchsorted(reached, wanted), len(ordered) - 1)
        exact = reached[place] == wanted
    after = np.minimum(place + 1, len(ordered) - 1)
    with np.errstate(invalid="ignore"):
        middle = ordered[place] / 2 + ordered[after] / 2
    return np.where(exact & ~np.isnan(middle), middle, ordered[place])


def _column_values(
    X: Any, j: int, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Values of a column of the sample; the zeros of a sparse one are a value with a weight."""
    if isinstance(X, np.ndarray):
        return X[:, j], weights
    part = slice(X.indptr[j], X.indptr[j + 1])
    own = np.ones(part.stop - part.start) if weights is None else weights[X.indices[part]]
    total = float(X.shape[0]) if weights is None else float(weights.sum())
    zeros = max(total - own.sum(), 0.0)
    return np.append(X.data[part], 0.0), np.append(own, zeros)


def _for_columns(work: Callable[[int], None], columns: int, cells: int) -> None:
    """Call `work(j)` for every column, in several threads if there is enough to do."""
    numbers, lock = itertools.count(), threading.Lock()

    def take_columns() -> None:
        while True:
            with lock:
                j = next(numbers)
            if j >= columns:
                return
            work(j)

    parallel = cells > _MIN_PARALLEL_CELLS
    run_in_threads(take_columns, min(n_threads(), columns) - 1 if parallel else 0)


def _search_table(thresholds: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """Thresholds in a type, and cells of equal width over their range; see `assign_bins`."""
    rounded = _round_down(thresholds, dtype)
    counts = np.count_nonzero(np.isfinite(rounded), axis=1)
    p, some = len(rounded), counts > 1
    low, scale = np.zeros(p, dtype), np.zeros(p, dtype)
    first = np.argmax(np.isfinite(rounded), axis=1) if rounded.size else np.zeros(p, int)
    for j in np.flatnonzero(some):
        a, b = rounded[j, first[j]], rounded[j, first[j] + counts[j] - 1]
        with np.errstate(over="ignore", divide="ignore"):
            width = dtype.type(CELLS) / (b - a)
        if np.isfinite(width):
            low[j], scale[j] = a, width
    used = np.count_nonzero(rounded < np.inf, axis=1)
    return rounded, low, scale, count_lower(rounded, used, low, scale)


def _round_down(table: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The largest numbers of a type that are not above: x <= t says the same for its values."""
    with np.errstate(over="ignore"):
        near = table.astype(dtype)
    return np.where(near > table, np.nextafter(near, dtype.type(-np.inf)), near).astype(dtype)


class BinnedSource(Source):
    """Bin numbers with target and weights, in memory or in a file.

    The grid is that of the rows; statistics of whole numbers may ask for another one.
    """

    finite = True

    def __init__(self, bins: Any, y: Any, w: Any, like: Source, grid: int | None = None) -> None:
        self.bins, self.y, self.w = bins, y, w
        self.n_rows, self.n_features = bins.shape
        self.dtype, self.names, self._grid = bins.dtype, like.names, grid or like.grid
        self.has_target, self.has_weight = y is not None, w is not None
        self.direct = isinstance(bins, np.ndarray)

    @property
    def grid(self) -> int:
        """Rows per chunk."""
        return self._limit_grid(self._grid)

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run."""
        return (self.between(*self.span(number)) for number in run)

    def between(self, first: int, end: int) -> Chunk:
        """Rows first:end."""
        y, w = (slice_column(column, first, end) for column in (self.y, self.w))
        return Chunk(self.bins[first:end], y, w, first)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers, which must ascend."""
        blocks = np.split(rows, np.flatnonzero(np.diff(rows // self.grid)) + 1)
        parts = [select_rows(self.between(int(b[0]), int(b[-1]) + 1), b) for b in blocks]
        return concatenate_chunks(parts)


def spool_bins(rows: Rows, mapper: BinMapper, grid: int | None = None) -> BinnedSource:
    """The bins of all rows in a temporary file, with target (class numbers) and weights."""
    spool = SpoolFile()

    def put(chunk: Chunk) -> None:
        chunk = rows.prepare(chunk)
        spool.put(chunk._replace(X=bin_rows(chunk, mapper)))

    ChunkScheduler(FoldTask(rows.source, put, ()), rows.source.runs(), put).run()
    bins, y, w = (column and column.with_rows(rows.n_rows) for column in spool.columns)
    return BinnedSource(bins, y, w, rows.source, grid)
