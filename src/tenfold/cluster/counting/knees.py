"""The elbow: cost against the number of clusters, and where it bends."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from tenfold.cluster.counting.costs import cluster_costs


def elbow(model: Any, X: Any, ks: Any) -> np.ndarray:
    """Cost of the clusterings with each number of clusters.

    The best cost falls with every cluster more, down to 0 when each different row is one; a single
    run from an unlucky start may rise, so give the model several starts. [002, 7.3; 004, 6.2]

    Parameters
    ----------
    model : clusterer
        A model with the parameter `n_clusters`; its `inertia_` is the cost, or where it has none
        the sum of squares of its clusters.
    X : whatever the model takes
        The rows.
    ks : sequence of int
        Numbers of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KMeans
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> elbow(KMeans(n_init=5, random_state=0), X, [1, 2, 4]).tolist()
    [101.0, 1.0, 0.0]
    """
    return np.array([cost_of(fitted(model, X, k), X) for k in ks])


def fitted(model: Any, X: Any, k: int) -> Any:
    """A copy of the model, fitted with k clusters."""
    copy: Any = clone(model)
    return copy.set_params(n_clusters=int(k)).fit(X)


def cost_of(model: Any, X: Any) -> float:
    """What a fitted model says of its cost, or the sum of squares of its clusters."""
    if hasattr(model, "inertia_"):
        return float(model.inertia_)
    return float(cluster_costs(X, model.labels_).sum())


def knee(ks: Any, costs: Any) -> int:
    """Number of clusters at the bend: the point farthest below the chord of the curve.

    Both axes are scaled to length 1 first. The notes say to look for the bend; this is the usual
    rule for it. A straight line bends nowhere, and its first point is given.

    Parameters
    ----------
    ks : (m,) sequence of int
        Numbers of clusters, ascending.
    costs : (m,) sequence of float
        Their costs.

    Examples
    --------
    >>> knee([1, 2, 3, 4, 5, 6], [100, 55, 12, 10, 8, 7])
    3
    """
    x, y = np.asarray(ks, np.float64), np.asarray(costs, np.float64)
    if len(x) != len(y) or len(x) < 3 or (np.diff(x) <= 0).any():
        raise ValueError("a knee needs at least three numbers of clusters, ascending, with costs")
    if y[0] <= y[-1]:
        return int(ks[0])
    along = (x - x[0]) / (x[-1] - x[0])
    down = (y[0] - y) / (y[0] - y[-1])
    return int(ks[int((down - along).argmax())])
