"""Starting points of non-negative factorization: random numbers, or singular vectors.

References
----------
C. Boutsidis and E. Gallopoulos (2008), SVD based initialization: a head start for nonnegative
matrix factorization.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.decomposition._eigensolvers import (
    fix_signs,
    iterate_singular_vectors,
    singular_vectors_from_qr,
)
from tenfold.decomposition._nmf_steps import check_non_negative
from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import normals
from tenfold.engine.rows import Rows

INIT_METHODS = ("random", "nndsvd", "nndsvda", "nndsvdar", "custom")
_SMALL_SIDE = 500  # rows or columns up to which dense rows are decomposed exactly
_N_OVERSAMPLES, _N_ITER = 10, 7
_LEAST_ENTRY = 1e-6  # smaller entries of singular vectors are zeros


class DataSums(NamedTuple):
    """What a fit has to know of its rows."""

    n: float  # weight of the rows
    entries: float  # weighted number of entries that are there
    total: float
    squares: float
    stored: float  # entries that are stored
    least: float

    def merge(self, other: DataSums) -> DataSums:
        sums = [a + b for a, b in zip(self[:5], other[:5], strict=True)]
        return DataSums._make([*sums, min(self.least, other.least)])


def data_sums(chunk: Chunk) -> DataSums:
    """Weight, sum, squares and least entry of a chunk; missing entries count nothing."""
    check_non_negative(chunk.X, chunk.first)
    X, w = chunk.X, chunk.weights().astype(np.float64)
    if not isinstance(X, np.ndarray):
        total = float(w @ np.asarray(X.sum(axis=1), np.float64).ravel())
        squares = float(w @ np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel())
        full = X.nnz == X.shape[0] * X.shape[1]
        least = float(X.data.min(initial=np.inf)) if full else 0.0
        return DataSums(chunk.weight, chunk.weight * X.shape[1], total, squares, X.nnz, least)
    there = ~np.isnan(X)
    X = np.where(there, X, 0.0)
    rows = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    counts = there.sum(axis=1)
    least = float(np.where(there, X, np.inf).min(initial=np.inf))
    return DataSums(
        chunk.weight, float(w @ counts), float(w @ X.sum(axis=1)), float(w @ rows), X.size, least
    )


class CodeStart(NamedTuple):
    """Codes of the first pass, as a function of the row and its number.

    ``max(X directions, 0) scale``, or random numbers of size `fill` where there are no directions;
    entries below 1e-6 become `fill`, times a random number if `jitter`.
    """

    directions: np.ndarray  # (p, k), or (0, k)
    scale: np.ndarray  # (k,)
    fill: float
    jitter: bool
    seed: int


def starting_codes(chunk: Chunk, start: CodeStart) -> np.ndarray:
    """Codes before the first pass."""
    k = len(start.scale)
    fill: Any = start.fill
    if start.jitter:
        fill = np.abs(normals(start.seed, chunk.first, chunk.rows, k)) * start.fill
    if not len(start.directions):
        return fill.astype(chunk.X.dtype)
    X = np.nan_to_num(chunk.X) if isinstance(chunk.X, np.ndarray) else chunk.X
    W = np.maximum(np.asarray(X @ start.directions, np.float64), 0.0) * start.scale
    W = np.where(_LEAST_ENTRY > W, fill, W)
    return W.astype(chunk.X.dtype)


class SignSquares(NamedTuple):
    """Squares of the positive and of the negative parts of X V, by column."""

    positive: np.ndarray
    negative: np.ndarray


def sign_squares(chunk: Chunk, V: np.ndarray) -> SignSquares:
    """Squared lengths of both parts of each column of X V."""
    X = np.nan_to_num(chunk.X) if isinstance(chunk.X, np.ndarray) else chunk.X
    U, w = np.asarray(X @ V, np.float64), chunk.weights()
    return SignSquares(w @ np.maximum(U, 0.0) ** 2, w @ np.minimum(U, 0.0) ** 2)


def initialize(
    rows: Rows, k: int, init: str | None, sums: DataSums, rng: np.random.Generator
) -> tuple[np.ndarray, CodeStart]:
    """ComponentProducts (k, p) and codes of the first pass."""
    side = min(rows.n_rows, rows.n_features)
    if init not in (None, "random") and k > side:
        raise ValueError(
            f"init = '{init}' can only be used when n_components <= min(n_samples, n_features): "
            f"n_components={k}, and there are {side}"
        )
    init = init or ("nndsvda" if k <= side else "random")
    mean, seed = sums.total / max(sums.entries, 1e-300), int(rng.integers(2**62))
    if init == "random":
        scale = float(np.sqrt(mean / k))
        H = scale * np.abs(normals(seed + 1, 0, k, rows.n_features))
        return H, CodeStart(np.empty((0, k)), np.ones(k), scale, True, seed)
    return _from_singular_vectors(rows, k, init, mean, rng)


def _from_singular_vectors(
    rows: Rows, k: int, init: str, mean: float, rng: np.random.Generator
) -> tuple[np.ndarray, CodeStart]:
    values, V = _singular_vectors(rows, k, rng)
    s = rows.total(sign_squares, V.T.astype(rows.dtype))
    tiny = np.finfo(np.float64).tiny
    lengths = np.maximum(values, tiny)
    positive, negative = np.sqrt(s.positive) / lengths, np.sqrt(s.negative) / lengths
    up, down = np.maximum(V, 0.0), np.maximum(-V, 0.0)
    up_norm, down_norm = np.linalg.norm(up, axis=1), np.linalg.norm(down, axis=1)
    plus = positive * up_norm > negative * down_norm
    plus[0] = plus[0] or V[0].sum() > 0
    part, norm = np.where(plus[:, None], up, down), np.where(plus, up_norm, down_norm)
    code_norm = np.where(plus, positive, negative)
    size = np.sqrt(values * norm * code_norm)
    H = part * (size / np.maximum(norm, tiny))[:, None]
    scale = size / np.maximum(code_norm * lengths, tiny)
    directions = np.where(plus[:, None], V, -V).T.astype(rows.dtype)
    fill = {"nndsvd": 0.0, "nndsvda": mean, "nndsvdar": mean / 100}[init]
    seed = int(rng.integers(2**62))
    drawn = np.abs(normals(seed + 1, 0, k, rows.n_features)) if init == "nndsvdar" else 1.0
    H = np.where(_LEAST_ENTRY > H, fill * drawn, H)
    return H, CodeStart(np.ascontiguousarray(directions), scale, fill, init == "nndsvdar", seed)


def _singular_vectors(
    rows: Rows, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest singular values and right singular vectors (k, p), with fixed signs."""
    small = min(rows.n_rows, rows.n_features) <= _SMALL_SIDE
    if rows.allow_nan or rows.sparse or not small:
        found = _iterate_filled(rows, k, rng)
    else:
        found = singular_vectors_from_qr(rows)
    V = fix_signs(found.directions[:k])
    return np.maximum(found.values[:k], 0.0), V


def _iterate_filled(rows: Rows, k: int, rng: np.random.Generator) -> Any:
    """Subspace iteration; missing entries count as zeros."""
    if not rows.allow_nan:
        return iterate_singular_vectors(rows, k, _N_OVERSAMPLES, _N_ITER, rng)
    from tenfold.decomposition._eigensolvers import SingularVectors, iterate_subspace

    d = min(k + _N_OVERSAMPLES, rows.n_rows, rows.n_features)
    squares, V = iterate_subspace(rows, multiply_filled_gram, (), (d, k), _N_ITER, rng)
    return SingularVectors(V.T[:k], np.sqrt(np.maximum(squares[:k], 0)))


def multiply_filled_gram(chunk: Chunk, V: np.ndarray) -> np.ndarray:
    """X' W X V with zeros for missing entries."""
    X = np.nan_to_num(chunk.X)
    Z = X @ V
    return X.T @ (Z if chunk.w is None else chunk.w[:, None] * Z)
