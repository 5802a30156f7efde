"""Documents of known topics: moments of the story, recovery, samples of fitted models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold import LatentDirichletAllocation, TopicMixture
from tenfold.datasets import make_topic_documents
from tests.topics.test_lda import topic_distances

TOPICS = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.1, 0.3, 0.6]])
ALPHA = np.array([0.8, 0.4])


def story_moments(topics, alpha, length):
    """Mean and covariance of the counts of a document of `length` words."""
    mean = alpha / alpha.sum()
    spread = (np.diag(mean) - np.outer(mean, mean)) / (alpha.sum() + 1)
    p, between = mean @ topics, topics.T @ spread @ topics
    total = np.diag(p) - np.outer(p, p) + (length - 1) * between
    return length * p, length * total


def fitted_to(topics, model, **learned):
    """A model whose topics are given."""
    model.fit(np.ones((3, topics.shape[1])))
    vars(model).update(components_=topics, **learned)
    return model


def test_samples_of_a_model_have_the_moments_of_the_story():
    model = LatentDirichletAllocation(2, max_iter=0, doc_topic_prior=ALPHA)
    model = fitted_to(50 * TOPICS, model)
    X, shares = model.sample(40_000, random_state=0, length=12)
    assert_array_equal(X.sum(axis=1), 12)
    mean, covariance = story_moments(TOPICS, ALPHA, 12)
    assert_allclose(X.mean(axis=0), mean, atol=0.05)
    assert_allclose(np.cov(X.toarray().T), covariance, atol=0.15)
    assert_allclose(shares.mean(axis=0), ALPHA / ALPHA.sum(), atol=0.01)
    of_first_word = np.cov(shares[:, 0], X[:, [0]].toarray().ravel())[0, 1]
    spread = 2 / 9 / (ALPHA.sum() + 1)
    assert of_first_word == pytest.approx(12 * spread * TOPICS[0, 0], rel=0.05)


def test_generated_documents_have_the_moments_of_the_story():
    X, shares, topics = make_topic_documents(
        40_000, topics=7 * TOPICS, length=12, doc_topic_prior=ALPHA, random_state=0
    )
    assert_allclose(topics, TOPICS)
    lengths = X.sum(axis=1)
    assert (lengths.mean(), lengths.var()) == pytest.approx((12, 12), rel=0.03)
    mean, covariance = story_moments(TOPICS, ALPHA, 12)
    p = mean / 12  # lengths are Poisson, so 12 (12 - 1) pairs become 12 ** 2
    between = (covariance - 12 * (np.diag(p) - np.outer(p, p))) / 11
    assert_allclose(X.mean(axis=0), mean, atol=0.05)
    assert_allclose(np.cov(X.toarray().T), 12 * np.diag(p) + 12 * between, atol=0.15)
    never = shares @ topics == 0
    assert not X.toarray()[never].any()


@pytest.mark.parametrize(
    "model",
    [LatentDirichletAllocation(3, max_iter=40, random_state=0), TopicMixture(3, random_state=0)],
    ids=["lda", "mixture"],
)
def test_planted_topics_are_recovered_and_a_model_learns_itself_from_its_sample(model):
    X, shares, topics = make_topic_documents(800, 30, n_components=3, random_state=1)
    model.fit(X)
    assert topic_distances(model, topics).max() < 0.06
    found = model.transform(X)
    match = [int(np.argmin(np.abs(topics - row).sum(axis=1))) for row in _probabilities(model)]
    assert np.abs(found - shares[:, match]).mean() < 0.05
    again = type(model)(**model.get_params()).fit(model.sample(1500, random_state=3)[0])
    assert topic_distances(again, _probabilities(model)).max() < 0.06


def _probabilities(model):
    return model.components_ / model.components_.sum(axis=1, keepdims=True)


def test_seeds_types_and_lengths_of_documents():
    one, two = (make_topic_documents(20, 9, n_components=2, random_state=5) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        assert_array_equal(getattr(a, "toarray", a.copy)(), getattr(b, "toarray", b.copy)())
    X, shares, topics = one
    assert (X.dtype, X.shape, shares.shape, topics.shape) == (float, (20, 9), (20, 2), (2, 9))
    assert X.has_sorted_indices
    assert_allclose(shares.sum(axis=1), 1)
    assert_allclose(topics.sum(axis=1), 1)
    assert make_topic_documents(3, length=0)[0].nnz == 0
    model = LatentDirichletAllocation(2, max_iter=1, random_state=0).fit(X.astype(np.float32))
    drawn, parts = model.sample(3, length=[0, 1, 5])
    assert (drawn.dtype, parts.dtype) == (np.float32, np.float32)
    assert drawn.sum(axis=1).tolist() == [0, 1, 5]
    assert_array_equal(drawn.toarray(), model.sample(3, length=[0, 1, 5])[0].toarray())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1"),
        ({"length": -1}, "length must be finite and not negative"),
        ({"doc_topic_prior": 0}, "doc_topic_prior must be positive"),
        ({"doc_topic_prior": [1, 2]}, r"doc_topic_prior has shape \(2,\): give a number, or 5"),
        ({"topic_word_prior": np.inf}, "topic_word_prior must be positive"),
        ({"topics": [1.0, 2.0]}, r"topics must be a table.*\(2,\)"),
        ({"topics": [[1.0, 0], [0, 0]]}, "topic 1 has no word"),
    ],
)
def test_bad_arguments_of_the_generator_are_named(bad, message):
    with pytest.raises(ValueError, match=message):
        make_topic_documents(**bad)


def test_bad_arguments_of_samples_are_named():
    model = TopicMixture(1).fit(np.ones((3, 2)))
    for bad, message in [
        ({"n_samples": 0}, "n_samples=0: at least one document"),
        ({"length": 2.5}, "length=2.5: give one whole number"),
        ({"length": -3}, "length=-3"),
        ({"length": [1, 2]}, "one for each document"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.sample(**bad)
