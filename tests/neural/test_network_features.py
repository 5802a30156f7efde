"""Layers of trained networks as features."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from tenfold import LogisticRegression, MLPClassifier, NearestCentroid, Ridge
from tenfold.neural import NetworkFeatures


@pytest.fixture(scope="module")
def trained():
    X, y = load_digits(return_X_y=True)
    old = y < 6
    network = MLPClassifier((32,), max_iter=300, tol=1e-3, random_state=0)
    return X, y, network.fit(X[old] / 16, y[old])


def test_features_are_the_outputs_of_a_layer(trained):
    X, _, network = trained
    features = NetworkFeatures(network).fit(X / 16).transform(X[:5] / 16)
    hidden = np.maximum(X[:5] / 16 @ network.coefs_[0] + network.intercepts_[0], 0)
    np.testing.assert_allclose(features, hidden, atol=1e-5)
    last = NetworkFeatures(network, layer=-1).fit(X).transform(X[:5] / 16)
    np.testing.assert_allclose(last, hidden @ network.coefs_[1] + network.intercepts_[1], atol=1e-4)


def test_what_was_learned_from_some_classes_serves_others(trained):
    """Six digits were learned; the other four have five examples each."""
    X, y, network = trained
    few = np.concatenate([np.flatnonzero(y == c)[:5] for c in range(6, 10)])
    rest = np.setdiff1d(np.flatnonzero(y >= 6), few)
    model = make_pipeline(NetworkFeatures(network), NearestCentroid()).fit(X[few] / 16, y[few])
    assert model.score(X[rest] / 16, y[rest]) > 0.75


def test_a_network_that_is_not_fitted_learns_with_the_model():
    X, y = load_digits(return_X_y=True)
    network = MLPClassifier((16,), max_iter=300, tol=1e-2, random_state=0)
    model = make_pipeline(NetworkFeatures(network), LogisticRegression(max_iter=500))
    assert model.fit(X[:500] / 16, y[:500]).score(X[:500] / 16, y[:500]) > 0.8
    assert not hasattr(network, "params_")


def test_bad_requests_are_explained(trained):
    X, y, network = trained
    with pytest.raises(ValueError, match="layer=-9, and the network has"):
        NetworkFeatures(network, layer=-9).fit(X)
    with pytest.raises(TypeError, match="Ridge is no network"):
        NetworkFeatures(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="the network is not fitted"):
        NetworkFeatures(MLPClassifier()).fit(X)
