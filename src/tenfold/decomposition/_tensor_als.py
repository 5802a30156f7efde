r"""Alternating least squares for a sum of R products of vectors, with missing entries.

A tensor of n slices is n rows of p = d_1 ... d_m cells. With the factor A (n, R) of the rows and
B_1 ... B_m of the other modes, row i is :math:`K a_i`, where the columns of K (p, R) are the
products of those of B (Khatri and Rao's product). One pass solves the rows for a_i and sums what
all other modes need: X'A of every cell, A'A (with missing entries, one A'A for each cell). Each
mode is then an exact least-squares problem, so that no step increases the error.

References
----------
J. D. Carroll and J. J. Chang (1970), Analysis of individual differences in multidimensional scaling
via an N-way generalization of Eckart-Young decomposition.

T. G. Kolda and B. W. Bader (2009), Tensor decompositions and applications.

G. Tomasi and R. Bro (2005), PARAFAC and missing values.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from tenfold._compiled.row_systems import solve_packed_systems
from tenfold.decomposition._row_solvers_numba import descend_own_rows, solve_nonnegative_rows
from tenfold.engine.chunk import Chunk
from tenfold.math.linalg import solve_psd

_RELATIVE_RIDGE = 1e-12  # of the mean square of K, for rows with fewer entries than components
_MAX_SWEEPS = 1000
_SWEEP_RATIO = 1e-10

Factors = tuple[np.ndarray, ...]


class TensorSums(NamedTuple):
    """What a pass sums over rows.

    Attributes
    ----------
    products : (p, R) sum of x a
    gram : (R, R) sum of a a'
    cell_grams : (p, R (R + 1) / 2) the same over the rows that observe a cell, the upper triangle;
        without rows if nothing is missing
    """

    products: np.ndarray
    gram: np.ndarray
    cell_grams: np.ndarray


class EntryCounts(NamedTuple):
    """Weight of the entries that are there, their sum of squares, and of those that are not."""

    observed: float
    squares: float
    missing: float


def count_entries(chunk: Chunk) -> EntryCounts:
    """Observed and missing entries of a chunk."""
    w = chunk.weights().astype(np.float64)
    missing = np.isnan(chunk.X)
    X = np.where(missing, 0.0, chunk.X).astype(np.float64)
    gone = float(w @ missing.sum(axis=1))
    total = float(w.sum()) * X.shape[1]
    return EntryCounts(total - gone, float(w @ np.einsum("ij,ij->i", X, X)), gone)


def khatri_rao(factors: Factors) -> np.ndarray:
    """Products of the columns of all factors, (d_1 ... d_m, R), the last mode fastest.

    Examples
    --------
    >>> khatri_rao((np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]]))).ravel().tolist()
    [3.0, 5.0, 6.0, 10.0]
    """
    rank = factors[0].shape[1]
    return reduce(lambda K, B: (K[:, None] * B[None]).reshape(-1, rank), factors)


class CellProducts(NamedTuple):
    """The factors of all modes but the first as the rows of a pass see them.

    Attributes
    ----------
    K : (p, R) Khatri and Rao's product
    gram : (R, R) K'K
    packed : (p, R (R + 1) / 2) upper triangles of the outer products of the rows of K, for
        passes over rows with missing entries; else without rows
    """

    K: np.ndarray
    gram: np.ndarray
    packed: np.ndarray

    @classmethod
    def of(cls, factors: Factors, *, incomplete: bool = False) -> CellProducts:
        """Of factors, for passes over rows that are complete, or not."""
        K = khatri_rao(factors)
        packed = _packed_outer(K, K) if incomplete else _packed_outer(K[:0], K[:0])
        return cls(K, reduce(np.multiply, (B.T @ B for B in factors)), packed)


def solve_rows(X: np.ndarray, cells: CellProducts, non_negative: bool) -> np.ndarray:
    """The least-squares coefficients of each row, (n, R), in float64; NaN is a missing entry."""
    if not np.isnan(X).any():
        return _solve_complete(X, cells, non_negative)
    if not len(cells.packed):
        cells = cells._replace(packed=_packed_outer(cells.K, cells.K))
    return _solve_with_gaps(*_split_gaps(X), cells, non_negative)


def _solve_complete(X: np.ndarray, cells: CellProducts, non_negative: bool) -> np.ndarray:
    C = (X @ cells.K.astype(X.dtype, copy=False)).astype(np.float64, copy=False)
    if non_negative:
        A = np.zeros_like(C)
        solve_nonnegative_rows(A, C, cells.gram, 0.0, 0.0)
        return A
    return solve_psd(cells.gram, C.T).T


def _split_gaps(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X with zeros for missing entries, and 1 where an entry is there, in float64."""
    there = ~np.isnan(X)
    return np.where(there, X, 0.0).astype(np.float64, copy=False), there.astype(np.float64)


def _solve_with_gaps(
    filled: np.ndarray, there: np.ndarray, cells: CellProducts, non_negative: bool
) -> np.ndarray:
    return _solve_own(there @ cells.packed, filled @ cells.K, non_negative)


def tensor_sums(chunk: Chunk, cells: CellProducts, non_negative: bool) -> TensorSums:
    """Solve the rows of a chunk, and sum what the other modes need."""
    X, w = chunk.X, None if chunk.w is None else chunk.w.astype(np.float64)[:, None]
    if not len(cells.packed):
        A = _solve_complete(X, cells, non_negative)
        weighted = A if w is None else A * w
        products = X.T @ weighted.astype(X.dtype, copy=False)
        return TensorSums(products, weighted.T @ A, cells.packed.copy())
    filled, there = _split_gaps(X)
    A = _solve_with_gaps(filled, there, cells, non_negative)
    weighted = A if w is None else A * w
    cell_grams = there.T @ _packed_outer(weighted, A)
    return TensorSums(filled.T @ weighted, weighted.T @ A, cell_grams)


def update_factors(s: TensorSums, factors: Factors, non_negative: bool) -> Factors:
    """Solve each mode in turn for the sums of a pass; columns keep their length."""
    shape = tuple(len(B) for B in factors)
    rank = factors[0].shape[1]
    current = list(factors)
    products = s.products.reshape(*shape, rank)
    grams = s.cell_grams.reshape(*shape, -1) if len(s.cell_grams) else None
    for mode in range(len(shape)):
        others = tuple(B for m, B in enumerate(current) if m != mode)
        K = khatri_rao(others) if others else np.ones((1, rank))
        P = np.moveaxis(products, mode, 0).reshape(shape[mode], -1, rank)
        C = np.einsum("jqr,qr->jr", P, K)
        if grams is None:
            H = reduce(np.multiply, (B.T @ B for B in others), s.gram)
            current[mode] = _solve_shared(H, C, current[mode], non_negative)
        else:
            G = np.moveaxis(grams, mode, 0).reshape(shape[mode], len(K), -1)
            H = np.einsum("jqs,qs->js", G, _packed_outer(K, K))
            current[mode] = _solve_own(H, C, non_negative)
    return tuple(current)


def squared_error(squares: float, s: TensorSums, factors: Factors) -> float:
    """Sum of squared errors of the rows of a pass, with other factors than those of the pass.

    `squares` is the sum of squares of the observed entries.
    """
    K = khatri_rao(factors)
    inner = float(np.einsum("pr,pr->", s.products, K))
    if len(s.cell_grams):
        packed = _packed_outer(K, K)
        fitted = _sum_packed(s.cell_grams * packed, K.shape[1])
    else:
        fitted = float((reduce(np.multiply, (B.T @ B for B in factors)) * s.gram).sum())
    return max(squares - 2 * inner + fitted, 0.0)


def normalize(factors: Factors) -> Factors:
    """The same with columns of length one; the coefficients of the rows carry the rest."""
    lengths = [np.linalg.norm(B, axis=0) for B in factors]
    return tuple(
        B / np.where(length > 0, length, 1.0) for B, length in zip(factors, lengths, strict=True)
    )


def unfolding_grams(chunk: Chunk, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Gram matrix of each mode but the first, (d, d); missing entries count as zero."""
    X = np.where(np.isnan(chunk.X), 0.0, chunk.X).astype(np.float64)
    X = (X * np.sqrt(chunk.weights().astype(np.float64))[:, None]).reshape(len(X), *shape)
    grams = []
    for mode in range(len(shape)):
        U = np.moveaxis(X, mode + 1, 0).reshape(shape[mode], -1)
        grams.append(U @ U.T)
    return tuple(grams)


def filled_products(
    chunk: Chunk, cells: CellProducts, non_negative: bool
) -> tuple[np.ndarray, np.ndarray]:
    """X'A and A'A with the model's values in place of missing entries."""
    A = solve_rows(chunk.X, cells, non_negative)
    X = chunk.X.astype(np.float64)
    X = np.where(np.isnan(X), A @ cells.K.T, X)
    weighted = A * chunk.weights().astype(np.float64)[:, None]
    return X.T @ weighted, weighted.T @ A


def _solve_shared(H: np.ndarray, C: np.ndarray, old: np.ndarray, non_negative: bool) -> np.ndarray:
    if non_negative:
        B = np.ascontiguousarray(np.maximum(old, 0.0))
        solve_nonnegative_rows(B, np.ascontiguousarray(C), H, 0.0, 0.0)
        return B
    return solve_psd(H, C.T).T


def _solve_own(H: np.ndarray, C: np.ndarray, non_negative: bool) -> np.ndarray:
    """Rows of a factor, each with a matrix of its own, packed."""
    C, H = np.ascontiguousarray(C), np.ascontiguousarray(H)
    if non_negative:
        A = np.zeros_like(C)
        descend_own_rows(A, C, H, 0.0, 0.0, _MAX_SWEEPS, _SWEEP_RATIO, 0.0)
        return A
    rows, columns = np.triu_indices(C.shape[1])
    ridge = _RELATIVE_RIDGE * H[:, rows == columns].mean() + np.finfo(np.float64).tiny
    return solve_packed_systems(H, C, ridge=ridge)


def _packed_outer(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Upper triangles of the outer products of the rows of two matrices, row by row."""
    rows, columns = np.triu_indices(A.shape[1])
    return A[:, rows] * B[:, columns]


def _sum_packed(packed: np.ndarray, rank: int) -> float:
    """Sum over all entries of symmetric matrices that are given by their upper triangles."""
    rows, columns = np.triu_indices(rank)
    return float(packed.sum(axis=0) @ np.where(rows == columns, 1.0, 2.0))
