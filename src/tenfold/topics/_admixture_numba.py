"""Compiled EM of admixtures: shares of topics of documents, and words of topics, without priors."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tenfold._compiled.word_mixtures import allocate_blocks, gather_words, mix_words
from tenfold.topics._lda_numba import add_topic_words, weighted_log_sum

_TINY = 1e-300


@njit(cache=True, nogil=True, error_model="numpy")
def mix_documents(
    starts,
    words,
    counts,
    weights,
    table,
    prior,
    max_rounds,
    tol,
    shares,
    slots,
    sums,
    logs,
) -> None:
    """EM for the topics of the documents of a chunk, with fixed words of topics.

    Parameters
    ----------
    starts, words, counts : documents as rows of a CSR matrix
    weights : (n,) of the documents
    table : (V, K) probability of each word in each topic
    prior : added to the words of each topic of a document
    max_rounds, tol : a document is done when its shares change by less than tol on average
    shares : (n, K) first shares of the topics; the last ones in the end
    slots : (V,) row of `sums` of each word
    sums : (., K) to which sum_d w_d n_dw shares_dk / p_dw is added; empty for no sums
    logs : (n,) filled with the log-probability of the words of each document; -inf where a word has
        no probability in any topic
    """
    K = table.shape[1]
    longest = 0
    for i in range(len(starts) - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    gathered, padded, likelihoods, ratios, lanes = allocate_blocks(longest, K)
    totals = np.empty(K)
    for i in range(len(starts) - 1):
        a, b = starts[i], starts[i + 1]
        m, theta = b - a, shares[i]
        logs[i] = 0.0
        n = gather_words(words[a:b], counts[a:b], table, gathered, padded)
        for _ in range(max_rounds):
            mix_words(n, K, gathered, theta, padded, likelihoods, ratios, lanes, totals)
            if _update_shares(totals, prior, theta) < tol * K:
                break
        mix_words(n, K, gathered, theta, padded, likelihoods, ratios, lanes, totals)
        if not _are_possible(counts[a:b], ratios):
            logs[i] = -np.inf
            continue
        logs[i] = weighted_log_sum(counts[a:b], likelihoods, m)
        if len(sums) > 0 and weights[i] > 0.0:
            add_topic_words(words[a:b], ratios, theta, weights[i], slots, sums)


@njit(cache=True, nogil=True, error_model="numpy")
def _are_possible(counts, ratios) -> bool:
    """Whether every word that occurs has a probability: its ratio is above zero."""
    possible = True
    for j in range(len(counts)):
        possible = possible and (counts[j] == 0.0 or ratios[j] > 0.0)
    return possible


@njit(cache=True, nogil=True, error_model="numpy")
def _update_shares(totals, prior, theta) -> float:
    """New shares of the topics of a document; the sum of their changes is returned."""
    total, change = 0.0, 0.0
    for k in range(len(theta)):
        totals[k] = totals[k] * theta[k] + prior
        total += totals[k]
    if total > 0.0:  # a document without words keeps its shares
        for k in range(len(theta)):
            change += abs(totals[k] / total - theta[k])
            theta[k] = totals[k] / total
    return change


@njit(cache=True, nogil=True, error_model="numpy")
def sum_log_shares(shares, weights) -> float:
    """Weighted sum of the logs of all shares."""
    total = 0.0
    for i in range(len(shares)):
        if weights[i] > 0.0:
            for k in range(shares.shape[1]):
                total += weights[i] * math.log(max(shares[i, k], _TINY))
    return total
