r"""Gaussian mixtures by gradient ascent instead of EM.

Fisher's identity gives the gradient of the likelihood from the statistics of the E-step:

.. math:: \nabla \log p(x) = \sum_z p(z \mid x) \, \nabla \log p(x, z)

The parameters are unconstrained: weights are a softmax, means and precision factors are relative to
the initial ones, in their units. `reg_covar` enters the objective as the mean of log p over noise
of that variance; the fixed points of EM are those of this objective up to terms of its size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.rows import Rows
from tenfold.mixture import _covariance_types
from tenfold.mixture._covariance_types import DIAGONAL_TYPES
from tenfold.mixture._e_step import e_step
from tenfold.mixture._gaussian import (
    DiagonalComponents,
    GaussianFamily,
    GaussianParameters,
    gaussian_components,
)
from tenfold.mixture._missing_values import MissingValueComponents
from tenfold.mixture._moments import ComponentMoments, moments_about_means
from tenfold.optim.quasi_newton import lbfgs


class Parametrization(NamedTuple):
    """Unconstrained parameters theta of Gaussian mixtures; zero stands for the initial mixture."""

    initial: GaussianParameters
    factors: np.ndarray
    kind: str

    @property
    def _starts(self) -> tuple[int, int]:
        """Where the parameters of the means and of the factors begin in theta."""
        k = len(self.initial.weights)
        return k, self.initial.means.size + k

    @property
    def size(self) -> int:
        """Length of theta; entries below the diagonal of a factor stay zero."""
        return self._starts[1] + self.factors.size

    def _split(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logits of the weights, scaled shifts of the means, log-factors."""
        a, b = self._starts
        shifts = theta[a:b].reshape(self.initial.means.shape)
        return theta[:a], shifts, theta[b:].reshape(self.factors.shape)

    def at(self, theta: np.ndarray) -> tuple[GaussianParameters, np.ndarray]:
        """Weights and means, and the precision factors."""
        logits, shifts, log_factors = self._split(theta)
        weights = self.initial.weights * np.exp(logits - logits.max())
        means = self.initial.means + self._unscale(shifts)
        if self._diagonal:
            factors = self.factors * np.exp(log_factors)
        else:
            factors = self.factors @ _triangular_factors(log_factors)
        g = GaussianParameters(weights / weights.sum(), means, self.initial.covariances)
        return g, factors

    def gradient(self, theta: np.ndarray, s: ComponentMoments, ridge: float) -> np.ndarray:
        """Gradient of the log-likelihood by Fisher's identity."""
        g, factors = self.at(theta)
        if self._diagonal:
            of_means = s.sums * _axis_precisions(factors)
            of_factors = self._diagonal_gradient(s, factors, ridge)
        else:
            of_means = _multiply_by_precisions(s.sums, factors)
            of_factors = self._triangular_gradient(theta, s, ridge)
        parts = s.n - s.n.sum() * g.weights, self._scale(of_means), of_factors
        return np.concatenate([part.ravel() for part in parts])

    @property
    def _diagonal(self) -> bool:
        return self.kind in DIAGONAL_TYPES

    def _unscale(self, shifts: np.ndarray) -> np.ndarray:
        """Shifts in the units of the data, from initial standard deviations."""
        if self._diagonal:
            return shifts / np.sqrt(_axis_precisions(self.factors))
        return np.linalg.solve(np.swapaxes(self.factors, -1, -2), shifts[..., None])[..., 0]

    def _scale(self, gradient: np.ndarray) -> np.ndarray:
        """The gradient of the shifts, from the gradient of the means."""
        if self._diagonal:
            return gradient / np.sqrt(_axis_precisions(self.factors))
        return np.linalg.solve(self.factors, gradient[..., None])[..., 0]

    def _diagonal_gradient(
        self, s: ComponentMoments, factors: np.ndarray, ridge: float
    ) -> np.ndarray:
        """Gradient of the log-factors along the axes."""
        gradient = s.observed - (s.squares + ridge * s.n[:, None]) * _axis_precisions(factors)
        return gradient.sum(axis=1) if self.kind == "spherical" else gradient

    def _triangular_gradient(
        self, theta: np.ndarray, s: ComponentMoments, ridge: float
    ) -> np.ndarray:
        """Gradient of triangular factors whose diagonals are logarithms."""
        n = s.n if self.kind == "full" else s.n.sum()
        pooled = self.kind == "tied" and s.squares.ndim == 3
        scatter = s.squares.sum(axis=0) if pooled else s.squares
        scatter = scatter + np.multiply.outer(n, ridge * np.eye(scatter.shape[-1]))
        T = _triangular_factors(self._split(theta)[2])
        eye = np.eye(T.shape[-1])
        gradient = -np.triu(np.swapaxes(self.factors, -1, -2) @ scatter @ self.factors @ T)
        diagonal = np.multiply.outer(n, eye) + gradient * (eye * T)
        return np.triu(gradient, 1) + diagonal * eye


def _triangular_factors(log_factors: np.ndarray) -> np.ndarray:
    """Upper triangular matrices whose diagonals are given as logarithms."""
    diagonal = np.exp(np.diagonal(log_factors, axis1=-2, axis2=-1))
    return np.triu(log_factors, 1) + diagonal[..., None] * np.eye(log_factors.shape[-1])


def _axis_precisions(factors: np.ndarray) -> np.ndarray:
    """Precisions along the axes, (k, p) or (k, 1)."""
    return factors**2 if factors.ndim == 2 else factors[:, None] ** 2


def _multiply_by_precisions(rows: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The precision P P' of each component times its row."""
    return (rows[:, None, :] @ factors @ np.swapaxes(factors, -1, -2))[:, 0]


def ascend_likelihood(
    rows: Rows, family: GaussianFamily, initial: GaussianParameters, model: Any
) -> tuple[GaussianParameters, float, dict[str, Any]]:
    """Maximize the likelihood by L-BFGS: parameters, mean log-likelihood, report."""
    fixed = family.fixed_weights or family.fixed_covariances
    if model.hard or family.min_variance or family.min_seen or fixed:
        raise ValueError(
            "solver='gradient' maximizes the likelihood over all parameters: hard, min_variance, "
            "min_seen, fixed_weights and fixed_covariances need solver='em'"
        )
    kind = family.kind
    factors = _covariance_types.precision_factors(initial.covariances, kind)
    parametrization = Parametrization(initial, factors, kind)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        g, factors = parametrization.at(theta)
        components = gaussian_components(g.weights, g.means, factors, kind)
        components = _regularize_components(components, factors, family.reg_covar)
        s = rows.total(e_step, components, False, model.observed_labels)
        moments = moments_about_means(s.statistic, g.weights, g.means)
        gradient = parametrization.gradient(theta, moments, family.reg_covar)
        return -s.log_likelihood / s.weight, -gradient / s.weight

    zero = np.zeros(parametrization.size)
    solution = lbfgs(loss, zero, tol=model.tol, max_iter=model.max_iter)
    g, factors = parametrization.at(solution.x)
    precisions = _covariance_types.precisions_from_factors(factors, kind)
    covariances = _covariance_types.invert_matrices(precisions, kind)
    return g._replace(covariances=covariances), -solution.value, solution.report


def _regularize_components(
    components: DiagonalComponents | MissingValueComponents, factors: np.ndarray, ridge: float
) -> DiagonalComponents | MissingValueComponents:
    """Components whose log-densities are means over noise of variance `ridge`."""
    if isinstance(components, DiagonalComponents):
        return components.subtract(0.5 * ridge * components.precisions.sum(axis=1))
    return components.subtract(0.5 * ridge * (factors**2).sum(axis=(-2, -1)))
