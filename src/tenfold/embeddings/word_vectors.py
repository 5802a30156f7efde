"""Vectors of words, and what to ask of them: similarity, neighbors, analogies, maps."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from tenfold.embeddings._corpus import OUTSIDE, WordNumbers, encode_documents
from tenfold.engine.validation import format_names

_MIN_NORM = 1e-12
_MULTIPLY_FLOOR = 1e-3  # added to the denominator of a product of similarities


class WordVectorQueries:
    """Questions to a model with `words_`, `vocabulary_` (word -> number) and `vectors_`."""

    words_: list[Any]
    vocabulary_: dict[Any, int]
    vectors_: np.ndarray

    def __contains__(self, word: Any) -> bool:
        return word in self.vocabulary_

    def __getitem__(self, word: Any) -> np.ndarray:
        """The vector of a word."""
        return self.vectors_[self._numbers([word])[0]]

    def _require_vectors(self) -> None:
        if not hasattr(self, "vectors_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit")

    def _numbers(self, words: Any) -> np.ndarray:
        """Numbers of words; an error that names those that are unknown."""
        self._require_vectors()
        words = [words] if isinstance(words, str | Integral) else list(words)
        unknown = [word for word in words if word not in self.vocabulary_]
        if unknown:
            raise KeyError(
                f"no vector for {format_names(unknown)}: the vocabulary has {len(self.words_)} "
                "words, see words_; a lower min_count keeps rarer ones"
            )
        return np.array([self.vocabulary_[word] for word in words], np.int64)

    def unit_vectors(self) -> np.ndarray:
        """All vectors, scaled to length one."""
        self._require_vectors()
        norms = np.linalg.norm(self.vectors_, axis=1, keepdims=True)
        return self.vectors_ / np.maximum(norms, _MIN_NORM).astype(self.vectors_.dtype)

    def similarity(self, first: Any, second: Any) -> float:
        """Cosine of the vectors of two words: how close they are, from -1 to 1.

        Parameters
        ----------
        first, second : words
            Both in the vocabulary.
        """
        return float(self.similarity_matrix([first, second])[0, 1])

    def similarity_matrix(self, words: Sequence[Any]) -> np.ndarray:
        """Cosines of all pairs of some words, (n, n).

        Parameters
        ----------
        words : list of words
            All in the vocabulary.
        """
        chosen = self.vectors_[self._numbers(words)].astype(np.float64)
        chosen /= np.maximum(np.linalg.norm(chosen, axis=1, keepdims=True), _MIN_NORM)
        return chosen @ chosen.T

    def most_similar(
        self, positive: Any, negative: Any = (), n: int = 10
    ) -> list[tuple[Any, float]]:
        """The words whose vectors have the largest cosine with a word, or with a sum of words.

        Parameters
        ----------
        positive, negative : word or list of words
            Their unit vectors are added and subtracted; they are not part of the answer.
        n : int
            Number of words to return.

        Returns
        -------
        list of (word, cosine), the closest first
        """
        if isinstance(negative, Integral) and negative not in getattr(self, "vocabulary_", ()):
            raise TypeError(
                f"most_similar: negative={negative!r} is no word; the number of words to return is "
                f"n: most_similar({positive!r}, n={negative!r})"
            )
        _check_number(n)
        plus, minus = self._numbers(positive), self._numbers(negative)
        unit = self.unit_vectors()
        target = unit[plus].sum(axis=0) - unit[minus].sum(axis=0)
        target /= max(float(np.linalg.norm(target)), _MIN_NORM)
        scores = (unit @ target).astype(np.float64)
        scores[np.concatenate([plus, minus])] = -np.inf
        best = np.argsort(-scores, kind="stable")[: min(n, len(scores) - len({*plus, *minus}))]
        return [(self.words_[number], float(scores[number])) for number in best]

    def analogy(
        self, a: Any, b: Any, c: Any, n: int = 5, *, method: str = "add"
    ) -> list[tuple[Any, float]]:
        """Words d such that "a is to b as c is to d".

        Parameters
        ----------
        a, b, c : words
            All in the vocabulary; they are not part of the answer.
        n : int
            Number of words to return.
        method : {"add", "multiply"}
            By the cosine with b - a + c, or by the product of similarities to b and c over that to
            a, each moved to 0..1.

        Returns
        -------
        list of (word, score), the best first
        """
        _check_number(n)
        scores = self._analogy_scores(self._numbers([a, b, c])[None], method)[0]
        best = np.argsort(-scores, kind="stable")[:n]
        return [(self.words_[i], float(scores[i])) for i in best if np.isfinite(scores[i])]

    def _analogy_scores(self, questions: np.ndarray, method: str) -> np.ndarray:
        """Score of every word for each question (numbers of a, b, c); minus infinity for those."""
        unit = self.unit_vectors()
        a, b, c = (unit[column] for column in questions.T)
        if method == "add":
            target = b - a + c
            norms = np.maximum(np.linalg.norm(target, axis=1, keepdims=True), _MIN_NORM)
            scores = (target / norms.astype(unit.dtype)) @ unit.T
        elif method == "multiply":
            to_a, to_b, to_c = ((1 + part @ unit.T) / 2 for part in (a, b, c))
            scores = to_b * to_c / (to_a + unit.dtype.type(_MULTIPLY_FLOOR))
        else:
            raise ValueError(f"method must be 'add' or 'multiply', not {method!r}")
        np.put_along_axis(scores, questions, -np.inf, axis=1)
        return scores

    def map_words(self, words: Sequence[Any] | None = None, n_components: int = 2) -> np.ndarray:
        """Coordinates of words on a map, by principal components of their unit vectors.

        Parameters
        ----------
        words : list of words, optional
            Those to draw; by default all.
        n_components : int
            Coordinates of a word, at most as many as words and as entries of their vectors.

        Returns
        -------
        (n_words, n_components) array
        """
        from tenfold.decomposition.pca import PCA

        unit = self.unit_vectors()
        chosen = unit if words is None else unit[self._numbers(words)]
        if not len(chosen):
            raise ValueError("map_words: there are no words to map; None stands for all")
        most = min(chosen.shape)
        if not isinstance(n_components, Integral) or not 1 <= n_components <= most:
            raise ValueError(
                f"map_words: n_components={n_components!r}, and a map of {len(chosen)} word(s) "
                f"with vectors of {chosen.shape[1]} entries has 1 to {most} coordinates: name more "
                "words, or take fewer coordinates"
            )
        return PCA(n_components).fit_transform(np.ascontiguousarray(chosen))

    def embed_documents(
        self, documents: Any, *, lowercase: bool = True, tokenizer: Any = None
    ) -> np.ndarray:
        """Mean vector of the known words of each document, (n_documents, n_components).

        Parameters
        ----------
        documents : iterable of str or of sequences of words, or path
            A document without known words gets zeros.
        lowercase, tokenizer : bool, callable
            How texts become words, see `tenfold.embeddings.count_cooccurrences`.
        """
        self._require_vectors()
        numbers = WordNumbers(())
        numbers.numbers = self.vocabulary_
        numbers.number = lambda word: self.vocabulary_.get(word, OUTSIDE)
        parts = [np.empty((0, self.vectors_.shape[1]), self.vectors_.dtype)]
        for tokens, starts in encode_documents(
            documents, numbers, lowercase=lowercase, tokenizer=tokenizer
        ):
            parts.append(_mean_vectors(self.vectors_, tokens, starts))
        return np.concatenate(parts)

    def write_vectors(self, path: str | Path, *, binary: bool = False) -> None:
        """Write the vectors in the format of word2vec, which other libraries read.

        Parameters
        ----------
        path : path
            The file to write; it is replaced only when the new one is complete.
        binary : bool
            Whether to write bytes instead of digits.
        """
        from tenfold.embeddings.word_vector_files import write_word_vectors

        self._require_vectors()
        write_word_vectors(path, self.words_, self.vectors_, binary=binary)


def _check_number(n: Any) -> None:
    if not isinstance(n, Integral) or n < 0:
        raise ValueError(f"n={n!r}: the number of words to return is a whole number, at least 0")


def _mean_vectors(vectors: np.ndarray, tokens: np.ndarray, starts: np.ndarray) -> np.ndarray:
    from scipy.sparse import csr_array

    known = tokens >= 0
    begins = np.concatenate([[0], np.cumsum(known)])[starts]
    shape = (len(starts) - 1, len(vectors))
    bags = csr_array((np.ones(begins[-1], vectors.dtype), tokens[known], begins), shape=shape)
    sizes = np.maximum(np.diff(begins), 1)[:, None].astype(vectors.dtype)
    return (bags @ vectors) / sizes


class WordVectors(WordVectorQueries, BaseEstimator):
    """Given vectors of words: from a file, from the layer of a network, or from elsewhere.

    Parameters
    ----------
    words : list
        The words, each once.
    vectors : (n_words, n_components) array
        Their vectors.

    See Also
    --------
    Word2Vec, GloVe, PPMIEmbedding, tenfold.embeddings.read_word_vectors

    Examples
    --------
    >>> from tenfold import WordVectors
    >>> words = ["man", "woman", "king", "queen", "apple"]
    >>> vectors = [[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0, 0]]
    >>> model = WordVectors(words, vectors)
    >>> model.analogy("man", "king", "woman")[0][0]
    'queen'
    >>> model.most_similar("king", n=1)[0][0]
    'queen'
    """

    def __init__(self, words: Any, vectors: Any) -> None:
        self.words = words
        self.vectors = vectors
        self.words_ = list(words)
        array = np.asarray(vectors)
        self.vectors_ = array if array.dtype == np.float32 else array.astype(np.float64)
        self.vocabulary_ = {word: n for n, word in enumerate(self.words_)}
        if self.vectors_.ndim != 2 or len(self.vectors_) != len(self.words_):
            raise ValueError(
                f"{len(self.words_)} words and vectors of shape {self.vectors_.shape}: there must "
                "be one row for each word"
            )
        if len(self.vocabulary_) != len(self.words_):
            raise ValueError("a word is there twice: each word has one vector")
        if not np.isfinite(self.vectors_).all():
            raise ValueError("a vector holds NaN or infinity")
