"""For each row: gather rows of a factor, weigh, add a prior, solve the K x K system.

Row i has entries (j, w_ij, g_ij) and the factor Y has a row y_j of K numbers for each column j::

    A_i = P + ridge_i I + sum_j w_ij y_j y_j'        P: precision of the prior, or zeros
    b_i = h + sum_j g_ij y_j                         h: its precision times its mean, or zeros
    x_i = A_i^-1 b_i                                 or a draw from N(A_i^-1 b_i, A_i^-1)

Least squares have g_ij = w_ij r_ij with the target r_ij. This is one half of a step of alternating
least squares (explicit and implicit ratings, probabilistic matrix factorization, completion,
weighted factorizations of counts), the posterior of the hidden part of a row with missing entries,
and how a new row is placed in a model that is there. The sums that the other half needs, where
rows are not stored by columns, are those of `add_column_systems`.

Loops are serial, without the interpreter's lock, in float64, and add the entries of a row in their
order, `_BLOCK` at a time: a row's solution depends on nothing but its entries. The squares run in
the registers of `gram`. Benchmark case: `implicit-als` (benchmarks/recommend.py).
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.gram import add_tile_rows
from tenfold._compiled.simd import aligned_zeros

_BLOCK = 64  # entries of a row whose factors lie in the cache at once
_LANES = 8  # float64 in a vector
_PANEL = 8  # rows of a triangular factor that are added to those below them at once
_NONE = np.empty(0)


class RowSolutions(NamedTuple):
    """What the systems of some rows give.

    Parameters
    ----------
    x : ndarray of shape (n_rows, K)
        Solutions (or draws).
    log_determinant : ndarray of shape (n_rows,)
        log |A_i|.
    covariance : ndarray of shape (n_rows, K, K) or (0, K, K)
        Inverses of A_i, if they were asked for.
    decrease : ndarray of shape (n_rows,)
        b_i'A_i^-1 b_i: by how much the cost x'Ax - 2b'x falls from x = 0 to the solution.
    """

    x: np.ndarray
    log_determinant: np.ndarray
    covariance: np.ndarray
    decrease: np.ndarray


def observed_entries(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries of dense rows with NaN for what is missing: (indptr, indices, values).

    Examples
    --------
    >>> import numpy as np
    >>> [a.tolist() for a in observed_entries(np.array([[1.0, np.nan], [2.0, 3.0]]))]
    [[0, 1, 3], [0, 0, 1], [1.0, 2.0, 3.0]]
    """
    seen = ~np.isnan(X)
    indptr = np.zeros(len(X) + 1, np.int64)
    np.cumsum(seen.sum(axis=1), out=indptr[1:])
    columns = np.broadcast_to(np.arange(X.shape[1], dtype=np.int32), X.shape)
    return indptr, columns[seen], X[seen].astype(np.float64)


def solve_row_systems(
    indptr: np.ndarray,
    indices: np.ndarray,
    weight: np.ndarray | None,
    moment: np.ndarray,
    factor: np.ndarray,
    *,
    ridge: np.ndarray | float = 0.0,
    precision: np.ndarray | None = None,
    linear: np.ndarray | None = None,
    noise: np.ndarray | None = None,
    covariance: bool = False,
) -> RowSolutions:
    """Solve A_i x_i = b_i for each row i.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Entries of row i are those from indptr[i] to indptr[i + 1].
    indices : ndarray of shape (n_entries,)
        Row of the factor that each entry takes.
    weight : ndarray of shape (n_entries,), default=None
        w_ij >= 0; None: all 1.
    moment : ndarray of shape (n_entries,)
        g_ij, in least squares the weight times the target.
    factor : ndarray of shape (n_columns, K)
        Y.
    ridge : float or ndarray of shape (n_rows,), default=0.0
        Added to the diagonal of A_i.
    precision : ndarray of shape (K, K), default=None
        P, added to every A_i.
    linear : ndarray of shape (K,) or (n_rows, K), default=None
        h, added to every b_i.
    noise : ndarray of shape (n_rows, K), default=None
        Standard normal numbers: the answers are draws with mean x_i and covariance A_i^-1.
    covariance : bool, default=False
        Also return the inverses of A_i.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a system is not positive definite; the message names its row.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1.0], [2.0]])
    >>> solve_row_systems(np.array([0, 2]), np.array([0, 1]), None, np.array([3.0, 6.0]), Y).x
    array([[3.]])
    """
    n, k = len(indptr) - 1, factor.shape[1]
    work = _workspace(k)
    x, log_determinant = np.empty((n, k)), np.empty(n)
    inverse, decrease = np.empty((n if covariance else 0, k, k)), np.empty(n)
    failed = _solve_rows(
        np.asarray(indptr, np.int64),
        np.asarray(indices, np.int32),
        _NONE if weight is None else np.ascontiguousarray(weight, np.float64),
        np.ascontiguousarray(moment, np.float64),
        np.ascontiguousarray(factor, np.float64),
        np.broadcast_to(np.asarray(ridge, np.float64), (n,)).copy(),
        np.zeros((k, k)) if precision is None else np.ascontiguousarray(precision, np.float64),
        _linear_terms(linear, k),
        np.empty((0, k)) if noise is None else np.ascontiguousarray(noise, np.float64),
        *work,
        x,
        log_determinant,
        inverse,
        decrease,
    )
    _refuse_singular(failed)
    return RowSolutions(x, log_determinant, inverse, decrease)


def add_column_systems(
    indptr: np.ndarray,
    indices: np.ndarray,
    weight: np.ndarray | None,
    moment: np.ndarray,
    x: np.ndarray,
    covariance: np.ndarray | None,
    squares: np.ndarray,
    moments: np.ndarray,
) -> None:
    """Add each entry to the system of its column: w (x x' + C) and g x.

    Parameters
    ----------
    indptr, indices, weight, moment
        Entries by rows, as in `solve_row_systems`.
    x : ndarray of shape (n_rows, K)
        Solutions of the rows.
    covariance : ndarray of shape (n_rows, K, K), default=None
        Their covariances C_i.
    squares : ndarray of shape (n_columns, K (K + 1) / 2)
        Upper triangles row by row, added to in place.
    moments : ndarray of shape (n_columns, K)
        Added to in place.
    """
    k = x.shape[1]
    _add_columns(
        np.asarray(indptr, np.int64),
        np.asarray(indices, np.int32),
        _NONE if weight is None else np.ascontiguousarray(weight, np.float64),
        np.ascontiguousarray(moment, np.float64),
        np.ascontiguousarray(x, np.float64),
        np.empty((0, k, k)) if covariance is None else np.ascontiguousarray(covariance, np.float64),
        squares,
        moments,
    )


def solve_packed_systems(
    squares: np.ndarray,
    moments: np.ndarray,
    *,
    ridge: np.ndarray | float = 0.0,
    precision: np.ndarray | None = None,
    linear: np.ndarray | None = None,
    noise: np.ndarray | None = None,
) -> np.ndarray:
    """Solve the systems that `add_column_systems` summed, one for each column.

    Examples
    --------
    >>> import numpy as np
    >>> solve_packed_systems(np.array([[4.0, 0.0, 16.0]]), np.array([[4.0, 8.0]])).tolist()
    [[1.0, 0.5]]
    """
    n, k = moments.shape
    x = np.empty((n, k))
    failed = _solve_packed(
        squares,
        moments,
        np.broadcast_to(np.asarray(ridge, np.float64), (n,)).copy(),
        np.zeros((k, k)) if precision is None else np.ascontiguousarray(precision, np.float64),
        _linear_terms(linear, k),
        np.empty((0, k)) if noise is None else np.ascontiguousarray(noise, np.float64),
        *_workspace(k),
        x,
    )
    _refuse_singular(failed)
    return x


def _linear_terms(linear: np.ndarray | None, k: int) -> np.ndarray:
    """H as (1, K) or (n_rows, K), or (0, K) for none."""
    if linear is None:
        return np.empty((0, k))
    return np.ascontiguousarray(np.atleast_2d(linear), np.float64)


def _workspace(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Gathered rows (block, width) and a matrix (1, width, width); K is padded to whole vectors."""
    width = -(-k // _LANES) * _LANES
    return aligned_zeros((_BLOCK, width), np.float64), aligned_zeros((1, width, width), np.float64)


def _refuse_singular(row: int) -> None:
    if row >= 0:
        raise np.linalg.LinAlgError(
            f"the system of row {row} is not positive definite: it has fewer entries than factors "
            "or entries that are not finite; a positive ridge or prior cures the first"
        )


@njit(cache=True, nogil=True)
def _solve_rows(  # noqa: ANN202
    indptr,  # noqa: ANN001
    indices,  # noqa: ANN001
    weight,  # noqa: ANN001
    moment,  # noqa: ANN001
    Y,  # noqa: ANN001
    ridge,  # noqa: ANN001
    P,  # noqa: ANN001
    linear,  # noqa: ANN001
    noise,  # noqa: ANN001
    Z,  # noqa: ANN001
    S,  # noqa: ANN001
    x,  # noqa: ANN001
    log_determinant,  # noqa: ANN001
    inverse,  # noqa: ANN001
    decrease,  # noqa: ANN001
):
    """Number of the first row whose system is not positive definite, or -1."""
    n, k = x.shape
    for i in range(n):
        _start_system(S, P, ridge[i], linear, i, x)
        for start in range(indptr[i], indptr[i + 1], _BLOCK):
            count = min(_BLOCK, indptr[i + 1] - start)
            _gather(indices, weight, moment, Y, start, count, Z, x, i)
            for r in range(0, Z.shape[1], 4):
                add_tile_rows(Z, count, r, _LANES, S, 0)
        log_determinant[i] = _factorize(S, Z, k)
        if not log_determinant[i] > -np.inf:
            return i
        decrease[i] = _solve_triangles(S, x, i, noise)
        if len(inverse):
            _invert(S, inverse, i)
    return -1


@njit(cache=True, nogil=True)
def _start_system(S, P, ridge, linear, i, x):  # noqa: ANN001, ANN202
    """A = P + ridge I and b = h; b lies where the solution will."""
    k, width = x.shape[1], S.shape[1]
    for r in range(width):
        for c in range(width):
            S[0, r, c] = P[r, c] if r < k and c < k else 0.0
    for r in range(k):
        S[0, r, r] += ridge
        x[i, r] = linear[i if len(linear) > 1 else 0, r] if len(linear) else 0.0


@njit(cache=True, nogil=True)
def _gather(indices, weight, moment, Y, start, count, Z, x, i):  # noqa: ANN001, ANN202
    """Write sqrt(w) y of some entries to Z, and add g y to the right-hand side."""
    k = Y.shape[1]
    for t in range(count):
        j, g = indices[start + t], moment[start + t]
        root = sqrt(weight[start + t]) if len(weight) else 1.0
        for c in range(k):
            Z[t, c] = root * Y[j, c]
        for c in range(k):
            x[i, c] += g * Y[j, c]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _factorize(S, Z, k):  # noqa: ANN001, ANN202
    """Replace the upper triangle of A = U'U by U, 1 / u_rr on the diagonal; log |A| or -inf.

    The tiles of `gram` add products, and here products are subtracted: so -A is worked on. Rows of
    U are computed `_PANEL` at a time and then added to all rows below them.
    """
    width, total = S.shape[1], 0.0
    A = S[0]
    for r in range(k):
        for c in range(r, k):
            A[r, c] = -A[r, c]
    for first in range(0, k, _PANEL):
        end = min(first + _PANEL, k)
        for r in range(first, end):
            row = A[r]
            for q in range(first, r):
                _add_multiple(row, A[q, r], A[q], r, k)
            pivot = -row[r]
            if not (pivot > 0.0 and pivot < np.inf):
                return -np.inf
            total += log(pivot)
            scale = -1.0 / sqrt(pivot)
            for c in range(r, k):
                row[c] *= scale
                Z[r - first, c] = row[c]
            row[r] = -scale
        for r in range(end, width if end - first == _PANEL else 0, 4):
            add_tile_rows(Z, _PANEL, r, _LANES, S, 0)
    return total


@njit(cache=True, nogil=True, fastmath={"contract"}, inline="always")
def _add_multiple(row, factor, other, start, end):  # noqa: ANN001, ANN202
    """Add a multiple of another row from a column on."""
    for c in range(start, end):
        row[c] += factor * other[c]


@njit(cache=True, nogil=True)
def _solve_triangles(S, x, i, noise):  # noqa: ANN001, ANN202
    """Solve U'U x = b, or U x = U'^-1 b + noise; the diagonal of U holds 1 / u_rr.

    Returns |U'^-1 b|^2 = b'A^-1 b.
    """
    k, square = x.shape[1], 0.0
    for r in range(k):
        x[i, r] *= S[0, r, r]
        value = x[i, r]
        square += value * value
        for c in range(r + 1, k):
            x[i, c] -= value * S[0, r, c]
    if len(noise):
        for r in range(k):
            x[i, r] += noise[i, r]
    for r in range(k - 1, -1, -1):
        value = x[i, r]
        for c in range(r + 1, k):
            value -= S[0, r, c] * x[i, c]
        x[i, r] = value * S[0, r, r]
    return square


@njit(cache=True, nogil=True)
def _invert(S, inverse, i):  # noqa: ANN001, ANN202
    """Write A^-1 = V V' with V = U^-1, which takes the place of U."""
    k = inverse.shape[1]
    for c in range(k):  # columns of V from the left; those before hold V already
        scale = S[0, c, c]
        for r in range(c):
            value = 0.0
            for q in range(r, c):
                value += S[0, r, q] * S[0, q, c]
            S[0, r, c] = -value * scale
    for r in range(k):
        for c in range(r, k):
            value = 0.0
            for q in range(c, k):
                value += S[0, r, q] * S[0, c, q]
            inverse[i, r, c] = value
            inverse[i, c, r] = value


@njit(cache=True, nogil=True)
def _add_columns(indptr, indices, weight, moment, x, covariance, squares, moments):  # noqa: ANN001, ANN202
    n, k = x.shape
    square = np.empty(k * (k + 1) // 2)
    for i in range(n):
        at = 0
        for r in range(k):
            for c in range(r, k):
                square[at] = x[i, r] * x[i, c]
                if len(covariance):
                    square[at] += covariance[i, r, c]
                at += 1
        for e in range(indptr[i], indptr[i + 1]):
            j, g = indices[e], moment[e]
            w = weight[e] if len(weight) else 1.0
            for q in range(len(square)):
                squares[j, q] += w * square[q]
            for r in range(k):
                moments[j, r] += g * x[i, r]


@njit(cache=True, nogil=True)
def _solve_packed(squares, moments, ridge, P, linear, noise, Z, S, x):  # noqa: ANN001, ANN202
    """Number of the first column whose system is not positive definite, or -1."""
    n, k = x.shape
    for i in range(n):
        _start_system(S, P, ridge[i], linear, i, x)
        at = 0
        for r in range(k):
            x[i, r] += moments[i, r]
            for c in range(r, k):
                S[0, r, c] += squares[i, at]
                at += 1
        if not _factorize(S, Z, k) > -np.inf:
            return i
        _solve_triangles(S, x, i, noise)
    return -1
