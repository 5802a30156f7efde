"""How good a fitted model is, in float64 and from its public attributes alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import logsumexp

from benchmarks.case import Data, Quality

BLOCK = 50_000  # rows at once
JUDGED = 100_000  # rows that accuracy is measured on


def blocks(data: Data) -> Iterator[tuple[np.ndarray, Any]]:
    for first in range(0, len(data.X), BLOCK):
        rows = slice(first, first + BLOCK)
        yield data.X[rows].astype(np.float64), None if data.y is None else data.y[rows]


def cross_entropy(model: Any, data: Data) -> float:
    """Mean objective of logistic regression with C = 1."""
    W, b = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
    loss = sum(_loss(X @ W.T + b, np.searchsorted(model.classes_, y)) for X, y in blocks(data))
    return float(loss + 0.5 * (W**2).sum()) / len(data.X)


def _loss(Z: np.ndarray, y: np.ndarray) -> float:
    if Z.shape[1] == 1:
        Z = np.hstack([np.zeros_like(Z), Z])
    return (logsumexp(Z, axis=1) - Z[np.arange(len(y)), y]).sum()


def squares(model: Any, data: Data) -> float:
    """Mean objective of least squares, with the penalty if there is one."""
    w = np.ravel(model.coef_).astype(np.float64)
    loss = sum(((X @ w + model.intercept_ - y) ** 2).sum() for X, y in blocks(data))
    return float(loss + getattr(model, "alpha", 0.0) * w @ w) / len(data.X)


def inertia(model: Any, data: Data) -> float:
    """Mean squared distance to the nearest centre."""
    C = model.cluster_centers_.astype(np.float64)
    half = 0.5 * (C**2).sum(axis=1)
    nearest = ((X**2).sum() - 2 * (X @ C.T - half).max(axis=1).sum() for X, _ in blocks(data))
    return float(sum(nearest)) / len(data.X)


def variance_kept(model: Any, data: Data) -> float:
    """Variance of the rows along the components, which are first made orthonormal."""
    W = np.linalg.qr(model.components_.T.astype(np.float64))[0]
    mean = data.X.mean(axis=0, dtype=np.float64)
    return float(sum(((X - mean) @ W).__pow__(2).sum() for X, _ in blocks(data))) / len(data.X)


def accuracy(model: Any, data: Data) -> float:
    judged = data.head(JUDGED)
    return float(np.mean(model.predict(judged.X) == judged.y))


CROSS_ENTROPY = Quality("objective", cross_entropy, 1e-4)
SQUARES = Quality("objective", squares, 1e-5)
INERTIA = Quality("inertia", inertia, 1e-4)
INERTIA_OWN_START = Quality("mean inertia", inertia, 1e-2)
VARIANCE = Quality("variance kept", variance_kept, 1e-5, lower_is_better=False)
ACCURACY = Quality("accuracy", accuracy, 1e-4, lower_is_better=False)
