"""What Bayesian networks of neurons share: the mode, its curvature, chains, and ensembles."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.inference.hmc import hamiltonian_monte_carlo
from tenfold.neural._dense_jacobian import backward_chains, forward_chains, output_jacobians
from tenfold.neural._estimators import NetworkEstimator
from tenfold.neural._minibatch import split_batch
from tenfold.neural._training import chunk_gradient
from tenfold.neural._training_config import TrainingConfig
from tenfold.neural._tuning import INFERENCE_BATCH_ROWS
from tenfold.neural.layers.base import Layer
from tenfold.neural.layers.dense import Dense
from tenfold.neural.network import flatten_params, unflatten_params
from tenfold.optim.quasi_newton import lbfgs

_COUNT = Interval(Integral, 1, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")
_CHAINS = 4
BAYESIAN_CONSTRAINTS: dict[str, Any] = {
    "hidden_layer_sizes": ["array-like", tuple],
    "activation": [StrOptions({"tanh", "relu", "sigmoid", "logistic", "softplus", "elu", "silu"})],
    "method": [StrOptions({"laplace", "hmc", "ensemble"})],
    "prior_precision": [_POSITIVE],
    "n_samples": [_COUNT],
    "warmup": [_COUNT],
    "max_iter": [_COUNT],
    "tol": [_POSITIVE],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
    "verbose": ["verbose"],
}


class Curvature(NamedTuple):
    """Gauss-Newton matrix of the negative log-likelihood, its value, and the weight of the rows."""

    matrix: np.ndarray
    value: float
    n: float


def curvature(
    chunk: Chunk, theta: np.ndarray, widths: tuple, activation: str, likelihood: Any
) -> Curvature:
    """Curvature of the rows of a chunk, a few at a time."""
    H, value, w = np.zeros((len(theta), len(theta))), 0.0, chunk.weights().astype(np.float64)
    X = np.asarray(chunk.X, np.float64)
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        f, J = output_jacobians(theta, X[a:b], widths, activation)
        losses, _, root = likelihood.terms(f, chunk.y[a:b])
        value += float(losses @ w[a:b])
        weighted = (root @ J) * np.sqrt(w[a:b])[:, None, None]  # root' root is the curvature in f
        flat = weighted.reshape(-1, len(theta))
        H += flat.T @ flat
    return Curvature(H, value, float(w.sum()))


class TargetSums(NamedTuple):
    """Weight of the rows, and sums of the targets and of their squares about the first one."""

    n: float
    y: np.ndarray
    squares: np.ndarray


def target_sums(chunk: Chunk, origin: np.ndarray) -> TargetSums:
    """Sums over a chunk."""
    w = chunk.weights().astype(np.float64)
    y = np.asarray(chunk.y, np.float64).reshape(chunk.rows, -1) - origin
    return TargetSums(float(w.sum()), w @ y, w @ np.square(y))


def target_variance(rows: Rows) -> float:
    """Mean variance of a target column; a small number if there is none."""
    origin = np.asarray(rows.take(np.zeros(1, np.int64)).y, np.float64).reshape(1, -1)
    s = rows.total(target_sums, origin)
    return max(float(np.mean(s.squares / s.n - np.square(s.y / s.n))), 1e-6)


def _refuse_partial_fit(model: Any) -> Any:
    raise AttributeError(f"{type(model).__name__} needs all rows at once: it has no partial_fit")


class BayesianMLPBase(NetworkEstimator):
    """Base of Bayesian multi-layer perceptrons."""

    partial_fit: Any = property(_refuse_partial_fit)

    _law_rows = 600
    _float64_learned = ("covariance_", "samples_")
    _learns_in_row_order = True  # by rounding: another order may lead to another local minimum
    _learns_in_batches = False
    _samples_rows = False

    def _layers(self, targets: int) -> list[Layer]:
        hidden = [Dense(int(n), self.activation, init="glorot_uniform") for n in self._sizes()]
        return [*hidden, Dense()]

    def _sizes(self) -> list[int]:
        return [int(n) for n in np.atleast_1d(np.asarray(self.hidden_layer_sizes, int))]

    def _training_config(self, rows: Rows) -> TrainingConfig:
        return TrainingConfig()

    def _dtype(self, rows: Rows) -> Any:
        return np.float64

    def _widths(self) -> tuple[int, ...]:
        return (self.n_features_in_, *(shape[0] for shape in self.network_.shapes))

    def _find_mode(self, rows: Rows, rng: np.random.Generator, scale: float) -> tuple:
        """Minimize scale * loss + prior_precision / 2 |theta|^2 from a random start."""
        objective, params = self._initialize(rows, rng)

        def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
            at = unflatten_params(flat, params)
            loss, weight, gradient = rows.total(chunk_gradient, objective, at)
            alpha = self.prior_precision
            value = scale * loss + alpha / 2 * float(flat @ flat)
            return value / weight, (scale * gradient + alpha * flat) / weight

        start = flatten_params(params).astype(np.float64)
        minimum = lbfgs(value_and_gradient, start, tol=self.tol, max_iter=self.max_iter)
        return objective, unflatten_params(minimum.x, params), minimum

    def _posterior(
        self, rows: Rows, rng: np.random.Generator, objective: Any, minimum: Any, likelihood: Any
    ) -> dict[str, Any]:
        """Covariance, draws or members around the mode, and the Laplace evidence."""
        theta = minimum.x
        widths = (rows.n_features, *(shape[0] for shape in objective.network.shapes))
        p = len(theta)
        cure = "take fewer units, or method='ensemble'"
        check_memory(24.0 * p * p, f"the covariance of {p:,} parameters", cure)
        if self.method == "hmc":
            return {"samples_": self._run_chains(rows, rng, theta, widths, likelihood)}
        if self.method == "ensemble":
            scale = likelihood.scale
            more = [self._find_mode(rows, rng, scale)[2].x for _ in range(self.n_samples - 1)]
            return {"samples_": np.array([theta, *more])}
        found = rows.total(curvature, theta, widths, self.activation, likelihood)
        alpha = self.prior_precision
        H = found.matrix + alpha * np.eye(p)
        values, vectors = np.linalg.eigh((H + H.T) / 2)
        values = np.maximum(values, alpha)
        log_joint = -found.value - alpha / 2 * float(theta @ theta) + p / 2 * np.log(alpha)
        evidence = log_joint - np.log(values).sum() / 2
        effective = float((1 - alpha / values).sum())
        covariance = (vectors / values) @ vectors.T
        return {
            "covariance_": covariance,
            "log_evidence_": float(evidence),
            "n_effective_parameters_": effective,
        }

    def _run_chains(
        self,
        rows: Rows,
        rng: np.random.Generator,
        theta: np.ndarray,
        widths: tuple,
        likelihood: Any,
    ) -> np.ndarray:
        """Draws of four chains of Hamiltonian Monte Carlo on all rows in memory."""
        chunk = rows.take(np.arange(rows.n_rows))
        X, w = np.asarray(chunk.X, np.float64), chunk.weights().astype(np.float64)
        alpha = self.prior_precision

        def log_density(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            f, caches = forward_chains(points, X, widths, self.activation)
            terms = [likelihood.terms(part, chunk.y)[:2] for part in f]
            values = -np.array([losses @ w for losses, _ in terms])
            slopes = -np.array([gradient * w[:, None] for _, gradient in terms])
            gradient = backward_chains(points, caches, slopes, widths, self.activation)
            values = values - alpha / 2 * np.square(points).sum(axis=1)
            return values, gradient - alpha * points

        starts = theta + 0.1 / np.sqrt(alpha) * rng.standard_normal((_CHAINS, len(theta)))
        chains = hamiltonian_monte_carlo(
            log_density,
            starts,
            draws=-(-self.n_samples // _CHAINS),
            warmup=self.warmup,
            thin=2,
            seed=int(rng.integers(2**31)),
        )
        return np.asarray(chains.points).reshape(-1, len(theta))


def linearize_outputs(
    chunk: Chunk, theta: np.ndarray, covariance: np.ndarray, widths: tuple, activation: str
) -> np.ndarray:
    """Outputs of the network linearized at the mode, and their variances, side by side."""
    X, parts = np.asarray(chunk.X, np.float64), []
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        f, J = output_jacobians(theta, X[a:b], widths, activation)
        variances = np.einsum("nkp,nkp->nk", J @ covariance, J)
        parts.append(np.hstack([f, np.maximum(variances, 0)]))
    return np.concatenate(parts).astype(chunk.X.dtype)


def sampled_outputs(
    chunk: Chunk, samples: np.ndarray, widths: tuple, activation: str, inverse_link: Any
) -> np.ndarray:
    """Mean and variance over samples of a function of the outputs, side by side."""
    X, parts = np.asarray(chunk.X, np.float64), []
    for a, b in split_batch(chunk.rows, INFERENCE_BATCH_ROWS):
        f, _ = forward_chains(samples, X[a:b], widths, activation)
        values = f if inverse_link is None else inverse_link(f)
        parts.append(np.hstack([values.mean(axis=0), values.var(axis=0)]))
    return np.concatenate(parts).astype(chunk.X.dtype)
