"""Tokenization into n-grams, term counts that merge, and the choice of a vocabulary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tenfold.preprocessing.text.tokens import bag_of_words, encode_tokens, tokenize


class NgramTokenizer(NamedTuple):
    """How a document becomes terms: single words, pairs, or any run from `low` to `high` words.

    Attributes
    ----------
    lowercase : whether capital letters are made small
    low, high : shortest and longest run
    stops : words to leave out before neighbours are joined
    """

    lowercase: bool = True
    low: int = 1
    high: int = 1
    stops: frozenset[bytes] = frozenset()

    def terms(self, document: Any) -> list[bytes]:
        """The terms of a document; single words as they come, sorted out when columns are chosen.

        Examples
        --------
        >>> NgramTokenizer(high=2, stops=frozenset([b"the"])).terms("The quick brown fox")
        [b'quick', b'brown', b'fox', b'quick brown', b'brown fox']
        """
        words = tokenize(document, lowercase=self.lowercase)
        if self.high == 1:
            return words
        words = [word for word in words if _is_word(word) and word not in self.stops]
        return [run for n in range(self.low, self.high + 1) for run in _ngrams(words, n)]


def make_tokenizer(lowercase: bool, ngram_range: Any, stop_words: Any) -> NgramTokenizer:
    """The splitter that parameters ask for."""
    low, high = ngram_range
    if not 1 <= low <= high:
        raise ValueError(
            f"ngram_range={ngram_range!r} is no range of lengths: give (1, 2) for words and pairs"
        )
    stops = frozenset(word.encode() for word in resolve_stop_words(stop_words))
    return NgramTokenizer(lowercase, int(low), int(high), stops)


def _is_word(run: bytes) -> bool:
    """Whether a run has at least two characters."""
    return len(run) > 1 and (run.isascii() or len(run.decode()) > 1)


def _ngrams(words: list[bytes], n: int) -> list[bytes]:
    """Every run of n words, with blanks between them."""
    if n == 1:
        return words
    return [b" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]


def resolve_stop_words(stop_words: Any) -> Any:
    """The words to leave out."""
    if stop_words is None:
        return ()
    return ENGLISH_STOP_WORDS if isinstance(stop_words, str) else stop_words


class TermCounts:
    """Counts of all words so far. Columns are chosen at the end, when all are known.

    Parameters
    ----------
    words, count, documents_with, documents
        What another tally has counted; by default nothing.

    Attributes
    ----------
    numbers : word -> number, in the order of appearance
    count : (m,) how often each word occurred
    documents_with : (m,) in how many documents
    documents : how many there were
    """

    def __init__(
        self, words: Any = (), count: Any = (), documents_with: Any = (), documents: int = 0
    ) -> None:
        pairs = ((word.encode(), number) for number, word in enumerate(words))
        self.numbers: defaultdict[bytes, int] = defaultdict(None, pairs)
        self.numbers.default_factory = self.numbers.__len__
        self.count = np.array(count, np.int64)
        self.documents_with = np.array(documents_with, np.int64)
        self.documents = documents

    @property
    def words(self) -> list[str]:
        """All words, in the order of their numbers."""
        return [word.decode() for word in self.numbers]

    def __reduce__(self) -> tuple[Any, ...]:
        return TermCounts, (self.words, self.count, self.documents_with, self.documents)

    def add(self, documents: list[Any], splitter: NgramTokenizer) -> Any:
        """Count some documents; their bag of words by number of appearance."""
        terms = [splitter.terms(document) for document in documents]
        found, begins = encode_tokens(terms, self.numbers.__getitem__)
        self._grow(len(self.numbers))
        self.count += np.bincount(
            found, minlength=len(self.count)
        )  # `bag_of_words` takes them over
        X = bag_of_words(found, begins, len(self.numbers), np.int32)
        self.documents_with += np.bincount(X.indices, minlength=len(self.count))
        self.documents += len(documents)
        return X

    def merge(self, other: TermCounts) -> TermCounts:
        """The tally of both parts: this one, to which the other is added."""
        places = np.fromiter(map(self.numbers.__getitem__, other.numbers), np.int64)
        self._grow(len(self.numbers))
        self.count[places] += other.count
        self.documents_with[places] += other.documents_with
        self.documents += other.documents
        return self

    def _grow(self, size: int) -> None:
        more = np.zeros(size - len(self.count), np.int64)
        self.count = np.concatenate([self.count, more])
        self.documents_with = np.concatenate([self.documents_with, more])


class VocabularyColumns(NamedTuple):
    """The words that are columns, in alphabetical order."""

    words: list[bytes]
    numbers: np.ndarray  # in the tally; -1 for a word that never occurred

    def places(self, size: int) -> np.ndarray:
        """Column of each number of the tally, or -1."""
        places = np.full(size, -1, np.int32)
        seen = np.flatnonzero(self.numbers >= 0)
        places[self.numbers[seen]] = seen
        return places

    def chosen(self, X: Any, size: int) -> Any:
        """Bags of words by number of the tally as bags by column."""
        found = self.places(size)[X.indices]
        known = found >= 0
        begins = np.concatenate([[0], np.cumsum(known)]).astype(X.indptr.dtype)[X.indptr]
        shape = (X.shape[0], len(self.words))
        chosen = type(X)((X.data[known], found[known], begins), shape=shape)
        chosen.sort_indices()
        return chosen

    def taken(self, of_words: np.ndarray) -> np.ndarray:
        """What the tally says of each column; 0 for a word that never occurred."""
        return np.where(self.numbers >= 0, np.append(of_words, 0)[self.numbers], 0)


def select_vocabulary(
    tally: TermCounts,
    stop_words: Collection[str],
    min_df: float,
    max_df: float,
    max_features: int | None,
) -> VocabularyColumns:
    """The words that are in enough documents, and in not too many; of these the most frequent."""
    stops = {word.encode() for word in stop_words}
    words = sorted(w for w in tally.numbers if w not in stops and _is_word(w))
    if not words:
        raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
    numbers = np.fromiter(map(tally.numbers.__getitem__, words), np.int64, len(words))
    low, high = (_to_document_count(bound, tally.documents) for bound in (min_df, max_df))
    if low > high:
        raise ValueError("max_df corresponds to < documents than min_df")
    within = tally.documents_with[numbers]
    kept = np.flatnonzero((within >= low) & (within <= high))
    if max_features is not None:
        kept = np.sort(kept[np.argsort(-tally.count[numbers[kept]], kind="stable")[:max_features]])
    if not len(kept):
        raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
    return VocabularyColumns([words[j] for j in kept], numbers[kept])


def _to_document_count(bound: float, documents: int) -> float:
    """A bound as a number of documents; a share where it is no whole number."""
    return bound if isinstance(bound, int | np.integer) else bound * documents


def parse_vocabulary(vocabulary: Any) -> dict[str, int]:
    """A vocabulary that was given: word -> column."""
    if isinstance(vocabulary, dict):
        found = {str(word): int(column) for word, column in vocabulary.items()}
    else:
        found = {str(word): column for column, word in enumerate(vocabulary)}
    if not found:
        raise ValueError("empty vocabulary passed to fit")
    if sorted(found.values()) != list(range(len(found))) or len(found) != len(vocabulary):
        raise ValueError("the columns of the vocabulary must be 0, 1, ..., each for one word")
    return found


def lookup_vocabulary(tally: TermCounts, vocabulary: dict[str, int]) -> VocabularyColumns:
    """Columns that were given: words that never occurred have no number."""
    words = [word.encode() for word in sorted(vocabulary, key=vocabulary.__getitem__)]
    return VocabularyColumns(
        words, np.array([tally.numbers.get(word, -1) for word in words], np.int64)
    )


class TermLookup(dict):
    """word -> column, and -1 for a word that is no column."""

    def __missing__(self, word: bytes) -> int:
        return -1
