"""Tokenization into n-grams, term counts that merge, and the choice of a vocabulary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from tenfold.preprocessing.text.tokens import (
    WORD_PATTERN,
    bag_of_words,
    encode_tokens,
    tokenize,
)

DEFAULT_ANALYSIS: dict[str, Any] = {
    "analyzer": "word",
    "token_pattern": WORD_PATTERN,
    "tokenizer": None,
    "preprocessor": None,
    "strip_accents": None,
}


class NgramTokenizer(NamedTuple):
    """Split documents into terms: n-grams of `low` to `high` words.

    Attributes
    ----------
    lowercase : whether to convert to lower case
    low, high : smallest and largest n
    stops : stop words, removed before n-grams are formed
    """

    lowercase: bool = True
    low: int = 1
    high: int = 1
    stops: frozenset[bytes] = frozenset()

    def terms(self, document: Any) -> list[bytes]:
        """Terms of a document; single words are filtered later, when columns are selected.

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


class CustomTokenizer(NamedTuple):
    """Terms by an analyzer of scikit-learn: patterns, functions, characters, accents.

    Attributes
    ----------
    analyze : the terms of a document
    """

    analyze: Callable[[Any], list[Any]]

    def terms(self, document: Any) -> list[bytes]:
        """Terms of a document, stop words left out."""
        return [str(term).encode() for term in self.analyze(document)]


def make_tokenizer(
    lowercase: bool, ngram_range: Any, stop_words: Any, analysis: dict[str, Any]
) -> NgramTokenizer | CustomTokenizer:
    """Tokenizer for the parameters of a vectorizer; `analysis` as in `is_default_analysis`."""
    low, high = ngram_range
    if not 1 <= low <= high:
        raise ValueError(
            f"ngram_range={ngram_range!r} is not a range: give (1, 2) for words and pairs"
        )
    if is_default_analysis(analysis):
        stops = frozenset(word.encode() for word in resolve_stop_words(stop_words))
        return NgramTokenizer(lowercase, int(low), int(high), stops)
    stops = stop_words if stop_words is None else list(resolve_stop_words(stop_words))
    vectorizer = CountVectorizer(
        lowercase=lowercase, ngram_range=(int(low), int(high)), stop_words=stops, **analysis
    )
    return CustomTokenizer(vectorizer.build_analyzer())


def is_default_analysis(analysis: dict[str, Any]) -> bool:
    """Whether words are those of scikit-learn's default pattern, which needs no expression.

    The parameters are analyzer, token_pattern, tokenizer, preprocessor and strip_accents.
    """
    return analysis == DEFAULT_ANALYSIS


def _is_word(run: bytes) -> bool:
    """Whether a token has at least two characters."""
    return len(run) > 1 and (run.isascii() or len(run.decode()) > 1)


def _ngrams(words: list[bytes], n: int) -> list[bytes]:
    """All n-grams, words joined by blanks."""
    if n == 1:
        return words
    return [b" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]


def resolve_stop_words(stop_words: Any) -> Any:
    """The stop words that a parameter stands for."""
    if stop_words is None:
        return ()
    return ENGLISH_STOP_WORDS if isinstance(stop_words, str) else stop_words


class TermCounts:
    """Counts of all terms so far; the vocabulary is selected when all are counted.

    Parameters
    ----------
    words, count, documents_with, documents
        Counts so far, as of the attributes; by default none.

    Attributes
    ----------
    numbers : word -> number, in the order of appearance
    count : (n_terms,) occurrences of each term
    documents_with : (n_terms,) document frequency of each term
    documents : number of documents
    """

    def __init__(
        self, words: Any = (), count: Any = (), documents_with: Any = (), documents: int = 0
    ) -> None:
        numbered = ((word.encode(), number) for number, word in enumerate(words))
        self.numbers: defaultdict[bytes, int] = defaultdict(None, numbered)
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

    def add(self, documents: list[Any], tokenizer: NgramTokenizer | CustomTokenizer) -> Any:
        """Count documents; returns their bags of words, columns in order of appearance."""
        terms = [tokenizer.terms(document) for document in documents]
        numbers, starts = encode_tokens(terms, self.numbers.__getitem__)
        self._grow(len(self.numbers))
        # Counted first: `bag_of_words` reuses the memory of `numbers`.
        self.count += np.bincount(numbers, minlength=len(self.count))
        X = bag_of_words(numbers, starts, len(self.numbers), np.int32)
        self.documents_with += np.bincount(X.indices, minlength=len(self.count))
        self.documents += len(documents)
        return X

    def merge(self, other: TermCounts) -> TermCounts:
        """Add the counts of another part to these."""
        numbers = np.fromiter(map(self.numbers.__getitem__, other.numbers), np.int64)
        self._grow(len(self.numbers))
        self.count[numbers] += other.count
        self.documents_with[numbers] += other.documents_with
        self.documents += other.documents
        return self

    def _grow(self, size: int) -> None:
        zeros = np.zeros(size - len(self.count), np.int64)
        self.count = np.concatenate([self.count, zeros])
        self.documents_with = np.concatenate([self.documents_with, zeros])


class VocabularyColumns(NamedTuple):
    """The words that are columns, in alphabetical order."""

    words: list[bytes]
    numbers: np.ndarray  # in the TermCounts; -1 for a word that never occurred

    def column_of_term(self, size: int) -> np.ndarray:
        """Column of each term number, or -1."""
        columns = np.full(size, -1, np.int32)
        occurring = np.flatnonzero(self.numbers >= 0)
        columns[self.numbers[occurring]] = occurring
        return columns

    def select(self, X: Any, size: int) -> Any:
        """Bags of words by term number as bags by column."""
        columns = self.column_of_term(size)[X.indices]
        in_vocabulary = columns >= 0
        starts = np.concatenate([[0], np.cumsum(in_vocabulary)]).astype(X.indptr.dtype)[X.indptr]
        shape = (X.shape[0], len(self.words))
        selected = type(X)((X.data[in_vocabulary], columns[in_vocabulary], starts), shape=shape)
        selected.sort_indices()
        return selected

    def select_statistic(self, statistic: np.ndarray) -> np.ndarray:
        """Statistic of each column from that of each term; 0 for a word that never occurred."""
        return np.where(self.numbers >= 0, np.append(statistic, 0)[self.numbers], 0)


def select_vocabulary(
    counts: TermCounts,
    stop_words: Collection[str],
    min_df: float,
    max_df: float,
    max_features: int | None,
    *,
    whole_terms: bool = False,
) -> VocabularyColumns:
    """Words with a document frequency between min_df and max_df, of these the most frequent.

    `whole_terms` : all terms are words, and none is a stop word
    """
    stops = {word.encode() for word in stop_words}
    words = sorted(w for w in counts.numbers if whole_terms or (w not in stops and _is_word(w)))
    if not words:
        raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
    numbers = np.fromiter(map(counts.numbers.__getitem__, words), np.int64, len(words))
    low, high = (_to_document_count(bound, counts.documents) for bound in (min_df, max_df))
    if low > high:
        raise ValueError("max_df corresponds to < documents than min_df")
    document_frequency = counts.documents_with[numbers]
    selected = np.flatnonzero((document_frequency >= low) & (document_frequency <= high))
    if max_features is not None:
        selected = np.sort(
            selected[np.argsort(-counts.count[numbers[selected]], kind="stable")[:max_features]]
        )
    if not len(selected):
        raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
    return VocabularyColumns([words[j] for j in selected], numbers[selected])


def _to_document_count(bound: float, documents: int) -> float:
    """A bound as a number of documents; a float is a share of them."""
    return bound if isinstance(bound, int | np.integer) else bound * documents


def parse_vocabulary(vocabulary: Any) -> dict[str, int]:
    """Validate a given vocabulary: word -> column."""
    if isinstance(vocabulary, dict):
        columns = {str(word): int(column) for word, column in vocabulary.items()}
    else:
        columns = {str(word): column for column, word in enumerate(vocabulary)}
    if not columns:
        raise ValueError("empty vocabulary passed to fit")
    if sorted(columns.values()) != list(range(len(columns))) or len(columns) != len(vocabulary):
        raise ValueError("the columns of the vocabulary must be 0, 1, ..., each for one word")
    return columns


def lookup_vocabulary(counts: TermCounts, vocabulary: dict[str, int]) -> VocabularyColumns:
    """Columns of a given vocabulary; words that never occurred have no number."""
    words = [word.encode() for word in sorted(vocabulary, key=vocabulary.__getitem__)]
    return VocabularyColumns(
        words, np.array([counts.numbers.get(word, -1) for word in words], np.int64)
    )


class TermLookup(dict):
    """word -> column, -1 for a word outside the vocabulary."""

    def __missing__(self, word: bytes) -> int:
        return -1
