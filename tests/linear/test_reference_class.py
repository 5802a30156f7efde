"""Coefficients relative to a reference class: its likelihood by brute force, and log-odds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax

from tenfold import LogisticRegression, PenalizedClassifier, relative_coefficients

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = np.array(["a", "b", "c"])[np.argmax(X @ RNG.normal(size=(2, 3)) + RNG.gumbel(size=(120, 3)), 1)]


@pytest.mark.parametrize("reference", ["a", "b", "c"])
def test_they_maximize_the_likelihood_with_a_reference_class(reference):
    classes = [label for label in "abc" if label != reference]
    column = np.array([0 if label == reference else 1 + classes.index(label) for label in Y])

    def loss(theta):
        W = theta.reshape(2, 3)
        scores = np.column_stack([np.zeros(len(X)), X @ W[:, :2].T + W[:, 2]])
        return -log_softmax(scores, axis=1)[np.arange(len(X)), column].sum()

    exact = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-8}).x.reshape(2, 3)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, Y)
    found = relative_coefficients(model, reference)
    assert found.classes.tolist() == classes
    assert_allclose(found.coef, exact[:, :2], atol=1e-4)
    assert_allclose(found.intercept, exact[:, 2], atol=1e-4)


@pytest.mark.parametrize("model", [LogisticRegression(), PenalizedClassifier("softmax")])
def test_they_are_the_log_odds_of_the_model(model):
    Z = model.fit(X, Y).decision_function(X)
    found = relative_coefficients(model, "b")
    assert_allclose(X @ found.coef.T + found.intercept, Z[:, [0, 2]] - Z[:, [1]], atol=1e-8)


def test_two_classes_change_sign_with_the_reference():
    model = LogisticRegression().fit(X, Y == "a")
    assert_allclose(relative_coefficients(model, False).coef, model.coef_)
    assert_allclose(relative_coefficients(model, True).coef, -model.coef_)
    with pytest.raises(ValueError, match="none of the classes"):
        relative_coefficients(model, "z")
    model.classes_ = np.array(["a", "b", "c"])
    with pytest.raises(TypeError, match="1 rows of coefficients for 3 classes"):
        relative_coefficients(model, "a")
