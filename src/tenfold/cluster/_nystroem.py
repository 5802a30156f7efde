"""The Nystroem approximation: kernel values of rows with a few landmarks.

References
----------
C. K. I. Williams and M. Seeger (2001), Using the Nyström method to speed up kernel machines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.linalg import to_dense

_UNIT_DIAGONAL_KERNELS = (
    "rbf",
    "laplacian",
    "chi2",
    "cosine",
)  # k(x, x) = 1
_DOT_PRODUCT_KERNELS = {
    "poly": ("gamma", "degree", "coef0"),
    "polynomial": ("gamma", "degree", "coef0"),
}
_DOT_PRODUCT_KERNELS |= {"sigmoid": ("gamma", "coef0"), "linear": ()}
_EIGENVALUE_CUTOFF = 1e-10  # eigenvalues below this fraction of the largest count as zero


class KernelFunction(NamedTuple):
    """A kernel with its parameters."""

    name: Any  # of scikit-learn's kernels, "precomputed", or a function of two rows
    gamma: float | None
    degree: float
    coef0: float
    params: dict[str, Any]  # of a callable

    def values(self, X: Any, landmarks: np.ndarray) -> np.ndarray:
        """Kernel of each row with each landmark, in float64."""
        if self.name == "precomputed":
            return np.take(X, landmarks, axis=1).astype(np.float64)
        X, landmarks = X.astype(np.float64), landmarks.astype(np.float64)
        return pairwise_kernels(X, landmarks, metric=self.name, **self._parameters())

    def squares(self, chunk: Chunk) -> np.ndarray:
        """Kernel of each row with itself."""
        X = chunk.X
        if not isinstance(X, np.ndarray):
            return self._squares_of_sparse(X)
        if self.name == "precomputed":
            return X[np.arange(chunk.rows), chunk.first + np.arange(chunk.rows)].astype(np.float64)
        if isinstance(self.name, str) and self.name in _UNIT_DIAGONAL_KERNELS:
            return np.ones(chunk.rows)
        if callable(self.name):
            return np.array([self.name(x, x, **self.params) for x in X.astype(np.float64)])
        return self._from_product(np.einsum("ij,ij->i", X, X, dtype=np.float64), X.shape[1])

    def _squares_of_sparse(self, X: Any) -> np.ndarray:
        """Kernel of each sparse row with itself."""
        if isinstance(self.name, str) and self.name in _UNIT_DIAGONAL_KERNELS:
            return np.ones(X.shape[0])
        product = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
        return self._from_product(product, X.shape[1])

    def _parameters(self) -> dict[str, Any]:
        if callable(self.name):
            return self.params
        names = _DOT_PRODUCT_KERNELS.get(self.name, ("gamma",) if self.name != "cosine" else ())
        return {name: getattr(self, name) for name in names}

    def _from_product(self, product: np.ndarray, n_features: int) -> np.ndarray:
        if self.name == "linear":
            return product
        inner = (1.0 / n_features if self.gamma is None else self.gamma) * product + self.coef0
        return np.tanh(inner) if self.name == "sigmoid" else inner**self.degree


def _takes_sparse_rows(kernel: Any) -> bool:
    """Whether a kernel can be computed of sparse rows."""
    names = {*_DOT_PRODUCT_KERNELS, "rbf", "cosine", "laplacian"}
    return isinstance(kernel, str) and kernel in names


class Landmarks(NamedTuple):
    """Landmarks, and their kernel matrix."""

    kernel: KernelFunction
    rows: np.ndarray  # (m, p), or (m,) row numbers for a precomputed kernel
    K: np.ndarray  # (m, m)
    inverse: np.ndarray  # pseudo-inverse of K

    def half_squares(self, alphas: np.ndarray) -> np.ndarray:
        """Half the squared norms of centers with coefficients alphas."""
        return 0.5 * np.einsum("ij,ij->i", alphas @ self.K, alphas)


def draw_landmarks(rows: Rows, kernel: KernelFunction, m: int, seed: int) -> Landmarks:
    """Draw m landmarks by global row number."""
    n = rows.n_rows
    numbers = np.arange(n)
    if m < n:
        drawn = np.random.default_rng(seed).choice(n, m, replace=False, shuffle=False)
        numbers = np.sort(drawn)
    if rows.sparse and not _takes_sparse_rows(kernel.name):
        raise TypeError(
            f"kernel={kernel.name!r} needs dense rows, but these are sparse: take 'rbf', 'linear', "
            "'poly', 'cosine' or 'sigmoid', or give X.toarray()"
        )
    X = to_dense(rows.take(numbers).X)
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
    nonzero = values > _EIGENVALUE_CUTOFF * max(values[-1], 0.0)
    inverse = (vectors[:, nonzero] / values[nonzero]) @ vectors[:, nonzero].T
    return Landmarks(kernel, marks, K, inverse)
