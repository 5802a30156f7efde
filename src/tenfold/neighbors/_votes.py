"""From neighbors to predictions: weights, shares of classes, means of targets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.memory import check_memory
from tenfold.neighbors._brute_force import NO_CODES, NOBODY, NeighborLists
from tenfold.neighbors._heap_numba import JIT
from tenfold.neighbors._row_index import RowIndex
from tenfold.neighbors._thresholds import NEIGHBORS_PER_BLOCK


class WeightedNeighbors(NamedTuple):
    """Neighbors of queries, with the number of rows that each of them stands for.

    Attributes
    ----------
    distances, rows : (m, k) distances and row numbers
    multiplicity : (m, k) weight of each, or None where all count once
    """

    distances: np.ndarray
    rows: np.ndarray
    multiplicity: np.ndarray | None = None


class NeighborSearch:
    """What chunk functions need to find the neighbors of their queries.

    Parameters
    ----------
    index : RowIndex
        The training rows.
    k : int
        Number of neighbors; 0 for those within the radius.
    radius : float
        Largest distance of neighbors, if k is 0.
    w : (n,) array, optional
        Weights: a row of weight 2 is two neighbors, a row of weight 1/2 is half of one.
    row_codes, query_codes : int64 arrays, optional
        A row of the code of a query is none of its neighbors. Queries are counted over all chunks.
    """

    def __init__(
        self,
        index: RowIndex,
        k: int,
        radius: float = 0.0,
        w: np.ndarray | None = None,
        row_codes: np.ndarray = NO_CODES,
        query_codes: np.ndarray = NO_CODES,
    ) -> None:
        self.index, self.k, self.radius, self.w = index, k, radius, w
        self.row_codes, self.query_codes = row_codes, query_codes

    def _codes(self, first: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        if not len(self.query_codes):
            return NO_CODES, NO_CODES
        return self.row_codes, self.query_codes[first : first + m]

    def nearest(self, Q: Any, first: int) -> WeightedNeighbors:
        """The nearest rows of a total weight of k; the last counts as much as is left of k."""
        codes = self._codes(first, Q.shape[0])
        k = min(self.k, self.index.n_rows)
        check_neighbors_memory(Q.shape[0], k)
        while True:
            found = self.index.nearest(Q, k, *codes)
            if self.w is None:
                require_neighbors(found.rows, first)
                return WeightedNeighbors(*found)
            there = found.rows < NOBODY
            w = np.where(there, self.w[np.where(there, found.rows, 0)], 0.0)
            count = clip_weights(w, self.k)
            if (w.sum(axis=1) >= self.k).all():  # what is counted is k but for rounding
                return WeightedNeighbors(found.distances, np.where(there, found.rows, 0), count)
            if k == self.index.n_rows:
                raise ValueError(
                    f"n_neighbors={self.k}, but the rows that may be neighbors weigh less than "
                    "that: ask for fewer neighbors"
                )
            k = min(2 * k, self.index.n_rows)

    def weights_of(self, lists: NeighborLists) -> np.ndarray | None:
        """Weight of the row of each entry of lists, or None where all count once."""
        return None if self.w is None else self.w[lists.rows]

    def count_within(self, Q: Any, first: int) -> int:
        """The number of rows within the radius of the queries, or 0 where only a search tells."""
        return self.index.count_within(Q, self.radius, *self._codes(first, Q.shape[0]))

    def within(self, Q: Any, first: int) -> Iterator[tuple[int, NeighborLists]]:
        """The rows within the radius of blocks of queries, with the number of the first of each.

        A block is as large as the number of neighbors in the block before allows.

        Parameters
        ----------
        Q : (m, d) array or CSR matrix
            Queries.
        first : int
            Number of the first query.
        """
        m, start = Q.shape[0], 0
        step = max(NEIGHBORS_PER_BLOCK // max(self.index.n_rows, 1), 1)
        while start < m:
            end = min(start + step, m)
            codes = self._codes(first + start, end - start)
            lists = self.index.within(Q[start:end], self.radius, *codes)
            yield first + start, lists
            wanted = NEIGHBORS_PER_BLOCK * (end - start) // max(len(lists.rows), 1)
            start, step = end, max(min(wanted, 8 * step), 1)


def check_neighbors_memory(n_queries: int, k: int) -> None:
    """Raise a `MemoryError` if distances and rows of k neighbors, and a copy, exceed memory."""
    check_memory(
        32.0 * n_queries * k,
        f"the search for {k:,} neighbors of each of {n_queries:,} queries",
        "ask for fewer neighbors, or give the queries in batches",
    )


def require_neighbors(rows: np.ndarray, first: int) -> None:
    """Raise an error if a query has fewer neighbors than asked for.

    Parameters
    ----------
    rows : (m, k) row numbers
    first : int
        Number of the first query.
    """
    if rows.size and rows[:, -1].max() >= NOBODY:
        row = first + int(np.flatnonzero(rows[:, -1] >= NOBODY)[0])
        raise ValueError(
            f"row {row} has fewer than {rows.shape[1]} neighbors outside of its group: ask for "
            "fewer neighbors"
        )


def clip_weights(w: np.ndarray, k: float) -> np.ndarray:
    """Weights of neighbors until they add up to k; the last counts for what is left of k.

    Parameters
    ----------
    w : (m, n) weights in the order of distances
    k : float
        Sum of what is returned, where there is so much.
    """
    before = np.zeros_like(w)
    before[:, 1:] = np.cumsum(w, axis=1)[:, :-1]
    return np.clip(k - before, 0.0, w)


def weigh_found(found: Any, k: int) -> WeightedNeighbors:
    """Neighbors of a search in a file, with their weights clipped to k.

    Parameters
    ----------
    found : NearestFound
    k : int
        Number of neighbors.
    """
    if found.w is None:
        return WeightedNeighbors(found.distances, found.rows)
    count = clip_weights(found.w, k)
    if (count.sum(axis=1) < k).any():
        raise ValueError(
            "weights below 1 of rows in a file: the k nearest rows weigh less than k. Multiply the "
            "weights by a constant, or use keep_rows='memory'"
        )
    return WeightedNeighbors(found.distances, found.rows, count)


def vote_weights(found: WeightedNeighbors, weights: Any, first: int = 0) -> np.ndarray:
    """Weight of each neighbor in the vote, (m, k).

    Parameters
    ----------
    found : WeightedNeighbors
    weights : {"uniform", "distance"}, callable or None
        As of `KNeighborsClassifier`.
    first : int
        Number of the first query.
    """
    nowhere = np.flatnonzero(np.isinf(found.distances[:, 0]))
    if len(nowhere):
        warnings.warn(
            f"row {first + nowhere[0]} is infinitely far from all training rows (it has no column "
            "in common with any of them): the training rows of the smallest numbers vote. Leave "
            "such rows out, or impute their missing values",
            stacklevel=2,
        )
    if weights in (None, "uniform"):
        own = np.ones_like(found.distances)
    elif weights == "distance":
        own = inverse_distances(found.distances)
    else:
        own = call_weights(weights, found.distances)
        if np.isnan(own).any():
            refuse_nan_weights(first + int(np.flatnonzero(np.isnan(own).any(axis=1))[0]))
    own = own if found.multiplicity is None else own * found.multiplicity
    if own.size and (own == 0).all(axis=1).any():
        refuse_zero_weights()
    return own


def call_weights(weights: Any, distances: np.ndarray) -> np.ndarray:
    """Weights by a user's function of distances, in float64; as many as there are distances."""
    own = np.asarray(weights(distances), np.float64)
    if own.shape != distances.shape:
        raise ValueError(
            f"the function `weights` returns an array of shape {own.shape} for distances of shape "
            f"{distances.shape}: let it return a weight for each distance"
        )
    return own


def refuse_zero_weights() -> None:
    """Raise an error that says that all neighbors of a row have weight zero."""
    raise ValueError(
        "All neighbors of some sample is getting zero weights. Please modify 'weights' to "
        "avoid this case if you are using a user-defined function."
    )


def refuse_nan_weights(row: int) -> None:
    """Raise an error that names the row of whose neighbors a weight is NaN."""
    raise ValueError(
        f"the function `weights` returns NaN for a neighbor of row {row}: let it return a number "
        "for every distance, also for zero and infinity"
    )


def inverse_distances(distances: np.ndarray) -> np.ndarray:
    """Inverse distances; where some are zero, ones for these and zeros for all others."""
    with np.errstate(divide="ignore"):
        inverse = 1.0 / distances
    at_zero = np.isinf(inverse)
    nowhere = (distances == np.inf).all(axis=1)  # nothing in common with any row
    inverse[nowhere] = 1.0
    hits = at_zero.any(axis=1)
    inverse[hits] = at_zero[hits]
    return inverse


def class_shares(labels: np.ndarray, weights: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """Add the weights of neighbors to the sums of their classes, in the order of neighbors.

    Parameters
    ----------
    labels, weights : (m, n) class numbers and weights of neighbors
    votes : (m, n_classes) float64, sums so far, to which is added
    """
    add_votes(np.ascontiguousarray(labels), np.ascontiguousarray(weights), votes)
    return votes


@JIT
def add_votes(labels: Any, weights: Any, votes: Any) -> None:
    """The compiled part of `class_shares`."""
    for i in range(labels.shape[0]):
        for j in range(labels.shape[1]):
            votes[i, labels[i, j]] += weights[i, j]


def winning_classes(
    votes: np.ndarray, labels: np.ndarray, found: WeightedNeighbors, tie_break: str
) -> np.ndarray:
    """Number of the class with most votes, (m,).

    Parameters
    ----------
    votes : (m, n_classes) array
    labels : (m, k) class numbers of the neighbors
    found : WeightedNeighbors
    tie_break : {"first", "nearest"}
        Of classes with equally many votes the first one, or the one whose neighbors have the
        smallest sum of distances.
    """
    if tie_break == "first":
        return votes.argmax(axis=1)
    count = np.ones_like(found.distances) if found.multiplicity is None else found.multiplicity
    finite = np.where(count > 0, found.distances, 0.0)
    distance = class_shares(labels, count * finite, np.zeros(votes.shape))
    best = votes == votes.max(axis=1, keepdims=True)
    return np.where(best, distance, np.inf).argmin(axis=1)


def weighted_means(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means (m, n_outputs) of targets (m, k, n_outputs), summed in the order of neighbors."""
    total = np.zeros((len(y), y.shape[2]))
    norm = np.zeros(len(y))
    for i in range(y.shape[1]):
        total += weights[:, i, None] * y[:, i]
        norm += weights[:, i]
    return total / norm[:, None]
