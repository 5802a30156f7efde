"""Losses of a score: value and slope per row, never the matrix that made the score.

Scores are class-major, (k, n): sums over classes then run along memory, which is several times
faster for few classes than row by row.
"""

from __future__ import annotations

import numpy as np


def softmax_loss(Z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cross-entropy of softmax scores: losses (n,), and slopes (k, n), written over the scores.

    Examples
    --------
    >>> import numpy as np
    >>> loss, slope = softmax_loss(np.zeros((2, 1)), np.array([0]))
    >>> loss.round(4).tolist(), slope.ravel().tolist()
    ([0.6931], [-0.5, 0.5])
    """
    rows = np.arange(Z.shape[1])
    Z -= Z.max(axis=0)
    own = Z[y, rows]
    P = np.exp(Z, out=Z)
    total = P.sum(axis=0)
    P /= total
    P[y, rows] -= 1
    return np.log(total) - own, P


def logistic_loss(z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loss log(1 + exp(-z)) of label 1 and log(1 + exp(z)) of label 0, and its slope, both (n,).

    Examples
    --------
    >>> import numpy as np
    >>> loss, slope = logistic_loss(np.array([0.0, 1000.0]), np.array([1, 0]))
    >>> loss.round(4).tolist(), slope.tolist()
    ([0.6931, 1000.0], [-0.5, 1.0])
    """
    decay = np.exp(-np.abs(z))
    p = np.where(z >= 0, 1.0, decay) / (1 + decay)
    loss = np.maximum(z, 0) - y * z + np.log1p(decay)
    return loss.astype(z.dtype, copy=False), (p - y).astype(z.dtype, copy=False)
