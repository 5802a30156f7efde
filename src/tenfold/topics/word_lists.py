"""The words that say what a topic is about, and topics that begin with such words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def word_names(names: Any) -> np.ndarray:
    """Names of the columns: of a fitted `WordCounts`, its `vocabulary_`, or a list of them."""
    if hasattr(names, "get_feature_names_out"):
        return np.asarray(names.get_feature_names_out(), object)
    if isinstance(names, Mapping):  # words and their columns
        names = sorted(names, key=names.__getitem__)
    return np.asarray(names, object)


def check_word_lists(topics: Any) -> list[list[Any]]:
    """The words of each topic; raise an error where a word stands in place of a topic."""
    if isinstance(topics, str) or any(isinstance(topic, str) for topic in topics):
        word = topics if isinstance(topics, str) else next(t for t in topics if isinstance(t, str))
        raise TypeError(
            f"a topic is a list of words, not the word {word!r}: give a list of topics, such as "
            f"[[{word!r}, ...]] for one"
        )
    return [list(topic) for topic in topics]


def _holds_words(model: Any) -> bool:
    """Whether topics are given by their words."""
    if isinstance(model, str):
        return True
    if not isinstance(model, list | tuple) or not model:
        return False
    first = model[0]
    return isinstance(first, str) or (
        isinstance(first, list | tuple) and len(first) > 0 and isinstance(first[0], str)
    )


def topic_weights(model: Any) -> np.ndarray:
    """Weights of words of a fitted model, or given ones, (n_topics, n_words)."""
    weights = np.asarray(getattr(model, "components_", model), np.float64)
    if weights.ndim != 2:
        raise ValueError(
            f"topics have shape {weights.shape}: give a fitted model, or a row of word weights for "
            "each topic"
        )
    return weights


def top_words(
    model: Any, names: Any = None, n: int = 10, *, relevance: float = 1.0, topic: int | None = None
) -> list[Any]:
    r"""The words with the largest weights in each topic.

    Parameters
    ----------
    model : fitted model, or (n_topics, n_words) array
        `LatentDirichletAllocation`, `TopicMixture`, or any model whose `components_` are weights
        of words.
    names : fitted `WordCounts`, its `vocabulary_`, or list of str, optional
        The words of the columns; not needed for a model that was fitted to a table of named ones.
    n : int
        Words for each topic.
    relevance : float
        :math:`\lambda` between 0 and 1: words are ordered by :math:`\lambda \log p(w \mid k) +
        (1 - \lambda) \log p(w \mid k) / p(w)`. 1 is the probability in the topic; less prefers
        words that other topics do not have.
    topic : int, optional
        One topic alone; then a list of its words is returned.

    Returns
    -------
    list of lists of str

    References
    ----------
    C. Sievert and K. Shirley (2014), LDAvis: a method for visualizing and interpreting topics.

    Examples
    --------
    >>> top_words([[5.0, 1.0, 4.0], [1.0, 9.0, 8.0]], ["cat", "stock", "the"], n=2)
    [['cat', 'the'], ['stock', 'the']]
    >>> top_words([[5.0, 1.0, 4.0], [1.0, 9.0, 8.0]], ["cat", "stock", "the"], 1, relevance=0)
    [['cat'], ['stock']]
    """
    if not 0 <= relevance <= 1:
        raise ValueError(f"relevance={relevance} is not between 0 and 1")
    names = getattr(model, "feature_names_in_", None) if names is None else names
    if names is None:
        raise ValueError("the words have no names: give the fitted WordCounts, or a list of words")
    weights, words = topic_weights(model), word_names(names)
    if len(words) != weights.shape[1]:
        raise ValueError(f"{len(words)} names for topics of {weights.shape[1]} words")
    order = np.argsort(-_relevance(weights, relevance), axis=1, kind="stable")[:, :n]
    topics = [words[row].tolist() for row in order]
    return topics if topic is None else topics[topic]


def _relevance(weights: np.ndarray, share: float) -> np.ndarray:
    if share == 1:
        return weights
    tiny = np.finfo(float).tiny
    logs = np.log(np.maximum(weights / weights.sum(axis=1, keepdims=True), tiny))
    overall = np.log(np.maximum(weights.sum(axis=0) / weights.sum(), tiny))
    return logs - (1 - share) * overall


def topic_diversity(model: Any, n: int = 25) -> float:
    """Share of different words among the top words of all topics; 1 if no two topics share one.

    Parameters
    ----------
    model : fitted model, (n_topics, n_words) array, or list of lists of str
        The topics; lists of words, such as those of `top_words`, begin with the most probable.
    n : int
        Words for each topic, if it has as many.

    References
    ----------
    A. Dieng, F. Ruiz and D. Blei (2020), Topic modeling in embedding spaces.

    Examples
    --------
    >>> topic_diversity([[3.0, 2.0, 0.0], [0.0, 2.0, 3.0]], n=2)
    0.75
    >>> topic_diversity([["cat", "dog"], ["dog", "fish"]])
    0.75
    """
    if _holds_words(model):
        words = [word for topic in check_word_lists(model) for word in topic[:n]]
        return len(set(words)) / len(words)
    order = np.argsort(-topic_weights(model), axis=1, kind="stable")[:, :n]
    return len(np.unique(order)) / order.size


def seed_topics(
    seeds: Sequence[Sequence[str]],
    names: Any,
    n_components: int,
    *,
    prior: float | None = None,
    weight: float = 100.0,
) -> np.ndarray:
    """Prior of the words of topics of which some have words that they must be about.

    Parameters
    ----------
    seeds : list of lists of str
        Words of the first topics; the topics after them are free.
    names : fitted `WordCounts`, its `vocabulary_`, or list of str
        The words of the columns.
    n_components : int
        Number of topics.
    prior : float, optional
        Of all other words; 1 / n_components by default.
    weight : float
        Prior of a seed in its topic, as if the topic had produced it so often already.

    Returns
    -------
    (n_components, n_words) array, for `topic_word_prior`

    Examples
    --------
    >>> seed_topics([["cat"]], ["cat", "stock"], 2, weight=10).tolist()
    [[10.5, 0.5], [0.5, 0.5]]
    """
    seeds = check_word_lists(seeds)
    if len(seeds) > n_components:
        raise ValueError(f"seeds for {len(seeds)} topics, but n_components={n_components}")
    words = word_names(names)
    columns = {word: column for column, word in enumerate(words.tolist())}
    eta = np.full((n_components, len(words)), 1.0 / n_components if prior is None else prior)
    for k, topic in enumerate(seeds):
        unknown = [word for word in topic if word not in columns]
        if unknown:
            raise ValueError(f"seeds of topic {k} are no words of the documents: {unknown}")
        eta[k, [columns[word] for word in topic]] += weight
    return eta
