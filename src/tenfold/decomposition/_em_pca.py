r"""EM for principal components: probabilistic, and its limit without noise.

With the covariance C of the rows and the loadings W (p, k), an iteration is

.. math:: M = W^\top W + \sigma^2 I, \qquad
          W \leftarrow C W (\sigma^2 I + M^{-1} W^\top C W)^{-1}, \qquad
          \sigma^2 \leftarrow \tfrac1p \operatorname{tr}(C - C W_{old} M^{-1} W_{new}^\top)

Only the product C W is needed, never C itself: a pass over the rows where these are too wide for a
covariance. For :math:`\sigma^2 = 0` the iteration is Roweis' EM for PCA, two least-squares problems
in turn, and its subspace is that of an orthogonal iteration, span(C W). It does not find orthogonal
columns: `principal_directions` turns the result to principal axes. With noise, the covariance of z
that the E-step expects is moved into W after each iteration (parameter expansion): the same
solution in far fewer iterations.

References
----------
S. Roweis (1998), EM algorithms for PCA and SPCA.

M. E. Tipping and C. M. Bishop (1999), Probabilistic principal component analysis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.math.linalg import solve_psd
from tenfold.optim.convergence import until_converged

LOG_2PI = float(np.log(2 * np.pi))


class CovarianceProduct(NamedTuple):
    """The covariance (over n) of rows as a product: V -> C V, its trace, and the columns."""

    multiply: Callable[[np.ndarray], np.ndarray]
    trace: float
    n_features: int


class EMState(NamedTuple):
    """Loadings W (p, k), C W, noise variance, and the objective of all three."""

    loadings: np.ndarray
    product: np.ndarray
    noise: float
    objective: float


def run_em_pca(
    C: CovarianceProduct,
    W: np.ndarray,
    noise: float | None,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, float, float, dict[str, Any]]:
    """EM from the loadings W; a given noise variance is kept, 0 for the limit without noise.

    Returns the loadings, the noise variance, the final objective and a report. The objective is
    minus the mean log-likelihood; without noise it is the mean squared reconstruction error.
    """
    fixed = noise is not None
    first = noise if noise is not None else C.trace / C.n_features
    scale = C.trace if first == 0 else 1.0
    loop = until_converged(evaluate(C, W, first), tol=tol * scale, max_iter=max_iter)
    for state in loop:
        W, following_noise, spread = iterate(C, state, fixed=fixed)
        if following_noise > 0:
            W = W @ np.linalg.cholesky(spread)
        following = evaluate(C, W, following_noise)
        change = state.objective - following.objective
        loop.update(following, objective=following.objective, change=change)
    last = loop.state
    return last.loadings, last.noise, last.objective, loop.report


def iterate(
    C: CovarianceProduct, state: EMState, *, fixed: bool
) -> tuple[np.ndarray, float, np.ndarray]:
    """The E-step and the M-step together: loadings, noise variance, and the mean of E(z z')."""
    W, CW, noise, _ = state
    k = W.shape[1]
    M = W.T @ W + noise * np.eye(k)
    expected = solve_psd(M, W.T @ CW) + noise * np.eye(k)
    following = np.linalg.solve(expected.T, CW.T).T
    spread = np.linalg.solve(M, expected.T)
    spread = (spread + spread.T) / 2
    if fixed:
        return following, noise, spread
    explained = float(np.einsum("pk,pk->", CW, np.linalg.solve(M, following.T).T))
    smallest = np.finfo(np.float64).eps * C.trace / C.n_features + np.finfo(np.float64).tiny
    return following, max((C.trace - explained) / C.n_features, smallest), spread


def evaluate(C: CovarianceProduct, W: np.ndarray, noise: float) -> EMState:
    """The state of given loadings and noise variance: one product with the covariance."""
    CW = C.multiply(W)
    k, p = W.shape[1], C.n_features
    M = W.T @ W + noise * np.eye(k)
    explained = float(np.trace(solve_psd(M, W.T @ CW)))
    if noise == 0:
        return EMState(W, CW, noise, C.trace - explained)
    logs = np.linalg.slogdet(M)[1] + (p - k) * np.log(noise) + p * LOG_2PI
    return EMState(W, CW, noise, 0.5 * (logs + (C.trace - explained) / noise))


def principal_directions(
    W: np.ndarray, C: CovarianceProduct, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Principal axes (k, p) of the subspace of W, and the variance of the model along each.

    An orthonormal basis of the subspace (Gram and Schmidt's, say) is not enough: it has to be
    turned to the eigenvectors of its covariance. With noise, the model says what that is: W W'
    plus noise. Without, the rows do.
    """
    if noise > 0:
        U, s, _ = np.linalg.svd(W, full_matrices=False)
        return U.T, s**2 + noise
    Q = np.linalg.qr(W)[0]
    S = Q.T @ C.multiply(Q)
    values, turn = np.linalg.eigh((S + S.T) / 2)
    return (Q @ turn)[:, ::-1].T, np.maximum(values[::-1], 0.0)
