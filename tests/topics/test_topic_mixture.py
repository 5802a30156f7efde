"""Admixture by EM: multiplicative updates, a solver of the concave problem, known topics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import xlogy
from sklearn.decomposition import NMF

from tenfold import TopicMixture
from tests.topics.test_lda import make_corpus, make_counts, topic_distances


def divergence(X, Y):
    """Kullback-Leibler divergence of matrices."""
    return (xlogy(X, X / np.where(Y > 0, Y, 1)) - X + Y).sum()


def log_likelihood(X, shares, topics):
    return xlogy(X, shares @ topics).sum()


def test_the_log_likelihood_is_the_divergence_of_the_factorization():
    X = make_counts()
    model = TopicMixture(3, random_state=0, tol=1e-8, max_iter=2000).fit(X)
    shares = model.transform(X)
    product = X.sum(axis=1, keepdims=True) * shares @ model.components_
    constant = xlogy(X, X / X.sum(axis=1, keepdims=True)).sum()
    assert_allclose(model.score(X), constant - divergence(X, product), rtol=1e-10)
    assert_allclose(model.score_samples(X).sum(), model.score(X))


def test_multiplicative_updates_from_the_optimum_find_nothing_better():
    X = make_counts()
    model = TopicMixture(3, random_state=0, tol=1e-10, max_iter=5000, transform_tol=1e-12).fit(X)
    W = X.sum(axis=1, keepdims=True) * model.transform(X)
    start = divergence(X, W @ model.components_)
    nmf = NMF(3, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=500, tol=0)
    W_new = nmf.fit_transform(X, W=np.maximum(W, 1e-12), H=np.maximum(model.components_, 1e-12))
    reached = divergence(X, W_new @ nmf.components_)
    assert_allclose(start, reached, rtol=1e-4)


def test_em_and_multiplicative_updates_reach_the_same_divergence():
    X, topics = make_corpus(100, 3, 15)
    first = np.random.default_rng(1).gamma(5, 1, topics.shape)
    model = TopicMixture(3, init=first, tol=1e-10, max_iter=5000, n_rounds=1)
    model.set_params(transform_tol=1e-12).fit(X)
    n = X.sum(axis=1, keepdims=True)
    ours = divergence(X, n * model.transform(X) @ model.components_)
    W, H = n * np.full((100, 3), 1 / 3), first / first.sum(axis=1, keepdims=True)
    for _ in range(5000):
        W = W * ((X / np.maximum(W @ H, 1e-300)) @ H.T) / H.sum(axis=1)
        H = H * (W.T @ (X / np.maximum(W @ H, 1e-300))) / W.sum(axis=0)[:, None]
    assert_allclose(ours, divergence(X, W @ H), rtol=1e-6)


def test_shares_of_a_document_are_the_optimum_of_a_concave_problem():
    X, topics = make_corpus(5, 3, 12)
    model = TopicMixture(3, init=topics + 1e-3, max_iter=12, tol=10, transform_max_iter=5000)
    model.set_params(transform_tol=1e-14).fit(X)
    for x, shares in zip(X, model.transform(X), strict=True):

        def cost(t, x=x):
            return -xlogy(x, t @ model.components_).sum()

        sums_to_one = {"type": "eq", "fun": lambda t: t.sum() - 1}
        best = minimize(cost, np.full(3, 1 / 3), bounds=[(1e-9, 1)] * 3, constraints=[sums_to_one])
        assert cost(shares) <= best.fun + 1e-6 * abs(best.fun)


def test_topics_of_a_corpus_are_found():
    X, topics = make_corpus(1500)
    model = TopicMixture(4, random_state=0, n_init=2).fit(X)
    assert topic_distances(model, topics).max() < 0.05


def test_one_topic_is_counting():
    X = make_counts()
    model = TopicMixture(1).fit(X)
    assert_allclose(model.components_[0], X.sum(axis=0) / X.sum())
    smooth = TopicMixture(1, topic_word_prior=2.0).fit(X)
    assert_allclose(smooth.components_[0], (X.sum(axis=0) + 2) / (X.sum() + 50))


def test_as_many_topics_as_documents_fit_them_perfectly():
    X = make_counts(4, 10)
    model = TopicMixture(4, random_state=0, tol=1e-12, max_iter=3000, init=X + 1e-6).fit(X)
    perfect = xlogy(X, X / X.sum(axis=1, keepdims=True)).sum()
    assert_allclose(model.log_likelihood_, perfect, rtol=1e-5)


def test_the_objective_never_falls_with_priors_too():
    X = make_counts()
    for priors in ({}, {"doc_topic_prior": 0.3, "topic_word_prior": 0.2}, {"n_rounds": 1}):
        model = TopicMixture(4, random_state=0, tol=1e-7, max_iter=3000, **priors).fit(X)
        objective = model.history_["objective"]
        assert (np.diff(objective) <= 1e-9 * abs(objective[-1])).all()
        assert model.converged_


def test_a_prior_keeps_words_that_a_topic_has_not_seen():
    X, _ = make_corpus(300)
    smooth = TopicMixture(4, topic_word_prior=0.1, doc_topic_prior=0.1, random_state=0).fit(X[:150])
    assert smooth.completion_perplexity(X[150:]) < 30
    rare = np.zeros((1, 41))
    rare[0, 40] = 3
    known = TopicMixture(4, random_state=0).fit(np.hstack([X[:150], np.zeros((150, 1))]))
    assert known.score(rare) == -np.inf
    assert known.perplexity(rare) == np.inf
    assert_allclose(known.transform(rare), 0.25)
    assert known.completion_perplexity(np.hstack([X[150:], np.ones((150, 1))])) == np.inf


def test_sparse_and_dense_documents_have_the_same_bits():
    X = make_counts()
    a, b = (TopicMixture(3, random_state=0, tol=1e-4).fit(Z) for Z in (X, csr_array(X)))
    assert_array_equal(a.components_, b.components_)
    assert a.score(X) == a.score(csr_array(X))


def test_topics_to_begin_with_are_checked():
    X = make_counts()
    with pytest.raises(ValueError, match="word weights"):
        TopicMixture(3, init=np.ones((2, 25))).fit(X)
    with pytest.raises(ValueError, match="topic without words"):
        TopicMixture(2, init=np.vstack([np.ones(25), np.zeros(25)])).fit(X)
    first = np.ones((2, 25))
    first[:, 0] = 0
    with pytest.raises(ValueError, match="some word of the documents has no probability"):
        TopicMixture(2, init=first).fit(X)
