"""Base class of mixtures: initialization, the EM loop, and predictions."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.rows import Rows
from tenfold.mixture._e_step import (
    EStepResult,
    e_step,
    log_likelihoods,
    membership_probabilities,
    most_probable_component,
    total_log_likelihood,
)
from tenfold.mixture._init import (
    INIT_METHODS,
    InitialAssignment,
    InitialCenters,
    centers_at_labels,
    draw_initial_centers,
    initial_statistic,
)
from tenfold.mixture._protocols import MixtureFamily
from tenfold.optim.convergence import until_converged

_NOT_CONVERGED = (
    "did not converge. Best performing initialization did not converge. Try different init "
    "parameters, or increase max_iter, tol, or check for degenerate data. `history_` shows the "
    "log-likelihood per iteration."
)

MIXTURE_CONSTRAINTS: dict[str, Any] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0.0, None, closed="left")],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "init_params": [StrOptions(set(INIT_METHODS))],
    "hard": ["boolean"],
    "observed_labels": ["boolean"],
    "random_state": ["random_state"],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
}


def _counts_parameters(model: Any) -> bool:
    """Whether a model has a number of free parameters; one with a posterior has none."""
    return hasattr(model, "_n_parameters")


class EMSolution(NamedTuple):
    """Result of EM from one initialization.

    Attributes
    ----------
    state : of the components
    log_likelihood : mean over the rows, before the last iteration
    report : iterations, convergence and history
    """

    state: Any
    log_likelihood: float
    report: dict[str, Any]


class BaseMixture(DensityMixin, Estimator):
    r"""A latent component for each row, learned by EM.

    .. math:: \max \sum_i \omega_i \log \sum_k \pi_k \, p_k(x_i)

    A model defines `_family(rows)`, the `MixtureFamily` of its components; `_finalize(state,
    dtype)`, the learned attributes; `_state()`, the state they came from; and `_components()`,
    `_draw(component, n, rng)` and `_n_parameters()`.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin (1977), Maximum likelihood from incomplete data via
    the EM algorithm.
    """

    _min_rows = 2
    _parameter_constraints: dict[str, Any] = MIXTURE_CONSTRAINTS

    @property
    def _samples_rows(self) -> bool:  # one component does not depend on the initialization
        return self.n_components > 1

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if rows.n_rows < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, "
                f"n_samples = {rows.n_rows}"
            )
        if self.observed_labels and not rows.source.has_target:
            raise ValueError("observed_labels=True needs y: component of each row, -1 if unknown")
        family = self._family(rows)
        solutions = self._solutions(rows, family, rng)
        best = max(solutions, key=lambda solution: solution.log_likelihood)
        return {
            **self._finalize(best.state, rows.dtype),
            **self._prior_attributes(family, rows.dtype),
            **best.report,
            "lower_bound_": np.float64(best.log_likelihood),
            "lower_bounds_": (-best.report["history_"]["objective"]).tolist(),
        }

    def _prior_attributes(self, family: MixtureFamily, dtype: np.dtype) -> dict[str, Any]:
        """Learned attributes of the prior; none for maximum likelihood."""
        return {}

    def _solutions(
        self, rows: Rows, family: MixtureFamily, rng: np.random.Generator
    ) -> list[EMSolution]:
        """Solutions from all initializations."""
        if self.warm_start and hasattr(self, "converged_") and self._can_warm_start(rows):
            return [self._run_em(rows, family, self._state(), self.lower_bound_)]
        return [
            self._run_em(rows, family, self._initialize(rows, family, rng), -np.inf)
            for _ in range(self.n_init)
        ]

    def _can_warm_start(self, rows: Rows) -> bool:
        """Whether the last fit has the shapes of these parameters and rows."""
        return len(self.weights_) == self.n_components

    def _run_em(
        self, rows: Rows, family: MixtureFamily, initial: Any, log_likelihood: float
    ) -> EMSolution:
        """EM from an initial state; the log-likelihood before it, -inf if it is unknown."""
        first = initial, float(log_likelihood)
        loop = until_converged(first, tol=self.tol, max_iter=self.max_iter)
        for state, previous in loop:
            components = family.components(state)
            s = rows.total(e_step, components, self.hard, self.observed_labels)
            updated = family.m_step(state, s.statistic)
            value = self._bound(family, state, updated, s)
            loop.update((updated, value), objective=-value, change=abs(value - previous))
        state, value = loop.state
        return EMSolution(state, value, loop.report)

    def _bound(self, family: MixtureFamily, state: Any, updated: Any, s: EStepResult) -> float:
        """What EM increases: the mean log-likelihood, with the prior, before the iteration."""
        return (s.log_likelihood + family.log_prior(state)) / s.weight

    def _initialize(self, rows: Rows, family: MixtureFamily, rng: np.random.Generator) -> Any:
        """First state: an M-step with rows at their nearest center, or divided at random."""
        k, seed = self.n_components, int(rng.integers(2**31))
        centers, fill = self._initial_centers(rows, rng)
        if self.observed_labels and centers is not None:
            centers = centers_at_labels(rows, centers, fill)
        state = family.initial_state(np.tile(fill, (k, 1)) if centers is None else centers)
        init = InitialAssignment(centers, fill, k, seed, self.observed_labels)
        return family.m_step(state, rows.total(initial_statistic, family.components(state), init))

    def _initial_centers(self, rows: Rows, rng: np.random.Generator) -> InitialCenters:
        return draw_initial_centers(rows, self.n_components, self.init_params, rng)

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned | {"warning_": _NOT_CONVERGED if self.max_iter > 0 else ""})

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of each row, (n_samples,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, most_probable_component, self._components())

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit the mixture, then predict the most probable component of each row, (n_samples,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name, optional
            Known components, if `observed_labels`.
        """
        return self.fit(X, y).predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each component for each row, (n_samples, n_components).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, membership_probabilities, self._components())

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row, (n_samples,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, log_likelihoods, self._components())

    def score(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's returns None
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean log-likelihood of the rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Ignored; present for API consistency.
        sample_weight : array, optional
            Weight of each row.
        """
        value, weight = self._total_log_likelihood(X, sample_weight)
        return value / weight

    def _total_log_likelihood(self, X: Any, w: Any = None) -> Any:
        check_is_fitted(self)
        with self._work_context():
            return self._rows(X, None, w, reset=False).total(
                total_log_likelihood, self._components()
            )

    @available_if(_counts_parameters)
    def bic(self, X: Any) -> float:
        """Bayesian information criterion: -2 log-likelihood + n_parameters * log n.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        value, n = self._total_log_likelihood(X)
        return float(-2 * value + self._n_parameters() * np.log(n))

    @available_if(_counts_parameters)
    def aic(self, X: Any) -> float:
        """Akaike's information criterion: -2 log-likelihood + 2 * n_parameters.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return float(-2 * self._total_log_likelihood(X).value + 2 * self._n_parameters())

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows, and the component of each, in the order of the components.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples}. At least 1 is needed.")
        rng = self._rng()
        weights = np.asarray(self.weights_, np.float64)
        counts = rng.multinomial(n_samples, weights / weights.sum())
        X = np.concatenate([self._draw(k, int(n), rng) for k, n in enumerate(counts)])
        return X, np.repeat(np.arange(len(counts)), counts)
