"""Half steps of alternating least squares: the best row factors for given column factors.

Each function is a chunk function of rows of ratings, users or items alike. It returns the factors
of its rows, and beside them, as a last column, what the row adds to the cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.dot_product import DOUBLE_LANES
from tenfold._compiled.row_gradients import improve_row_solutions
from tenfold._compiled.row_systems import solve_row_systems
from tenfold._compiled.simd import aligned_zeros
from tenfold.engine.chunk import Chunk
from tenfold.recommend._entries import SortedEntries, chunk_entries, row_sums


class RidgeRule(NamedTuple):
    """Penalty of a row: strength * (extra + weight of its entries) ** power.

    Parameters
    ----------
    strength : float
        Factor of the penalty.
    power : float
        0 for the same penalty everywhere, 1 for one in proportion to the entries.
    extra : float
        Added to the weight of the entries: that of unobserved ones.
    """

    strength: float
    power: float = 0.0
    extra: float = 0.0

    def penalties(self, masses: np.ndarray) -> np.ndarray:
        """Penalty of each row; at least that of one entry, so that empty rows have a solution."""
        return self.strength * np.maximum(self.extra + masses, 1.0) ** self.power


def solve_explicit(
    chunk: Chunk,
    factor: np.ndarray,
    offset: np.ndarray,
    mean: float,
    rule: tuple,
    precision: np.ndarray,
) -> np.ndarray:
    """Rows x that minimize sum w (r - mean - offset_j - x'f_j)^2 + penalty |x|^2 + x'Px."""
    entries = chunk_entries(chunk.X, len(factor))
    ridge = RidgeRule(*rule).penalties(entries.masses)
    target = _targets(entries.indices, entries.values, offset, mean)
    moment = target if entries.weights is None else target * entries.weights
    solved = solve_row_systems(
        entries.indptr,
        entries.indices,
        entries.weights,
        moment,
        factor,
        ridge=ridge,
        precision=precision,
    )
    cost = row_sums(entries.indptr, moment * target) - solved.decrease
    return np.column_stack([solved.x, cost])


def solve_implicit(
    chunk: Chunk,
    factor: np.ndarray,
    gram: np.ndarray,
    confidence: float,
    unobserved: float,
    rule: tuple,
) -> np.ndarray:
    """Rows x that minimize the cost of all pairs, of which only those with entries weigh more."""
    entries, system, ridge = _implicit_systems(chunk, factor, confidence, unobserved, rule)
    solved = solve_row_systems(*system, factor, ridge=ridge, precision=unobserved * gram)
    cost = row_sums(entries.indptr, system[-1]) - solved.decrease
    return np.column_stack([solved.x, cost])


def improve_implicit(
    chunk: Chunk,
    factor: np.ndarray,
    gram: np.ndarray,
    confidence: float,
    unobserved: float,
    rule: tuple,
    before: np.ndarray,
    steps: int,
) -> np.ndarray:
    """Rows x after steps of conjugate gradients on the same cost, from those of the last iteration.

    The factor comes from `align_rows`.
    """
    entries, system, ridge = _implicit_systems(chunk, factor, confidence, unobserved, rule)
    x, decrease = improve_row_solutions(
        *system,
        factor,
        before[chunk.first : chunk.first + chunk.rows],
        ridge=ridge,
        precision=unobserved * gram,
        steps=steps,
    )
    cost = row_sums(entries.indptr, system[-1]) - decrease
    return np.column_stack([x, cost])


def _implicit_systems(
    chunk: Chunk, factor: np.ndarray, confidence: float, unobserved: float, rule: tuple
) -> tuple[SortedEntries, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Entries, their systems (indptr, indices, weight, moment), and the penalties of the rows."""
    entries = chunk_entries(chunk.X, len(factor))
    ridge = RidgeRule(*rule).penalties(entries.counts.astype(float))
    extra, moment = weigh_counts(np.asarray(entries.values), confidence, unobserved)
    return entries, (entries.indptr, entries.indices, extra, moment), ridge


@njit(cache=True, nogil=True)
def weigh_counts(counts, confidence, unobserved):  # noqa: ANN001, ANN202
    """What counts add to the weight of a pair, and weight times preference."""
    extra, moment = np.empty(len(counts)), np.empty(len(counts))
    for e in range(len(counts)):
        extra[e] = confidence * abs(np.float64(counts[e]))
        moment[e] = unobserved + extra[e] if counts[e] > 0 else 0.0
    return extra, moment


def align_rows(factor: np.ndarray) -> np.ndarray:
    """A copy with columns of zeros up to whole vectors of the processor, which begin cache lines.

    A vector that lies in two cache lines takes twice as long to read (`implicit-als`).
    """
    n, k = factor.shape
    aligned = aligned_zeros((n, -(-k // DOUBLE_LANES) * DOUBLE_LANES), np.float64)
    aligned[:, :k] = factor
    return aligned


def split_cost(solved: np.ndarray) -> tuple[np.ndarray, float]:
    """Factors and the sum of the costs."""
    return np.ascontiguousarray(solved[:, :-1]), float(solved[:, -1].sum())


def predict_pairs(
    row: np.ndarray, column: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """x_row'y_column of pairs; numbers below zero stand for vectors of zeros."""
    return _pair_products(np.asarray(row, np.int64), np.asarray(column, np.int64), rows, columns)


def sum_values(chunk: Chunk, n_columns: int) -> np.ndarray:
    """Weight of the entries, and weighted sums of their values and of the squares of these."""
    entries = chunk_entries(chunk.X, n_columns)
    values = entries.values.astype(np.float64)
    weights = np.ones(len(values)) if entries.weights is None else entries.weights
    return np.array([weights.sum(), weights @ values, weights @ values**2])


def relative_decrease(costs: list[float], cost: float, scale: float) -> float:
    """Fall of the cost in this iteration, as a share of the cost of factors that are zero."""
    return (costs[-1] - cost) / scale if costs and scale > 0 else np.inf if scale > 0 else 0.0


@njit(cache=True, nogil=True)
def _targets(indices, values, offset, mean):  # noqa: ANN001, ANN202
    target = np.empty(len(indices))
    for e in range(len(indices)):
        target[e] = values[e] - mean - offset[indices[e]]
    return target


@njit(cache=True, nogil=True)
def _pair_products(row, column, rows, columns):  # noqa: ANN001, ANN202
    values = np.zeros(len(row))
    for e in range(len(row)):
        if row[e] >= 0 and column[e] >= 0:
            for c in range(rows.shape[1]):
                values[e] += rows[row[e], c] * columns[column[e], c]
    return values
