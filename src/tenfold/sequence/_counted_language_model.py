"""Language models that are made of counts of n-grams: counting, and the choice of symbols."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.sequence._ngram_counts import NgramCounts
from tenfold.sequence._ngram_runs import NgramCounter
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
    min_count: Any
    vocabulary: Any
    all_symbols_: list[Any]
    statistic_: NgramCounts
    n_documents_: int

    def _count(self, documents: Any) -> tuple[list[Any], NgramCounts, int]:
        """Sorted symbols, n-grams of their numbers, and documents."""
        symbols, counter, places, n_documents = self._count_ngrams(documents)
        return symbols, counter.table(places), n_documents

    def _count_ngrams(self, documents: Any) -> tuple[list[Any], NgramCounter, np.ndarray, int]:
        """Sorted symbols, n-grams of other numbers, those among the sorted ones, and documents."""
        if self.vocabulary is None:
            numbers: Any = defaultdict(count(_RAW_FIRST).__next__)
            number = numbers.__getitem__
        else:
            fixed = sort_symbols(set(self.vocabulary))
            numbers = {symbol: n + _RAW_FIRST for n, symbol in enumerate(fixed)}
            number = lambda symbol: numbers.get(symbol, _RAW_UNKNOWN)  # noqa: E731 - one of two
        counter, n_documents = NgramCounter(self.order, _RAW_BEGIN), 0
        for symbols, starts, repeated in self._encode(documents, number, _RAW_END):
            n_documents += len(starts) - 1 if not repeated else 0
            counter.add(symbols, starts, repeated)
        ordered = sort_symbols(numbers)
        raw = np.fromiter(map(numbers.__getitem__, ordered), np.int64, len(ordered))
        places = np.arange(len(ordered) + _RAW_FIRST)
        places[raw] = np.arange(len(ordered)) + _RAW_FIRST
        return ordered, counter, places, n_documents

    def _encode(
        self, documents: Any, number: Callable[[Any], int], end: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        """Numbers of the symbols of batches of documents, where documents begin, and repetitions.

        Of a file that is one stream, parts are given; the first symbols of each but the first
        repeat the context at the end of the part before, and so many stand in the third place.
        """
        context, one_stream = np.empty(0, np.int64), self._is_stream(documents)
        for symbols, starts in self._encoder().encode(documents, number):
            if self.boundaries:
                yield *append_end(symbols, starts, end), 0
            elif not one_stream:
                yield symbols, starts, 0
            else:
                joined = np.concatenate([context, symbols])
                yield joined, np.array([0, len(joined)]), len(context)
                context = joined[max(len(joined) - self.order + 1, 0) :]

    def _require_counts(self) -> tuple[list[Any], NgramCounts, int]:
        check_is_fitted(self)
        if not hasattr(self, "statistic_"):
            raise TypeError(
                "this model has no counts, since it was made of a table or has forgotten rare "
                "n-grams (min_count): fit it to all documents at once"
            )
        return self.all_symbols_, self.statistic_, self.n_documents_

    def _number_symbols(
        self, symbols: list[Any], table: NgramCounts, columns: list[int] | None = None
    ) -> NgramCounts:
        """Choose the vocabulary, number it, and number the n-grams accordingly."""
        frequency = np.bincount(table.ngrams[:, -1], table.counts, len(symbols) + _RAW_FIRST)
        return table.renumber(self._choose_symbols(symbols, frequency.astype(np.int64)), columns)

    def _choose_symbols(self, symbols: list[Any], frequency: np.ndarray) -> np.ndarray:
        """Choose the vocabulary of symbols that occur so often: the number of each symbol."""
        if not frequency[_RAW_UNKNOWN:].any():  # ends alone
            raise ValueError("there are no symbols: the documents are empty")
        counts = frequency[_RAW_FIRST:]
        kept = np.argsort(-counts, kind="stable")
        if self.vocabulary is None:
            least = np.ravel(self.min_count)[0]  # of single symbols, where longer ones have theirs
            kept = kept[counts[kept] >= least][: self.vocabulary_size]
        dropped = frequency[_RAW_UNKNOWN] + counts.sum() - counts[kept].sum()
        if dropped and not self.unknown:
            raise ValueError(
                f"{dropped} symbols of the documents are outside the vocabulary: give "
                "unknown=True, or a vocabulary that holds them"
            )
        self._set_symbols(list(map(symbols.__getitem__, kept.tolist())))
        numbers = np.zeros(len(symbols) + _RAW_FIRST, np.int64)  # ``<unk>`` is number 0
        numbers[_RAW_BEGIN] = len(self.symbols_)
        if self.boundaries:
            numbers[_RAW_END] = self.symbols_.index(END)
        numbers[_RAW_FIRST + kept] = np.arange(len(kept)) + len(self.symbols_) - len(kept)
        return numbers


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
