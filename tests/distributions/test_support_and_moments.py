"""What every distribution must do: refuse impossible rows, know its cdf and moments, take lists."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tenfold import MixtureModel, choose_components
from tenfold.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    CustomDistribution,
    Dirichlet,
    DiscreteUniform,
    Exponential,
    Gamma,
    Gaussian,
    Independent,
    Multinomial,
    NormalInverseGamma,
    NormalInverseWishart,
    Poisson,
    Uniform,
)
from tenfold.distributions._joint_cdf import dirichlet_cdf


def _laplace(X, t):
    return -np.abs(X[:, 0] - t[0]) / t[1] - np.log(2 * t[1])


LAPLACE = CustomDistribution(
    _laplace,
    [1e4, 3.0],
    lambda n, t, rng: rng.laplace(t[0], t[1], (n, 1)),
    [(None, None), (1e-9, None)],
)
DISTRIBUTIONS = {
    "bernoulli": (Bernoulli([0.2, 0.6]), [[[0, 2]], [[0.5, 1]], [[-1, 0]]]),
    "binomial": (Binomial([3, 8], [0.2, 0.7]), [[[4, 1]], [[1, -1]], [[0.5, 1]]]),
    "poisson": (Poisson([0.3, 7.0]), [[[-1, 2]], [[0.5, 1]], [[np.inf, 1]]]),
    "categorical": (Categorical([0.5, 0.3, 0.2]), [[[3]], [[-1]], [[0.5]]]),
    "multinomial": (Multinomial([0.5, 0.3, 0.2], trials=5), [[[1, -1, 2]], [[np.inf, 0, 0]]]),
    "gaussian": (Gaussian([1.0, -2.0], [[2.0, 0.6], [0.6, 1.0]]), [[[np.inf, 0]]]),
    "diagonal": (Gaussian([1.0, 5.0], [2.0, 1.0], "diagonal"), [[[-np.inf, 0]]]),
    "far": (Gaussian(170.0, 49.0), [[[np.inf]]]),
    "gamma": (Gamma([2.0, 7.0], [1.0, 3.0]), [[[-1e-9, 1]], [[1, np.inf]]]),
    "exponential": (Exponential([1.0, 3.0]), [[[-1, 1]], [[1, np.inf]]]),
    "beta": (Beta([0.8, 7.0], [1.0, 3.0]), [[[1.1, 0.5]], [[0.5, -0.1]]]),
    "dirichlet": (Dirichlet([2.0, 1.5, 4.0]), [[[0.5, 0.5, 0.5]], [[1.5, -0.5, 0.0]]]),
    "uniform": (Uniform([0.0, 5.0], [1.0, 6.0]), [[[np.inf, 5]]]),
    "discrete-uniform": (DiscreteUniform(1, 6), [[[1.5]], [[np.inf]]]),
    "independent": (Independent([Bernoulli(0.3), Poisson(4.0)]), [[[2, 1]], [[1, -1]]]),
    "custom": (LAPLACE, [[[np.inf]]]),
}
CASES = pytest.mark.parametrize(
    ("density", "impossible"), DISTRIBUTIONS.values(), ids=list(DISTRIBUTIONS)
)


@CASES
def test_impossible_rows_are_refused_and_named(density, impossible):
    good = density.sample(20, np.random.default_rng(0))
    density.fit(good)
    for row in [*impossible, np.full((1, good.shape[1]), np.nan)]:
        rows = np.vstack([good, row])
        with pytest.raises(ValueError, match="row 20 is"):
            density.fit(rows)
        without = density.fit(rows, np.append(np.ones(20), 0.0))  # weight zero is no row
        np.testing.assert_allclose(
            without.log_density(good), density.fit(good).log_density(good), rtol=1e-6
        )


@CASES
@pytest.mark.parametrize("w", [[-1.0, 2.0], [1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_impossible_weights_are_refused(density, impossible, w):  # noqa: ARG001
    with pytest.raises(ValueError, match="weights must be 2 finite numbers"):
        density.fit(density.sample(2, np.random.default_rng(0)), w)


def test_the_first_impossible_numbers_that_were_tried():
    for density, rows in [
        (Poisson(), [-1.0, -2.0]),
        (Exponential(), [-1.0, -2.0]),
        (Bernoulli(), [0, 1, 2.0]),
    ]:
        with pytest.raises(ValueError, match=f"{type(density).__name__} is a distribution of"):
            density.fit(rows)


def test_impossible_rows_do_not_reach_mixtures():
    with pytest.raises(ValueError, match="Poisson is a distribution of counts"):
        MixtureModel(Poisson(), 2, random_state=0).fit([[1.0], [2.0], [-3.0], [4.0]])


@CASES
def test_moments_and_cdf_are_those_of_the_draws(density, impossible):  # noqa: ARG001
    X = density.sample(200_000, np.random.default_rng(1))
    error = 6 * X.std(axis=0) / np.sqrt(len(X))
    assert (np.abs(X.mean(axis=0) - np.ravel(density.mean)) <= error).all()
    fourth = ((X - X.mean(axis=0)) ** 4).mean(axis=0)
    assert (
        np.abs(X.var(axis=0) - np.ravel(density.variance)) <= 6 * np.sqrt(fourth / len(X))
    ).all()
    points = np.vstack([np.quantile(X, [0.4, 0.8, 0.95], axis=0), X.max(axis=0)])
    shares = np.array([(point >= X).all(axis=1).mean() for point in points])
    np.testing.assert_allclose(density.cdf(points), shares, atol=0.006)


@CASES
def test_every_distribution_counts_its_parameters(density, impossible):  # noqa: ARG001
    fitted = density.fit(density.sample(50, np.random.default_rng(2)))
    expected = {
        "Bernoulli": 2,
        "Binomial": 2,
        "Poisson": 2,
        "Categorical": 2,
        "Multinomial": 2,
        "Gamma": 4,
        "Exponential": 2,
        "Beta": 4,
        "Dirichlet": 3,
        "Uniform": 4,
        "DiscreteUniform": 2,
        "Independent": 2,
        "CustomDistribution": 2,
    }
    if isinstance(density, Gaussian):
        assert (
            fitted.n_parameters
            == {("full", 2): 5, ("diagonal", 2): 4, ("full", 1): 2}[
                density.kind, np.size(density.mean)
            ]
        )
    else:
        assert fitted.n_parameters == expected[type(density).__name__]


def test_criteria_choose_the_components_of_any_mixture():
    rng = np.random.default_rng(0)
    R = np.concatenate([rng.poisson(2, 150), rng.poisson(30, 150)])[:, None].astype(float)
    model = MixtureModel(Poisson(), 2, random_state=0).fit(R)
    total = model.score_samples(R).sum()
    assert np.isclose(model.bic(R), -2 * total + 3 * np.log(300))
    assert np.isclose(model.aic(R), -2 * total + 6)
    assert (
        choose_components(MixtureModel(Poisson(), random_state=0), R, range(1, 4)).n_components == 2
    )


def test_joint_cdfs_of_shares_and_counts():
    draws = np.random.default_rng(0).dirichlet([2.0, 1.0, 0.7], 400_000)
    x = np.array([0.7, 0.4, 0.3])
    exact = dirichlet_cdf(x[None], np.array([2.0, 1.0, 0.7]))[0]
    assert abs(exact - (draws <= x).all(axis=1).mean()) < 0.004
    two = Dirichlet([2.0, 3.0]).cdf([[0.4, 1.0], [0.6, 0.3], [0.3, 0.3]])
    assert np.allclose(two, [stats.beta(2, 3).cdf(0.4), 0.0, 0.0], atol=1e-12)
    many = Dirichlet(np.ones(6)).cdf(np.full((1, 6), 0.4))[0]
    assert abs(many - (1 - 6 * 0.6**5 + 15 * 0.2**5)) < 0.01  # largest of six spacings
    coin = Multinomial([0.3, 0.7], trials=9).cdf([[4, 9], [9, 9], [4, 5]])
    assert np.allclose(coin, [*stats.binom(9, 0.3).cdf([4, 9]), stats.binom(9, 0.3).pmf(4)])


def test_lists_are_as_good_as_arrays():
    assert np.allclose(Dirichlet([3, 2, 1]).mean, [1 / 2, 1 / 3, 1 / 6])
    assert np.allclose(Beta([1, 2], [3, 4]).mean, [1 / 4, 1 / 3])
    assert np.allclose(Gamma([1, 2], [2, 2]).variance, [0.25, 0.5])
    assert np.allclose(NormalInverseWishart([0.0], 1.0, 3.0, [[1.0]]).mode.covariance, 1 / 6)
    assert NormalInverseGamma([0.0], 1.0, 2.0, [1.0]).sample(3, np.random.default_rng(0)).mean.shape
    assert Gaussian([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]]).cdf([[0.0, 1.0]])[0] == pytest.approx(
        0.25 + np.arcsin(0.5 / np.sqrt(2)) / (2 * np.pi), abs=1e-5
    )


def test_a_formula_of_two_columns_has_no_cdf():
    flat = CustomDistribution(lambda X, t: -(X[:, 0] ** 2) - X[:, 1] ** 2 - np.log(t[0]), [np.pi])
    with pytest.raises(ValueError, match="one column"):
        flat.cdf([[0.0, 0.0]])


def test_infinity_and_negative_counts_have_no_density():
    for density in (Gamma(3.0, 2.0), Exponential(2.0), Poisson(3.0)):
        assert density.log_density([np.inf])[0] == -np.inf
    assert Multinomial([0.5, 0.5]).log_density([[2.0, -1.0]])[0] == -np.inf


@pytest.mark.parametrize(
    "density", [Gaussian(1.0, 2.0), Gamma(2.0, 1.0), Exponential(1.5), Poisson(2.0)], ids=repr
)
def test_one_number_is_one_row(density):
    for method in (density.log_density, density.cdf):
        np.testing.assert_array_equal(method(2.0), method([2.0]))
        assert method(2.0).shape == (1,)
