"""Documents as one stream of numbered symbols, ``<beg> a b ... <end> <beg> ...``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from tenfold.language._number_store import NumberStore, iterate_blocks, smallest_dtype
from tenfold.sequence._symbols import END, add_boundaries, refuse_sets, sort_symbols

_RAW_BEGIN, _RAW_END, _RAW_FIRST = 0, 1, 2  # numbers while reading


def read_stream(model: Any, documents: Any) -> np.ndarray:
    """The stream of documents, in one pass; chooses the vocabulary unless the model has one.

    Symbols have their numbers in `symbols_`, and the beginning of a document the number after
    them. `model.n_documents_` is set.
    """
    refuse_sets(documents)
    if hasattr(model, "vocabulary_"):
        return _read_known(model, documents)
    raw, counts, symbols = _read_raw(model, documents)
    kept = _choose(model, symbols, counts)
    model._set_symbols([symbols[place] for place in kept])  # noqa: SLF001 - part of the model
    size = len(model.symbols_)
    renumber = np.zeros(len(symbols) + _RAW_FIRST, np.int64)  # ``<unk>`` is number 0
    renumber[_RAW_BEGIN] = size
    if model.boundaries:
        renumber[_RAW_END] = model.vocabulary_[END]
    renumber[_RAW_FIRST + kept] = np.arange(len(kept)) + size - len(kept)
    stream = NumberStore(smallest_dtype(size + 1))
    for block in chain.from_iterable(map(iterate_blocks, raw)):
        stream.append(renumber[block])
    return stream.array()


def _read_raw(model: Any, documents: Any) -> tuple[list[np.ndarray], np.ndarray, list[Any]]:
    """Symbols numbered as they come, counts of them, and the symbols.

    The numbers are consecutive arrays of ever wider types, since there are ever more symbols.
    """
    numbers: Any = defaultdict(None)
    numbers.default_factory = lambda: len(numbers) + _RAW_FIRST
    stores, counts = [NumberStore(np.uint8)], np.zeros(_RAW_FIRST, np.int64)
    model.n_documents_ = 0
    for block in _documents_as_blocks(model, documents, numbers.__getitem__, _RAW_BEGIN, _RAW_END):
        counted = np.bincount(block, minlength=len(numbers) + _RAW_FIRST)
        if stores[-1].dtype != (dtype := smallest_dtype(len(counted))):
            stores.append(NumberStore(dtype))
        stores[-1].append(block)
        counted[: len(counts)] += counts
        counts = counted
    model.n_documents_ = int(counts[_RAW_BEGIN])
    return [store.array() for store in stores], counts[_RAW_FIRST:], list(numbers)


def _read_known(model: Any, documents: Any) -> np.ndarray:
    size = len(model.symbols_)
    end = model.vocabulary_.get(END, size)
    stream, model.n_documents_ = NumberStore(smallest_dtype(size + 1)), 0
    for block in _documents_as_blocks(model, documents, model._number, size, end):  # noqa: SLF001
        model.n_documents_ += int(np.count_nonzero(block == size))
        stream.append(block)
    return stream.array()


def _documents_as_blocks(
    model: Any, documents: Any, number: Any, begin: int, end: int
) -> Iterator[np.ndarray]:
    """Numbers of documents, with `begin` before and, with boundaries, `end` after each.

    Without boundaries the pieces of a file are one document.
    """
    one_stream, before = model._is_stream(documents), begin  # noqa: SLF001 - part of the model
    after = end if model.boundaries else None
    for numbers, starts in model._encoder().encode(documents, number):  # noqa: SLF001
        yield add_boundaries(numbers, starts, before, after)[0]
        before = None if one_stream else begin


def _choose(model: Any, symbols: list[Any], counts: np.ndarray) -> np.ndarray:
    """Places of the symbols to keep, the most frequent first, ties in their order."""
    if model.vocabulary is not None:
        given = sort_symbols(set(model.vocabulary))
        places = {symbol: place for place, symbol in enumerate(symbols)}
        for symbol in given:
            if symbol not in places:
                places[symbol] = len(symbols)
                symbols.append(symbol)
        counts = np.append(counts, np.zeros(len(symbols) - len(counts), np.int64))
        allowed = np.array([places[symbol] for symbol in given], np.int64)
    else:
        ordered = {symbol: rank for rank, symbol in enumerate(sort_symbols(symbols))}
        ranks = np.array([ordered[symbol] for symbol in symbols], np.int64)
        allowed = np.argsort(ranks, kind="stable")
        allowed = allowed[counts[allowed] >= model.min_count]
    kept = allowed[np.argsort(-counts[allowed], kind="stable")]
    kept = kept if model.vocabulary is not None else kept[: model.vocabulary_size]
    dropped = counts.sum() - counts[kept].sum()
    if dropped and not model.unknown:
        raise ValueError(
            f"{dropped} symbols of the documents are outside the vocabulary: give unknown=True, "
            "or a vocabulary that holds them"
        )
    return kept
