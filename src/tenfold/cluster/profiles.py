"""Cluster profiles: costs, the features that separate clusters, agreement of two clusterings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.reductions import class_squared_deviations, class_sums
from tenfold.engine.chunk import Chunk
from tenfold.io.opener import open as open_rows
from tenfold.math.distances import normalize_rows, pairwise_distances
from tenfold.math.partitions import group_indices
from tenfold.stats.class_moments import merge_means


def _sum_of_squares(X: np.ndarray) -> float:
    """Sum of squared distances to the mean."""
    return float(((X - X.mean(axis=0)) ** 2).sum())


def _diameter(X: np.ndarray, metric: Any = "euclidean") -> float:
    """Largest distance of two members."""
    return float(pairwise_distances(X, metric=metric).max())


def _mean_distance(X: np.ndarray, metric: Any = "euclidean") -> float:
    """Mean distance of two different members; 0 for a single one."""
    n = len(X)
    return float(pairwise_distances(X, metric=metric).sum() / (n * (n - 1))) if n > 1 else 0.0


def _medoid_cost(X: np.ndarray, metric: Any = "euclidean") -> float:
    """Sum of distances to the medoid."""
    return float(pairwise_distances(X, metric=metric).sum(axis=0).min())


def _cosine_cost(X: np.ndarray) -> float:
    """Sum of 1 - cosine to the mean direction."""
    unit = normalize_rows(X)
    return float(len(X) - np.linalg.norm(unit.sum(axis=0)))


_COST_FUNCTIONS: dict[str, Callable[..., float]] = {
    "squares": _sum_of_squares,
    "diameter": _diameter,
    "average": _mean_distance,
    "medoid": _medoid_cost,
    "cosine": _cosine_cost,
}


def cluster_costs(
    X: Any, labels: Any, cost: str = "squares", metric: Any = "euclidean"
) -> np.ndarray:
    r"""Cost of each cluster, in the order of the labels; the cost of a clustering is their sum.

    Parameters
    ----------
    X : (n_samples, n_features) array
        The rows.
    labels : (n_samples,) array
        The cluster of each row.
    cost : {"squares", "diameter", "average", "medoid", "cosine"}
        Sum of squares about the mean, largest distance of two members, mean distance of two
        members, sum of distances to the medoid, or sum of 1 - cosine to the mean direction.
    metric : str or callable
        Distance for "diameter", "average" and "medoid".

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [2.0], [7.0], [8.0], [9.0]])
    >>> [cluster_costs(X, [0, 0, 1, 1, 1], cost).tolist() for cost in ("squares", "diameter")]
    [[2.0, 2.0], [2.0, 2.0]]
    """
    if cost not in _COST_FUNCTIONS:
        raise ValueError(f"cost={cost!r} is unknown; choose one of {sorted(_COST_FUNCTIONS)}")
    X = np.asarray(X, np.float64)
    function = _COST_FUNCTIONS[cost]
    if cost in {"diameter", "average", "medoid"}:
        function = partial(function, metric=metric)
    elif metric != "euclidean":
        raise ValueError(f"cost={cost!r} defines its own distance: leave metric out")
    return np.array([function(X[members]) for members in group_indices(labels)])


class ClusterProfile(NamedTuple):
    """How clusters differ, feature by feature.

    Attributes
    ----------
    labels : (n_clusters,) the clusters
    sizes : (n_clusters,) number of their rows
    means : (n_clusters, n_features) their means
    offsets : (n_clusters, n_features) mean of the cluster less mean of all rows, in standard
        deviations of all rows
    explained : (n_features,) fraction of the variance of a feature that lies between clusters
    names : (n_features,) names of the features
    """

    labels: np.ndarray
    sizes: np.ndarray
    means: np.ndarray
    offsets: np.ndarray
    explained: np.ndarray
    names: list[str]

    def rank_features(self) -> list[tuple[str, float]]:
        """Features with the fraction of variance that clusters explain, the largest first."""
        order = np.argsort(-self.explained, kind="stable")
        return [(self.names[d], float(self.explained[d])) for d in order]

    def of(self, label: Any) -> list[tuple[str, float]]:
        """Features with the offset of one cluster, the largest first."""
        row = self.offsets[int((self.labels == label).argmax())]
        return [(self.names[d], float(row[d])) for d in np.argsort(-np.abs(row), kind="stable")]


class _ClusterMoments(NamedTuple):
    """Weight, mean and squares about the mean of each cluster."""

    n: np.ndarray  # (k,)
    mean: np.ndarray  # (k, p)
    squares: np.ndarray  # (k, p)

    def merge(self, other: _ClusterMoments) -> _ClusterMoments:
        n, mean, root = merge_means(self, other)
        return _ClusterMoments(n, mean, self.squares + other.squares + root**2)


def _cluster_moments(chunk: Chunk, labels: np.ndarray, k: int) -> _ClusterMoments:
    """Moments of the clusters of a chunk."""
    part, w = labels[chunk.first : chunk.first + chunk.rows], chunk.weights()
    n, sums = class_sums(chunk.X, part, w, k)
    mean = sums / np.where(n > 0, n, 1)[:, None]
    return _ClusterMoments(n, mean, class_squared_deviations(chunk.X, part, w, mean))


def profile_clusters(X: Any, labels: Any, names: Any = None) -> ClusterProfile:
    r"""Which features separate clusters: one pass over the rows.

    .. math:: \mathrm{explained}_d = 1 - \frac{\text{squares about the means of the clusters}}
                                              {\text{squares about the mean of all rows}}

    Parameters
    ----------
    X : array, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    labels : (n_samples,) array
        The cluster of each row.
    names : sequence of str, optional
        Names of the features; by default those of a table or file.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [9.0, 1.0], [10.0, 0.0]])
    >>> profile = profile_clusters(X, [0, 0, 1, 1], ["height", "color"])
    >>> [(name, round(fraction, 3)) for name, fraction in profile.rank_features()]
    [('height', 0.988), ('color', 0.0)]
    """
    rows = open_rows(X)
    clusters, numbers = np.unique(np.asarray(labels), return_inverse=True)
    if len(numbers) != rows.n_rows:
        raise ValueError(f"{len(numbers)} labels were given for {rows.n_rows} rows")
    s = rows.total(_cluster_moments, numbers, len(clusters))
    mean = (s.n @ s.mean) / s.n.sum()
    within = s.squares.sum(axis=0)
    total = within + s.n @ (s.mean - mean) ** 2
    varies = total > 0
    scale = np.sqrt(np.where(varies, total, 1) / s.n.sum())
    explained = np.where(varies, 1 - within / np.where(varies, total, 1), 0.0)
    named = names if names is not None else rows.names or [f"x{d}" for d in range(rows.n_features)]
    return ClusterProfile(clusters, s.n, s.mean, (s.mean - mean) / scale, explained, list(named))


class ClusteringAgreement(NamedTuple):
    """Agreement of two clusterings, invariant to renaming of labels.

    Attributes
    ----------
    rand : Rand index, the fraction of the pairs of rows on which they agree
    adjusted_rand : Rand index adjusted for chance, 0 for chance and 1 for equality
    mutual_information : mutual information, adjusted likewise
    """

    rand: float
    adjusted_rand: float
    mutual_information: float


def compare_clusterings(a: Any, b: Any) -> ClusteringAgreement:
    """Agreement of two clusterings of the same rows.

    Parameters
    ----------
    a, b : (n_samples,) arrays
        The labels of each.

    References
    ----------
    L. Hubert and P. Arabie (1985), Comparing partitions.

    Examples
    --------
    >>> compare_clusterings([0, 0, 1, 1], ["x", "x", "y", "y"])
    ClusteringAgreement(rand=1.0, adjusted_rand=1.0, mutual_information=1.0)
    """
    from sklearn import metrics

    return ClusteringAgreement(
        float(metrics.rand_score(a, b)),
        float(metrics.adjusted_rand_score(a, b)),
        float(metrics.adjusted_mutual_info_score(a, b)),
    )
