"""Distributions of actions over the outputs of a network: categories, and Gaussians."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from tenfold.math.links import log_softmax
from tenfold.rl._random_numba import uniform


class CategoricalHead:
    """Softmax of the outputs: one of k actions."""

    def __init__(self, k: int) -> None:
        self.n_outputs, self.extra = k, []

    def draw(self, z: np.ndarray, _extra: list, lucks: list[int], step: int) -> np.ndarray:
        """An action for each row."""
        chances = np.exp(log_softmax(z)).cumsum(axis=1)
        u = np.array([uniform(luck, step) for luck in lucks])
        return np.minimum((u[:, None] >= chances).sum(axis=1), z.shape[1] - 1)

    def best(self, z: np.ndarray) -> np.ndarray:
        """The most probable action of each row."""
        return z.argmax(axis=1)

    def to_world(self, actions: np.ndarray) -> np.ndarray:
        """Actions as the world takes them: as they are."""
        return actions

    def log_probability(self, z: np.ndarray, _extra: list, action: np.ndarray) -> np.ndarray:
        """Of the action of each row."""
        return log_softmax(z)[np.arange(len(z)), action]

    def gradient(
        self, z: np.ndarray, _extra: list, action: np.ndarray, weight: np.ndarray, entropy: float
    ) -> tuple[np.ndarray, list]:
        """Gradient in z of -sum_i weight_i log p(a_i) - entropy * mean entropy."""
        log_p = log_softmax(z)
        p = np.exp(log_p)
        slope = weight[:, None] * p
        slope[np.arange(len(z)), action] -= weight
        if entropy:
            H = -(p * log_p).sum(axis=1, keepdims=True)
            slope += entropy / len(z) * p * (log_p + H)
        return slope, []


class GaussianHead:
    """Outputs are the mean of real actions; their spread is a parameter of its own."""

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        self.n_outputs, self.low, self.high = low.size, low, high
        width = np.where(np.isfinite(high - low), (high - low) / 4, 1.0)
        self.extra = [np.log(width.reshape(-1).astype(np.float64))]

    def draw(self, z: np.ndarray, extra: list, lucks: list[int], step: int) -> np.ndarray:
        """An action for each row."""
        d = self.n_outputs
        u = np.array([[uniform(luck, step * d + j) for j in range(d)] for luck in lucks])
        return z + np.exp(extra[0]) * ndtri(np.maximum(u, 2.0**-54))

    def best(self, z: np.ndarray) -> np.ndarray:
        """The mean."""
        return z

    def to_world(self, actions: np.ndarray) -> np.ndarray:
        """Actions within the bounds of the world, in the shape and type of its space."""
        shaped = actions.reshape(-1, *self.low.shape)
        return np.clip(shaped, self.low, self.high).astype(self.low.dtype)

    def log_probability(self, z: np.ndarray, extra: list, action: np.ndarray) -> np.ndarray:
        """Of the action of each row."""
        scaled = (action - z) / np.exp(extra[0])
        return -(0.5 * scaled**2 + extra[0] + 0.5 * np.log(2 * np.pi)).sum(axis=1)

    def gradient(
        self, z: np.ndarray, extra: list, action: np.ndarray, weight: np.ndarray, entropy: float
    ) -> tuple[np.ndarray, list]:
        """The same gradient, in z and in the log-spread."""
        sigma = np.exp(extra[0])
        scaled = (action - z) / sigma
        of_spread = -(weight[:, None] * (scaled**2 - 1)).sum(axis=0) - entropy
        return -weight[:, None] * scaled / sigma, [of_spread]


def make_head(space: Any) -> CategoricalHead | GaussianHead:
    """The head for a space of actions."""
    n, first = getattr(space, "n", None), getattr(space, "start", 0)
    if n is not None and first == 0 and not getattr(space, "shape", ()):
        return CategoricalHead(int(n))
    if getattr(space, "low", None) is not None:
        return GaussianHead(np.asarray(space.low), np.asarray(space.high))
    raise ValueError(f"actions are {space}: PolicyGradient takes numbers from 0 on, or real arrays")
