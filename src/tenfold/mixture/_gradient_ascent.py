r"""A mixture of Gaussians by gradient ascent instead of EM.

Fisher's identity makes the slope of the likelihood from the statistics of the E-step:

.. math:: \nabla \log p(x) = \sum_z p(z \mid x) \, \nabla \log p(x, z)

The unknowns are free numbers: weights are a softmax, means and factors of the precisions are
counted from the start in its own units. `reg_covar` stands in the objective as the mean of log p
over noise of that variance; EM's fixed points are those of this objective but for terms of its
size.
[000, 4.2.1]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.rows import Rows
from tenfold.mixture import _covariance_types
from tenfold.mixture._e_step import e_step
from tenfold.mixture._gaussian import GaussianFamily, GaussianParameters, gaussian_components
from tenfold.mixture._moments import ComponentMoments, moments_about_means
from tenfold.optim.quasi_newton import lbfgs


class UnconstrainedParameters(NamedTuple):
    """Free numbers for mixtures of one shape, about a start: zero stands for the start."""

    start: GaussianParameters
    factors: np.ndarray
    kind: str

    @property
    def sizes(self) -> tuple[int, int]:
        """Where the numbers of means and of factors begin."""
        return len(self.start.weights), self.start.means.size + len(self.start.weights)

    @property
    def size(self) -> int:
        """How many numbers there are; those below the diagonal of a factor stay zero."""
        return self.sizes[1] + self.factors.size

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logits of the weights, steps of the means, turns of the factors."""
        a, b = self.sizes
        steps = theta[a:b].reshape(self.start.means.shape)
        return theta[:a], steps, theta[b:].reshape(self.factors.shape)

    def at(self, theta: np.ndarray) -> tuple[GaussianParameters, np.ndarray]:
        """Weights and means, and the factors of the precisions."""
        logits, steps, turns = self.parts(theta)
        weights = self.start.weights * np.exp(logits - logits.max())
        means = self.start.means + self._unscaled(steps)
        factors = (
            self.factors * np.exp(turns)
            if self._axes
            else self.factors @ _triangular_factors(turns)
        )
        return GaussianParameters(weights / weights.sum(), means, self.start.covariances), factors

    def slope(self, theta: np.ndarray, s: ComponentMoments, ridge: float) -> np.ndarray:
        """Slope of the log-likelihood by Fisher's identity."""
        g, factors = self.at(theta)
        pull = (
            s.sums * _axis_precisions(factors)
            if self._axes
            else _multiply_by_precisions(s.sums, factors)
        )
        spread = self._axes_slope if self._axes else self._turn_slope
        parts = s.n - s.n.sum() * g.weights, self._scaled(pull), spread(theta, s, factors, ridge)
        return np.concatenate([part.ravel() for part in parts])

    @property
    def _axes(self) -> bool:
        return self.kind in ("diag", "spherical")

    def _unscaled(self, steps: np.ndarray) -> np.ndarray:
        """Steps in standard deviations of the start, as steps of the data."""
        if self._axes:
            return steps / np.sqrt(_axis_precisions(self.factors))
        return np.linalg.solve(np.swapaxes(self.factors, -1, -2), steps[..., None])[..., 0]

    def _scaled(self, pull: np.ndarray) -> np.ndarray:
        """The slope of the steps, from the slope of the means."""
        if self._axes:
            return pull / np.sqrt(_axis_precisions(self.factors))
        return np.linalg.solve(self.factors, pull[..., None])[..., 0]

    def _axes_slope(
        self, theta: np.ndarray, s: ComponentMoments, factors: np.ndarray, ridge: float
    ) -> np.ndarray:
        each = s.seen - (s.squares + ridge * s.n[:, None]) * _axis_precisions(factors)
        return each.sum(axis=1) if self.kind == "spherical" else each

    def _turn_slope(
        self, theta: np.ndarray, s: ComponentMoments, factors: np.ndarray, ridge: float
    ) -> np.ndarray:
        n = s.n if self.kind == "full" else s.n.sum()
        pooled = self.kind == "tied" and s.squares.ndim == 3
        scatter = s.squares.sum(axis=0) if pooled else s.squares
        scatter = scatter + np.multiply.outer(n, ridge * np.eye(scatter.shape[-1]))
        T = _triangular_factors(self.parts(theta)[2])
        diagonal = np.eye(T.shape[-1]) * T
        slope = -np.triu(np.swapaxes(self.factors, -1, -2) @ scatter @ self.factors @ T)
        own = np.multiply.outer(n, np.eye(T.shape[-1])) + slope * diagonal
        return np.triu(slope, 1) + own * np.eye(T.shape[-1])


def _triangular_factors(turns: np.ndarray) -> np.ndarray:
    """Upper triangular matrices whose diagonals are given as logarithms."""
    diagonal = np.exp(np.diagonal(turns, axis1=-2, axis2=-1))
    return np.triu(turns, 1) + diagonal[..., None] * np.eye(turns.shape[-1])


def _axis_precisions(factors: np.ndarray) -> np.ndarray:
    """Precisions along the axes, (k, p) or (k, 1)."""
    return factors**2 if factors.ndim == 2 else factors[:, None] ** 2


def _multiply_by_precisions(rows: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The precision P P' of each component times its row."""
    return (rows[:, None, :] @ factors @ np.swapaxes(factors, -1, -2))[:, 0]


def ascend_likelihood(
    rows: Rows, family: GaussianFamily, start: GaussianParameters, model: Any
) -> tuple:
    """Where L-BFGS leads from a start: components, mean log-likelihood, report."""
    if model.hard or family.min_variance or family.min_seen:
        raise ValueError(
            "solver='gradient' climbs the likelihood alone: hard, min_variance and min_seen need "
            "solver='em'"
        )
    chart = UnconstrainedParameters(
        start, _covariance_types.precision_factors(start.covariances, family.kind), family.kind
    )

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        g, factors = chart.at(theta)
        parts = _regularize_components(
            gaussian_components(g.weights, g.means, factors, family.kind), factors, family
        )
        s = rows.total(e_step, parts, False, model.observed_labels)
        moments = moments_about_means(s.statistic, g.weights, g.means)
        return -s.value / s.weight, -chart.slope(theta, moments, family.reg_covar) / s.weight

    found = lbfgs(loss, np.zeros(chart.size), tol=model.tol, max_iter=model.max_iter)
    g, factors = chart.at(found.x)
    covariances = _covariance_types.invert_matrices(
        _covariance_types.precisions_from_factors(factors, family.kind), family.kind
    )
    return g._replace(covariances=covariances), -found.value, found.report


def _regularize_components(parts: Any, factors: np.ndarray, family: GaussianFamily) -> Any:
    """Components whose scores are means over noise of variance `reg_covar`."""
    if family.kind in ("diag", "spherical"):
        lost = 0.5 * family.reg_covar * parts.precisions.sum(axis=1)
        log_weights, offsets = parts.log_weights - lost, parts.offsets - lost
        return parts._replace(log_weights=log_weights, offsets=offsets)
    lost = 0.5 * family.reg_covar * (factors**2).sum(axis=(-2, -1))
    return parts.lowered(lost)
