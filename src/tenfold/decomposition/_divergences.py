"""Beta-divergences between entries and their reconstruction, and multiplicative steps."""

from __future__ import annotations

from typing import Any

import numpy as np

TINY = float(np.finfo(np.float64).eps)  # the least reconstruction by which an entry is divided

BETA_LOSSES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


def beta_of(loss: Any) -> float:
    """The number that the name of a loss stands for."""
    return BETA_LOSSES[loss] if isinstance(loss, str) else float(loss)


def exponent_of(beta: float) -> float:
    """The power of a multiplicative step with which the divergence never increases."""
    if beta < 1:
        return 1.0 / (2.0 - beta)
    return 1.0 / (beta - 1.0) if beta > 2 else 1.0


def beta_divergence(X: np.ndarray, R: np.ndarray, beta: float) -> np.ndarray:
    """Divergence of each entry of X from its reconstruction R.

    Examples
    --------
    >>> import numpy as np
    >>> X, R = np.array([1.0, 2.0]), np.array([2.0, 2.0])
    >>> [beta_divergence(X, R, b).round(4).tolist() for b in (2, 1, 0)]
    [[0.5, 0.0], [0.3069, 0.0], [0.1931, 0.0]]
    """
    X = X.astype(np.float64, copy=False)
    if beta == 2:
        return 0.5 * (X - R) ** 2
    R = np.maximum(R, TINY)
    if beta == 1:
        there = X > 0
        logs = np.log(np.where(there, X, 1.0) / np.where(there, R, 1.0))
        return X * logs - X + R
    if beta == 0:
        ratio = X / R
        return ratio - np.log(np.maximum(ratio, TINY)) - 1.0
    powers = X**beta + (beta - 1.0) * R**beta - beta * X * R ** (beta - 1.0)
    return powers / (beta * (beta - 1.0))


def step_matrices(X: np.ndarray, R: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """X R^(beta - 2) and R^(beta - 1): what a multiplicative step multiplies by the factor."""
    R = np.maximum(R, TINY)
    if beta == 2:
        return X, R
    if beta == 1:
        return X / R, np.ones_like(R)
    if beta == 0:
        inverse = 1.0 / R
        return X * inverse * inverse, inverse
    power = R ** (beta - 2.0)
    return X * power, power * R


def scale_factor(
    F: np.ndarray, up: np.ndarray, down: np.ndarray, exponent: float, dead: float = 0.0
) -> np.ndarray:
    """F (up / down)^exponent; zeros stay, and entries below `dead` become zeros."""
    ratio = up / np.where(down > 0, down, TINY)
    out = F * (ratio if exponent == 1.0 else ratio**exponent)
    return np.where(out < dead, 0.0, out) if dead else out
