"""Steps as the Gaussian emissions of hidden Markov models see them.

A view gives the log-density of each step in each state, and the moments of the steps of each state.
`GaussianEmission.prepare` is the one place that chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import merge
from tenfold.mixture._e_step import iterate_blocks
from tenfold.mixture._gaussian import SeparateComponents
from tenfold.mixture._moments import LOG_2PI, DiagonalMoments, SeparateMoments, repeat_weights
from tenfold.sequence._hmm_covariance_numba import (
    TILE,
    WIDTH,
    add_full_moments,
    fill_full_log_densities,
)
from tenfold.sequence._hmm_gaussian_numba import fill_log_densities, fill_moments


class ComponentView(NamedTuple):
    """Components of a mixture, and steps as they see them."""

    components: Any
    rows: Any

    @classmethod
    def of(cls, components: Any, X: np.ndarray) -> ComponentView:
        """Steps prepared by the components."""
        return cls(components, components.prepare(X))

    def log_densities(self) -> np.ndarray:
        """Log-density of each component and step, (K, n)."""
        return self.components.log_joint(self.rows)

    def statistic(self, probabilities: np.ndarray) -> Any:
        """Statistic of the steps of each component."""
        return self.components.statistic(self.rows, probabilities)


class BlockView(NamedTuple):
    """Components of a mixture, and steps that they see block by block, each in the cache."""

    components: Any
    X: np.ndarray

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        """Steps of each block, and these as the components see them."""
        for block in iterate_blocks(Chunk(self.X), self.components.values_per_row):
            own = slice(block.first, block.first + block.rows)
            yield own, self.components.prepare(block.X)

    def log_densities(self) -> np.ndarray:
        """Log-density of each component and step, (K, n)."""
        parts = [self.components.log_joint(rows) for _, rows in self._blocks()]
        return np.concatenate(parts, axis=1)

    def statistic(self, probabilities: np.ndarray) -> Any:
        """Statistic of the steps of each component."""
        total = None
        for own, rows in self._blocks():
            part = self.components.statistic(rows, probabilities[:, own])
            total = merge(total, part, reuse=True)
        return total


class ColumnView(NamedTuple):
    """Gaussian steps without missing entries, whose columns are independent.

    Attributes
    ----------
    X : (p, n) steps
    means, half_precisions : (K, p)
    offsets : (K,) log-density at the mean
    """

    X: np.ndarray
    means: np.ndarray
    half_precisions: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, means: np.ndarray, precisions: np.ndarray, X: np.ndarray) -> ColumnView:
        """Steps (n, p) and states with these means and precisions, (K, p)."""
        half = 0.5 * precisions
        offsets = 0.5 * np.log(precisions).sum(axis=1) - 0.5 * LOG_2PI * means.shape[1]
        return cls(np.ascontiguousarray(X.T), means, half, offsets)

    def log_densities(self) -> np.ndarray:
        """Log-density of each state and step, (K, n)."""
        log_B = np.empty((len(self.means), self.X.shape[1]))
        fill_log_densities(*self, log_B)
        return log_B

    def statistic(self, probabilities: np.ndarray) -> DiagonalMoments:
        """Moments of the steps of each state."""
        K, p = self.means.shape
        n, both = np.empty(K), np.empty((2, K, p))
        fill_moments(self.X, self.means, probabilities, n, *both)
        return DiagonalMoments(n, repeat_weights(n, p), both)


class MatrixView(NamedTuple):
    """Gaussian steps without missing entries, with a covariance in each state.

    Attributes
    ----------
    X : (p, n) steps
    means : (K, p)
    factors : (K, q, q) lower triangular factors of the precisions, padded by zeros
    offsets : (K,) log-density at the mean
    """

    X: np.ndarray
    means: np.ndarray
    factors: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, components: SeparateComponents, X: np.ndarray) -> MatrixView:
        """Steps (n, p) and states with the parameters of these components."""
        offsets, means, factors = components
        K, p = means.shape
        q = -(-p // TILE) * TILE
        padded = np.zeros((K, q, q))
        padded[:, :p, :p] = np.swapaxes(factors, 1, 2)
        return cls(np.ascontiguousarray(X.T), means, padded, offsets)

    def log_densities(self) -> np.ndarray:
        """Log-density of each state and step, (K, n)."""
        log_B = np.empty((len(self.means), self.X.shape[1]))
        memory = np.zeros((self.factors.shape[1], WIDTH)), np.empty((2, WIDTH))
        fill_full_log_densities(*self, log_B, *memory)
        return log_B

    def statistic(self, probabilities: np.ndarray) -> SeparateMoments:
        """Moments of the steps of each state."""
        (K, p), q = self.means.shape, self.factors.shape[1]
        n, both = np.zeros(K), np.zeros((K, q, 1 + q))
        memory = np.zeros((q, WIDTH)), np.zeros((q, WIDTH))
        add_full_moments(self.X, self.means, probabilities, n, both, *memory)
        squares = np.triu(both[:, :p, 1 : 1 + p])
        squares += np.swapaxes(np.triu(squares, 1), 1, 2)
        return SeparateMoments(n, np.concatenate([both[:, :p, :1], squares], axis=2))


GaussianView = ComponentView | BlockView | ColumnView | MatrixView
