"""The number of clusters: elbow, silhouette and gap statistic."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.cluster.profiles import cluster_costs
from tenfold.io.opener import open as open_rows
from tenfold.metrics.silhouette import silhouette_score


def elbow(model: Any, X: Any, ks: Any) -> np.ndarray:
    """Cost of the clusterings with each number of clusters.

    The optimal cost falls with the number of clusters, to 0 when each distinct row is one; that of
    a local optimum may rise, so use several initializations.

    Parameters
    ----------
    model : clusterer
        A model with the parameter `n_clusters`; the cost is its `inertia_`, or the sum of squares
        of its clusters if it has none.
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
    return np.array([_clustering_cost(_fit_with_k(model, X, k), X) for k in ks])


def _fit_with_k(model: Any, X: Any, k: int) -> Any:
    """A copy of the model, fitted with k clusters."""
    copy: Any = clone(model)
    if "n_clusters" not in copy.get_params(deep=False):
        name = type(model).__name__
        mixture = "n_components" in copy.get_params(deep=False)
        cure = f"tenfold.choose_components({name}(), X) chooses the number of its components"
        raise TypeError(
            f"{name} has no parameter n_clusters: "
            + (cure if mixture else "give a clusterer, such as KMeans()")
        )
    return copy.set_params(n_clusters=int(k)).fit(X)


def _clustering_cost(model: Any, X: Any) -> float:
    """`inertia_` of a fitted model, or the sum of squares of its clusters."""
    if hasattr(model, "inertia_"):
        return float(model.inertia_)
    return float(cluster_costs(X, model.labels_).sum())


def knee(ks: Any, costs: Any) -> int:
    """Number of clusters at the knee: the point farthest below the chord of the cost curve.

    Both axes are scaled to length 1 first. For a straight line it is the first point.

    References
    ----------
    V. Satopää, J. Albrecht, D. Irwin and B. Raghavan (2011), Finding a "kneedle" in a haystack:
    detecting knee points in system behavior.

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
    progress = (x - x[0]) / (x[-1] - x[0])
    decrease = (y[0] - y) / (y[0] - y[-1])
    return int(ks[int((decrease - progress).argmax())])


class GapStatistic(NamedTuple):
    """The gap statistic of each number of clusters.

    Attributes
    ----------
    ks : (m,) numbers of clusters
    gap : (m,) mean log cost of the references less the log cost of the data
    error : (m,) its standard error, including that of the simulation
    best : the least k whose gap is not below that of the next k less its error
    """

    ks: np.ndarray
    gap: np.ndarray
    error: np.ndarray
    best: int


def gap_statistic(
    model: Any, X: Any, ks: Any, *, references: int = 10, sample: int = 5000, seed: int = 0
) -> GapStatistic:
    r"""The gap statistic for each number of clusters.

    .. math:: \mathrm{gap}(k) = \frac{1}{B} \sum_b \log W_k^{(b)} - \log W_k

    W is the cost of the clustering; the B references are rows drawn uniformly from the box about
    the data along its principal axes. The best k is the least one with
    :math:`\mathrm{gap}(k) \ge \mathrm{gap}(k + 1) - s_{k + 1}`: unlike other rules it may be 1.
    It is too small where one more cluster hardly lowers the cost but several do, as in the corners
    of a square: look at the whole curve.

    Parameters
    ----------
    model : clusterer
        A model with the parameter `n_clusters`.
    X : array, table, path, Dask collection or `tenfold.open(...)`
        The rows.
    ks : sequence of int
        Consecutive numbers of clusters.
    references : int
        Number of reference data sets without clusters.
    sample : int
        Maximum number of rows; of more, a sample is drawn.
    seed : int
        Seed of the references and the sample.

    See Also
    --------
    choose_k : Choose the number of clusters by one of several rules.

    References
    ----------
    R. Tibshirani, G. Walther and T. Hastie (2001), Estimating the number of clusters in a data set
    via the gap statistic.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from tenfold import KMeans
    >>> X, _ = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> gap_statistic(KMeans(n_init=3, random_state=0), X, range(1, 6)).best
    3
    """
    ks = np.asarray(list(ks))
    rng = np.random.default_rng(seed)
    drawn = np.asarray(open_rows(X).sample(sample, seed).X, np.float64)
    observed = _log_costs(model, drawn, ks)
    simulated = [_log_costs(model, uniform_reference(drawn, rng), ks) for _ in range(references)]
    gap = np.mean(simulated, axis=0) - observed
    error = np.std(simulated, axis=0) * np.sqrt(1 + 1 / references)
    satisfied = np.append(gap[:-1] >= gap[1:] - error[1:], True)
    return GapStatistic(ks, gap, error, int(ks[satisfied.argmax()]))


def _log_costs(model: Any, X: np.ndarray, ks: np.ndarray) -> np.ndarray:
    """Log of the cost of the clusterings with each number of clusters."""
    least = np.finfo(np.float64).tiny  # a cost of zero has no logarithm
    return np.log([max(_clustering_cost(_fit_with_k(clone(model), X, k), X), least) for k in ks])


def uniform_reference(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many rows without clusters: uniform in the bounding box of X along its principal axes."""
    mean = X.mean(axis=0)
    axes = np.linalg.svd(X - mean, full_matrices=False)[2]
    rotated = (X - mean) @ axes.T
    drawn = rng.uniform(rotated.min(axis=0), rotated.max(axis=0), size=rotated.shape)
    return drawn @ axes + mean


class ClusterCountChoice(NamedTuple):
    """The values of a rule for each number of clusters, and its choice.

    Attributes
    ----------
    by : name of the rule
    ks : (m,) numbers of clusters
    values : (m,) cost, silhouette or gap of each
    errors : (m,) standard errors, zero where the rule has none
    best : the chosen number
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
) -> ClusterCountChoice:
    """Choose the number of clusters, and fit the model with it.

    The cost itself cannot decide, not even on held-out rows: it falls with every cluster. "knee"
    takes the knee of the cost curve, "silhouette" the best separated clusters, "gap" compares with
    data without clusters. Where clusters serve a later task, let `tenfold.search` choose by the
    error of that task, with `ClusterFeatures` in a pipeline.

    Parameters
    ----------
    model : clusterer
        A model with the parameter `n_clusters`; use several initializations.
    X : whatever the model takes
        The rows.
    ks : sequence of int
        Numbers of clusters, ascending. One cluster has no silhouette and is skipped there.
    by : {"knee", "silhouette", "gap"}
        The rule.
    **options :
        `sample` and `seed` of "silhouette" and "gap", `references` of "gap".

    See Also
    --------
    choose_components : Choose the number of components of a mixture.

    References
    ----------
    P. J. Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of
    cluster analysis.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from tenfold import KMeans
    >>> X, _ = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = KMeans(n_init=3, random_state=0)
    >>> [choose_k(model, X, range(1, 7), by=by).best for by in ("knee", "silhouette", "gap")]
    [3, 3, 3]
    """
    if by not in _SELECTION_RULES:
        raise ValueError(f"by={by!r} is unknown; the rules are {sorted(_SELECTION_RULES)}")
    ks = np.asarray(list(ks))
    return _SELECTION_RULES[by](model, X, ks, **options)


def _choose_by_knee(model: Any, X: Any, ks: np.ndarray) -> ClusterCountChoice:
    """The knee of the costs."""
    models = [_fit_with_k(model, X, k) for k in ks]
    costs = np.array([_clustering_cost(fitted, X) for fitted in models])
    best = knee(ks, costs)
    return ClusterCountChoice(
        "knee", ks, costs, np.zeros(len(ks)), best, models[int((ks == best).argmax())]
    )


def _choose_by_silhouette(model: Any, X: Any, ks: np.ndarray, **options: Any) -> ClusterCountChoice:
    """The greatest silhouette, the first on a tie."""
    ks = ks[ks > 1]
    models = [_fit_with_k(model, X, k) for k in ks]
    values = np.array([silhouette_score(X, fitted.labels_, **options) for fitted in models])
    best = int(values.argmax())
    return ClusterCountChoice(
        "silhouette", ks, values, np.zeros(len(ks)), int(ks[best]), models[best]
    )


def _choose_by_gap(model: Any, X: Any, ks: np.ndarray, **options: Any) -> ClusterCountChoice:
    """The least number whose gap the next one does not exceed by more than its error."""
    s = gap_statistic(model, X, ks, **options)
    return ClusterCountChoice("gap", ks, s.gap, s.error, s.best, _fit_with_k(model, X, s.best))


_SELECTION_RULES = {
    "knee": _choose_by_knee,
    "silhouette": _choose_by_silhouette,
    "gap": _choose_by_gap,
}
