"""Independence given a third variable, of densities. [P02]"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tenfold.teaching.probability import JointDensity, conditional_dependence

WIDE = ((-3, 3), (-3, 3), (-3, 3))


def gaussian(precision):
    normal = multivariate_normal(np.zeros(3), np.linalg.inv(precision))
    return lambda x, y, z: normal.pdf([x, y, z])


@settings(max_examples=20, deadline=None)
@given(st.floats(-0.45, 0.45), st.floats(-0.45, 0.45), st.floats(-0.45, 0.45))
def test_gaussians_are_independent_where_the_precision_is_zero(xy, xz, yz):
    precision = np.array([[1.5, xy, xz], [xy, 1.5, yz], [xz, yz, 1.5]])
    found = conditional_dependence(gaussian(precision), *WIDE)
    assert (found < 1e-9) == (abs(xy) < 1e-9)


def test_a_common_cause_explains_dependence_away():
    """x and y measure z: dependent, and independent given z."""

    def density(x, y, z):
        return np.exp(-((x - z) ** 2 + (y - z) ** 2 + z**2) / 2) / (2 * np.pi) ** 1.5

    assert conditional_dependence(density, *WIDE) < 1e-12
    marginal = multivariate_normal(np.zeros(2), [[2, 1], [1, 2]])
    assert not JointDensity(lambda x, y: marginal.pdf([x, y])).independent()


def test_a_common_effect_makes_causes_dependent():
    """x and y are independent, z is their sum and noise: given z they are not."""

    def density(x, y, z):
        return np.exp(-(x**2 + y**2 + (z - x - y) ** 2) / 2)

    assert conditional_dependence(density, *WIDE) > 0.1


def test_a_chain_of_waiting_times_and_points_without_mass():
    """z follows x, y follows z, on half-lines: independent given z; densities may be zero."""

    def chain(x, y, z):
        return float(x > 0) * float(z > x) * float(y > z) * np.exp(-y)

    given_between = conditional_dependence(chain, (0, 4), (0, 8), (0, 6))
    assert given_between < 1e-12
    product = conditional_dependence(
        lambda x, y, z: float(x * y < 2 + 0 * z), (0, 4), (0, 4), (0, 1)
    )
    assert product == pytest.approx(1.0)
