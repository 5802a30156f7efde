"""Initial centers: a weighted sample of rows, then k-means++, farthest-first, random rows or uniform points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import uniforms
from tenfold.engine.rows import Rows
from tenfold.math.distances import squared_distances


class WeightedReservoir(NamedTuple):
    """The m rows that win a race in which a row's speed is its weight: a weighted sample."""

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
    """Some rows to choose starts from, drawn by global row, and the weight of each.

    Up to m rows all are there, with their weights. Of more, some are drawn in proportion to their
    weights and weigh the same from then on.
    """
    if not rows.source.has_weight:
        X, w = rows.sample(m, seed).X, None
    elif rows.n_rows <= m:
        X, _, w, _ = rows.gather()
        X, w = X[w > 0], w[w > 0]
    else:
        won = rows.total(weighted_reservoir, m, seed)
        X, w = rows.take(np.sort(won.row[np.isfinite(won.time)])).X, None
    return X, np.ones(X.shape[0]) if w is None else w.astype(np.float64)


def _to_dense(X: Any) -> np.ndarray:
    """Some rows as an array."""
    return X if isinstance(X, np.ndarray) else X.toarray()


def _squared_distances_to_rows(X: Any, rows: np.ndarray) -> np.ndarray:
    """Squared distances of all rows from some of them, (n, m)."""
    if isinstance(X, np.ndarray):
        return squared_distances(X, X[rows])
    lengths = X.power(2).sum(axis=1)
    squares = lengths[:, None] - 2 * (X @ X[rows].T).toarray() + lengths[rows]
    return np.maximum(squares, 0)


def random_rows(X: Any, w: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Any k rows, drawn by their weights."""
    n = X.shape[0]
    return _to_dense(X[np.sort(rng.choice(n, k, replace=n < k, p=w / w.sum()))])


def random_points(X: Any, w: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Any k points of the box that the rows fill, whether rows are near or not.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 7.0]])
    >>> points = random_points(X, np.ones(3), 100, np.random.default_rng(0))
    >>> points.min(axis=0).round().tolist(), points.max(axis=0).round().tolist()
    ([0.0, 5.0], [2.0, 7.0])
    """
    inside = X[w > 0]
    low, high = _to_dense(inside.min(axis=0)), _to_dense(inside.max(axis=0))
    return low + (high - low) * rng.random((k, X.shape[1])).astype(X.dtype)


def farthest_first(X: Any, w: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Any row first, then each time the row that is farthest from all chosen so far.

    The widest cluster that results is at most twice as wide as it must be. An outlier is always
    chosen.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [9.0], [5.0]])
    >>> sorted(farthest_first(X, np.ones(4), 3, np.random.default_rng(0)).ravel().tolist())
    [0.0, 5.0, 9.0]
    """
    chosen = draw_weighted(w, 1, rng)
    nearest_square = np.where(w > 0, _squared_distances_to_rows(X, chosen)[:, 0], -1.0)
    for _ in range(1, k):
        chosen = np.append(chosen, nearest_square.argmax())
        nearest_square = np.minimum(
            nearest_square, _squared_distances_to_rows(X, chosen[-1:])[:, 0]
        )
    return _to_dense(X[chosen])


def kmeans_plusplus_init(X: Any, w: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k-means++: rows far from the centres so far are likely to be the next; best of a few tries.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0], [10.0], [20.0]], 5, axis=0)
    >>> sorted(kmeans_plusplus_init(X, np.ones(15), 3, np.random.default_rng(0)).ravel().tolist())
    [0.0, 10.0, 20.0]
    """
    tries = 2 + int(np.log(k))
    chosen = draw_weighted(w, 1, rng)
    nearest_square = _squared_distances_to_rows(X, chosen)[:, 0]
    for _ in range(1, k):
        pull = w * nearest_square
        candidates = draw_weighted(
            pull if pull.any() else w, tries, rng
        )  # w: fewer different rows than k
        squares = np.minimum(_squared_distances_to_rows(X, candidates).T, nearest_square)
        best = int((squares @ w).argmin())
        chosen = np.append(chosen, candidates[best])
        nearest_square = squares[best]
    return _to_dense(X[chosen])


def draw_weighted(pull: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of m entries, each drawn in proportion to its pull."""
    heights = np.cumsum(pull, dtype=np.float64)
    drawn = np.searchsorted(heights, rng.random(m) * heights[-1], side="right")
    return np.minimum(drawn, len(pull) - 1)


INIT_METHODS = {
    "k-means++": kmeans_plusplus_init,
    "random": random_rows,
    "farthest": farthest_first,
    "uniform": random_points,
}
