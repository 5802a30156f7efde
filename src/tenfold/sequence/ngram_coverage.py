"""How many n-grams of new text were never seen, as the training text grows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.sequence._ngram_counts import count_windows, lexicographic_keys
from tenfold.sequence._symbols import SymbolEncoder


class NgramCoverage(NamedTuple):
    """Unseen n-grams by order and length of the training text.

    Attributes
    ----------
    tokens : (sizes,) symbols of training text
    kinds : (orders, sizes) different n-grams in them
    unseen : (orders, sizes) share of the n-grams of the held-out text that are not among them
    """

    tokens: np.ndarray
    kinds: np.ndarray
    unseen: np.ndarray


def measure_ngram_coverage(
    documents: Any,
    held_out: Any,
    *,
    max_order: int = 3,
    n_sizes: int = 10,
    unit: str = "word",
    lowercase: bool = True,
) -> NgramCoverage:
    """Share of n-grams of held-out documents that do not occur in the first part of a text.

    Parameters
    ----------
    documents, held_out : iterables of str or of sequences of symbols
        Training text, and text whose n-grams are looked up.
    max_order : int
        Orders 1 to this one are measured.
    n_sizes : int
        Number of lengths of the training text, from a small part to all of it by equal factors.
    unit : {"word", "character"}
        What texts are cut into.
    lowercase : bool
        Whether to convert texts to lower case first.

    Examples
    --------
    >>> coverage = measure_ngram_coverage(["a b a b c"], ["a b c a"], max_order=2, n_sizes=1)
    >>> coverage.unseen.tolist()  # 'c a' is new
    [[0.0], [0.3333333333333333]]
    """
    numbers: dict[Any, int] = {}
    encoder = SymbolEncoder(unit, lowercase=lowercase, tokenizer=None)
    train, test = (_encode(encoder, texts, numbers) for texts in (documents, held_out))
    n = len(train[0])
    if not n or not len(test[0]):
        raise ValueError("there are no symbols: the documents are empty")
    smallest = max(n // 2 ** (n_sizes - 1), 1)
    sizes = np.unique(np.geomspace(smallest, n, n_sizes).round().astype(int))
    kinds, unseen = np.empty((2, max_order, len(sizes)))
    for order in range(1, max_order + 1):
        seen_at, keys = _first_occurrences(train, test, order, len(numbers))
        for at, size in enumerate(sizes):
            kinds[order - 1, at] = (seen_at < size).sum()
            unseen[order - 1, at] = (keys >= size).mean() if len(keys) else np.nan
    return NgramCoverage(sizes, kinds, unseen)


def _encode(
    encoder: SymbolEncoder, texts: Any, numbers: dict[Any, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of all symbols, and where documents begin."""
    parts = list(encoder.encode(texts, lambda symbol: numbers.setdefault(symbol, len(numbers))))
    lengths = [np.diff(starts) for _, starts in parts] or [np.empty(0, np.int64)]
    symbols = np.concatenate([part for part, _ in parts] or [np.empty(0, np.int64)])
    return symbols, np.concatenate([[0], np.cumsum(np.concatenate(lengths))])


def _first_occurrences(
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    order: int,
    begin: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Place of the end of the first occurrence: of each training n-gram, of each one looked up."""
    windows = [count_windows(*text, order, begin) for text in (train, test)]
    inside = [~(table == begin).any(axis=1) for table in windows]
    places = np.flatnonzero(inside[0])
    keys = lexicographic_keys(np.concatenate([w[i] for w, i in zip(windows, inside, strict=True)]))
    distinct, first = np.unique(keys[: len(places)], return_index=True)
    looked_up = keys[len(places) :]
    if not len(distinct):
        return places, np.full(len(looked_up), np.iinfo(np.int64).max)
    at = np.minimum(np.searchsorted(distinct, looked_up), len(distinct) - 1)
    never = np.iinfo(np.int64).max
    return places[first], np.where(distinct[at] == looked_up, places[first][at], never)
