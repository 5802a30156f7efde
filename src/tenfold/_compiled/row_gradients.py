"""For each row: a few steps of conjugate gradients on the systems of `row_systems`.

Row i has entries (j, w_ij, g_ij), the factor Y has a row y_j of K numbers for each column j, and ::

    A_i = P + ridge_i I + sum_j w_ij y_j y_j'
    b_i = sum_j g_ij y_j

as there. A_i is never formed: a product with it costs K numbers for each entry and K^2 for P, not
K^2 for each entry, and a few steps from the solution of the last iteration come close enough where
systems change little from one iteration to the next (Takács, Pilászy and Tikk, 2011). A step never
raises the cost x'Ax - 2b'x, so alternating half steps never raise theirs.

Loops are serial, without the interpreter's lock, in float64, and add the entries of a row in their
order; products with P are one matrix product (BLAS) for all rows of a call, between the steps.
Benchmark case: `implicit-als` (benchmarks/recommend.py).

References
----------
G. Takács, I. Pilászy and D. Tikk (2011), Applications of the conjugate gradient method for implicit
feedback collaborative filtering.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.dot_product import DOUBLE_LANES, dot_product
from tenfold._compiled.vector_sums import add_four_multiples, four_dot_products

_BLOCK = 16  # entries of a row whose factors lie in the cache at once
_SMALLEST = 1e-30  # share of |b|^2 below which the square of a residual is rounding


def improve_row_solutions(
    indptr: np.ndarray,
    indices: np.ndarray,
    weight: np.ndarray,
    moment: np.ndarray,
    factor: np.ndarray,
    start: np.ndarray,
    *,
    ridge: np.ndarray,
    precision: np.ndarray,
    steps: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Take steps of conjugate gradients towards A_i x_i = b_i from a start.

    Parameters
    ----------
    indptr, indices, weight, moment
        Entries by rows, as in `solve_row_systems`.
    factor : ndarray of shape (n_columns, K) or (n_columns, width)
        Y; where many calls share it, as `pad_columns` returns it, which saves a copy in each.
    start : ndarray of shape (n_rows, K)
        Where the rows begin.
    ridge : ndarray of shape (n_rows,)
        Added to the diagonal of A_i.
    precision : ndarray of shape (K, K)
        P, added to every A_i; symmetric.
    steps : int
        Most steps of a row.

    Returns
    -------
    x : ndarray of shape (n_rows, K)
        Where they end.
    decrease : ndarray of shape (n_rows,)
        2b'x - x'Ax: by how much the cost falls from x = 0.

    Examples
    --------
    >>> import numpy as np
    >>> Y, one = np.array([[1.0], [2.0]]), np.ones(2)
    >>> x, decrease = improve_row_solutions(
    ...     np.array([0, 2]),
    ...     np.array([0, 1]),
    ...     one,
    ...     np.array([3.0, 6.0]),
    ...     Y,
    ...     np.zeros((1, 1)),
    ...     ridge=np.zeros(1),
    ...     precision=np.zeros((1, 1)),
    ...     steps=3,
    ... )
    >>> x.tolist(), decrease.tolist()
    ([[3.0]], [45.0])
    """
    k, width = start.shape[1], _padded_width(start.shape[1])
    entries = (
        np.asarray(indptr, np.int64),
        np.asarray(indices, np.int32),
        np.ascontiguousarray(weight, np.float64),
        np.ascontiguousarray(moment, np.float64),
        pad_columns(factor).reshape(-1),
        np.ascontiguousarray(ridge, np.float64),
    )
    x, P = _pad(start, width), _pad(precision, width, width)
    image, decrease = x @ P, np.empty(len(x))
    _start_rows(*entries, x, image, decrease)
    residual = -image
    direction, square = residual.copy(), (residual**2).sum(axis=1)
    least = _SMALLEST * square
    for _ in range(steps):
        np.matmul(direction, P, out=image)
        _advance_rows(*entries, x, image, residual, direction, square, least, decrease)
    return x[:, :k], decrease


def pad_columns(factor: np.ndarray) -> np.ndarray:
    """The factor with columns of zeros up to whole vectors of the processor."""
    width = _padded_width(factor.shape[1])
    if width == factor.shape[1]:
        return np.ascontiguousarray(factor, np.float64)
    return _pad(factor, width)


def _padded_width(k: int) -> int:
    return -(-k // DOUBLE_LANES) * DOUBLE_LANES


def _pad(array: np.ndarray, columns: int, rows: int = 0) -> np.ndarray:
    """A copy with zeros beside it and below it."""
    padded = np.zeros((max(len(array), rows), columns))
    padded[: len(array), : array.shape[1]] = array
    return padded


@njit(cache=True, nogil=True)
def _start_rows(indptr, indices, weight, moment, Y, ridge, x, image, decrease):  # noqa: ANN001, ANN202
    """Ax - b in the place of Px, and the cost of the start."""
    width, scores = x.shape[1], np.zeros(_BLOCK)
    for i in range(len(x)):
        a, b = indptr[i], indptr[i + 1]
        current, gradient = x[i], image[i]
        for c in range(width):
            gradient[c] += ridge[i] * current[c]
        known = _multiply_entries(
            Y, indices[a:b], weight[a:b], moment[a:b], current, scores, gradient
        )
        decrease[i] = known - dot_product(gradient, 0, current, 0, width)


@njit(cache=True, nogil=True)
def _advance_rows(  # noqa: ANN202
    indptr,  # noqa: ANN001
    indices,  # noqa: ANN001
    weight,  # noqa: ANN001
    moment,  # noqa: ANN001
    Y,  # noqa: ANN001
    ridge,  # noqa: ANN001
    x,  # noqa: ANN001
    image,  # noqa: ANN001
    residual,  # noqa: ANN001
    direction,  # noqa: ANN001
    square,  # noqa: ANN001
    least,  # noqa: ANN001
    decrease,  # noqa: ANN001
):
    """One step of each row whose residual is not rounding; `image` is P times the direction."""
    width, scores, none = x.shape[1], np.zeros(_BLOCK), moment[:0]
    for i in range(len(x)):
        if not square[i] > least[i]:
            continue
        a, b = indptr[i], indptr[i + 1]
        current, left, way, turn = x[i], residual[i], direction[i], image[i]
        for c in range(width):
            turn[c] += ridge[i] * way[c]
        _multiply_entries(Y, indices[a:b], weight[a:b], none, way, scores, turn)
        curvature = dot_product(way, 0, turn, 0, width)
        if not curvature > 0.0:
            square[i] = 0.0
            continue
        length, before = square[i] / curvature, square[i]
        decrease[i] += length * before
        for c in range(width):
            current[c] += length * way[c]
            left[c] -= length * turn[c]
        square[i] = dot_product(left, 0, left, 0, width)
        for c in range(width):
            way[c] = left[c] + square[i] / before * way[c]


@njit(cache=True, nogil=True)
def _multiply_entries(Y, span, w, g, vector, scores, image):  # noqa: ANN001, ANN202
    """Add the sum of (w_j y_j'v - g_j) y_j, where g may be empty; return that of g_j y_j'v.

    A few entries are read twice while they lie in the cache, four at a time.
    """
    width, n, known = len(vector), len(span), 0.0
    for first in range(0, n, _BLOCK):
        count = min(_BLOCK, n - first)
        for e in range(0, count, 4):
            places = _four_places(span, first + e, width)
            four = four_dot_products(Y, places, vector, width)
            scores[e], scores[e + 1], scores[e + 2], scores[e + 3] = four
        for e in range(count):
            score = scores[e]
            scores[e] = w[first + e] * score
            if len(g):
                known += g[first + e] * score
                scores[e] -= g[first + e]
        for e in range(count, -(-count // 4) * 4):
            scores[e] = 0.0
        for e in range(0, count, 4):
            places = _four_places(span, first + e, width)
            four = (scores[e], scores[e + 1], scores[e + 2], scores[e + 3])
            add_four_multiples(image, width, Y, places, four)
    return known


@njit(cache=True, nogil=True, inline="always")
def _four_places(span, e, width):  # noqa: ANN001, ANN202
    """Where the factors of four entries begin; those after the last entry are the last."""
    last = len(span) - 1
    return (
        np.int64(span[e]) * width,
        np.int64(span[min(e + 1, last)]) * width,
        np.int64(span[min(e + 2, last)]) * width,
        np.int64(span[min(e + 3, last)]) * width,
    )
