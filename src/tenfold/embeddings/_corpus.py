"""Documents as one long sequence of word numbers in a temporary file, read as often as needed."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.preprocessing.text.tokens import tokenize
from tenfold.sequence._symbols import SymbolEncoder, sort_symbols

OUTSIDE = -1  # number of a word outside the vocabulary


def split_words(text: str) -> list[str]:
    """Runs of letters, digits and underscores.

    Examples
    --------
    >>> split_words("It's 2 o'clock")
    ['It', 's', '2', 'o', 'clock']
    """
    return [word.decode() for word in tokenize(text, lowercase=False)]


class WordNumbers:
    """Words in the order of their first occurrence, or the words of a given vocabulary."""

    def __init__(self, vocabulary: Any = None) -> None:
        self.numbers: dict[Any, int]
        self.number: Callable[[Any], int]
        if vocabulary is None:
            numbers: Any = defaultdict(None)
            numbers.default_factory = lambda: len(numbers)
            self.numbers, self.number = numbers, numbers.__getitem__
        else:
            words = sort_symbols(set(vocabulary))
            self.numbers = {word: n for n, word in enumerate(words)}
            self.number = lambda word: self.numbers.get(word, OUTSIDE)

    @property
    def words(self) -> list[Any]:
        """The words, by number."""
        return list(self.numbers)


def encode_documents(
    documents: Any, numbers: WordNumbers, *, lowercase: bool, tokenizer: Any
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Word numbers of batches of documents, and where documents begin."""
    cut = split_words if tokenizer is None else tokenizer
    encoder = SymbolEncoder("word", lowercase=lowercase, tokenizer=cut)
    for tokens, starts in encoder.encode(documents, numbers.number):
        yield tokens.astype(np.int32), starts


class Corpus(NamedTuple):
    """All words of the documents.

    Attributes
    ----------
    tokens : (n_tokens,) int32 numbers of words, mapped from a temporary file
    starts : (n_documents + 1,) where documents begin
    words : the words, by number
    counts : (n_words,) int64 how often each occurs
    """

    tokens: np.ndarray
    starts: np.ndarray
    words: list[Any]
    counts: np.ndarray

    def renumber(self, numbers: np.ndarray) -> np.ndarray:
        """Copy of the tokens, in another temporary file, after word w has become numbers[w]."""
        with tempfile.TemporaryFile() as file:
            for part in np.array_split(self.tokens, max(len(self.tokens) // 2**22, 1)):
                known = np.where(part >= 0, numbers[part], OUTSIDE)
                known.astype(np.int32).tofile(file)
            return _map_tokens(file, len(self.tokens))


def read_corpus(documents: Any, vocabulary: Any, *, lowercase: bool, tokenizer: Any) -> Corpus:
    """One pass over the documents."""
    numbers, counts, starts = (
        WordNumbers(vocabulary),
        np.zeros(0, np.int64),
        [np.zeros(1, np.int64)],
    )
    total = 0
    with tempfile.TemporaryFile() as file:
        for tokens, begins in encode_documents(
            documents, numbers, lowercase=lowercase, tokenizer=tokenizer
        ):
            tokens.tofile(file)
            starts.append(begins[1:] + total)
            total += len(tokens)
            counts = add_counts(counts, tokens, len(numbers.numbers))
        return Corpus(_map_tokens(file, total), np.concatenate(starts), numbers.words, counts)


def _map_tokens(file: Any, n: int) -> np.ndarray:
    """The numbers in a file; it lives as long as they do."""
    file.flush()
    return np.memmap(file, np.int32, "r", shape=(n,)) if n else np.empty(0, np.int32)


def add_counts(counts: np.ndarray, tokens: np.ndarray, size: int) -> np.ndarray:
    """Counts of words with those of further tokens, for so many words."""
    more = np.bincount(tokens[tokens >= 0], minlength=size).astype(np.int64)
    more[: len(counts)] += counts
    return more


def select_words(
    words: list[Any], counts: np.ndarray, *, min_count: int, max_words: int | None, given: bool
) -> np.ndarray:
    """Numbers of the words to keep: by falling count, equal counts in the order of the words."""
    try:
        ordered = sorted(range(len(words)), key=lambda n: (-int(counts[n]), words[n]))
    except TypeError:  # such words have no order
        kinds = sorted({type(word).__name__ for word in words})
        raise TypeError(
            f"words of documents are of one kind, not {' and '.join(kinds)}: make them text"
        ) from None
    order = np.array(ordered, np.int64)
    if not given:
        order = order[counts[order] >= min_count]
    chosen = order[:max_words]
    if len(chosen) < 2:
        raise ValueError(
            f"{len(chosen)} words are left of {len(words)}: lower min_count ({min_count}), or give "
            "more documents"
        )
    return chosen
