"""What Bayesian networks of neurons share: the mode, its curvature, chains, and ensembles."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.inference.chains import split_r_hat
from tenfold.inference.hmc import hamiltonian_monte_carlo
from tenfold.neural._dense_jacobian import forward_chains
from tenfold.neural._estimators import NetworkEstimator
from tenfold.neural._laplace_curvature import (
    STRUCTURES,
    CurvatureSums,
    PosteriorCovariance,
    choose_structure,
    curvature_sums,
    invert_curvature,
    linearize_outputs,
)
from tenfold.neural._mean_field import divergence_from_prior, fit_mean_field, likelihood_sums
from tenfold.neural._minibatch import split_batch
from tenfold.neural._thresholds import INFERENCE_BATCH_ROWS
from tenfold.neural._training import chunk_gradient
from tenfold.neural._training_config import TrainingConfig
from tenfold.neural.layers.base import Layer
from tenfold.neural.layers.dense import Dense, check_layer_sizes
from tenfold.neural.network import build_network, flatten_params, unflatten_params
from tenfold.optim.convergence import Minimum
from tenfold.optim.quasi_newton import lbfgs

_COUNT = Interval(Integral, 1, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")
_CHAINS = 4
_R_HAT_ROWS = 100  # rows whose outputs show whether the chains agree
_MAX_R_HAT = 1.2  # of chains that agree; few draws alone take it to 1.1
_MIN_R_HAT_DRAWS = 4  # of a chain
_POSTERIOR_ATTRIBUTES = (
    *("covariance_", "covariance_factors_", "samples_", "variances_"),
    *("log_evidence_", "n_effective_parameters_", "elbo_", "r_hat_"),
)
BAYESIAN_CONSTRAINTS: dict[str, Any] = {
    "hidden_layer_sizes": ["array-like", tuple],
    "activation": [StrOptions({"tanh", "relu", "sigmoid", "logistic", "softplus", "elu", "silu"})],
    "method": [StrOptions({"laplace", "variational", "hmc", "ensemble"})],
    "hessian_structure": [StrOptions({"auto", *STRUCTURES})],
    "prior_precision": [_POSITIVE],
    "n_samples": [_COUNT],
    "warmup": [_COUNT],
    "max_iter": [_COUNT],
    "tol": [_POSITIVE],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
    "verbose": ["verbose"],
}


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
    _float64_learned = ("covariance_", "covariance_factors_", "variances_", "samples_")
    _learns_in_row_order = True  # by rounding: another order may lead to another local minimum
    _learns_in_batches = False
    _samples_rows = False

    def _layers(self, targets: int) -> list[Layer]:
        sizes = check_layer_sizes(self.hidden_layer_sizes)
        hidden = [Dense(n, self.activation, init="glorot_uniform") for n in sizes]
        return [*hidden, Dense()]

    def _training_config(self, rows: Rows) -> TrainingConfig:
        return TrainingConfig()

    def _dtype(self, rows: Rows) -> Any:
        return np.float64

    def _widths(self, network: Any = None) -> tuple[int, ...]:
        network = self.network_ if network is None else network
        return (self.n_features_in_, *(shape[0] for shape in network.shapes))

    def _find_mode(
        self, rows: Rows, rng: np.random.Generator, likelihood: Any, start: Any = None
    ) -> tuple[Any, Minimum]:
        """Minimize the negative log posterior from a random start, or from a given one."""
        objective, params = self._initialize(rows, rng)

        def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
            at = unflatten_params(flat, params)
            loss, weight, gradient = rows.total(chunk_gradient, objective, at)
            alpha, scale = self.prior_precision, likelihood.scale
            value = scale * loss + alpha / 2 * float(flat @ flat)
            return value / weight, (scale * gradient + alpha * flat) / weight

        start = flatten_params(params).astype(np.float64) if start is None else start
        return objective, lbfgs(value_and_gradient, start, tol=self.tol, max_iter=self.max_iter)

    def _learned_attributes(
        self, objective: Any, minimum: Minimum, posterior: dict
    ) -> dict[str, Any]:
        """Learned attributes: the network at the mode, and what is known around it."""
        like = build_network(
            objective.network.layers, self.row_shape_, np.random.default_rng(0), np.float64
        )[1]
        center = posterior.pop("mean", minimum.x)
        members = posterior.pop("members_converged", [])
        found = {"network_": objective.network, "params_": unflatten_params(center, like), "t_": 0}
        found |= minimum.report | posterior
        found["converged_"] = found["converged_"] and all(members)
        r_hat = posterior.get("r_hat_", 1.0)
        if not r_hat <= _MAX_R_HAT:
            found["converged_"] = False
            found["warning_"] = (
                "did not converge: its chains disagree, or are too short to compare (r_hat_ is "
                f"{r_hat:.2f}, above {_MAX_R_HAT}). Raise n_samples or warmup."
            )
        return found

    def _convergence_message(self, n_iter: int) -> str:
        """`n_iter_` may be a sum, and that of another member: the limit is what counts."""
        return super()._convergence_message(self.max_iter)

    def _set_learned(self, learned: dict[str, Any]) -> None:
        for name in _POSTERIOR_ATTRIBUTES:  # an earlier fit may have used another method
            vars(self).pop(name, None)
        super()._set_learned(learned)

    def _curvature(
        self,
        rows: Rows,
        objective: Any,
        theta: np.ndarray,
        likelihood: Any,
        structure: str | None = None,
    ) -> tuple[CurvatureSums, PosteriorCovariance]:
        """Curvature at the mode, and the covariance that it leaves."""
        structure = structure or choose_structure(self.hessian_structure, len(theta))
        model = (self._widths(objective.network), self.activation, likelihood)
        sums = rows.total(curvature_sums, theta, *model, structure)
        return sums, invert_curvature(sums, self.prior_precision, structure)

    def _posterior(
        self, rows: Rows, rng: np.random.Generator, objective: Any, minimum: Any, likelihood: Any
    ) -> dict[str, Any]:
        """Covariance, draws or members around the mode, and the evidence or its bound."""
        theta = minimum.x
        if self.method == "hmc":
            widths = self._widths(objective.network)
            return self._run_chains(rows, rng, theta, widths, likelihood)
        if self.method == "ensemble":
            more = [self._find_mode(rows, rng, likelihood)[1] for _ in range(self.n_samples - 1)]
            return {
                "samples_": np.array([theta, *(member.x for member in more)]),
                "members_converged": [member.report["converged_"] for member in more],
            }
        if self.method == "variational":
            return self._maximize_bound(rows, rng, objective, theta, likelihood)
        sums, found = self._curvature(rows, objective, theta, likelihood)
        alpha = self.prior_precision
        log_joint = -sums.value - alpha / 2 * float(theta @ theta)
        evidence = log_joint - np.log1p(found.eigenvalues / alpha).sum() / 2
        whole = isinstance(found.covariance, np.ndarray)
        return {
            "covariance_" if whole else "covariance_factors_": found.covariance,
            "log_evidence_": float(evidence),
            "n_effective_parameters_": effective_parameters(found.eigenvalues, alpha),
        }

    def _maximize_bound(
        self,
        rows: Rows,
        rng: np.random.Generator,
        objective: Any,
        theta: np.ndarray,
        likelihood: Any,
    ) -> dict[str, Any]:
        """Means, variances and draws of the mean-field approximation; its bound on new draws."""
        model = (self._widths(objective.network), self.activation, likelihood)
        precisions = self._curvature(rows, objective, theta, likelihood, "diag")[1].eigenvalues
        start = (theta, 1 / np.sqrt(precisions + self.prior_precision))
        alpha, settings = self.prior_precision, {"tol": self.tol, "max_iter": self.max_iter}
        found = fit_mean_field(rows, rng, start, alpha, model, **settings)
        report = found.minimum.report
        history = report["history_"] | {"elbo": -found.weight * report["history_"]["objective"]}
        draws = found.mean + np.sqrt(found.variance) * rng.standard_normal(
            (self.n_samples, len(theta))
        )
        values = rows.total(likelihood_sums, draws, *model).values
        return {
            **report,
            "mean": found.mean,
            "history_": history,
            "variances_": found.variance,
            "samples_": draws,
            "elbo_": float(
                -values.mean() - divergence_from_prior(found.mean, found.variance, alpha)
            ),
        }

    def _predict_moments(self, X: Any, inverse_link: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances of the outputs, or of a function of those of samples."""
        check_is_fitted(self)
        widths = self._widths()
        if hasattr(self, "samples_"):
            state = (self.samples_, widths, self.activation, inverse_link)
            both = self._map_rows(X, sampled_outputs, *state)
        else:
            theta = flatten_params(self.params_)
            covariance = getattr(self, "covariance_", None)
            covariance = self.covariance_factors_ if covariance is None else covariance
            both = self._map_rows(X, linearize_outputs, theta, covariance, widths, self.activation)
        mean, variance = np.split(both, 2, axis=1)
        return mean, variance

    def _check_learned(self) -> None:
        super()._check_learned()
        if not hasattr(self, "params_"):
            return
        shapes = [(W.shape[0] + 1, W.shape[1]) for W in self.params_[::2]]
        n_params = sum(p * q for p, q in shapes)
        for name in ("covariance_", "samples_", "variances_"):
            array = getattr(self, name, None)
            if array is not None and array.shape[-1] != n_params:
                raise ValueError(f"{name} has shape {array.shape}, there are {n_params} parameters")
        factors = getattr(self, "covariance_factors_", None)
        if factors is not None and not _are_factors(factors, shapes):
            raise ValueError(f"covariance_factors_ does not fit layers of shapes {shapes}")

    def _run_chains(
        self,
        rows: Rows,
        rng: np.random.Generator,
        theta: np.ndarray,
        widths: tuple,
        likelihood: Any,
    ) -> dict[str, Any]:
        """Draws of four chains of Hamiltonian Monte Carlo on all rows in memory, and their R-hat.

        R-hat is that of outputs, since equal networks may have their units in any order.
        """
        chunk = rows.take(np.arange(rows.n_rows))
        alpha = self.prior_precision

        def log_density(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            sums = likelihood_sums(chunk, points, widths, self.activation, likelihood)
            values = -sums.values - alpha / 2 * np.square(points).sum(axis=1)
            return values, -sums.gradients - alpha * points

        starts = theta + 0.1 / np.sqrt(alpha) * rng.standard_normal((_CHAINS, len(theta)))
        chains = hamiltonian_monte_carlo(
            log_density,
            starts,
            draws=-(-self.n_samples // _CHAINS),
            warmup=self.warmup,
            thin=2,
            seed=int(rng.integers(2**31)),
        )
        samples = np.asarray(chains.points).reshape(-1, len(theta))
        outputs = forward_chains(samples, chunk.X[:_R_HAT_ROWS], widths, self.activation)[0]
        draws = outputs.reshape(_CHAINS, -1, outputs[0].size)
        enough = draws.shape[1] >= _MIN_R_HAT_DRAWS
        return {
            "samples_": samples,
            "r_hat_": float(split_r_hat(draws).max()) if enough else np.inf,
        }


def _are_factors(factors: Any, shapes: list[tuple[int, int]]) -> bool:
    """Whether there are eigenvectors (or None) and variances for layers of these shapes."""
    expected = [((p, p), (q, q), (p, q)) for p, q in shapes]
    found = [tuple(None if part is None else np.shape(part) for part in layer) for layer in factors]
    diagonal = [(None, None, layer[2]) for layer in expected]
    return found in (expected, diagonal)


def effective_parameters(eigenvalues: np.ndarray, alpha: float) -> float:
    """Number of directions in which the rows say more than the prior."""
    return float((eigenvalues / (eigenvalues + alpha)).sum())


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
