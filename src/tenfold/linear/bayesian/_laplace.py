"""The posterior of a linear classifier: its mode, Laplace's approximation, and MCMC draws.

Parameters are rows [v b], in the coordinates w = mean + T v of the prior: one row for two classes,
k - 1 for k. The first class is the reference: its scores are zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.inference.chains import Chains
from tenfold.inference.hmc import hamiltonian_monte_carlo
from tenfold.linear._loss_gradients import loss_gradient, loss_hessian
from tenfold.linear.bayesian.prior import CoefficientPrior
from tenfold.math.linalg import solve_psd
from tenfold.math.losses import LogisticLoss, Loss, ProbitLoss, SoftmaxLoss
from tenfold.optim.newton_methods import newton


class ClassifierLogPosterior(NamedTuple):
    """Minus the log-posterior of a linear classifier, up to a constant.

    Attributes
    ----------
    rows : the data, with class numbers
    loss : minus the log-likelihood of a row
    shape : (m, p + 1) rows of parameters
    prior : prior of the coefficients of each row
    intercept_precision : of the prior; 0 is a flat prior, infinity means no intercepts
    n : total weight of the rows
    """

    rows: Rows
    loss: Loss
    shape: tuple[int, int]
    prior: CoefficientPrior
    intercept_precision: float
    n: float

    def to_coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (m, n_features) and intercepts (m,) of a parameter vector."""
        T = theta.reshape(self.shape)
        return self.prior.coordinates(T[:, :-1]), T[:, -1] * np.isfinite(self.intercept_precision)

    def to_scoring_arrays(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts in the rows' dtype, for all classes of the loss."""
        W, b = self.to_coefficients(theta)
        if self.loss.labels == "classes":
            W, b = np.vstack([np.zeros_like(W[:1]), W]), np.append(0.0, b)
        return W.astype(self.rows.dtype), b.astype(self.rows.dtype)

    def value_gradient_hessian(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian of the mean over the rows, from one pass."""
        s = self.rows.total(loss_hessian, self.loss, *self.to_scoring_arrays(theta), None)
        m, q = self.shape
        first = s.gradient.shape[0] - m  # 1 where the reference class has a row of its own
        J = self.jacobian()
        gradient = s.gradient[first:] @ J + self.prior_precisions() * theta.reshape(m, q)
        H = np.einsum("ai,manb,bj->minj", J, s.hessian[first:, :, first:], J, optimize=True)
        H = H.reshape(m * q, m * q) + np.diag(np.tile(self.prior_precisions(), m))
        value = s.loss + 0.5 * float((self.prior_precisions() * theta.reshape(m, q) ** 2).sum())
        if np.isinf(self.intercept_precision):
            fixed = np.arange(q - 1, m * q, q)
            gradient[:, -1] = 0.0
            H[fixed, :] = H[:, fixed] = 0.0
            H[fixed, fixed] = self.n
        return value / self.n, gradient.ravel() / self.n, H / self.n

    def jacobian(self) -> np.ndarray:
        """Derivative of [w b] in [v b], (q, q)."""
        J = np.eye(self.shape[1])
        if self.prior.root is not None:
            J[:-1, :-1] = self.prior.root
        return J

    def prior_precisions(self) -> np.ndarray:
        """Precision of each of [v b], (q,)."""
        intercept_precision = (
            self.intercept_precision if np.isfinite(self.intercept_precision) else 0.0
        )
        return np.append(np.full(self.shape[1] - 1, self.prior.scale), intercept_precision)

    def evaluate_points(self, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-posterior (c,) and its gradient (c, m q) at c points, from one pass."""
        m, q = self.shape
        W, b = (np.stack(part) for part in zip(*map(self.to_scoring_arrays, thetas), strict=True))
        s = self.rows.total(_gradients_at_points, self.loss, W, b)
        first = s.gradient.shape[1] - m
        T = thetas.reshape(-1, m, q)
        value = s.loss + 0.5 * (self.prior_precisions() * T**2).sum(axis=(1, 2))
        gradient = s.gradient[:, first:] @ self.jacobian() + self.prior_precisions() * T
        return -value, -gradient.reshape(len(T), m * q)


class GradientsAtPoints(NamedTuple):
    """Loss (c,) and gradient (c, m, p + 1) at c points, summed over rows."""

    loss: np.ndarray
    gradient: np.ndarray


def _gradients_at_points(
    chunk: Chunk, loss: Loss, W: np.ndarray, b: np.ndarray
) -> GradientsAtPoints:
    """Losses and gradients of a chunk at several points."""
    results = [loss_gradient(chunk, loss, W[i], b[i], None) for i in range(len(W))]
    gradients = [np.column_stack([s.w, s.b]) for s in results]
    return GradientsAtPoints(np.array([s.loss for s in results]), np.stack(gradients))


def link_loss(link: str, classes: int) -> Loss:
    """Minus the log-likelihood of a label under a link."""
    if link == "probit":
        return ProbitLoss()
    return LogisticLoss() if classes == 2 else SoftmaxLoss()


class ClassifierLaplace(NamedTuple):
    """Laplace's approximation: mode and covariance of [v b], flat, and the log-evidence."""

    mode: np.ndarray
    covariance: np.ndarray
    log_evidence: float
    report: dict[str, Any]


def laplace_approximation(
    f: ClassifierLogPosterior, initial: np.ndarray, *, tol: float, max_iter: int
) -> ClassifierLaplace:
    """Mode, inverse Hessian there, and the evidence of the Gaussian that matches both."""
    eps = float(np.finfo(f.rows.dtype).eps)
    optimum = newton(f.value_gradient_hessian, initial, tol=tol, max_iter=max_iter, precision=eps)
    value, _, H = f.value_gradient_hessian(optimum.x)
    m, q = f.shape
    S = solve_psd(H * f.n, np.eye(m * q))
    fixed = np.isinf(f.intercept_precision)
    if fixed:
        S.reshape(m, q, m, q)[:, -1], S.reshape(m, q, m, q)[:, :, :, -1] = 0.0, 0.0
    log_det = np.linalg.slogdet(H * f.n)[1] - fixed * m * np.log(f.n)
    n_free = m * (q - fixed)
    proper = f.prior_precisions()[f.prior_precisions() > 0]
    prior = 0.5 * m * float(np.log(proper / (2 * np.pi)).sum())
    evidence = -value * f.n + prior + 0.5 * n_free * np.log(2 * np.pi) - 0.5 * float(log_det)
    return ClassifierLaplace(optimum.x, S, float(evidence), optimum.report)


def covariance_root(S: np.ndarray) -> np.ndarray:
    """Cholesky factor of a covariance; fixed parameters have a row of zeros."""
    free = S.diagonal() > 0
    L = np.zeros_like(S)
    L[np.ix_(free, free)] = np.linalg.cholesky(S[np.ix_(free, free)])
    return L


def sample_posterior_chains(
    f: ClassifierLogPosterior, approximation: ClassifierLaplace, draws: int, seed: int
) -> Chains:
    """Draws of [v b] by Hamiltonian Monte Carlo, in the coordinates of Laplace's Gaussian.

    The posterior is nearly isotropic there, so few leapfrog steps per trajectory suffice.
    """
    L = covariance_root(approximation.covariance)
    L = L[:, L.diagonal() > 0]

    def log_density(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = f.evaluate_points(approximation.mode + Z @ L.T)
        return value, gradient @ L

    initial = np.random.default_rng(seed).standard_normal((4, L.shape[1]))
    chains = hamiltonian_monte_carlo(
        log_density, initial, draws=-(-draws // 4), warmup=200, seed=seed
    )
    return chains._replace(points=approximation.mode + chains.points @ L.T)
