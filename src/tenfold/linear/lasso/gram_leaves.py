"""What one pass says about the Gram matrix of rows: its margins, a block of it, a slope."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.maths.moments import scaled, thin_product
from tenfold.maths.promises import shows_nan
from tenfold.rows import Chunk
from tenfold.solve.second_moments import targets


class Margins(NamedTuple):
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


def about(chunk: Chunk, origin: np.ndarray | None) -> tuple[Any, np.ndarray]:
    """X and Y of a chunk, dense rows less an origin."""
    Y = targets(chunk)
    if origin is None or not isinstance(chunk.X, np.ndarray):
        return chunk.X, Y.astype(np.float64, copy=False)
    p = chunk.X.shape[1]
    return chunk.X - origin[:p], Y.astype(np.float64, copy=False) - origin[p:]


@shows_nan
def margins(chunk: Chunk, origin: np.ndarray | None) -> Margins:
    """The margins of a chunk."""
    X, Y = about(chunk, origin)
    w = chunk.weights().astype(np.float64)
    weighed = Y * w[:, None]
    sides = np.vstack([w, weighed.T])
    if isinstance(X, np.ndarray):
        lines, squares = lines_and_squares(sides, X)
    else:
        lines, squares = thin_product(sides, X), (X * X).T @ w  # entry by entry: a sparse array
    return Margins(
        chunk.weight, lines, squares, weighed.sum(axis=0), (weighed * Y).sum(axis=0), chunk.rows
    )


@njit(cache=True, nogil=True)
def lines_and_squares(sides, X):  # noqa: ANN001, ANN201  (q, n), (n, p) -> (q, p), (p,)
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


def gram_block(
    chunk: Chunk, origin: np.ndarray | None, left: np.ndarray, right: np.ndarray | None
) -> np.ndarray:
    """Products of the columns `left` with the columns `right` (all, if None), weighed."""
    if not isinstance(chunk.X, np.ndarray):
        return sparse_block(chunk, left, right)
    A = np.take(chunk.X, left, axis=1)
    B = chunk.X if right is None else np.take(chunk.X, right, axis=1)
    if origin is not None:
        A = A - origin[left]
        B = B - (origin[: B.shape[1]] if right is None else origin[right])
    return (A if chunk.w is None else scaled(A, chunk.w.astype(A.dtype))).T @ B


def gram_square(chunk: Chunk, origin: np.ndarray | None, columns: np.ndarray) -> np.ndarray:
    """Products of some columns among themselves: half the work, as it is symmetric."""
    if not isinstance(chunk.X, np.ndarray):
        return sparse_block(chunk, columns, columns)
    A = np.take(chunk.X, columns, axis=1)
    if origin is not None:
        A -= origin[columns]
    if chunk.w is not None:
        A *= np.sqrt(chunk.w).astype(A.dtype)[:, None]
    return A.T @ A


def sparse_block(chunk: Chunk, left: np.ndarray, right: np.ndarray | None) -> np.ndarray:
    """The block of sparse rows, in float64."""
    X, p = chunk.X, chunk.X.shape[1]
    out = np.zeros((len(left), p if right is None else len(right)))
    places = np.arange(p) if right is None else placed(right, p)
    add_products(X.indptr, X.indices, X.data, chunk.weights(), placed(left, p), places, out)
    return out


def placed(columns: np.ndarray, p: int) -> np.ndarray:
    """Where each of p columns stands among these, -1 if it does not."""
    places = np.full(p, -1)
    places[columns] = np.arange(len(columns))
    return places


@njit(cache=True, nogil=True)
def add_products(indptr, indices, data, w, left, right, out):  # noqa: ANN001, ANN201
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


def residual_products(
    chunk: Chunk, origin: np.ndarray | None, coef: np.ndarray, constant: float, target: int
) -> np.ndarray:
    """Products of the weighed residuals of a line with all columns."""
    X, Y = about(chunk, origin)
    used = np.flatnonzero(coef)
    score = np.take(X, used, axis=1) @ coef[used] if isinstance(X, np.ndarray) else X @ coef
    residual = (Y[:, target] - score - constant) * chunk.weights()
    return thin_product(residual[None], X)[0]
