"""Online variational Bayes: a step towards the topics of a batch of documents, then the next one.

A batch needs the expectations of its own words alone, so that the work of a step grows with the
batch, not with the vocabulary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions._gamma_mle import fit_dirichlet_concentration
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged
from tenfold.topics._bags import bags_of_words
from tenfold.topics._lda_numba import expect_words, infer_topics
from tenfold.topics._variational import (
    LEAST_PRIOR,
    InferenceSettings,
    LearnedPriors,
    TopicParameters,
    first_gammas,
    learn_eta,
    perplexity,
    sum_bounds,
    topic_table,
)


class OnlineSettings(NamedTuple):
    """Settings of the steps: inference, priors that are learned, and the weight of a batch."""

    inference: InferenceSettings
    learned: LearnedPriors
    decay: float
    offset: float


class OnlineState(NamedTuple):
    """Parameters so far, number of the next batch, and the perplexity at the last check."""

    parameters: TopicParameters
    n_batches: int
    checked: float


def learn_batches(
    rows: Rows, start: TopicParameters, model: Any, rng: np.random.Generator
) -> tuple[TopicParameters, dict[str, Any]]:
    """Passes over all documents in random batches, until the perplexity hardly changes."""
    settings = online_settings(model)
    total = total_weight(rows)
    seeds = rng.integers(2**62, size=max(model.max_iter, 1))
    every = model.evaluate_every
    loop = until_converged(
        OnlineState(start, 1, np.inf), tol=model.perp_tol, max_iter=model.max_iter
    )
    for state in loop:
        parameters, n, checked = state
        for batch in rows.batches(int(model.batch_size), int(seeds[loop.n_iter])):
            parameters = step(parameters, batch, total, n, settings)
            n += 1
        parameters = learn_eta(parameters, settings.learned)
        bound, change = np.nan, np.inf
        if every > 0 and (loop.n_iter + 1) % every == 0:
            given = topic_table(parameters)
            sums = rows.total(sum_bounds, given, settings.inference)
            bound = given.bound + sums.bound
            new = perplexity(bound, sums.n_words)
            checked, change = new, abs(new - checked)
        loop.update(OnlineState(parameters, n, checked), objective=-bound, change=change)
    report = loop.report | {"n_batch_iter_": loop.state.n_batches}
    quiet = {} if every > 0 else {"warning_": ""}
    return loop.state.parameters, report | quiet


def update_from_rows(
    rows: Rows, parameters: TopicParameters, model: Any, n: int
) -> tuple[TopicParameters, int]:
    """Steps through the documents in their order, as `partial_fit` does them."""
    settings = online_settings(model)
    size = int(model.batch_size)
    for first in range(0, rows.n_rows, size):
        batch = rows.take(np.arange(first, min(first + size, rows.n_rows)))
        parameters = step(parameters, batch, float(model.total_samples), n, settings)
        n += 1
    return learn_eta(parameters, settings.learned), n


def online_settings(model: Any) -> OnlineSettings:
    """Settings of a model."""
    inference = InferenceSettings(
        int(model.max_doc_update_iter), float(model.mean_change_tol), type(model).__name__
    )
    learned = LearnedPriors(
        *(isinstance(p, str) for p in (model.doc_topic_prior, model.topic_word_prior))
    )
    return OnlineSettings(inference, learned, float(model.learning_decay), model.learning_offset)


def total_weight(rows: Rows) -> float:
    """Weight of all documents."""
    return float(rows.total(_chunk_weight) if rows.source.has_weight else rows.n_rows)


def _chunk_weight(chunk: Chunk) -> float:
    return chunk.weight


def step(
    parameters: TopicParameters, batch: Chunk, total: float, n: int, settings: OnlineSettings
) -> TopicParameters:
    """Go the n-th step, towards the topics that this batch alone would have."""
    topics, alpha, eta = parameters
    weight = batch.weight
    if weight == 0:
        return parameters
    rate = (settings.offset + n) ** -settings.decay
    bags = bags_of_words(batch, settings.inference.model_name)
    words, places = np.unique(bags.words, return_inverse=True)
    K = len(alpha)
    table, log_scales = np.empty((len(words), K)), np.empty(len(words))
    expect_words(np.take(topics, words, axis=0), topics.sum(axis=0), table, log_scales)
    local = bags._replace(words=places.astype(np.int32))
    gammas, log_theta, bounds = first_gammas(bags, alpha), np.zeros(K), np.empty(batch.rows)
    sums, slots = np.zeros((len(words), K)), np.arange(len(words))
    rule = settings.inference.rule
    infer_topics(*local, table, log_scales, alpha, rule, gammas, slots, sums, log_theta, bounds)
    topics = topics * (1 - rate) + rate * eta
    topics[words] += (rate * total / weight) * sums * table
    if settings.learned.alpha:
        best = np.maximum(fit_dirichlet_concentration(log_theta / weight), LEAST_PRIOR)
        alpha = (1 - rate) * alpha + rate * best
    return TopicParameters(topics, alpha, eta)
