"""Weighted moments of Gaussian components, about their means or a common origin."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

LOG_2PI = float(np.log(2 * np.pi))
MAX_SQUARED_DISTANCE = (
    1e8  # squared distance in standard deviations; beyond, less than eight digits are left
)


class ComponentMoments(NamedTuple):
    """Weighted sums about the old means.

    Attributes
    ----------
    n : (k,) weight of each component
    seen : (k, p) weight of the entries that are not missing
    sums : (k, p)
    squares : (k, p, p), (p, p) for all components together, or (k, p) along the axes
    """

    n: np.ndarray
    seen: np.ndarray
    sums: np.ndarray
    squares: np.ndarray


class DiagonalMoments(NamedTuple):
    """Sums and squares along the axes, (2, k, p): one array, whose size tells what rounding is."""

    n: np.ndarray
    seen: np.ndarray
    both: np.ndarray

    def about(self, means: np.ndarray, origin: np.ndarray) -> ComponentMoments:
        """They are about the means already."""
        return ComponentMoments(self.n, self.seen, *self.both)


class ApartMoments(NamedTuple):
    """Sums beside squares, (k, p, 1 + p)."""

    n: np.ndarray
    both: np.ndarray

    def about(self, means: np.ndarray, origin: np.ndarray) -> ComponentMoments:
        """They are about the means already."""
        seen = repeat_weights(self.n, len(origin))
        return ComponentMoments(self.n, seen, self.both[:, :, 0], self.both[:, :, 1:])


class TiedMoments(NamedTuple):
    """Sums of each component above the squares of all, (k + p, p), about the origin."""

    n: np.ndarray
    both: np.ndarray

    def about(self, means: np.ndarray, origin: np.ndarray) -> ComponentMoments:
        """The same about the means."""
        k, M, n = len(means), means - origin, self.n
        sums, squares = self.both[:k], self.both[k:]
        cross = sums.T @ M
        squares = squares - cross - cross.T + (M.T * n) @ M
        return ComponentMoments(n, repeat_weights(n, len(origin)), sums - n[:, None] * M, squares)


class PackedMoments(NamedTuple):
    """Weights (k,) and sums of columns and of their products, (k, p + p (p + 1) / 2)."""

    n: np.ndarray
    total: np.ndarray

    def about(self, means: np.ndarray, origin: np.ndarray) -> ComponentMoments:
        """The same about the means, which were summed about the origin."""
        p, M = len(origin), means - origin
        shift = self.n[:, None] * M
        cross = self.total[:, :p, None] * M[:, None, :]
        squares = _unpack_symmetric(self.total[:, p:], p) - cross - np.swapaxes(cross, 1, 2)
        squares += shift[:, :, None] * M[:, None, :]
        return ComponentMoments(
            self.n, repeat_weights(self.n, p), self.total[:, :p] - shift, squares
        )


def repeat_weights(n: np.ndarray, p: int) -> np.ndarray:
    """Weights (k,) for each of p columns, none of which has gaps."""
    return np.repeat(n[:, None], p, axis=1)


def mixture_mean(weights: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Where sums are taken about: the mean of the mixture."""
    return weights @ means


def moments_about_means(s: Any, weights: np.ndarray, means: np.ndarray) -> ComponentMoments:
    """What leaves say of components with these weights and means, about the means."""
    return s.about(means, mixture_mean(weights, means))


def _unpack_symmetric(pairs: np.ndarray, p: int) -> np.ndarray:
    """Symmetric matrices (k, p, p) from their upper triangles.

    Examples
    --------
    >>> _unpack_symmetric(np.array([[1.0, 2.0, 3.0]]), 2).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    a, b = np.triu_indices(p)
    whole = np.empty((len(pairs), p, p))
    whole[:, a, b] = pairs
    whole[:, b, a] = pairs
    return whole
