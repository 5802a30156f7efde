r"""Variational Bayes for topics: one pass over the documents, and the loops around it.

    q(theta_d) = Dirichlet(gamma_d),  q(beta_k) = Dirichlet(lambda_k),  q(z) as they imply

A pass starts every document from the same parameters, gamma = alpha + n_d / K, so that it is a
function of topics and documents alone: nothing is carried from pass to pass, and the bound of a fit
is the one that `score` computes. (Documents that go on from their last parameters stay with topics
that they chose while all topics were alike; the bound ends several per cent lower.) Since each pass
may find another local optimum, a step that lowers the bound is halved.

The first passes are short: while topics are still alike, rounds that settle a document on some of
them cost the most and lead to worse topics. A document of n words is done in the first pass when
its parameters change by less than 0.8 sqrt(n), and this slack halves from pass to pass; later
passes, and the last one, know `mean_change_tol` alone. On 20 Newsgroups (20 topics, four starts)
ten such passes cost two thirds of ten full ones, and their bound is higher by 0.2 per cent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import psi

from tenfold.distributions._gamma_mle import (
    fit_dirichlet_concentration,
    fit_symmetric_concentration,
)
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.topics._bags import Bags, bags_of_words
from tenfold.topics._completion import exp_mean
from tenfold.topics._lda_numba import expect_topics, infer_topics
from tenfold.topics._word_sums import allocate_sums, dense_sums

MAX_HALVINGS = 4
FIRST_SLACK = 0.8  # times sqrt(words of a document): a smaller change ends the first pass over it
SHORT_PASSES = 8
_ROUNDING = 1e-12  # of the bound: a smaller decrease is rounding
LEAST_PRIOR = 1e-4  # of a learned prior


class TopicParameters(NamedTuple):
    """What a model of topics has learned so far.

    Attributes
    ----------
    topics : (V, K) Dirichlet parameters of the words of the topics
    alpha : (K,) prior of the topics of a document
    eta : prior of the words of a topic, (V or 1, K or 1)
    """

    topics: np.ndarray
    alpha: np.ndarray
    eta: np.ndarray


class TopicTable(NamedTuple):
    """Topics as inference takes them.

    Attributes
    ----------
    table : (V, K) exp(E log beta) over exp(log_scales)
    log_scales : (V,)
    alpha : (K,)
    bound : E[log p(beta) - log q(beta)]
    """

    table: np.ndarray
    log_scales: np.ndarray
    alpha: np.ndarray
    bound: float


class InferenceSettings(NamedTuple):
    """When inference of a document ends, and for whom.

    Attributes
    ----------
    max_rounds : most rounds
    tol : mean change of the parameters below which a document is done
    model_name : for errors
    slack : times sqrt(words of a document): it is done as well when its parameters change by less
    """

    max_rounds: int
    tol: float
    model_name: str
    slack: float = 0.0

    @property
    def rule(self) -> tuple[int, float, float]:
        """Most rounds, tolerance, slack."""
        return self.max_rounds, self.tol, self.slack


def pass_settings(settings: InferenceSettings, number: int) -> InferenceSettings:
    """Settings of the pass of this number: documents are done sooner in the first ones."""
    return settings._replace(slack=FIRST_SLACK / 2.0**number if number < SHORT_PASSES else 0.0)


class TopicSums(NamedTuple):
    """Statistic of a pass.

    Attributes
    ----------
    words : sums by word and topic of n_dw topics_dk / norm_dw
    log_theta : (K,) sum of E log theta
    bound : of the documents, without the topics' part
    n : weight of the documents
    n_words : weight of their words
    """

    words: Any
    log_theta: np.ndarray
    bound: float
    n: float
    n_words: float


def topic_table(parameters: TopicParameters) -> TopicTable:
    """Expectations of the topics."""
    topics, alpha, eta = parameters
    table, log_scales = np.empty(topics.shape), np.empty(len(topics))
    bound = expect_topics(np.ascontiguousarray(topics), eta, table, log_scales)
    return TopicTable(table, log_scales, alpha, bound)


def sum_topics(chunk: Chunk, given: TopicTable, settings: InferenceSettings) -> TopicSums:
    """Infer the topics of the documents of a chunk, and sum what the next topics need."""
    bags = bags_of_words(chunk, settings.model_name)
    V, K = given.table.shape
    slots, statistic, table = allocate_sums(bags.words, V, K)
    gammas, log_theta, bounds = first_gammas(bags, given.alpha), np.zeros(K), np.empty(chunk.rows)
    infer_topics(*bags, *given[:3], settings.rule, gammas, slots, table, log_theta, bounds)
    bound, n_words = bags.weights @ bounds, bags.weights @ bags.lengths
    return TopicSums(statistic, log_theta, float(bound), chunk.weight, float(n_words))


def infer_gammas(
    bags: Bags, given: TopicTable, settings: InferenceSettings
) -> tuple[np.ndarray, np.ndarray]:
    """Variational parameters of the topics of each document, and its bound."""
    gammas, bounds = first_gammas(bags, given.alpha), np.empty(len(bags.weights))
    slots, sums, log_theta = np.empty(0, np.int64), np.empty((0, 0)), np.empty(0)
    infer_topics(*bags, *given[:3], settings.rule, gammas, slots, sums, log_theta, bounds)
    return gammas, bounds


def first_gammas(bags: Bags, alpha: np.ndarray) -> np.ndarray:
    """Parameters from which inference begins: all topics alike."""
    return alpha + bags.lengths[:, None] / len(alpha)


def infer_mean_topics(bags: Bags, given: TopicTable, settings: InferenceSettings) -> np.ndarray:
    """Mean shares of the topics of each document."""
    gammas = infer_gammas(bags, given, settings)[0]
    return gammas / gammas.sum(axis=1, keepdims=True)


def document_topics(
    chunk: Chunk, given: TopicTable, settings: InferenceSettings, normalize: bool
) -> np.ndarray:
    """Parameters, or mean shares, of the topics of each document."""
    gammas = infer_gammas(bags_of_words(chunk, settings.model_name), given, settings)[0]
    if normalize:
        gammas /= gammas.sum(axis=1, keepdims=True)
    return gammas.astype(chunk.X.dtype)


def document_bounds(chunk: Chunk, given: TopicTable, settings: InferenceSettings) -> np.ndarray:
    """Bound of each document alone."""
    bags = bags_of_words(chunk, settings.model_name)
    return infer_gammas(bags, given, settings)[1].astype(chunk.X.dtype)


class BoundSums(NamedTuple):
    """Bound of documents, the weight of the documents and of their words."""

    bound: float
    n: float
    n_words: float


def sum_bounds(chunk: Chunk, given: TopicTable, settings: InferenceSettings) -> BoundSums:
    """Bound of the documents of a chunk."""
    bags = bags_of_words(chunk, settings.model_name)
    bound = bags.weights @ infer_gammas(bags, given, settings)[1]
    return BoundSums(float(bound), chunk.weight, float(bags.weights @ bags.lengths))


class LearnedPriors(NamedTuple):
    """Which priors are learned."""

    alpha: bool
    eta: bool


def maximize(
    sums: TopicSums, given: TopicTable, parameters: TopicParameters, learned: LearnedPriors
) -> TopicParameters:
    """The topics, and priors that are learned, which are best for the documents' parameters."""
    _, alpha, eta = parameters
    topics = dense_sums(sums.words, len(given.table)) * given.table + eta
    if learned.alpha:
        mean_logs = sums.log_theta / sums.n
        alpha = np.maximum(fit_dirichlet_concentration(mean_logs), LEAST_PRIOR)
    return learn_eta(TopicParameters(topics, alpha, eta), learned)


def learn_eta(parameters: TopicParameters, learned: LearnedPriors) -> TopicParameters:
    """The prior of words that is best for the topics, where it is learned."""
    if not learned.eta:
        return parameters
    topics = parameters.topics
    mean_log = float((psi(topics) - psi(topics.sum(axis=0))).mean())
    best = max(fit_symmetric_concentration(mean_log, len(topics)), LEAST_PRIOR)
    return parameters._replace(eta=np.full((1, 1), best))


class TopicAscent(NamedTuple):
    """State of the ascent: parameters, their bound, and those of the next step.

    Attributes
    ----------
    parameters : the best so far
    target : where the next step leads
    bound : of the parameters, topics included
    n_words : weight of all words
    checked : perplexity when convergence was last looked at
    """

    parameters: TopicParameters
    target: TopicParameters
    bound: float
    n_words: float
    checked: float

    @property
    def perplexity(self) -> float:
        """exp(-bound / words)."""
        return perplexity(self.bound, self.n_words)


def perplexity(bound: float, n_words: float) -> float:
    """exp(-bound per word); of no words, 1."""
    return exp_mean(-bound, n_words)


def evaluate(
    rows: Rows, parameters: TopicParameters, settings: InferenceSettings, learned: LearnedPriors
) -> TopicAscent:
    """One pass: the bound of parameters, and the next ones."""
    given = topic_table(parameters)
    sums = rows.total(sum_topics, given, settings)
    target = maximize(sums, given, parameters, learned)
    return TopicAscent(parameters, target, given.bound + sums.bound, sums.n_words, np.inf)


def ascend(
    rows: Rows, now: TopicAscent, settings: InferenceSettings, learned: LearnedPriors
) -> TopicAscent | None:
    """The next parameters; halfway to them where the bound would fall; None if it falls there too.

    The step to the target maximizes the bound for the documents' last parameters, but inference
    begins anew and may end in another local optimum.
    """
    target = now.target
    for _ in range(MAX_HALVINGS + 1):
        reached = evaluate(rows, target, settings, learned)
        if reached.bound >= now.bound - _ROUNDING * abs(now.bound):
            return reached._replace(checked=now.checked)
        target = TopicParameters(
            *((a + b) / 2 for a, b in zip(now.parameters, target, strict=True))
        )
    return None
