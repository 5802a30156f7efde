"""Kernel values of many rows, tile by tile: a product in the cache, then one compiled loop.

Tiles begin at multiples of `TILE_ROWS` and `TILE_COLUMNS`, whatever the number of threads, so that
bits depend on the two sets of rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tenfold.engine.blas_threads import one_blas_thread
from tenfold.engine.memory import check_memory
from tenfold.engine.tiled_cholesky import run_pieces
from tenfold.math.distances import symmetrize

TILE_ROWS, TILE_COLUMNS = 256, 512  # 1 MiB of float64: the second-level cache
_MIN_PARALLEL_VALUES = 2**17  # kernel values that are worth waking a thread


def kernel_block(X: Any, Z: Any, kernel: Any) -> np.ndarray:
    """Kernel values of all rows of X with all rows of Z, in this thread.

    Parameters
    ----------
    X, Z : (n, p) and (m, p) arrays or CSR matrices of one float type
        The rows. For a precomputed kernel X holds values, and Z numbers of columns.
    kernel : Kernel
        The kernel.

    Returns
    -------
    (n, m) array of the type of X
    """
    n, m = n_rows(X), n_rows(Z)
    if n <= TILE_ROWS and m <= TILE_COLUMNS:
        return _tile_of(kernel, X, Z)
    out = np.empty((n, m), _value_type(X))
    for rows, columns in _tiles(n, m):
        out[rows, columns] = _tile_of(kernel, X[rows], Z[columns])
    return out


def kernel_product(X: Any, Z: Any, kernel: Any, V: np.ndarray) -> np.ndarray:
    """Products K(X, Z) @ V, in this thread; no more of K than a tile is ever stored.

    Parameters
    ----------
    X, Z : (n, p) and (m, p) arrays or CSR matrices of one float type
        The rows.
    kernel : Kernel
        The kernel.
    V : (m,) or (m, q) array
        The other factor.

    Returns
    -------
    (n,) or (n, q) array of the type of X and V
    """
    n, m = n_rows(X), n_rows(Z)
    out = np.zeros((n, *V.shape[1:]), np.result_type(_value_type(X), V.dtype))
    for rows, columns in _tiles(n, m):
        out[rows] += _tile_of(kernel, X[rows], Z[columns]) @ V[columns]
    return out


def kernel_matrix(X: Any, Z: Any, kernel: Any, out: np.ndarray | None = None) -> np.ndarray:
    """Kernel values of all rows of X with all rows of Z, on all threads; see `kernel_block`.

    `out`, if given, is an (n, m) array of any float type, which is filled and returned.
    """
    n, m = n_rows(X), n_rows(Z)
    out = np.empty((n, m), _value_type(X)) if out is None else out

    def fill(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        out[rows, columns] = _tile_of(kernel, X[rows], Z[columns])

    _run_tiles(fill, list(_tiles(n, m)), n * m)
    return out


def gram_matrix(X: Any, kernel: Any) -> np.ndarray:
    """Kernel values of all rows with all rows, on all threads: exactly symmetric.

    Half of the tiles are computed. The diagonal is `kernel.diag(X)`, so that it is exactly 1 for
    a normalized kernel and holds the noise of a `WhiteKernel`.

    Parameters
    ----------
    X : (n, p) array or CSR matrix
        The rows.
    kernel : Kernel
        The kernel.
    """
    if hasattr(kernel, "gram"):  # a function: it is called as seldom as possible
        return kernel.gram(X)
    n = n_rows(X)
    out = np.empty((n, n), _value_type(X))

    def fill(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        out[rows, columns] = _tile_of(kernel, X[rows], X[columns])

    upper = [(rows, columns) for rows, columns in _tiles(n, n) if columns.stop > rows.start]
    _run_tiles(fill, upper, n * n // 2)
    symmetrize(out)
    np.fill_diagonal(out, kernel.diag(X))
    return out


def check_symmetry(K: np.ndarray) -> None:
    """Refuse given kernel values of all rows with all rows that are not symmetric.

    Entries across the diagonal may differ by rounding: the root of the unit of the last place,
    times the largest value.

    Parameters
    ----------
    K : (n, n) array
        A precomputed Gram matrix, without missing values.
    """
    floats = K.dtype if K.dtype.kind == "f" else np.dtype(np.float64)
    limit = np.sqrt(np.finfo(floats).eps) * max(float(K.max()), -float(K.min()))
    for rows, columns in _tiles(*K.shape):
        if columns.stop <= rows.start:
            continue
        gaps = np.abs(K[rows, columns].astype(np.float64) - K[columns, rows].T)
        if gaps.max() > limit:
            a, b = np.unravel_index(int(gaps.argmax()), gaps.shape)
            i, j = rows.start + int(a), columns.start + int(b)
            raise ValueError(
                f"the precomputed kernel matrix is not symmetric: entry ({i}, {j}) is "
                f"{K[i, j]:g} and entry ({j}, {i}) is {K[j, i]:g}. A fit needs k(x_i, x_j) of all "
                "rows with all rows; where the two differ by noise, give (K + K.T) / 2"
            )


def check_gram_memory(n: int, copies: float, model: str, cure: str, itemsize: int = 8) -> None:
    """Refuse n x n matrices that do not fit into memory, before any of them is made.

    Parameters
    ----------
    n : int
        Number of rows.
    copies : float
        Matrices that are held at a time.
    model : str
        Who needs them.
    cure : str
        What to use instead.
    itemsize : int
        Bytes of a number.
    """
    needed = float(itemsize) * copies * n * n
    work = f"{model} on {n:,} rows (kernel matrices of {n:,} x {n:,}, {needed:,.0f} bytes)"
    check_memory(needed, work, cure)


def check_matrix_memory(n: int, m: int, copies: int) -> None:
    """Refuse kernel values of n rows with m that do not fit into memory, in so many copies."""
    check_memory(
        8.0 * copies * n * m,
        f"the kernel matrix of {n:,} x {m:,} rows",
        "give fewer rows, or take Nystroem or RBFSampler, whose features of many rows are small",
    )


def _tiles(n: int, m: int) -> Iterator[tuple[slice, slice]]:
    """The tiles of an (n, m) matrix, by rows."""
    for i in range(0, n, TILE_ROWS):
        for j in range(0, m, TILE_COLUMNS):
            yield slice(i, min(i + TILE_ROWS, n)), slice(j, min(j + TILE_COLUMNS, m))


def _tile_of(kernel: Any, X: Any, Z: Any) -> np.ndarray:
    if hasattr(X, "tocsr") and not kernel.accepts_sparse:
        raise TypeError(
            f"{type(kernel).__name__} needs dense rows, but these are sparse: take RBF, a linear, "
            "polynomial, cosine or sigmoid kernel, or give X.toarray()"
        )
    return kernel.tile(X, Z)


def _run_tiles(fill: Callable[[tuple[slice, slice]], None], tiles: list[Any], values: int) -> None:
    """Call `fill` for each tile, on all threads where that is worth it."""
    with one_blas_thread():
        if values > _MIN_PARALLEL_VALUES:
            run_pieces(lambda number: fill(tiles[number]), range(len(tiles)))
        else:
            for tile in tiles:
                fill(tile)


def n_rows(X: Any) -> int:
    """Number of rows of an array, a sparse matrix or a list of objects."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _value_type(X: Any) -> Any:
    return X.dtype if getattr(X, "dtype", None) in (np.float32, np.float64) else np.float64
