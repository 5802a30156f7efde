"""Initial centers: a weighted sample of rows, then k-means++, farthest-first or random centers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import uniforms
from tenfold.engine.rows import Rows
from tenfold.math.distances import squared_distances
from tenfold.math.linalg import to_dense


class WeightedReservoir(NamedTuple):
    """A weighted sample without replacement: the m rows with the smallest arrival times.

    References
    ----------
    P. S. Efraimidis and P. G. Spirakis (2006), Weighted random sampling with a reservoir.
    """

    time: np.ndarray
    row: np.ndarray
    m: int

    def merge(self, other: WeightedReservoir) -> WeightedReservoir:
        time, row = np.append(self.time, other.time), np.append(self.row, other.row)
        first = np.lexsort((row, time))[: self.m]
        return WeightedReservoir(time[first], row[first], self.m)


def weighted_reservoir(chunk: Chunk, m: int, seed: int) -> WeightedReservoir:
    """Exponential arrival times with the weights as rates; drawn by global row."""
    draws = uniforms(seed, chunk.first, chunk.rows)[:, 0]
    with np.errstate(divide="ignore"):
        time = -np.log(draws) / chunk.weights()
    first = np.argsort(time, kind="stable")[:m]
    return WeightedReservoir(time[first], chunk.first + first, m)


def sample_candidates(rows: Rows, m: int, seed: int) -> tuple[Any, np.ndarray]:
    """Candidate rows for initial centers, drawn by global row number, and the weight of each.

    Up to m rows all are returned, with their weights. Of more, m are drawn in proportion to their
    weights, and their own weights are 1.
    """
    if not rows.source.has_weight:
        X, w = rows.sample(m, seed).X, None
    elif rows.n_rows <= m:
        X, _, w, _ = rows.gather()
        X, w = X[w > 0], w[w > 0]
    else:
        reservoir = rows.total(weighted_reservoir, m, seed)
        X, w = rows.take(np.sort(reservoir.row[np.isfinite(reservoir.time)])).X, None
    return X, np.ones(X.shape[0]) if w is None else w.astype(np.float64)


def _squared_distances_to_rows(X: Any, rows: np.ndarray) -> np.ndarray:
    """Squared distances of all rows to some of them, (n, m)."""
    if isinstance(X, np.ndarray):
        return squared_distances(X, X[rows])
    norms = X.power(2).sum(axis=1)
    squares = norms[:, None] - 2 * (X @ X[rows].T).toarray() + norms[rows]
    return np.maximum(squares, 0)


def random_rows(X: Any, w: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """K rows, drawn by their weights."""
    n = X.shape[0]
    return to_dense(X[np.sort(rng.choice(n, k, replace=n < k, p=w / w.sum()))])


def random_points(X: Any, w: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """K uniform points of the bounding box of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 7.0]])
    >>> points = random_points(X, np.ones(3), 100, np.random.default_rng(0))
    >>> points.min(axis=0).round().tolist(), points.max(axis=0).round().tolist()
    ([0.0, 5.0], [2.0, 7.0])
    """
    inside = X[w > 0]
    low, high = to_dense(inside.min(axis=0)), to_dense(inside.max(axis=0))
    return low + (high - low) * rng.random((k, X.shape[1])).astype(X.dtype)


def farthest_first(X: Any, w: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Farthest-first traversal: a random row, then each time the row farthest from those chosen.

    The largest radius of a cluster is at most twice the optimum. Outliers are always chosen.

    References
    ----------
    T. F. Gonzalez (1985), Clustering to minimize the maximum intercluster distance.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [9.0], [5.0]])
    >>> sorted(farthest_first(X, np.ones(4), 3, np.random.default_rng(0)).ravel().tolist())
    [0.0, 5.0, 9.0]
    """
    chosen = draw_weighted(w, 1, rng)
    nearest_squared = np.where(w > 0, _squared_distances_to_rows(X, chosen)[:, 0], -1.0)
    for _ in range(1, k):
        chosen = np.append(chosen, nearest_squared.argmax())
        nearest_squared = np.minimum(
            nearest_squared, _squared_distances_to_rows(X, chosen[-1:])[:, 0]
        )
    return to_dense(X[chosen])


def kmeans_plusplus_init(X: Any, w: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Greedy k-means++: draw rows by squared distance to the chosen ones, best of a few candidates.

    References
    ----------
    D. Arthur and S. Vassilvitskii (2007), k-means++: the advantages of careful seeding.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0], [10.0], [20.0]], 5, axis=0)
    >>> sorted(kmeans_plusplus_init(X, np.ones(15), 3, np.random.default_rng(0)).ravel().tolist())
    [0.0, 10.0, 20.0]
    """
    tries = 2 + int(np.log(k))
    chosen = draw_weighted(w, 1, rng)
    nearest_squared = _squared_distances_to_rows(X, chosen)[:, 0]
    for _ in range(1, k):
        potential = w * nearest_squared
        if not potential.any():  # fewer distinct rows than k
            potential = w
        candidates = draw_weighted(potential, tries, rng)
        squares = np.minimum(_squared_distances_to_rows(X, candidates).T, nearest_squared)
        best = int((squares @ w).argmin())
        chosen = np.append(chosen, candidates[best])
        nearest_squared = squares[best]
    return to_dense(X[chosen])


def draw_weighted(weights: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """Draw m indices with replacement, in proportion to the weights."""
    cumulative = np.cumsum(weights, dtype=np.float64)
    drawn = np.searchsorted(cumulative, rng.random(m) * cumulative[-1], side="right")
    return np.minimum(drawn, len(weights) - 1)


INIT_METHODS = {
    "k-means++": kmeans_plusplus_init,
    "random": random_rows,
    "farthest": farthest_first,
    "uniform": random_points,
}
