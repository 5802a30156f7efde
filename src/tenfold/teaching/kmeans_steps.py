"""Lloyd's algorithm one half-step at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.cluster._centroid_base import check_cluster_labels
from tenfold.cluster._kmeans_assign import find_nearest_centers
from tenfold.math.distances import squared_distances_to_assigned

_MAX_ITERATIONS = 300  # rounds


class LloydStep(NamedTuple):
    """Where a half-step of k-means has led.

    Attributes
    ----------
    round : number of the round, from 1
    half : "assign" (rows to their nearest centres) or "move" (centres to the means of their rows)
    centres : (k, p) centres, as they are now
    labels : (n,) number of the cluster of each row, as it is now
    cost : weighted sum of squared distances of rows to the centre of their cluster
    """

    round: int
    half: str
    centres: np.ndarray
    labels: np.ndarray
    cost: float


def lloyd_steps(
    X: Any, start: Any, *, n_clusters: int | None = None, sample_weight: Any = None
) -> Iterator[LloydStep]:
    r"""The half-steps of Lloyd's algorithm, until none changes anything.

    .. math:: z_i \leftarrow \arg\min_j \lVert x_i - c_j \rVert^2, \qquad
              c_j \leftarrow \frac{\sum_{i: z_i = j} \omega_i x_i}{\sum_{i: z_i = j} \omega_i}

    Both minimise the same cost over one of its two blocks, so no half-step raises it. The rounds
    are those of `KMeans`: a tie goes to the first centre, and a cluster without rows takes, when
    centres move, the row that is farthest from its own. [000, 4.1; 002, 7.3; 004, 6.2]

    Parameters
    ----------
    X : (n, p) array
        The rows.
    start : (k, p) array of centres, or (n,) array of labels
        Where to begin. From centres the first half-step is to assign rows, from labels (whole
        numbers) it is to move centres.
    n_clusters : int, optional
        With labels: how many clusters there are, if not all of them have rows.
    sample_weight : (n,) array, optional
        Weight of each row.

    Yields
    ------
    HalfStep

    Examples
    --------
    The six points of [004, 6.2], begun at the second and the last:

    >>> import numpy as np
    >>> from tenfold import lloyd_steps
    >>> X = np.array([[-3.0, -3], [-1, -3], [3, 0], [-2, -1], [0, 0], [-1, -2]])
    >>> for step in lloyd_steps(X, X[[1, 5]]):
    ...     print(step.round, step.half, step.labels, round(step.cost, 3))
    1 assign [0 0 1 1 1 1] 31.0
    1 move [0 0 1 1 1 1] 18.75
    2 assign [0 0 1 0 1 0] 18.125
    2 move [0 0 1 0 1 0] 10.0
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    start = np.asarray(start)
    if start.ndim == 1:
        k = n_clusters or int(start.max()) + 1
        labels = check_cluster_labels(start, k, len(X))
        begun = np.tile(np.average(X, axis=0, weights=w), (k, 1))
        centres, labels = _update_centers(X, w, labels, begun, refill=False)
        yield LloydStep(1, "move", centres, labels, _inertia(X, w, labels, centres))
        number = 2
    else:
        centres, labels, number = start.astype(np.float64), np.full(len(X), -1, np.int32), 1
    yield from _iterate(X, w, centres, labels, number)


def _iterate(
    X: np.ndarray, w: np.ndarray, centres: np.ndarray, labels: np.ndarray, number: int
) -> Iterator[LloydStep]:
    """Both half-steps in turn, until labels and centres stay as they are."""
    for turn in range(number, _MAX_ITERATIONS):
        found, before = find_nearest_centers(X, centres).label, centres
        if (found == labels).all() and np.bincount(found, w, len(centres)).all():
            return
        yield LloydStep(turn, "assign", centres, found, _inertia(X, w, found, centres))
        centres, labels = _update_centers(X, w, found, centres)
        yield LloydStep(turn, "move", centres, labels, _inertia(X, w, labels, centres))
        if (centres == before).all():  # of equal rows, an empty cluster takes the same again
            return


def _inertia(X: np.ndarray, w: np.ndarray, labels: np.ndarray, centres: np.ndarray) -> float:
    """Weighted sum of squared distances of rows to the centre of their cluster."""
    return float(w @ squared_distances_to_assigned(X, labels, centres))


def _update_centers(
    X: np.ndarray, w: np.ndarray, labels: np.ndarray, centres: np.ndarray, *, refill: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The means of the rows of each cluster, and the labels, of which empty clusters take some."""
    k = len(centres)
    labels = _refill_empty_clusters(X, w, labels, centres) if refill else labels
    hot = (labels[:, None] == np.arange(k)) * w[:, None]
    weight = hot.sum(axis=0)
    means = (hot.T @ X) / np.where(weight > 0, weight, 1.0)[:, None]
    return np.where(weight[:, None] > 0, means, centres), labels


def _refill_empty_clusters(
    X: np.ndarray, w: np.ndarray, labels: np.ndarray, centres: np.ndarray
) -> np.ndarray:
    """Labels after each empty cluster has taken one of the rows farthest from their centres."""
    weight = np.bincount(labels, w, len(centres))
    empty = np.flatnonzero(weight == 0)
    far = np.argsort(-squared_distances_to_assigned(X, labels, centres) * (w > 0), kind="stable")
    labels = labels.copy()
    for target, row in zip(empty, far, strict=False):
        if weight[labels[row]] > w[row] > 0:
            weight[labels[row]] -= w[row]
            labels[row] = target
    return labels
