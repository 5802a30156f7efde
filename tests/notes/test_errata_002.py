"""Course 002: formulas that are printed wrong, the right ones that run here, and where they part.

`docs/guide/errata.md` lists them.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from tenfold import GaussianRegression, KMeans, LinearRegression, Ridge, gaussian_log_likelihood
from tenfold.math.links import softmax
from tenfold.math.losses import HingeLoss
from tenfold.optim import gradient_descent, subgradient_descent
from tenfold.teaching import autodiff, convex_calculus, convexity_violation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = X @ [1.0, -1.0] + 0.5 * RNG.normal(size=30)


def test_1_2_loss_compares_each_row_with_its_own_target():
    """(1.2) prints y without an index; the gradient is taken at the current point (2.10)."""
    w = np.array([0.3, 0.2])
    gradient = autodiff.grad(lambda w: np.mean((X @ w - Y) ** 2))(w)
    assert_allclose(gradient, 2 / 30 * X.T @ (X @ w - Y))
    assert np.abs(gradient - 2 / 30 * X.T @ (X @ w - Y[0])).max() > 0.1
    assert np.abs(gradient - 2 / 30 * X.T @ (0 - Y)).max() > 0.1  # at another point


def test_1_5_exponent_has_the_variance():
    """1 / (2 sigma^2), not 1 / (2 sigma): the density then has mass one."""
    model = GaussianRegression().fit(X, Y)
    residuals, sigma = Y - model.predict(X), np.sqrt(model.noise_variance_)
    right = norm.logpdf(residuals, 0, sigma).sum()
    assert_allclose(gaussian_log_likelihood((residuals**2).sum(), 30, sigma), right)
    printed = -30 * np.log(sigma * np.sqrt(2 * np.pi)) - (residuals**2).sum() / (2 * sigma)
    assert abs(printed - right) > 1


def test_1_4_affine_maps_shift_by_minus_b_over_a():
    """f(ax + b) is f scaled by 1/a and shifted by -b/a; it stays convex, for a below zero too."""
    a, b = -4.0, 2.0
    x = np.linspace(-3, 3, 6001)
    assert_allclose(x[((a * x + b) ** 2).argmin()], -b / a, atol=1e-3)
    square = convex_calculus.univariate(np.square, lambda u: 2 + 0 * u, "square")
    composed, box = square.of(a, b), (np.array([-3.0]), np.array([3.0]))
    assert composed.proof
    assert convexity_violation(lambda v: float((a * v[0] + b) ** 2), box) is None


def test_2_3_softmax_example_to_more_digits():
    """exp(-3) is 0.0498, printed 0.1: the third probability is .0049, not .01."""
    found = softmax(np.array([2.0, 1.0, -3.0]))
    assert_allclose(found, [0.7275, 0.2676, 0.0049], atol=5e-5)
    assert_allclose([7.4 / 10.2, 2.7 / 10.2], [0.7255, 0.2647], atol=5e-5)  # printed .72 and .27


def test_3_4_log_likelihood_is_subtracted():
    """-log P(w | D) = |w|^2 / (2 sigma^2) - log P(D | w): a plus would look for the worst fit."""
    alpha = 2.0
    ridge = Ridge(alpha=alpha, fit_intercept=False).fit(X, Y).coef_

    def minus_log_posterior(w, sign=1.0):  # noise of variance 1/2, prior of variance 1 / (2 alpha)
        return alpha * w @ w + sign * ((X @ w - Y) ** 2).sum()

    for other in ridge + 0.1 * RNG.normal(size=(20, 2)):
        assert minus_log_posterior(other) > minus_log_posterior(ridge)
    far = 100 * ridge
    assert minus_log_posterior(far, -1.0) < minus_log_posterior(ridge, -1.0)  # unbounded below


def test_4_2_fewer_rows_than_columns_need_not_fit_exactly():
    """Zero loss needs independent rows: equal rows with different targets cannot be fitted."""
    wide = RNG.normal(size=(4, 6))
    exact = LinearRegression(fit_intercept=False).fit(wide, [1.0, 2, 3, 4])
    assert_allclose(exact.predict(wide), [1, 2, 3, 4], atol=1e-9)
    wide[1] = wide[0]
    model = LinearRegression(fit_intercept=False).fit(wide, [1.0, 2, 3, 4])
    assert_allclose(model.predict(wide), [1.5, 1.5, 3, 4], atol=1e-9)


def test_6_3_gradient_descent_does_not_settle_on_the_hinge():
    """The hinge has no slope at its corner: a constant rate goes to and fro for ever."""
    x, y = np.array([1.0, -1.0]), np.array([1.0, -1.0])
    hinge, alpha = HingeLoss(), 0.1

    def objective(w):
        z = w[0] * x
        slope = (hinge.gradient(z, y) * x).mean() + alpha * w[0]
        return hinge.value(z, y).mean() + alpha * w[0] ** 2 / 2, np.array([slope])

    rate = 0.7
    path = gradient_descent(
        objective, np.zeros(1), learning_rate=rate, max_iter=200, tol=None, keep_points=True
    ).report["history_"]["points"]
    assert np.ptp(np.ravel(path[-20:])) > 0.3  # still on the way
    found = subgradient_descent(objective, np.zeros(1), max_iter=2000)
    assert_allclose(found.x, 1, atol=0.02)  # the best point, by steps that become short


def test_7_3_k_means_sums_squared_distances():
    """The text says distances; the cost, and the mean as its minimum, are those of squares."""
    rows = np.array([[0.0], [0.0], [9.0]])
    model = KMeans(1).fit(rows)
    assert_allclose(model.cluster_centers_, [[3.0]])
    assert_allclose(model.inertia_, 54)  # 9 + 9 + 36, where distances sum to 3 + 3 + 6
    assert np.abs(rows - 0).sum() < np.abs(rows - 3).sum()  # distances would take the median


def test_7_3_the_loss_of_one_run_may_rise_with_k():
    """Only the least cost falls with every cluster; a run that ends badly may cost more."""
    rows = np.array([[0.0], [1.0], [2.0], [100.0], [110.0]])
    three = KMeans(3, init=rows[[1, 3, 4]]).fit(rows).inertia_
    four = KMeans(4, init=np.array([[0.0], [1.0], [2.0], [105.0]])).fit(rows).inertia_
    assert (three, four) == (2, 50)
    best = [KMeans(k, n_init=20, random_state=0).fit(rows).inertia_ for k in range(1, 6)]
    assert (np.diff(best) < 0).all()


def test_7_3_a_centre_is_the_mean_of_its_own_rows():
    """The count of the first cluster is printed for every centre, and a minus is lost."""
    rows = np.array([[0.0], [2.0], [10.0], [14.0], [18.0]])
    model = KMeans(2, init=np.array([[0.0], [10.0]])).fit(rows)
    assert model.cluster_centers_.ravel().tolist() == [1, 14]
    assert abs(model.cluster_centers_[1, 0] - 42 / 2) == 7  # the sum by the count of the first
    gradient = autodiff.grad(lambda m: np.sum((rows[:2, 0] - m) ** 2))(5.0)
    assert_allclose(gradient, -2 * (rows[:2, 0] - 5.0).sum())


@pytest.mark.parametrize("symmetric", [True, False])
def test_8_4_gradient_of_a_quadratic_form_needs_symmetry(symmetric):
    """2Ax for symmetric A only; in general (A + A')x."""
    A = RNG.normal(size=(3, 3))
    A = A + A.T if symmetric else A
    x = np.array([1.0, 2.0, -1.0])
    gradient = autodiff.grad(lambda x: x @ A @ x)(x)
    assert_allclose(gradient, (A + A.T) @ x)
    assert np.allclose(gradient, 2 * A @ x) == symmetric
