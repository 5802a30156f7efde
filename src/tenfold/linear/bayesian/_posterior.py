"""The posterior of a Gaussian linear model, from the moments of the rows and a prior.

`InterceptPrior` treats the intercept, `PosteriorProblem` holds the data in the coordinates of the
prior, `fit_posterior` estimates unknown precisions and returns mean and covariance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.linear._least_squares_solvers import LeastSquaresProblem, is_well_conditioned
from tenfold.linear.bayesian import _evidence
from tenfold.linear.bayesian._evidence import (
    DesignSpectrum,
    GammaHyperpriors,
    Precisions,
    log_evidence,
    maximize_evidence,
    posterior_covariance,
    posterior_mode,
    spectrum_from_moments,
    spectrum_from_rows,
)
from tenfold.linear.bayesian.prior import CoefficientPrior
from tenfold.stats.moments import Moments

# Unexplained share of the target below which moments of 4- or 8-byte floats are only rounding.
_MAX_LOST_SHARE = {4: 1e-3, 8: 1e-8}
_MIN_EIGENVALUE_RATIO = 1e-11  # smallest to largest that an eigendecomposition resolves


class InterceptPrior(NamedTuple):
    """Effect of the prior of the intercept on the moments.

    An intercept with prior precision k is integrated out: moments are then taken about
    (1 - share) mean, with share = k / (k + alpha n); 0 for a flat prior, 1 without an intercept.
    """

    share: float
    n_integrated: int = 0  # parameters with a flat prior that were integrated out
    variance: float = 0.0  # of the posterior of the intercept at the pivot
    log_evidence: float = 0.0

    @classmethod
    def of(cls, k: float | None, alpha: float, n: float) -> InterceptPrior:
        """For prior precision k of the intercept; None: a parameter set to its best value."""
        if k is None:
            return cls(0.0)
        if k == 0:
            return cls(0.0, 1, 1 / (alpha * n), -0.5 * float(np.log(n)))
        share = k / (k + alpha * n)
        return cls(share, 0, 1 / (k + alpha * n), 0.5 * float(np.log(share)))


class PosteriorProblem(NamedTuple):
    """Moments of [X y], the prior of the coefficients, and that of the intercept."""

    moments: Moments
    prior: CoefficientPrior
    intercept: InterceptPrior

    @property
    def weight(self) -> float:
        return self.moments.n - self.intercept.n_integrated

    def spectrum(self) -> DesignSpectrum:
        """Spectrum from the moments, in the coordinates v of the prior: w = mean + T v."""
        s, M = self.moments, self._map()
        S = s.scatter + s.n * self.intercept.share * np.multiply.outer(s.mean, s.mean)
        return spectrum_from_moments(S if M is None else M.T @ S @ M, self.weight)

    def spectrum_from_factor(self, R: np.ndarray, eps: float) -> DesignSpectrum:
        """Spectrum from the triangular factor of the centered rows, which keeps more digits."""
        s, M = self.moments, self._map()
        Z = np.vstack([R, np.sqrt(s.n * self.intercept.share) * s.mean])
        return spectrum_from_rows(Z if M is None else Z @ M, self.weight, eps)

    def _map(self) -> np.ndarray | None:
        """[X y] M = [X T, y - X mean]; None is the identity."""
        mean, root, _ = self.prior
        if root is None and not mean.any():
            return None
        M = np.eye(len(mean) + 1)
        M[:-1, :-1] = M[:-1, :-1] if root is None else root
        M[:-1, -1] = -mean
        return M

    def has_lost_digits(self, spectrum: DesignSpectrum, dtype: np.dtype) -> bool:
        """Whether the moments have lost digits that the rows still have."""
        S, p = self.moments.scatter, len(spectrum.vectors)
        target_lost = spectrum.unexplained <= _MAX_LOST_SHARE[dtype.itemsize] * S[-1, -1]
        ill_conditioned = (
            len(spectrum.values) < p
            or spectrum.values.min() < _MIN_EIGENVALUE_RATIO * spectrum.values.max()
        )
        moments = LeastSquaresProblem(S[:-1, :-1], S[:-1, -1:], float(np.finfo(dtype).eps))
        return (
            target_lost or ill_conditioned or not is_well_conditioned(moments, np.zeros(1), dtype)
        )


class CoefficientPosterior(NamedTuple):
    """Mean (n_features,), covariance, the precisions they hold for, and the report of the loop."""

    mean: np.ndarray
    covariance: np.ndarray
    precisions: Precisions
    log_evidence: float
    scores: np.ndarray
    report: dict[str, Any]


def fit_posterior(
    problem: PosteriorProblem,
    spectrum: DesignSpectrum,
    initial: Precisions,
    hyperpriors: GammaHyperpriors,
    threshold: float,
    *,
    tol: float,
    max_iter: int,
) -> CoefficientPosterior:
    """Maximize the evidence over unknown precisions; then compute mean and covariance."""
    is_ard, limits = np.ndim(initial.lam) > 0, {"tol": tol, "max_iter": max_iter}
    with np.errstate(divide="ignore"):  # an initial precision of zero has evidence zero
        if is_ard:
            loop = _evidence.maximize_ard_evidence(
                spectrum, initial, hyperpriors, threshold, **limits
            )
        else:
            loop = maximize_evidence(spectrum, initial, hyperpriors, **limits)
    precisions = loop.state[0]
    v, S, evidence = (
        _ard_moments(spectrum, precisions, threshold)
        if is_ard
        else _isotropic_moments(spectrum, precisions)
    )
    relevant = _evidence.is_relevant(precisions.lam, threshold) if is_ard else precisions.lam
    final_score = evidence + hyperpriors.log_density(
        precisions.alpha, np.asarray(precisions.lam)[relevant] if is_ard else precisions.lam
    )
    T = problem.prior.root
    return CoefficientPosterior(
        problem.prior.coordinates(v),
        S if T is None else T @ S @ T.T,
        precisions,
        evidence + problem.intercept.log_evidence,
        np.append(-np.array(loop.objectives), final_score),
        loop.report,
    )


def _isotropic_moments(
    s: DesignSpectrum, precisions: Precisions
) -> tuple[np.ndarray, np.ndarray, float]:
    mode = posterior_mode(s, precisions)
    return (
        s.vectors @ mode.v,
        posterior_covariance(s, precisions),
        log_evidence(s, precisions, mode),
    )


def _ard_moments(
    s: DesignSpectrum, precisions: Precisions, threshold: float
) -> tuple[np.ndarray, np.ndarray, float]:
    relevant = _evidence.is_relevant(precisions.lam, threshold)
    ard = _evidence.ard_posterior(s, precisions, relevant)
    v, S = np.zeros(len(relevant)), np.zeros((len(relevant), len(relevant)))
    v[relevant], S[np.ix_(relevant, relevant)] = ard.mean, ard.covariance
    return v, S, ard.log_evidence
