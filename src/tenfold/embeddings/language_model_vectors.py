"""Word vectors from the layers of a network, and from pairs of related words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.embeddings.word_vectors import WordVectors


def layer_vectors(model: Any, words: Any = None) -> WordVectors:
    """Vectors that a network has learned for its input symbols, such as a language model's.

    They are the rows of the network's `Embedding` layer, or the rows of the first `Dense` layer if
    the input is one-hot (the hidden layer of a bigram model). A model that keeps its vectors
    elsewhere offers them with a method ``word_vectors()`` that returns (words, vectors).

    Parameters
    ----------
    model : fitted network
        A language model of networks, any model with `network_` and `params_`, or one with a method
        ``word_vectors()``.
    words : list, optional
        The symbols, by number; by default `model.symbols_`, or 0, 1, ...

    Returns
    -------
    WordVectors

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SequentialClassifier
    >>> from tenfold.embeddings import layer_vectors
    >>> from tenfold.neural import Dense, Embedding, Flatten
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [0, 0, 1]
    >>> layers = [Embedding(3, 2), Flatten(), Dense()]
    >>> model = SequentialClassifier(layers, epochs=2, random_state=0).fit(X, y)
    >>> layer_vectors(model, ["a", "b", "c"])["b"].shape
    (2,)
    >>> from tenfold import SoftmaxLanguageModel
    >>> bigrams = SoftmaxLanguageModel(2, hidden=2, random_state=0).fit(["to be or not to be"])
    >>> layer_vectors(bigrams)["t"].shape
    (2,)
    """
    if hasattr(model, "word_vectors"):
        return WordVectors(*model.word_vectors())
    if not hasattr(model, "network_"):
        raise TypeError(
            f"{type(model).__name__} is no fitted network: give a model with network_ and params_, "
            "or with a method word_vectors()"
        )
    table = _first_table(model.network_, model.params_)
    symbols = getattr(model, "symbols_", None) if words is None else words
    symbols = list(range(len(table))) if symbols is None else list(symbols)
    if len(symbols) > len(table):
        raise ValueError(f"{len(symbols)} words, but the layer has {len(table)} rows")
    return WordVectors(symbols, table[: len(symbols)])


def _first_table(network: Any, params: list[np.ndarray]) -> np.ndarray:
    """The rows of the first layer that has a table of symbols."""
    for layer, own in zip(network.layers, network.parts(params), strict=True):
        if type(layer).__name__ in ("Embedding", "Dense") and own:
            return own[0]
    raise ValueError("the network has no Embedding or Dense layer to take vectors from")


def embed_related_words(pairs: Any, n_components: int = 2) -> WordVectors:
    r"""Unit vectors with large cosines for pairs of related words.

    Maximizes :math:`\sum_{(a, b)} x_a' x_b / \sqrt{d_a d_b}` over all pairs, where d is the number
    of pairs of a word and components are orthonormal (without that all vectors would be the same):
    the largest eigenvectors of the normalized matrix of pairs, rows then scaled to length one.

    Parameters
    ----------
    pairs : list of (word, word) or (word, word, weight)
        Related words.
    n_components : int
        Length of a vector.

    Examples
    --------
    >>> from tenfold.embeddings import embed_related_words
    >>> pairs = [
    ...     ("bulldog", "beagle"),
    ...     ("beagle", "poodle"),
    ...     ("bulldog", "poodle"),
    ...     ("lipstick", "powder"),
    ...     ("powder", "rouge"),
    ... ]
    >>> model = embed_related_words(pairs)
    >>> model.similarity("bulldog", "beagle") > model.similarity("bulldog", "lipstick")
    True
    """
    words = sorted({word for pair in pairs for word in pair[:2]})
    numbers = {word: n for n, word in enumerate(words)}
    if n_components >= len(words):
        raise ValueError(f"{n_components} components need more than {len(words)} words")
    related = np.zeros((len(words), len(words)))
    for first, second, *weight in pairs:
        i, j = numbers[first], numbers[second]
        related[i, j] += weight[0] if weight else 1.0
        related[j, i] = related[i, j]
    related[np.diag_indices(len(words))] += 1  # a word is related to itself: no negative eigenvalue
    scale = 1 / np.sqrt(related.sum(axis=1))
    _, vectors = np.linalg.eigh(related * np.outer(scale, scale))
    vectors = vectors[:, ::-1][:, :n_components]
    norms = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return WordVectors(words, vectors / norms)
