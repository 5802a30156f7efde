"""Objectives of linear models in plain numpy: one function judges everybody's coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp

Loss = Callable[[np.ndarray, np.ndarray, float], np.ndarray]  # scores (n, m), target, scale: (n,)


class Solution(NamedTuple):
    """Coefficients (m, p), constants (m,), and the scale that Huber's model learns beside them."""

    W: np.ndarray
    b: np.ndarray
    scale: float = 1.0


class Penalty(NamedTuple):
    """l1 |w| + l2 / 2 |w|^2, and for liblinear's objective b^2 / 2."""

    l1: float = 0.0
    l2: float = 0.0
    on_constant: bool = False


def solution_of(model: Any) -> Solution:
    """What a fitted model of any library has learned, in double precision."""
    W = np.atleast_2d(np.asarray(model.coef_, np.float64))
    b = np.atleast_1d(np.asarray(model.intercept_, np.float64))
    return Solution(W, b, float(getattr(model, "scale_", 1.0)))


def objective(
    found: Solution, X: Any, y: np.ndarray, loss: Loss, factor: float, penalty: Penalty
) -> float:
    """Factor times the sum of losses, plus the penalty."""
    Z = np.asarray(X @ found.W.T, np.float64) + found.b
    value = factor * float(loss(Z, y, found.scale).sum())
    value += penalty.l1 * float(np.abs(found.W).sum())
    value += 0.5 * penalty.l2 * float((found.W**2).sum())
    return value + 0.5 * float((found.b**2).sum()) * penalty.on_constant


def signs(y: np.ndarray, m: int) -> np.ndarray:
    """+1 for the class of each score, (n, m); the second of two classes where there is one."""
    return np.where(y[:, None] == (np.arange(m) if m > 1 else 1), 1.0, -1.0)


def logistic(Z: np.ndarray, y: np.ndarray, _: float) -> np.ndarray:
    return np.logaddexp(0.0, -signs(y, 1)[:, 0] * Z[:, 0])


def softmax(Z: np.ndarray, y: np.ndarray, _: float) -> np.ndarray:
    return logsumexp(Z, axis=1) - Z[np.arange(len(y)), y]


def probit(Z: np.ndarray, y: np.ndarray, _: float) -> np.ndarray:
    return -log_ndtr(signs(y, 1)[:, 0] * Z[:, 0])


def poisson(Z: np.ndarray, y: np.ndarray, _: float) -> np.ndarray:
    return np.exp(Z[:, 0]) - y * Z[:, 0]


def squared(Z: np.ndarray, y: np.ndarray, _: float) -> np.ndarray:
    return 0.5 * (y - Z[:, 0]) ** 2


def pinball(Z: np.ndarray, y: np.ndarray, _: float, q: float = 0.5) -> np.ndarray:
    r = y - Z[:, 0]
    return np.maximum(q * r, (q - 1) * r)


def huber(Z: np.ndarray, y: np.ndarray, scale: float, epsilon: float = 1.35) -> np.ndarray:
    u = np.abs(y - Z[:, 0]) / scale
    return scale + scale * np.where(u <= epsilon, u**2, 2 * epsilon * u - epsilon**2)


def hinge(Z: np.ndarray, y: np.ndarray, _: float) -> np.ndarray:
    return np.maximum(0.0, 1 - signs(y, Z.shape[1]) * Z).sum(axis=1)


def squared_hinge(Z: np.ndarray, y: np.ndarray, _: float) -> np.ndarray:
    return (np.maximum(0.0, 1 - signs(y, Z.shape[1]) * Z) ** 2).sum(axis=1)
