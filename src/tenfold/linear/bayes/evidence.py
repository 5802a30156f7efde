r"""The evidence of a linear model with Gaussian noise, and its maximum.

For v ~ N(0, 1/lambda) and noise of precision alpha, everything depends on the squares s of the
singular values of X and on the target along them, so a round of the fixed point costs O(p):

.. math:: \log p(y) = \tfrac12\Big[p\log\lambda - \sum_i \log(\lambda + \alpha s_i)
          + n\log\frac{\alpha}{2\pi} - \alpha\lVert y - X\bar v\rVert^2
          - \lambda\lVert\bar v\rVert^2\Big]

[MacKay 1992, Bayesian Interpolation; Tipping 2001, Sparse Bayesian Learning]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.solve.loop import until_still


class Spectrum(NamedTuple):
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


class Gammas(NamedTuple):
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


class Strengths(NamedTuple):
    """Precision of the noise and of the coefficients, and whether each one is known."""

    alpha: float
    lam: np.ndarray | float
    alpha_known: bool
    lam_known: bool

    def updated(
        self,
        gammas: Gammas,
        determined: np.ndarray | float,
        squares: np.ndarray | float,
        misfit: float,
        weight: float,
    ) -> Strengths:
        """One round of MacKay's fixed point; `determined` counts well-determined parameters."""
        lam, alpha = self.lam, self.alpha
        if not self.lam_known:
            lam = (determined + 2 * gammas.lambda_1) / (squares + 2 * gammas.lambda_2)
        if not self.alpha_known:
            free = weight - float(np.sum(determined))
            alpha = (free + 2 * gammas.alpha_1) / (misfit + 2 * gammas.alpha_2)
        return self._replace(alpha=float(alpha), lam=lam)


def spectrum_of_moments(S: np.ndarray, weight: float) -> Spectrum:
    """From the second moments of [X y]."""
    values, V = np.linalg.eigh(S[:-1, :-1])
    kept = values > len(S) * np.finfo(float).eps * max(values.max(initial=0.0), 0.0)
    values, V = values[kept], V[:, kept]
    along = V.T @ S[:-1, -1]
    rest = max(float(S[-1, -1] - (along**2 / values).sum()), 0.0)
    return Spectrum(values, along, V, rest, weight)


def spectrum_of_rows(Z: np.ndarray, weight: float, eps: float) -> Spectrum:
    """From rows [X y], or any triangle with the same second moments: keeps more digits."""
    U, sizes, Vt = np.linalg.svd(Z[:, :-1], full_matrices=False)
    kept = sizes > max(Z.shape) * eps * sizes.max(initial=0.0)
    U, sizes, Vt = U[:, kept], sizes[kept], Vt[kept]
    part = U.T @ Z[:, -1]
    rest = float(((Z[:, -1] - U @ part) ** 2).sum())
    return Spectrum(sizes**2, sizes * part, Vt.T, rest, weight)


class Mode(NamedTuple):
    """The best coordinates for some strengths, their precisions, what is left of the squares."""

    v: np.ndarray
    precision: np.ndarray
    misfit: float


def mode(s: Spectrum, at: Strengths) -> Mode:
    """The mean of the posterior along each direction."""
    precision = at.lam + at.alpha * s.values
    part = s.along / precision
    misfit = s.rest + float((at.lam * part) @ (at.lam * part / s.values))
    return Mode(at.alpha * part, precision, misfit)


def log_evidence(s: Spectrum, at: Strengths, here: Mode) -> float:
    """Log-probability of the target when the coefficients are integrated out."""
    volume = len(s.values) * np.log(at.lam) - np.log(here.precision).sum()
    noise = s.weight * np.log(at.alpha / (2 * np.pi))
    return 0.5 * float(volume + noise - at.alpha * here.misfit - at.lam * (here.v @ here.v))


def maximum_evidence(
    s: Spectrum, start: Strengths, gammas: Gammas, *, tol: float, max_iter: int
) -> until_still:
    """The loop of the fixed point, run to its end; its state is (strengths, coefficients)."""
    loop = until_still((start, np.full(len(s.vectors), np.inf)), tol=tol, max_iter=max_iter)
    settled = start.alpha_known and start.lam_known
    for at, before in loop:
        here = mode(s, at)
        coef = s.vectors @ here.v
        objective = -log_evidence(s, at, here) - gammas.log_density(at.alpha, at.lam)
        determined = at.alpha * float((s.values / here.precision).sum())
        after = at.updated(gammas, determined, float(here.v @ here.v), here.misfit, s.weight)
        change = 0.0 if settled else np.abs(coef - before).sum()
        loop.tell((after, coef), objective=objective, change=change)
    return loop


def covariance(s: Spectrum, at: Strengths) -> np.ndarray:
    """Covariance of the posterior of v, (p, p): that of the prior where the rows say nothing."""
    p, k = s.vectors.shape
    known = 1 / (at.lam + at.alpha * s.values)
    if k == p:
        return (s.vectors * known) @ s.vectors.T
    return np.eye(p) / at.lam + (s.vectors * (known - 1 / at.lam)) @ s.vectors.T
