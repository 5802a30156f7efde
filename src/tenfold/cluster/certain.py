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

PRODUCTS = 2**16  # products of rows and centres that are held at once
FEW = 2**16  # steps of the slow way that are sooner done than products


class Nearest(NamedTuple):
    """What is known of rows and their nearest centres."""

    label: np.ndarray  # (n,) int32, number of the nearest centre
    gap: np.ndarray  # (n,) how much nearer it is than any other: half the difference of squares
    radius: np.ndarray  # (n,) distance to it, or a little more
    length: np.ndarray  # (n,) of the rows themselves


class Scaled(NamedTuple):
    """Centres as products in some precision need them."""

    centres: np.ndarray
    half: np.ndarray  # half their squares
    share: float  # of squared lengths that rounding may be
    reach: float  # of the longest centre


def nearest_of(
    X: np.ndarray,
    centres: np.ndarray,
    length: np.ndarray | None = None,
    single: Scaled | None = None,
) -> Nearest:
    """Nearest centre of each row, the first one on a tie.

    Lengths of rows may be known already, and so may the centres in single precision.

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
    look_again(X, centres, None, found, single)
    return found


def lengths(X: np.ndarray) -> np.ndarray:
    """Length of each row."""
    with np.errstate(over="ignore"):  # such rows stay in doubt
        return np.sqrt(np.einsum("ij,ij->i", X, X)).astype(np.float64)


def look_again(
    X: np.ndarray,
    centres: np.ndarray,
    rows: np.ndarray | None,
    found: Nearest,
    single: Scaled | None = None,
) -> None:
    """Find the nearest centres of some rows (None: of all) anew."""
    rows = np.arange(len(X)) if rows is None else rows
    rows = by_single_products(X, rows, *(single or scaled(centres, np.float32)), *found)
    if not len(rows):
        return
    centres = centres.astype(np.float64)
    if len(rows) * centres.size > FEW:
        rows = by_double_products(X, rows, centres, found)
    settle(X, rows, centres, found.label)


def scaled(centres: np.ndarray, dtype: type) -> Scaled:
    """Centres, half their squares, and what rounding depends on."""
    centres = centres.astype(np.float64)
    squares = np.einsum("ij,ij->i", centres, centres)
    share = (centres.shape[1] + 8) * float(np.finfo(dtype).eps)
    with np.errstate(over="ignore"):  # rows stay in doubt
        narrow = centres.astype(dtype), (squares / 2).astype(dtype)
    return Scaled(*narrow, share, float(np.sqrt(squares.max())))


@njit(cache=True, nogil=True)
def by_single_products(X, rows, centres, half, share, reach, label, gap, radius, length):  # noqa: ANN001, ANN201
    """Label rows by |c|^2/2 - c.x in single precision; the rows that stay in doubt.

    One compiled call for a chunk: threads that meet at the interpreter every few rows wait for
    each other longer than they work.
    """
    (k, d), n = centres.shape, len(rows)
    step = min(max(PRODUCTS // k // 512 * 512, 512), n)  # products of round sizes are faster
    doubtful, m = np.empty(n, np.int64), 0
    part, space = np.empty((step, d), np.float32), np.empty((k, step), np.float32)
    best, second = np.empty(step, np.float32), np.empty(step, np.float32)
    near, far, wide = np.empty(step, np.int32), np.empty(step), np.empty(step)
    for start in range(0, n, step):
        count = min(step, n - start)
        for i in range(count):
            row = rows[start + i]
            far[i] = length[row]
            for t in range(d):
                part[i, t] = X[row, t]
        np.dot(centres, part.T, space)  # a short last part: old rows are multiplied in vain
        two_best(space, half, best, second, near)
        measure(best, second, far, wide, share, reach)
        for i in range(count):
            row, between = rows[start + i], wide[i]
            label[row], gap[row], radius[row] = near[i], between, far[i]
            if not (0.0 < between < np.inf or k == 1):  # neither holds for NaN
                gap[row] = 0.0
                doubtful[m] = row
                m += 1
    return doubtful[:m]


@njit(cache=True, nogil=True)
def measure(best, second, far, wide, share, reach):  # noqa: ANN001, ANN201
    """Gaps that rounding cannot close, in `wide`; from lengths of rows to radii, in `far`."""
    for i in range(len(far)):
        low, x = np.float64(best[i]), far[i]
        rounding = share * (x * x + x * reach + reach * reach)
        wide[i] = np.float64(second[i]) - low - rounding
        square = x * x + 2.0 * low + rounding
        far[i] = np.sqrt(square if square > 0.0 else 0.0)  # noqa: FURB136 - max() is slow


def by_double_products(
    X: np.ndarray, rows: np.ndarray, centres: np.ndarray, found: Nearest
) -> np.ndarray:
    """Label rows that single precision left in doubt; those that still are."""
    C, half, share, reach = scaled(centres, np.float64)
    doubtful = []
    for some in np.array_split(rows, len(rows) * len(C) // PRODUCTS + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = half - np.take(X, some, axis=0).astype(np.float64, copy=False) @ C.T
            near = scores.argmin(axis=1)
            low = np.take_along_axis(scores, near[:, None], axis=1)[:, 0]
            np.put_along_axis(scores, near[:, None], np.inf, axis=1)
            x = found.length[some]
            rounding = share * (x * x + x * reach + reach * reach)
            between = scores.min(axis=1) - low - rounding
            sure = (between > 0) & (between < np.inf)
            found.radius[some] = np.sqrt(np.maximum(x * x + 2 * low + rounding, 0.0))
        found.label[some] = near
        found.gap[some] = np.where(sure, between, 0.0)
        doubtful.append(some[~sure])
    return np.concatenate(doubtful)


@njit(cache=True, nogil=True)
def two_best(products, half, best, second, near):  # noqa: ANN001, ANN201
    """The least and the second least score of each column, and the number of the least."""
    k, n = products.shape
    near[:] = 0
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
