r"""Evidence (marginal likelihood) of a Gaussian linear model, and its maximization.

For v ~ N(0, 1/lambda) and noise of precision alpha, everything depends on the squares s of the
singular values of X and on the target projected on them, so an iteration costs O(n_features):

.. math:: \log p(y) = \tfrac12\Big[p\log\lambda - \sum_i \log(\lambda + \alpha s_i)
          + n\log\frac{\alpha}{2\pi} - \alpha\lVert y - X\bar v\rVert^2
          - \lambda\lVert\bar v\rVert^2\Big]

Automatic relevance determination (ARD) has a prior precision for each coefficient; that of a
column which explains nothing grows without bound, and past a threshold the column is dropped.

References
----------
MacKay, D. (1992). Bayesian Interpolation.
Tipping, M. (2001). Sparse Bayesian Learning and the Relevance Vector Machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tenfold.optim.convergence import until_converged


class DesignSpectrum(NamedTuple):
    """|y - X v|^2 = unexplained + sum_i s_i (v_i - projections_i / s_i)^2 for coordinates v_i.

    Attributes
    ----------
    values : (k,) squares s of the singular values of X, all positive
    projections : (k,) coordinates of X'y
    vectors : (n_features, k) directions in which v has these coordinates
    unexplained : sum of squares that no v explains
    weight : weight of the rows, less the parameters that were integrated out
    """

    values: np.ndarray
    projections: np.ndarray
    vectors: np.ndarray
    unexplained: float
    weight: float


class GammaHyperpriors(NamedTuple):
    """Shapes and rates of the Gamma priors of alpha and lambda."""

    alpha_1: float
    alpha_2: float
    lambda_1: float
    lambda_2: float

    def log_density(self, alpha: float, lam: np.ndarray | float) -> float:
        """Log-density, up to an additive constant."""
        log_alpha, log_lam = np.log(alpha), np.log(lam)
        noise_term = self.alpha_1 * log_alpha - self.alpha_2 * alpha
        return float(noise_term + np.sum(self.lambda_1 * log_lam - self.lambda_2 * np.asarray(lam)))


class Precisions(NamedTuple):
    """Precision of the noise and of the coefficients, and whether each one is known."""

    alpha: float
    lam: np.ndarray | float
    alpha_known: bool
    lam_known: bool

    def updated_from(
        self,
        hyperpriors: GammaHyperpriors,
        n_effective: np.ndarray | float,
        squares: np.ndarray | float,
        residual_squares: float,
        weight: float,
    ) -> Precisions:
        """One iteration of MacKay's fixed point; `n_effective`: well-determined parameters."""
        lam, alpha = self.lam, self.alpha
        if not self.lam_known:
            lam = (n_effective + 2 * hyperpriors.lambda_1) / (squares + 2 * hyperpriors.lambda_2)
        if not self.alpha_known:
            degrees_of_freedom = weight - float(np.sum(n_effective))
            alpha = (degrees_of_freedom + 2 * hyperpriors.alpha_1) / (
                residual_squares + 2 * hyperpriors.alpha_2
            )
        return self._replace(alpha=float(alpha), lam=lam)


def spectrum_from_moments(S: np.ndarray, weight: float) -> DesignSpectrum:
    """Spectrum from the second moments of [X y]."""
    values, V = np.linalg.eigh(S[:-1, :-1])
    relevant = values > len(S) * np.finfo(float).eps * max(values.max(initial=0.0), 0.0)
    values, V = values[relevant], V[:, relevant]
    projections = V.T @ S[:-1, -1]
    unexplained = max(float(S[-1, -1] - (projections**2 / values).sum()), 0.0)
    return DesignSpectrum(values, projections, V, unexplained, weight)


def spectrum_from_rows(Z: np.ndarray, weight: float, eps: float) -> DesignSpectrum:
    """Spectrum from rows [X y], or a triangular factor of them: keeps more digits."""
    U, sizes, Vt = np.linalg.svd(Z[:, :-1], full_matrices=False)
    relevant = sizes > max(Z.shape) * eps * sizes.max(initial=0.0)
    U, sizes, Vt = U[:, relevant], sizes[relevant], Vt[relevant]
    part = U.T @ Z[:, -1]
    unexplained = float(((Z[:, -1] - U @ part) ** 2).sum())
    return DesignSpectrum(sizes**2, sizes * part, Vt.T, unexplained, weight)


class CoefficientMode(NamedTuple):
    """Posterior mode in the coordinates v, its precisions, and the residual sum of squares."""

    v: np.ndarray
    precision: np.ndarray
    residual_squares: float


def posterior_mode(s: DesignSpectrum, precisions: Precisions) -> CoefficientMode:
    """Mean of the posterior along each direction."""
    precision = precisions.lam + precisions.alpha * s.values
    part = s.projections / precision
    residual_squares = s.unexplained + float(
        (precisions.lam * part) @ (precisions.lam * part / s.values)
    )
    return CoefficientMode(precisions.alpha * part, precision, residual_squares)


def log_evidence(s: DesignSpectrum, precisions: Precisions, mode: CoefficientMode) -> float:
    """Log-probability of the target when the coefficients are integrated out."""
    log_det = len(s.values) * np.log(precisions.lam) - np.log(mode.precision).sum()
    noise_term = s.weight * np.log(precisions.alpha / (2 * np.pi))
    return 0.5 * float(
        log_det
        + noise_term
        - precisions.alpha * mode.residual_squares
        - precisions.lam * (mode.v @ mode.v)
    )


def maximize_evidence(
    s: DesignSpectrum,
    initial: Precisions,
    hyperpriors: GammaHyperpriors,
    *,
    tol: float,
    max_iter: int,
) -> until_converged:
    """Run the fixed-point iteration; the state of the loop is (precisions, coefficients)."""
    loop = until_converged((initial, np.full(len(s.vectors), np.inf)), tol=tol, max_iter=max_iter)
    all_known = initial.alpha_known and initial.lam_known
    for precisions, previous in loop:
        mode = posterior_mode(s, precisions)
        coef = s.vectors @ mode.v
        objective = -log_evidence(s, precisions, mode) - hyperpriors.log_density(
            precisions.alpha, precisions.lam
        )
        n_effective = precisions.alpha * float((s.values / mode.precision).sum())
        new = precisions.updated_from(
            hyperpriors, n_effective, float(mode.v @ mode.v), mode.residual_squares, s.weight
        )
        change = 0.0 if all_known else np.abs(coef - previous).sum()
        loop.update((new, coef), objective=objective, change=change)
    return loop


def posterior_covariance(s: DesignSpectrum, precisions: Precisions) -> np.ndarray:
    """Posterior covariance of v; that of the prior along directions without data."""
    p, k = s.vectors.shape
    variances = 1 / (precisions.lam + precisions.alpha * s.values)
    if k == p:
        return (s.vectors * variances) @ s.vectors.T
    return np.eye(p) / precisions.lam + (s.vectors * (variances - 1 / precisions.lam)) @ s.vectors.T


class ArdPosterior(NamedTuple):
    """Mean and covariance of the relevant columns, residual sum of squares, log-evidence."""

    mean: np.ndarray
    covariance: np.ndarray
    residual_squares: float
    log_evidence: float


def ard_posterior(s: DesignSpectrum, precisions: Precisions, relevant: np.ndarray) -> ArdPosterior:
    """Posterior of the relevant columns, each with its own prior precision."""
    R = np.sqrt(s.values)[:, None] * s.vectors[relevant].T
    C = s.projections / np.sqrt(s.values)
    lam = np.asarray(precisions.lam)[relevant]
    factor = cho_factor(np.diag(lam) + precisions.alpha * R.T @ R, lower=True)
    S = cho_solve(factor, np.eye(len(lam)))
    mean = precisions.alpha * S @ (R.T @ C)
    residual_squares = s.unexplained + float(((C - R @ mean) ** 2).sum())
    log_det = np.log(lam).sum() - 2 * np.log(factor[0].diagonal()).sum()
    noise_term = s.weight * np.log(precisions.alpha / (2 * np.pi))
    evidence = 0.5 * (
        log_det + noise_term - precisions.alpha * residual_squares - (lam * mean**2).sum()
    )
    return ArdPosterior(mean, S, residual_squares, float(evidence))


def is_relevant(lam: np.ndarray | float, threshold: float) -> np.ndarray:
    """Which columns have a prior precision below the threshold."""
    return np.asarray(lam) < threshold


def maximize_ard_evidence(
    s: DesignSpectrum,
    initial: Precisions,
    hyperpriors: GammaHyperpriors,
    threshold: float,
    *,
    tol: float,
    max_iter: int,
) -> until_converged:
    """Run the fixed-point iteration; the state of the loop is (precisions, coefficients)."""
    p = len(s.vectors)
    loop = until_converged((initial, np.full(p, np.inf)), tol=tol, max_iter=max_iter)
    for precisions, previous in loop:
        relevant = is_relevant(precisions.lam, threshold)
        posterior = ard_posterior(s, precisions, relevant)
        coef, lam = np.zeros(p), np.array(precisions.lam)
        objective = -posterior.log_evidence - hyperpriors.log_density(
            precisions.alpha, lam[relevant]
        )
        new = precisions._replace(lam=lam[relevant]).updated_from(
            hyperpriors,
            1 - lam[relevant] * posterior.covariance.diagonal(),
            posterior.mean**2,
            posterior.residual_squares,
            s.weight,
        )
        lam[relevant] = new.lam
        coef[relevant] = np.where(is_relevant(new.lam, threshold), posterior.mean, 0.0)
        change = np.abs(coef - previous).sum() if is_relevant(lam, threshold).any() else 0.0
        loop.update((new._replace(lam=lam), coef), objective=objective, change=change)
    return loop
