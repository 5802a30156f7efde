"""The posterior of a linear model, from moments of the rows and a prior.

Read in order: `InterceptPrior` (the constant), `PosteriorProblem` (the data in the coordinates of the prior),
`fit_posterior` (strengths estimated or known, then mean and covariance).
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

_MAX_LOST_SHARE = {
    4: 1e-3,
    8: 1e-8,
}  # unexplained share of the target that moments of 4 or 8 bytes don't know
_MIN_EIGENVALUE_RATIO = 1e-11  # ratio of eigenvalues that an eigendecomposition knows well


class InterceptPrior(NamedTuple):
    """What the treatment of the constant does to the moments.

    A constant with prior precision k is integrated out: rows then count about (1 - share) of their
    mean, with share = k / (k + alpha n), which is 0 for a flat prior and 1 without a constant.
    """

    share: float
    used: int = 0  # flat directions that were integrated out
    variance: float = 0.0  # of the level of the plane where it turns
    log_evidence: float = 0.0

    @classmethod
    def of(cls, k: float | None, alpha: float, n: float) -> InterceptPrior:
        """For the prior precision k of the constant; None is a number set to its best value."""
        if k is None:
            return cls(0.0)
        if k == 0:
            return cls(0.0, 1, 1 / (alpha * n), -0.5 * float(np.log(n)))
        share = k / (k + alpha * n)
        return cls(share, 0, 1 / (k + alpha * n), 0.5 * float(np.log(share)))


class PosteriorProblem(NamedTuple):
    """All that is known before the fit, and the moments of [X y]."""

    moments: Moments
    prior: CoefficientPrior
    pull: InterceptPrior

    @property
    def weight(self) -> float:
        return self.moments.n - self.pull.used

    def spectrum(self) -> DesignSpectrum:
        """From the moments, in the coordinates v of the prior: w = mean + T v."""
        s, M = self.moments, self._map()
        S = s.scatter + s.n * self.pull.share * np.multiply.outer(s.mean, s.mean)
        return spectrum_from_moments(S if M is None else M.T @ S @ M, self.weight)

    def exact_spectrum(self, R: np.ndarray, eps: float) -> DesignSpectrum:
        """From the triangular factor of the rows about their mean."""
        s, M = self.moments, self._map()
        Z = np.vstack([R, np.sqrt(s.n * self.pull.share) * s.mean])
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

    def doubtful(self, found: DesignSpectrum, dtype: np.dtype) -> bool:
        """Whether the moments have lost digits that the rows still have."""
        S, p = self.moments.scatter, len(found.vectors)
        lost = found.rest <= _MAX_LOST_SHARE[dtype.itemsize] * S[-1, -1]
        narrow = (
            len(found.values) < p or found.values.min() < _MIN_EIGENVALUE_RATIO * found.values.max()
        )
        moments = LeastSquaresProblem(S[:-1, :-1], S[:-1, -1:], float(np.finfo(dtype).eps))
        return lost or narrow or not is_well_conditioned(moments, np.zeros(1), dtype)


class CoefficientPosterior(NamedTuple):
    """Mean (p,) and covariance (p, p), the strengths they hold for, and the report of the loop."""

    mean: np.ndarray
    covariance: np.ndarray
    strengths: Precisions
    log_evidence: float
    scores: np.ndarray
    report: dict[str, Any]


def fit_posterior(
    setting: PosteriorProblem,
    found: DesignSpectrum,
    start: Precisions,
    gammas: GammaHyperpriors,
    threshold: float,
    *,
    tol: float,
    max_iter: int,
) -> CoefficientPosterior:
    """Estimate what is not known of the strengths; then mean and covariance of the posterior."""
    each, limits = np.ndim(start.lam) > 0, {"tol": tol, "max_iter": max_iter}
    with np.errstate(divide="ignore"):  # a start at zero has the evidence zero
        if each:
            loop = _evidence.maximize_ard_evidence(found, start, gammas, threshold, **limits)
        else:
            loop = maximize_evidence(found, start, gammas, **limits)
    at = loop.state[0]
    v, S, evidence = _ard_moments(found, at, threshold) if each else _isotropic_moments(found, at)
    kept = _evidence.is_relevant(at.lam, threshold) if each else at.lam
    last = evidence + gammas.log_density(at.alpha, np.asarray(at.lam)[kept] if each else at.lam)
    T = setting.prior.root
    return CoefficientPosterior(
        setting.prior.coordinates(v),
        S if T is None else T @ S @ T.T,
        at,
        evidence + setting.pull.log_evidence,
        np.append(-np.array(loop.objectives), last),
        loop.report,
    )


def _isotropic_moments(s: DesignSpectrum, at: Precisions) -> tuple[np.ndarray, np.ndarray, float]:
    here = posterior_mode(s, at)
    return s.vectors @ here.v, posterior_covariance(s, at), log_evidence(s, at, here)


def _ard_moments(
    s: DesignSpectrum, at: Precisions, threshold: float
) -> tuple[np.ndarray, np.ndarray, float]:
    kept = _evidence.is_relevant(at.lam, threshold)
    here = _evidence.ard_posterior(s, at, kept)
    v, S = np.zeros(len(kept)), np.zeros((len(kept), len(kept)))
    v[kept], S[np.ix_(kept, kept)] = here.mean, here.covariance
    return v, S, here.log_evidence
