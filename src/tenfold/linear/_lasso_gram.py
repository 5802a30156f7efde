"""The Gram matrix of centered rows, computed for the columns that the lasso asks for.

A lasso uses few columns. They enter in batches, each by one pass over the rows; the Gram matrix of
a narrow table is made at once. `cross_products` holds the products of the columns that entered with
all columns, from which all correlations follow without a pass. Where that takes too much memory,
only the products of the columns that entered among themselves are kept, and correlations take a
pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import (
    MAX_OFFSET_TO_VARIANCE,
    choose_origin,
    second_moments,
    target_columns,
)
from tenfold.linear._lasso_gram_numba import add_products, products_and_squares
from tenfold.linear._least_squares_solvers import is_varying, problem_from_moments
from tenfold.linear._thresholds import (
    BATCH_GROWTH,
    FULL_GRAM_DIVISOR,
    FULL_GRAM_MAX_COLUMNS,
    MAX_BATCH_BYTES,
    MAX_GRAM_BYTES,
    MIN_BATCH_COLUMNS,
    SPARSE_PASS_MIN_COLUMNS,
)
from tenfold.stats.decorators import propagates_nan
from tenfold.stats.moments import Moments, multiply_thin, scale_rows


class MarginalSums(NamedTuple):
    """Sums of rows x and targets y about an origin, without the products of columns.

    Attributes
    ----------
    n : total weight
    products : (1 + q, p) weighted sum of x, and of y x' for each target
    squares : (p,) weighted sum of the squares of x
    y, yy : (q,) weighted sums of the targets and of their squares
    rows : number of rows
    """

    n: float
    products: np.ndarray
    squares: np.ndarray
    y: np.ndarray
    yy: np.ndarray
    rows: int


def _subtract_origin(chunk: Chunk, origin: np.ndarray | None) -> tuple[Any, np.ndarray]:
    """X and Y of a chunk, dense rows less an origin."""
    Y = target_columns(chunk)
    if origin is None or not isinstance(chunk.X, np.ndarray):
        return chunk.X, Y.astype(np.float64, copy=False)
    p = chunk.X.shape[1]
    return chunk.X - origin[:p], Y.astype(np.float64, copy=False) - origin[p:]


@propagates_nan
def _marginal_sums(chunk: Chunk, origin: np.ndarray | None) -> MarginalSums:
    """The sums of a chunk."""
    X, Y = _subtract_origin(chunk, origin)
    w = chunk.weights().astype(np.float64)
    weighted = Y * w[:, None]
    factors = np.vstack([w, weighted.T])
    if isinstance(X, np.ndarray):
        products, squares = products_and_squares(factors, X)
    else:
        products, squares = multiply_thin(factors, X), (X * X).T @ w  # a sparse array, elementwise
    y, yy = weighted.sum(axis=0), (weighted * Y).sum(axis=0)
    return MarginalSums(chunk.weight, products, squares, y, yy, chunk.rows)


def _gram_block(
    chunk: Chunk, origin: np.ndarray | None, left: np.ndarray, right: np.ndarray | None
) -> np.ndarray:
    """Products of the columns `left` with the columns `right` (all, if None), weighted."""
    if not isinstance(chunk.X, np.ndarray):
        return _sparse_gram_block(chunk, left, right)
    A = np.take(chunk.X, left, axis=1)
    B = chunk.X if right is None else np.take(chunk.X, right, axis=1)
    if origin is not None:
        A = A - origin[left]
        B = B - (origin[: B.shape[1]] if right is None else origin[right])
    return (A if chunk.w is None else scale_rows(A, chunk.w.astype(A.dtype))).T @ B


def _gram_square(chunk: Chunk, origin: np.ndarray | None, columns: np.ndarray) -> np.ndarray:
    """Products of some columns among themselves: symmetric, so BLAS does half the work."""
    if not isinstance(chunk.X, np.ndarray):
        return _sparse_gram_block(chunk, columns, columns)
    A = np.take(chunk.X, columns, axis=1)
    if origin is not None:
        A -= origin[columns]
    if chunk.w is not None:
        A *= np.sqrt(chunk.w).astype(A.dtype)[:, None]
    return A.T @ A


def _sparse_gram_block(chunk: Chunk, left: np.ndarray, right: np.ndarray | None) -> np.ndarray:
    """The block of sparse rows, in float64."""
    X, p = chunk.X, chunk.X.shape[1]
    out = np.zeros((len(left), p if right is None else len(right)))
    rows = _column_positions(left, p)
    columns = np.arange(p) if right is None else _column_positions(right, p)
    add_products(X.indptr, X.indices, X.data, chunk.weights(), rows, columns, out)
    return out


def _column_positions(columns: np.ndarray, p: int) -> np.ndarray:
    """Position of each of p columns among the given ones, -1 if it is not one of them."""
    positions = np.full(p, -1)
    positions[columns] = np.arange(len(columns))
    return positions


def _residual_products(
    chunk: Chunk, origin: np.ndarray | None, coef: np.ndarray, intercept: float, target: int
) -> np.ndarray:
    """Products of the weighted residuals with all columns."""
    X, Y = _subtract_origin(chunk, origin)
    nonzero = np.flatnonzero(coef)
    dense = isinstance(X, np.ndarray)
    score = np.take(X, nonzero, axis=1) @ coef[nonzero] if dense else X @ coef
    residual = (Y[:, target] - score - intercept) * chunk.weights()
    return multiply_thin(residual[None], X)[0]


class GramMatrix:
    """Second moments of rows about their mean, divided by their weight.

    Attributes
    ----------
    mean : (p + q,) mean of [x y], zero without intercept
    xy : (p, q) products of columns and targets
    squares : (p,) squares of the columns
    yy : (q,) squares of the targets
    entered : (m,) numbers of the columns that have entered
    block : (m, m) their products among themselves, in the precision of the rows
    """

    mean: np.ndarray
    xy: np.ndarray
    squares: np.ndarray
    yy: np.ndarray
    entered: np.ndarray
    block: np.ndarray

    def correlations(self, w: np.ndarray, target: int) -> np.ndarray:
        """Products X'(y - Xw) of all columns, for coefficients that are zero outside `entered`."""
        return self.xy[:, target] - self.block @ w

    def enter(self, columns: np.ndarray) -> None:
        """Let columns enter, in order of importance; perhaps fewer, perhaps more than these."""


class FullGram(GramMatrix):
    """The matrix of a narrow table, made in one pass."""

    def __init__(self, s: Moments, p: int, dtype: np.dtype, *, intercept: bool) -> None:
        P = problem_from_moments(s, p, dtype, intercept=intercept)
        self.mean = s.mean if intercept else np.zeros_like(s.mean)
        self.xy, self.block = P.AB / s.n, P.AA / s.n
        self.squares = (
            self.block.diagonal().copy()
        )  # contiguous: compiled functions take one layout
        yy = s.scatter.diagonal()[p:] + (0 if intercept else s.n * s.mean[p:] ** 2)
        self.yy = yy / s.n
        self.entered = np.arange(p)


class LazyGram(GramMatrix):
    """The matrix of many columns, made as columns enter."""

    def __init__(self, rows: Rows, *, intercept: bool) -> None:
        self.rows, self.p = rows, rows.n_features
        self.origin, s = _accurate_marginal_sums(rows, intercept=intercept)
        self.n = s.n
        shift = np.concatenate([s.products[0], s.y]) / s.n
        self.shift = shift if intercept else np.zeros_like(shift)
        x, y = self.shift[: self.p], self.shift[self.p :]
        self.mean = self.shift if self.origin is None else self.shift + self.origin
        self.xy = s.products[1:].T / s.n - np.multiply.outer(x, y)
        self.squares, self.yy = s.squares / s.n - x**2, s.yy / s.n - y**2
        self.varies = is_varying(
            np.sqrt(np.maximum(self.squares, 0.0)), self.mean[: self.p], np.finfo(rows.dtype).eps
        ) | (not intercept)
        self.xy[~self.varies], self.squares[~self.varies] = 0.0, 0.0
        self.entered, self.block = np.arange(0), np.zeros((0, 0), rows.dtype)
        self.cross_products: np.ndarray | None = np.zeros((0, self.p), rows.dtype)
        if rows.sparse and self.p > SPARSE_PASS_MIN_COLUMNS:
            self.cross_products = None

    def correlations(self, w: np.ndarray, target: int) -> np.ndarray:
        if len(self.entered) == self.p:
            return super().correlations(w, target)
        if self.cross_products is not None:
            return self.xy[:, target] - w[self.entered] @ self.cross_products
        intercept = float(self.shift[self.p + target] - self.shift[: self.p] @ w)
        products = self.rows.total(_residual_products, self.origin, w, intercept, target)
        return np.where(self.varies, products / self.n, 0.0)

    def enter(self, columns: np.ndarray) -> None:
        width = self.p if self.cross_products is not None else len(self.entered) + len(columns)
        most = max(MAX_BATCH_BYTES // (8 * width), 1)
        batch = columns[: min(most, max(MIN_BATCH_COLUMNS, len(self.entered) // BATCH_GROWTH))]
        n_entered = len(self.entered) + len(batch)
        if self.cross_products is None:
            self._enter_block(batch)
        elif (
            FULL_GRAM_DIVISOR * n_entered > self.p
            and 8 * (self.p - len(self.entered)) ** 2 <= MAX_BATCH_BYTES
        ):
            self._enter_others(self.cross_products)
        elif 8 * n_entered * self.p > MAX_GRAM_BYTES:
            self.cross_products = None
            self._enter_block(batch)
        else:
            self._enter_cross_products(self.cross_products, batch)

    def _enter_cross_products(self, previous: np.ndarray, batch: np.ndarray) -> None:
        """Keep the products of the batch with all columns."""
        products = self.rows.total(_gram_block, self.origin, batch, None)
        products = self._center_block(products, batch, np.arange(self.p))
        self.cross_products = np.vstack([previous, products])
        self.entered = np.append(self.entered, batch)
        self.block = np.ascontiguousarray(self.cross_products[:, self.entered])

    def _enter_others(self, previous: np.ndarray) -> None:
        """Let all other columns enter."""
        others = np.setdiff1d(np.arange(self.p), self.entered)
        products = self.rows.total(_gram_square, self.origin, others)
        block = np.empty((self.p, self.p), self.rows.dtype)
        block[self.entered] = previous
        block[:, self.entered] = previous.T
        block[np.ix_(others, others)] = self._center_block(products, others, others)
        self.entered, self.block, self.cross_products = np.arange(self.p), block, None

    def _enter_block(self, batch: np.ndarray) -> None:
        """Keep the products of the batch with the columns that have entered alone."""
        entered = np.append(self.entered, batch)
        if 8 * len(entered) ** 2 > MAX_GRAM_BYTES:
            raise ValueError(
                f"more than {len(self.entered)} coefficients differ from zero: their Gram matrix "
                "would fill the memory. Raise alpha, or use SGDRegressor(penalty='elasticnet')."
            )
        products = self.rows.total(_gram_block, self.origin, batch, entered)
        products = self._center_block(products, batch, entered)
        m = len(self.entered)
        self.block = np.block([[self.block, products[:, :m].T], [products]])
        self.entered = entered

    def _center_block(self, block: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Products about the mean, per weight; zero for columns that do not vary."""
        block /= self.n
        if self.shift.any():
            block -= np.multiply.outer(self.shift[left], self.shift[right])
        if not self.varies.all():
            block *= self.varies[left][:, None] & self.varies[right]
        return block.astype(self.rows.dtype, copy=False)


class PrecomputedGram(LazyGram):
    """A given matrix, for weights that sum to the number of rows; of centered columns or not."""

    def __init__(self, rows: Rows, XX: np.ndarray, *, intercept: bool) -> None:
        super().__init__(rows, intercept=intercept)
        if XX.shape != (self.p, self.p):
            raise ValueError(f"precompute has the shape {XX.shape}, not {(self.p, self.p)}")
        self.entered, self.block, self.cross_products = np.arange(self.p), XX / rows.n_rows, None
        mean, tol = self.mean[: self.p], np.sqrt(np.finfo(rows.dtype).eps)
        rounding = tol * (self.squares + mean**2).max(initial=0.0)
        if (np.abs(self.block.diagonal() - self.squares) > rounding).any():
            self.block -= np.multiply.outer(mean, mean)
        wrong = np.abs(self.block.diagonal() - self.squares) > rounding
        if wrong.any():
            column = rows.source.column(int(wrong.argmax()))
            raise ValueError(
                "Gram matrix passed in via 'precompute' parameter did not pass validation: it is "
                f"not X'X of these rows, column {column} differs. The weights of the rows must be "
                "in it, and sum to the number of rows."
            )


def _accurate_marginal_sums(
    rows: Rows, *, intercept: bool
) -> tuple[np.ndarray | None, MarginalSums]:
    """The origin to subtract, None where zero is close enough, and the sums about it."""
    if rows.sparse or not intercept:
        return None, rows.total(_marginal_sums, None)
    origin = choose_origin(rows, target=True)
    s = rows.total(_marginal_sums, origin)
    if not _is_far_from_origin(s, rows.dtype):
        return origin, s
    mean = np.concatenate([s.products[0], s.y]) / s.n + (0 if origin is None else origin)
    origin = mean.astype(rows.dtype)
    return origin, rows.total(_marginal_sums, origin)


def _is_far_from_origin(s: MarginalSums, dtype: np.dtype) -> bool:
    """Whether the mean of a column is so large that its variance has lost digits."""
    squares, offset = s.squares / s.n, (s.products[0] / s.n) ** 2
    variance = np.maximum(squares - offset, np.finfo(dtype).eps * squares)
    return bool((offset > MAX_OFFSET_TO_VARIANCE[dtype.itemsize] * variance).any())


def make_gram(rows: Rows, *, intercept: bool, precompute: Any = False) -> GramMatrix:
    """The full Gram matrix of few columns, a lazy one of many, or a given one."""
    if not isinstance(precompute, bool | np.bool_):
        gram: GramMatrix = PrecomputedGram(
            rows, np.asarray(precompute, np.float64), intercept=intercept
        )
    elif precompute or rows.n_features <= FULL_GRAM_MAX_COLUMNS:
        moments = second_moments(rows, target=True)
        gram = FullGram(moments, rows.n_features, rows.dtype, intercept=intercept)
    else:
        gram = LazyGram(rows, intercept=intercept)
    if not all(np.isfinite(part).all() for part in (gram.squares, gram.xy, gram.yy)):
        raise ValueError("the squares of the numbers overflow: divide the columns by their size")
    return gram
