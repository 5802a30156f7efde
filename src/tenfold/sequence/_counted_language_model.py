"""Language models that are made of counts of n-grams: counting, and the choice of symbols."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.sequence._ngram_counts import NgramCounts, count_windows, merge_counts
from tenfold.sequence._symbols import END, append_end, sort_symbols
from tenfold.sequence.language_model import LanguageModel

_RAW_BEGIN, _RAW_END, _RAW_UNKNOWN, _RAW_FIRST = 0, 1, 2, 3  # numbers while counting


class CountedLanguageModel(LanguageModel):
    """Base of language models whose statistic are counts of n-grams, from one pass.

    A subclass has the parameters `order`, `vocabulary_size`, `min_count` and `vocabulary` beside
    those of every language model.
    """

    order: int
    vocabulary_size: int | None
    min_count: int
    vocabulary: Any
    all_symbols_: list[Any]
    statistic_: NgramCounts
    n_documents_: int

    def _count(self, documents: Any) -> tuple[list[Any], NgramCounts, int]:
        """Sorted symbols, n-grams of their numbers, and documents."""
        if self.vocabulary is None:
            numbers: Any = defaultdict(None)
            numbers.default_factory = lambda: len(numbers) + _RAW_FIRST
            number = numbers.__getitem__
        else:
            fixed = sort_symbols(self.vocabulary)
            numbers = {symbol: n + _RAW_FIRST for n, symbol in enumerate(fixed)}
            number = lambda symbol: numbers.get(symbol, _RAW_UNKNOWN)  # noqa: E731 - one of two
        seen = [0]
        table = merge_counts(self._count_batches(documents, number, seen), self.order)
        symbols = list(numbers)
        ordered = sort_symbols(symbols)
        places = {symbol: place for place, symbol in enumerate(ordered)}
        renumber = np.arange(len(symbols) + _RAW_FIRST)
        renumber[_RAW_FIRST:] = [places[symbol] + _RAW_FIRST for symbol in symbols]
        return ordered, table.renumber(renumber), seen[0]

    def _count_batches(
        self, documents: Any, number: Callable[[Any], int], seen: list[int]
    ) -> Iterator[NgramCounts]:
        for symbols, starts in self._encoder().encode(documents, number):
            seen[0] += len(starts) - 1
            if self.boundaries:
                symbols, starts = append_end(symbols, starts, _RAW_END)
            yield NgramCounts.of(count_windows(symbols, starts, self.order, _RAW_BEGIN))

    def _require_counts(self) -> tuple[list[Any], NgramCounts, int]:
        check_is_fitted(self)
        if not hasattr(self, "statistic_"):
            raise TypeError("a model of a given table has no counts: fit it to documents")
        return self.all_symbols_, self.statistic_, self.n_documents_

    def _number_symbols(self, symbols: list[Any], table: NgramCounts) -> NgramCounts:
        """Choose the vocabulary, number it, and number the n-grams accordingly."""
        if not len(table.counts):
            raise ValueError("there are no symbols: the documents are empty")
        frequency = np.zeros(len(symbols) + _RAW_FIRST, np.int64)
        np.add.at(frequency, table.ngrams[:, -1], table.counts)
        counts = frequency[_RAW_FIRST:]
        kept = np.argsort(-counts, kind="stable")
        if self.vocabulary is None:
            kept = kept[counts[kept] >= self.min_count][: self.vocabulary_size]
        dropped = frequency[_RAW_UNKNOWN] + counts.sum() - counts[kept].sum()
        if dropped and not self.unknown:
            raise ValueError(
                f"{dropped} symbols of the documents are outside the vocabulary: give "
                "unknown=True, or a vocabulary that holds them"
            )
        self._set_symbols([symbols[place] for place in kept])
        numbers = np.zeros(len(symbols) + _RAW_FIRST, np.int64)  # ``<unk>`` is number 0
        numbers[_RAW_BEGIN] = len(self.symbols_)
        if self.boundaries:
            numbers[_RAW_END] = self.symbols_.index(END)
        numbers[_RAW_FIRST + kept] = np.arange(len(kept)) + len(self.symbols_) - len(kept)
        return table.renumber(numbers)


def merge_counted(
    mine: tuple[list[Any], NgramCounts, int], theirs: tuple[list[Any], NgramCounts, int]
) -> tuple[list[Any], NgramCounts, int]:
    """Counts of both parts, symbols numbered anew."""
    symbols = sort_symbols(set(mine[0]) | set(theirs[0]))
    places = {symbol: place + _RAW_FIRST for place, symbol in enumerate(symbols)}
    tables = []
    for own, table, _ in (mine, theirs):
        numbers = np.arange(len(own) + _RAW_FIRST)
        numbers[_RAW_FIRST:] = [places[symbol] for symbol in own]
        tables.append(table.renumber(numbers))
    return symbols, tables[0].merge(tables[1]), mine[2] + theirs[2]
