"""Numbers that the courses work out, or that follow from their settings.

The others stand with their models: `grep -rn "00[0-4]," tests` finds them.
"""

from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tenfold import (
    LinearRegression,
    MLPRegressor,
    PenalizedRegressor,
    PolynomialFeatures,
    is_linearly_separable,
    monomial_count,
)
from tenfold.cluster import image_bits
from tenfold.datasets import make_three_clouds
from tenfold.distributions import Gaussian
from tenfold.neural import Conv2d, Dense, layer_sizes
from tenfold.optim import gradient_descent
from tenfold.teaching import count_symmetries, m_step

X = np.array([[0.0, 1], [1, 1], [2, 1]])
Y = np.array([1.0, 2, 4])


def mean_squares(w):
    residuals = X @ w - Y
    return (residuals**2).mean(), 2 / 3 * X.T @ residuals


def test_one_step_of_least_squares():  # [002, 1.2], our figures
    step = gradient_descent(mean_squares, np.zeros(2), learning_rate=0.1, max_iter=1, tol=None)
    assert_allclose(step.x, [0.66667, 0.46667], atol=5e-6)
    end = gradient_descent(mean_squares, np.zeros(2), learning_rate=0.1, max_iter=5000, tol=1e-12)
    assert_allclose(end.x, [1.5, 5 / 6], rtol=1e-6)
    exact = LinearRegression(fit_intercept=False).fit(X, Y)
    assert_allclose(exact.coef_, [1.5, 5 / 6])
    by_descent = PenalizedRegressor(solver="gd", fit_intercept=False, penalty=None, tol=1e-9)
    assert_allclose(by_descent.fit(X, Y).coef_, [1.5, 5 / 6], rtol=1e-5)


@pytest.mark.parametrize(("d", "degree", "count"), [(2, 2, 5), (2, 3, 9), (10, 3, 285)])
def test_size_of_polynomial_features(d, degree, count):  # [003, lecture 6], the sum of its formula
    assert monomial_count(d, degree, include_bias=False) == count
    basis = PolynomialFeatures(degree, include_bias=False).fit(np.zeros((1, d)))
    assert basis.n_output_features_ == count


def test_dense_layers_of_images_are_too_large():  # [003, lecture 12]: 10^12 weights
    for side in (3, 10):
        (size,) = layer_sizes([Dense(side**2, bias=False)], (side**2,))
        assert size.parameters == side**4
    # with a side of 1000 that is 1000^4 = 10^12


def test_first_layer_of_96_filters():  # [003, lecture 12]: 11 x 11 x 3 on 224 x 224 x 3
    (size,) = layer_sizes([Conv2d(96, 11, stride=4)], (224, 224, 3))
    assert size.parameters == 34_848 + 96


def test_colours_of_24_bits():  # [003, lecture 13]
    size = image_bits(1024 * 1024, 32)
    assert (size.full, size.reduced) == (25_165_824, 5_243_648)
    assert size.full == 1024 * 1024 * np.log2(16_777_216)


def test_orders_of_ten_hidden_units():  # [001, 3.2]: 10! = 3,628,800
    rows = np.random.default_rng(0).normal(size=(30, 2))
    options = {"solver": "lbfgs", "max_iter": 5, "random_state": 0, "tol": 1e9}
    relu = MLPRegressor(hidden_layer_sizes=10, activation="relu", **options).fit(rows, rows[:, 0])
    assert count_symmetries(relu) == factorial(10) == 3_628_800
    tanh = MLPRegressor(hidden_layer_sizes=10, activation="tanh", **options).fit(rows, rows[:, 0])
    assert count_symmetries(tanh) == 3_628_800 * 2**10


def test_fractional_rows():  # [002, 8.4]: R = (0.8, 0.2) is 0.8 rows of one, 0.2 of the other
    rows = np.array([[0.0], [1.0], [4.0], [6.0]])
    shares = np.array([0.8, 0.8, 0.2, 0.2])
    found = m_step(rows, np.column_stack([shares, 1 - shares]))
    for j, w in enumerate((shares, 1 - shares)):
        alone = Gaussian().fit(rows, w)
        assert_allclose(found.means[j], alone.mean)
        assert_allclose(found.covariances[j], alone.covariance)
        assert_allclose(found.weights[j], w.mean())


def test_six_claims_about_two_hidden_units():
    """[003, lecture 8]; the fourth, that inward ReLUs fail, depends on the rows."""
    data, y = make_three_clouds(180, random_state=0)
    s = data.sum(axis=1)
    inwards = np.column_stack([2 + s, 2 - s])
    assert not is_linearly_separable(data, y)
    assert not is_linearly_separable(inwards, y)
    assert np.linalg.matrix_rank(inwards - inwards.mean(axis=0)) == 1  # all on a line
    for turned in (inwards, -inwards):
        assert is_linearly_separable(np.tanh(turned), y)
    outwards = np.maximum(-inwards, 0)
    assert is_linearly_separable(outwards, y)
    middle = outwards[y == y[np.abs(s).argmin()]]
    assert (middle == 0).all()
    rng = np.random.default_rng(0)

    def parted(units):
        W, b = rng.normal(size=(2, units)), rng.normal(size=units)
        return bool(is_linearly_separable(np.tanh(data @ W + b), y))

    assert sum(parted(2) for _ in range(10)) <= 4
    assert sum(parted(10) for _ in range(10)) >= 9
