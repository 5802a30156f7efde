"""What a clustering costs: the costs of the notes, cluster by cluster [003, 13.6]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tenfold.maths.distances import directions, distances
from tenfold.maths.partitions import groups


def squares(X: np.ndarray) -> float:
    """Sum of the squared distances to the mean, which no other point makes smaller."""
    return float(((X - X.mean(axis=0)) ** 2).sum())


def diameter(X: np.ndarray, metric: Any = "euclidean") -> float:
    """Largest distance of two members."""
    return float(distances(X, metric=metric).max())


def average(X: np.ndarray, metric: Any = "euclidean") -> float:
    """Mean distance of two different members; 0 for a single one."""
    n = len(X)
    return float(distances(X, metric=metric).sum() / (n * (n - 1))) if n > 1 else 0.0


def to_medoid(X: np.ndarray, metric: Any = "euclidean") -> float:
    """Sum of the distances to the member for which it is least."""
    return float(distances(X, metric=metric).sum(axis=0).min())


def cosine(X: np.ndarray) -> float:
    """Sum of 1 - cosine to the mean direction, the best representative of unit vectors."""
    unit = directions(X)
    return float(len(X) - np.linalg.norm(unit.sum(axis=0)))


COSTS: dict[str, Callable[..., float]] = {
    "squares": squares,
    "diameter": diameter,
    "average": average,
    "medoid": to_medoid,
    "cosine": cosine,
}


def cluster_costs(
    X: Any, labels: Any, cost: str = "squares", metric: Any = "euclidean"
) -> np.ndarray:
    r"""Cost of each cluster, in the order of the labels; a clustering costs their sum.

    Parameters
    ----------
    X : (n, p) array
        The rows.
    labels : (n,) array
        The cluster of each row.
    cost : {"squares", "diameter", "average", "medoid", "cosine"}
        Squares about the mean, largest distance of two members, mean distance of two members,
        distances to the best member, or 1 - cosine to the mean direction.
    metric : str or callable
        Distance for "diameter", "average" and "medoid".

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [2.0], [7.0], [8.0], [9.0]])
    >>> [cluster_costs(X, [0, 0, 1, 1, 1], cost).tolist() for cost in ("squares", "diameter")]
    [[2.0, 2.0], [2.0, 2.0]]
    """
    if cost not in COSTS:
        raise ValueError(f"cost={cost!r} is unknown; there are {sorted(COSTS)}")
    X = np.asarray(X, np.float64)
    of = COSTS[cost]
    if cost in {"diameter", "average", "medoid"}:
        of = partial(of, metric=metric)
    elif metric != "euclidean":
        raise ValueError(f"cost={cost!r} has a distance of its own: leave metric out")
    return np.array([of(X[members]) for members in groups(labels)])
