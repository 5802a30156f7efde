"""Nearest centroid against scikit-learn, brute force and its own parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import neighbors

import tenfold
from tenfold import NearestCentroid


def table(n=300, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    return rng.normal(size=(n, 4)) * [1, 2, 0.1, 5] + y[:, None] * [1, 0, 0.1, 2], y


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("threshold", [None, 0.1, 0.5, 2.0, 50.0])
def test_is_scikit_learns(threshold, shift):
    X, y = table()
    X += shift
    ours = NearestCentroid(shrink_threshold=threshold).fit(X, y)
    theirs = neighbors.NearestCentroid(shrink_threshold=threshold).fit(X, y)
    assert_allclose(ours.centroids_, theirs.centroids_, rtol=1e-12, atol=1e-12)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_is_the_class_of_the_least_distance():
    X, y = table()
    model = NearestCentroid().fit(X, y)
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    assert_allclose(model.centroids_, means)
    assert_array_equal(model.predict(X), ((X[:, None] - means) ** 2).sum(axis=2).argmin(axis=1))


def test_a_strong_pull_joins_all_classes():
    X, y = table()
    model = NearestCentroid(shrink_threshold=1e3).fit(X, y)
    assert_allclose(model.centroids_, np.broadcast_to(X.mean(axis=0), (3, 4)))
    assert set(model.predict(X)) == {0}  # the first on a tie


def test_a_tie_goes_to_the_first_class():
    assert NearestCentroid().fit([[0.0], [2.0]], ["b", "a"]).predict([[1.0]]).tolist() == ["a"]


@pytest.mark.parametrize("threshold", [None, 0.3])
@pytest.mark.parametrize("cuts", [[150], [7, 200], range(3, 300, 11)])
def test_parts_make_the_whole(threshold, cuts):
    X, y = table()
    w = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    whole = NearestCentroid(shrink_threshold=threshold).fit(X, y, w)
    learner = NearestCentroid(shrink_threshold=threshold)
    for part in np.split(np.arange(300), cuts):
        learner.partial_fit(X[part], y[part], [0, 1, 2], w[part])
    assert_allclose(learner.centroids_, whole.centroids_, atol=1e-12)
    repeated = np.repeat(np.arange(300), w.astype(int))
    again = NearestCentroid(shrink_threshold=threshold).fit(X[repeated], y[repeated])
    assert_allclose(again.centroids_, whole.centroids_, atol=1e-12)


def test_models_of_other_labels_merge():
    X, y = table()
    low, high = y < 2, y > 0
    merged = tenfold.merge(
        NearestCentroid().fit(X[low], y[low]), NearestCentroid().fit(X[high], y[high])
    )
    rows = np.append(np.flatnonzero(low), np.flatnonzero(high))
    whole = NearestCentroid().fit(X[rows], y[rows])
    assert_array_equal(merged.classes_, [0, 1, 2])
    assert_allclose(merged.centroids_, whole.centroids_, atol=1e-12)


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_a_class_without_rows_is_never_predicted(threshold):
    X, y = table()
    seen = y > 0
    model = NearestCentroid(shrink_threshold=threshold)
    model.partial_fit(X[seen], y[seen], [0, 1, 2])
    only = NearestCentroid(shrink_threshold=threshold).fit(X[seen], y[seen])
    assert_allclose(model.centroids_[1:], only.centroids_)
    assert_array_equal(model.predict(X), only.predict(X))
    assert set(model.predict(np.zeros((1, 4)))) <= {1, 2}
    weightless = NearestCentroid(shrink_threshold=threshold).fit(X, y, seen.astype(float))
    assert_array_equal(weightless.predict(X), only.predict(X))


def test_constant_columns_and_single_rows():
    X, y = table()
    X[:, 1] = 0.1
    model = NearestCentroid(shrink_threshold=0.5).fit(X, y)
    assert_allclose(model.centroids_[:, 1], 0.1)
    with pytest.raises(ValueError, match="2 classes"):
        NearestCentroid().fit(X, 0 * y)


@pytest.mark.parametrize("shift", [0, 1e4])
def test_float32_far_from_zero(shift):
    X, y = table()
    X = (X + shift).astype(np.float32)
    model = NearestCentroid().fit(X, y)
    assert model.centroids_.dtype == np.float32
    true = ((X[:, None].astype(float) - model.centroids_) ** 2).sum(axis=2)
    chosen = true[np.arange(300), model.predict(X)]
    assert_allclose(chosen, true.min(axis=1), rtol=1e-4)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"metric": "manhattan"},
        {"metric": "manhattan", "shrink_threshold": 0.3},
        {"shrink_threshold": 0.5},
        {"priors": [0.6, 0.3, 0.1]},
        {"priors": "empirical"},
        {"metric": "manhattan", "priors": [0.6, 0.3, 0.1]},
    ],
)
def test_metrics_priors_and_probabilities_are_scikit_learns(params, make):
    X, y = table()
    theirs = neighbors.NearestCentroid(**params).fit(X, y)
    ours = NearestCentroid(**params).fit(make(X), y)
    for name in ("centroids_", "deviations_", "within_class_std_dev_", "class_prior_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-9)
    assert_array_equal(ours.predict(make(X)), theirs.predict(X))
    assert hasattr(ours, "predict_proba") == hasattr(theirs, "predict_proba")
    if hasattr(theirs, "predict_proba"):
        for method in ("predict_proba", "predict_log_proba", "decision_function"):
            assert_allclose(getattr(ours, method)(make(X)), getattr(theirs, method)(X), atol=1e-7)


def test_a_weight_of_two_is_a_row_twice_for_medians():
    X, y = table(60)
    w = np.arange(60) % 4
    weighted = NearestCentroid("manhattan").fit(X, y, w)
    repeated = NearestCentroid("manhattan").fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.centroids_, repeated.centroids_)


def test_medians_do_not_merge_and_priors_are_checked():
    X, y = table()
    with pytest.raises(ValueError, match="medians do not merge"):
        NearestCentroid("manhattan").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="non-negative"):
        NearestCentroid(priors=[-1.0, 1.0, 1.0]).fit(X, y)
    with pytest.raises(ValueError, match="3 classes"):
        NearestCentroid(priors=[0.5, 0.5]).fit(X, y)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        assert_allclose(NearestCentroid(priors=[2.0, 1.0, 1.0]).fit(X, y).class_prior_[0], 0.5)
