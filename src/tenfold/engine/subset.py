"""A subset of the rows of a source, as a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.source import Source, concatenate_chunks


class RowSelection(NamedTuple):
    """Which rows: those whose cells are wanted.

    Attributes
    ----------
    cell : (n,) number of each row's cell
    wanted : (cells,) whether the rows of a cell are chosen
    before : (chunks + 1,) chosen rows before each chunk of the grid
    grid : rows per chunk
    """

    cell: np.ndarray
    wanted: np.ndarray
    before: np.ndarray
    grid: int

    @classmethod
    def of(cls, cell: np.ndarray, wanted: np.ndarray, grid: int) -> RowSelection:
        """Count the chosen rows."""
        counts = np.add.reduceat(wanted[cell], np.arange(0, len(cell), grid), dtype=np.int64)
        return cls(cell, wanted, np.concatenate([[0], np.cumsum(counts)]), grid)

    def rank(self, row: int) -> int:
        """How many chosen rows come before a row."""
        if row == len(self.cell):
            return int(self.before[-1])
        number, begun = divmod(row, self.grid)
        known = int(self.before[number])
        if not begun:
            return known
        return known + int(np.count_nonzero(self.wanted[self.cell[row - begun : row]]))

    def rows(self, ranks: np.ndarray) -> np.ndarray:
        """The rows at these places among the chosen."""
        chunk = np.searchsorted(self.before, ranks, "right") - 1
        found = np.empty(len(ranks), np.int64)
        for number in np.unique(chunk):
            first = int(number) * self.grid
            own = first + np.flatnonzero(self.wanted[self.cell[first : first + self.grid]])
            here = chunk == number
            found[here] = own[ranks[here] - self.before[number]]
        return found

    def count(self, chunk: Chunk) -> int:
        """How many rows of a chunk are chosen."""
        return self.rank(chunk.first + chunk.rows) - self.rank(chunk.first)

    def mask(self, chunk: Chunk) -> np.ndarray:
        """Which rows of a chunk are chosen."""
        return self.wanted[self.cell[chunk.first : chunk.first + chunk.rows]]

    def part(self, chunk: Chunk) -> Chunk | None:
        """The chosen rows of a chunk, counted among the chosen; None if there are none."""
        first, count = self.rank(chunk.first), self.count(chunk)
        if count == 0:
            return None
        if count == chunk.rows:
            return chunk._replace(first=first)
        rows = np.flatnonzero(self.mask(chunk))
        X, y, w = (_take_rows(part, rows) for part in chunk[:3])
        return Chunk(X, y, w, first)


def _take_rows(part: Any, rows: np.ndarray) -> Any:
    if isinstance(part, np.ndarray):
        return np.take(part, rows, axis=0)  # without the interpreter's lock
    return None if part is None else part[rows]


class SubsetSource(Source):
    """The chosen rows of a source, in order, on a grid of their own.

    So a fit on them gives the bits of a fit on a copy of these rows.
    """

    def __init__(self, source: Source, chosen: RowSelection) -> None:
        self.source, self.chosen = source, chosen
        self.n_rows, self.n_features = int(chosen.before[-1]), source.n_features
        self.dtype, self.names, self.sparse = source.dtype, source.names, source.sparse
        self.shippable, self.finite = source.shippable, source.finite
        self.has_target, self.has_weight = source.has_target, source.has_weight

    @property
    def streams(self) -> bool:
        return self.source.streams

    def runs(self) -> Iterator[range]:
        """Runs of the source, each up to the chunk in which the next one begins."""
        done = 0
        for run in self.source.runs():
            end = -(-int(self.chosen.before[run.stop]) // self.grid)
            if end > done:
                yield range(done, end)
                done = end

    def chunks(self, run: range) -> Iterator[Chunk]:
        start, end = run.start * self.grid, min(run.stop * self.grid, self.n_rows)
        low = int(np.searchsorted(self.chosen.before, start, "right")) - 1
        high = int(np.searchsorted(self.chosen.before, end, "left"))
        first, held = start, []
        for part in self._parts(range(low, high)):
            held.append(_slice_chunk(part, max(start - part.first, 0), part.rows))
            size = sum(piece.rows for piece in held)
            while first < end and (size >= self.grid or first + size >= end):
                whole, take = concatenate_chunks(held), min(self.grid, end - first)
                yield _slice_chunk(whole, 0, take)._replace(first=first)
                held, first, size = [_slice_chunk(whole, take, size)], first + take, size - take

    def _parts(self, numbers: range) -> Iterator[Chunk]:
        for chunk in self.source.chunks(numbers):
            part = self.chosen.part(chunk)
            if part is not None:
                yield part

    def take(self, rows: np.ndarray) -> Chunk:
        return self.source.take(self.chosen.rows(rows))

    def where(self, row: int) -> str:
        return self.source.where(int(self.chosen.rows(np.array([row]))[0]))

    def column(self, j: int) -> str:
        return self.source.column(j)


def _slice_chunk(chunk: Chunk, start: int, stop: int) -> Chunk:
    if start == 0 and stop == chunk.rows:
        return chunk
    X, y, w = (None if part is None else part[start:stop] for part in chunk[:3])
    return Chunk(X, y, w, chunk.first)
