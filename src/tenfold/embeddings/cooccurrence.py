"""How often words occur near each other: a table that merges exactly."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from tenfold.embeddings._cooccurrence_numba import count_neighbors, sort_positions
from tenfold.embeddings._corpus import WordNumbers, add_counts, encode_documents
from tenfold.engine.thread_pool import n_threads, run_in_threads

WEIGHTINGS = ("uniform", "harmonic", "linear")
_BATCH_TOKENS = 2**21  # tokens whose pairs are counted at a time
_MAX_UNIT = 2**31  # a weight of one, where the least common multiple of distances is larger
_PARTS = 16  # of the words of a batch, for threads


def distance_weights(window: int, weighting: str) -> tuple[np.ndarray, int]:
    """Whole numbers that stand for the weights of words 1, 2, ... places apart, and that of one.

    Whole numbers add up exactly in any order, so tables merge without rounding.

    Examples
    --------
    >>> distance_weights(3, "harmonic")
    (array([0, 6, 3, 2]), 6)
    """
    distances = np.arange(1, window + 1)
    if weighting == "uniform":
        unit, weights = 1, np.ones(window, np.int64)
    elif weighting == "linear":
        unit, weights = window, window + 1 - distances
    else:
        unit = min(lcm(*distances.tolist()), _MAX_UNIT)
        weights = np.array([round(unit / d) for d in distances.tolist()])
    return np.concatenate([[0], weights]).astype(np.int64), unit


class CooccurrenceTable(NamedTuple):
    """Weighted numbers of times that a word follows another within a window.

    Attributes
    ----------
    words : the words, by number
    counts : (n_words,) int64 how often each occurs
    indptr, indices, data : CSR matrix of int64, row: the word before, column: the word after
    unit : what a weight of one is in `data`
    n_documents : number of documents
    """

    words: list[Any]
    counts: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    unit: int
    n_documents: int

    @property
    def following(self) -> Any:
        """The table as a CSR array of whole numbers."""
        n = len(self.words)
        return csr_array((self.data, self.indices, self.indptr), shape=(n, n))

    def select(self, kept: np.ndarray) -> Any:
        """Symmetric weights among some words, in their order, as a CSR array of float64."""
        part = self.following[kept][:, kept]
        both = (part + part.T).tocsr()
        both.sort_indices()
        return csr_array((both.data / self.unit, both.indices, both.indptr), shape=both.shape)

    def merge(self, other: Self) -> CooccurrenceTable:
        """The table of the documents of both."""
        if self.unit != other.unit:
            raise ValueError("tables of different windows or weightings cannot be merged")
        numbers = {word: n for n, word in enumerate(self.words)}
        places = np.array([numbers.setdefault(w, len(numbers)) for w in other.words], np.int64)
        size = len(numbers)
        table = _resize(self.following, size) + _renumber(other.following, places, size)
        counts = np.zeros(size, np.int64)
        counts[: len(self.counts)] = self.counts
        np.add.at(counts, places, other.counts)
        return _make_table(
            list(numbers), counts, table, self.unit, self.n_documents + other.n_documents
        )


def _make_table(
    words: list[Any], counts: np.ndarray, table: Any, unit: int, documents: int
) -> CooccurrenceTable:
    table.sort_indices()
    arrays = (table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)
    return CooccurrenceTable(words, counts, *arrays, unit, documents)


def _resize(table: Any, size: int) -> Any:
    """The same entries in a larger square."""
    indptr = np.concatenate(
        [table.indptr, np.full(size - table.shape[0], table.indptr[-1], table.indptr.dtype)]
    )
    return csr_array((table.data, table.indices, indptr), shape=(size, size))


def _renumber(table: Any, places: np.ndarray, size: int) -> Any:
    """The entries of a table with rows and columns at other places of a larger square."""
    entries = table.tocoo()
    pair = (places[entries.coords[0]], places[entries.coords[1]])
    return csr_array((entries.data, pair), shape=(size, size))


def count_cooccurrences(
    documents: Any,
    *,
    window: int = 5,
    weighting: str = "uniform",
    vocabulary: Any = None,
    lowercase: bool = True,
    tokenizer: Any = None,
) -> CooccurrenceTable:
    """Count which words follow which within a window, in one pass over the documents.

    Parameters
    ----------
    documents : iterable of str or of sequences of words, or path
        A list, a generator, a column of files of any size (`tenfold.Documents`), or the lines of a
        text file (`pathlib.Path`).
    window : int
        Largest distance of two words.
    weighting : {"uniform", "harmonic", "linear"}
        What a pair at distance d counts: 1; 1 / d; or (window + 1 - d) / window.
    vocabulary : list, optional
        Words to count; others keep their place in the window but are not counted. Memory then does
        not grow with the number of different words.
    lowercase : bool
        Whether to convert texts to lower case first.
    tokenizer : callable, optional
        Function from a text to its words; by default runs of letters, digits and underscores.

    Returns
    -------
    CooccurrenceTable

    Examples
    --------
    >>> table = count_cooccurrences(["the cat sat on the mat"], window=2)
    >>> table.words
    ['the', 'cat', 'sat', 'on', 'mat']
    >>> table.following.toarray().tolist()
    [[0, 1, 1, 0, 1], [0, 0, 1, 1, 0], [1, 0, 0, 1, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]]
    """
    weights, unit = distance_weights(window, weighting)
    numbers = WordNumbers(vocabulary)
    encoded = encode_documents(documents, numbers, lowercase=lowercase, tokenizer=tokenizer)
    total, counts, seen = csr_array((0, 0), dtype=np.int64), np.zeros(0, np.int64), 0
    for tokens, starts in _join_batches(encoded, _BATCH_TOKENS):
        size = len(numbers.numbers)
        counts, seen = add_counts(counts, tokens, size), seen + len(starts) - 1
        total = _resize(total, size) + count_batch(tokens, starts, size, weights)
    size = len(numbers.numbers)
    counts = add_counts(counts, np.empty(0, np.int32), size)
    return _make_table(numbers.words, counts, _resize(total, size), unit, seen)


def _join_batches(
    encoded: Iterator[tuple[np.ndarray, np.ndarray]], least: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches of documents joined until they hold at least so many tokens."""
    tokens: list[np.ndarray] = []
    starts: list[np.ndarray] = [np.zeros(1, np.int64)]
    held = 0
    for part, begins in encoded:
        tokens.append(part)
        starts.append(begins[1:] + held)
        held += len(part)
        if held >= least:
            yield np.concatenate(tokens), np.concatenate(starts)
            tokens, starts, held = [], [np.zeros(1, np.int64)], 0
    if tokens:
        yield np.concatenate(tokens), np.concatenate(starts)


def count_batch(tokens: np.ndarray, starts: np.ndarray, size: int, weights: np.ndarray) -> Any:
    """CSR array of the weights with which each word follows each other in some documents."""
    ends = np.repeat(starts[1:], np.diff(starts))
    bounds, positions = np.empty(size + 1, np.int64), np.empty(len(tokens), np.int64)
    sort_positions(tokens, size, bounds, positions)
    cuts = np.searchsorted(bounds, np.linspace(0, bounds[-1], _PARTS + 1)).clip(0, size)
    cuts[0], cuts[-1] = 0, size
    lengths = np.zeros(size, np.int64)
    parts = [(np.empty(0, np.int32), np.empty(0, np.int64))] * _PARTS
    numbers = iter(range(_PARTS))

    def work() -> None:
        sums = np.zeros(size, np.int64)
        for part in numbers:
            first, last = int(cuts[part]), int(cuts[part + 1])
            most = int(bounds[last] - bounds[first]) * (len(weights) - 1)
            columns, values = np.empty(most, np.int32), np.empty(most, np.int64)
            places = (tokens, ends, positions, bounds, first, last)
            n = count_neighbors(*places, weights, sums, columns, values, lengths)
            parts[part] = columns[:n].copy(), values[:n].copy()

    run_in_threads(work, min(n_threads(), _PARTS) - 1)
    columns, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return csr_array((values, columns, indptr), shape=(size, size))
