"""k-means clustering by Lloyd's algorithm."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.cluster._centroid_base import CentroidClusterer
from tenfold.cluster._lloyd import (
    CenterBoundsPass,
    DataSummary,
    KMeansSolution,
    assign_finally,
    summarize_data,
    update_centers,
)
from tenfold.cluster.initialization import INIT_METHODS, sample_candidates
from tenfold.engine.arrays import ArraySource, SparseSource
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged

_INIT_SAMPLE_SIZES = (20_000, 80_000)  # rows of the samples on which k-means++ goes on
_MAX_SAMPLE_BYTES = 2**27  # bytes that a sample may take


class KMeans(CentroidClusterer):
    r"""k-means clustering by Lloyd's algorithm.

    .. math:: \min_{c_1, \dots, c_k} \sum_i \omega_i \min_j \lVert x_i - c_j \rVert^2

    Each round assigns every row to its nearest centre (the first one on a tie) and moves every
    centre to the mean of its rows; neither half-step can raise the cost. A cluster that loses all
    its rows gets the row farthest from its own centre. One pass over the data a round. A label is
    that of the exact distances, whatever the rounding of products. Many rows are not the first
    that k-means++ meets: its centres stand still on samples first, so that few rounds are left.
    Parameters and attributes are those of `sklearn.cluster.KMeans`.
    `tenfold.lloyd_steps` shows the half-steps one by one. [000, 4.1; 002, ch. 7; 003, unit 4;
    004, 6]

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    init : {"k-means++", "random", "farthest", "uniform"}, (k, p) or (n,) array, or callable
        Where to start: rows that are likely to lie apart, any rows, each row as far as possible
        from those before it, any points of the box that rows fill; given centres; the means of
        rows with given labels (whole numbers, one for each row; the mean of all for a label that
        none has); or `f(X, k, random_state)`. The rows are drawn from a sample by global row
        number, so every engine starts alike.
    n_init : int or "auto"
        Number of starts, of which the best is kept; "auto" is 10 for "random", "uniform" and
        functions, else 1.
    max_iter : int
        Most rounds of a start.
    tol : float
        Converged when the centres move by less than this share of the mean variance of a column.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    random_state : int, optional
        Seed of the starts.
    copy_x : bool
        X is never overwritten, whatever is given here.
    algorithm : {"lloyd", "elkan"}
        Both are the same rounds. Rows of an array remember how much nearer their centre was than
        the second nearest, and are asked again only when the centres have moved by more; what
        comes out is the same to the last bit.

    Attributes
    ----------
    cluster_centers_ : (k, p) centres
    labels_ : (n,) number of the cluster of each row
    inertia_ : weighted sum of squared distances to the nearest centre
    n_iter_, converged_ : rounds of the best start, and whether it stood still
    history_ : cost ("objective") before each of these rounds, and "seconds"

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
        cloud = summarize_data(rows)
        starts = (self._initial_centers(rows, rng) for _ in range(self._n_initializations()))
        found = (self._fit_from(rows, cloud, start) for start in starts)
        best = min(found, key=lambda solution: solution.end.cost)
        self._warn_lost_clusters(best.end.labels)
        centres = best.centres if cloud.origin is None else best.centres + cloud.origin
        return {
            "cluster_centers_": centres.astype(rows.dtype),
            "labels_": best.end.labels,
            "inertia_": best.end.cost,
            **best.report,
        }

    def _initial_centers(
        self, rows: Rows, rng: np.random.Generator, size: int | None = None
    ) -> np.ndarray:
        """First centres; those of k-means++ on a sample are moved on there until still."""
        start = super()._initial_centers(rows, rng, size)
        if not isinstance(self.init, str) or self.init != "k-means++":
            return start
        for m in (
            n
            for n in _INIT_SAMPLE_SIZES
            if 2 * n <= rows.n_rows and n * rows.source.row_bytes < _MAX_SAMPLE_BYTES
        ):
            X, w = sample_candidates(rows, m, int(rng.integers(2**31)))
            few = Rows(
                ArraySource(X, None, w) if isinstance(X, np.ndarray) else SparseSource(X, None, w)
            )
            cloud = summarize_data(few)
            start = self._moved(few, cloud, start)[0].state
            start = start if cloud.origin is None else start + cloud.origin
        return start

    def _fit_from(self, rows: Rows, cloud: DataSummary, start: np.ndarray) -> KMeansSolution:
        loop, last = self._moved(rows, cloud, start)
        end = assign_finally(rows, cloud, loop.state, last)
        return KMeansSolution(loop.state, end, loop.report)

    def _moved(
        self, rows: Rows, cloud: DataSummary, start: np.ndarray
    ) -> tuple[until_converged[np.ndarray], CenterBoundsPass]:
        """Iterations from a start until convergence."""
        start = start.astype(np.float64)
        start = start if cloud.origin is None else start - cloud.origin
        loop = until_converged(start, tol=self.tol * cloud.variance, max_iter=self.max_iter)
        last = CenterBoundsPass()
        for centres in loop:
            moved, before, last = update_centers(rows, cloud, centres, last)
            loop.update(moved, objective=before, change=((moved - centres) ** 2).sum())
        return loop, last
