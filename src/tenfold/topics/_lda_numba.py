"""Compiled variational inference of the topics of documents.

The rows of the words of a document are gathered once; each round is then one walk over them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tenfold._compiled.digamma import LEAST_EXPONENT, digamma, exp_digamma, log_gamma
from tenfold._compiled.exponential import fast_exp
from tenfold._compiled.word_mixtures import allocate_blocks, gather_words, mix_words

_SMALL_PRODUCT = 1e-150  # below it the running product of likelihoods is turned into a logarithm
_LARGE_PRODUCT = 1e150


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_log_sum(counts, norms, m) -> float:
    """sum_j counts_j log norms_j; words that occur once share a logarithm."""
    total, product = 0.0, 1.0
    for j in range(m):
        if counts[j] == 1.0:
            product *= norms[j]
            if product < _SMALL_PRODUCT or product > _LARGE_PRODUCT:
                total += math.log(product)
                product = 1.0
        elif counts[j] != 0.0:
            total += counts[j] * math.log(norms[j])
    return total + math.log(product)


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def add_topic_words(words, shares, topics, weight, slots, sums) -> None:
    """Add weight shares_j topics_k to the rows of the words; `slots` are the rows of words."""
    for j in range(len(words)):
        row, share = sums[slots[words[j]]], weight * shares[j]
        for k in range(len(topics)):
            row[k] += share * topics[k]


@njit(cache=True, nogil=True, error_model="numpy")
def dirichlet_bound(gamma, alpha) -> float:
    """E_q[log p(theta | alpha) - log q(theta | gamma)] of Dirichlet distributions."""
    total, prior, value = 0.0, 0.0, 0.0
    for k in range(len(gamma)):
        total += gamma[k]
        prior += alpha[k]
    reference = digamma(total)
    for k in range(len(gamma)):
        difference = alpha[k] - gamma[k]
        if difference != 0.0:
            value += difference * (digamma(gamma[k]) - reference)
            value += log_gamma(gamma[k]) - log_gamma(alpha[k])
    return value + log_gamma(prior) - log_gamma(total)


@njit(cache=True, nogil=True, error_model="numpy")
def infer_topics(
    starts,
    words,
    counts,
    weights,
    table,
    log_scales,
    alpha,
    rule,
    gammas,
    slots,
    sums,
    log_theta,
    bounds,
) -> None:
    """Variational parameters of the documents of a chunk.

    Parameters
    ----------
    starts, words, counts : documents as rows of a CSR matrix
    weights : (n,) of the documents
    table, log_scales : (V, K) exp(E log beta) over exp(log_scales), with (V,) logs of scales
    alpha : (K,) prior of the topics of a document
    rule : most rounds, tolerance, slack; a document of n words is done when its parameters change
        by less than the tolerance on average, or by less than slack * sqrt(n) in all
    gammas : (n, K) first parameters; the last ones in the end
    slots : (V,) row of `sums` of each word
    sums : (., K) to which sum_d w_d n_dw topics_dk / norm_dw is added; empty for no sums
    log_theta : (K,) to which sum_d w_d E log theta_d is added
    bounds : (n,) filled with the bound of each document; 0 where a document of no weight is skipped
    """
    K = table.shape[1]
    longest = 0
    for i in range(len(starts) - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    blocks = allocate_blocks(longest, K)
    gathered, padded, likelihoods, shares, _ = blocks
    topics = np.empty(K)
    for i in range(len(starts) - 1):
        a, b = starts[i], starts[i + 1]
        gamma = gammas[i]
        bounds[i] = 0.0
        if weights[i] == 0.0 and len(sums) > 0:
            continue
        n_blocks = gather_words(words[a:b], counts[a:b], table, gathered, padded)
        log_factor = refine_topics(n_blocks, blocks, alpha, rule, gamma, topics)
        bounds[i] = document_bound(
            words[a:b], counts[a:b], log_scales, likelihoods, gamma, alpha, log_factor
        )
        if len(sums) > 0:
            add_topic_words(words[a:b], shares, topics, weights[i], slots, sums)
            log_total = digamma(gamma.sum())
            for k in range(K):
                log_theta[k] += weights[i] * (digamma(gamma[k]) - log_total)


@njit(cache=True, nogil=True, error_model="numpy")
def refine_topics(n_blocks, blocks, alpha, rule, gamma, topics) -> float:
    """Rounds of inference for one document: gamma, and what follows from it, in place.

    `topics` is filled with exp(psi(gamma)) up to a factor, whose log is returned; likelihoods and
    ratios of the blocks follow from it.
    """
    K = len(gamma)
    gathered, counts, likelihoods, ratios, lanes = blocks
    max_rounds, tol, slack = rule
    sums, enough = np.empty(K), max(tol * K, slack * math.sqrt(gamma.sum()))
    log_factor = exp_digamma(gamma, topics)
    for _ in range(max_rounds):
        mix_words(n_blocks, K, gathered, topics, counts, likelihoods, ratios, lanes, sums)
        change = 0.0
        for k in range(K):
            new = alpha[k] + topics[k] * sums[k]
            change += abs(new - gamma[k])
            gamma[k] = new
        log_factor = exp_digamma(gamma, topics)
        if change < enough:
            break
    mix_words(n_blocks, K, gathered, topics, counts, likelihoods, ratios, lanes, sums)
    return log_factor


@njit(cache=True, nogil=True, error_model="numpy")
def document_bound(words, counts, log_scales, norms, gamma, alpha, log_factor) -> float:
    """Bound of the log-probability of the words of one document."""
    n_words, scales = 0.0, 0.0
    for j in range(len(words)):
        n_words += counts[j]
        scales += counts[j] * log_scales[words[j]]
    value = weighted_log_sum(counts, norms, len(words)) + scales
    value += n_words * (log_factor - digamma(gamma.sum()))
    return value + dirichlet_bound(gamma, alpha)


@njit(cache=True, nogil=True, error_model="numpy")
def expect_topics(topics, eta, table, log_scales) -> float:
    """exp(E log beta) of Dirichlet topics, by word, and their part of the bound.

    Parameters
    ----------
    topics : (V, K) parameters of the words of the topics
    eta : prior, (V or 1, K or 1)
    table, log_scales : filled with (V, K) exp(E log beta) over exp(log_scales), (V,) logs of scales
    """
    V, K = topics.shape
    tall, wide = np.int64(eta.shape[0] > 1), np.int64(eta.shape[1] > 1)
    totals, priors, references = np.zeros(K), np.zeros(K), np.empty(K)
    for v in range(V):
        for k in range(K):
            totals[k] += topics[v, k]
            priors[k] += eta[v * tall, k * wide]
    bound = 0.0
    for k in range(K):
        references[k] = digamma(totals[k])
        bound += log_gamma(priors[k]) - log_gamma(totals[k])
    for v in range(V):
        log_scales[v] = expect_word(topics[v], references, table[v])
        for k in range(K):
            x, prior = topics[v, k], eta[v * tall, k * wide]
            if x != prior:
                bound += (prior - x) * table[v, k] + log_gamma(x) - log_gamma(prior)
        scale_word(table[v], log_scales[v])
    return bound


@njit(cache=True, nogil=True, error_model="numpy")
def expect_words(topics, totals, table, log_scales) -> None:
    """The same table for some words; `totals` are the sums of the parameters of the topics."""
    references = np.array([digamma(total) for total in totals])
    for v in range(len(topics)):
        log_scales[v] = expect_word(topics[v], references, table[v])
        scale_word(table[v], log_scales[v])


@njit(cache=True, nogil=True, error_model="numpy")
def expect_word(parameters, references, logs) -> float:
    """E log beta of a word in each topic; the largest is returned."""
    largest = -np.inf
    for k in range(len(logs)):
        logs[k] = digamma(parameters[k]) - references[k]
        largest = max(largest, logs[k])
    return largest


@njit(cache=True, nogil=True, error_model="numpy")
def scale_word(logs, largest) -> None:
    """Exp of logs over the largest, in place."""
    for k in range(len(logs)):
        logs[k] = fast_exp(max(logs[k] - largest, LEAST_EXPONENT))
