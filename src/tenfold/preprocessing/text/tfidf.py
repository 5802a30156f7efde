"""Tf-idf: counts of words weighted by inverse document frequency."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.base._sklearn import StrOptions
from tenfold.preprocessing.text._vocabulary import VocabularyColumns
from tenfold.preprocessing.text.tokens import WORD_PATTERN
from tenfold.preprocessing.text.word_counts import (
    COUNT_CONSTRAINTS,
    WordCounts,
    normalize_rows,
    scale_columns,
)


class TfIdf(WordCounts):
    r"""Term frequency times inverse document frequency.

    .. math:: \text{"smooth"}: \; x_j \Bigl(\log \frac{1 + n}{1 + d_j} + 1\Bigr), \qquad
              \text{"ratio"}: \; \frac{x_j}{d_j}

    :math:`d_j` of the n training documents have word j. "smooth" with rows scaled to unit length is
    what `sklearn.feature_extraction.text.TfidfVectorizer` computes.

    Parameters
    ----------
    form : {"smooth", "ratio"}
        Formula of the weight of a word.
    norm : {"l2", "l1", "auto"} or None
        Whether rows are scaled to length (l2) or sum (l1) one; "auto" is "l2" for "smooth" and
        None for "ratio".
    kind, stop_words, lowercase, min_df, max_df, max_features, vocabulary, dtype
        As in `WordCounts`; counts, presence or frequency is the term frequency.
    ngram_range, word_weights
        As in `WordCounts`; weights are applied before rows are scaled.
    analyzer, token_pattern, tokenizer, preprocessor, strip_accents
        As in `WordCounts`.

    Attributes
    ----------
    idf_ : (n_features,) weight of each word
    vocabulary_, documents_, document_frequency_, tally_ : as in `WordCounts`

    See Also
    --------
    WordCounts, word_weights, MultinomialNB

    References
    ----------
    Spärck Jones, K. (1972). A Statistical Interpretation of Term Specificity and Its Application in
    Retrieval.

    Examples
    --------
    >>> from tenfold import TfIdf
    >>> documents = ["the cat", "the dog", "the dog and the cat", "the bird"]
    >>> model = TfIdf("ratio").fit(documents)
    >>> dict(zip(model.get_feature_names_out(), model.idf_.tolist(), strict=True))
    {'and': 1.0, 'bird': 1.0, 'cat': 0.5, 'dog': 0.5, 'the': 0.25}
    >>> TfIdf().fit_transform(documents).power(2).sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    _weighs_by_documents = True
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
        analyzer: Any = "word",
        token_pattern: str | None = WORD_PATTERN,
        tokenizer: Any = None,
        preprocessor: Any = None,
        strip_accents: Any = None,
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
            analyzer=analyzer,
            token_pattern=token_pattern,
            tokenizer=tokenizer,
            preprocessor=preprocessor,
            strip_accents=strip_accents,
        )
        self.form = form
        self.norm = norm

    def _select_columns(self) -> VocabularyColumns:
        columns = super()._select_columns()
        document_frequency = self.document_frequency_
        if self.form == "ratio":
            weights = 1 / np.maximum(document_frequency, 1)
        else:
            weights = np.log((1 + self.documents_) / (1 + document_frequency)) + 1
        self.idf_ = weights.astype(self.dtype)
        return columns

    def _weight(self, X: Any) -> Any:
        X = scale_columns(super()._weight(X), self.idf_)
        norm = {"smooth": "l2", "ratio": None}[self.form] if self.norm == "auto" else self.norm
        return X if norm is None else normalize_rows(X, norm)
