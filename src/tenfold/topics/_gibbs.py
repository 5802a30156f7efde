r"""Collapsed Gibbs sampling of the topic of every word, as a fold.

    p(z = k | all others) ~ (n_dk + alpha_k) (n_wk + eta_wk) / (n_k + sum_w eta_wk)

Within a sweep a chunk of documents samples one word after the other from its own copy of the
counts; chunks learn of each other after the sweep (Newman et al., 2009). Up to 512 documents are
one chunk, and the sampler is then the serial one. Random numbers are hashes of seed, sweep,
document and word, and counts are whole numbers, so neither threads nor files change a bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import psi

from tenfold.engine.carried_columns import CarriedColumns
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged
from tenfold.topics._bags import Bags, bags_of_words
from tenfold.topics._gibbs_numba import draw_first_topics, sample_documents, topic_log_probability
from tenfold.topics._variational import LEAST_PRIOR, LearnedPriors, TopicParameters, learn_eta
from tenfold.topics._word_sums import allocate_sums, dense_sums

MAX_TOPICS = 2**16  # topics of words are stored in two bytes


class TopicSampleSums(NamedTuple):
    """Statistic of a sweep.

    Attributes
    ----------
    words : changes of the counts by word and topic, whole numbers
    digammas : (K,) sum of psi(n_dk + alpha_k) over documents
    total_digamma : sum of psi(n_d + sum alpha)
    log_probability : of the topics of all documents
    n : number of documents
    """

    words: Any
    digammas: np.ndarray
    total_digamma: float
    log_probability: float
    n: int


class TopicSampleState(NamedTuple):
    """State between sweeps.

    Attributes
    ----------
    counts : (V, K) words of each topic
    alpha, eta : priors
    mean : (V, K) sum of the counts of the sweeps that are kept
    assignments : (n,) arrays, the topic of each word of each document
    """

    counts: np.ndarray
    alpha: np.ndarray
    eta: np.ndarray
    mean: np.ndarray
    assignments: np.ndarray


class SweepSettings(NamedTuple):
    """Seed, number of the sweep, and the model's name for errors."""

    seed: int
    sweep: int
    model_name: str


def sample_topics(
    rows: Rows, start: TopicParameters, learned: LearnedPriors, model: Any, seed: int
) -> tuple[TopicParameters, dict[str, Any]]:
    """Sweeps of the sampler; the topics are the mean of the second half."""
    K = len(start.alpha)
    if K > MAX_TOPICS:
        raise ValueError(f"learning_method='gibbs' takes up to {MAX_TOPICS:,} topics, not {K:,}")
    settings = SweepSettings(seed, 0, type(model).__name__)
    sums, columns = rows.carry(first_sweep, None, start, settings, durable=True)
    counts = dense_sums(sums.words, rows.n_features)
    burn_in = model.max_iter // 2
    first = TopicSampleState(
        counts, start.alpha, start.eta, np.zeros(counts.shape), columns.array(0)
    )
    loop = until_converged(first, tol=-1.0, max_iter=model.max_iter)
    for state in loop:
        now = settings._replace(sweep=loop.n_iter + 1)
        columns = CarriedColumns.of((state.assignments,))
        sums, columns = rows.carry(sweep, columns, *state[:3], now, durable=True)
        counts = state.counts + dense_sums(sums.words, rows.n_features)
        log_probability = sums.log_probability + topic_log_probability(counts, state.eta)
        alpha = fixed_point(sums, state.alpha) if learned.alpha else state.alpha
        kept = loop.n_iter >= burn_in
        eta = learn_eta(TopicParameters(counts + state.eta, alpha, state.eta), learned).eta
        state = TopicSampleState(counts, alpha, eta, state.mean + kept * counts, columns.array(0))
        loop.update(state, objective=-log_probability, change=np.inf)
    end = loop.state
    mean = end.mean / (model.max_iter - burn_in) if model.max_iter else end.counts
    report = loop.report | {"n_batch_iter_": loop.n_iter + 1, "warning_": ""}
    return TopicParameters(mean + end.eta, end.alpha, end.eta), report


def first_sweep(
    chunk: Chunk, _: None, start: TopicParameters, settings: SweepSettings
) -> tuple[TopicSampleSums, tuple[np.ndarray]]:
    """Draw the topic of every word from the first topics."""
    bags = _whole_counts(chunk, settings.model_name)
    V, K = start.topics.shape
    slots, statistic, changes = allocate_sums(bags.words, V, K, np.int64)
    lengths = _tokens(bags)
    assignments = np.empty(lengths[-1], np.uint16)
    table = start.topics / start.topics.sum(axis=0)
    draw_first_topics(
        *bags[:3], table, start.alpha, settings.seed, chunk.first, assignments, slots, changes
    )
    sums = TopicSampleSums(statistic, np.zeros(K), 0.0, 0.0, chunk.rows)
    return sums, (_by_document(assignments, lengths),)


def sweep(
    chunk: Chunk,
    columns: tuple[np.ndarray],
    counts: np.ndarray,
    alpha: np.ndarray,
    eta: np.ndarray,
    settings: SweepSettings,
) -> tuple[TopicSampleSums, tuple[np.ndarray]]:
    """Sample the topic of every word of a chunk, from its own copy of the counts."""
    bags = _whole_counts(chunk, settings.model_name)
    V, K = counts.shape
    slots, statistic, changes = allocate_sums(bags.words, V, K, np.int64)
    words = np.arange(V) if isinstance(statistic, np.ndarray) else statistic.words
    prior = eta if eta.shape[0] == 1 else np.take(eta, words, axis=0)
    local = np.take(counts, words, axis=0) + prior
    totals = counts.sum(axis=0) + (eta.sum(axis=0) if eta.shape[0] > 1 else V * eta[0])
    assignments = np.concatenate([*columns[0], np.empty(0, np.uint16)]).astype(np.uint16)
    digammas = np.zeros(K)
    key = np.array([settings.seed, settings.sweep, chunk.first])
    total_digamma, log_probability = sample_documents(
        *bags[:3], alpha, local, totals, key, assignments, slots, changes, digammas
    )
    sums = TopicSampleSums(statistic, digammas, total_digamma, log_probability, chunk.rows)
    return sums, (_by_document(assignments, _tokens(bags)),)


def fixed_point(sums: TopicSampleSums, alpha: np.ndarray) -> np.ndarray:
    """A step towards the most likely prior of the topics of documents (Minka, 2000)."""
    ratio = sums.digammas - sums.n * psi(alpha)
    total = sums.total_digamma - sums.n * psi(alpha.sum())
    return np.maximum(alpha * ratio / total, LEAST_PRIOR) if total > 0 else alpha


def _whole_counts(chunk: Chunk, model_name: str) -> Bags:
    bags = bags_of_words(chunk, model_name)
    if chunk.w is not None and (chunk.w != 1).any():
        raise ValueError(
            "learning_method='gibbs' samples every word once: weights of documents are for "
            "learning_method='batch' and 'online'"
        )
    if (bags.counts != np.floor(bags.counts)).any():
        raise ValueError(
            "learning_method='gibbs' samples the topic of every word: X must hold whole counts; "
            "weights such as tf-idf are for learning_method='batch' and 'online'"
        )
    return bags


def _tokens(bags: Bags) -> np.ndarray:
    """Where the words of each document begin when each is written out as often as it occurs."""
    return np.concatenate([[0], np.cumsum(bags.counts)]).astype(np.int64)[bags.starts]


def _by_document(assignments: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """One array for each document."""
    parts = np.empty(len(lengths) - 1, object)
    for i in range(len(parts)):
        parts[i] = assignments[lengths[i] : lengths[i + 1]]
    return parts
