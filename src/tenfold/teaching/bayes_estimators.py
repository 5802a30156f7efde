"""Bayes estimators: the point estimate of least expected loss, for each loss.

Squared loss asks for the mean, absolute loss for the median, the quantile (pinball) loss for a
quantile, and 0-1 loss for the mode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.math.links import as_float_array, normal_cdf, normal_pdf, normal_quantile

_LOSSES = ("squared", "absolute", "quantile", "zero-one")
_QUANTILE_ROUNDING = 1e-12  # of cumulated probabilities: 0.1 + 0.2 reaches the quantile 0.3


class FiniteBelief(NamedTuple):
    """A discrete belief about a number, or a sample.

    Attributes
    ----------
    values : (m,) possible numbers
    probabilities : (m,), or (n, m) for n unknown numbers; any weights, equal by default
    """

    values: Any
    probabilities: Any = None

    def sorted_distribution(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct values in ascending order, and their probabilities."""
        all_values = as_float_array(self.values)
        order = all_values.argsort(kind="stable")
        values, first = np.unique(all_values[order], return_index=True)
        given = (
            np.ones(len(order))
            if self.probabilities is None
            else as_float_array(self.probabilities)
        )
        total = given.sum(axis=-1, keepdims=True)
        if (given < 0).any() or not (total > 0).all():
            raise ValueError("probabilities must not be negative, and some must be positive")
        return values, np.add.reduceat((given / total)[..., order], first, axis=-1)


class NormalBelief(NamedTuple):
    """A normal belief about a number, or about many: `NormalBelief(*model.predict(X, True))`.

    Attributes
    ----------
    mean, deviation : numbers or arrays
    """

    mean: Any
    standard_deviation: Any


def bayes_estimate(
    belief: FiniteBelief | NormalBelief, loss: str = "squared", q: float = 0.5
) -> np.ndarray:
    """The estimate of least expected loss; the smallest of several equally good ones.

    Parameters
    ----------
    belief : Finite or Normal
        The distribution of the number.
    loss : {"squared", "absolute", "quantile", "zero-one"}
        Loss of an error e: `e^2`; `|e|`; q e if the estimate is too low and (q - 1) e if it is too
        high; 1 unless e = 0 (for `NormalBelief`, the density counts).
    q : float
        The quantile. With costs of a per unit too low and b per unit too high, it is a / (a + b).

    Examples
    --------
    >>> sample = FiniteBelief([1, 2, 2, 10])
    >>> [float(bayes_estimate(sample, loss)) for loss in ("squared", "absolute", "zero-one")]
    [3.75, 2.0, 2.0]
    >>> float(bayes_estimate(NormalBelief(5.0, 2.0), "quantile", q=0.975).round(2))
    8.92
    """
    q = _loss_quantile(loss, q)
    if isinstance(belief, NormalBelief):
        mean, deviation = map(as_float_array, belief)
        return mean if loss in ("squared", "zero-one") else mean + deviation * normal_quantile(q)
    values, p = belief.sorted_distribution()
    if loss == "squared":
        return p @ values
    if loss == "zero-one":
        return values[p.argmax(axis=-1)]
    return values[(p.cumsum(axis=-1) >= q - _QUANTILE_ROUNDING).argmax(axis=-1)]


def expected_loss(
    belief: FiniteBelief | NormalBelief, estimate: Any, loss: str = "squared", q: float = 0.5
) -> np.ndarray:
    """Expected loss of an estimate, with the losses of `bayes_estimate`.

    Examples
    --------
    >>> sample = FiniteBelief([1, 2, 2, 10])
    >>> float(expected_loss(sample, 2, "absolute")), float(expected_loss(sample, 3, "absolute"))
    (2.25, 2.75)
    """
    q, estimate = _loss_quantile(loss, q), as_float_array(estimate)
    if isinstance(belief, NormalBelief):
        mean, deviation = map(as_float_array, belief)
        return _expected_normal_loss(mean, deviation, estimate, loss, q)
    values, p = belief.sorted_distribution()
    return (p * _elementwise_loss(values - estimate[..., None], loss, q)).sum(axis=-1)


def _loss_quantile(loss: str, q: float) -> float:
    if loss not in _LOSSES:
        raise ValueError(f"loss must be one of {_LOSSES}, got {loss!r}")
    if not 0 < q < 1:
        raise ValueError(f"a quantile lies between 0 and 1, got q={q}")
    return q if loss == "quantile" else 0.5


def _elementwise_loss(error: np.ndarray, loss: str, q: float) -> np.ndarray:
    if loss == "squared":
        return error**2
    if loss == "zero-one":
        return (error != 0).astype(float)
    pinball = np.maximum(q * error, (q - 1) * error)
    return pinball if loss == "quantile" else 2 * pinball


def _expected_normal_loss(
    mean: np.ndarray, deviation: np.ndarray, guess: np.ndarray, loss: str, q: float
) -> np.ndarray:
    if loss == "squared":
        return (guess - mean) ** 2 + deviation**2
    if loss == "zero-one":
        return np.ones(np.broadcast_shapes(mean.shape, deviation.shape, guess.shape))
    t = (guess - mean) / deviation
    pinball = deviation * (normal_pdf(t) + t * (normal_cdf(t) - q))
    return pinball if loss == "quantile" else 2 * pinball
