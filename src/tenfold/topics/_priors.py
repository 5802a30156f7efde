"""Priors of topic models as given, and the topics from which a fit begins."""

from __future__ import annotations

from typing import Any

import numpy as np


def resolve_alpha(prior: Any, n_topics: int) -> np.ndarray:
    """Prior of the topics of a document, (K,): a number, a vector, or 1 / K to begin with."""
    if prior is None or isinstance(prior, str):
        return np.full(n_topics, 1.0 / n_topics)
    alpha = np.asarray(prior, np.float64)
    if alpha.shape not in {(), (n_topics,)}:
        raise ValueError(
            f"doc_topic_prior has shape {alpha.shape}: give a number, or one for each of the "
            f"{n_topics} topics"
        )
    return _check_positive(np.broadcast_to(alpha, (n_topics,)).copy(), "doc_topic_prior")


def resolve_eta(prior: Any, n_topics: int, n_words: int) -> np.ndarray:
    """Prior of the words of a topic, (V or 1, K or 1): a number, one per word, or (K, V)."""
    if prior is None or isinstance(prior, str):
        return np.full((1, 1), 1.0 / n_topics)
    eta = np.asarray(prior, np.float64)
    if eta.shape == (n_words,):
        eta = eta[:, None]
    elif eta.shape == (n_topics, n_words):
        eta = eta.T
    elif eta.shape != ():
        raise ValueError(
            f"topic_word_prior has shape {eta.shape}: give a number, one for each of the "
            f"{n_words} words, or one for each topic and word, ({n_topics}, {n_words})"
        )
    return _check_positive(
        np.ascontiguousarray(eta.reshape(eta.shape or (1, 1))), "topic_word_prior"
    )


def _check_positive(values: np.ndarray, name: str) -> np.ndarray:
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"{name} must be positive and finite; its least entry is {values.min():g}")
    return values


def draw_topics(
    rng: np.random.Generator, n_words: int, n_topics: int, eta: np.ndarray
) -> np.ndarray:
    """Random parameters of topics, (V, K), word by word; larger where the prior expects words."""
    topics = rng.gamma(100.0, 0.01, (n_words, n_topics))
    return topics if eta.size == 1 else topics * (eta / eta.mean(axis=0))


def start_from(init: Any, n_words: int, n_topics: int, eta: np.ndarray, total: float) -> np.ndarray:
    """Parameters of given topics, (V, K): as if each had produced its part of all words."""
    topics = np.asarray(init, np.float64)
    if topics.shape != (n_topics, n_words):
        raise ValueError(
            f"init has shape {topics.shape}: give a row of {n_words} word weights for each of the "
            f"{n_topics} topics, such as components_ of another model"
        )
    sums = topics.sum(axis=1)
    if not np.isfinite(topics).all() or (topics < 0).any() or not (sums > 0).all():
        raise ValueError("init must hold weights of words, not negative, and not all zero in a row")
    return topics.T / sums * (total / n_topics) + eta
