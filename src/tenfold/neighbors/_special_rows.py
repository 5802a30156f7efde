"""Brute force for sparse rows, and for rows with missing values: the same filter and proof."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tenfold.neighbors._brute_force import (
    FilteredSearch,
    Rounded,
    bound_terms,
    error_of_bounds,
)
from tenfold.neighbors._filter_numba import measure_missing, measure_sparse, missing_bounds


class SparseBruteForce(FilteredSearch):
    """Squared Euclidean distances to all rows of a CSR matrix.

    Products are those of sparse matrices in float64, rounded to float32: their error is below that
    of the products of rounded rows, for which the bounds hold.

    Parameters
    ----------
    X : (n, d) CSR matrix
        The rows.
    """

    def __init__(self, X: Any) -> None:
        self.X = canonical(X)
        self.n_rows = X.shape[0]
        largest = float(np.abs(self.X.data).max(initial=0.0))
        self.scale = 2.0 ** -np.frexp(largest)[1] if largest > 0 else 1.0
        self.rounded, half, self.gap, *_ = self._round(self.X)
        self.term = bound_terms(half, self.gap)

    def _round(self, X: Any) -> Rounded:
        scaled = X.astype(np.float64) * self.scale
        square = np.asarray(scaled.power(2).sum(axis=1)).ravel()
        columns = int(np.diff(X.indptr).max(initial=0)) + int(np.diff(self.X.indptr).max(initial=0))
        return Rounded(scaled, square / 2, error_of_bounds(square, columns), X)

    def round_queries(self, Q: Any) -> Rounded:
        """Queries as CSR matrix; those that are too far away get bounds that say nothing."""
        queries = self._round(canonical(sparse.csr_array(Q)))
        far = ~(queries.half < 2.0**80)
        queries.half[far], queries.gap[far] = 0.0, np.inf
        return queries

    def products(self, queries: Rounded, first: int, end: int) -> np.ndarray:
        """Products (m, t) of the queries and some rows, in float32."""
        with np.errstate(over="ignore"):
            product = (queries.X @ self.rounded[first:end].T).toarray().astype(np.float32)
        product[~np.isfinite(queries.gap)] = 0.0
        return product

    def measure(self, queries: Rounded, *candidates: np.ndarray) -> None:
        """Squared distances of candidates in float64; see `measure_sparse`."""
        X, Q = self.X, queries.source
        parts = X.data, X.indices, X.indptr, Q.data, Q.indices, Q.indptr
        measure_sparse(*parts, *candidates)


def canonical(X: Any) -> Any:
    """A CSR array with ascending columns, each once, and int64 pointers."""
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()
    pointers = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return sparse.csr_array((X.data, *pointers), shape=X.shape)


def refuse_infinity(X: np.ndarray, first: int = 0) -> None:
    """Raise a `ValueError` for rows, of which the first has this number, with infinite entries."""
    bad = np.isinf(X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"Input X contains infinity: row {first + row}, column {column}. NaN stands for a "
            "missing value; remove rows with infinite ones, or replace these by NaN"
        )


class MissingBruteForce(FilteredSearch):
    r"""Squared distances over the columns that both rows have, scaled to all columns.

    With zeros in place of NaN and masks M, c = M M' columns in common,
    :math:`D = d / c \cdot (X^2 M' + M X^{2\prime} - 2 X X')`: four products in float32, whose
    error is at most d times that of complete rows, since c is at least one.

    Parameters
    ----------
    X : (n, d) array with NaN
        The rows.
    """

    def __init__(self, X: np.ndarray) -> None:
        refuse_infinity(X)
        self.X = X
        self.n_rows = len(X)
        present = ~np.isnan(X)
        count = np.maximum(present.sum(axis=0), 1)
        self.center = np.where(present, X, 0.0).sum(axis=0, dtype=np.float64) / count
        largest = float(np.abs(np.where(present, X - self.center, 0.0)).max(initial=0.0))
        self.scale = 2.0 ** -np.frexp(largest)[1] if largest > 0 else 1.0
        self.rounded, half, self.gap, *_ = self._round(X)
        self.term = bound_terms(half, self.gap)

    def _round(self, X: np.ndarray) -> Rounded:
        present = ~np.isnan(X)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.where(present, (X - self.center) * self.scale, 0.0).astype(np.float32)
            wide = values.astype(np.float64)
            square = np.einsum("ij,ij->i", wide, wide)
        d = X.shape[1]
        stacked = np.stack([values, values**2, present.astype(np.float32)])
        gap = d * error_of_bounds(3 * square, d)
        return Rounded(stacked.transpose(1, 0, 2), np.zeros(len(X)), gap, X)

    def round_queries(self, Q: np.ndarray) -> Rounded:
        """Queries in float32; those that are too far away for it get bounds that say nothing."""
        refuse_infinity(Q)
        queries = self._round(np.ascontiguousarray(Q, np.float64))
        far = ~(queries.gap < 2.0**80)
        queries.X[far] = 0.0
        queries.gap[far] = np.inf
        return queries

    def products(self, queries: Rounded, first: int, end: int) -> np.ndarray:
        """Minus half of the squared distances (m, t) from some rows, in float32."""
        x, x2, mask = self.rounded[first:end].transpose(1, 2, 0)
        q, q2, q_mask = queries.X.transpose(1, 0, 2)
        sums = q @ x, q2 @ mask, q_mask @ x2, q_mask @ mask
        missing_bounds(*sums, queries.X.shape[2])
        return sums[0]

    def measure(self, queries: Rounded, *candidates: np.ndarray) -> None:
        """Squared distances of candidates in float64; see `measure_missing`."""
        measure_missing(self.X, queries.source, *candidates)
