r"""Similarities of rows in t-SNE: probabilities of neighbors with a given perplexity.

.. math:: p_{j|i} \propto \exp(-\beta_i d_{ij}^2), \quad
          \exp\Big(-\sum_j p_{j|i} \log p_{j|i}\Big) = \text{perplexity}, \qquad
          p_{ij} = \frac{p_{j|i} + p_{i|j}}{2 n}
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse

from tenfold.engine.tiled_cholesky import run_pieces
from tenfold.manifold._t_sne_numba import conditional_probabilities
from tenfold.neighbors.nearest_neighbors import NearestNeighbors

ROWS_PER_PIECE = 512
NEIGHBORS_PER_PERPLEXITY = 3


class Similarities(NamedTuple):
    """A symmetric sparse matrix of probabilities that add up to 1, as CSR."""

    values: np.ndarray  # float32
    columns: np.ndarray  # int32
    starts: np.ndarray  # int64
    entropy: float  # sum p log p

    @classmethod
    def of(cls, P: csr_matrix) -> Similarities:
        """The matrix (P + P') / (sum of its entries)."""
        total = P + P.T
        total.sum_duplicates()
        total.sort_indices()
        values = total.data / total.data.sum()
        positive = values[values > 0]
        return cls(
            values.astype(np.float32),
            total.indices.astype(np.int32),
            total.indptr.astype(np.int64),
            float((positive * np.log(positive)).sum()),
        )


def row_probabilities(squares: np.ndarray, perplexity: float) -> np.ndarray:
    """Probabilities of the entries of each row, for squared distances (n, k)."""
    squares = np.ascontiguousarray(squares, np.float64)
    P = np.empty_like(squares)

    def work(first: int) -> None:
        part = slice(first, first + ROWS_PER_PIECE)
        conditional_probabilities(squares[part], float(perplexity), P[part])

    run_pieces(work, range(0, len(squares), ROWS_PER_PIECE))
    return P


def all_similarities(D: np.ndarray, perplexity: float) -> Similarities:
    """Similarities of all pairs, from their distances (n, n)."""
    n = len(D)
    squares = np.square(D, dtype=np.float64)
    np.fill_diagonal(squares, np.inf)
    P = row_probabilities(squares, perplexity)
    np.maximum(P, np.finfo(np.float64).tiny, out=P)
    np.fill_diagonal(P, 0.0)
    off = ~np.eye(n, dtype=bool)
    columns = np.broadcast_to(np.arange(n), (n, n))[off]
    starts = np.arange(0, n * (n - 1) + 1, n - 1)
    return Similarities.of(csr_matrix((P[off], columns, starts), shape=(n, n)))


def neighbor_count(perplexity: float, n: int) -> int:
    """Neighbors of a row that have a probability."""
    return min(n - 1, int(NEIGHBORS_PER_PERPLEXITY * perplexity + 1))


def neighbor_similarities(
    index: NearestNeighbors, X: Any, perplexity: float, n: int
) -> Similarities:
    """Similarities of the nearest rows of each row; X holds distances for a precomputed metric."""
    k = neighbor_count(perplexity, n)
    if issparse(X) and index.metric == "precomputed":
        _check_stored_neighbors(X, k)
    distances, rows = index.kneighbors(None, k)
    P = row_probabilities(distances**2, perplexity)
    starts = np.arange(0, n * k + 1, k)
    return Similarities.of(csr_matrix((P.ravel(), rows.ravel(), starts), shape=(n, n)))


def _check_stored_neighbors(X: Any, k: int) -> None:
    stored = int(np.diff(X.tocsr().indptr).min())
    if stored < k:
        raise ValueError(
            f"{k + 1} neighbors per samples are required, but some samples have only {stored} "
            "neighbors in precomputed graph matrix. Decrease number of neighbors used (a smaller "
            "perplexity) or recompute the graph with more neighbors."
        )
