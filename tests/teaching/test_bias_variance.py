"""Noise, bias and variance: an identity, closed forms, and what the notes claim of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures

from tenfold import LinearRegression
from tenfold.datasets import make_sine
from tenfold.teaching.learning_theory.bias_variance_decomposition import (
    NoisyCurve,
    approximation_and_estimation_error,
    bias_variance,
    complexity_curve,
)

SINE = NoisyCurve(lambda x: np.sin(2 * np.pi * x), noise=0.35)


def polynomial(degree):
    return make_pipeline(PolynomialFeatures(degree), LinearRegression())


class PlainRidge(RegressorMixin, BaseEstimator):
    """(X'X + alpha I)^-1 X'y, and nothing else: thousands of fits a second."""

    def __init__(self, alpha):
        self.alpha = alpha

    def fit(self, X, y):
        self.coef_ = np.linalg.solve(X.T @ X + self.alpha * np.eye(X.shape[1]), X.T @ y)
        return self

    def predict(self, X):
        return X @ self.coef_


class FixedDesign:
    """The same X every time, and fresh noise."""

    def __init__(self, X, w, sigma):
        self.X, self.w, self.sigma = X, w, sigma

    def truth(self, X):
        return X @ self.w

    def __call__(self, n, rng):
        return self.X, self.X @ self.w + self.sigma * rng.normal(size=len(self.X))


@settings(max_examples=15)
@given(st.integers(0, 9), st.integers(5, 30), st.integers(2, 20), st.integers(0, 100))
def test_parts_add_up_to_the_expected_error_at_every_point(degree, n, repeats, seed):
    """[004, 2-24] An identity, on any simulated sample."""
    found = bias_variance(polynomial(degree), SINE, n=n, repeats=repeats, seed=seed)
    parts = found.noise + found.bias2 + found.variance
    assert_allclose(parts, found.error, rtol=1e-9)
    average = found.average
    assert_allclose(average.noise + average.bias2 + average.variance, average.error, rtol=1e-9)
    assert found.fits.shape == (repeats, 200)


def test_the_expected_error_is_that_of_fresh_targets():
    x = np.linspace(0.05, 0.95, 10)[:, None]
    found = bias_variance(polynomial(3), SINE, n=30, repeats=500, x=x)
    y = SINE.truth(x) + 0.35 * np.random.default_rng(0).normal(size=(500, 10))
    squares = (y - found.fits) ** 2
    assert_allclose(squares.mean(axis=0), found.error, atol=4 * squares.std() / np.sqrt(500))


@pytest.mark.parametrize("n", [5, 40])
def test_the_mean_has_variance_sigma2_over_n(n):
    flat = NoisyCurve(lambda x: 0 * x + 7, noise=2.0)
    found = bias_variance(DummyRegressor(), flat, n=n, repeats=2000).average
    assert found.noise == 4
    assert_allclose(found.variance, 4 / n, rtol=0.13)  # a chi-square: relative error 3.2 %
    assert found.bias2 < 16 * 4 / n / 2000
    assert_allclose(found.training, 4 * (n - 1) / n, rtol=0.05)


def test_ridge_on_a_fixed_design_has_its_closed_form():
    """Bias x'(A X'X - I)w and variance sigma^2 x'A X'X A x, with A = (X'X + alpha I)^-1."""
    rng = np.random.default_rng(0)
    X, w, sigma, alpha = rng.normal(size=(30, 4)), np.array([1.0, -2, 0.5, 3]), 0.7, 5.0
    x = rng.normal(size=(6, 4))
    design = FixedDesign(X, w, sigma)
    model = PlainRidge(alpha)
    found = bias_variance(model, design, noise=sigma**2, repeats=4000, x=x)
    G = X.T @ X
    A = np.linalg.inv(G + alpha * np.eye(4))
    bias = x @ (A @ G - np.eye(4)) @ w
    variance = sigma**2 * np.einsum("ij,jk,ik->i", x, A @ G @ A, x)
    assert_allclose(found.mean_fit - found.truth, bias, atol=5 * np.sqrt(variance.max() / 4000))
    assert_allclose(found.variance, variance, rtol=0.12)


def test_least_squares_on_its_own_rows_has_variance_p_over_n():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(40, 6)), rng.normal(size=6)
    design = FixedDesign(X, w, 1.0)
    found = bias_variance(PlainRidge(0.0), design, noise=1.0, repeats=2000, x=X).average
    assert_allclose(found.variance, 6 / 40, rtol=0.05)
    assert_allclose(found.training, 1 - 6 / 40, rtol=0.05)
    assert found.bias2 < 1e-3


@pytest.mark.parametrize("k", [1, 5])
def test_neighbours_on_a_fixed_design_have_variance_sigma2_over_k(k):
    design = FixedDesign(np.arange(20.0)[:, None], np.array([0.3]), 1.0)
    x = np.array([[3.2], [9.1], [14.9]])
    found = bias_variance(KNeighborsRegressor(k), design, noise=1.0, repeats=500, x=x)
    assert_allclose(found.variance, 1 / k, rtol=0.25)


def test_noise_is_estimated_if_nobody_tells_it_and_may_depend_on_x():
    def draw(n, rng):
        return make_sine(n, noise=0.35, random_state=rng)

    found = bias_variance(polynomial(3), draw, truth=SINE.truth, n=20, repeats=3)
    assert_allclose(found.noise, 0.35**2, rtol=0.05)
    told = bias_variance(polynomial(3), draw, truth=SINE.truth, noise=lambda X: X[:, 0], repeats=2)
    assert_array_equal(told.noise, told.x[:, 0])
    with pytest.raises(ValueError, match="give truth="):
        bias_variance(polynomial(3), draw)
    with pytest.raises(TypeError, match="classifier"):
        bias_variance(LogisticRegression(), SINE)


def test_flexibility_lowers_bias_and_raises_variance():
    """[002, E37; 004, 2-24] And their sum is a U; training error only falls.

    Stiff models can vary a little more than the next ones, if x is drawn: what they miss depends on
    where the points lie. On fixed points variance is sigma^2 p / n, and rises with every column.
    """
    degrees = [0, 1, 3, 5, 8]
    found = complexity_curve({d: polynomial(d) for d in degrees}, SINE, n=30, repeats=100)
    assert found.variance[4] > 3 * found.variance[3] > 6 * found.variance[2]
    assert found.bias2[0] > found.bias2[1] > 10 * found.bias2[2]
    assert (np.diff(found.training) < 0).all()
    assert found.best == 3
    assert found.error[0] > found.error[2] < found.error[-1]
    assert (found.error > found.noise).all()


def test_on_fixed_points_variance_rises_with_every_column():
    x = np.linspace(-1, 1, 25)
    fixed = FixedDesign(np.vander(x, 8, increasing=True), np.r_[0, 1, 0, -2, np.zeros(4)], 1.0)

    def first(columns):
        return make_pipeline(FunctionTransformer(lambda X: X[:, :columns]), PlainRidge(0.0))

    models = {p: first(p) for p in range(1, 9)}
    found = complexity_curve(models, fixed, noise=1.0, x=fixed.X, repeats=400)
    assert_allclose(found.variance, np.arange(1, 9) / 25, rtol=0.25)
    assert (np.diff(found.variance) > 0).all()
    assert (np.diff(found.bias2[:4]) < 1e-3).all()
    assert (found.bias2[4:] < 1e-2).all()  # from a cubic on there is none


def test_variance_falls_with_more_rows_and_bias_stays():
    few, many = (bias_variance(polynomial(1), SINE, n=n, repeats=200).average for n in (20, 320))
    assert few.variance > 8 * many.variance
    assert_allclose(few.bias2, many.bias2, rtol=0.15)


def test_models_are_compared_on_the_same_training_sets():
    seen = []

    def draw(n, rng):
        X, y = SINE(n, rng)
        seen.append(y.sum())
        return X, y

    complexity_curve({1: polynomial(1), 2: polynomial(2)}, draw, truth=SINE.truth, noise=0.1,
                      n=10, repeats=4)  # fmt: skip
    assert seen[:5] == seen[5:]


def test_structural_error_is_that_of_the_best_line():
    """[003, A052] The best line of the sine is 3/pi - 6x/pi; what is left is 1/2 - 3/pi^2."""
    x = (np.arange(1000)[:, None] + 0.5) / 1000
    options = {"repeats": 150, "x": x}
    line = approximation_and_estimation_error(polynomial(1), SINE, n=30, **options)
    assert_allclose(line.structural, 0.5 - 3 / np.pi**2, rtol=0.02)
    cubic = approximation_and_estimation_error(polynomial(3), SINE, n=30, **options)
    assert cubic.structural < 0.03 * line.structural
    quintic = approximation_and_estimation_error(polynomial(5), SINE, n=30, **options)
    assert quintic.structural < cubic.structural / 10
    assert quintic.estimation > 2 * cubic.estimation > 0
    more = approximation_and_estimation_error(polynomial(3), SINE, n=300, **options)
    assert_allclose(more.structural, cubic.structural, rtol=1e-6)
    assert more.estimation < cubic.estimation / 7


def test_excess_error_is_the_same_whichever_way_it_is_split():
    found = bias_variance(polynomial(2), SINE, n=25, repeats=50).average
    other = approximation_and_estimation_error(polynomial(2), SINE, n=25, repeats=50)
    assert_allclose(sum(other), found.bias2 + found.variance, rtol=1e-9)
