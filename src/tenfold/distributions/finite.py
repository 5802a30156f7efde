"""Distributions of finitely many outcomes, and the moments of any random variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions._mass_on_line import find_peaks
from tenfold.math.links import log_sum_exp

PROBABILITY_SUM_TOLERANCE = 1e-8  # of the sum of probabilities that is taken for 1
_TIE_TOLERANCE = 1e-12  # relative difference of probabilities that counts as rounding


class RandomVariable:
    """Base class: moments of a random variable from its expectations."""

    def expectation(self, f: Callable[[Any], Any]) -> Any:
        """Mean of f."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        return self.expectation(lambda x: x)

    @property
    def variance(self) -> Any:
        """Mean squared deviation from the mean."""
        return self.central_moment(2)

    @property
    def standard_deviation(self) -> Any:
        """Square root of the variance."""
        return np.sqrt(self.variance)

    def central_moment(self, order: int) -> Any:
        """Mean of (x - mean)^order."""
        mean = self.mean
        return self.expectation(lambda x: (x - mean) ** order)

    def skewness(self, *, raw: bool = False) -> Any:
        """Third central moment, divided by the cubed standard deviation unless `raw`."""
        third = self.central_moment(3)
        return third if raw else third / self.standard_deviation**3

    def kurtosis(self, *, raw: bool = False) -> Any:
        """Fourth central moment, divided by the squared variance unless `raw` (3 for a normal)."""
        fourth = self.central_moment(4)
        return fourth if raw else fourth / self.variance**2


class BayesUpdate(NamedTuple):
    """Result of Bayes' rule: the posterior, and the log marginal likelihood of the data."""

    posterior: FiniteDistribution
    log_evidence: float


class FiniteDistribution(RandomVariable):
    """A distribution of finitely many outcomes.

    Parameters
    ----------
    outcomes : sequence
        Different outcomes: numbers, names, tuples. Moments and `cdf` need numbers.
    p : sequence, optional
        Their probabilities; equal by default.

    Examples
    --------
    Ratings of a film: the mean is a rating of low probability.

    >>> stars = FiniteDistribution([1, 2, 3, 4, 5], [0.3, 0.2, 0.05, 0.15, 0.3])
    >>> round(stars.mean, 4), stars.modes(), round(stars.variance, 4), round(stars.pmf(3), 4)
    (2.95, [1, 5], 2.7475, 0.05)

    Two dice whose sum is 5:

    >>> dice = FiniteDistribution(range(1, 7)).product(FiniteDistribution(range(1, 7)))
    >>> round(dice.probability(lambda roll: sum(roll) == 5), 6)
    0.111111
    """

    def __init__(self, outcomes: Iterable[Any], p: Any = None) -> None:
        self.outcomes = [x.item() if isinstance(x, np.generic) else x for x in outcomes]
        k = len(self.outcomes)
        self.p = np.full(k, 1 / k) if p is None else np.asarray(p, np.float64)
        if self.p.shape != (k,) or len(set(self.outcomes)) < k:
            raise ValueError("give a probability for each outcome, and no outcome twice")
        if not (self.p >= 0).all() or abs(self.p.sum() - 1) > PROBABILITY_SUM_TOLERANCE:
            raise ValueError(
                f"probabilities must not be negative and must sum to 1, got {self.p} with the sum "
                f"{self.p.sum()}"
            )

    def __repr__(self) -> str:
        pairs = zip(self.outcomes, self.p.tolist(), strict=True)
        return f"FiniteDistribution({', '.join(f'{x!r}: {p:.4g}' for x, p in pairs)})"

    @property
    def values(self) -> np.ndarray:
        """The outcomes as an array, (k,) or (k, d)."""
        return np.asarray(self.outcomes)

    def pmf(self, outcome: Any) -> float:
        """Probability of one outcome; 0 if it is not among them."""
        return float(sum(p for x, p in zip(self.outcomes, self.p, strict=True) if x == outcome))

    def cdf(self, x: Any) -> np.ndarray:
        """Probability of the numbers up to x."""
        return (self.p * (self.values <= np.asarray(x)[..., None])).sum(axis=-1)

    def probability(self, event: Callable[[Any], bool] | Iterable[Any]) -> float:
        """Probability of an event: a set of outcomes, or a predicate of an outcome."""
        inside = event if callable(event) else set(event).__contains__
        return float(sum(p for x, p in zip(self.outcomes, self.p, strict=True) if inside(x)))

    def expectation(self, f: Callable[[Any], Any]) -> Any:
        """Mean of f, which maps the array of outcomes to a value or a row for each."""
        mean = self.p @ np.asarray(f(self.values))
        return float(mean) if np.ndim(mean) == 0 else mean

    def modes(self, *, local: bool = False) -> list[Any]:
        """All outcomes of the highest probability; `local`: all local maxima.

        Neighbors of equal probability are local maxima together, or not at all.
        """
        if not local:
            top = self.p.max()
            return [
                x
                for x, p in zip(self.outcomes, self.p, strict=True)
                if p >= top * (1 - _TIE_TOLERANCE)
            ]
        order = np.argsort(self.values, kind="stable")
        p = self.p[order]
        for i in range(1, len(p)):  # what differs by rounding alone is a plateau
            p[i] = p[i - 1] if abs(p[i] - p[i - 1]) <= _TIE_TOLERANCE * p[i] else p[i]
        high = [i for first, last in find_peaks(p) if p[first] > 0 for i in range(first, last + 1)]
        return [self.outcomes[i] for i in order[high]]

    def image(self, f: Callable[[Any], Any]) -> FiniteDistribution:
        """The distribution of f(outcome), the image of this one under f.

        Examples
        --------
        >>> FiniteDistribution("HT").image(lambda side: 1 if side == "H" else -1)
        FiniteDistribution(1: 0.5, -1: 0.5)
        """
        sums: dict[Any, float] = {}
        for x, p in zip(self.outcomes, self.p, strict=True):
            sums[f(x)] = sums.get(f(x), 0.0) + p
        return FiniteDistribution(sums, list(sums.values()))

    def product(self, other: FiniteDistribution) -> FiniteDistribution:
        """The distribution of pairs of independent outcomes."""
        pairs = [(x, y) for x in self.outcomes for y in other.outcomes]
        return FiniteDistribution(pairs, np.multiply.outer(self.p, other.p).ravel())

    def sample(self, n: int, rng: np.random.Generator) -> list[Any]:
        """Draw n outcomes."""
        return [self.outcomes[i] for i in rng.choice(len(self.p), n, p=self.p)]

    def update(self, log_likelihood: Any) -> BayesUpdate:
        r"""Bayes' rule: the posterior after data with these log-likelihoods, (n_outcomes,).

        .. math:: p(\theta \mid x) = \frac{p(x \mid \theta)\, p(\theta)}
                  {\sum_{\theta'} p(x \mid \theta')\, p(\theta')}

        Examples
        --------
        Three coins, and 7 heads in 10 flips:

        >>> from tenfold.distributions import Binomial
        >>> coins = FiniteDistribution([0.2, 0.5, 0.8])
        >>> result = coins.update([Binomial(10, p).log_density([7])[0] for p in coins.outcomes])
        >>> round(float(np.exp(result.log_evidence)), 4), result.posterior.p.round(4).tolist()
        (0.1064, [0.0025, 0.367, 0.6305])
        """
        with np.errstate(divide="ignore"):
            joint = np.asarray(log_likelihood, np.float64) + np.log(self.p)
        evidence = float(log_sum_exp(joint))
        if evidence == -np.inf:
            raise ValueError("the data are impossible under every outcome of the prior")
        posterior = np.exp(joint - evidence)
        return BayesUpdate(FiniteDistribution(self.outcomes, posterior / posterior.sum()), evidence)
