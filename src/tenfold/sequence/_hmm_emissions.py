"""Emissions of hidden Markov models: densities of each state, and how they learn.

An emission is fixed by its parameters; `prepare`, `log_densities` and `statistic` are what passes
over sequences ask of it. Gaussian and other densities are the components of mixtures, whose
responsibilities are here the probabilities of the hidden states. Tables are (n_states, n_steps).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np

from tenfold.mixture._covariance_types import (
    DIAGONAL_TYPES,
    log_det_factors,
    precision_factors,
)
from tenfold.mixture._discrete_components import DiscreteFamily, DiscreteParameters
from tenfold.mixture._gaussian import (
    EMPTY_WEIGHT,
    GaussianFamily,
    GaussianParameters,
    SeparateComponents,
)
from tenfold.mixture._missing_values import MissingValueComponents
from tenfold.mixture._moments import LOG_2PI, repeat_weights
from tenfold.sequence._gaussian_steps import (
    BlockView,
    ColumnView,
    ComponentView,
    GaussianView,
    MatrixView,
)
from tenfold.sequence._hmm_numba import share_components

# Columns up to which steps with full covariances are not given to BLAS: with 2, 5 and 12 states
# that takes 0.95 to 12 times as long up to 64 columns; wider steps were not tried.
_MAX_MATRIX_COLUMNS = 64


class Emission(Protocol):
    """What the passes of a hidden Markov model ask of its emissions."""

    def prepare(self, X: np.ndarray) -> Any:
        """The steps as `log_densities` and `statistic` need them."""
        ...

    def log_densities(self, view: Any) -> np.ndarray:
        """Log-density of each state and step, (n_states, n_steps); a new array."""
        ...

    def statistic(self, view: Any, probabilities: np.ndarray) -> Any:
        """Sufficient statistic of steps whose states have these probabilities."""
        ...


class CategoricalEmission(NamedTuple):
    """Symbols 0 to M - 1.

    Attributes
    ----------
    probabilities : (K, M)
    """

    probabilities: np.ndarray

    def log_densities(self, view: np.ndarray) -> np.ndarray:
        """Log-probability of each symbol; 0 where it is missing."""
        with np.errstate(divide="ignore"):
            table = np.log(self.probabilities)
        return np.take(np.hstack([table, np.zeros((len(table), 1))]), view, axis=1)

    def statistic(self, view: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """Expected count of each symbol in each state, (K, M)."""
        size = self.probabilities.shape[1] + 1
        counts = [np.bincount(view, row, minlength=size)[:-1] for row in probabilities]
        return np.array(counts)

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Symbols as whole numbers; M where one is missing."""
        column = X[:, 0]
        size = self.probabilities.shape[1]
        if column.dtype.kind != "f":
            symbols = column.astype(np.int64, copy=False)
        else:
            missing = np.isnan(column)
            symbols = np.where(missing, size, column).astype(np.int64)
            if (symbols[~missing] != column[~missing]).any():
                raise ValueError("Symbols should be integers")
            if (symbols[~missing] >= size).any():
                raise ValueError(_unknown_symbol(column[~missing].max(), size))
        if len(symbols) and (symbols.min() < 0 or symbols.max() > size):
            raise ValueError(_unknown_symbol(symbols.max(), size))
        return symbols


def _unknown_symbol(symbol: float, size: int) -> str:
    return (
        f"Largest symbol is {symbol:.0f} but the model only emits symbols from 0 to {size - 1}; "
        "negative ones do not exist. Give n_features, or fit to all symbols."
    )


class CountEmission(NamedTuple):
    """Counts of several columns: Poisson with a rate each, or multinomial shares.

    Attributes
    ----------
    kind : "poisson" or "multinomial"
    rates : (K, p)
    """

    kind: str
    rates: np.ndarray

    @property
    def _components(self) -> Any:
        K, p = self.rates.shape
        family = DiscreteFamily(self.kind, 0.0, np.ones(p, np.int64), None, "HMM")
        return family.components(DiscreteParameters(np.ones(K), self.rates, np.zeros(K)))

    def prepare(self, X: np.ndarray) -> ComponentView:
        """The steps as the components see them."""
        return ComponentView.of(self._components, X)

    def log_densities(self, view: ComponentView) -> np.ndarray:
        """Log-probability of each step in each state."""
        return view.log_densities()

    def statistic(self, view: ComponentView, probabilities: np.ndarray) -> Any:
        """Weights and weighted sums of the steps of each state."""
        return view.statistic(probabilities)


class GaussianEmission(NamedTuple):
    """Gaussian steps.

    Attributes
    ----------
    kind : covariance type
    means : (K, p)
    covariances : of that type's shape
    """

    kind: str
    means: np.ndarray
    covariances: np.ndarray

    @property
    def parameters(self) -> GaussianParameters:
        """As the components of a mixture; all of weight 1."""
        return GaussianParameters(np.ones(len(self.means)), self.means, self.covariances)

    def prepare(self, X: np.ndarray) -> GaussianView:
        """The steps as log-densities and moments need them."""
        if self.kind in DIAGONAL_TYPES and not np.isnan(X.sum()):
            factors = precision_factors(self.covariances, self.kind)
            if self.kind == "spherical":
                factors = repeat_weights(factors, X.shape[1])
            return ColumnView.of(self.means, factors**2, X)
        if self.kind == "full" and self.means.shape[1] <= _MAX_MATRIX_COLUMNS:
            return self._prepare_matrices(X)
        components = GaussianFamily(self.kind).components(self.parameters)
        if self.kind in DIAGONAL_TYPES:
            return ComponentView.of(components, X)
        return BlockView(components, X)

    def _prepare_matrices(self, X: np.ndarray) -> MatrixView | BlockView:
        """The same for narrow steps; with and without gaps they have one kind of statistic."""
        factors, p = precision_factors(self.covariances, "full"), self.means.shape[1]
        offsets = log_det_factors(factors, "full", p) - 0.5 * p * LOG_2PI
        complete = SeparateComponents(offsets, self.means, factors)
        if not np.isnan(X.sum()):
            return MatrixView.of(complete, X)
        return BlockView(MissingValueComponents(complete, *complete), X)

    def log_densities(self, view: GaussianView) -> np.ndarray:
        """Log-density of each step in each state; missing entries are left out."""
        return view.log_densities()

    def statistic(self, view: GaussianView, probabilities: np.ndarray) -> Any:
        """Moments of the steps of each state."""
        return view.statistic(probabilities)

    def update(self, statistic: Any, prior: GaussianPrior) -> GaussianEmission:
        """The most probable parameters given the moments of the steps of each state."""
        updated = GaussianFamily(self.kind).m_step(self.parameters, statistic)
        if prior.is_flat(self.kind, self.means.shape[1]):
            return GaussianEmission(self.kind, updated.means, updated.covariances)
        if self.kind in DIAGONAL_TYPES:
            observed = statistic.observed
        else:
            observed = repeat_weights(statistic.n, self.means.shape[1])
        means, covariances = prior.apply(self.kind, observed, *updated[1:])
        return GaussianEmission(self.kind, means, covariances)


class GaussianPrior(NamedTuple):
    """Normal prior of means, inverse-gamma or inverse-Wishart prior of covariances.

    Attributes
    ----------
    means, means_weight : mean, and number of steps that it is worth
    covars, covars_weight : scale and degrees of freedom
    """

    means: Any = 0.0
    means_weight: Any = 0.0
    covars: float = 0.0
    covars_weight: float = 0.0

    def is_flat(self, kind: str, p: int) -> bool:
        """Whether maximum a posteriori is maximum likelihood."""
        given = self.means_weight, self.covars
        return self._freedom(kind, p) == 0 and all(
            part == 0 if isinstance(part, Real) else not np.any(part) for part in given
        )

    def _freedom(self, kind: str, p: int) -> float:
        """Steps that the prior of the covariances is worth."""
        return max(self.covars_weight - (1.0 if kind in DIAGONAL_TYPES else p), 0.0)

    def apply(
        self, kind: str, observed: np.ndarray, means: np.ndarray, covariances: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Maximum a posteriori means and covariances from those of maximum likelihood.

        `observed`, (K, p), is the weight of the entries that each mean comes from.
        """
        p = means.shape[1]
        weight = np.broadcast_to(np.asarray(self.means_weight, float), means.shape)
        prior = np.broadcast_to(np.asarray(self.means, float), means.shape)
        total = observed + weight
        safe = np.where(total > EMPTY_WEIGHT, total, 1.0)
        mean = np.where(total > EMPTY_WEIGHT, (observed * means + weight * prior) / safe, means)
        moved, away, n = means - mean, mean - prior, observed[:, 0]
        if kind in DIAGONAL_TYPES:
            scatter, size = observed * moved**2 + weight * away**2, observed
            if kind == "spherical":
                scatter, size = scatter.mean(axis=1), observed.mean(axis=1)
            own = size * covariances + scatter + self.covars
        else:
            scatter = n[:, None, None] * moved[:, :, None] * moved[:, None, :]
            scatter = scatter + (weight * away)[:, :, None] * away[:, None, :]
            size = n[:, None, None]
            if kind == "tied":
                size, scatter = n.sum(), scatter.sum(axis=0)
            own = size * covariances + scatter + self.covars * np.eye(p)
        divisor = np.asarray(size + self._freedom(kind, p))
        empty = divisor <= EMPTY_WEIGHT
        updated = np.where(empty, covariances, own / np.where(empty, 1.0, divisor))
        return mean, updated

    def log_density(self, kind: str, means: np.ndarray, covariances: np.ndarray) -> float:
        """Log-density of the parameters, up to a constant: what EM with this prior increases."""
        K, p = means.shape
        if self.is_flat(kind, p):
            return 0.0
        weight = np.broadcast_to(np.asarray(self.means_weight, float), means.shape)
        away, freedom = means - np.asarray(self.means, float), self._freedom(kind, p)
        if kind in DIAGONAL_TYPES:
            variances = covariances if kind == "diag" else covariances[:, None]
            columns = p if kind == "spherical" else 1
            log_det = columns * np.log(variances).sum()
            quadratic = (weight * away**2 / variances).sum()
            trace = columns * (self.covars / variances).sum()
            return -0.5 * float(quadratic + trace + freedom * log_det)
        matrices = np.broadcast_to(covariances, (K, p, p)) if kind == "tied" else covariances
        solved = np.linalg.solve(matrices, (away)[:, :, None])[:, :, 0]
        quadratic = float((weight * away * solved).sum())
        own = covariances[None] if kind == "tied" else covariances
        log_det = float(np.linalg.slogdet(own)[1].sum())
        trace = self.covars * float(np.trace(np.linalg.inv(own), axis1=1, axis2=2).sum())
        return -0.5 * (quadratic + trace + freedom * log_det)


def share_counts(counts: np.ndarray, prior: Any, before: np.ndarray) -> np.ndarray:
    """The most probable shares in each row; zeros stay, and so do rows without counts."""
    total = np.where(before > 0, np.maximum(counts + np.asarray(prior, float) - 1, 0), 0.0)
    sums = total.sum(axis=1, keepdims=True)
    return np.where(sums > 0, total / np.where(sums > 0, sums, 1.0), before)


def dirichlet_log_prior(prior: Any, probabilities: np.ndarray) -> float:
    """Log-density of probabilities under Dirichlet priors, up to a constant."""
    if isinstance(prior, Real) and prior == 1:
        return 0.0
    exponent = np.asarray(prior, float) - 1
    if not exponent.any():
        return 0.0
    exponent = np.broadcast_to(exponent, probabilities.shape)
    used = (exponent != 0) & (probabilities > 0)
    return float((exponent[used] * np.log(probabilities[used])).sum())


class MixtureEmission(NamedTuple):
    """A mixture of Gaussians in each state.

    Attributes
    ----------
    weights : (K, M)
    gaussians : of all K * M components, state by state
    """

    weights: np.ndarray
    gaussians: GaussianEmission

    def prepare(self, X: np.ndarray) -> MixtureView:
        """The steps, log-densities of the states, and shares of the components in them."""
        steps = self.gaussians.prepare(X)
        (K, M), n = self.weights.shape, len(X)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        shares = self.gaussians.log_densities(steps).reshape(K, M, n)
        shares += log_weights[:, :, None]
        log_densities = np.empty((K, n))
        share_components(shares, log_densities, *np.empty((2, n)))
        return MixtureView(steps, log_densities, shares)

    def log_densities(self, view: MixtureView) -> np.ndarray:
        """Log-density of each step in each state."""
        return view.log_densities.copy()

    def statistic(self, view: MixtureView, probabilities: np.ndarray) -> tuple[np.ndarray, Any]:
        """Weights (K, M) and moments of the steps of each component of each state."""
        (K, M), n = self.weights.shape, probabilities.shape[1]
        shares = view.shares * probabilities[:, None, :]
        moments = self.gaussians.statistic(view.steps, shares.reshape(K * M, n))
        return shares.sum(axis=2), moments


class MixtureView(NamedTuple):
    """Steps, their log-densities (K, n), and shares of components in the densities (K, M, n)."""

    steps: GaussianView
    log_densities: np.ndarray
    shares: np.ndarray


class DensityEmission(NamedTuple):
    """Any density.

    Attributes
    ----------
    densities : one for each state
    """

    densities: tuple

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """The steps."""
        return X

    def log_densities(self, view: np.ndarray) -> np.ndarray:
        """Log-density of each step in each state; missing entries are left out."""
        missing = bool(np.isnan(view).any())
        names = "observed_log_density" if missing else "log_density"
        return np.array([getattr(density, names)(view) for density in self.densities])

    def statistic(self, view: np.ndarray, probabilities: np.ndarray) -> tuple[np.ndarray, tuple]:
        """Weight and statistic of the steps of each state."""
        missing = bool(np.isnan(view).any())
        name = "observed_statistic" if missing else "statistic"
        pairs = zip(self.densities, probabilities, strict=True)
        return probabilities.sum(axis=1), tuple(getattr(d, name)(view, r) for d, r in pairs)
