r"""Cholesky factor, triangular solves and inverse of large matrices: all threads, fixed bits.

A multi-threaded LAPACK rounds differently for another number of threads. Here the matrix is cut
into tiles whose size depends on its own size alone, each step of a tile is one call of
single-threaded BLAS or LAPACK, and every tile takes its updates in one fixed order; threads only
decide *when* a step runs. The routines are those behind `scipy.linalg`, called through `ctypes`,
which releases the interpreter's lock.

The factorization looks left: with tiles :math:`A_{ik}`,

.. math:: L_{kk} L_{kk}^T = A_{kk} - L_{k,<k} L_{k,<k}^T, \qquad
          L_{ik} = (A_{ik} - L_{i,<k} L_{k,<k}^T) L_{kk}^{-T}.

Nothing is ever added to a diagonal unless the caller asks: `cholesky` raises on a matrix that is
not positive definite, `cholesky_with_jitter` tries the shares of `JITTERS` and returns what it
added.

References
----------
Buttari, A., Langou, J., Kurzak, J. and Dongarra, J. (2009). A class of parallel tiled linear
algebra algorithms for multicore architectures. *Parallel Computing* 35.
"""

from __future__ import annotations

import ctypes
import heapq
import threading
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from tenfold.engine.blas_threads import one_blas_thread
from tenfold.engine.thread_pool import n_threads, run_in_threads

JITTERS = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)  # shares of the mean of the diagonal, tried in this order
_ITEM = 8  # bytes of a float64
_SOLVE_COLUMNS = 128  # right-hand sides of one triangular solve


def cholesky(A: np.ndarray, *, overwrite: bool = False) -> np.ndarray:
    """The lower Cholesky factor L of a symmetric positive definite matrix, A = L L'.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        The matrix; only its lower triangle is read.
    overwrite : bool, default=False
        Put the factor into the memory of `A` where that is C-contiguous float64.

    Returns
    -------
    L : ndarray of shape (n, n)
        Lower triangle, float64, zeros above the diagonal.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a leading minor is not positive; the message names it and the cure.

    Examples
    --------
    >>> import numpy as np
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    L = np.require(A, np.float64, ["C", "W"])
    if L is A and not overwrite:
        L = A.copy()
    if L.ndim != 2 or L.shape[0] != L.shape[1]:
        raise ValueError(f"cholesky needs a square matrix, not one of shape {A.shape}")
    with one_blas_thread():
        failed = _factorize(L)
    if failed:
        raise np.linalg.LinAlgError(_describe_failure(failed, len(L)))
    for first in range(0, len(L), _SOLVE_COLUMNS):  # a mask of all would be another matrix
        rows = L[first : first + _SOLVE_COLUMNS]
        rows[:, first + len(rows) :] = 0.0
        square = rows[:, first : first + len(rows)]
        square[...] = np.tril(square)
    return L


def cholesky_with_jitter(A: np.ndarray) -> tuple[np.ndarray, float]:
    """The lower factor of A + jitter I, with the least jitter of `JITTERS` for which it exists.

    Jitters are 0, 1e-12, 1e-10, 1e-8, 1e-6 times the mean of the diagonal.

    Returns
    -------
    L : ndarray of shape (n, n)
    jitter : float
        What was added to the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> L, jitter = cholesky_with_jitter(np.ones((2, 2)))
    >>> jitter
    1e-12
    """
    A = np.asarray(A, dtype=np.float64)
    size = float(np.mean(A.diagonal())) if len(A) else 1.0
    for share in JITTERS:
        B = A.copy()
        B[np.diag_indices(len(B))] += share * size
        try:
            return cholesky(B, overwrite=True), share * size
        except np.linalg.LinAlgError:
            if share == JITTERS[-1]:
                raise
    raise AssertionError("unreachable")


def solve_triangular(L: np.ndarray, B: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """Solve L X = B, or L' X = B, for a lower triangle L.

    Examples
    --------
    >>> import numpy as np
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([2.0, 5.0]))
    array([1., 2.])
    """
    L = np.ascontiguousarray(L, dtype=np.float64)
    X = np.array(B, dtype=np.float64, order="C")
    if len(X) != len(L):
        raise ValueError(f"B has {len(X)} rows, the triangle has {len(L)}")
    columns = X.size // max(len(X), 1)

    def solve(first: int) -> None:
        width = min(_SOLVE_COLUMNS, columns - first)
        _solve_right(L, 0, X.ctypes.data + _ITEM * first, width, columns, transposed=transposed)

    with one_blas_thread():
        run_pieces(solve, range(0, columns, _SOLVE_COLUMNS))
    return X


def solve_cholesky(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Solve A X = B where A = L L'.

    Examples
    --------
    >>> import numpy as np
    >>> solve_cholesky(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([4.0, 10.0]))
    array([0., 2.])
    """
    return solve_triangular(L, solve_triangular(L, B), transposed=True)


def log_determinant(L: np.ndarray) -> float:
    """The logarithm of det(A) where A = L L'.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(np.exp(log_determinant(np.array([[2.0, 0.0], [1.0, 2.0]])))), 12)
    16.0
    """
    return 2.0 * float(np.log(L.diagonal()).sum())


def invert_cholesky(L: np.ndarray) -> np.ndarray:
    """The inverse of A = L L', as a full symmetric matrix.

    Block j of the columns below the diagonal is the solution with the trailing triangle alone, so
    that the blocks are independent and the whole takes 2/3 n³ operations.

    Examples
    --------
    >>> import numpy as np
    >>> invert_cholesky(np.array([[2.0, 0.0], [1.0, 2.0]]))
    array([[ 0.3125, -0.125 ],
           [-0.125 ,  0.25  ]])
    """
    L = np.ascontiguousarray(L, dtype=np.float64)
    n = len(L)
    inverse = np.zeros((n, n))
    inverse[np.diag_indices(n)] = 1.0

    def solve(first: int) -> None:
        width = min(_SOLVE_COLUMNS, n - first)
        at = inverse.ctypes.data + _ITEM * (first * n + first)
        for transposed in (False, True):
            _solve_right(L, first, at, width, n, transposed=transposed)
        last = first + width
        square = np.tril(inverse[first:last, first:last])
        inverse[first:last, first:last] = square + np.tril(square, -1).T
        inverse[first:last, last:] = inverse[last:, first:last].T

    with one_blas_thread():
        run_pieces(solve, range(0, n, _SOLVE_COLUMNS))
    return inverse


def _tile_rows(n: int) -> int:
    return n if n <= 256 else 128 if n <= 4096 else 256


def _describe_failure(minor: int, n: int) -> str:
    return (
        f"the matrix of {n} rows is not positive definite: its leading minor of order {minor} is "
        f"not positive. Row {minor - 1} is (nearly) a combination of the rows before it, or the "
        "kernel is not positive definite. Add to the diagonal (`alpha`, a WhiteKernel, jitter), or "
        "drop repeated rows."
    )


class _TileTasks:
    """The steps of a factorization, handed out when what they need is there.

    Tile (i, k) needs (i, k - 1) and, unless it is on the diagonal, (k, k).
    """

    def __init__(self, L: np.ndarray, tile: int) -> None:
        self.L = L
        self.tile = tile
        self.count = -(-len(L) // tile)
        self.wanted = {
            (i, k): (k > 0) + (i > k) for k in range(self.count) for i in range(k, self.count)
        }
        self.ready = [(0, 0, 0)]
        self.open = len(self.wanted)
        self.failed = 0
        self.error: BaseException | None = None
        self.changed = threading.Condition()

    def work(self) -> None:
        while (step := self._next()) is not None:
            try:
                failed = _compute_tile(self.L, self.tile, *step)
            except BaseException as error:  # noqa: BLE001 (raised again)
                self.error = error
                failed = -1
            self._finish(*step, failed)

    def _next(self) -> tuple[int, int] | None:
        with self.changed:
            self.changed.wait_for(lambda: self.ready or not self.open)
            return heapq.heappop(self.ready)[1:] if self.open else None

    def _finish(self, i: int, k: int, failed: int) -> None:
        with self.changed:
            self.open = 0 if failed else max(self.open - 1, 0)
            self.failed = self.failed or failed
            below = [(row, k) for row in range(k + 1, self.count)]
            following = below if i == k else [(i, k + 1)]
            for row, column in following:
                self.wanted[row, column] -= 1
                if not self.wanted[row, column]:
                    # all of its column waits for a diagonal tile: before the rest of the last
                    turn = column - (row == column)
                    heapq.heappush(self.ready, (turn, row, column))
            self.changed.notify_all()


def _factorize(L: np.ndarray) -> int:
    """Factorize in place; the order of the minor that is not positive, or 0."""
    if not len(L):
        return 0
    tile = _tile_rows(len(L))
    if tile == len(L):
        return _compute_tile(L, tile, 0, 0)
    tasks = _TileTasks(L, tile)
    run_in_threads(tasks.work, min(n_threads(), tasks.count) - 1)
    if tasks.error is not None:
        raise tasks.error
    return tasks.failed


def _compute_tile(L: np.ndarray, tile: int, i: int, k: int) -> int:
    """Tile (i, k) of the factor; BLAS is column-major and sees the transpose, an upper triangle."""
    n, done = len(L), k * tile
    height, width = min(tile, n - i * tile), min(tile, n - k * tile)
    start = L.ctypes.data

    def at(row: int, column: int) -> int:
        return start + _ITEM * (row * tile * n + column * tile)

    if i == k:
        if done:
            call_blas("dsyrk", "U", "T", width, done, -1.0, at(k, 0), n, 1.0, at(k, k), n)
        info = ctypes.c_int(0)
        call_blas("dpotrf", "U", width, at(k, k), n, ctypes.addressof(info))
        return info.value and info.value + done
    if done:
        operands = at(k, 0), n, at(i, 0), n
        call_blas("dgemm", "T", "N", width, height, done, -1.0, *operands, 1.0, at(i, k), n)
    call_blas("dtrsm", "L", "U", "T", "N", width, height, 1.0, at(k, k), n, at(i, k), n)
    return 0


def _solve_right(
    L: np.ndarray, first: int, at: int, width: int, stride: int, *, transposed: bool
) -> None:
    """Solve with the triangle from row `first` on, for `width` of the `stride` columns at `at`."""
    n = len(L)
    triangle = L.ctypes.data + _ITEM * (first * n + first)
    flag = "T" if transposed else "N"
    call_blas("dtrsm", "R", "U", flag, "N", width, n - first, 1.0, triangle, n, at, stride)


def run_pieces(work: Callable[[int], None], pieces: Iterable[int]) -> None:
    """Call `work` for each piece, on all threads; pieces must not depend on each other."""
    todo = list(pieces)[::-1]
    helpers = min(n_threads(), len(todo)) - 1
    errors: list[BaseException] = []

    def take() -> None:
        while not errors:
            try:
                piece = todo.pop()
            except IndexError:
                return
            try:
                work(piece)
            except BaseException as error:  # noqa: BLE001 (raised again)
                errors.append(error)

    run_in_threads(take, helpers)
    if errors:
        raise errors[0]


def call_blas(name: str, *arguments: str | float) -> None:
    """Call a double-precision routine of BLAS or LAPACK without the interpreter's lock.

    Letters, whole numbers and numbers go by reference, as Fortran wants them; addresses of arrays
    are those whole numbers that stand where the routine takes an array.
    """
    routine, kinds = _routine(name)
    routine(*[_PACK[kind](value) for kind, value in zip(kinds, arguments, strict=True)])


# what each routine takes: letters, integers, floats by reference (c, i, f), addresses (p)
_SIGNATURES = {
    "dgemm": "cciiifpipifpi",
    "dsyrk": "cciifpifpi",
    "dtrsm": "cccciifpipi",
    "dpotrf": "cipip",
}
_PACK: dict[str, Callable[[Any], Any]] = {
    "c": lambda value: ctypes.byref(ctypes.c_char(value.encode())),
    "i": lambda value: ctypes.byref(ctypes.c_int(value)),
    "f": lambda value: ctypes.byref(ctypes.c_double(value)),
    "p": ctypes.c_void_p,
}


@cache
def _routine(name: str) -> tuple[Callable[..., None], str]:
    kinds = _SIGNATURES[name]
    library = "cython_lapack" if name == "dpotrf" else "cython_blas"
    capsule = import_module(f"scipy.linalg.{library}").__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))
    return prototype(address), kinds
