"""Base class of mixtures: initialization, the EM loop, and predictions."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.engine.rows import Rows
from tenfold.mixture._e_step import (
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
from tenfold.optim.convergence import until_converged

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


class EMSolution(NamedTuple):
    """Where one start has led: components, mean log-likelihood before the last round, report."""

    state: Any
    value: float
    report: dict[str, Any]


class BaseMixture(DensityMixin, Estimator):
    r"""A hidden component for each row, learned by EM.

    .. math:: \max \sum_i \omega_i \log \sum_k \pi_k \, p_k(x_i)

    A model writes `_family(rows)`, how its components learn: an object with `blank(centres)`,
    `components(state)`, `moved(state, statistic)` and `log_prior(state)`; and
    `_learned(state, dtype)`, `_components()`, `_draw(k, n, rng)` and `_n_parameters()`.
    """

    _min_rows = 2
    _parameter_constraints: dict[str, Any] = MIXTURE_CONSTRAINTS

    @property
    def _draws(self) -> bool:  # one component is the same from any start
        return self.n_components > 1

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if rows.n_rows < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, "
                f"n_samples = {rows.n_rows}"
            )
        if self.observed_labels and not rows.source.has_target:
            raise ValueError("observed_labels=True needs y: component of each row, -1 if unknown")
        climbed = max(self._climbs(rows, rng), key=lambda climb: climb.value)
        return {
            **self._finalize(climbed.state, rows.dtype),
            **climbed.report,
            "lower_bound_": climbed.value,
            "lower_bounds_": (-climbed.report["history_"]["objective"]).tolist(),
        }

    def _climbs(self, rows: Rows, rng: np.random.Generator) -> list[EMSolution]:
        family = self._family(rows)
        if self.warm_start and hasattr(self, "converged_") and self._goes_on(rows):
            return [self._climb(rows, family, self._state(), self.lower_bound_)]
        return [
            self._climb(rows, family, self._start(rows, family, rng), -np.inf)
            for _ in range(self.n_init)
        ]

    def _goes_on(self, rows: Rows) -> bool:
        """Whether what was learned is a start for these parameters and rows."""
        return len(self.weights_) == self.n_components

    def _climb(self, rows: Rows, family: Any, start: Any, before: float) -> EMSolution:
        """Rounds of EM from one start."""
        loop = until_converged((start, float(before)), tol=self.tol, max_iter=self.max_iter)
        for state, last in loop:
            parts = family.components(state)
            s = rows.total(e_step, parts, self.hard, self.observed_labels)
            value = (s.value + family.log_prior(state)) / s.weight
            moved = family.m_step(state, s.statistic)
            loop.update((moved, value), objective=-value, change=abs(value - last))
        state, value = loop.state
        return EMSolution(state, value, loop.report)

    def _start(self, rows: Rows, family: Any, rng: np.random.Generator) -> Any:
        """First components: rows are given to drawn centres, or to components at random."""
        k, seed = self.n_components, int(rng.integers(2**31))
        start = self._centres(rows, rng)
        if self.observed_labels and start.centres is not None:
            start = start._replace(centres=centers_at_labels(rows, start.centres, start.fill))
        centres = np.tile(start.fill, (k, 1)) if start.centres is None else start.centres
        blank = family.initial_state(centres)
        how = InitialAssignment(start.centres, start.fill, k, seed, self.observed_labels)
        return family.m_step(blank, rows.total(initial_statistic, family.components(blank), how))

    def _centres(self, rows: Rows, rng: np.random.Generator) -> InitialCenters:
        return draw_initial_centers(rows, self.n_components, self.init_params, rng)

    def _set_learned(self, learned: dict[str, Any]) -> None:
        for name, value in learned.items():
            setattr(self, name, value)
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, "
                "or increase max_iter, tol, or check for degenerate data. `history_` shows the "
                "log-likelihood per round.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of each row, (n,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, most_probable_component, self._components())

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn from rows, and give the most probable component of each.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : array or column name, optional
            Known components, if `observed_labels`.
        """
        return self.fit(X, y).predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each component for each row, (n, k).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, membership_probabilities, self._components())

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row, (n,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, log_likelihoods, self._components())

    def score(  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's returns None
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean log-likelihood of the rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines and searches can pass it.
        sample_weight : array, optional
            Weight of each row.
        """
        value, weight = self._height(X, sample_weight)
        return value / weight

    def _height(self, X: Any, w: Any = None) -> Any:
        check_is_fitted(self)
        with self._work_context():
            return self._rows(X, None, w, reset=False).total(
                total_log_likelihood, self._components()
            )

    def bic(self, X: Any) -> float:
        """Bayesian information criterion: -2 log-likelihood + numbers to choose * log n.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        value, n = self._height(X)
        return float(-2 * value + self._n_parameters() * np.log(n))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion: -2 log-likelihood + 2 * numbers to choose.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return float(-2 * self._height(X).value + 2 * self._n_parameters())

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows, and the component of each, in the order of the components.

        Parameters
        ----------
        n_samples : int
            How many.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples}. At least 1 is needed.")
        rng = self._rng()
        shares = np.asarray(self.weights_, np.float64)
        counts = rng.multinomial(n_samples, shares / shares.sum())
        X = np.concatenate([self._draw(k, int(n), rng) for k, n in enumerate(counts)])
        return X, np.repeat(np.arange(len(counts)), counts)
