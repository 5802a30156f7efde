"""Kernel perceptron: worked numbers of the notes, the explicit map, averages, budgets."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tenfold import KernelPerceptron, Perceptron
from tenfold.kernel import RBF, LinearKernel, PolynomialKernel, QuadraticKernel

LINE, LINE_LABELS = np.array([[-3.0], [2.0], [5.0]]), np.array([1, -1, 1])
XOR, XOR_LABELS = np.array([[2.0, 2], [-2, 2], [-2, -2], [2, -2]]), np.array([1, -1, 1, -1])
RNG = np.random.default_rng(6)


@pytest.mark.parametrize(
    ("X", "y", "kernel", "alpha", "epochs"),
    [
        (LINE, LINE_LABELS, QuadraticKernel(), [1, 13, 2], 14),
        (LINE, LINE_LABELS, PolynomialKernel(2), [1, 6, 1], 7),
        (LINE, LINE_LABELS, RBF(), [1, 1, 1], 2),
        (XOR, XOR_LABELS, QuadraticKernel(), [1, 1, 0, 0], 2),
        (XOR, XOR_LABELS, RBF(), [1, 1, 1, 1], 2),
    ],
)
def test_mistakes_of_the_notes(X, y, kernel, alpha, epochs):
    model = KernelPerceptron(kernel=kernel, shuffle=False).fit(X, y)
    assert model.mistake_counts_.tolist() == [alpha]
    assert (model.n_iter_, model.converged_) == (epochs, True)
    assert model.predict(X).tolist() == y.tolist()


def test_the_weights_of_the_notes():
    model = KernelPerceptron(kernel=QuadraticKernel(), shuffle=False).fit(LINE, LINE_LABELS)
    theta = model.dual_coef_[0] @ QuadraticKernel().feature_map(1)(model.support_vectors_)
    np.testing.assert_allclose(theta, [-19, 7])


def test_a_linear_kernel_never_ends_on_xor():
    with pytest.warns(ConvergenceWarning, match="for ever"):
        model = KernelPerceptron(kernel=LinearKernel(), max_iter=20).fit(XOR, XOR_LABELS)
    assert not model.converged_


@pytest.mark.parametrize("kernel", [QuadraticKernel(), PolynomialKernel(3, coef0=0.5)], ids=repr)
@pytest.mark.parametrize("average", [False, True])
def test_mistakes_are_those_of_the_explicit_map(kernel, average):
    X = np.round(RNG.normal(size=(700, 2)), 2)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 0] > 0.1, 1, -1)
    common = {"shuffle": False, "average": average, "max_iter": 3}
    phi = kernel.feature_map(2)
    with pytest.warns(ConvergenceWarning):
        ours = KernelPerceptron(kernel=kernel, **common).fit(X, y)
    plain = Perceptron(fit_intercept=False, tol=None, **common).fit(phi(X), y)
    assert ours.mistakes_ == plain.mistakes_
    assert ours.history_["objective"].tolist() == plain.history_["mistakes"].ravel().tolist()
    theta = ours.dual_coef_[0] @ phi(ours.support_vectors_)
    np.testing.assert_allclose(theta, plain.coef_[0], rtol=1e-9, atol=1e-12)


def test_rbf_separates_any_labels():
    X, y = RNG.normal(size=(120, 2)), RNG.integers(0, 3, 120)
    model = KernelPerceptron(kernel="rbf", gamma=20.0).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1.0
    assert model.decision_function(X).shape == (120, 3)
    assert model.mistake_counts_.shape == (3, 120)


def test_precomputed_values_and_weights():
    X, y = RNG.normal(size=(60, 2)), RNG.integers(0, 2, 60)
    K = RBF(0.2)(X)
    a = KernelPerceptron(kernel=RBF(0.2), max_iter=500).fit(X, y)
    b = KernelPerceptron(kernel="precomputed", max_iter=500).fit(K, y)
    assert np.array_equal(a.mistake_counts_, b.mistake_counts_)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(K), atol=1e-9)
    w = np.r_[np.zeros(30), np.ones(30)]
    part = KernelPerceptron(gamma=10.0, shuffle=False).fit(X, y, sample_weight=w)
    assert not part.mistake_counts_[:, :30].any()


def test_a_budget_limits_the_support_vectors():
    X = RNG.normal(size=(400, 2))
    y = (np.hypot(*X.T) > 1.1).astype(int)
    with pytest.warns(ConvergenceWarning):
        model = KernelPerceptron(gamma=1.0, budget=15, max_iter=5).fit(X, y)
    assert len(model.support_) <= 15
    assert model.score(X, y) > 0.7
    with pytest.raises(ValueError, match="budget=None"):
        KernelPerceptron(budget=3, average=True).fit(X, y)
