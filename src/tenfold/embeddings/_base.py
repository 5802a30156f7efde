"""What embeddings share: how texts become words, which words are kept, learned attributes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.embeddings._corpus import select_words
from tenfold.embeddings.cooccurrence import WEIGHTINGS, CooccurrenceTable, count_cooccurrences
from tenfold.embeddings.word_vectors import WordVectorQueries
from tenfold.engine.arrays import SparseSource
from tenfold.engine.hooks import record_data

COUNT = Interval(Integral, 1, None, closed="left")
TABLE_CONSTRAINTS: dict[str, Any] = {"weighting": [StrOptions(set(WEIGHTINGS))]}
WORD_CONSTRAINTS: dict[str, Any] = {
    "n_components": [COUNT],
    "window": [COUNT],
    "min_count": [COUNT],
    "max_words": [COUNT, None],
    "vocabulary": [list, tuple, set, dict, np.ndarray, None],
    "lowercase": ["boolean"],
    "tokenizer": [callable, None],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
    "verbose": ["verbose"],
}


class EmbeddingModel(WordVectorQueries, Estimator):
    """Base of models that learn a vector for each word of the documents."""

    _takes_sequences = True  # documents, not rows: laws of their own in tests/embeddings
    _learned_shapes = {"vectors_": "v d", "context_vectors_": "v d", "counts_": "v : count"}

    def _select(self, words: list[Any], counts: np.ndarray) -> np.ndarray:
        """Numbers of the words to keep, by falling count."""
        return select_words(
            words,
            counts,
            min_count=self.min_count,
            max_words=self.max_words,
            given=self.vocabulary is not None,
        )

    def _word_attributes(
        self, words: list[Any], counts: np.ndarray, kept: np.ndarray
    ) -> dict[str, Any]:
        chosen = [words[number] for number in kept]
        numbers = {word: n for n, word in enumerate(chosen)}
        return {"words_": chosen, "vocabulary_": numbers, "counts_": counts[kept]}

    def _check_learned(self) -> None:
        """Raise an error if words and vectors of a loaded model do not fit each other."""
        if not hasattr(self, "vectors_"):
            return
        n = len(self.vectors_)
        numbers = list(self.vocabulary_.values())
        if len(self.words_) != n or sorted(numbers) != list(range(n)):
            raise ValueError(f"{len(self.words_)} words do not fit {n} vectors")
        if [self.vocabulary_.get(word) for word in self.words_] != list(range(n)):
            raise ValueError("vocabulary_ does not number the words of words_")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "vectors_")


class TableEmbedding(EmbeddingModel):
    """Base of models that learn from counts of words near each other: one pass, mergeable."""

    def _learn_vectors(self, table: Any) -> dict[str, Any]:
        """Learned attributes from the symmetric table of the words that are kept."""
        raise NotImplementedError(f"{type(self).__name__} has to define _learn_vectors(table)")

    def fit(self, documents: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Count which words occur near which, in one pass, and learn vectors from the table.

        Parameters
        ----------
        documents : iterable of str or of sequences of words, or path
            A list, a generator, a column of files of any size (`tenfold.Documents`), or the lines
            of a text file (`pathlib.Path`).
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            self._set_table(self._count(documents))
        return self

    def partial_fit(self, documents: Any, y: Any = None) -> Self:
        """Learn from more documents, as if they had been part of those so far.

        Parameters
        ----------
        documents : as for `fit`
            More documents.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            table = self._count(documents)
            if hasattr(self, "statistic_"):
                table = self.statistic_.merge(table)
            self._set_table(table)
        return self

    def merge(self, other: Self) -> Self:
        """Merge with a model of other documents; returns the model of both parts.

        Parameters
        ----------
        other : fitted model with the same parameters
            It is left as it is.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if self.get_params() != other.get_params():
            raise ValueError("models that are merged must have the same parameters")
        merged = type(self)(**self.get_params())
        with merged._work_context():  # noqa: SLF001 - of the same class
            merged._set_table(self.statistic_.merge(other.statistic_))  # noqa: SLF001
        return merged

    def fit_table(self, table: CooccurrenceTable) -> Self:
        """Learn vectors from a table of `tenfold.embeddings.count_cooccurrences`.

        Parameters
        ----------
        table : CooccurrenceTable
            Counted elsewhere, or merged from parts.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            self._set_table(table)
        return self

    def _count(self, documents: Any) -> CooccurrenceTable:
        names = ("window", "weighting", "vocabulary", "lowercase", "tokenizer")
        return count_cooccurrences(documents, **{name: getattr(self, name) for name in names})

    def _set_table(self, table: CooccurrenceTable) -> None:
        kept = self._select(table.words, table.counts)
        near = table.select(kept)
        if near.nnz == 0:
            raise ValueError(
                "no two words of the vocabulary occur near each other: enlarge the window, or "
                "give longer documents"
            )
        record_data(SparseSource(near), None)
        learned = self._word_attributes(table.words, table.counts, kept)
        learned |= {"statistic_": table, "n_documents_": table.n_documents}
        self._set_learned(learned | self._learn_vectors(near))

    def _check_learned(self) -> None:
        super()._check_learned()
        table = getattr(self, "statistic_", None)
        if table is None:
            return
        n = len(table.words)
        sound = (
            len(table.counts) == n
            and len(table.indptr) == n + 1
            and len(table.indices) == len(table.data) == int(table.indptr[-1])
            and not (np.diff(table.indptr) < 0).any()
            and (not len(table.indices) or 0 <= table.indices.min() <= table.indices.max() < n)
        )
        if not sound:
            raise ValueError("the table of counts is not that of its words")
