"""The Gram matrix of rows about their mean, made as far as it is needed.

A lasso touches few columns. So the columns that it asks for enter some at a time, each batch by one
pass over the rows; a narrow table's Gram matrix is made at once. `lines` has the products of those
that entered with all columns, from which all slopes follow without the rows. Where that is too much
to keep, only the square of those that entered is kept, and slopes take a pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.linear.lasso.gram_leaves import (
    Margins,
    gram_block,
    gram_square,
    margins,
    residual_products,
)
from tenfold.linear.normal_equations import problem, varying
from tenfold.rows import Rows
from tenfold.solve.second_moments import LOST, second_moments, starting_point

AT_ONCE = 512  # columns up to which the whole matrix is made in one pass
BATCH = 64  # fewest columns that enter together: one pass then costs no more than its products
GROWTH = 2  # a batch has 1/GROWTH of those that entered before, or more
MANY = 4  # when 1/MANY of all columns have entered, the rest follow at once
KEPT_BYTES = 2**29  # of lines, or of the square of those that entered
BATCH_BYTES = 2**26  # of one batch: a fold holds several of them
WIDE = 4096  # sparse columns from which a pass is cheaper than lines


class Gram:
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


class WholeGram(Gram):
    """The matrix of a narrow table, made in one pass."""

    def __init__(self, rows: Rows, *, intercept: bool) -> None:
        p, s = rows.n_features, second_moments(rows, target=True)
        P = problem(s, p, rows.dtype, intercept=intercept)
        self.mean = s.mean if intercept else np.zeros_like(s.mean)
        self.c, self.square = P.AB / s.n, P.AA / s.n
        self.bend = self.square.diagonal().copy()  # leaves are compiled for one layout
        squares = s.scatter.diagonal()[p:] + (0 if intercept else s.n * s.mean[p:] ** 2)
        self.yy = squares / s.n
        self.made = np.arange(p)


class LazyGram(Gram):
    """The matrix of many columns, made as columns enter."""

    def __init__(self, rows: Rows, *, intercept: bool) -> None:
        self.rows, self.p = rows, rows.n_features
        self.origin, s = accurate_margins(rows, intercept=intercept)
        self.n = s.n
        shift = np.concatenate([s.lines[0], s.y]) / s.n
        self.shift = shift if intercept else np.zeros_like(shift)
        x, y = self.shift[: self.p], self.shift[self.p :]
        self.mean = self.shift if self.origin is None else self.shift + self.origin
        self.c = s.lines[1:].T / s.n - np.multiply.outer(x, y)
        self.bend, self.yy = s.squares / s.n - x**2, s.yy / s.n - y**2
        self.alive = varying(
            np.sqrt(np.maximum(self.bend, 0.0)), self.mean[: self.p], np.finfo(rows.dtype).eps
        ) | (not intercept)
        self.c[~self.alive], self.bend[~self.alive] = 0.0, 0.0
        self.made, self.square = np.arange(0), np.zeros((0, 0), rows.dtype)
        self.lines: np.ndarray | None = np.zeros((0, self.p), rows.dtype)
        if rows.sparse and self.p > WIDE:
            self.lines = None

    def slopes(self, w: np.ndarray, target: int) -> np.ndarray:
        if len(self.made) == self.p:
            return super().slopes(w, target)
        if self.lines is not None:
            return self.c[:, target] - w[self.made] @ self.lines
        constant = float(self.shift[self.p + target] - self.shift[: self.p] @ w)
        found = self.rows.total(residual_products, self.origin, w, constant, target)
        return np.where(self.alive, found / self.n, 0.0)

    def enter(self, columns: np.ndarray) -> None:
        width = self.p if self.lines is not None else len(self.made) + len(columns)
        most = max(BATCH_BYTES // (8 * width), 1)
        batch = columns[: min(most, max(BATCH, len(self.made) // GROWTH))]
        entered = len(self.made) + len(batch)
        if self.lines is None:
            self._enter_square(batch)
        elif MANY * entered > self.p and 8 * (self.p - len(self.made)) ** 2 <= BATCH_BYTES:
            self._enter_rest(self.lines)
        elif 8 * entered * self.p > KEPT_BYTES:
            self.lines = None
            self._enter_square(batch)
        else:
            self._enter_lines(self.lines, batch)

    def _enter_lines(self, lines: np.ndarray, batch: np.ndarray) -> None:
        block = self._centred(
            self.rows.total(gram_block, self.origin, batch, None), batch, np.arange(self.p)
        )
        self.lines = lines = np.vstack([lines, block])
        self.made = np.append(self.made, batch)
        self.square = np.ascontiguousarray(lines[:, self.made])

    def _enter_rest(self, lines: np.ndarray) -> None:
        rest = np.setdiff1d(np.arange(self.p), self.made)
        block = self._centred(self.rows.total(gram_square, self.origin, rest), rest, rest)
        square = np.empty((self.p, self.p), self.rows.dtype)
        square[self.made] = lines
        square[:, self.made] = lines.T
        square[np.ix_(rest, rest)] = block
        self.made, self.square, self.lines = np.arange(self.p), square, None

    def _enter_square(self, batch: np.ndarray) -> None:
        made = np.append(self.made, batch)
        if 8 * len(made) ** 2 > KEPT_BYTES:
            raise ValueError(
                f"more than {len(self.made)} coefficients differ from zero: their Gram matrix "
                "would fill the memory. Raise alpha, or use SGDRegressor(penalty='elasticnet')."
            )
        block = self._centred(self.rows.total(gram_block, self.origin, batch, made), batch, made)
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


class GivenGram(LazyGram):
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


def accurate_margins(rows: Rows, *, intercept: bool) -> tuple[np.ndarray | None, Margins]:
    """The origin to subtract, None where zero is near enough, and the margins about it."""
    if rows.sparse or not intercept:
        return None, rows.total(margins, None)
    origin = starting_point(rows, target=True)
    s = rows.total(margins, origin)
    if not far_off(s, rows.dtype):
        return origin, s
    mean = np.concatenate([s.lines[0], s.y]) / s.n + (0 if origin is None else origin)
    origin = mean.astype(rows.dtype)
    return origin, rows.total(margins, origin)


def far_off(s: Margins, dtype: np.dtype) -> bool:
    """Whether some column lies so far from the origin that its variance has lost digits."""
    squares, offset = s.squares / s.n, (s.lines[0] / s.n) ** 2
    variance = np.maximum(squares - offset, np.finfo(dtype).eps * squares)
    return bool((offset > LOST[dtype.itemsize] * variance).any())


def gram_of(rows: Rows, *, intercept: bool, precompute: Any = False) -> Gram:
    """The Gram matrix in the way that suits the width of the rows, or a given one."""
    if not isinstance(precompute, bool | np.bool_):
        gram: Gram = GivenGram(rows, np.asarray(precompute, np.float64), intercept=intercept)
    elif precompute or rows.n_features <= AT_ONCE:
        gram = WholeGram(rows, intercept=intercept)
    else:
        gram = LazyGram(rows, intercept=intercept)
    if not all(np.isfinite(part).all() for part in (gram.bend, gram.c, gram.yy)):
        raise ValueError("the squares of the numbers overflow: divide the columns by their size")
    return gram
