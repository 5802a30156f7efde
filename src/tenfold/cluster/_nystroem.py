"""The Nystroem map: kernel values of rows with a few landmarks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows

_UNIT_DIAGONAL_KERNELS = (
    "rbf",
    "laplacian",
    "chi2",
    "cosine",
)  # kernels that are 1 for a row with itself
_DOT_PRODUCT_KERNELS = {
    "poly": ("gamma", "degree", "coef0"),
    "polynomial": ("gamma", "degree", "coef0"),
}
_DOT_PRODUCT_KERNELS |= {"sigmoid": ("gamma", "coef0"), "linear": ()}
_EIGENVALUE_CUTOFF = 1e-10  # eigenvalues below this share of the largest are taken for zero


class KernelFunction(NamedTuple):
    """A kernel with its numbers."""

    name: Any  # of scikit-learn's kernels, "precomputed", or a function of two rows
    gamma: float | None
    degree: float
    coef0: float
    more: dict[str, Any]

    def values(self, X: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
        """Kernel of each row with each landmark, in float64."""
        if self.name == "precomputed":
            return np.take(X, landmarks, axis=1).astype(np.float64)
        wide, marks = X.astype(np.float64), landmarks.astype(np.float64)
        return pairwise_kernels(wide, marks, metric=self.name, **self._numbers())

    def squares(self, chunk: Chunk) -> np.ndarray:
        """Kernel of each row with itself."""
        X = chunk.X
        if self.name == "precomputed":
            return X[np.arange(chunk.rows), chunk.first + np.arange(chunk.rows)].astype(np.float64)
        if isinstance(self.name, str) and self.name in _UNIT_DIAGONAL_KERNELS:
            return np.ones(chunk.rows)
        if callable(self.name):
            return np.array([self.name(x, x, **self.more) for x in X.astype(np.float64)])
        return self._of_product(np.einsum("ij,ij->i", X, X, dtype=np.float64), X.shape[1])

    def _numbers(self) -> dict[str, Any]:
        if callable(self.name):
            return self.more
        known = _DOT_PRODUCT_KERNELS.get(self.name, ("gamma",) if self.name != "cosine" else ())
        return {name: getattr(self, name) for name in known}

    def _of_product(self, product: np.ndarray, width: int) -> np.ndarray:
        if self.name == "linear":
            return product
        inner = (1.0 / width if self.gamma is None else self.gamma) * product + self.coef0
        return np.tanh(inner) if self.name == "sigmoid" else inner**self.degree


class Landmarks(NamedTuple):
    """Landmarks, and the kernel among them."""

    kernel: KernelFunction
    rows: np.ndarray  # (m, p), or (m,) numbers for a precomputed kernel
    K: np.ndarray  # (m, m)
    inverse: np.ndarray  # of K, where it is not zero

    def half_squares(self, alphas: np.ndarray) -> np.ndarray:
        """Half the squared lengths of centres."""
        return 0.5 * np.einsum("ij,ij->i", alphas @ self.K, alphas)


def draw_landmarks(rows: Rows, kernel: KernelFunction, m: int, seed: int) -> Landmarks:
    """Draw landmarks by global row number."""
    n = rows.n_rows
    numbers = np.arange(n)
    if m < n:
        drawn = np.random.default_rng(seed).choice(n, m, replace=False, shuffle=False)
        numbers = np.sort(drawn)
    X = rows.take(numbers).X
    if kernel.name == "precomputed":
        if rows.n_features != n:
            raise ValueError(
                f"Precomputed metric requires shape (n, n); these are {n} rows and "
                f"{rows.n_features} columns"
            )
        marks, K = numbers, kernel.values(X, numbers)
    else:
        marks, K = X, kernel.values(X, X)
    K = 0.5 * (K + K.T)
    values, vectors = np.linalg.eigh(K)
    kept = values > _EIGENVALUE_CUTOFF * max(values[-1], 0.0)
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return Landmarks(kernel, marks, K, inverse)
