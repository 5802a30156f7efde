"""Automatic relevance determination: each coefficient has a prior precision of its own.

The precision of a column that explains nothing grows without bound; past a threshold the column is
dropped. [MacKay 1994; Tipping 2001]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tenfold.linear.bayes.evidence import Gammas, Spectrum, Strengths
from tenfold.solve.loop import until_still


class Posterior(NamedTuple):
    """Mean and covariance over the columns kept, what is left of the squares, and the evidence."""

    mean: np.ndarray
    covariance: np.ndarray
    misfit: float
    log_evidence: float


def posterior(s: Spectrum, at: Strengths, kept: np.ndarray) -> Posterior:
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
    return Posterior(mean, S, misfit, float(evidence))


def kept(lam: np.ndarray | float, threshold: float) -> np.ndarray:
    """Which columns stay."""
    return np.asarray(lam) < threshold


def maximum(
    s: Spectrum, start: Strengths, gammas: Gammas, threshold: float, *, tol: float, max_iter: int
) -> until_still:
    """The loop of the fixed point, run to its end; its state is (strengths, coefficients)."""
    p = len(s.vectors)
    loop = until_still((start, np.full(p, np.inf)), tol=tol, max_iter=max_iter)
    for at, before in loop:
        stays = kept(at.lam, threshold)
        here = posterior(s, at, stays)
        coef, lam = np.zeros(p), np.array(at.lam)
        objective = -here.log_evidence - gammas.log_density(at.alpha, lam[stays])
        after = at._replace(lam=lam[stays]).updated(
            gammas, 1 - lam[stays] * here.covariance.diagonal(), here.mean**2, here.misfit, s.weight
        )
        lam[stays] = after.lam
        coef[stays] = np.where(kept(after.lam, threshold), here.mean, 0.0)
        change = np.abs(coef - before).sum() if kept(lam, threshold).any() else 0.0
        loop.tell((after._replace(lam=lam), coef), objective=objective, change=change)
    return loop
