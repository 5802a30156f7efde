r"""Conditional expectation and variance: tower rule, law of total variance, squared error.

.. math:: E\,Y = E\,E[Y \mid X], \qquad
          \mathrm{Var}\,Y = E\,\mathrm{Var}[Y \mid X] + \mathrm{Var}\,E[Y \mid X]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions.finite import RandomVariable
from tenfold.teaching.probability.joint_table import JointTable


class EquationSides(NamedTuple):
    """Both sides of an equation."""

    left: Any
    right: Any


class TotalVariance(NamedTuple):
    """A variance and its two parts: mean of the conditional variances, variance of the means."""

    total: float
    within: float
    between: float


class TotalMoments(NamedTuple):
    """Mean and variance of a random variable drawn in two steps, and the parts of the variance."""

    mean: float
    variance: float
    within: float
    between: float


class MSEDecomposition(NamedTuple):
    """Mean squared error of an estimate, and its parts: squared bias and variance."""

    mse: Any
    squared_bias: Any
    variance: Any


def conditional_mean(
    table: JointTable, of: str, given: str, f: Callable[[Any], Any] | None = None
) -> np.ndarray:
    """E[f(of) | given] for each value of `given`; NaN for values of probability 0.

    Examples
    --------
    >>> table = JointTable([[0.1, 0.3], [0.4, 0.2]], {"x": [0, 1], "y": [0, 10]})
    >>> conditional_mean(table, "y", "x").round(4).tolist()
    [7.5, 3.3333]
    """
    joint = table.marginal(given, of)
    values = np.asarray(joint.axes[of], np.float64)
    values = values if f is None else np.asarray(f(values), np.float64)
    total = joint.p.sum(axis=1)
    out = np.full(len(total), np.nan)
    return np.divide(joint.p @ values, total, out=out, where=total > 0)


def conditional_variance(table: JointTable, of: str, given: str) -> np.ndarray:
    """Var[of | given] for each value of `given`; NaN for values of probability 0."""
    joint = table.marginal(given, of)
    mean = conditional_mean(table, of, given)
    squares = (np.asarray(joint.axes[of], np.float64) - mean[:, None]) ** 2
    total = joint.p.sum(axis=1)
    out = np.full(len(total), np.nan)
    return np.divide((joint.p * squares).sum(axis=1), total, out=out, where=total > 0)


def _weighted_mean(p: np.ndarray, values: np.ndarray) -> float:
    """Mean over the values of positive probability."""
    return float(p[p > 0] @ values[p > 0])


def tower_rule(
    table: JointTable, of: str, given: str, f: Callable[[Any], Any] | None = None
) -> EquationSides:
    """E f(of), and the mean of E[f(of) | given]: the same number.

    Examples
    --------
    >>> table = JointTable([[0.1, 0.3], [0.4, 0.2]], {"x": [0, 1], "y": [0, 10]})
    >>> [round(side, 10) for side in tower_rule(table, "y", "x")]
    [5.0, 5.0]
    """
    direct = table.expectation(f or (lambda x: x), of)
    return EquationSides(
        direct, _weighted_mean(table.marginal(given).p, conditional_mean(table, of, given, f))
    )


def total_variance(table: JointTable, of: str, given: str) -> TotalVariance:
    """The variance of one variable, decomposed by another.

    Examples
    --------
    >>> table = JointTable([[0.1, 0.3], [0.4, 0.2]], {"x": [0, 1], "y": [0, 10]})
    >>> total, within, between = total_variance(table, "y", "x")
    >>> round(total, 4), round(within + between, 4)
    (25.0, 25.0)
    """
    p, means = table.marginal(given).p, conditional_mean(table, of, given)
    mean = _weighted_mean(p, means)
    within = _weighted_mean(p, conditional_variance(table, of, given))
    return TotalVariance(
        table.distribution(of).variance, within, _weighted_mean(p, (means - mean) ** 2)
    )


def total_moments(
    condition: RandomVariable, mean: Callable[[Any], Any], variance: Callable[[Any], Any]
) -> TotalMoments:
    """Mean and variance of a random variable from its conditional mean and variance.

    Parameters
    ----------
    condition : FiniteDistribution or ContinuousDistribution
        The distribution of the condition.
    mean, variance : callable
        Conditional mean and variance, as functions of the condition.

    Examples
    --------
    Heads in 10 flips of a coin whose bias is uniform on [0, 1]: n / 2 and n^2 / 12 + n / 6.

    >>> from tenfold.distributions import Uniform
    >>> from tenfold.teaching.probability import ContinuousDistribution
    >>> bias = ContinuousDistribution.of(Uniform(0, 1))
    >>> total = total_moments(bias, lambda p: 10 * p, lambda p: 10 * p * (1 - p))
    >>> round(total.mean, 6), round(total.variance, 6)
    (5.0, 10.0)
    """
    total_mean = condition.expectation(mean)
    within = condition.expectation(variance)
    between = condition.expectation(lambda x: (mean(x) - total_mean) ** 2)
    return TotalMoments(total_mean, within + between, within, between)


def mse_decomposition(variable: RandomVariable, estimate: float) -> MSEDecomposition:
    r"""Mean squared error of a constant estimate of a random variable.

    .. math:: E (X - g)^2 = (g - E X)^2 + \mathrm{Var}\,X

    The mean is the estimate of least error, and its error is the variance.

    Examples
    --------
    >>> from tenfold.distributions import FiniteDistribution
    >>> mse_decomposition(FiniteDistribution([-1, 1]), 0.5)
    MSEDecomposition(mse=1.25, squared_bias=0.25, variance=1.0)
    """
    mse = variable.expectation(lambda x: (x - estimate) ** 2)
    return MSEDecomposition(mse, (estimate - variable.mean) ** 2, variable.variance)


def conditional_mse_decomposition(
    table: JointTable, of: str, given: str, estimate: Callable[[Any], Any]
) -> MSEDecomposition:
    """The same for an estimate from the value of another variable, value by value.

    Examples
    --------
    >>> table = JointTable([[0.1, 0.3], [0.4, 0.2]], {"x": [0, 1], "y": [0, 10]})
    >>> parts = conditional_mse_decomposition(table, "y", "x", lambda x: 5 + 0 * x)
    >>> parts.mse.round(4).tolist(), (parts.squared_bias + parts.variance).round(4).tolist()
    ([25.0, 25.0], [25.0, 25.0])
    """
    estimates = np.asarray(estimate(np.asarray(table.axes[given])), np.float64)
    joint = table.marginal(given, of)
    squares = (np.asarray(joint.axes[of], np.float64) - estimates[:, None]) ** 2
    total = joint.p.sum(axis=1)
    out = np.full(len(total), np.nan)
    mse = np.divide((joint.p * squares).sum(axis=1), total, out=out, where=total > 0)
    squared_bias = (estimates - conditional_mean(table, of, given)) ** 2
    return MSEDecomposition(mse, squared_bias, conditional_variance(table, of, given))
