"""Documents drawn from topics: the generative story of admixtures."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw_topic_documents(
    rng: np.random.Generator, shares: np.ndarray, topics: np.ndarray, lengths: np.ndarray
) -> Any:
    """Counts of the words of documents: a topic for each word, then a word of that topic.

    Parameters
    ----------
    rng : Generator
        Source of random numbers.
    shares : (n, K) array
        Share of each topic in each document; rows sum to one.
    topics : (K, V) array
        Probabilities of the words of each topic; rows sum to one.
    lengths : (n,) array of whole numbers
        Words of each document.

    Returns
    -------
    (n, V) CSR array of float64 counts, words in ascending order

    Examples
    --------
    >>> topics = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    >>> X = draw_topic_documents(np.random.default_rng(0), np.eye(2), topics, np.array([4, 3]))
    >>> X.toarray()[:, 2].tolist()
    [0.0, 3.0]
    """
    from scipy.sparse import csr_array

    K, V = topics.shape
    n_words = rng.multinomial(lengths, shares)  # of each topic in each document
    codes = []
    for k in range(K):
        documents = np.repeat(np.arange(len(shares)), n_words[:, k])
        codes.append(documents * V + _draw_words(rng, topics[k], len(documents)))
    found, counts = np.unique(np.concatenate(codes), return_counts=True)
    starts = np.searchsorted(found, np.arange(len(shares) + 1) * V)
    return csr_array((counts.astype(np.float64), found % V, starts), shape=(len(shares), V))


def _draw_words(rng: np.random.Generator, probabilities: np.ndarray, n: int) -> np.ndarray:
    """Numbers of words; a word without probability is never drawn."""
    possible = np.flatnonzero(probabilities)
    ends = np.cumsum(probabilities[possible])
    places = np.searchsorted(ends, rng.random(n) * ends[-1], side="right")
    return possible[np.minimum(places, len(possible) - 1)]
