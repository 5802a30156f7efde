"""Least squares by conjugate gradients: for sparse rows with too many columns for a Gram matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.rows import Chunk, Rows
from tenfold.solve.loop import until_still


class Sums(NamedTuple):
    """Weight, weighted sums of X and y, and X'y."""

    n: float
    x: np.ndarray
    y: np.ndarray
    xy: np.ndarray


def sums(chunk: Chunk) -> Sums:
    """The sums of a chunk."""
    w = chunk.weights()
    Y = w[:, None] * chunk.y.reshape(chunk.rows, -1).astype(np.float64, copy=False)
    return Sums(chunk.weight, chunk.X.T @ w, Y.sum(axis=0), chunk.X.T @ Y)


def gram_times(chunk: Chunk, V: np.ndarray) -> np.ndarray:
    """X'X V with weights, without making X'X."""
    return chunk.X.T @ (chunk.weights()[:, None] * (chunk.X @ V))


def conjugate_gradients(
    rows: Rows, alpha: np.ndarray, *, intercept: bool, tol: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Coefficients (p, q), constants (q,) and the report of the loop.

    Solves (X'X + alpha) w = X'y about the mean, all targets at once, one pass a round, until the
    residual of each is at most `tol` times its right-hand side.
    """
    s = rows.total(sums)
    mean_x, mean_y = (s.x / s.n, s.y / s.n) if intercept else (0 * s.x, 0 * s.y)
    B = s.xy - s.n * np.multiply.outer(mean_x, mean_y)
    size = np.maximum(np.linalg.norm(B, axis=0), np.finfo(float).tiny)
    W, R = np.zeros_like(B), B
    loop = until_still((W, R, R), tol=tol, max_iter=max_iter)
    for W, R, V in loop:
        GV = rows.total(gram_times, V) - s.n * np.multiply.outer(mean_x, mean_x @ V) + alpha * V
        rr = (R * R).sum(axis=0)
        step = rr / np.maximum((V * GV).sum(axis=0), np.finfo(float).tiny)
        W_new, R_new = W + step * V, R - step * GV
        rr_new = (R_new * R_new).sum(axis=0)
        V_new = R_new + rr_new / np.maximum(rr, np.finfo(float).tiny) * V
        objective = -0.5 * float((W_new * (B + R_new)).sum())
        change = float((np.sqrt(rr_new) / size).max())
        loop.tell((W_new, R_new, V_new), objective=objective, change=change)
    W = loop.state[0]
    return W, mean_y - mean_x @ W, loop.report
