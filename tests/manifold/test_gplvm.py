"""GPLVM: gradients, the linear case, curves, new rows, back constraints."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits

import tenfold
from tenfold import GPLVM, PCA, NearestNeighbors
from tenfold.kernel import (
    RBF,
    ConstantKernel,
    CosineKernel,
    DotProduct,
    ExpSineSquared,
    LinearKernel,
    Matern,
    PolynomialKernel,
    QuadraticKernel,
    RationalQuadratic,
    WhiteKernel,
)
from tenfold.kernel._input_gradients import input_gradient
from tenfold.manifold.gplvm import LatentData, log_posterior

KERNELS = [
    RBF(0.8),
    RBF([0.8, 1.7]),
    Matern(1.2, nu=0.5),
    Matern([1.2, 0.7], nu=1.5),
    Matern(1.2, nu=2.5),
    Matern(1.2, nu=1.1),
    RationalQuadratic(1.1, 0.7),
    ExpSineSquared(1.3, 2.1),
    LinearKernel(),
    DotProduct(0.6),
    QuadraticKernel(),
    PolynomialKernel(degree=3, gamma=0.4, coef0=1.0),
    2.0 * RBF(0.7) + DotProduct(0.3) * Matern(1.0) + WhiteKernel(0.1),
    (RBF(1.0) + 0.5) ** 2,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_derivatives_by_the_rows_are_differences(kernel):
    rng = np.random.default_rng(0)
    X, Z, W = rng.normal(size=(5, 2)), rng.normal(size=(7, 2)), rng.normal(size=(5, 7))
    slope = input_gradient(kernel, X, Z, W)
    for i in range(5):
        for d in range(2):
            step = np.zeros_like(X)
            step[i, d] = 1e-6
            change = (W * (kernel(X + step, Z) - kernel(X - step, Z))).sum()
            assert_allclose(change / 2e-6, slope[i, d], rtol=1e-5, atol=1e-7)


def test_kernels_without_derivatives_by_rows_are_named():
    with pytest.raises(ValueError, match="CosineKernel has no derivatives by the rows"):
        input_gradient(CosineKernel(), np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1)))


@pytest.mark.parametrize("precision", [0.0, 1.0])
def test_the_gradient_of_the_posterior_is_its_derivative(precision):
    rng = np.random.default_rng(1)
    kernel = 1.5 * RBF(0.9) + WhiteKernel(0.2)
    data = LatentData(rng.normal(size=(9, 4)), 1e-8, precision)
    Z = rng.normal(size=(9, 2))
    value, by_points, by_theta = log_posterior(kernel, Z, data)
    density = sum(
        multivariate_normal(np.zeros(9), kernel(Z) + 1e-8 * np.eye(9)).logpdf(y) for y in data.Y.T
    )
    assert_allclose(value, density - precision / 2 * (Z**2).sum())
    step = np.zeros_like(Z)
    step[4, 1] = 1e-6
    change = log_posterior(kernel, Z + step, data)[0] - log_posterior(kernel, Z - step, data)[0]
    assert_allclose(change / 2e-6, by_points[4, 1], rtol=1e-5)
    for k in range(3):
        theta = kernel.theta
        theta[k] += 1e-6
        up = log_posterior(kernel.clone_with_theta(theta), Z, data)[0]
        theta[k] -= 2e-6
        down = log_posterior(kernel.clone_with_theta(theta), Z, data)[0]
        assert_allclose((up - down) / 2e-6, by_theta[k], rtol=1e-4, atol=1e-6)


def test_a_linear_kernel_is_pca():
    """Dual probabilistic PCA: the span of the scores, and its likelihood in closed form."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) @ np.diag([4, 3, 1, 0.8, 0.6, 0.5])
    model = GPLVM(
        2,
        kernel=LinearKernel() + WhiteKernel(0.5),
        prior_precision=0.0,
        tol=1e-14,
        max_iter=3000,
        init="random",
        random_state=0,
    ).fit(X)
    scores = PCA(2).fit_transform(X)
    Q = np.linalg.qr(model.embedding_ - model.embedding_.mean(axis=0))[0]
    rest = scores - Q @ (Q.T @ scores)
    assert np.abs(rest).max() < 1e-2
    # covariance of a column: S = XX'/p has n eigenvalues; noise is the mean of those left out
    Y = X - X.mean(axis=0)
    n, p = Y.shape
    values = np.linalg.eigvalsh(Y @ Y.T / p)[::-1]
    noise = values[2:].mean()
    best = -p / 2 * (np.log(values[:2]).sum() + (n - 2) * np.log(noise) + n + n * np.log(2 * np.pi))
    assert_allclose(model.log_likelihood_, best, rtol=1e-5)
    assert model.log_likelihood_ <= best + 1e-6 * abs(best)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    keep = np.flatnonzero(np.isin(y, [0, 1, 6]))[:120]
    return X[keep], y[keep]


def agreement(Z, y):
    nearest = NearestNeighbors(n_neighbors=1).fit(Z).kneighbors()[1][:, 0]
    return (y[nearest] == y).mean()


def test_digits_are_told_apart_better_than_by_pca(digits):
    X, y = digits
    model = GPLVM(2, max_iter=3000, tol=1e-6).fit(X)
    assert agreement(model.embedding_, y) > 0.96
    assert (
        model.log_likelihood_
        > GPLVM(2, kernel=LinearKernel() + WhiteKernel(0.5), max_iter=3000).fit(X).log_likelihood_
    )
    rows, deviation = model.inverse_transform(model.embedding_, return_std=True)
    assert np.abs(rows - X).mean() < np.abs(X - X.mean(axis=0)).mean() / 2
    assert (deviation > 0).all()
    far = model.inverse_transform(np.full((1, 2), 50.0), return_std=True)
    assert_allclose(far[0][0], X.mean(axis=0), atol=1e-6)  # where nothing is known: the mean
    assert far[1] > deviation.max()


def test_new_rows_are_placed_beside_their_like(digits):
    X, y = digits
    model = GPLVM(2, max_iter=3000, tol=1e-6).fit(X[:80])
    Z = model.transform(X[80:110])
    nearest = NearestNeighbors(n_neighbors=1).fit(model.embedding_).kneighbors(Z)[1][:, 0]
    assert (y[:80][nearest] == y[80:110]).mean() > 0.9
    assert_array_equal(model.transform(X[:5]), model.embedding_[:5])
    with tenfold.threads(1):
        assert_array_equal(model.transform(X[80:90]), Z[:10])


def test_a_back_constraint_is_a_function_of_the_rows(digits):
    X, _ = digits
    model = GPLVM(2, max_iter=3000, back_constraint=True, tol=1e-6).fit(X)
    assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    near = model.transform(X[:5] + 1e-4)
    assert np.abs(near - model.embedding_[:5]).max() < 1e-2


def test_a_periodic_kernel_closes_a_circle():
    t = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    X = np.c_[np.cos(t), np.sin(t), np.cos(2 * t)]
    kernel = ConstantKernel(1.0) * ExpSineSquared(1.0, 6.0) + WhiteKernel(0.01)
    start = (t + 0.05 * np.random.default_rng(0).normal(size=40))[:, None] - np.pi
    model = GPLVM(1, kernel=kernel, init=start, prior_precision=0.0, max_iter=3000, tol=1e-6).fit(X)
    assert model.log_likelihood_ > GPLVM(1, max_iter=3000, tol=1e-6).fit(X).log_likelihood_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 9}, "init='random'"),
        ({"init": np.zeros((3, 2))}, "init has shape"),
        ({"kernel": CosineKernel() + WhiteKernel()}, "no derivatives"),
    ],
)
def test_what_does_not_fit_is_refused(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        GPLVM(**params).fit(np.random.default_rng(0).normal(size=(10, 4)))
