"""Compiled sweeps of the collapsed Gibbs sampler."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.digamma import digamma, log_gamma
from tenfold._compiled.row_hash import mix_bits

_UNIT = 2.0**-53


@njit(cache=True, nogil=True, inline="always")
def _uniform(start, number):
    """A number in [0, 1): a hash of the start of a document's stream and the number of a draw."""
    return np.float64(mix_bits(start + np.uint64(number)) >> np.uint64(11)) * _UNIT


@njit(cache=True, nogil=True)
def _stream(seed, sweep, row):
    """Start of the stream of a document in a sweep."""
    return mix_bits(mix_bits(mix_bits(np.uint64(seed)) + np.uint64(sweep)) + np.uint64(row))


@njit(cache=True, nogil=True)
def _search(cumulative, u):
    """The first entry of ascending sums that is above a share of the last one."""
    level = u * cumulative[-1]
    k = 0
    for j in range(len(cumulative) - 1):  # without a branch that depends on what is drawn
        k += cumulative[j] <= level
    return k


@njit(cache=True, nogil=True)
def _draw(document, row, inverse, cumulative, u):
    """Topic of a word, with probabilities proportional to the product of three vectors."""
    for k in range(len(document)):
        cumulative[k] = document[k] * row[k] * inverse[k]
    total = 0.0
    for k in range(len(document)):
        total += cumulative[k]
        cumulative[k] = total
    return _search(cumulative, u)


@njit(cache=True, nogil=True, inline="always")
def _add(k, step, document, row, totals, inverse, change):
    """Count a word of topic k once more, or once less."""
    document[k] += step
    row[k] += step
    totals[k] += step
    inverse[k] = 1.0 / totals[k]
    change[k] += step


@njit(cache=True, nogil=True)
def draw_first_topics(
    starts,
    words,
    counts,
    table,
    alpha,
    seed,
    first,
    assignments,
    slots,
    changes,
) -> None:
    """Topics of words drawn from fixed topics, (V, K), and the topics of the document so far."""
    K = len(alpha)
    document, cumulative, ones = np.empty(K), np.empty(K), np.ones(K)
    place = 0
    for i in range(len(starts) - 1):
        document[:] = alpha
        stream, begin = _stream(seed, 0, first + i), place
        for j in range(starts[i], starts[i + 1]):
            row = table[words[j]]
            for _ in range(int(counts[j])):
                k = _draw(document, row, ones, cumulative, _uniform(stream, place - begin))
                document[k] += 1
                changes[slots[words[j]], k] += 1
                assignments[place] = k
                place += 1


@njit(cache=True, nogil=True, error_model="numpy")
def sample_documents(
    starts,
    words,
    counts,
    alpha,
    local,
    totals,
    key,
    assignments,
    slots,
    changes,
    digammas,
) -> tuple[float, float]:
    """One sweep over the documents of a chunk.

    Parameters
    ----------
    starts, words, counts : documents as rows of a CSR matrix
    alpha : (K,)
    local : (m, K) counts and prior of the words of the chunk; changes as topics are sampled
    totals : (K,) sums of counts and prior over all words; the same
    key : seed, number of the sweep, number of the first document
    assignments : topic of each word, one document after the other; replaced
    slots : (V,) row of each word in `local` and `changes`
    changes : (m, K) to which changes of the counts are added
    digammas : (K,) to which psi(n_dk + alpha_k) is added

    Returns
    -------
    sum of psi(n_d + sum alpha), log-probability of the topics of the documents
    """
    K = len(alpha)
    document, cumulative, inverse = np.empty(K), np.empty(K), np.empty(K)
    total_alpha, total_digamma, log_probability, place = alpha.sum(), 0.0, 0.0, 0
    for k in range(K):
        inverse[k] = 1.0 / totals[k]
    for i in range(len(starts) - 1):
        stream, begin = _stream(key[0], key[1], key[2] + i), place
        document[:] = alpha
        length = int(counts[starts[i] : starts[i + 1]].sum())
        for at in range(begin, begin + length):
            document[assignments[at]] += 1
        for j in range(starts[i], starts[i + 1]):
            slot = slots[words[j]]
            row, change = local[slot], changes[slot]
            for _ in range(int(counts[j])):
                _add(np.int64(assignments[place]), -1, document, row, totals, inverse, change)
                u = _uniform(stream, place - begin)
                k = _draw(document, row, inverse, cumulative, u)
                _add(k, 1, document, row, totals, inverse, change)
                assignments[place] = k
                place += 1
        total_digamma += digamma(length + total_alpha)
        log_probability += _log_probability(document, alpha, length + total_alpha)
        for k in range(K):
            digammas[k] += digamma(document[k])
    return total_digamma, log_probability


@njit(cache=True, nogil=True, error_model="numpy")
def _log_probability(parameters, prior, total) -> float:
    """Log p(topics of the words of a document), its shares integrated out."""
    value = log_gamma(prior.sum()) - log_gamma(total)
    for k in range(len(prior)):
        if parameters[k] != prior[k]:
            value += log_gamma(parameters[k]) - log_gamma(prior[k])
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def topic_log_probability(counts, eta) -> float:
    """Log p(words | topics of words), with the topics' words integrated out."""
    V, K = counts.shape
    tall, wide = np.int64(eta.shape[0] > 1), np.int64(eta.shape[1] > 1)
    value = 0.0
    for k in range(K):
        total, prior_total = 0.0, 0.0
        for v in range(V):
            prior = eta[v * tall, k * wide]
            prior_total += prior
            total += counts[v, k] + prior
            if counts[v, k] > 0:
                value += log_gamma(counts[v, k] + prior) - log_gamma(prior)
        value += log_gamma(prior_total) - log_gamma(total)
    return value
