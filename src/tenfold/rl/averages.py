"""Averages of samples: exponential ones, and expectations with and without a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def exponential_average(
    x: Any, rate: float, *, how: str = "normalized", start: Any = None
) -> float:
    r"""Average in which older samples count less.

    Normalized, :math:`\sum_i (1-\alpha)^{n-i} x_i / \sum_i (1-\alpha)^{n-i}`; recursive,
    :math:`\bar x_n = (1-\alpha) \bar x_{n-1} + \alpha x_n` from a start. The two agree only in the
    limit: a recursion from zero is too small by the factor :math:`1 - (1-\alpha)^n`.

    Parameters
    ----------
    x : sequence of numbers
    rate : float
        :math:`\alpha` in (0, 1].
    how : {"normalized", "recursive", "corrected"}
        "corrected" is the recursion from zero divided by its factor, which is the normalized one.
    start : float, optional
        Of the recursion; the first sample by default.

    Examples
    --------
    >>> x = [1, 2, 3, 4]
    >>> round(exponential_average(x, 0.5), 6)
    3.266667
    >>> [exponential_average(x, 0.5, how="recursive", start=s) for s in (None, 0.0)]
    [3.125, 3.0625]
    """
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"x has shape {values.shape}: expected a list of at least one number")
    if not np.isfinite(values).all():
        raise ValueError("x holds numbers that are not finite")
    if not 0 < rate <= 1:
        raise ValueError(f"rate={rate}: expected a number above 0, at most 1")
    if how == "normalized":
        weights = (1 - rate) ** np.arange(len(values))[::-1]
        return float(weights @ values / weights.sum())
    if how not in {"recursive", "corrected"}:
        raise ValueError(f"how={how!r}: there are 'normalized', 'recursive' and 'corrected'")
    is_corrected = how == "corrected"
    mean = 0.0 if is_corrected else float(values[0] if start is None else start)
    for value in values[1:] if start is None and not is_corrected else values:
        mean = (1 - rate) * mean + rate * value
    return float(mean / (1 - (1 - rate) ** len(values)) if is_corrected else mean)


def model_based_mean(samples: Any, f: Callable[[Any], float]) -> float:
    """E f(X) from estimated probabilities: the sum of f(x) count(x) / K over the values x.

    Parameters
    ----------
    samples : list of values
    f : callable

    Examples
    --------
    >>> model_based_mean([1, 1, 2, 4], lambda x: x * x)
    5.5
    """
    values, counts = np.unique(_as_samples(samples), return_counts=True)
    return float(sum(c / counts.sum() * f(v) for v, c in zip(values.tolist(), counts, strict=True)))


def model_free_mean(samples: Any, f: Callable[[Any], float]) -> float:
    """E f(X) as the mean of f over the samples; equal to the model-based one on the same samples.

    Parameters
    ----------
    samples : list of values
    f : callable

    Examples
    --------
    >>> model_free_mean([1, 1, 2, 4], lambda x: x * x)
    5.5
    """
    return float(np.mean([f(value) for value in _as_samples(samples).tolist()]))


def _as_samples(samples: Any) -> np.ndarray:
    array = np.asarray(samples)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"samples has shape {array.shape}: expected a list of at least one value")
    return array
