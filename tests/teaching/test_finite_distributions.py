"""Measures, joint tables and beliefs: the notes' numbers and properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from tenfold.distributions import (
    Binomial,
    Exponential,
    FiniteDistribution,
    Gamma,
    Gaussian,
    Uniform,
)
from tenfold.teaching.probability import (
    ContinuousDistribution,
    JointDensity,
    JointTable,
    mse_decomposition,
)
from tests.teaching.probability_cases import CALM, STARS, shares, tables

ROOT_2_PI = np.sqrt(2 * np.pi)


# --------------------------------------------------------------------------------- P02: measures


def test_stars():  # [000, 2.2]
    assert_allclose(STARS.mean, 2.95)
    assert_allclose(STARS.variance, 2.7475)
    assert_allclose(STARS.standard_deviation, 1.65756, rtol=1e-5)
    assert_allclose(STARS.skewness(raw=True), 0.36225)
    assert_allclose(STARS.kurtosis(raw=True), 9.98123, rtol=1e-6)
    assert_allclose(STARS.skewness(), 0.36225 / 2.7475**1.5)
    assert_allclose(STARS.kurtosis(), 9.98123 / 2.7475**2, rtol=1e-6)
    assert STARS.modes() == [1, 5]
    assert STARS.modes(local=True) == [1, 5]
    assert STARS.pmf(round(STARS.mean)) == 0.05
    assert STARS.pmf(2.95) == 0
    assert_allclose(STARS.cdf([0, 1, 2.5, 5]), [0, 0.3, 0.5, 1])


def test_measures_of_the_notes():  # [001, A.1 and A.2]
    die = FiniteDistribution(range(1, 7))
    dice = die.product(die)
    assert_allclose(dice.probability(lambda roll: sum(roll) == 5), 1 / 9)
    assert_allclose(dice.image(sum).pmf(5), 1 / 9)
    assert dice.probability([]) == 0
    assert_allclose(dice.probability(dice.outcomes), 1)
    assert_allclose(die.probability({1, 2}) + die.probability({3}), die.probability({1, 2, 3}))
    assert_allclose(die.mean, np.mean(range(1, 7)))
    assert_allclose(die.variance, np.var(range(1, 7)))
    assert die.modes() == [1, 2, 3, 4, 5, 6]  # all of a uniform measure are modes
    coin = FiniteDistribution("HT", [0.3, 0.7])
    assert coin.pmf("H") == 0.3
    for stake, variance in ((1, 1), (10, 100)):
        game = FiniteDistribution("HT").image(
            lambda side, stake=stake: stake if side == "H" else -stake
        )
        assert_allclose([game.mean, game.variance], [0, variance])
    indicator = die.image(lambda x: int(x > 4))
    assert_allclose([indicator.mean, indicator.variance], [1 / 3, 2 / 9])


@CALM
@given(shares(5), st.floats(-3, 3), st.floats(-3, 3))
def test_moments_of_a_measure(p, a, b):
    m = FiniteDistribution([-2, -1, 0, 1, 3], p)
    line = m.expectation(lambda x: a * x + b)
    assert_allclose(line, a * m.mean + b, atol=1e-12)
    assert_allclose(m.variance, m.expectation(np.square) - m.mean**2, atol=1e-12)
    assert_allclose(m.cdf(3), 1)
    assert (np.diff(m.cdf(np.linspace(-3, 4, 30))) >= 0).all()
    guess = mse_decomposition(m, a)  # [001, A.2: variance is the least squared error]
    assert_allclose(guess.mse, guess.squared_bias + guess.variance, atol=1e-12)
    assert guess.mse >= guess.variance - 1e-12


def test_local_modes_and_wrong_measures():
    hills = FiniteDistribution([5, 1, 2, 3, 4], [0.3, 0.2, 0.1, 0.25, 0.15])
    assert hills.modes() == [5]
    assert hills.modes(local=True) == [1, 3, 5]
    for p in ([0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="sum to 1"):
            FiniteDistribution([0, 1], p)
    with pytest.raises(ValueError, match="twice"):
        FiniteDistribution([1, 1])
    drawn = np.array(STARS.sample(20000, np.random.default_rng(0)))
    assert_allclose(drawn.mean(), 2.95, atol=0.05)


@pytest.mark.parametrize(
    ("density", "skew", "modes"),
    [
        (Gaussian(1.0, 4.0), 0.0, [1.0]),
        (Gamma(3.0, 2.0), 2 / np.sqrt(3), [1.0]),
        (Uniform(0.0, 2.0), 0.0, [1.0]),
    ],
    ids=["normal", "gamma", "uniform"],
)
def test_continuous_measures(density, skew, modes):  # [000, 2.2 and Fig. 2.1]
    m = ContinuousDistribution.of(density)
    assert_allclose(m.expectation(lambda _: 1.0), 1)
    assert_allclose(
        [m.mean, m.variance], [np.ravel(m)[0] for m in (density.mean, density.variance)], rtol=1e-8
    )
    assert_allclose(m.skewness(), skew, atol=1e-7)
    assert_allclose(m.modes(), modes, atol=1e-4)
    x, h = 0.8, 1e-4
    assert_allclose((m.cdf(x + h) - m.cdf(x - h)) / (2 * h), m.pdf(x), rtol=1e-5)
    assert_allclose(m.probability(0.2, 0.8), m.cdf(0.8) - m.cdf(0.2), atol=1e-10)
    assert m.probability(2.0, 1.0) == 0


def test_two_hills_have_two_modes():
    hills = ContinuousDistribution(
        lambda x: (
            (0.6 * np.exp(-((x + 2) ** 2) / 2) + 0.4 * np.exp(-((x - 3) ** 2) / 2)) / ROOT_2_PI
        )
    )
    assert_allclose(hills.modes(), [-2], atol=1e-2)
    assert_allclose(hills.modes(local=True), [-2, 3], atol=1e-2)


def test_joint_densities():  # [000, Fig. 2.2; 001, A.5]
    rate = 1.5
    pair = JointDensity(lambda x, y: rate**2 * np.exp(-rate * (x + y)), (0, np.inf), (0, np.inf))
    for name in "xy":
        side = pair.marginal(name)
        assert_allclose(side.pdf(0.7), np.exp(Exponential(rate).log_density([0.7])[0]))
    assert pair.independent()
    law = stats.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]])
    tilted = JointDensity(lambda x, y: law.pdf([x, y]))
    assert not tilted.independent()
    cut = tilted.given("y", 2.0)
    assert_allclose(
        [cut.expectation(lambda _: 1.0), cut.mean, cut.variance], [1, 1.0, 0.75], rtol=1e-6
    )
    y_of_x, x_of_y = tilted.given("x", 0.4).pdf(1.1), tilted.given("y", 1.1).pdf(0.4)
    X, Y = tilted.marginal("x").pdf(0.4), tilted.marginal("y").pdf(1.1)
    assert_allclose(y_of_x, x_of_y * Y / X)  # Bayes' rule
    with pytest.raises(ValueError, match="density zero"):
        pair.given("x", -1.0)


def test_the_faster_of_two_waits():  # [001, A.3: P(X1 < X2) = l1 / (l1 + l2)]
    first = ContinuousDistribution.of(Exponential(2.0))
    later = first.expectation(lambda x: 1 - ContinuousDistribution.of(Exponential(3.0)).cdf(x))
    assert_allclose(later, 2 / 5)


# --------------------------------------------------------------------------------- P02: tables

AXES = {"x": [0, 1], "y": ["a", "b", "c"], "z": [10, 20]}


@CALM
@given(tables(2, 3, 2))
def test_marginals_and_conditionals(p):
    table = JointTable(p, AXES)
    assert_allclose(table.marginal("z", "x").p, p.sum(axis=1).T)
    assert_allclose(table.marginal("y", "z", "x").p, np.transpose(p, (1, 2, 0)))
    assert_allclose(table.distribution("y").p, p.sum(axis=(0, 2)))
    assert_allclose(table.probability(x=1, z=20), p[1, :, 1].sum())
    both = table.conditional("x")
    possible = p.sum(axis=(1, 2)) > 0
    assert_allclose(both.sum(axis=(1, 2)), possible.astype(float))
    if p[:, 0].sum() > 1e-6:
        given_y = table.given(y="a")
        assert_allclose(given_y.p, p[:, 0] / p[:, 0].sum())
        assert list(given_y.axes) == ["x", "z"]
    assert_allclose(
        table.expectation(lambda x, z: x * z, "x", "z"), (p.sum(axis=1) * [[0, 0], [10, 20]]).sum()
    )


@CALM
@given(tables(2, 3))
def test_bayes_rule(p):  # [000, 2.2; 001, A.7]
    table = JointTable(p, {"x": [0, 1], "y": [0, 1, 2]})
    turned = table.conditional("x") * table.marginal("x").p[:, None]  # p(y | x) p(x)
    total = turned.sum(axis=0)
    assert_allclose(turned, table.conditional("y") * total, atol=1e-12)
    assert_allclose(total, table.marginal("y").p, atol=1e-12)


@CALM
@given(shares(3), shares(4))
def test_independence_is_a_product(a, b):  # both directions
    product = JointTable(np.multiply.outer(a, b), {"x": range(3), "y": range(4)})
    assert product.independent("x", "y")
    possible = b > 0
    assert_allclose(
        product.conditional("y")[:, possible], np.outer(a, np.ones(possible.sum())), atol=1e-9
    )


def test_conditional_independence_and_its_failure():
    hidden = np.stack(
        [0.4 * np.outer([0.9, 0.1], [0.3, 0.7]), 0.6 * np.outer([0.2, 0.8], [0.5, 0.5])]
    )
    table = JointTable(hidden, {"z": [0, 1], "x": [0, 1], "y": [0, 1]})
    assert table.independent("x", "y", ["z"])
    assert not table.independent("x", "y")
    assert not table.independent("x", "z", ["y"])
    xor = np.zeros((2, 2, 2))  # independent, but not if the sum is known
    for i in range(2):
        for j in range(2):
            xor[i, j, i ^ j] = 0.25
    coins = JointTable(xor, {"x": [0, 1], "y": [0, 1], "sum": [0, 1]})
    assert coins.independent("x", "y")
    assert not coins.independent("x", "y", ["sum"])


def test_tables_of_data_and_mistakes():
    rows = {"x": ["u", "v", "u", "u"], "y": [1, 1, 2, 1]}
    assert_allclose(JointTable.from_rows(rows, [1, 2, 1, 0]).p, [[0.25, 0.25], [0.5, 0.0]])
    table = JointTable.from_rows(rows)
    with pytest.raises(ValueError, match="probability zero"):
        table.given(x="v").given(y=2)
    with pytest.raises(ValueError, match=r"no axis is called \['q'\]"):
        table.marginal("q")
    with pytest.raises(ValueError, match="shape"):
        JointTable([0.5, 0.5], {"x": [0, 1, 2]})
    with pytest.raises(ValueError, match="sum to 1"):
        JointTable([0.5, 0.6], {"x": [0, 1]})


# ---------------------------------------------------------------------- P04: finite priors


def heads(k, n, coins):
    return [Binomial(n, p).log_density([k])[0] for p in coins.outcomes]


def test_three_coins():  # [001, A.7]
    coins = FiniteDistribution([0.2, 0.5, 0.8])
    first = coins.update(heads(7, 10, coins))
    assert_allclose(np.exp(first.log_evidence), 0.1064, atol=5e-5)
    assert_allclose(first.posterior.p, [0.00246, 0.36701, 0.63052], atol=1e-5)
    assert first.posterior.modes() == [0.8]
    second = first.posterior.update(heads(3, 10, coins))
    assert second.posterior.p[0] > first.posterior.p[0]
    assert_allclose(second.posterior.p[0], second.posterior.p[2])  # 10 of 20: the ends are equal
    printed = FiniteDistribution(coins.outcomes, [0.0025, 0.3670, 0.6305])  # rounded as in the note
    assert_allclose(
        printed.update(heads(3, 10, coins)).posterior.p, [0.0114, 0.9773, 0.0113], atol=5e-5
    )
    assert_allclose(
        printed.update(heads(2, 10, coins)).posterior.p, [0.0446, 0.9527, 0.0027], atol=5e-5
    )
    batch = coins.update(np.add(heads(7, 10, coins), heads(3, 10, coins)))
    assert_allclose(batch.posterior.p, second.posterior.p)
    assert_allclose(batch.log_evidence, first.log_evidence + second.log_evidence)


def test_finite_beliefs_are_log_safe():
    coins = FiniteDistribution([0.2, 0.5, 0.8])
    assert_allclose(
        coins.update([-1e5, -1e5 - 1, -1e6]).posterior.p, [0.731059, 0.268941, 0], atol=1e-6
    )
    with pytest.raises(ValueError, match="impossible"):
        coins.update([-np.inf] * 3)


def test_a_rare_disease():  # [001, A.7: exactly one half]
    ill = FiniteDistribution(["ill", "well"], [0.05, 0.95])
    assert_allclose(ill.update(np.log([0.95, 0.05])).posterior.p, [0.5, 0.5])
