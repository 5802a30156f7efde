"""Evidence (marginal likelihood) of a Gaussian linear model and its maximization: one prior precision, or one per coefficient (ARD)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tenfold.optim.convergence import until_converged


class DesignSpectrum(NamedTuple):
    """|y - X v|^2 = rest + sum_i s_i (v_i - along_i / s_i)^2 for the coordinates v_i of v.

    Attributes
    ----------
    values : (k,) squares s of the singular values of X, all positive
    along : (k,) coordinates of X'y
    vectors : (p, k) directions in which v has these coordinates
    rest : what no v explains
    weight : weight of the rows, less the parameters that were integrated out
    """

    values: np.ndarray
    along: np.ndarray
    vectors: np.ndarray
    rest: float
    weight: float


class GammaHyperpriors(NamedTuple):
    """Shapes and rates of the Gamma priors of alpha and lambda."""

    alpha_1: float
    alpha_2: float
    lambda_1: float
    lambda_2: float

    def log_density(self, alpha: float, lam: np.ndarray | float) -> float:
        """Up to a constant."""
        log_alpha, log_lam = np.log(alpha), np.log(lam)
        noise = self.alpha_1 * log_alpha - self.alpha_2 * alpha
        return float(noise + np.sum(self.lambda_1 * log_lam - self.lambda_2 * np.asarray(lam)))


class Precisions(NamedTuple):
    """Precision of the noise and of the coefficients, and whether each one is known."""

    alpha: float
    lam: np.ndarray | float
    alpha_known: bool
    lam_known: bool

    def updated(
        self,
        gammas: GammaHyperpriors,
        determined: np.ndarray | float,
        squares: np.ndarray | float,
        misfit: float,
        weight: float,
    ) -> Precisions:
        """One round of MacKay's fixed point; `determined` counts well-determined parameters."""
        lam, alpha = self.lam, self.alpha
        if not self.lam_known:
            lam = (determined + 2 * gammas.lambda_1) / (squares + 2 * gammas.lambda_2)
        if not self.alpha_known:
            free = weight - float(np.sum(determined))
            alpha = (free + 2 * gammas.alpha_1) / (misfit + 2 * gammas.alpha_2)
        return self._replace(alpha=float(alpha), lam=lam)


def spectrum_from_moments(S: np.ndarray, weight: float) -> DesignSpectrum:
    """From the second moments of [X y]."""
    values, V = np.linalg.eigh(S[:-1, :-1])
    kept = values > len(S) * np.finfo(float).eps * max(values.max(initial=0.0), 0.0)
    values, V = values[kept], V[:, kept]
    along = V.T @ S[:-1, -1]
    rest = max(float(S[-1, -1] - (along**2 / values).sum()), 0.0)
    return DesignSpectrum(values, along, V, rest, weight)


def spectrum_from_rows(Z: np.ndarray, weight: float, eps: float) -> DesignSpectrum:
    """From rows [X y], or any triangle with the same second moments: keeps more digits."""
    U, sizes, Vt = np.linalg.svd(Z[:, :-1], full_matrices=False)
    kept = sizes > max(Z.shape) * eps * sizes.max(initial=0.0)
    U, sizes, Vt = U[:, kept], sizes[kept], Vt[kept]
    part = U.T @ Z[:, -1]
    rest = float(((Z[:, -1] - U @ part) ** 2).sum())
    return DesignSpectrum(sizes**2, sizes * part, Vt.T, rest, weight)


class CoefficientMode(NamedTuple):
    """The best coordinates for some strengths, their precisions, what is left of the squares."""

    v: np.ndarray
    precision: np.ndarray
    misfit: float


def posterior_mode(s: DesignSpectrum, at: Precisions) -> CoefficientMode:
    """The mean of the posterior along each direction."""
    precision = at.lam + at.alpha * s.values
    part = s.along / precision
    misfit = s.rest + float((at.lam * part) @ (at.lam * part / s.values))
    return CoefficientMode(at.alpha * part, precision, misfit)


def log_evidence(s: DesignSpectrum, at: Precisions, here: CoefficientMode) -> float:
    """Log-probability of the target when the coefficients are integrated out."""
    volume = len(s.values) * np.log(at.lam) - np.log(here.precision).sum()
    noise = s.weight * np.log(at.alpha / (2 * np.pi))
    return 0.5 * float(volume + noise - at.alpha * here.misfit - at.lam * (here.v @ here.v))


def maximize_evidence(
    s: DesignSpectrum, start: Precisions, gammas: GammaHyperpriors, *, tol: float, max_iter: int
) -> until_converged:
    """The loop of the fixed point, run to its end; its state is (strengths, coefficients)."""
    loop = until_converged((start, np.full(len(s.vectors), np.inf)), tol=tol, max_iter=max_iter)
    settled = start.alpha_known and start.lam_known
    for at, before in loop:
        here = posterior_mode(s, at)
        coef = s.vectors @ here.v
        objective = -log_evidence(s, at, here) - gammas.log_density(at.alpha, at.lam)
        determined = at.alpha * float((s.values / here.precision).sum())
        after = at.updated(gammas, determined, float(here.v @ here.v), here.misfit, s.weight)
        change = 0.0 if settled else np.abs(coef - before).sum()
        loop.update((after, coef), objective=objective, change=change)
    return loop


def posterior_covariance(s: DesignSpectrum, at: Precisions) -> np.ndarray:
    """Covariance of the posterior of v, (p, p): that of the prior where the rows say nothing."""
    p, k = s.vectors.shape
    known = 1 / (at.lam + at.alpha * s.values)
    if k == p:
        return (s.vectors * known) @ s.vectors.T
    return np.eye(p) / at.lam + (s.vectors * (known - 1 / at.lam)) @ s.vectors.T


class ArdPosterior(NamedTuple):
    """Mean and covariance over the columns kept, what is left of the squares, and the evidence."""

    mean: np.ndarray
    covariance: np.ndarray
    misfit: float
    log_evidence: float


def ard_posterior(s: DesignSpectrum, at: Precisions, kept: np.ndarray) -> ArdPosterior:
    """The posterior of the kept columns for a precision each."""
    R = np.sqrt(s.values)[:, None] * s.vectors[kept].T
    C = s.along / np.sqrt(s.values)
    lam = np.asarray(at.lam)[kept]
    factor = cho_factor(np.diag(lam) + at.alpha * R.T @ R, lower=True)
    S = cho_solve(factor, np.eye(len(lam)))
    mean = at.alpha * S @ (R.T @ C)
    misfit = s.rest + float(((C - R @ mean) ** 2).sum())
    volume = np.log(lam).sum() - 2 * np.log(factor[0].diagonal()).sum()
    noise = s.weight * np.log(at.alpha / (2 * np.pi))
    evidence = 0.5 * (volume + noise - at.alpha * misfit - (lam * mean**2).sum())
    return ArdPosterior(mean, S, misfit, float(evidence))


def is_relevant(lam: np.ndarray | float, threshold: float) -> np.ndarray:
    """Which columns stay."""
    return np.asarray(lam) < threshold


def maximize_ard_evidence(
    s: DesignSpectrum,
    start: Precisions,
    gammas: GammaHyperpriors,
    threshold: float,
    *,
    tol: float,
    max_iter: int,
) -> until_converged:
    """The loop of the fixed point, run to its end; its state is (strengths, coefficients)."""
    p = len(s.vectors)
    loop = until_converged((start, np.full(p, np.inf)), tol=tol, max_iter=max_iter)
    for at, before in loop:
        stays = is_relevant(at.lam, threshold)
        here = ard_posterior(s, at, stays)
        coef, lam = np.zeros(p), np.array(at.lam)
        objective = -here.log_evidence - gammas.log_density(at.alpha, lam[stays])
        after = at._replace(lam=lam[stays]).updated(
            gammas, 1 - lam[stays] * here.covariance.diagonal(), here.mean**2, here.misfit, s.weight
        )
        lam[stays] = after.lam
        coef[stays] = np.where(is_relevant(after.lam, threshold), here.mean, 0.0)
        change = np.abs(coef - before).sum() if is_relevant(lam, threshold).any() else 0.0
        loop.update((after._replace(lam=lam), coef), objective=objective, change=change)
    return loop
