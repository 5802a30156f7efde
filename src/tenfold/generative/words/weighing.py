"""What a count of a word is worth: its kind, a weight for the word, the scale of the row."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_kind(X: Any, kind: str) -> Any:
    """Counts as they are, as presence, or as shares of their row."""
    if kind == "presence":
        X.data[:] = 1
    return scaled(X, "l1") if kind == "frequency" else X


def times_columns(X: Any, weights: np.ndarray) -> Any:
    """Each column times its weight."""
    X.data = X.data * weights[X.indices]
    return X


def scaled(X: Any, norm: str) -> Any:
    """Rows of length (l2) or sum (l1) one; empty rows stay empty."""
    sizes = np.append(X.data**2 if norm == "l2" else np.abs(X.data), 0)
    lengths = np.add.reduceat(sizes, X.indptr[:-1])
    lengths = np.sqrt(lengths) if norm == "l2" else lengths
    lengths[np.diff(X.indptr) == 0] = 1
    X.data = X.data / np.repeat(np.where(lengths > 0, lengths, 1), np.diff(X.indptr))
    return X


def given_weights(given: Any, vocabulary: dict[str, int], dtype: Any) -> np.ndarray:
    """A weight for each column: those that were given by word, 1 for all others."""
    if isinstance(given, dict):
        weights = np.ones(len(vocabulary), dtype)
        for word in given.keys() & vocabulary.keys():
            weights[vocabulary[word]] = given[word]
    else:
        weights = np.asarray(given, dtype)
    if weights.shape != (len(vocabulary),):
        raise ValueError(
            f"{weights.shape} word weights for {len(vocabulary)} words: name the words"
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("word weights must be numbers that are not negative")
    return weights
