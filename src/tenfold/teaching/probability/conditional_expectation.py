r"""Conditional expectation and variance: the tower rule, the law of total variance, best guesses.

.. math:: E\,Y = E\,E[Y \mid X], \qquad
          \mathrm{Var}\,Y = E\,\mathrm{Var}[Y \mid X] + \mathrm{Var}\,E[Y \mid X]

[001, A.2 to A.4]
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
    """Mean and variance of a number that is drawn in two steps, and the parts of the variance."""

    mean: float
    variance: float
    within: float
    between: float


class MSEDecomposition(NamedTuple):
    """Mean squared error of a guess, and its parts: squared distance from the mean, variance."""

    error: Any
    offset: Any
    variance: Any


def conditional_mean(
    table: JointTable, of: str, given: str, f: Callable[[Any], Any] | None = None
) -> np.ndarray:
    """E[f(of) | given] for each value of `given`; NaN for values that are impossible.

    Examples
    --------
    >>> table = JointTable([[0.1, 0.3], [0.4, 0.2]], {"x": [0, 1], "y": [0, 10]})
    >>> conditional_mean(table, "y", "x").round(4).tolist()
    [7.5, 3.3333]
    """
    both = table.marginal(given, of)
    values = np.asarray(both.axes[of], np.float64)
    values = values if f is None else np.asarray(f(values), np.float64)
    total = both.p.sum(axis=1)
    out = np.full(len(total), np.nan)
    return np.divide(both.p @ values, total, out=out, where=total > 0)


def conditional_variance(table: JointTable, of: str, given: str) -> np.ndarray:
    """Var[of | given] for each value of `given`; NaN for values that are impossible."""
    both = table.marginal(given, of)
    mean = conditional_mean(table, of, given)
    squares = (np.asarray(both.axes[of], np.float64) - mean[:, None]) ** 2
    total = both.p.sum(axis=1)
    out = np.full(len(total), np.nan)
    return np.divide((both.p * squares).sum(axis=1), total, out=out, where=total > 0)


def _weighted_mean(p: np.ndarray, values: np.ndarray) -> float:
    """Mean over the values that are possible."""
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
    """The variance of one variable, split by another.

    Examples
    --------
    >>> table = JointTable([[0.1, 0.3], [0.4, 0.2]], {"x": [0, 1], "y": [0, 10]})
    >>> total, within, between = total_variance(table, "y", "x")
    >>> round(total, 4), round(within + between, 4)
    (25.0, 25.0)
    """
    p, means = table.marginal(given).p, conditional_mean(table, of, given)
    centre = _weighted_mean(p, means)
    within = _weighted_mean(p, conditional_variance(table, of, given))
    return TotalVariance(
        table.distribution(of).variance, within, _weighted_mean(p, (means - centre) ** 2)
    )


def total_moments(
    condition: RandomVariable, mean: Callable[[Any], Any], variance: Callable[[Any], Any]
) -> TotalMoments:
    """Mean and variance of a number whose mean and variance are known given another.

    Parameters
    ----------
    condition : FiniteMeasure or ContinuousMeasure
        The number that is drawn first.
    mean, variance : callable
        Conditional mean and variance, as functions of it.

    Examples
    --------
    Heads in 10 flips of a coin whose bias is uniform on [0, 1]: n / 2 and n^2 / 12 + n / 6.
    [001, A.4]

    >>> from tenfold.distributions import Uniform
    >>> from tenfold.teaching.probability import ContinuousDistribution
    >>> bias = ContinuousDistribution.of(Uniform(0, 1))
    >>> law = total_moments(bias, lambda p: 10 * p, lambda p: 10 * p * (1 - p))
    >>> round(law.mean, 6), round(law.variance, 6)
    (5.0, 10.0)
    """
    centre = condition.expectation(mean)
    within = condition.expectation(variance)
    between = condition.expectation(lambda x: (mean(x) - centre) ** 2)
    return TotalMoments(centre, within + between, within, between)


def mse_decomposition(measure: RandomVariable, guess: float) -> MSEDecomposition:
    r"""Mean squared error of one number said about a random one.

    .. math:: E (X - g)^2 = (g - E X)^2 + \mathrm{Var}\,X

    The variance is the least error; the mean is the guess that has it.

    Examples
    --------
    >>> from tenfold.distributions import FiniteDistribution
    >>> mse_decomposition(FiniteDistribution([-1, 1]), 0.5)
    MSEDecomposition(error=1.25, offset=0.25, variance=1.0)
    """
    error = measure.expectation(lambda x: (x - guess) ** 2)
    return MSEDecomposition(error, (guess - measure.mean) ** 2, measure.variance)


def conditional_mse_decomposition(
    table: JointTable, of: str, given: str, guess: Callable[[Any], Any]
) -> MSEDecomposition:
    """The same for a guess that may use the value of another variable, value by value.

    Examples
    --------
    >>> table = JointTable([[0.1, 0.3], [0.4, 0.2]], {"x": [0, 1], "y": [0, 10]})
    >>> parts = conditional_mse_decomposition(table, "y", "x", lambda x: 5 + 0 * x)
    >>> parts.error.round(4).tolist(), (parts.offset + parts.variance).round(4).tolist()
    ([25.0, 25.0], [25.0, 25.0])
    """
    said = np.asarray(guess(np.asarray(table.axes[given])), np.float64)
    both = table.marginal(given, of)
    squares = (np.asarray(both.axes[of], np.float64) - said[:, None]) ** 2
    total = both.p.sum(axis=1)
    out = np.full(len(total), np.nan)
    error = np.divide((both.p * squares).sum(axis=1), total, out=out, where=total > 0)
    offset = (said - conditional_mean(table, of, given)) ** 2
    return MSEDecomposition(error, offset, conditional_variance(table, of, given))
