"""Moments of densities wherever their mass lies, or a word that it was not found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import cauchy, laplace, norm, t, uniform

from tenfold.distributions import Beta, FiniteDistribution, Gamma, Gaussian
from tenfold.teaching.probability import ContinuousDistribution, JointDensity


def _phi(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 7.0, 1e4])
@pytest.mark.parametrize("mean", [0.0, 170.0, -1e6, 1e8])
def test_gaussians_anywhere(mean, scale):
    m = ContinuousDistribution.of(Gaussian(mean, scale**2))
    assert m.mean == pytest.approx(mean, abs=1e-6 * scale)
    assert m.standard_deviation == pytest.approx(scale, rel=1e-4)
    assert m.cdf(mean + scale) == pytest.approx(norm.cdf(1), rel=1e-4)
    assert m.modes() == [pytest.approx(mean, abs=1e-3 * scale)]


def test_densities_of_the_user_far_away():
    for law in (norm(170, 7), laplace(5000, 3), uniform(1000, 1), t(9, loc=-300, scale=0.1)):
        m = ContinuousDistribution(law.pdf)
        assert m.mean == pytest.approx(law.mean(), rel=1e-8)
        assert m.variance == pytest.approx(law.var(), rel=1e-6)
    assert ContinuousDistribution(cauchy(1e4, 3).pdf).cdf(1e4) == pytest.approx(0.5, abs=1e-6)


def test_two_hills_far_apart():
    m = ContinuousDistribution(lambda x: 0.5 * (norm.pdf(x) + norm.pdf(x - 900)))
    assert m.mean == pytest.approx(450)
    assert m.standard_deviation == pytest.approx(np.sqrt(450**2 + 1))


def test_poles_at_the_ends():
    m = ContinuousDistribution.of(Beta(0.5, 0.5))
    assert m.mean == pytest.approx(0.5, abs=1e-7)
    assert m.variance == pytest.approx(1 / 8, abs=1e-6)
    assert ContinuousDistribution.of(Gamma(0.1, 1e6)).mean == pytest.approx(1e-7)


def test_mass_that_is_not_found_is_told():
    with pytest.raises(ValueError, match="give the ends of the support"):
        _ = ContinuousDistribution(norm(1.23e7, 1e-2).pdf).mean
    near = ContinuousDistribution(norm(1.23e7, 1e-2).pdf, 1.23e7 - 10, 1.23e7 + 10)
    assert near.mean == pytest.approx(1.23e7)
    with pytest.warns(RuntimeWarning, match="integrates to 2, not to 1"):
        _ = ContinuousDistribution(lambda x: 2 * norm.pdf(x)).mean
    with pytest.raises(ValueError, match="give the ends of the support"):
        JointDensity(lambda x, y: _phi(x - 1.23e7) * _phi(y)).independent()
    with pytest.warns(RuntimeWarning, match="not to 1"):
        JointDensity(lambda x, y: 2 * _phi(x) * _phi(y)).independent()


def test_pairs_far_from_zero():  # correlation 0.9
    b = np.sqrt(0.19)
    both = JointDensity(lambda x, y: _phi(x - 100) * _phi((y - 10 - 0.9 * x) / b) / b)
    assert not both.independent()
    assert both.marginal("x").mean == pytest.approx(100)
    given = both.given("x", 101.0)
    assert given.mean == pytest.approx(100.9)
    assert given.variance == pytest.approx(0.19, rel=1e-6)
    assert JointDensity(lambda x, y: _phi(x - 100) * _phi((y + 3000) / 50) / 50).independent()


@pytest.mark.parametrize(
    ("p", "modes"),
    [
        ([0.1, 0.2, 0.2, 0.5], [4]),  # a step on a slope is no mode
        ([0.1, 0.4, 0.4, 0.1], [2, 3]),
        ([0.5, 0.2, 0.2, 0.1], [1]),
        ([0.4, 0.1, 0.1, 0.4], [1, 4]),
        ([0.25, 0.25, 0.25, 0.25], [1, 2, 3, 4]),
        ([0.5, 0.0, 0.0, 0.5], [1, 4]),
        ([0.1, 0.1 + 0.2, 0.3, 0.3], [2, 3, 4]),  # 0.1 + 0.2 is not quite 0.3
    ],
)
def test_local_modes_of_plateaus(p, modes):
    assert FiniteDistribution([1, 2, 3, 4], p).modes(local=True) == modes
