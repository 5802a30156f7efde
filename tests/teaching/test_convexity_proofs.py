"""A proof of convexity needs the second derivative of the function that it is about."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tenfold.teaching.convex_calculus import NotConvexError, univariate
from tenfold.teaching.convexity import (
    convexity_violation,
    finite_difference_hessian,
    hessian_violation,
)
from tenfold.teaching.geometry import orthogonal_complement
from tenfold.teaching.lagrange_multipliers import lagrange_stationary_point


def _sigmoid_slope(u):
    return np.exp(-np.abs(u)) / (1 + np.exp(-np.abs(u))) ** 2


@pytest.mark.parametrize(
    ("f", "second"),
    [
        (np.cosh, np.cosh),
        (np.exp, np.exp),
        (lambda u: u**4, lambda u: 12 * u * u),
        (lambda u: 1e-12 * u**2 + 7, lambda u: 2e-12 + 0 * u),
        (lambda u: np.logaddexp(0, -u), _sigmoid_slope),
        (lambda u: u * u + 1e-6 * np.sin(1000 * u), lambda u: 2 - np.sin(1000 * u)),
        (lambda u: np.where(np.abs(u) < 1, u * u / 2, np.abs(u) - 0.5), lambda u: abs(u) < 1),
        (lambda u: math.log1p(math.exp(-abs(u))) + max(float(u), 0), _sigmoid_slope),  # of numbers
    ],
)
def test_true_second_derivatives_are_accepted(f, second):
    assert univariate(f, second, "it").proof == "rule 1: it"


@pytest.mark.parametrize(
    ("f", "second"),
    [
        (np.sin, np.ones_like),
        (lambda u: u * u, lambda u: 2.001 + 0 * u),
        (lambda u: 1e-9 * np.cos(u), np.zeros_like),
        (lambda u: -u * u, lambda u: 2 + 0 * u),
        (lambda u: u * u - 0.01 * np.exp(-(((u - 0.6125) / 0.05) ** 2)), lambda u: 2 + 0 * u),
    ],
)
def test_second_derivatives_of_something_else_are_refused(f, second):
    with pytest.raises(NotConvexError, match="not the second derivative of f"):
        univariate(f, second, "it")


@pytest.mark.parametrize(
    "second",
    [
        lambda u: 2 - 3 * np.exp(-(((u - 0.6125) / 0.01) ** 2)),  # a dip between whole numbers
        lambda u: np.where(np.abs(u) > 2000, -1.0, 2.0),  # far out
        lambda u: np.where(np.abs(u) < 1e-4, -1.0, 2.0),
    ],
)
def test_dips_are_seen(second):
    with pytest.raises(NotConvexError, match="needs f'' >= 0"):
        univariate(np.square, second, "it")


def test_points_may_be_lists():
    def bowl(v):
        return v[0] ** 2 + v[1] ** 2, 2 * v

    assert convexity_violation(lambda v: float(v @ v), ([-1.0, -1.0], [1.0, 1.0])) is None
    assert convexity_violation(lambda v: float(v @ v), [[-1.0, 0.0], [1.0, 2.0]]) is None
    assert hessian_violation(bowl, [[-1.0, 0.0], [1.0, 2.0]]) is None
    assert np.allclose(finite_difference_hessian(bowl, [1.0, 2.0]), 2 * np.eye(2))
    assert np.allclose(np.abs(orthogonal_complement([[3.0], [4.0]])), [[0.8], [0.6]])
    line = lagrange_stationary_point(
        lambda v: (v[0] * v[1], v[::-1]),
        lambda v: (np.array([v.sum() - 6]), np.ones((1, 2))),
        [1, 2],
    )
    assert np.allclose(line.x, 3.0)
