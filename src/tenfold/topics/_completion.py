"""Document completion: how well half of the words of a document predict the other half."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.row_hash import mix_bits
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.topics._bags import Bags, bags_of_words

_MANY = 64.0  # occurrences of a word in a document that are halved without a draw


class CompletionSums(NamedTuple):
    """Log-probability of the words that were held out, and their weight."""

    log_probability: float
    n_words: float


def completion_perplexity(
    rows: Rows, topics: np.ndarray, seed: int, infer: Callable[..., np.ndarray], *state: Any
) -> float:
    """exp(-mean log-probability) of held-out words.

    Parameters
    ----------
    rows : documents
    topics : (V, K) probabilities of the words of each topic
    seed : of the halves
    infer : function of bags of words and `state`: shares of the topics of each document
    """
    sums = rows.total(sum_completions, topics, seed, infer, *state)
    if sums.n_words == 0:
        raise ValueError(
            "no words are left to predict: the documents are empty, or have one word each"
        )
    return exp_mean(-sums.log_probability, sums.n_words)


def exp_mean(total: float, n: float) -> float:
    """exp(total / n), infinite where that is too large; 1 for n = 0."""
    with np.errstate(over="ignore"):
        return float(np.exp(total / n)) if n else 1.0


def sum_completions(
    chunk: Chunk, topics: np.ndarray, seed: int, infer: Callable[..., np.ndarray], *state: Any
) -> CompletionSums:
    """Log-probability of the words of a chunk that are held out."""
    bags = bags_of_words(chunk, "completion_perplexity")
    held_out = np.zeros(len(bags.words))
    _split_words(bags.starts, bags.words, bags.counts, seed, chunk.first, held_out)
    given, asked = _with_counts(bags, bags.counts - held_out), _with_counts(bags, held_out)
    shares = infer(given, *state)
    total = _log_probability(*asked, shares, topics)
    return CompletionSums(total, float(asked.weights @ asked.lengths))


def _with_counts(bags: Bags, counts: np.ndarray) -> Bags:
    """The same documents with other counts of words; words that do not occur are left out."""
    there = counts > 0
    before = np.concatenate([[0], np.cumsum(there)])
    words, counts = np.compress(there, bags.words), np.compress(there, counts)
    return Bags(before[bags.starts], words, counts, bags.weights)


@njit(cache=True, nogil=True)
def _split_words(starts, words, counts, seed, first, held_out) -> None:  # noqa: ANN001
    """How many of the occurrences of each word are held out: a bit of a hash for each of them."""
    for i in range(len(starts) - 1):
        start = mix_bits(mix_bits(np.uint64(seed)) + np.uint64(first + i))
        for j in range(starts[i], starts[i + 1]):
            if counts[j] > _MANY:
                held_out[j] = np.floor(counts[j] / 2)
                continue
            bits = mix_bits(start + np.uint64(words[j]))
            left = counts[j]
            while left > 0:
                held_out[j] += min(left, 1.0) * np.float64(bits & np.uint64(1))
                bits = bits >> np.uint64(1)
                left -= 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _log_probability(starts, words, counts, weights, shares, topics) -> float:  # noqa: ANN001
    """Weighted log-probability of words under mixtures of topics."""
    total = 0.0
    for i in range(len(starts) - 1):
        value = 0.0
        for j in range(starts[i], starts[i + 1]):
            probability = 0.0
            for k in range(topics.shape[1]):
                probability += shares[i, k] * topics[words[j], k]
            if counts[j] > 0:
                value += counts[j] * (math.log(probability) if probability > 0 else -np.inf)
        total += weights[i] * value if weights[i] > 0 else 0.0
    return total
