"""Lloyd's algorithm one half-step at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.cluster._centroid_base import check_cluster_labels
from tenfold.cluster._kmeans_assign import find_nearest_centers
from tenfold.math.distances import squared_distances_to_assigned

_MAX_ITERATIONS = 300


class LloydStep(NamedTuple):
    """State after one step of Lloyd's algorithm.

    Attributes
    ----------
    iteration : number of the iteration, from 1
    kind : "assign" (rows to their nearest centers) or "move" (centers to the means of their rows)
    centers : (n_clusters, n_features) current centers
    labels : (n_samples,) current cluster of each row
    cost : weighted sum of squared distances of rows to the center of their cluster
    """

    iteration: int
    kind: str
    centers: np.ndarray
    labels: np.ndarray
    cost: float


def lloyd_steps(
    X: Any, start: Any, *, n_clusters: int | None = None, sample_weight: Any = None
) -> Iterator[LloydStep]:
    r"""The steps of Lloyd's algorithm one by one, until nothing changes.

    .. math:: z_i \leftarrow \arg\min_j \lVert x_i - c_j \rVert^2, \qquad
              c_j \leftarrow \frac{\sum_{i: z_i = j} \omega_i x_i}{\sum_{i: z_i = j} \omega_i}

    Both steps minimize the same cost over one of its two blocks of variables (block coordinate
    descent), so neither raises it. The iterations are those of `KMeans`: a tie goes to the first
    center, and an empty cluster takes the row that is farthest from its own center.

    Parameters
    ----------
    X : (n_samples, n_features) array
        The rows.
    start : (n_clusters, n_features) array of centers, or (n_samples,) array of labels
        Initialization. After centers the first step assigns rows, after labels (integers) it moves
        centers.
    n_clusters : int, optional
        With labels: number of clusters, if some of them have no rows.
    sample_weight : (n_samples,) array, optional
        Weight of each row.

    Yields
    ------
    LloydStep

    See Also
    --------
    KMeans : The estimator.

    References
    ----------
    S. P. Lloyd (1982), Least squares quantization in PCM.

    Examples
    --------
    Six points, with the second and the last as initial centers:

    >>> import numpy as np
    >>> from tenfold import lloyd_steps
    >>> X = np.array([[-3.0, -3], [-1, -3], [3, 0], [-2, -1], [0, 0], [-1, -2]])
    >>> for step in lloyd_steps(X, X[[1, 5]]):
    ...     print(step.iteration, step.kind, step.labels, round(step.cost, 3))
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
        overall = np.tile(np.average(X, axis=0, weights=w), (k, 1))
        centers, labels = _update_centers(X, w, labels, overall, refill=False)
        yield LloydStep(1, "move", centers, labels, _inertia(X, w, labels, centers))
        number = 2
    else:
        centers, labels, number = start.astype(np.float64), np.full(len(X), -1, np.int32), 1
    yield from _iterate(X, w, centers, labels, number)


def _iterate(
    X: np.ndarray, w: np.ndarray, centers: np.ndarray, labels: np.ndarray, number: int
) -> Iterator[LloydStep]:
    """Both steps in turn, until labels and centers stay the same."""
    for iteration in range(number, _MAX_ITERATIONS):
        assigned, before = find_nearest_centers(X, centers).label, centers
        if (assigned == labels).all() and np.bincount(assigned, w, len(centers)).all():
            return
        yield LloydStep(iteration, "assign", centers, assigned, _inertia(X, w, assigned, centers))
        centers, labels = _update_centers(X, w, assigned, centers)
        yield LloydStep(iteration, "move", centers, labels, _inertia(X, w, labels, centers))
        if (centers == before).all():  # with equal rows an empty cluster takes the same row again
            return


def _inertia(X: np.ndarray, w: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> float:
    """Weighted sum of squared distances of rows to the center of their cluster."""
    return float(w @ squared_distances_to_assigned(X, labels, centers))


def _update_centers(
    X: np.ndarray, w: np.ndarray, labels: np.ndarray, centers: np.ndarray, *, refill: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the rows of each cluster, and the labels after empty clusters took a row."""
    k = len(centers)
    labels = _refill_empty_clusters(X, w, labels, centers) if refill else labels
    one_hot = (labels[:, None] == np.arange(k)) * w[:, None]
    weight = one_hot.sum(axis=0)
    means = (one_hot.T @ X) / np.where(weight > 0, weight, 1.0)[:, None]
    return np.where(weight[:, None] > 0, means, centers), labels


def _refill_empty_clusters(
    X: np.ndarray, w: np.ndarray, labels: np.ndarray, centers: np.ndarray
) -> np.ndarray:
    """Labels after each empty cluster took one of the rows farthest from their centers."""
    weight = np.bincount(labels, w, len(centers))
    empty = np.flatnonzero(weight == 0)
    farthest = np.argsort(
        -squared_distances_to_assigned(X, labels, centers) * (w > 0), kind="stable"
    )
    labels = labels.copy()
    for target, row in zip(empty, farthest, strict=False):
        if weight[labels[row]] > w[row] > 0:
            weight[labels[row]] -= w[row]
            labels[row] = target
    return labels
