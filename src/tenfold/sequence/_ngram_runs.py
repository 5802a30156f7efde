"""Counts of n-grams while documents come: sorted runs, in files where they are many.

Windows of symbols are gathered, sorted and counted by the million. The runs that result are merged
while they fit into `MAX_BYTES_IN_MEMORY`; then they go to a temporary file without a name, and are
brought together again part by part.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from tenfold.sequence._ngram_counts import NgramCounts, count_windows, merge_counts

RUN_SYMBOLS = 2**19  # windows that are sorted at once
MAX_BYTES_IN_MEMORY = 2**25
BLOCK_ROWS = 2**19  # n-grams that are smoothed, or renumbered, at once


class NgramCounter:
    """Counts the n-grams of numbered documents.

    Parameters
    ----------
    order : int
        Symbols of an n-gram.
    begin : int
        Number that stands before the first symbol of a document.

    Examples
    --------
    >>> counter = NgramCounter(2, begin=0)
    >>> counter.add(np.array([5, 6, 5]), np.array([0, 3]))
    >>> counter.table().ngrams.tolist()
    [[0, 5], [5, 6], [6, 5]]
    """

    def __init__(self, order: int, begin: int) -> None:
        self.order, self.begin = order, begin
        self.waiting: list[tuple[np.ndarray, np.ndarray, int]] = []
        self.n_waiting = 0
        self.runs = NgramRuns(order)

    def add(self, symbols: np.ndarray, starts: np.ndarray, repeated: int = 0) -> None:
        """Count the n-grams that end in each symbol; `starts` are where documents begin.

        The first `repeated` symbols were there before, and stand here as contexts only.
        """
        self.waiting.append((symbols, starts, repeated))
        self.n_waiting += len(symbols)
        if self.n_waiting >= RUN_SYMBOLS:
            self._count_waiting()

    def _count_waiting(self) -> None:
        if not self.waiting:
            return
        symbols = np.concatenate([part for part, *_ in self.waiting])
        lengths = np.concatenate([np.diff(starts) for _, starts, _ in self.waiting])
        starts = np.concatenate([[0], np.cumsum(lengths)])
        windows = count_windows(symbols, starts, self.order, self.begin)
        if any(repeated for *_, repeated in self.waiting):
            new = [np.arange(len(part)) >= repeated for part, _, repeated in self.waiting]
            windows = windows[np.concatenate(new)]
        self.waiting, self.n_waiting = [], 0
        self.runs.append(NgramCounts.of(windows))

    def table(self, numbers: np.ndarray | None = None) -> NgramCounts:
        """All n-grams with their counts; on request symbol s has become numbers[s]."""
        if numbers is not None and not len(self.runs):  # all wait: they need one sort, not two
            waiting = self.waiting
            self.waiting = [(numbers[part], starts, again) for part, starts, again in waiting]
            self.begin, numbers = int(numbers[self.begin]), None
        self._count_waiting()
        table = merge_counts(self.runs, self.order)
        return table if numbers is None else table.renumber(numbers)

    def renumber(self, numbers: np.ndarray, columns: list[int]) -> NgramRuns:
        """Runs renumbered as by `NgramCounts.renumber`; the counter is empty then."""
        self._count_waiting()
        renumbered = NgramRuns(self.order)
        while len(self.runs):
            for part in _iterate_parts(self.runs.pop()):
                renumbered.append(part.renumber(numbers, columns))
        return renumbered

    def frequency(self, size: int) -> np.ndarray:
        """How often each of the symbols 0 to size - 1 occurred."""
        self._count_waiting()
        total = np.zeros(size, np.int64)
        for part in chain.from_iterable(map(_iterate_parts, self.runs)):
            np.add.at(total, part.ngrams[:, -1], part.counts)
        return total


class NgramRuns:
    """Sorted tables of n-grams, merged while they are small, else in files."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.small: list[NgramCounts] = []
        self.stored: list[NgramCounts] = []

    def append(self, run: NgramCounts) -> None:
        """Take one more table."""
        self.small.append(run)
        while len(self.small) > 1 and _is_like(self.small[-2], self.small[-1]):
            last = self.small.pop()
            self.small[-1] = self.small[-1].merge(last)
        if sum(map(_count_bytes, self.small)) > MAX_BYTES_IN_MEMORY:
            self.stored.append(_store(merge_counts(self.small, self.order)))
            self.small = []

    def pop(self) -> NgramCounts:
        """Give a table away."""
        return (self.small or self.stored).pop()

    def __len__(self) -> int:
        return len(self.small) + len(self.stored)

    def __iter__(self) -> Iterator[NgramCounts]:
        return iter([*self.stored, *self.small])

    def blocks(self, size: int) -> NgramBlocks:
        """The same n-grams in parts, of symbols 0 to size - 1."""
        return NgramBlocks(list(self), self.order, size)


class NgramBlocks:
    """N-grams in parts: all that have certain symbols before the last one stand together.

    Parameters
    ----------
    runs : list of NgramCounts
        Tables whose first column is the symbol before the last one, in ascending order.
    order : int
        Symbols of an n-gram.
    size : int
        Symbols are numbered from 0 to size - 1.
    """

    def __init__(self, runs: list[NgramCounts], order: int, size: int) -> None:
        self.runs, self.order = runs, order
        rows = np.zeros(size + 1, np.int64)  # that begin with an earlier symbol
        for part in chain.from_iterable(map(_iterate_parts, runs)):
            rows[1:] += np.bincount(part.ngrams[:, 0], minlength=size)
        self.cuts = _cut_evenly(np.cumsum(rows)) if order > 1 else [0, size]
        self.ends = [np.searchsorted(run.ngrams[:, 0], self.cuts) for run in runs]

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def __iter__(self) -> Iterator[NgramCounts]:
        for i in range(len(self)):
            parts = [
                NgramCounts(run.ngrams[a:b], run.counts[a:b])
                for run, (a, b) in zip(
                    self.runs, ((end[i], end[i + 1]) for end in self.ends), strict=True
                )
            ]
            yield merge_counts(parts, self.order)


def _cut_evenly(total: np.ndarray) -> list[int]:
    """Where to cut symbols with these cumulated numbers of rows into parts of `BLOCK_ROWS`."""
    cuts, size = [0], len(total) - 1
    while cuts[-1] < size:
        limit = total[cuts[-1]] + BLOCK_ROWS
        cuts.append(max(int(np.searchsorted(total, limit, side="right")) - 1, cuts[-1] + 1))
    return cuts


def _iterate_parts(run: NgramCounts) -> Iterator[NgramCounts]:
    """The same table part by part."""
    for a in range(0, len(run.counts), BLOCK_ROWS):
        yield NgramCounts(run.ngrams[a : a + BLOCK_ROWS], run.counts[a : a + BLOCK_ROWS])


def _is_like(larger: NgramCounts, smaller: NgramCounts) -> bool:
    return len(larger.counts) < 2 * len(smaller.counts)


def _count_bytes(run: NgramCounts) -> int:
    return run.ngrams.nbytes + run.counts.nbytes


def _store(run: NgramCounts) -> NgramCounts:
    """The same table as maps of temporary files, which vanish with it."""
    return NgramCounts(_map_file(run.ngrams), _map_file(run.counts))


def _map_file(array: np.ndarray) -> Any:
    with tempfile.TemporaryFile() as file:  # the map stays when the file is closed
        array.tofile(file)
        file.flush()
        return np.asarray(np.memmap(file, array.dtype, mode="r+", shape=array.shape))
