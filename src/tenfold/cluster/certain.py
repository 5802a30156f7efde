"""Nearest centres that no order of summation can change.

Products in single precision are fast and tell the nearest centre of nearly every row beyond doubt:
the gap to the second nearest is wider than all rounding. The few rows in doubt are asked again in
double precision, and what is then still in doubt (ties) is decided by the differences themselves,
summed one after the other. So a label depends on its row and the centres alone, neither on the
rows beside it nor on the library that multiplies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

PRODUCTS = 2**15  # products of rows and centres that are held at once
FEW = 2**16  # steps of the slow way that are sooner done than products


class Nearest(NamedTuple):
    """What is known of rows and their nearest centres."""

    label: np.ndarray  # (n,) int32, number of the nearest centre
    gap: np.ndarray  # (n,) how much nearer it is than any other: half the difference of squares
    radius: np.ndarray  # (n,) distance to it, or a little more
    length: np.ndarray  # (n,) of the rows themselves


def nearest_of(X: np.ndarray, centres: np.ndarray, length: np.ndarray | None = None) -> Nearest:
    """Nearest centre of each row, the first one on a tie; lengths of rows may be known already.

    Examples
    --------
    >>> import numpy as np
    >>> found = nearest_of(np.array([[0.0], [1.0], [9.0]]), np.array([[1.0], [8.0], [-1.0]]))
    >>> found.label.tolist()
    [0, 0, 1]
    """
    n = len(X)
    label, gap, radius = np.zeros(n, np.int32), np.zeros(n), np.full(n, np.inf)
    if n * centres.size <= FEW:
        settle(X, np.arange(n), centres.astype(np.float64), label)
        return Nearest(label, gap, radius, radius)
    found = Nearest(label, gap, radius, lengths(X) if length is None else length)
    look_again(X, centres, None, found)
    return found


def lengths(X: np.ndarray) -> np.ndarray:
    """Length of each row."""
    with np.errstate(over="ignore"):  # such rows stay in doubt
        return np.sqrt(np.einsum("ij,ij->i", X, X)).astype(np.float64)


def look_again(X: np.ndarray, centres: np.ndarray, rows: np.ndarray | None, found: Nearest) -> None:
    """Find the nearest centres of some rows (None: of all) anew."""
    centres = centres.astype(np.float64)
    for dtype in (np.float32, np.float64):
        rows = by_products(X, centres, rows, found, dtype)
        if len(rows) * centres.size <= FEW:
            break
    settle(X, rows, centres, found.label)


def by_products(
    X: np.ndarray, centres: np.ndarray, rows: np.ndarray | None, found: Nearest, dtype: type
) -> np.ndarray:
    """Label rows by products in a number type; the rows that stay in doubt."""
    n, (k, d) = len(X) if rows is None else len(rows), centres.shape
    squares = np.einsum("ij,ij->i", centres, centres)
    rounding = (d + 8) * np.finfo(dtype).eps, float(np.sqrt(squares.max()))
    with np.errstate(over="ignore", invalid="ignore"):  # such rows stay in doubt
        C, half = centres.astype(dtype), (squares / 2).astype(dtype)
        step = min(max(PRODUCTS // k, 512), n)
        space, scores = np.empty((k, step), dtype), np.empty((2, step), dtype)
        doubtful, m = np.empty(n, np.int64), 0
        for start in range(0, n, step):
            end = min(start + step, n)
            numbers = np.arange(start, end) if rows is None else rows[start:end]
            part = X[start:end] if rows is None else np.take(X, numbers, axis=0)
            part = part.astype(dtype, copy=False)
            whole = end - start == step
            products = np.matmul(C, part.T, out=space if whole else None)
            m = judge(products, half, numbers, *rounding, scores, *found, doubtful, m)
    return doubtful[:m]


@njit(cache=True, nogil=True)
def judge(products, half, rows, share, reach, scores, label, gap, radius, length, doubtful, m):  # noqa: ANN001, ANN201
    """Label rows by |c|^2/2 - c.x, the products given; add those in doubt to a list of m."""
    best, second = scores[0, : len(rows)], scores[1, : len(rows)]
    near = np.zeros(len(rows), np.int32)
    two_best(products, half, best, second, near)
    for lane in range(len(rows)):
        i, low = rows[lane], np.float64(best[lane])
        x = length[i]
        rounding = share * (x * x + x * reach + reach * reach)
        between = np.float64(second[lane]) - low - rounding
        sure = between > 0.0 and between < np.inf  # neither holds for NaN
        sure |= len(half) == 1
        label[i] = near[lane]
        gap[i] = between if sure else 0.0
        radius[i] = np.sqrt(max(x * x + 2.0 * low + rounding, 0.0))
        if not sure:
            doubtful[m] = i
            m += 1
    return m


@njit(cache=True, nogil=True)
def two_best(products, half, best, second, near):  # noqa: ANN001, ANN201
    """The least and the second least score of each column, and the number of the least."""
    k, n = products.shape
    for i in range(n):  # in words of single numbers: array expressions compile slowly
        best[i], second[i] = half[0] - products[0, i], np.inf
    for j in range(1, k):
        offset, number = half[j], np.int32(j)
        for i in range(n):
            score, least = offset - products[j, i], best[i]
            closer = score < least
            larger = least if closer else score
            second[i] = larger if larger < second[i] else second[i]  # noqa: FURB136 - min() is slow
            best[i] = score if closer else least
            near[i] = number if closer else near[i]


@njit(cache=True, nogil=True)
def settle(X, rows, centres, label):  # noqa: ANN001, ANN201
    """Label rows by the differences themselves, in float64; the first centre on a tie."""
    k, d = centres.shape
    for i in rows:
        least = np.inf
        for j in range(k):
            square = 0.0
            for t in range(d):
                difference = np.float64(X[i, t]) - centres[j, t]
                square += difference * difference
            if square < least:
                least, label[i] = square, j
