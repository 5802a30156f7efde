"""k-means clustering by Lloyd's algorithm."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.cluster._centroid_base import CentroidClusterer
from tenfold.cluster._lloyd import (
    BoundedAssignment,
    DataSummary,
    KMeansSolution,
    lloyd,
    summarize_data,
)
from tenfold.cluster.initialization import INIT_METHODS, sample_candidates
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged

# Rows of the samples on which the centers of k-means++ are refined before all rows are used, and
# the bytes that a sample may take. Chosen on the KMeans cases of benchmarks/speed.py; not swept.
INIT_SAMPLE_SIZES = (20_000, 80_000)
MAX_SAMPLE_BYTES = 2**27


class KMeans(CentroidClusterer):
    r"""k-means clustering by Lloyd's algorithm.

    .. math:: \min_{c_1, \dots, c_k} \sum_i \omega_i \min_j \lVert x_i - c_j \rVert^2

    Each iteration assigns every row to its nearest center (the first one on a tie) and moves every
    center to the mean of its rows; neither step raises the cost. An empty cluster takes the row
    farthest from its own center. One pass over the data per iteration. Labels are those of the
    exact distances, whatever the rounding of products. With many rows, the centers of k-means++
    are first refined on samples, so that few iterations on all rows remain. Parameters and
    attributes are those of `sklearn.cluster.KMeans`.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    init : {"k-means++", "random", "farthest", "uniform"}, array or callable
        Initial centers: greedy k-means++, random rows, farthest-first traversal, uniform points of
        the bounding box; (n_clusters, n_features) centers; the means of rows with given labels,
        (n_samples,) integers (the mean of all rows for a label without rows); or
        `f(X, n_clusters, random_state)`. Rows are drawn from a sample by global row number, so
        every engine starts from the same centers.
    n_init : int or "auto"
        Number of initializations, of which the best is kept; "auto" is 10 for "random", "uniform"
        and callables, otherwise 1.
    max_iter : int
        Maximum iterations.
    tol : float
        Converged when the squared moves of all centers sum to at most this fraction of the mean
        variance of a feature.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    random_state : int, optional
        Seed of the initializations.
    copy_x : bool
        Ignored: X is never overwritten.
    algorithm : {"lloyd", "elkan"}
        Ignored: every pass keeps a bound for each row (Hamerly), and searches again only for rows
        whose nearest center may have changed. The result is the same to the last bit.

    Attributes
    ----------
    cluster_centers_ : (n_clusters, n_features)
    labels_ : (n_samples,) cluster of each row
    inertia_ : weighted sum of squared distances to the nearest center
    n_iter_, converged_ : iterations of the best initialization, and whether they converged
    history_ : cost ("objective") before each of these iterations, and "seconds"

    See Also
    --------
    MiniBatchKMeans : Batches of rows.
    SphericalKMeans : Clusters by cosine similarity.
    GaussianMixture : Soft clusters with covariances.
    choose_k : Choose the number of clusters.
    lloyd_steps : The steps of the algorithm one by one.

    References
    ----------
    S. P. Lloyd (1982), Least squares quantization in PCM.

    D. Arthur and S. Vassilvitskii (2007), k-means++: the advantages of careful seeding.

    G. Hamerly (2010), Making k-means even faster.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KMeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist()), model.inertia_
    ([[1.0, 2.0], [10.0, 2.0]], 16.0)
    """

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(INIT_METHODS)), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._check_row_count(rows)
        data = summarize_data(rows)
        starts = (self._initial_centers(rows, rng) for _ in range(self._n_initializations()))
        solutions = (self._fit_from(rows, data, start) for start in starts)
        best = min(solutions, key=lambda solution: solution.end.cost)
        self._warn_lost_clusters(best.end.labels)
        centers = best.centers if data.origin is None else best.centers + data.origin
        return {
            "cluster_centers_": centers.astype(rows.dtype),
            "labels_": best.end.labels,
            "inertia_": best.end.cost,
            **best.report,
        }

    def _initial_centers(
        self, rows: Rows, rng: np.random.Generator, size: int | None = None
    ) -> np.ndarray:
        """Initial centers; those of k-means++ are refined by k-means on samples."""
        start = super()._initial_centers(rows, rng, size)
        if not isinstance(self.init, str) or self.init != "k-means++":
            return start
        for m in INIT_SAMPLE_SIZES:
            if 2 * m > rows.n_rows or m * rows.source.row_bytes >= MAX_SAMPLE_BYTES:
                continue
            X, w = sample_candidates(rows, m, int(rng.integers(2**31)))
            source = ArraySource if isinstance(X, np.ndarray) else SparseSource
            sample = Rows(source(X, None, w))
            data = summarize_data(sample)
            loop = self._lloyd(BoundedAssignment(sample, data), start)
            start = loop.state if data.origin is None else loop.state + data.origin
        return start

    def _fit_from(self, rows: Rows, data: DataSummary, start: np.ndarray) -> KMeansSolution:
        """The solution from one initialization."""
        assign = BoundedAssignment(rows, data)
        loop = self._lloyd(assign, start)
        return KMeansSolution(loop.state, assign.finish(loop.state), loop.report)

    def _lloyd(self, assign: BoundedAssignment, start: np.ndarray) -> until_converged[np.ndarray]:
        """Lloyd's algorithm from initial centers in the coordinates of the data."""
        data, start = assign.data, start.astype(np.float64)
        start = start if data.origin is None else start - data.origin
        return lloyd(assign, start, tol=self.tol * data.variance, max_iter=self.max_iter)
