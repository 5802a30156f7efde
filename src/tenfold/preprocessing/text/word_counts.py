"""Bags of words: counts, presence and frequency of the words of the training documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.context import current_engine
from tenfold.engine.rows import Rows
from tenfold.io.sparse_rows import SparseSpool
from tenfold.preprocessing.text._vocabulary import (
    DEFAULT_ANALYSIS,
    CustomTokenizer,
    NgramTokenizer,
    TermCounts,
    TermLookup,
    VocabularyColumns,
    is_default_analysis,
    lookup_vocabulary,
    make_tokenizer,
    parse_vocabulary,
    resolve_stop_words,
    select_vocabulary,
)
from tenfold.preprocessing.text.tokens import (
    BATCH_DOCUMENTS,
    WORD_PATTERN,
    bag_of_words,
    encode_tokens,
    iterate_batches,
)

_DOCUMENT_FREQUENCY = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Real, 0, 1, closed="both"),
]
COUNT_CONSTRAINTS: dict[str, Any] = {
    "kind": [StrOptions({"counts", "presence", "frequency"})],
    "stop_words": [StrOptions({"english"}), list, set, frozenset, tuple, None],
    "lowercase": ["boolean"],
    "min_df": _DOCUMENT_FREQUENCY,
    "max_df": _DOCUMENT_FREQUENCY,
    "max_features": [Interval(Integral, 1, None, closed="left"), None],
    "vocabulary": [list, tuple, dict, np.ndarray, None],
    "ngram_range": [tuple, list],
    "word_weights": [dict, "array-like", None],
    "dtype": "no_validation",
    "analyzer": [StrOptions({"word", "char", "char_wb"}), callable],
    "token_pattern": [str, None],
    "tokenizer": [callable, None],
    "preprocessor": [callable, None],
    "strip_accents": [StrOptions({"ascii", "unicode"}), callable, None],
}


def _apply_kind(X: Any, kind: str) -> Any:
    """Counts as they are, as presence, or as frequencies within the row."""
    if kind == "presence":
        X.data[:] = 1
    return normalize_rows(X, "l1") if kind == "frequency" else X


def scale_columns(X: Any, weights: np.ndarray) -> Any:
    """Multiply each column by its weight, in place."""
    X.data = X.data * weights[X.indices]
    return X


def normalize_rows(X: Any, norm: str) -> Any:
    """Scale rows to norm one (l2 or l1), in place; empty rows stay empty."""
    magnitudes = np.append(X.data**2 if norm == "l2" else np.abs(X.data), 0)
    norms = np.add.reduceat(magnitudes, X.indptr[:-1])
    norms = np.sqrt(norms) if norm == "l2" else norms
    norms[np.diff(X.indptr) == 0] = 1
    X.data = X.data / np.repeat(np.where(norms > 0, norms, 1), np.diff(X.indptr))
    return X


def _resolve_word_weights(word_weights: Any, vocabulary: dict[str, int], dtype: Any) -> np.ndarray:
    """Weight of each column: as given by word or by column, 1 for all other words."""
    if isinstance(word_weights, dict):
        weights = np.ones(len(vocabulary), dtype)
        for word in word_weights.keys() & vocabulary.keys():
            weights[vocabulary[word]] = word_weights[word]
    else:
        weights = np.asarray(word_weights, dtype)
    if weights.shape != (len(vocabulary),):
        raise ValueError(
            f"{weights.shape} word weights for {len(vocabulary)} words: give a dict by word"
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("word weights must be numbers that are not negative")
    return weights


class WordCounts(TransformerMixin, BaseEstimator):
    """Documents as counts of the words of the training documents.

    The vocabulary is learned in one pass over the documents, which may come from a generator and
    need not fit in memory: counts of parts add up, and the columns are selected at the end. Words
    outside the vocabulary are ignored. The words are those of
    `sklearn.feature_extraction.text.CountVectorizer`, found about twice as fast; a token pattern, a
    tokenizer, character n-grams or accents of your own take its analyzer, and its time.

    Parameters
    ----------
    kind : {"counts", "presence", "frequency"}
        How often a word occurs, whether it does, or its share of the document's known words.
    stop_words : "english", list of str or None
        Words to leave out; "english" is scikit-learn's list.
    lowercase : bool
        Whether to convert to lower case first.
    min_df, max_df : int or float
        Least and largest number of documents with a word (float: share of the documents).
    max_features : int, optional
        Keep only this many words, those that occur most often.
    vocabulary : list of str or dict, optional
        Columns to use, instead of learning them; counts then need no `fit`.
    ngram_range : pair of int
        Smallest and largest n of the n-grams: (1, 2) are words and bigrams, formed after stop
        words are left out.
    word_weights : dict, (p,) array or None
        Weight of an occurrence of a word, by word (1 for all others) or by column, for example
        from `tenfold.word_weights`.
    dtype : type
        Of the numbers.
    analyzer : {"word", "char", "char_wb"} or callable
        Whether terms are runs of words, of characters, or of characters within words; or a function
        from a document to its terms.
    token_pattern : str or None
        Regular expression of a word; None where a tokenizer is given.
    tokenizer, preprocessor : callable, optional
        Functions from a text to its words, and from a document to the text.
    strip_accents : {"ascii", "unicode"} or callable, optional
        How to remove accents.

    Attributes
    ----------
    vocabulary_ : dict, word -> column
    documents_ : number of training documents
    document_frequency_ : (n_features,) number of documents with each word
    tally_ : counts of all words, including those outside the vocabulary

    See Also
    --------
    TfIdf, word_weights, MultinomialNB, Documents

    Examples
    --------
    >>> from tenfold import WordCounts
    >>> model = WordCounts().fit(["The cat sat.", "The dog sat, the dog ran!"])
    >>> model.get_feature_names_out().tolist()
    ['cat', 'dog', 'ran', 'sat', 'the']
    >>> model.transform(["the dog and the bird"]).toarray().tolist()
    [[0.0, 1.0, 0.0, 0.0, 2.0]]
    """

    _parameter_constraints: dict[str, Any] = COUNT_CONSTRAINTS
    _weighs_by_documents = False  # whether weights of words are learned from documents

    def __init__(
        self,
        kind: str = "counts",
        *,
        stop_words: Any = None,
        lowercase: bool = True,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        vocabulary: Any = None,
        ngram_range: tuple[int, int] = (1, 1),
        word_weights: Any = None,
        dtype: Any = np.float64,
        analyzer: Any = "word",
        token_pattern: str | None = WORD_PATTERN,
        tokenizer: Any = None,
        preprocessor: Any = None,
        strip_accents: Any = None,
    ) -> None:
        self.kind = kind
        self.stop_words = stop_words
        self.lowercase = lowercase
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.ngram_range = ngram_range
        self.word_weights = word_weights
        self.dtype = dtype
        self.analyzer = analyzer
        self.token_pattern = token_pattern
        self.tokenizer = tokenizer
        self.preprocessor = preprocessor
        self.strip_accents = strip_accents

    def fit(self, documents: Iterable[Any], y: Any = None) -> Self:
        """Learn the vocabulary in one pass.

        Parameters
        ----------
        documents : iterable of str (or UTF-8 bytes)
            A list, a generator, an open text file with a document on each line, a column of files
            of any size (`tenfold.Documents`).
        y : None
            Not used; present for pipelines.
        """
        self._validate_params()
        self.tally_ = TermCounts()
        self._count(documents)
        return self

    def partial_fit(self, documents: Iterable[Any], y: Any = None) -> Self:
        """Learn from more documents, as if they had been part of those so far.

        Parameters
        ----------
        documents : iterable of str (or UTF-8 bytes)
            More documents.
        y : None
            Not used.
        """
        self._validate_params()
        if not hasattr(self, "tally_"):
            self.tally_ = TermCounts()
        self._count(documents)
        return self

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride] - documents are no X
        self, documents: Iterable[Any], y: Any = None
    ) -> Any:
        """Learn the vocabulary and count, in one pass; the bags of words must fit in memory.

        Parameters
        ----------
        documents : iterable of str (or UTF-8 bytes)
            The documents.
        y : None
            Not used.
        """
        from scipy.sparse import vstack

        self._validate_params()
        self.tally_ = TermCounts()
        batches: list[Any] = []
        columns = self._count(documents, batches)
        size = len(self.tally_.numbers)
        for batch in batches:
            batch.resize((batch.shape[0], size))
        counts = vstack(batches, format="csr")
        return self._weight(columns.select(counts, size).astype(self.dtype))

    def fit_rows(self, documents: Iterable[Any], y: Any = None) -> Rows:
        """Learn the vocabulary and count, in one pass; the bags of words lie in a temporary file.

        Parameters
        ----------
        documents : iterable of str (or UTF-8 bytes)
            The documents, for example `tenfold.Documents` of files larger than memory.
        y : array, optional
            A label or target for each document.

        Returns
        -------
        Rows
            For `fit` of any model that takes sparse rows.

        Examples
        --------
        >>> from tenfold import LatentDirichletAllocation, WordCounts
        >>> counts = WordCounts()
        >>> rows = counts.fit_rows(line for line in ["the cat sat", "the dog ran"])
        >>> LatentDirichletAllocation(2, random_state=0).fit(rows).components_.shape
        (2, 5)
        """
        self._validate_params()
        self.tally_ = TermCounts()
        spool, counted = SparseSpool(), SparseSpool()
        columns = self._count(documents, spool)
        size = len(self.tally_.numbers)
        for block in spool.blocks(size):
            counted.append(self._weight(columns.select(block, size).astype(self.dtype)))
        return Rows(counted.source(len(self.vocabulary_), y), engine=current_engine())

    def transform_rows(self, documents: Iterable[Any], y: Any = None) -> Rows:
        """`transform` for a corpus larger than memory: the bags of words lie in a temporary file.

        Parameters
        ----------
        documents : iterable of str (or UTF-8 bytes)
            The documents.
        y : array, optional
            A label or target for each document.

        Returns
        -------
        Rows
            For methods of any model that takes sparse rows.
        """
        counted = SparseSpool()
        for batch in self.transform_chunks(documents):
            counted.append(batch)
        return Rows(counted.source(len(self._fixed_vocabulary()), y), engine=current_engine())

    def merge(self, other: Self) -> Self:
        """Merge with a model trained on other documents; returns the model of both parts.

        Parameters
        ----------
        other : fitted model with the same parameters
            It is left as it is.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        merged = type(self)(**self.get_params())
        merged.tally_ = TermCounts().merge(self.tally_).merge(other.tally_)
        merged._select_columns()  # noqa: SLF001 - of the same class
        return merged

    def transform(self, documents: Iterable[Any]) -> Any:
        """Documents as rows of a CSR array.

        Parameters
        ----------
        documents : iterable of str (or UTF-8 bytes)
            The documents.
        """
        from scipy.sparse import csr_array, vstack

        batches = list(self.transform_chunks(documents))
        empty = csr_array((0, len(self._fixed_vocabulary())), dtype=self.dtype)
        return vstack(batches, format="csr") if batches else empty

    def transform_chunks(
        self, documents: Iterable[Any], size: int = BATCH_DOCUMENTS
    ) -> Iterator[Any]:
        """`transform` in batches: for a corpus larger than memory.

        Parameters
        ----------
        documents : iterable of str (or UTF-8 bytes)
            The documents.
        size : int
            Documents per batch.
        """
        vocabulary = self._fixed_vocabulary()
        columns_of_terms = TermLookup(
            (word.encode(), column) for word, column in vocabulary.items()
        )
        tokenizer = self._make_tokenizer()
        for chunk in iterate_batches(documents, size):
            terms = [tokenizer.terms(document) for document in chunk]
            numbers, starts = encode_tokens(terms, columns_of_terms.__getitem__)
            yield self._weight(bag_of_words(numbers, starts, len(vocabulary), self.dtype))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The words, in the order of the columns.

        Parameters
        ----------
        input_features : None
            Not used.
        """
        vocabulary = self._fixed_vocabulary()
        return np.array(sorted(vocabulary, key=vocabulary.__getitem__), dtype=object)

    @property
    def _analysis(self) -> dict[str, Any]:
        """The parameters that say what a term is."""
        return {name: getattr(self, name) for name in DEFAULT_ANALYSIS}

    def _make_tokenizer(self) -> NgramTokenizer | CustomTokenizer:
        return make_tokenizer(self.lowercase, self.ngram_range, self.stop_words, self._analysis)

    def _fixed_vocabulary(self) -> dict[str, int]:
        """The columns: learned, or given where counting needs nothing else."""
        if self.vocabulary is not None and not self._weighs_by_documents:
            return parse_vocabulary(self.vocabulary)
        check_is_fitted(self)
        return self.vocabulary_

    def _count(
        self, documents: Iterable[Any], batches: list[Any] | SparseSpool | None = None
    ) -> VocabularyColumns:
        tokenizer = self._make_tokenizer()
        for chunk in iterate_batches(documents):
            X = self.tally_.add(chunk, tokenizer)
            if batches is not None:
                batches.append(X)
        return self._select_columns()

    def _select_columns(self) -> VocabularyColumns:
        """Select the columns from the counts of all words."""
        counts = self.tally_
        if self.vocabulary is not None:
            self.vocabulary_ = parse_vocabulary(self.vocabulary)
            columns = lookup_vocabulary(counts, self.vocabulary_)
        else:
            columns = select_vocabulary(
                counts,
                resolve_stop_words(self.stop_words),
                self.min_df,
                self.max_df,
                self.max_features,
                whole_terms=not is_default_analysis(self._analysis),
            )
            words = (word.decode() for word in columns.words)
            self.vocabulary_ = {word: column for column, word in enumerate(words)}
        self.documents_ = counts.documents
        self.document_frequency_ = columns.select_statistic(counts.documents_with)
        return columns

    def _weight(self, X: Any) -> Any:
        """Apply `kind` and the weights of the words."""
        X = _apply_kind(X, self.kind)
        if self.word_weights is None:
            return X
        return scale_columns(
            X, _resolve_word_weights(self.word_weights, self._fixed_vocabulary(), self.dtype)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
