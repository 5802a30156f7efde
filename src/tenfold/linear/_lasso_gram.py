"""The Gram matrix of centered rows, computed for the columns that the lasso asks for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import (
    MAX_OFFSET_TO_VARIANCE,
    choose_origin,
    second_moments,
    target_columns,
)
from tenfold.linear._least_squares_solvers import is_varying, problem_from_moments
from tenfold.stats.decorators import propagates_nan
from tenfold.stats.moments import multiply_thin, scale_rows


class MarginalSums(NamedTuple):
    """Sums of rows x and targets y about an origin, without the products of columns.

    Attributes
    ----------
    n : total weight
    lines : (1 + q, p) weighted sum of x, and of y x' for each target
    squares : (p,) weighted sum of the squares of x
    y, yy : (q,) weighted sums of the targets and of their squares
    rows : number of rows
    """

    n: float
    lines: np.ndarray
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
    """The margins of a chunk."""
    X, Y = _subtract_origin(chunk, origin)
    w = chunk.weights().astype(np.float64)
    weighed = Y * w[:, None]
    sides = np.vstack([w, weighed.T])
    if isinstance(X, np.ndarray):
        lines, squares = _products_and_squares(sides, X)
    else:
        lines, squares = multiply_thin(sides, X), (X * X).T @ w  # entry by entry: a sparse array
    return MarginalSums(
        chunk.weight, lines, squares, weighed.sum(axis=0), (weighed * Y).sum(axis=0), chunk.rows
    )


@njit(cache=True, nogil=True)
def _products_and_squares(sides, X):  # noqa: ANN001, ANN202  (q, n), (n, p) -> (q, p), (p,)
    """Product of a few lines with X, and of the first of them with the squares of X, in float64."""
    n, p = X.shape
    lines, squares = np.zeros((len(sides), p)), np.zeros(p)
    for i in range(n):
        for j in range(p):
            x = np.float64(X[i, j])
            squares[j] += sides[0, i] * x * x
        for q in range(len(sides)):
            factor = sides[q, i]
            for j in range(p):
                lines[q, j] += factor * X[i, j]
    return lines, squares


def _gram_block(
    chunk: Chunk, origin: np.ndarray | None, left: np.ndarray, right: np.ndarray | None
) -> np.ndarray:
    """Products of the columns `left` with the columns `right` (all, if None), weighed."""
    if not isinstance(chunk.X, np.ndarray):
        return _sparse_gram_block(chunk, left, right)
    A = np.take(chunk.X, left, axis=1)
    B = chunk.X if right is None else np.take(chunk.X, right, axis=1)
    if origin is not None:
        A = A - origin[left]
        B = B - (origin[: B.shape[1]] if right is None else origin[right])
    return (A if chunk.w is None else scale_rows(A, chunk.w.astype(A.dtype))).T @ B


def _gram_square(chunk: Chunk, origin: np.ndarray | None, columns: np.ndarray) -> np.ndarray:
    """Products of some columns among themselves: half the work, as it is symmetric."""
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
    places = np.arange(p) if right is None else _column_positions(right, p)
    _add_products(
        X.indptr, X.indices, X.data, chunk.weights(), _column_positions(left, p), places, out
    )
    return out


def _column_positions(columns: np.ndarray, p: int) -> np.ndarray:
    """Where each of p columns stands among these, -1 if it does not."""
    places = np.full(p, -1)
    places[columns] = np.arange(len(columns))
    return places


@njit(cache=True, nogil=True)
def _add_products(indptr, indices, data, w, left, right, out):  # noqa: ANN001, ANN202
    """Add w x_a x_b of every row to out[left[a], right[b]]; entries at -1 are passed over."""
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            line = left[indices[a]]
            if line >= 0:
                factor = np.float64(w[i]) * data[a]
                for b in range(indptr[i], indptr[i + 1]):
                    place = right[indices[b]]
                    if place >= 0:
                        out[line, place] += factor * data[b]


def _residual_products(
    chunk: Chunk, origin: np.ndarray | None, coef: np.ndarray, constant: float, target: int
) -> np.ndarray:
    """Products of the weighed residuals of a line with all columns."""
    X, Y = _subtract_origin(chunk, origin)
    used = np.flatnonzero(coef)
    score = np.take(X, used, axis=1) @ coef[used] if isinstance(X, np.ndarray) else X @ coef
    residual = (Y[:, target] - score - constant) * chunk.weights()
    return multiply_thin(residual[None], X)[0]


FULL_GRAM_MAX_COLUMNS = 512  # columns up to which the whole matrix is made in one pass
MIN_BATCH_COLUMNS = (
    64  # fewest columns that enter together: one pass then costs no more than its products
)
_BATCH_GROWTH = 2  # a batch has 1/GROWTH of those that entered before, or more
FULL_GRAM_DIVISOR = 4  # when 1/MANY of all columns have entered, the rest follow at once
MAX_GRAM_BYTES = 2**29  # of lines, or of the square of those that entered
_MAX_BATCH_BYTES = 2**26  # of one batch: a fold holds several of them
_SPARSE_PASS_MIN_COLUMNS = 4096  # sparse columns from which a pass is cheaper than lines


class GramMatrix:
    """What a least-squares fit asks about rows, divided by their weight.

    Attributes
    ----------
    mean : (p + q,) mean of [x y], zero without intercept
    c : (p, q) products of columns and targets
    bend : (p,) squares of the columns
    yy : (q,) squares of the targets
    made : (m,) numbers of the columns that have entered
    square : (m, m) their products among themselves, as exact as the rows
    """

    mean: np.ndarray
    c: np.ndarray
    bend: np.ndarray
    yy: np.ndarray
    made: np.ndarray
    square: np.ndarray

    def slopes(self, w: np.ndarray, target: int) -> np.ndarray:
        """Slope c - Qw of all columns, for coefficients that are zero outside `made`."""
        return self.c[:, target] - self.square @ w

    def enter(self, columns: np.ndarray) -> None:
        """Let columns enter, the most wanted first; perhaps fewer, perhaps more than these."""


class FullGram(GramMatrix):
    """The matrix of a narrow table, made in one pass."""

    def __init__(self, rows: Rows, *, intercept: bool) -> None:
        p, s = rows.n_features, second_moments(rows, target=True)
        P = problem_from_moments(s, p, rows.dtype, intercept=intercept)
        self.mean = s.mean if intercept else np.zeros_like(s.mean)
        self.c, self.square = P.AB / s.n, P.AA / s.n
        self.bend = self.square.diagonal().copy()  # leaves are compiled for one layout
        squares = s.scatter.diagonal()[p:] + (0 if intercept else s.n * s.mean[p:] ** 2)
        self.yy = squares / s.n
        self.made = np.arange(p)


class LazyGram(GramMatrix):
    """The matrix of many columns, made as columns enter."""

    def __init__(self, rows: Rows, *, intercept: bool) -> None:
        self.rows, self.p = rows, rows.n_features
        self.origin, s = _accurate_marginal_sums(rows, intercept=intercept)
        self.n = s.n
        shift = np.concatenate([s.lines[0], s.y]) / s.n
        self.shift = shift if intercept else np.zeros_like(shift)
        x, y = self.shift[: self.p], self.shift[self.p :]
        self.mean = self.shift if self.origin is None else self.shift + self.origin
        self.c = s.lines[1:].T / s.n - np.multiply.outer(x, y)
        self.bend, self.yy = s.squares / s.n - x**2, s.yy / s.n - y**2
        self.alive = is_varying(
            np.sqrt(np.maximum(self.bend, 0.0)), self.mean[: self.p], np.finfo(rows.dtype).eps
        ) | (not intercept)
        self.c[~self.alive], self.bend[~self.alive] = 0.0, 0.0
        self.made, self.square = np.arange(0), np.zeros((0, 0), rows.dtype)
        self.lines: np.ndarray | None = np.zeros((0, self.p), rows.dtype)
        if rows.sparse and self.p > _SPARSE_PASS_MIN_COLUMNS:
            self.lines = None

    def slopes(self, w: np.ndarray, target: int) -> np.ndarray:
        if len(self.made) == self.p:
            return super().slopes(w, target)
        if self.lines is not None:
            return self.c[:, target] - w[self.made] @ self.lines
        constant = float(self.shift[self.p + target] - self.shift[: self.p] @ w)
        found = self.rows.total(_residual_products, self.origin, w, constant, target)
        return np.where(self.alive, found / self.n, 0.0)

    def enter(self, columns: np.ndarray) -> None:
        width = self.p if self.lines is not None else len(self.made) + len(columns)
        most = max(_MAX_BATCH_BYTES // (8 * width), 1)
        batch = columns[: min(most, max(MIN_BATCH_COLUMNS, len(self.made) // _BATCH_GROWTH))]
        entered = len(self.made) + len(batch)
        if self.lines is None:
            self._enter_square(batch)
        elif (
            FULL_GRAM_DIVISOR * entered > self.p
            and 8 * (self.p - len(self.made)) ** 2 <= _MAX_BATCH_BYTES
        ):
            self._enter_rest(self.lines)
        elif 8 * entered * self.p > MAX_GRAM_BYTES:
            self.lines = None
            self._enter_square(batch)
        else:
            self._enter_lines(self.lines, batch)

    def _enter_lines(self, lines: np.ndarray, batch: np.ndarray) -> None:
        block = self._centred(
            self.rows.total(_gram_block, self.origin, batch, None), batch, np.arange(self.p)
        )
        self.lines = lines = np.vstack([lines, block])
        self.made = np.append(self.made, batch)
        self.square = np.ascontiguousarray(lines[:, self.made])

    def _enter_rest(self, lines: np.ndarray) -> None:
        rest = np.setdiff1d(np.arange(self.p), self.made)
        block = self._centred(self.rows.total(_gram_square, self.origin, rest), rest, rest)
        square = np.empty((self.p, self.p), self.rows.dtype)
        square[self.made] = lines
        square[:, self.made] = lines.T
        square[np.ix_(rest, rest)] = block
        self.made, self.square, self.lines = np.arange(self.p), square, None

    def _enter_square(self, batch: np.ndarray) -> None:
        made = np.append(self.made, batch)
        if 8 * len(made) ** 2 > MAX_GRAM_BYTES:
            raise ValueError(
                f"more than {len(self.made)} coefficients differ from zero: their Gram matrix "
                "would fill the memory. Raise alpha, or use SGDRegressor(penalty='elasticnet')."
            )
        block = self._centred(self.rows.total(_gram_block, self.origin, batch, made), batch, made)
        m = len(self.made)
        self.square = np.block([[self.square, block[:, :m].T], [block]])
        self.made = made

    def _centred(self, block: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Products about the mean, per weight; zero for columns that do not vary."""
        block /= self.n
        if self.shift.any():
            block -= np.multiply.outer(self.shift[left], self.shift[right])
        if not self.alive.all():
            block *= self.alive[left][:, None] & self.alive[right]
        return block.astype(self.rows.dtype, copy=False)


class PrecomputedGram(LazyGram):
    """A matrix that somebody has made before, for weights that sum to the number of rows.

    Its columns may be centred or not.
    """

    def __init__(self, rows: Rows, XX: np.ndarray, *, intercept: bool) -> None:
        super().__init__(rows, intercept=intercept)
        if XX.shape != (self.p, self.p):
            raise ValueError(f"precompute has the shape {XX.shape}, not {(self.p, self.p)}")
        self.made, self.square, self.lines = np.arange(self.p), XX / rows.n_rows, None
        mean, exact = self.mean[: self.p], np.sqrt(np.finfo(rows.dtype).eps)
        rounding = exact * (self.bend + mean**2).max(initial=0.0)
        if (np.abs(self.square.diagonal() - self.bend) > rounding).any():
            self.square -= np.multiply.outer(mean, mean)
        wrong = np.abs(self.square.diagonal() - self.bend) > rounding
        if wrong.any():
            column = rows.source.column(int(wrong.argmax()))
            raise ValueError(
                f"precompute is not X'X of these rows: column {column} differs. The weights of the "
                "rows must be in it, and sum to the number of rows."
            )


def _accurate_marginal_sums(
    rows: Rows, *, intercept: bool
) -> tuple[np.ndarray | None, MarginalSums]:
    """The origin to subtract, None where zero is near enough, and the margins about it."""
    if rows.sparse or not intercept:
        return None, rows.total(_marginal_sums, None)
    origin = choose_origin(rows, target=True)
    s = rows.total(_marginal_sums, origin)
    if not _is_far_from_origin(s, rows.dtype):
        return origin, s
    mean = np.concatenate([s.lines[0], s.y]) / s.n + (0 if origin is None else origin)
    origin = mean.astype(rows.dtype)
    return origin, rows.total(_marginal_sums, origin)


def _is_far_from_origin(s: MarginalSums, dtype: np.dtype) -> bool:
    """Whether some column lies so far from the origin that its variance has lost digits."""
    squares, offset = s.squares / s.n, (s.lines[0] / s.n) ** 2
    variance = np.maximum(squares - offset, np.finfo(dtype).eps * squares)
    return bool((offset > MAX_OFFSET_TO_VARIANCE[dtype.itemsize] * variance).any())


def make_gram(rows: Rows, *, intercept: bool, precompute: Any = False) -> GramMatrix:
    """The Gram matrix in the way that suits the width of the rows, or a given one."""
    if not isinstance(precompute, bool | np.bool_):
        gram: GramMatrix = PrecomputedGram(
            rows, np.asarray(precompute, np.float64), intercept=intercept
        )
    elif precompute or rows.n_features <= FULL_GRAM_MAX_COLUMNS:
        gram = FullGram(rows, intercept=intercept)
    else:
        gram = LazyGram(rows, intercept=intercept)
    if not all(np.isfinite(part).all() for part in (gram.bend, gram.c, gram.yy)):
        raise ValueError("the squares of the numbers overflow: divide the columns by their size")
    return gram
