"""Latent Dirichlet allocation: closed forms, enumeration, scikit-learn's numbers, known topics."""

import warnings
from itertools import product
from unittest import mock

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.special import gammaln, psi
from scipy.stats import beta as beta_distribution
from sklearn.decomposition import LatentDirichletAllocation as Theirs
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import LatentDirichletAllocation, WordCounts, seed_topics, testing, top_words
from tenfold._compiled.word_mixtures import allocate_blocks, gather_words, mix_words
from tenfold.engine.chunk import Chunk
from tenfold.topics._gibbs import SweepSettings, first_sweep, sweep
from tenfold.topics._variational import TopicParameters

TIGHT = {"mean_change_tol": 1e-13, "max_doc_update_iter": 2000}


def make_counts(n=60, V=25, seed=0):
    return np.random.default_rng(seed).poisson(0.7, (n, V)).astype(float)


def make_corpus(n=1500, K=4, V=40, length=60, alpha=0.2, seed=0):
    """Documents by the generative story, with their topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(V, 0.1), K)
    shares = rng.dirichlet(np.full(K, alpha) if np.isscalar(alpha) else alpha, n)
    return np.array([rng.multinomial(length, p / p.sum()) for p in shares @ topics]), topics


def topic_distances(model, topics):
    """Total variation between true topics and those of a model, in the best matching."""
    found = model.components_ / model.components_.sum(axis=1, keepdims=True)
    distance = np.abs(topics[:, None] - found[None]).sum(axis=2) / 2
    return distance[linear_sum_assignment(distance)]


def dirichlet_log_evidence(counts, prior):
    """log of the integral of prod beta^counts over a Dirichlet."""
    prior = np.broadcast_to(prior, np.shape(counts))
    return (
        gammaln(prior.sum())
        - gammaln(prior.sum() + np.sum(counts))
        + (gammaln(prior + counts) - gammaln(prior)).sum()
    )


def with_components_of(ours, theirs, X):
    """Our model with the topics of scikit-learn's."""
    ours.set_params(max_iter=0).fit(X)
    ours.components_ = theirs.components_
    return ours


def test_inference_score_and_perplexity_are_those_of_scikit_learn():
    X = make_counts()
    theirs = Theirs(5, random_state=0, doc_topic_prior=0.3, topic_word_prior=0.1, **TIGHT).fit(X)
    ours = LatentDirichletAllocation(5, doc_topic_prior=0.3, topic_word_prior=0.1, **TIGHT)
    ours = with_components_of(ours, theirs, X)
    assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-7, atol=1e-9)
    assert_allclose(
        ours.transform(X, normalize=False), theirs._e_step(X, False, False)[0], rtol=1e-7
    )
    assert_allclose(ours.score(X), theirs.score(X), rtol=1e-11)
    assert_allclose(ours.perplexity(X), theirs.perplexity(X), rtol=1e-11)
    assert_allclose(ours.perplexity(X, True), theirs.perplexity(X, True), rtol=1e-8)


def test_one_update_of_the_topics_is_that_of_scikit_learn():
    X = make_counts()
    first = np.random.default_rng(1).gamma(100, 0.01, (4, X.shape[1]))
    theirs = Theirs(4, **TIGHT).fit(X)
    theirs.components_ = 0.25 + first / first.sum(axis=1, keepdims=True) * X.sum() / 4
    theirs.exp_dirichlet_component_ = np.exp(
        psi(theirs.components_) - psi(theirs.components_.sum(axis=1, keepdims=True))
    )
    expected = 0.25 + theirs._e_step(X, True, False)[1]
    ours = LatentDirichletAllocation(4, init=first, max_iter=1, **TIGHT).fit(X)
    assert_allclose(ours.components_, expected, rtol=1e-7)


def test_parameters_of_scikit_learns_model_are_accepted():
    given = Theirs(3, max_iter=2, n_jobs=1).get_params()
    model = LatentDirichletAllocation(**given).fit(make_counts())
    assert model.get_params().items() >= given.items()
    assert model.n_iter_ == 2


def test_one_topic_is_counting_and_its_bound_is_the_evidence():
    X = make_counts()
    model = LatentDirichletAllocation(1, topic_word_prior=0.7, max_iter=2).fit(X)
    assert_allclose(model.components_[0], 0.7 + X.sum(axis=0))
    evidence = dirichlet_log_evidence(X.sum(axis=0), 0.7)
    assert_allclose(model.score(X), evidence, rtol=1e-12)


def test_the_bound_is_below_the_evidence_of_a_corpus_that_can_be_enumerated():
    X = np.array([[2, 1, 0], [0, 1, 2]])
    alpha, eta, K = 0.6, 0.8, 2
    tokens = [(d, w) for d in range(2) for w in range(3) for _ in range(X[d, w])]
    logs = []
    for z in product(range(K), repeat=len(tokens)):
        by_document, by_word = np.zeros((2, K)), np.zeros((K, 3))
        for (d, w), k in zip(tokens, z, strict=True):
            by_document[d, k] += 1
            by_word[k, w] += 1
        parts = [dirichlet_log_evidence(c, alpha) for c in by_document]
        logs.append(sum(parts) + sum(dirichlet_log_evidence(c, eta) for c in by_word))
    evidence = np.logaddexp.reduce(logs)
    for seed in range(5):
        model = LatentDirichletAllocation(
            K, doc_topic_prior=alpha, topic_word_prior=eta, max_iter=100, random_state=seed, **TIGHT
        ).fit(X)
        assert evidence - 2 < model.score(X) < evidence


def test_the_bound_of_a_document_is_below_its_integral():
    X = np.array([[3.0, 1.0, 0.0, 2.0]])
    model = LatentDirichletAllocation(2, doc_topic_prior=0.8, max_iter=0, **TIGHT, random_state=0)
    model.fit(X)
    table = model.exp_dirichlet_component_

    def likelihood(t):
        words = np.array([t, 1 - t]) @ table
        return beta_distribution(0.8, 0.8).pdf(t) * np.prod(words ** X[0])

    exact = np.log(quad(likelihood, 0, 1)[0])
    assert exact - 1 < model.score_samples(X)[0] < exact


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_iter": 40},
        {"max_iter": 10, "learning_method": "online"},
        {"max_iter": 150, "learning_method": "gibbs"},
        {"max_iter": 40, "doc_topic_prior": "auto", "topic_word_prior": "auto"},
    ],
    ids=["batch", "online", "gibbs", "learned priors"],
)
def test_topics_of_the_generative_story_are_found(parameters):
    X, topics = make_corpus()
    model = LatentDirichletAllocation(4, random_state=1, **parameters).fit(X)
    assert topic_distances(model, topics).max() < 0.05


def test_the_bound_never_falls_and_is_that_of_score():
    for seed in range(6):
        X = make_counts(30, 12, seed)
        model = LatentDirichletAllocation(5, max_iter=60, random_state=seed, n_init=1).fit(X)
        bounds = -model.history_["objective"]
        assert (np.diff(bounds) >= -1e-9 * abs(bounds[-1])).all()
        assert model.score(X) == bounds[-1]
        assert model.bound_ == model.perplexity(X)
        assert_allclose(model.bound_, np.exp(-bounds[-1] / X.sum()))
        assert_allclose(model.score_samples(X).sum() + model._table().bound, bounds[-1])


def test_learned_priors_are_those_of_the_corpus_and_raise_the_bound():
    X, topics = make_corpus(3000, alpha=np.array([0.1, 0.2, 0.4, 1.2]), length=100)
    fixed = LatentDirichletAllocation(4, random_state=0, max_iter=40).fit(X)
    learned = LatentDirichletAllocation(
        4, random_state=0, max_iter=40, doc_topic_prior="auto", topic_word_prior="auto"
    ).fit(X)
    assert learned.score(X) > fixed.score(X)
    assert_allclose(np.sort(learned.doc_topic_prior_), [0.1, 0.2, 0.4, 1.2], rtol=0.3)
    assert 0.05 < learned.topic_word_prior_ < 0.2
    sampled = LatentDirichletAllocation(
        4, init=topics, max_iter=60, doc_topic_prior="auto", learning_method="gibbs"
    ).fit(X)
    assert_allclose(sampled.doc_topic_prior_, [0.1, 0.2, 0.4, 1.2], rtol=0.2)


def test_priors_of_one_topic_or_one_word_are_learned_in_silence():
    for K, V in [(1, 3), (2, 1), (1, 1)]:
        model = LatentDirichletAllocation(K, doc_topic_prior="auto", topic_word_prior="auto")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(make_counts(5, V))
        assert np.isfinite(model.components_).all()
        assert np.isfinite(model.score(make_counts(5, V)))


def test_convergence_is_looked_for_when_asked():
    X, _ = make_corpus(200)
    model = LatentDirichletAllocation(
        4, evaluate_every=2, perp_tol=0.01, max_iter=200, random_state=0
    ).fit(X)
    bounds = -model.history_["objective"]
    perplexities = np.exp(-bounds / X.sum())
    assert model.converged_
    assert model.n_iter_ < 200
    assert model.n_iter_ % 2 == 0
    assert abs(perplexities[-1] - perplexities[-3]) <= 0.01
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        LatentDirichletAllocation(4, evaluate_every=1, perp_tol=0, max_iter=2).fit(X)
    assert not LatentDirichletAllocation(4, max_iter=3).fit(X).converged_


def test_dense_and_sparse_documents_have_the_same_bits():
    X = make_counts()
    a, b = (LatentDirichletAllocation(3, random_state=0).fit(Z) for Z in (X, csr_array(X)))
    assert_array_equal(a.components_, b.components_)
    assert_array_equal(a.transform(X), a.transform(csr_array(X)))


def test_a_large_vocabulary_is_counted_by_the_words_that_occur(monkeypatch):
    X = csr_array(make_counts(1200, 30))
    dense = LatentDirichletAllocation(3, random_state=0, max_iter=3).fit(X)
    monkeypatch.setattr("tenfold.topics._word_sums.MAX_DENSE_ENTRIES", 10)
    sparse = LatentDirichletAllocation(3, random_state=0, max_iter=3).fit(X)
    assert_array_equal(dense.components_, sparse.components_)
    gibbs = {"learning_method": "gibbs", "max_iter": 3, "random_state": 0}
    by_words = LatentDirichletAllocation(3, **gibbs).fit(X)
    monkeypatch.undo()
    assert_array_equal(
        LatentDirichletAllocation(3, **gibbs).fit(X).components_, by_words.components_
    )


def count_dataset(_, dtype=np.float64, rows=1500):
    X, _ = make_corpus(min(rows, 1500), 3, 12, 20)
    return X.astype(dtype), None


@pytest.mark.parametrize("method", ["gibbs", "online"])
@pytest.mark.parametrize(
    "law",
    [
        testing.check_thread_invariance,
        testing.check_checkpoint_resume,
        testing.check_storage_invariance,
    ],
    ids=lambda law: law.__name__,
)
def test_samples_and_batches_obey_the_laws_of_bits(method, law):
    model = LatentDirichletAllocation(
        3, learning_method=method, max_iter=4, random_state=0, max_doc_update_iter=10
    )
    only = {"only": ("in_npy", "in_parquet")} if law is testing.check_storage_invariance else {}
    with mock.patch("tenfold.testing.laws.make_dataset", count_dataset):
        law(model, **only)


def test_gibbs_samples_have_the_probabilities_of_the_model():
    X = csr_array(np.array([[2.0, 1.0], [0.0, 2.0]]))
    alpha, eta = np.array([0.5, 0.9]), np.full((1, 1), 0.4)
    tokens = [(0, 0), (0, 0), (0, 1), (1, 1), (1, 1)]
    probabilities = {}
    for z in product(range(2), repeat=5):
        by_document, by_word = np.zeros((2, 2)), np.zeros((2, 2))
        for (d, w), k in zip(tokens, z, strict=True):
            by_document[d, k] += 1
            by_word[k, w] += 1
        logs = [dirichlet_log_evidence(c, alpha) for c in by_document]
        probabilities[z] = np.exp(sum(logs) + sum(dirichlet_log_evidence(c, 0.4) for c in by_word))
    total = sum(probabilities.values())
    start, chunk = TopicParameters(np.ones((2, 2)), alpha, eta), Chunk(X)
    sums, columns = first_sweep(chunk, None, start, SweepSettings(3, 0, "LDA"))
    counts, seen, n = sums.words, dict.fromkeys(probabilities, 0), 8000
    for number in range(1, n + 1):
        sums, columns = sweep(chunk, columns, counts, alpha, eta, SweepSettings(3, number, "LDA"))
        counts = counts + sums.words
        seen[tuple(int(k) for part in columns[0] for k in part)] += 1
    worst = max(abs(seen[z] / n - p / total) for z, p in probabilities.items())
    assert worst < 0.02


def test_seeded_topics_are_about_their_seeds():
    X, topics = make_corpus(400)
    names = [f"w{i}" for i in range(X.shape[1])]
    top = top_words(topics, names, 2)
    for method in ("batch", "gibbs"):
        prior = seed_topics([top[2], top[0]], names, 4, weight=200)
        model = LatentDirichletAllocation(
            4, topic_word_prior=prior, random_state=1, max_iter=30, learning_method=method
        ).fit(X)
        found = top_words(model, names, 5)
        assert set(top[2]) <= set(found[0])
        assert set(top[0]) <= set(found[1])


def test_given_topics_are_where_a_fit_begins():
    X, topics = make_corpus(400)
    model = LatentDirichletAllocation(4, init=topics, max_iter=5).fit(X)
    found = model.components_ / model.components_.sum(axis=1, keepdims=True)
    assert np.abs(found - topics).sum(axis=1).max() / 2 < 0.1
    with pytest.raises(ValueError, match=r"init has shape \(4, 40\)"):
        LatentDirichletAllocation(5, init=topics).fit(X)


def test_partial_fit_goes_on_where_it_ended():
    X, topics = make_corpus(3000)
    model = LatentDirichletAllocation(4, total_samples=3000, random_state=1, batch_size=100)
    for part in np.split(X, 6):
        model.partial_fit(part)
    assert model.n_batch_iter_ == 31
    assert topic_distances(model, topics).max() < 0.1
    whole = LatentDirichletAllocation(4, total_samples=3000, random_state=1, batch_size=100)
    assert_array_equal(whole.partial_fit(X).components_, model.components_)


def test_online_documents_are_drawn_and_weighted():
    X, topics = make_corpus(1500)
    weights = np.repeat([0.0, 1.0], 750)
    options = {"learning_method": "online", "max_iter": 10, "random_state": 1}
    model = LatentDirichletAllocation(4, **options).fit(X, sample_weight=weights)
    assert topic_distances(model, topics).max() < 0.1
    assert_allclose(model.components_.sum(), X[750:].sum(), rtol=0.1)


def test_completion_perplexity_of_known_models():
    X, topics = make_corpus(800)
    uniform = LatentDirichletAllocation(1, max_iter=0).fit(X)
    uniform.components_ = np.ones((1, X.shape[1]))
    assert_allclose(uniform.completion_perplexity(X), X.shape[1])
    one = LatentDirichletAllocation(1, max_iter=1).fit(X[:400]).completion_perplexity(X[400:])
    model = LatentDirichletAllocation(4, max_iter=30, random_state=2).fit(X[:400])
    true = LatentDirichletAllocation(4, init=topics, max_iter=0, doc_topic_prior=0.2).fit(X[:400])
    four = model.completion_perplexity(X[400:])
    assert true.completion_perplexity(X[400:]) < four < 0.7 * one
    assert four == model.completion_perplexity(csr_array(X[400:]))
    assert four != model.completion_perplexity(X[400:], random_state=1)
    with pytest.raises(ValueError, match="no words are left"):
        model.completion_perplexity(np.zeros((2, 40)))


def test_empty_documents_and_words_never_seen_have_the_prior():
    X = make_counts()
    X[:, 3] = 0
    X[5] = 0
    model = LatentDirichletAllocation(4, random_state=0, doc_topic_prior=[0.1, 0.2, 0.3, 0.4]).fit(
        X
    )
    assert_allclose(model.transform(X)[5], [0.1, 0.2, 0.3, 0.4])
    assert_allclose(model.components_[:, 3], 0.25)
    assert model.score_samples(np.zeros((1, 25)))[0] == 0
    unseen = np.zeros((1, 25))
    unseen[0, 3] = 4.0
    assert np.isfinite(model.score_samples(unseen)).all()


@pytest.mark.parametrize("prior", [1e-4, 1e3])
def test_extreme_priors_end_in_finite_numbers(prior):
    X = make_counts()
    model = LatentDirichletAllocation(
        4, doc_topic_prior=prior, topic_word_prior=prior, random_state=0
    ).fit(X)
    assert np.isfinite(model.score(X))
    assert np.isfinite(model.transform(X / 1e4)).all()


def test_weights_that_are_no_counts_are_learned_from():
    X, topics = make_corpus(800)
    model = LatentDirichletAllocation(4, random_state=2, max_iter=40).fit(X * 0.37)
    assert topic_distances(model, topics).max() < 0.08


def test_errors_name_the_place_and_the_cure():
    X = make_counts()
    bad = X.copy()
    bad[7, 2] = -1
    with pytest.raises(ValueError, match=r"Negative values .* row 7, column 2 holds -1"):
        LatentDirichletAllocation(3).fit(csr_array(bad))
    with pytest.raises(ValueError, match="one for each of the 3 topics"):
        LatentDirichletAllocation(3, doc_topic_prior=[0.1, 0.2]).fit(X)
    with pytest.raises(ValueError, match="topic_word_prior must be positive"):
        LatentDirichletAllocation(3, topic_word_prior=np.zeros((3, 25))).fit(X)
    with pytest.raises(ValueError, match="whole counts"):
        LatentDirichletAllocation(3, learning_method="gibbs").fit(X + 0.5)
    with pytest.raises(ValueError, match="weights of documents"):
        LatentDirichletAllocation(3, learning_method="gibbs").fit(X, sample_weight=np.full(60, 2.0))
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LatentDirichletAllocation(3).fit(bad)


def test_text_goes_to_topics_in_one_walk():
    rng = np.random.default_rng(0)
    groups = [["stock", "bond", "price"], ["cat", "dog", "pet"]]
    documents = [" ".join(rng.choice(groups[i % 2], 12)) for i in range(1500)]
    counts, walks = WordCounts(), []

    def read():
        walks.append(1)
        yield from documents

    rows = counts.fit_rows(read())
    model = LatentDirichletAllocation(2, random_state=0).fit(rows)
    in_memory = LatentDirichletAllocation(2, random_state=0).fit(
        WordCounts().fit_transform(documents)
    )
    assert len(walks) == 1
    assert_array_equal(model.components_, in_memory.components_)
    assert sorted(map(sorted, top_words(model, counts, 3))) == [sorted(g) for g in groups]
    shares = model.transform(counts.transform_rows(documents[:10]))
    assert_array_equal(shares, model.transform(counts.transform(documents[:10])))
    assert shares.max(axis=1).min() > 0.9


def test_saved_models_infer_the_same_topics(tmp_path):
    X = make_counts()
    prior = np.random.default_rng(0).gamma(1, 0.1, (3, 25)) + 0.01
    for parameters in ({"doc_topic_prior": "auto"}, {"topic_word_prior": prior}):
        model = LatentDirichletAllocation(3, random_state=0, **parameters).fit(X)
        model.save(tmp_path / "lda.tenfold")
        loaded = tenfold.load(tmp_path / "lda.tenfold")
        assert_array_equal(model.transform(X), loaded.transform(X))
        assert model.score(X) == loaded.score(X)


@pytest.mark.parametrize("max_iter", [0, 1, 4, 11])
def test_the_bound_of_a_fit_is_that_of_full_inference_however_short_its_first_passes_are(max_iter):
    X = np.random.default_rng(0).poisson(0.7, (60, 30)).astype(float)
    model = LatentDirichletAllocation(3, max_iter=max_iter, n_init=1, random_state=0).fit(X)
    assert model.bound_ == pytest.approx(model.perplexity(X), rel=1e-12)
    assert (np.diff(model.history_["objective"]) <= 1e-9 * 60).all()


@pytest.mark.parametrize("m", [0, 1, 8, 19])
def test_words_in_blocks_have_the_likelihoods_and_sums_of_plain_products(m):
    rng = np.random.default_rng(0)
    K, table = 5, rng.random((40, 5))
    words, counts, topics = rng.integers(40, size=m), rng.random(m), rng.random(K)
    gathered, padded, likelihoods, ratios, lanes = allocate_blocks(m, K)
    sums = np.empty(K)
    n_blocks = gather_words(words, counts, table, gathered, padded)
    _mix(n_blocks, K, gathered, topics, padded, likelihoods, ratios, lanes, sums)
    expected = table[words] @ topics
    assert_allclose(likelihoods[:m], expected, rtol=1e-13)
    assert_allclose(ratios[:m], counts / expected, rtol=1e-13)
    assert_allclose(sums, (counts / expected) @ table[words], rtol=1e-13)


@njit
def _mix(n_blocks, K, gathered, topics, counts, likelihoods, ratios, lanes, sums):
    mix_words(n_blocks, K, gathered, topics, counts, likelihoods, ratios, lanes, sums)
