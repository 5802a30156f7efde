r"""Mean-field variational inference for dense networks.

The posterior is approximated by :math:`q(\theta) = \prod_i N(\theta_i; \mu_i, s_i^2)`, which
maximizes the evidence lower bound

.. math:: \mathcal L = E_q[\log p(y \mid \theta)] - KL(q \,\|\, p)

Given the inputs a of a layer, its units are :math:`z_j = \sum_i a_i \mu_{ij} + \epsilon_j
\sqrt{\sum_i a_i^2 s_{ij}^2}`: the expectation is a mean over draws of epsilon for each row and
unit, whose slopes pass through mu and s (local reparametrization). The draws belong to the number
of the row and stay the same in all evaluations, so the bound is a smooth function that L-BFGS
maximizes until its gradient vanishes; they come in pairs of opposite sign and have unit variance,
so that the bound of a linear network with squared error is exact.

References
----------
A. Graves (2011), "Practical variational inference for neural networks".
C. Blundell, J. Cornebise, K. Kavukcuoglu, D. Wierstra (2015), "Weight uncertainty in neural
networks".
D. P. Kingma, T. Salimans, M. Welling (2015), "Variational dropout and the local
reparameterization trick".
R. Giordano, M. Ingram, T. Broderick (2024), "Black box variational inference with a deterministic
objective: faster, more accurate, and even more black box".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import normals
from tenfold.engine.rows import Rows
from tenfold.neural._dense_jacobian import backward_chains, forward_chains, split_layers
from tenfold.neural._minibatch import split_batch
from tenfold.neural._thresholds import BOUND_DRAWS, INFERENCE_BATCH_ROWS
from tenfold.neural.layers.activations import as_activation
from tenfold.optim.convergence import Minimum
from tenfold.optim.quasi_newton import lbfgs


class LikelihoodSums(NamedTuple):
    """Of each draw the negative log-likelihood and its gradient; the weight of the rows."""

    values: np.ndarray
    gradients: np.ndarray
    n: float


def likelihood_sums(
    chunk: Chunk, draws: np.ndarray, widths: tuple, activation: str, likelihood: Any
) -> LikelihoodSums:
    """Sums over the rows of a chunk for draws (c, P) of the parameters."""
    X, w = np.asarray(chunk.X, np.float64), chunk.weights().astype(np.float64)
    values, gradients = np.zeros(len(draws)), np.zeros(draws.shape)
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        f, caches = forward_chains(draws, X[a:b], widths, activation)
        losses, slopes = _weighted_terms(f, chunk.y[a:b], w[a:b], likelihood)
        values += losses
        gradients += backward_chains(draws, caches, slopes, widths, activation)
    return LikelihoodSums(values, gradients, float(w.sum()))


def _weighted_terms(
    f: np.ndarray, y: np.ndarray, w: np.ndarray, likelihood: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Negative log-likelihoods (c,) of outputs (c, n, k), and the gradients in the outputs."""
    terms = [likelihood.terms(part, y)[:2] for part in f]
    losses = np.array([losses @ w for losses, _ in terms])
    return losses, np.array([gradient * w[:, None] for _, gradient in terms])


class ExpectedLikelihoodSums(NamedTuple):
    """Expected negative log-likelihood, its gradients in means and variances, and the weight."""

    value: float
    in_mean: np.ndarray
    in_variance: np.ndarray
    n: float


def bound_sums(
    chunk: Chunk, mean: np.ndarray, variance: np.ndarray, seed: int, widths: tuple,
    activation: str, likelihood: Any
) -> ExpectedLikelihoodSums:  # fmt: skip
    """Sums over the rows of a chunk, with draws of their own for each row and unit."""
    X, w = np.asarray(chunk.X, np.float64), chunk.weights().astype(np.float64)
    layers = [
        (W[0], b[0], W_variance[0], b_variance[0])
        for (W, b), (W_variance, b_variance) in zip(
            split_layers(mean[None], widths), split_layers(variance[None], widths), strict=True
        )
    ]
    value, in_mean, in_variance = 0.0, np.zeros(len(mean)), np.zeros(len(mean))
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        epsilon = standard_draws(seed, chunk.first + a, b - a, sum(widths[1:]))
        f, caches = _forward(layers, X[a:b], epsilon, activation)
        losses, slopes = _weighted_terms(f, chunk.y[a:b], w[a:b], likelihood)
        value += float(losses.mean())
        for total, part in zip(
            (in_mean, in_variance), _backward(layers, caches, slopes, activation), strict=True
        ):
            total += part / BOUND_DRAWS
    return ExpectedLikelihoodSums(value, in_mean, in_variance, float(w.sum()))


def standard_draws(seed: int, first: int, rows: int, units: int) -> np.ndarray:
    """Draws (c, rows, units) in pairs of opposite sign whose mean square is one."""
    half = BOUND_DRAWS // 2
    draws = normals(seed, first, rows, half * units).reshape(rows, half, units)
    draws /= np.sqrt(np.square(draws).mean(axis=1, keepdims=True))
    draws = np.swapaxes(draws, 0, 1)
    return np.concatenate([draws, -draws])


def _forward(
    layers: list, X: np.ndarray, epsilon: np.ndarray, activation: str
) -> tuple[np.ndarray, list]:
    """Outputs (c, n, k) for draws of the units, and what the backward pass needs."""
    a, caches, at = np.broadcast_to(X, (len(epsilon), *X.shape)), [], 0
    for number, (W, b, W_variance, b_variance) in enumerate(layers):
        draws = epsilon[:, :, at : at + W.shape[1]]
        std = np.sqrt(np.square(a) @ W_variance + b_variance)
        z = a @ W + b + draws * std
        is_last = number == len(layers) - 1
        out, cache = (z, None) if is_last else as_activation(activation).apply(z)
        caches.append((a, cache, draws / (2 * std)))
        a, at = out, at + W.shape[1]
    return a, caches


def _backward(
    layers: list, caches: list, gradient: np.ndarray, activation: str
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients in the means and in the variances, summed over draws, from that in the outputs."""
    in_mean: list[np.ndarray] = []
    in_variance: list[np.ndarray] = []
    for (W, _, W_variance, _), (a, cache, slope) in zip(
        reversed(layers), reversed(caches), strict=True
    ):
        if cache is not None:
            gradient = as_activation(activation).backpropagate(cache, gradient)
        spread, squares = gradient * slope, np.square(a)
        sums = (np.tensordot(a, gradient, ((0, 1), (0, 1))), gradient.sum(axis=(0, 1)))
        in_mean = [sums[0].ravel(), sums[1], *in_mean]
        sums = (np.tensordot(squares, spread, ((0, 1), (0, 1))), spread.sum(axis=(0, 1)))
        in_variance = [sums[0].ravel(), sums[1], *in_variance]
        gradient = gradient @ W.T + 2 * a * (spread @ W_variance.T)
    return np.concatenate(in_mean), np.concatenate(in_variance)


class MeanField(NamedTuple):
    """Means and variances of the parameters, and how the bound was maximized."""

    mean: np.ndarray
    variance: np.ndarray
    minimum: Minimum
    weight: float


def divergence_from_prior(mean: np.ndarray, variance: np.ndarray, alpha: float) -> float:
    """Kullback-Leibler divergence of q from the prior N(0, I / alpha)."""
    ratio = alpha * variance
    return float((ratio + alpha * np.square(mean) - 1 - np.log(ratio)).sum() / 2)


def fit_mean_field(
    rows: Rows,
    rng: np.random.Generator,
    start: tuple[np.ndarray, np.ndarray],
    alpha: float,
    model: tuple[tuple, str, Any],
    **settings: Any,
) -> MeanField:
    """Maximize the bound from a mean and standard deviations.

    `model` holds widths, activation and likelihood; `settings` are those of `lbfgs`.
    """
    mean, std = start
    p, seed, weight = len(mean), int(rng.integers(2**31)), [1.0]

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        mu, variance = x[:p], np.exp(2 * x[p:])
        sums = rows.total(bound_sums, mu, variance, seed, *model)
        weight[0] = sums.n
        value = sums.value + divergence_from_prior(mu, variance, alpha)
        in_mean = sums.in_mean + alpha * mu
        in_log = 2 * sums.in_variance * variance + alpha * variance - 1
        return float(value / sums.n), np.concatenate([in_mean, in_log]) / sums.n

    scale = np.concatenate([np.square(std), np.full(p, 0.5)])
    x0 = np.concatenate([mean, np.log(std)])
    found = lbfgs(value_and_gradient, x0, precondition=lambda v: scale * v, **settings)
    return MeanField(found.x[:p], np.exp(2 * found.x[p:]), found, weight[0])
