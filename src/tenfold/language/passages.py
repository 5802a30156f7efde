"""Answers and summaries that are passages of texts: retrieval and extraction, no generation."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tenfold.preprocessing.text.tfidf import TfIdf
from tenfold.sequence._symbols import check_text, iterate_documents, refuse_sets

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])|\n{2,}")


class Passage(NamedTuple):
    """A passage, its number among those of the fit, and the cosine with the question."""

    text: str
    number: int
    similarity: float


def split_sentences(text: str) -> list[str]:
    """Sentences of a text: they end with a mark before a capital letter, or with a paragraph.

    Examples
    --------
    >>> split_sentences("It is 3.5 m high. Is it? Yes.")
    ['It is 3.5 m high.', 'Is it?', 'Yes.']
    """
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


class PassageRetriever(BaseEstimator):
    """Question answering by retrieval: the passages that share the rarest words with a question.

    Passages and questions are TF-IDF vectors; the answer is the passage with the largest cosine.

    Parameters
    ----------
    ngram_range : (int, int)
        Lengths of word sequences that count as terms.

    Attributes
    ----------
    passages_ : list of str
        The passages.
    vectors_ : sparse matrix
        Their vectors, of length one.

    Examples
    --------
    >>> from tenfold import PassageRetriever
    >>> texts = ["Rome is the capital of Italy.", "Paris is the capital of France."]
    >>> PassageRetriever().fit(texts).answer("What is the capital of France?").text
    'Paris is the capital of France.'
    """

    def __init__(self, ngram_range: tuple[int, int] = (1, 1)) -> None:
        self.ngram_range = ngram_range

    def fit(self, documents: Any, y: Any = None) -> Self:
        """Learn the passages.

        Parameters
        ----------
        documents : list of str, or path
            Passages; the lines of a text file.
        y : None
            Not used.

        Returns
        -------
        self
        """
        refuse_sets(documents)
        passages = [
            check_text(document, f"passage {place}")
            for place, document in enumerate(iterate_documents(documents))
        ]
        if not any(passage.strip() for passage in passages):
            raise ValueError("there are no passages")
        self.passages_ = passages
        low, high = self.ngram_range
        self.vectorizer_ = TfIdf(ngram_range=(low, high))
        self.vectors_ = self.vectorizer_.fit_transform(passages)
        return self

    def rank(self, question: str, n: int = 5) -> list[Passage]:
        """The passages that are most similar to a question; only those that share a word with it.

        Parameters
        ----------
        question : str
            The question.
        n : int
            Most passages.
        """
        check_is_fitted(self)
        vector = self.vectorizer_.transform([check_text(question, "a question")])
        similarity = np.asarray((self.vectors_ @ vector.T).todense()).ravel()
        order = np.argsort(-similarity, kind="stable")[:n]
        return [
            Passage(self.passages_[number], int(number), float(similarity[number]))
            for number in order
            if similarity[number] > 0
        ]

    def answer(self, question: str) -> Passage | None:
        """The most similar passage, or None if none shares a word with the question.

        Parameters
        ----------
        question : str
            The question.
        """
        found = self.rank(question, 1)
        return found[0] if found else None


def summarize(text: str, n_sentences: int = 3) -> str:
    """Extractive summary: the sentences that are most like all the others, in their order.

    Parameters
    ----------
    text : str
        The text.
    n_sentences : int
        Sentences of the summary.

    Returns
    -------
    str

    References
    ----------
    G. Erkan, D. R. Radev (2004), "LexRank: graph-based lexical centrality as salience in text
    summarization".

    Examples
    --------
    >>> text = "Cats sleep a lot. Rain fell. Cats and dogs sleep. Dogs sleep less than cats."
    >>> summarize(text, 1)
    'Cats and dogs sleep.'
    """
    sentences = split_sentences(check_text(text, "what is summarized"))
    if n_sentences < 1:
        raise ValueError(f"n_sentences={n_sentences}: give at least 1")
    if len(sentences) <= n_sentences:
        return " ".join(sentences)
    vectors = TfIdf().fit_transform(sentences)
    centrality = np.asarray((vectors @ vectors.T).sum(axis=1)).ravel()
    chosen = np.sort(np.argsort(-centrality, kind="stable")[:n_sentences])
    return " ".join(sentences[number] for number in chosen)
