"""Hidden Markov model whose states emit from mixtures of Gaussians."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.base.estimator import store_arguments
from tenfold.mixture._covariance_types import covariance_shape, n_covariance_parameters
from tenfold.sequence._hmm_base import BaseHMM
from tenfold.sequence._hmm_emissions import (
    GaussianEmission,
    GaussianPrior,
    MixtureEmission,
    dirichlet_log_prior,
    share_counts,
)
from tenfold.sequence.gaussian_hmm import (
    COLLAPSED,
    GAUSSIAN_CONSTRAINTS,
    check_positive,
    pooled_covariances,
)

_SPREAD = 0.5  # of the first means of a state's components, in standard deviations


class GMMHMM(BaseHMM):
    r"""Hidden Markov model whose states emit from mixtures of Gaussians.

    .. math:: p(x_t \mid s_t = k) = \sum_m w_{km} \, \mathcal N(x_t; \mu_{km}, \Sigma_{km})

    Parameters
    ----------
    n_components : int
        Number of hidden states, K.
    n_mix : int
        Number of Gaussians of each state, M.
    min_covar : float
        Added to the variances of the first covariances.
    startprob_prior, transmat_prior, weights_prior : float or array
        Parameters of Dirichlet priors of starts, rows of transitions and weights of Gaussians; 1 is
        maximum likelihood.
    means_prior, means_weight, covars_prior, covars_weight
        As of `GaussianHMM`.
    algorithm : {"viterbi", "map"}
        How `decode` and `predict` choose states.
    covariance_type : {"diag", "full", "spherical", "tied"}
        Shape of the covariances; "tied" Gaussians share one within each state.
    random_state, n_iter, tol, verbose
        As of `CategoricalHMM`.
    params, init_params : str
        Which parameters to update, and which to initialize: "s" starts, "t" transitions, "m" means,
        "c" covariances, "w" weights.
    implementation, training, transitions, sticky, n_init
        As of `CategoricalHMM`.

    Attributes
    ----------
    startprob_ : (K,) array
    transmat_ : (K, K) array
    weights_ : (K, M) array
    means_ : (K, M, p) array
    covars_ : array
        (K, M, p, p), (K, M, p), (K, M) or, tied, (K, p, p).
    log_likelihood_, n_iter_, converged_, history_
        As of `CategoricalHMM`.

    See Also
    --------
    GaussianHMM, GaussianMixture

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GMMHMM
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(m, 1, (40, 1)) for m in (-9, -6, 6, 9)])
    >>> model = GMMHMM(2, n_mix=2, random_state=0, n_iter=30).fit(X)
    >>> model.means_.shape
    (2, 2, 1)
    """

    weights_: np.ndarray
    means_: np.ndarray
    covars_: np.ndarray
    _emission_letters = "mcw"
    _parameter_constraints: dict[str, Any] = {
        **GAUSSIAN_CONSTRAINTS,
        "n_mix": [Interval(Integral, 1, None, closed="left")],
        "weights_prior": GAUSSIAN_CONSTRAINTS["transmat_prior"],
    }
    _learned_shapes = {
        "startprob_": "k_",
        "transmat_": "k_ k_",
        "weights_": "k_ v",
        "means_": "k_ v p",
    }

    def __init__(
        self,
        n_components: int = 1,
        n_mix: int = 1,
        min_covar: float = 1e-3,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        weights_prior: Any = 1.0,
        means_prior: Any = 0.0,
        means_weight: Any = 0.0,
        covars_prior: Any = 1e-2,
        covars_weight: Any = 1.0,
        algorithm: str = "viterbi",
        covariance_type: str = "diag",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stmcw",
        init_params: str = "stmcw",
        implementation: str = "log",
        *,
        training: str = "em",
        transitions: Any = "free",
        sticky: float = 0.0,
        n_init: int = 1,
    ) -> None:
        store_arguments(self, locals())

    @property
    def _kind(self) -> str:
        """Type of the covariances of all components; tied ones are shared by state afterwards."""
        return "full" if self.covariance_type == "tied" else self.covariance_type

    def _initial_emission(
        self, steps: np.ndarray, labels: np.ndarray, centers: np.ndarray, rng: np.random.Generator
    ) -> MixtureEmission:
        K, M, p = self.n_components, self.n_mix, steps.shape[1]
        if "w" in self.init_params:
            weights = np.full((K, M), 1 / M)
        else:
            weights = np.asarray(self._given("weights_", "w"), float)
        if "m" in self.init_params:
            spread = _SPREAD * np.sqrt(np.nanvar(steps, axis=0))
            means = centers[:, None, :] + spread * rng.normal(size=(K, M, p))
        else:
            means = np.asarray(self._given("means_", "m"), float)
        if "c" in self.init_params:
            covars = pooled_covariances(steps, self._kind, K * M, self.min_covar)
        else:
            covars = self._flat_covariances(np.asarray(self._given("covars_", "c"), float), K, M, p)
        gaussians = GaussianEmission(self._kind, means.reshape(K * M, p), covars)
        return MixtureEmission(weights, gaussians)

    def _flat_covariances(self, covars: np.ndarray, K: int, M: int, p: int) -> np.ndarray:
        if self.covariance_type == "tied":
            covars = np.repeat(covars[:, None], M, axis=1)
        shape = covariance_shape(self._kind, K * M, p)
        if covars.size != int(np.prod(shape)):
            raise ValueError(f"covars_ has shape {covars.shape}, which does not fit {shape}")
        check_positive(covars.reshape(K, M, *shape[1:]), self._kind)
        return covars.reshape(shape)

    def _update_emission(
        self, emission: MixtureEmission, statistic: tuple[np.ndarray, Any]
    ) -> MixtureEmission:
        counts, moments = statistic
        before, weights = emission.gaussians, emission.weights
        if self.covariance_type == "tied":
            updated = self._update_tied(before, counts, moments)
        else:
            updated = before.update(moments, self._prior())
        if "c" in self.params:
            by_state = updated.covariances.reshape(*counts.shape, *updated.covariances.shape[1:])
            check_positive(by_state, before.kind, COLLAPSED)
        if "w" in self.params:
            weights = share_counts(counts, self.weights_prior, weights)
        gaussians = GaussianEmission(
            before.kind,
            updated.means if "m" in self.params else before.means,
            updated.covariances if "c" in self.params else before.covariances,
        )
        return MixtureEmission(weights, gaussians)

    def _update_tied(
        self, before: GaussianEmission, counts: np.ndarray, moments: Any
    ) -> GaussianEmission:
        """Means of each Gaussian, and one covariance for those of a state."""
        (K, M), p = counts.shape, before.means.shape[1]
        free = before.update(moments, GaussianPrior(self.means_prior, self.means_weight))
        scatter = free.covariances.reshape(K, M, p, p) * counts[:, :, None, None]
        freedom = max(float(self.covars_weight) - p, 0.0)
        total = counts.sum(axis=1) + freedom
        pooled = scatter.sum(axis=1) + self.covars_prior * np.eye(p)
        empty = (total <= 0)[:, None, None]
        old = before.covariances.reshape(K, M, p, p)[:, 0]
        shared = np.where(empty, old, pooled / np.where(total > 0, total, 1.0)[:, None, None])
        return GaussianEmission("full", free.means, np.repeat(shared, M, axis=0))

    def _prior(self) -> GaussianPrior:
        return GaussianPrior(
            self.means_prior, self.means_weight, self.covars_prior, self.covars_weight
        )

    def _emission_attributes(self, emission: MixtureEmission) -> dict[str, Any]:
        K, M = emission.weights.shape
        means, covariances = emission.gaussians.means, emission.gaussians.covariances
        covars = covariances.reshape(K, M, *covariances.shape[1:])
        return {
            "weights_": emission.weights,
            "means_": means.reshape(K, M, -1),
            "covars_": covars[:, 0] if self.covariance_type == "tied" else covars,
        }

    def _emission(self) -> MixtureEmission:
        weights, means = np.asarray(self.weights_, float), np.asarray(self.means_, float)
        K, M, p = means.shape
        covars = self._flat_covariances(np.asarray(self.covars_, float), K, M, p)
        return MixtureEmission(weights, GaussianEmission(self._kind, means.reshape(-1, p), covars))

    def _emission_log_prior(self, emission: MixtureEmission) -> float:
        value = dirichlet_log_prior(self.weights_prior, emission.weights)
        gaussians = emission.gaussians
        if self.covariance_type != "tied":
            return value + self._prior().log_density(*gaussians)
        K, M = emission.weights.shape
        means = GaussianPrior(self.means_prior, self.means_weight).log_density(*gaussians)
        shared = gaussians.covariances.reshape(K, M, *gaussians.covariances.shape[1:])[:, 0]
        covars = GaussianPrior(0.0, 0.0, self.covars_prior, self.covars_weight)
        zeros = np.zeros((K, gaussians.means.shape[1]))
        return value + means + covars.log_density("full", zeros, shared)

    def _draw(self, state: int, n: int, rng: np.random.Generator) -> np.ndarray:
        emission = self._emission()
        M = emission.weights.shape[1]
        table = np.cumsum(emission.weights[state])
        chosen = np.searchsorted(table, rng.random(n) * table[-1], side="right") + state * M
        noise = rng.normal(size=(n, emission.gaussians.means.shape[1]))
        covariances = emission.gaussians.covariances
        if self._kind == "full":
            scaled = np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[chosen], noise)
        else:
            deviations = np.sqrt(covariances)[chosen]
            scaled = noise * (deviations if deviations.ndim == 2 else deviations[:, None])
        return emission.gaussians.means[chosen] + scaled

    def _emission_means(self) -> Any:
        return np.einsum("km,kmp->kp", self.weights_, self.means_)

    def _n_emission_parameters(self) -> int:
        K, M, p = np.shape(self.means_)
        shapes = n_covariance_parameters(self._kind, K * M, p)
        if self.covariance_type == "tied":
            shapes = n_covariance_parameters("full", K, p)
        return K * (M - 1) + K * M * p + shapes
