"""Bootstrap samples by hash: draw number k of tree t is a function of (seed, t, k).

Nothing is stored: whoever needs to know which rows a tree has seen draws again.
"""

from __future__ import annotations

import numpy as np

from tenfold.tree._bootstrap_numba import count_draws, draw_indices, mix_seed
from tenfold.tree._large_arrays import allocate

_DRAW_SALT = 0x51ED270B


def tree_seed(seed: int, t: int) -> int:
    """The seed of tree number t of a forest."""
    return int(mix_seed(np.uint64(seed), np.uint64(t)))


def draw_rows(seed: int, n: int, draws: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Numbers of the rows that the tree of a seed draws, with replacement.

    Parameters
    ----------
    seed : int
        Seed of the tree.
    n : int
        Number of rows.
    draws : int
        Number of draws.
    weights : (n,) int64 array, optional
        Chances of the rows.
    """
    indices = np.empty(draws, np.int64)
    draw_indices(_draw_seed(seed), n, _cumulate(weights), indices)
    return indices


def draw_counts(
    seed: int, n: int, draws: int, weights: np.ndarray | None = None, *, mapped: bool = False
) -> np.ndarray:
    """How often the tree of a seed has drawn each row; many of them may be `mapped` to a file."""
    counts = allocate((n,), np.int32, mapped=mapped)
    counts[:] = 0
    count_draws(_draw_seed(seed), draws, _cumulate(weights), counts)
    return counts


def _draw_seed(seed: int) -> np.uint64:
    return np.uint64(mix_seed(np.uint64(seed), np.uint64(_DRAW_SALT)))


def _cumulate(weights: np.ndarray | None) -> np.ndarray:
    return np.zeros(0, np.int64) if weights is None else np.cumsum(weights)
