"""Histograms of the targets of leaves, and the quantiles of forests from them.

References
----------
N. Meinshausen (2006), Quantile regression forests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.tree._leaf_sums_numba import find_quantiles
from tenfold.tree._nodes import TreeEnsemble
from tenfold.tree._predict_numba import apply_trees

_MOST_LEVELS = 65_535  # distinct targets that are kept; more are cut into as many bins


@dataclass(frozen=True, eq=False)
class LeafTargets:
    """Which targets the rows of each leaf had.

    Attributes
    ----------
    levels : (n_levels,) float64, ascending
    starts : (n_nodes + 1,) int64: node i has the entries starts[i] to starts[i + 1] - 1
    codes : uint16, the level of each entry
    counts : float32, the weight of each entry
    """

    levels: np.ndarray
    starts: np.ndarray
    codes: np.ndarray
    counts: np.ndarray

    def __post_init__(self) -> None:
        if len(self.codes) and int(self.codes.max()) >= len(self.levels):
            raise ValueError("an entry of a leaf names a level that is not there")
        if (
            self.starts[0] != 0
            or self.starts[-1] != len(self.codes)
            or (np.diff(self.starts) < 0).any()
        ):
            raise ValueError("the entries of the leaves do not cut the table")


def target_levels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Levels of targets, and the number of the level of each."""
    levels, codes = np.unique(y, return_inverse=True)
    if len(levels) > _MOST_LEVELS:
        levels = _thin_out(np.sort(y))
        codes = np.searchsorted(levels, y)
    return levels, codes.astype(np.uint16)


def _thin_out(ordered: np.ndarray) -> np.ndarray:
    """As many of ascending values as there may be levels, the largest among them."""
    places = (np.arange(1, _MOST_LEVELS + 1) * len(ordered)) // _MOST_LEVELS - 1
    return np.unique(ordered[places])


def collect_targets(
    leaves: np.ndarray, weights: Sequence[np.ndarray], y: np.ndarray, trees: TreeEnsemble
) -> LeafTargets:
    """Histograms from the leaves (n, n_trees) of the training rows and their weights by tree."""
    levels, codes = target_levels(y)
    starts, all_codes, all_counts = [np.zeros(1, np.int64)], [], []
    end = 0
    for t, weight in enumerate(weights):
        inside = np.flatnonzero(weight)
        size = int(trees.roots[t + 1] - trees.roots[t])
        keys = leaves[inside, t] * np.int64(len(levels)) + codes[inside]
        entries, place = np.unique(keys, return_inverse=True)
        all_counts.append(np.bincount(place, weight[inside]).astype(np.float32))
        all_codes.append((entries % len(levels)).astype(np.uint16))
        sizes = np.bincount(entries // len(levels), minlength=size)
        starts.append(end + np.cumsum(sizes))
        end += len(entries)
    return LeafTargets(
        levels, np.concatenate(starts), np.concatenate(all_codes), np.concatenate(all_counts)
    )


def pool_targets(parts: Sequence[LeafTargets]) -> LeafTargets:
    """The histograms of the leaves of several forests, one forest after the other."""
    levels = np.unique(np.concatenate([part.levels for part in parts]))
    if len(levels) > _MOST_LEVELS:
        levels = _thin_out(levels)
    places = [np.searchsorted(levels, part.levels).astype(np.uint16) for part in parts]
    sizes = [np.diff(part.starts) for part in parts]
    return LeafTargets(
        levels,
        np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
        np.concatenate([place[part.codes] for place, part in zip(places, parts, strict=True)]),
        np.concatenate([part.counts for part in parts]),
    )


def forest_quantiles(
    chunk: Chunk, trees: TreeEnsemble, targets: LeafTargets, shares: np.ndarray
) -> np.ndarray:
    """Quantiles of the targets of each row: leaves of all trees, each tree of the same weight."""
    out = np.empty((chunk.rows, len(shares)))
    find_quantiles(
        apply_trees(chunk, trees) + trees.roots[:-1],
        targets.starts,
        targets.codes,
        targets.counts,
        targets.levels,
        shares,
        out,
    )
    return out
