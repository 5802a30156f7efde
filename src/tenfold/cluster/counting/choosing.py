"""One door to the number of clusters: a rule, and the models it has looked at."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.cluster.counting.gaps import gap_statistic
from tenfold.cluster.counting.knees import cost_of, fitted, knee
from tenfold.metrics.clusters import silhouette


class Choice(NamedTuple):
    """What a rule says of each number of clusters.

    Attributes
    ----------
    by : name of the rule
    ks : (m,) numbers of clusters
    values : (m,) cost, silhouette or gap of each
    errors : (m,) standard errors, zero where the rule has none
    best : the number chosen
    model : the model with that number, fitted to all rows
    """

    by: str
    ks: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    best: int
    model: Any


def choose_k(
    model: Any, X: Any, ks: Any = range(1, 11), *, by: str = "knee", **options: Any
) -> Choice:
    """Choose the number of clusters, and fit the model with it.

    The cost itself cannot choose, on rows kept aside neither: it falls with every cluster
    [002, 7.3; 003, 14.5]. "knee" takes the bend of its curve, "silhouette" the clusters that are
    farthest apart for their size, "gap" those that are cheaper than chance. Where clusters serve a
    later task, let `tenfold.search` choose by that task's error, with
    `tenfold.cluster.counting.features.ClusterFeatures` in a pipeline.

    Parameters
    ----------
    model : clusterer
        A model with the parameter `n_clusters`; give it several starts.
    X : whatever the model takes
        The rows.
    ks : sequence of int
        Numbers of clusters, ascending. One cluster has no silhouette, and is passed over there.
    by : {"knee", "silhouette", "gap"}
        The rule.
    **options :
        `sample` and `seed` of "silhouette" and "gap", `references` of "gap".

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from tenfold import KMeans
    >>> X, _ = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = KMeans(n_init=3, random_state=0)
    >>> [choose_k(model, X, range(1, 7), by=by).best for by in ("knee", "silhouette", "gap")]
    [3, 3, 3]
    """
    if by not in RULES:
        raise ValueError(f"by={by!r} is no rule; there are {sorted(RULES)}")
    ks = np.asarray(list(ks))
    return RULES[by](model, X, ks, **options)


def by_knee(model: Any, X: Any, ks: np.ndarray) -> Choice:
    """The bend of the costs."""
    models = [fitted(model, X, k) for k in ks]
    costs = np.array([cost_of(each, X) for each in models])
    best = knee(ks, costs)
    return Choice("knee", ks, costs, np.zeros(len(ks)), best, models[int((ks == best).argmax())])


def by_silhouette(model: Any, X: Any, ks: np.ndarray, **options: Any) -> Choice:
    """The greatest silhouette, the first on a tie."""
    ks = ks[ks > 1]
    models = [fitted(model, X, k) for k in ks]
    values = np.array([silhouette(X, each.labels_, **options) for each in models])
    best = int(values.argmax())
    return Choice("silhouette", ks, values, np.zeros(len(ks)), int(ks[best]), models[best])


def by_gap(model: Any, X: Any, ks: np.ndarray, **options: Any) -> Choice:
    """The first gap that the next one does not exceed."""
    found = gap_statistic(model, X, ks, **options)
    return Choice("gap", ks, found.gap, found.error, found.best, fitted(model, X, found.best))


RULES = {"knee": by_knee, "silhouette": by_silhouette, "gap": by_gap}
