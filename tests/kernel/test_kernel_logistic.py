"""Kernel logistic regression: the linear model, the explicit map, gradient descent by steps."""

import warnings
from itertools import islice

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import KernelLogisticRegression, LogisticRegression, kernel_logistic_steps
from tenfold.kernel import RBF, LinearKernel, PolynomialKernel
from tenfold.math.links import sigmoid

RNG = np.random.default_rng(7)
X = RNG.normal(size=(80, 3))
Y3 = RNG.integers(0, 3, 80)
Y2 = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=80) > 0, "yes", "no")
W = RNG.integers(0, 3, 80).astype(float)


@pytest.mark.parametrize("y", [Y2, Y3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_linear_kernel_is_logistic_regression(y, fit_intercept):
    common = {"C": 0.7, "fit_intercept": fit_intercept, "tol": 1e-10}
    ours = KernelLogisticRegression(kernel="linear", **common).fit(X, y, sample_weight=W)
    plain = LogisticRegression(**common).fit(X, y, sample_weight=W)
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(ours.dual_coef_ @ X, plain.coef_, atol=1e-5)


def test_a_polynomial_kernel_is_the_explicit_map():
    kernel = PolynomialKernel(2)
    ours = KernelLogisticRegression(kernel=kernel, tol=1e-10).fit(X, Y2)
    plain = LogisticRegression(tol=1e-10).fit(kernel.feature_map(3)(X), Y2)
    np.testing.assert_allclose(
        ours.predict_proba(X), plain.predict_proba(kernel.feature_map(3)(X)), atol=1e-6
    )


@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_gradient_descent_takes_the_same_steps_as_the_linear_model(penalty):
    y = np.where(Y2 == "yes", 1.0, -1.0)
    w, eta = np.zeros(3), 0.4
    for alpha in islice(kernel_logistic_steps(X @ X.T, y, eta, penalty), 30):
        slope = X.T @ (sigmoid(-y * (X @ w)) * y) / len(y)
        w = w + eta * (slope - 2 * penalty * w)
        np.testing.assert_allclose(X @ (X.T @ alpha), X @ w, atol=1e-12)
        if penalty == 0:
            assert (np.sign(alpha) == y).all()


def test_gradient_descent_ends_at_the_minimum():
    y, penalty = np.where(Y2 == "yes", 1.0, -1.0), 0.02
    K = RBF()(X)
    *_, alpha = islice(kernel_logistic_steps(K, y, 2.0, penalty), 3000)
    C = 1 / (2 * penalty * len(y))
    exact = KernelLogisticRegression(C, kernel="precomputed", fit_intercept=False, tol=1e-10)
    np.testing.assert_allclose(exact.fit(K, y).decision_function(K), K @ alpha, atol=1e-5)
    assert (exact.dual_coef_ != 0).all()


def test_optimality_conditions():
    model = KernelLogisticRegression(2.0, kernel=RBF(), tol=1e-10).fit(X, Y3)
    P = model.predict_proba(X)
    residual = (Y3[:, None] == np.arange(3)) - P
    np.testing.assert_allclose(model.dual_coef_.T, 2.0 * residual, atol=1e-4)
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-5)


def test_rings():
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.c_[np.cos(angle), np.sin(angle)]
    A, b = np.vstack([ring, 3 * ring]), np.repeat([0, 1], 40)
    assert KernelLogisticRegression(kernel="rbf", gamma=0.5).fit(A, b).score(A, b) == 1.0
    assert KernelLogisticRegression(kernel=LinearKernel()).fit(A, b).score(A, b) < 0.7


@pytest.mark.parametrize("name", ["KernelLogisticRegression", "NystroemLogisticRegression"])
def test_warnings_name_the_model_that_was_fitted(name):
    X, y = make_blobs(80, centers=3, random_state=0)
    model = getattr(tenfold, name)(max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match=f"^{name} did not converge") as found:
        model.fit(X, y)
    assert len(found) == 1
    assert not model.converged_


def test_landmarks_by_kmeans_do_not_warn():
    rows = np.random.default_rng(0).normal(size=(1500, 4))  # where 20 rounds are not enough
    model = tenfold.NystroemRidge(landmarks="kmeans", n_components=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(rows, rows[:, 0])
