"""What the examples of neighbors and kernels show, in numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tenfold import (
    KernelLogisticRegression,
    KernelPerceptron,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LogisticRegression,
    NadarayaWatsonRegressor,
)
from tenfold.datasets import make_noisy_xor, make_rings
from tenfold.kernel import RBF, PolynomialKernel, explicit_features, gram_matrix, rbf_series


def two_groups_with_a_wrong_label():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-3, 0.5, (30, 2)), rng.normal(3, 0.5, (20, 2))])
    y = np.repeat([0, 1], [30, 20])
    y[0] = 1  # a lone wrong label
    return X, y


def test_more_than_two_neighbors_outvote_a_wrong_label_and_all_of_them_know_one_class():
    X, y = two_groups_with_a_wrong_label()
    near = X[:1] + 1e-3
    assert KNeighborsClassifier(1).fit(X, y).predict(near)[0] == 1
    for k in (3, 5, 15):
        assert KNeighborsClassifier(k).fit(X, y).predict(near)[0] == 0
    assert KNeighborsClassifier(1).fit(X, y).score(X, y) == 1
    everyone = KNeighborsClassifier(50).fit(X, y)
    assert_array_equal(everyone.predict(X), np.zeros(50))
    assert_allclose(everyone.predict_proba(X), np.tile([29 / 50, 21 / 50], (50, 1)))


def test_both_ends_of_smoothing():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 10, (40, 1)), rng.normal(size=40)
    grid = rng.uniform(0, 10, (100, 1))
    nearest = KNeighborsRegressor(1).fit(x, y).predict(grid)
    narrow = NadarayaWatsonRegressor(bandwidth=1e-7).fit(x, y).predict(grid)
    assert_allclose(narrow, nearest)
    wide = NadarayaWatsonRegressor(bandwidth=1e9).fit(x, y).predict(grid)
    assert_allclose(wide, y.mean())
    assert_allclose(KNeighborsRegressor(40).fit(x, y).predict(grid), y.mean())


@pytest.mark.parametrize("data", [make_rings, make_noisy_xor])
def test_kernels_separate_what_no_line_does(data):
    X, y = data(200, noise=0.1, random_state=0)
    assert LogisticRegression().fit(X, y).score(X, y) < 0.7
    assert KernelLogisticRegression(C=10.0, gamma=1.0).fit(X, y).score(X, y) > 0.99
    perceptron = KernelPerceptron(gamma=1.0, max_iter=300).fit(X, y)
    assert perceptron.converged_
    assert perceptron.score(X, y) == 1


def test_with_a_large_gamma_every_row_stands_alone():
    X, y = make_rings(120, random_state=0)
    islands = KernelPerceptron(gamma=1e9, max_iter=50).fit(X, y)
    assert_array_equal(islands.mistake_counts_, np.ones((1, 120)))
    assert islands.n_iter_ == 2
    X_new, y_new = make_rings(500, random_state=1)
    broad = KernelLogisticRegression(C=10.0, gamma=1.0).fit(X, y).score(X_new, y_new)
    narrow = KernelLogisticRegression(C=10.0, gamma=1e5).fit(X, y).score(X_new, y_new)
    assert broad > 0.97
    assert narrow < 0.6


def test_kernel_and_explicit_features_solve_the_same_ridge():
    """Dual (n x n) and primal (d^q x d^q) predictions, of which the example compares the times."""
    rng = np.random.default_rng(2)
    X, y, new = rng.normal(size=(60, 4)), rng.normal(size=60), rng.normal(size=(10, 4))
    kernel = PolynomialKernel(3)
    dual = kernel(new, X) @ np.linalg.solve(gram_matrix(X, kernel) + np.eye(60), y)
    phi = explicit_features(kernel, 4)
    P = phi(X)
    primal = phi(new) @ np.linalg.solve(P.T @ P + np.eye(P.shape[1]), P.T @ y)
    assert_allclose(primal, dual, rtol=1e-8)


def test_the_series_of_rbf_converges_faster_than_any_power():
    X = np.random.default_rng(3).uniform(-1, 1, (30, 2))
    exact = RBF(1.0)(X, X)
    errors = [
        np.abs((p := rbf_series(RBF(1.0), 2, m)(X)) @ p.T - exact).max() for m in range(1, 14)
    ]
    ratios = np.array(errors[1:]) / errors[:-1]
    assert (np.diff(ratios[2:]) < 0.02).all()
    assert errors[-1] < 1e-7
