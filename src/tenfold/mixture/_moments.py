"""Weighted moments of Gaussian components, about their means or a common origin.

Shapes use k components and p features.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

LOG_2PI = float(np.log(2 * np.pi))
# Squared distance of a component from the origin, in its standard deviations. Sums about the origin
# lose digits in proportion to it: beyond this limit fewer than eight digits are left.
MAX_SQUARED_DISTANCE = 1e8


class ComponentMoments(NamedTuple):
    """Weighted sums about the means of the previous iteration.

    Attributes
    ----------
    n : (k,) weight of each component
    observed : (k, p) weight of the entries that are not missing
    sums : (k, p)
    squares : (k, p, p), (p, p) for all components together, or (k, p) along the axes
    """

    n: np.ndarray
    observed: np.ndarray
    sums: np.ndarray
    squares: np.ndarray


class ComponentSums(Protocol):
    """Sums of one chunk, in the form that the components can compute fastest."""

    @property
    def n(self) -> np.ndarray: ...

    def about(self, means: np.ndarray, origin: np.ndarray) -> ComponentMoments:
        """The same moments about the means."""
        ...


class DiagonalMoments(NamedTuple):
    """Sums and squares along the axes, about the means.

    They are one array (2, k, p): its size decides how the engine accumulates it.
    """

    n: np.ndarray
    observed: np.ndarray
    sums_and_squares: np.ndarray

    def about(self, means: np.ndarray, origin: np.ndarray) -> ComponentMoments:
        """The same moments; they are about the means already."""
        return ComponentMoments(self.n, self.observed, *self.sums_and_squares)


class SeparateMoments(NamedTuple):
    """Sums beside squares, (k, p, 1 + p), about the means."""

    n: np.ndarray
    sums_and_squares: np.ndarray

    def about(self, means: np.ndarray, origin: np.ndarray) -> ComponentMoments:
        """The same moments; they are about the means already."""
        observed = repeat_weights(self.n, len(origin))
        both = self.sums_and_squares
        return ComponentMoments(self.n, observed, both[:, :, 0], both[:, :, 1:])


class TiedMoments(NamedTuple):
    """Sums of each component above the squares of all, (k + p, p), about the origin."""

    n: np.ndarray
    sums_and_squares: np.ndarray

    def about(self, means: np.ndarray, origin: np.ndarray) -> ComponentMoments:
        """The same moments about the means."""
        k, M, n = len(means), means - origin, self.n
        sums, squares = self.sums_and_squares[:k], self.sums_and_squares[k:]
        cross = sums.T @ M
        squares = squares - cross - cross.T + (M.T * n) @ M
        return ComponentMoments(n, repeat_weights(n, len(origin)), sums - n[:, None] * M, squares)


class PackedMoments(NamedTuple):
    """Sums of columns and of their products, (k, p + p (p + 1) / 2), about the origin."""

    n: np.ndarray
    sums_and_products: np.ndarray

    def about(self, means: np.ndarray, origin: np.ndarray) -> ComponentMoments:
        """The same moments about the means."""
        p, M = len(origin), means - origin
        total = self.sums_and_products
        shift = self.n[:, None] * M
        cross = total[:, :p, None] * M[:, None, :]
        squares = _unpack_symmetric(total[:, p:], p) - cross - np.swapaxes(cross, 1, 2)
        squares += shift[:, :, None] * M[:, None, :]
        return ComponentMoments(self.n, repeat_weights(self.n, p), total[:, :p] - shift, squares)


def repeat_weights(n: np.ndarray, p: int) -> np.ndarray:
    """Weights (k,) as (k, p): no entry is missing."""
    return np.repeat(n[:, None], p, axis=1)


def mixture_mean(weights: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Mean of the mixture, the origin of sums."""
    return weights @ means


def moments_about_means(
    s: ComponentSums, weights: np.ndarray, means: np.ndarray
) -> ComponentMoments:
    """Moments of components with these weights and means, about the means."""
    return s.about(means, mixture_mean(weights, means))


def moments_about_origin(
    n: np.ndarray, sums: np.ndarray, squares: np.ndarray, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums (k, p) and squares (k, p, p) about an origin, from those about means = origin + offset.

    Examples
    --------
    One row at the mean 2 of its component, summed about 0:

    >>> sums, squares = moments_about_origin(
    ...     np.ones(1), np.zeros((1, 1)), np.zeros((1, 1, 1)), np.full((1, 1), 2.0)
    ... )
    >>> sums.item(), squares.item()
    (2.0, 4.0)
    """
    cross = sums[:, :, None] * offset[:, None, :]
    both = n[:, None, None] * offset[:, :, None] * offset[:, None, :]
    squares = squares + cross + np.swapaxes(cross, 1, 2) + both
    return sums + n[:, None] * offset, squares


def _unpack_symmetric(pairs: np.ndarray, p: int) -> np.ndarray:
    """Symmetric matrices (k, p, p) from their upper triangles.

    Examples
    --------
    >>> _unpack_symmetric(np.array([[1.0, 2.0, 3.0]]), 2).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    a, b = np.triu_indices(p)
    matrices = np.empty((len(pairs), p, p))
    matrices[:, a, b] = pairs
    matrices[:, b, a] = pairs
    return matrices
