"""Where k-means starts: a sample of rows, and far-apart rows among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.maths.distances import squared_distances
from tenfold.rows import Chunk, Rows, uniforms


class Race(NamedTuple):
    """The m rows that win a race in which a row's speed is its weight: a weighted sample."""

    time: np.ndarray
    row: np.ndarray

    def merge(self, other: Race) -> Race:
        time, row = np.append(self.time, other.time), np.append(self.row, other.row)
        first = np.lexsort((row, time))[: max(len(self.row), len(other.row))]
        return Race(time[first], row[first])


def race(chunk: Chunk, m: int, seed: int) -> Race:
    """Exponential arrival times with the weights as rates; drawn by global row."""
    draws = uniforms(seed, chunk.first, chunk.rows)[:, 0]
    with np.errstate(divide="ignore"):
        time = -np.log(draws) / chunk.weights()
    first = np.argsort(time, kind="stable")[:m]
    return Race(time[first], chunk.first + first)


def start_sample(rows: Rows, m: int, seed: int) -> np.ndarray:
    """Some rows to choose starts from, drawn by global row and in proportion to their weight."""
    if not rows.source.has_weight:
        X = rows.sample(m, seed).X
    else:
        won = rows.total(race, min(m, rows.n_rows), seed)
        X = rows.take(np.sort(won.row[np.isfinite(won.time)])).X
    return X if isinstance(X, np.ndarray) else X.toarray()


def plus_plus(X: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k-means++: rows far from the centres so far are likely to be the next; best of a few tries.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0], [10.0], [20.0]], 5, axis=0)
    >>> sorted(plus_plus(X, 3, np.random.default_rng(0)).ravel().tolist())
    [0.0, 10.0, 20.0]
    """
    tries = 2 + int(np.log(k))
    chosen = [int(rng.integers(len(X)))]
    nearest_square = squared_distances(X, X[chosen])[:, 0]
    for _ in range(1, k):
        heights = np.cumsum(nearest_square, dtype=np.float64)
        if heights[-1] > 0:
            drawn = np.searchsorted(heights, rng.random(tries) * heights[-1], side="right")
            candidates = np.minimum(drawn, len(X) - 1)
        else:  # fewer different rows than clusters
            candidates = rng.integers(len(X), size=tries)
        squares = np.minimum(squared_distances(X, X[candidates]).T, nearest_square)
        best = int(squares.sum(axis=1, dtype=np.float64).argmin())
        chosen.append(int(candidates[best]))
        nearest_square = squares[best]
    return X[chosen]
