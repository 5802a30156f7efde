"""Words that are in few documents weigh more: tf-idf in its two forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.base._sklearn import StrOptions
from tenfold.preprocessing.text._vocabulary import VocabularyColumns
from tenfold.preprocessing.text.word_counts import (
    COUNT_CONSTRAINTS,
    WordCounts,
    normalize_rows,
    scale_columns,
)


class TfIdf(WordCounts):
    r"""Counts of words, weighed by how few documents have the word.

    .. math:: \text{"smooth"}: \; x_j \Bigl(\log \frac{1 + n}{1 + d_j} + 1\Bigr), \qquad
              \text{"ratio"}: \; \frac{x_j}{d_j}

    :math:`d_j` of the n training documents have word j. "ratio" is the formula (167) of note 001;
    its table was made by "smooth" with rows of length one, which is what
    `sklearn.feature_extraction.text.TfidfVectorizer` does. [001, 2.8; 003, unit 4]

    Parameters
    ----------
    form : {"smooth", "ratio"}
        How a word is weighed.
    norm : {"l2", "l1", "auto"} or None
        Whether rows are scaled to length (l2) or sum (l1) one; "auto" is "l2" for "smooth" and
        None for "ratio".
    kind, stop_words, lowercase, min_df, max_df, max_features, vocabulary, dtype
        As in `WordCounts`; the counts, presence or frequency is what is weighed.
    ngram_range, word_weights
        As in `WordCounts`; words are weighed before rows are scaled.

    Attributes
    ----------
    idf_ : (p,) weight of each word
    vocabulary_, documents_, document_frequency_, tally_ : as in `WordCounts`

    Examples
    --------
    >>> from tenfold.preprocessing.text.tfidf import TfIdf
    >>> documents = ["the cat", "the dog", "the dog and the cat", "the bird"]
    >>> model = TfIdf("ratio").fit(documents)
    >>> dict(zip(model.get_feature_names_out(), model.idf_.tolist(), strict=True))
    {'and': 1.0, 'bird': 1.0, 'cat': 0.5, 'dog': 0.5, 'the': 0.25}
    >>> TfIdf().fit_transform(documents).power(2).sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    _parameter_constraints: dict[str, Any] = {
        **COUNT_CONSTRAINTS,
        "form": [StrOptions({"smooth", "ratio"})],
        "norm": [StrOptions({"l2", "l1", "auto"}), None],
    }

    def __init__(
        self,
        form: str = "smooth",
        *,
        norm: str | None = "auto",
        kind: str = "counts",
        stop_words: Any = None,
        lowercase: bool = True,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        vocabulary: Any = None,
        ngram_range: tuple[int, int] = (1, 1),
        word_weights: Any = None,
        dtype: Any = np.float64,
    ) -> None:
        super().__init__(
            kind,
            stop_words=stop_words,
            lowercase=lowercase,
            min_df=min_df,
            max_df=max_df,
            max_features=max_features,
            vocabulary=vocabulary,
            ngram_range=ngram_range,
            word_weights=word_weights,
            dtype=dtype,
        )
        self.form = form
        self.norm = norm

    def _settle(self) -> VocabularyColumns:
        columns = super()._settle()
        within = self.document_frequency_
        if self.form == "ratio":
            weights = 1 / np.maximum(within, 1)
        else:
            weights = np.log((1 + self.documents_) / (1 + within)) + 1
        self.idf_ = weights.astype(self.dtype)
        return columns

    def _weighed(self, X: Any) -> Any:
        X = scale_columns(super()._weighed(X), self.idf_)
        norm = {"smooth": "l2", "ratio": None}[self.form] if self.norm == "auto" else self.norm
        return X if norm is None else normalize_rows(X, norm)
