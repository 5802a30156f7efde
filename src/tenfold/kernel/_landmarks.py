"""Landmarks: the few rows through which a Nystroem approximation sees all others.

References
----------
C. K. I. Williams and M. Seeger (2001), Using the Nyström method to speed up kernel machines.

K. Zhang, I. W. Tsang and J. T. Kwok (2008), Improved Nyström low-rank approximation and error
analysis.

A. Alaoui and M. W. Mahoney (2015), Fast randomized kernel ridge regression with statistical
guarantees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._block import check_gram_memory, check_symmetry, gram_matrix, kernel_block
from tenfold.kernel._inner_models import LandmarkMeans
from tenfold.kernel.object_kernels import PrecomputedKernel
from tenfold.math.linalg import to_dense

LANDMARK_RULES = ("uniform", "kmeans", "leverage")
_CUTOFF = 1e-12  # eigenvalues below this fraction of the largest count as zero, in float64
_LEVERAGE_PENALTY = 1e-3  # of ridge leverage scores, times the number of rows


class LandmarkSet(NamedTuple):
    """Landmarks, and where they come from."""

    rows: np.ndarray  # (m, p), or (m,) row numbers for a precomputed kernel
    numbers: np.ndarray | None  # (m,) row numbers; None of centers
    K: np.ndarray  # (m, m) their kernel values

    def root(self, dtype: np.dtype, cutoff: float = _CUTOFF) -> np.ndarray:
        """K^(-1/2), by its eigenvalues above a share of the largest, (m, m)."""
        values, vectors = np.linalg.eigh(self.K)
        sizes = np.abs(values)
        cutoff = max(cutoff, float(np.finfo(dtype).eps)) * sizes.max(initial=0.0)
        scale = np.divide(
            np.sign(values), np.sqrt(sizes), out=np.zeros_like(values), where=sizes > cutoff
        )
        return (vectors * scale) @ vectors.T


def draw_landmarks(
    rows: Rows, kernel: Any, m: int, rule: str, rng: np.random.Generator
) -> LandmarkSet:
    """Draw m landmarks of rows by a rule; with m = n all rows."""
    n, seed = rows.n_rows, int(rng.integers(2**31))
    check_gram_memory(m, 3, f"{m:,} landmarks", "take fewer landmarks (n_components)")
    if rule == "kmeans" and m < n:
        if isinstance(kernel, PrecomputedKernel):
            raise ValueError("landmarks='kmeans' needs rows, not values of a precomputed kernel")
        model = LandmarkMeans(m, n_init=1, max_iter=20, tol=1e-3, random_state=seed)
        return from_rows(model.fit(rows).cluster_centers_, kernel)
    numbers = (
        np.arange(n) if not rows.source.has_weight else np.flatnonzero(rows.each(_weights) > 0)
    )
    if m < len(numbers):
        chosen = np.random.default_rng(seed).choice(len(numbers), m, replace=False, shuffle=False)
        drawn = numbers[np.sort(chosen)]
        if rule == "leverage":
            pilot = _take_landmarks(rows, drawn, kernel)
            drawn = _draw_by_leverage(rows, pilot, kernel, m, seed)
        numbers = drawn
    return _take_landmarks(rows, numbers, kernel)


def _weights(chunk: Chunk) -> np.ndarray:
    return chunk.weights().astype(np.float64)


def from_rows(marks: Any, kernel: Any) -> LandmarkSet:
    """Landmarks that are given."""
    marks = np.ascontiguousarray(marks)
    return LandmarkSet(marks, None, gram_matrix(marks.astype(np.float64), kernel))


def _take_landmarks(rows: Rows, numbers: np.ndarray, kernel: Any) -> LandmarkSet:
    X = to_dense(rows.take(numbers).X)
    if isinstance(kernel, PrecomputedKernel):
        K = np.take(X, numbers, axis=1)
        check_symmetry(K)
        K = K.astype(np.float64)
        return LandmarkSet(numbers, numbers, 0.5 * (K + K.T))
    return from_rows(X, kernel)._replace(numbers=numbers)


def _draw_by_leverage(rows: Rows, pilot: LandmarkSet, kernel: Any, m: int, seed: int) -> np.ndarray:
    """Draw rows with probabilities in proportion to their approximate ridge leverage scores.

    With pilot features phi: phi'(Phi'Phi + lambda)^-1 phi, and what they do not see of k(x, x).
    """
    root = pilot.root(np.dtype(np.float64))
    gram = rows.total(feature_gram, kernel, pilot.rows, root)
    penalty = _LEVERAGE_PENALTY * rows.n_rows
    inverse = np.linalg.inv(gram + penalty * np.eye(len(gram)))
    scores = rows.each(leverage_scores, kernel, pilot.rows, root, inverse, penalty)
    draws = np.random.default_rng([seed, 1]).random(rows.n_rows)
    with np.errstate(divide="ignore", over="ignore"):
        keys = np.log(draws) / np.maximum(scores, np.finfo(np.float64).tiny)
    keys[scores < 0] = -np.inf
    return np.sort(np.argpartition(keys, len(keys) - m)[-m:])


def feature_gram(chunk: Chunk, kernel: Any, marks: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Sum of phi phi' over rows."""
    features = _features(chunk.X, kernel, marks, root)
    return features.T @ (features * chunk.weights()[:, None])


def leverage_scores(
    chunk: Chunk,
    kernel: Any,
    marks: np.ndarray,
    root: np.ndarray,
    inverse: np.ndarray,
    penalty: float,
) -> np.ndarray:
    """Approximate ridge leverage score of each row; -1 of a row of weight 0, which is none."""
    features = _features(chunk.X, kernel, marks, root)
    seen = np.einsum("ij,ij->i", features, features)
    if isinstance(kernel, PrecomputedKernel):
        own = chunk.X[np.arange(chunk.rows), chunk.first + np.arange(chunk.rows)]
    else:
        own = kernel.diag(chunk.X)
    unseen = np.maximum(own - seen, 0.0) / penalty
    scores = np.einsum("ij,ij->i", features @ inverse, features) + unseen
    return scores if chunk.w is None else np.where(chunk.w > 0, scores, -1.0)


def _features(X: Any, kernel: Any, marks: np.ndarray, root: np.ndarray) -> np.ndarray:
    marks = marks if isinstance(kernel, PrecomputedKernel) else marks.astype(np.float64)
    return kernel_block(X.astype(np.float64), marks, kernel) @ root
