"""The nearest of few rows by NumPy alone: an index would take longer to compile than to search."""

from __future__ import annotations

import numpy as np

from tenfold.neighbors._brute_force import Neighbors


def nearest_directly(
    X: np.ndarray, Q: np.ndarray, k: int, before: np.ndarray | None = None
) -> Neighbors:
    """The k nearest rows of each query, with squared distances: what `RowIndex` finds.

    Parameters
    ----------
    X : (n, d) float64 array
        The rows.
    Q : (m, d) float64 array
        Queries; memory holds m n distances.
    k : int
        Number of neighbors.
    before : (m,) array, optional
        Only rows of smaller numbers are neighbors of a query; there must be k of them.

    Examples
    --------
    >>> nearest_directly(np.array([[0.0], [2.0], [1.0]]), np.array([[1.0]]), 2).rows
    array([[2, 0]])
    """
    squares = np.zeros((len(Q), len(X)))
    for x, q in zip(X.T, Q.T, strict=True):  # in the order of the columns, as everywhere
        squares += np.square(x - q[:, None])
    if before is not None:
        squares[np.arange(len(X)) >= before[:, None]] = np.inf
    farthest = np.partition(squares, k - 1, axis=1)[:, k - 1]
    query, row = np.nonzero(squares <= farthest[:, None])
    distance = squares[query, row]
    order = np.lexsort((distance, query))  # stable: ties stay in the order of the rows
    first = np.searchsorted(query, np.arange(len(Q)))
    taken = order[first[:, None] + np.arange(k)]
    return Neighbors(distance[taken], row[taken])
