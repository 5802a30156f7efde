"""How far rows are from medoids: the leaves of k-medoids."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.cluster.lloyd import Ending
from tenfold.maths.distances import distances
from tenfold.rows import Chunk


def values(chunk: Chunk) -> np.ndarray:
    """The rows themselves, which a pass brings together."""
    return chunk.X


def to_medoids(chunk: Chunk, medoids: np.ndarray, metric: Any, params: dict) -> np.ndarray:
    """Distance of each row to each medoid; medoids are columns where distances are given."""
    if isinstance(metric, str) and metric == "precomputed":
        return np.take(chunk.X, medoids, axis=1)
    return distances(chunk.X, medoids, metric, **params)


def nearest(chunk: Chunk, medoids: np.ndarray, metric: Any, params: dict) -> np.ndarray:
    """Number of the nearest medoid of each row, the first one on a tie."""
    return to_medoids(chunk, medoids, metric, params).argmin(axis=1).astype(np.int32)


def total_distance(chunk: Chunk, medoids: np.ndarray, metric: Any, params: dict) -> float:
    """Sum of the distances to the nearest medoid."""
    return float(to_medoids(chunk, medoids, metric, params).min(axis=1).sum(dtype=np.float64))


def ending(chunk: Chunk, medoids: np.ndarray, metric: Any, params: dict) -> Ending:
    """Cost and labels of a chunk."""
    D = to_medoids(chunk, medoids, metric, params)
    return Ending(float(D.min(axis=1).sum(dtype=np.float64)), D.argmin(axis=1).astype(np.int32))
