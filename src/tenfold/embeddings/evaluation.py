"""Scores of word vectors: similarities as people judge them, and analogies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_BATCH_QUESTIONS = 512  # whose scores of all words are in memory at a time


class SimilarityScore(NamedTuple):
    """Agreement with judgements of similarity.

    Attributes
    ----------
    correlation : Spearman's correlation of cosines and judgements
    p_value : of no correlation
    n_pairs : pairs whose words are both known
    coverage : their share of all pairs
    """

    correlation: float
    p_value: float
    n_pairs: int
    coverage: float


def evaluate_similarity(
    model: Any, pairs: Any, judgements: Any, *, lowercase: bool = True
) -> SimilarityScore:
    """Compare cosines of pairs of words with judgements of how alike they are.

    Parameters
    ----------
    model : Word2Vec, GloVe, PPMIEmbedding or WordVectors
        The vectors.
    pairs : (n, 2) array of words
        As of `tenfold.datasets.fetch_word_similarity`. Pairs with unknown words are left out.
    judgements : (n,) array
        The larger, the more alike.
    lowercase : bool
        Whether to look the words up in lower case.

    Examples
    --------
    >>> from tenfold import WordVectors
    >>> from tenfold.embeddings import evaluate_similarity
    >>> model = WordVectors(["cat", "dog", "car"], [[1.0, 0.1], [1.0, 0.3], [0.0, 1.0]])
    >>> pairs = [("cat", "dog"), ("dog", "car"), ("cat", "car"), ("cat", "bus")]
    >>> score = evaluate_similarity(model, pairs, [9.0, 3.0, 2.0, 1.0])
    >>> score.correlation, score.coverage
    (1.0, 0.75)
    """
    from scipy.stats import spearmanr

    pairs = [tuple(_fold_case(word, lowercase) for word in pair) for pair in pairs]
    known = [i for i, (a, b) in enumerate(pairs) if a in model and b in model]
    if len(known) < 3:
        raise ValueError(f"only {len(known)} of {len(pairs)} pairs have two known words")
    unit = model.unit_vectors()
    left, right = (
        unit[[model.vocabulary_[pairs[i][side]] for i in known]].astype(np.float64)
        for side in (0, 1)
    )
    cosines = np.einsum("ij,ij->i", left, right)
    result: Any = spearmanr(cosines, np.asarray(judgements, float)[known])
    share = len(known) / len(pairs)
    return SimilarityScore(float(result.statistic), float(result.pvalue), len(known), share)


class AnalogyScore(NamedTuple):
    """Share of analogies that are solved.

    Attributes
    ----------
    accuracy : share of the questions with known words whose best answer is right
    n_questions : questions whose four words are known
    coverage : their share of all questions
    by_kind : dict of (right, asked) for each kind of question
    """

    accuracy: float
    n_questions: int
    coverage: float
    by_kind: dict[Any, tuple[int, int]]


def evaluate_analogies(
    model: Any,
    questions: Any,
    kinds: Any = None,
    *,
    method: str = "add",
    max_words: int | None = 30_000,
    lowercase: bool = True,
) -> AnalogyScore:
    """Answer "a is to b as c is to ?" for many questions at once.

    Parameters
    ----------
    model : Word2Vec, GloVe, PPMIEmbedding or WordVectors
        The vectors.
    questions : (n, 4) array of words
        a, b, c and the right answer, as of `tenfold.datasets.fetch_word_analogies`.
    kinds : (n,) array, optional
        Kind of each question, for `by_kind`.
    method : {"add", "multiply"}
        See `WordVectors.analogy`.
    max_words : int, optional
        Look among so many words, the first (most frequent) ones.
    lowercase : bool
        Whether to look the words up in lower case.
    """
    from tenfold.embeddings.word_vectors import WordVectors

    size = len(model.words_) if max_words is None else min(max_words, len(model.words_))
    part = WordVectors(model.words_[:size], model.vectors_[:size])
    words = [[_fold_case(word, lowercase) for word in question] for question in questions]
    known = [i for i, question in enumerate(words) if all(word in part for word in question)]
    kinds = np.zeros(len(words), int) if kinds is None else np.asarray(kinds)
    numbers = np.array([[part.vocabulary_[word] for word in words[i]] for i in known], np.int64)
    right = np.zeros(len(known), bool)
    for first in range(0, len(known), _BATCH_QUESTIONS):
        batch = numbers[first : first + _BATCH_QUESTIONS]
        answers = part._analogy_scores(batch[:, :3], method).argmax(axis=1)  # noqa: SLF001
        right[first : first + len(batch)] = answers == batch[:, 3]
    asked = kinds[known]
    by_kind = {
        kind: (int(right[asked == kind].sum()), int((asked == kind).sum()))
        for kind in np.unique(kinds).tolist()
    }
    accuracy = float(right.mean()) if known else float("nan")
    return AnalogyScore(accuracy, len(known), len(known) / max(len(words), 1), by_kind)


def _fold_case(word: Any, lowercase: bool) -> Any:
    return word.lower() if lowercase and isinstance(word, str) else word
