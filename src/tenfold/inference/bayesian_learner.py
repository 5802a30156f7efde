"""From a prior and a likelihood to a posterior: exact where it can be, else approximate.

A learner only needs to know how probable parameters are before the data, and how probable data are
given parameters. What comes out is always the same kind of object: weighted points in the space of
the parameters, with mean, covariance, mode and (a bound of) the evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tenfold.distributions.base import ColumnwiseDistribution, as_parameter_row, as_rows
from tenfold.distributions.finite import FiniteDistribution
from tenfold.distributions.quadrature import quadrature_nodes
from tenfold.math.links import log_sum_exp

_POSTERIOR_METHODS = ("exact", "laplace", "mcmc", "variational")
LogDensity = Callable[[np.ndarray], np.ndarray]


class WeightedPosterior(NamedTuple):
    """What is believed about parameters after the data.

    Attributes
    ----------
    points : (m, d) points; all that are possible, quadrature nodes, or draws
    weights : (m,) their probabilities
    mean, covariance : (d,) and (d, d)
    mode : (d,) the most probable parameters
    log_evidence : log-probability of the data; a lower bound if "variational", NaN if "mcmc"
    unnormalised : log of prior times likelihood, as a function of points (m, d)
    likelihood : log-likelihood of each new row, as a function of points and data
    belief : the posterior as a density or measure, where there is one
    report : how the method did
    """

    points: np.ndarray
    weights: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    mode: np.ndarray
    log_evidence: float
    unnormalised: LogDensity
    likelihood: Callable[..., np.ndarray]
    belief: Any
    report: dict[str, Any]

    def log_density(self, thetas: Any) -> np.ndarray:
        """Log of the unnormalised posterior, prior times likelihood, at points (m, d)."""
        return self.unnormalised(as_parameter_row(thetas))

    def expectation(self, f: Callable[[np.ndarray], Any]) -> Any:
        """Mean of f, which gets points (m, d) and returns a value or a row for each."""
        return self.weights @ np.asarray(f(self.points))

    def central_moment(self, order: int) -> np.ndarray:
        """Mean of (theta - mean)^order, entry by entry, (d,)."""
        return self.expectation(lambda thetas: (thetas - self.mean) ** order)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n parameters from the weighted points."""
        return self.points[rng.choice(len(self.points), n, p=self.weights)]

    def log_predictive(self, *data: Any) -> np.ndarray:
        r"""Log-probability of each new row, whatever the parameters are, (n,).

        .. math:: \log p(x^* \mid D) = \log \int p(x^* \mid \theta)\, p(\theta \mid D)\, d\theta
        """
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        return log_sum_exp(self.likelihood(self.points, *data).T + logs)


@dataclass(frozen=True)
class BayesianLearner:
    r"""Bayesian learning with any prior and any likelihood.

    .. math:: p(\theta \mid D) = p(D \mid \theta)\, p(\theta) / p(D)

    The posterior is exact if the prior is finite or conjugate to the likelihood. Else it is a
    Gaussian about the mode (Laplace), draws of an affine-invariant ensemble (MCMC), or the closest
    Gaussian with independent entries (variational: the evidence bound
    :math:`E_q \log p(D, \theta) + H(q)` is maximised). [000, 2.3.2; 001, A.7]

    Parameters
    ----------
    prior : FiniteMeasure, density, or callable
        A measure of possible parameters (numbers or tuples); a density of `tenfold.distributions`
        with parameters as rows; or the log-density of points (m, d), (m,), up to a constant.
    likelihood : density or callable
        A density that the prior is conjugate to, such as `Bernoulli()`; or a function of points
        (m, d) and data that returns the log-likelihood of each row at each point, (m, n).
    start : (d,) array, optional
        Where the search for the mode begins; the mean of the prior by default.

    Examples
    --------
    A coin: exactly, and as if no formula were known.

    >>> from tenfold.distributions import Bernoulli, Beta
    >>> from tenfold.math.links import log_sigmoid
    >>> flips = np.array([1, 1, 1, 0, 1, 1, 0, 1, 0, 1])
    >>> exact = BayesianLearner(Beta(1, 1), Bernoulli()).posterior(flips)
    >>> exact.mean.round(4).tolist(), exact.mode.round(4).tolist()
    ([0.6667], [0.7])
    >>> float(np.exp(exact.log_predictive([1])[0]).round(4))
    0.6667
    >>> free = BayesianLearner(  # the log-odds of heads, with the same prior
    ...     lambda t: log_sigmoid(t[:, 0]) + log_sigmoid(-t[:, 0]),
    ...     lambda t, x: log_sigmoid(t * (2 * x - 1)),
    ...     start=np.zeros(1),
    ... )
    >>> drawn = free.posterior(flips, method="mcmc", draws=2000)
    >>> bool(abs(drawn.expectation(lambda t: 1 / (1 + np.exp(-t)))[0] - 2 / 3) < 0.01)
    True
    """

    prior: Any
    likelihood: Any
    start: Any = None

    def posterior(self, *data: Any, method: str | None = None, **options: Any) -> WeightedPosterior:
        """What is believed after the data.

        Parameters
        ----------
        *data : arrays
            What the likelihood gets; rows X, or X and targets y.
        method : {"exact", "laplace", "mcmc", "variational"}, optional
            Exact by default, if there is an exact way, else Laplace's.
        **options :
            Of the method. "exact": `nodes`, points of the quadrature. "laplace", "variational":
            `draws`, `seed`. "mcmc": `draws`, `warmup`, `walkers`, `seed`.

        Returns
        -------
        Posterior
        """
        method = method or ("exact" if self._is_exact() else "laplace")
        if method not in _POSTERIOR_METHODS:
            raise ValueError(f"method must be one of {_POSTERIOR_METHODS}, got {method!r}")
        if method != "exact":
            from tenfold.inference import posterior_approximation

            return getattr(posterior_approximation, method)(self, data, **options)
        if not self._is_exact():
            raise ValueError("no exact posterior: the prior is neither finite nor conjugate")
        return self._finite(data) if self._is_finite() else self._conjugate(data, **options)

    def mode(self, *data: Any) -> np.ndarray:
        """The most probable parameters, (d,)."""
        from tenfold.inference.posterior_approximation import find_mode

        return self.posterior(*data).mode if self._is_exact() else find_mode(self, data)

    def unnormalised(self, *data: Any) -> LogDensity:
        """Log of prior times likelihood of the data, a function of points (m, d)."""

        def log_joint(thetas: np.ndarray) -> np.ndarray:
            before = self.log_prior(thetas)
            inside = before > -np.inf  # the likelihood is not asked about what cannot be
            total = np.full(len(thetas), -np.inf)
            if inside.any():
                each = self.log_likelihood(thetas[inside], *data)
                total[inside] = before[inside] + each.sum(axis=1)
            return np.where(np.isnan(total), -np.inf, total)

        return log_joint

    def log_prior(self, thetas: np.ndarray) -> np.ndarray:
        """Log of the prior at points (m, d)."""
        if self._is_finite():
            with np.errstate(divide="ignore"):
                return np.log([self.prior.pmf(_as_outcome(theta)) for theta in thetas])
        if hasattr(self.prior, "log_density"):
            return self.prior.log_density(thetas)
        return np.asarray(self.prior(thetas), np.float64)

    def log_likelihood(self, thetas: np.ndarray, *data: Any) -> np.ndarray:
        """Log-likelihood of each row at each point, (m, n)."""
        data = tuple(np.asarray(part) if isinstance(part, list) else part for part in data)
        if not hasattr(self.likelihood, "log_density"):
            return np.asarray(self.likelihood(thetas, *data), np.float64)
        if isinstance(self.likelihood, ColumnwiseDistribution) and thetas.shape[1] == 1:
            return self.likelihood.at(thetas[:, 0]).entry_logs(as_rows(*data)).T
        at = [self.likelihood.at(theta) for theta in thetas]
        return np.stack([density.log_density(*data) for density in at])

    def _is_finite(self) -> bool:
        return isinstance(self.prior, FiniteDistribution)

    def _is_exact(self) -> bool:
        conjugate = getattr(self.likelihood, "is_conjugate", None)
        return self._is_finite() or (conjugate is not None and conjugate(self.prior))

    def _finite(self, data: tuple) -> WeightedPosterior:
        points = self.prior.values.astype(np.float64).reshape(len(self.prior.p), -1)
        found = self.prior.updated(self.log_likelihood(points, *data).sum(axis=1))
        p = found.posterior.p
        return self.summed(data, points, p, points[p.argmax()], found.log_evidence, found.posterior)

    def _conjugate(self, data: tuple, nodes: int = 64, draws: int = 20000) -> WeightedPosterior:
        density = replace(self.likelihood, prior=self.prior)
        belief = density.posterior(density.statistic(*data))
        if isinstance(belief.mode, tuple):
            raise TypeError(
                "mean and covariance together are no vector: use Gaussian(prior=...).learned(X)"
            )
        points, p = quadrature_nodes(belief, nodes, draws)
        mode, evidence = np.atleast_1d(belief.mode), density.log_evidence(*data)
        found = self.summed(data, points, p, mode, evidence, belief)
        C = belief.covariance if np.ndim(getattr(belief, "covariance", 0)) == 2 else None
        exact = found.covariance if C is None else C
        return found._replace(mean=np.atleast_1d(belief.mean), covariance=exact)

    def summed(
        self,
        data: tuple,
        points: np.ndarray,
        p: np.ndarray,
        mode: np.ndarray,
        log_evidence: float,
        belief: Any = None,
        report: dict[str, Any] | None = None,
    ) -> WeightedPosterior:
        """A posterior from weighted points."""
        mean = p @ points
        covariance = (points - mean).T * p @ (points - mean)
        f, likelihood = self.unnormalised(*data), self.log_likelihood
        return WeightedPosterior(
            points, p, mean, covariance, mode, log_evidence, f, likelihood, belief, report or {}
        )


def _as_outcome(theta: np.ndarray) -> Any:
    """A point as an outcome of a finite measure: a number, or a tuple of them."""
    return theta.item() if len(theta) == 1 else tuple(theta.tolist())
