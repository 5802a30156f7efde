r"""Deviances of the Tweedie family: Gaussian, Poisson, compound Poisson, gamma, inverse Gaussian.

The variance of y is proportional to a power p of its mean :math:`\mu`: 0 is the normal
distribution, 1 Poisson, between 1 and 2 a sum of a Poisson number of gamma variables, 2 gamma, 3
inverse Gaussian. Half the deviance is, up to a term of y,

.. math:: \frac{\mu^{2-p}}{2-p} - \frac{y\, \mu^{1-p}}{1-p},

with logarithms in place of the powers zero.

References
----------
B. Jorgensen (1987), Exponential dispersion models. Journal of the Royal Statistical Society B 49.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from tenfold.math.losses import DevianceLoss


@dataclass(frozen=True)
class TweedieLoss(DevianceLoss):
    """Half the Tweedie deviance of a power, with the logarithm or the identity as link.

    Where the loss is not convex in the score, `curvature` is its expectation, as in Fisher scoring.

    Examples
    --------
    >>> import numpy as np
    >>> loss = TweedieLoss(2.0)
    >>> z, y = np.log([2.0]), np.array([2.0])
    >>> loss.gradient(z, y).tolist(), (loss.value(z, y) - loss.minimum(y)).tolist()
    ([0.0], [0.0])
    """

    power: float = 1.5
    link: str = "log"

    @property
    def may_diverge(self) -> bool:
        return self.link == "log" and 1 <= self.power < 2

    def mean(self, z: np.ndarray) -> np.ndarray:
        return np.exp(z) if self.link == "log" else np.asarray(z)

    def score_of_mean(self, mean: float) -> float:
        return float(np.log(mean)) if self.link == "log" else float(mean)

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        if self.power == 0:
            return 0.5 * (self.mean(z) - y) ** 2
        if self.link == "identity":
            z = np.log(np.where(z > 0, z, np.nan))  # the line search steps back from NaN
        return _power_integral(z, 2 - self.power) - y * _power_integral(z, 1 - self.power)

    def gradient(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        if self.link == "identity":
            return (z - y) * self._inverse_variance(z)
        return np.exp((2 - self.power) * z) - y * np.exp((1 - self.power) * z)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        if self.link == "identity":
            return self._inverse_variance(z)
        p, expected = self.power, np.exp((2 - self.power) * z)
        if 1 <= p <= 2:
            return (2 - p) * expected + (p - 1) * y * np.exp((1 - p) * z)
        return expected

    def _inverse_variance(self, mean: np.ndarray) -> np.ndarray:
        """mean^-p, NaN where no y has this mean."""
        if self.power == 0:
            return np.ones_like(mean)
        return np.where(mean > 0, mean, np.nan) ** -self.power

    def minimum(self, y: np.ndarray) -> np.ndarray:
        p = self.power
        if p == 0:
            return np.zeros_like(y)
        if p == 1:
            return y - xlogy(y, y)
        if p == 2:
            return 1 + np.log(y)
        return -(np.maximum(y, 0.0) ** (2 - p)) / ((1 - p) * (2 - p))

    def out_of_range(self, y: np.ndarray) -> np.ndarray:
        if self.power <= 0:
            return np.zeros(len(y), bool)
        return y < 0 if self.power < 2 else y <= 0


def _power_integral(z: np.ndarray, a: float) -> np.ndarray:
    """exp(a z) / a, and z for a = 0: the integral of exp(a z) up to a constant."""
    return z if a == 0 else np.exp(a * z) / a
