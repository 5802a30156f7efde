"""k-means: each row to its nearest centre, each centre to the mean of its rows, until still."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tenfold.cluster.lloyd import FAR, Cloud, Ending, cost, ending, label_rows, move, survey
from tenfold.cluster.starts import plus_plus, start_sample
from tenfold.estimator import Clusterer
from tenfold.maths.distances import squared_distances
from tenfold.rows import Chunk, Rows
from tenfold.solve import until_still

START_ROWS = 20_000  # k-means++ looks at this many rows (or 100 for each cluster)


class Solution(NamedTuple):
    """Where one start has led."""

    centres: np.ndarray  # about the origin
    end: Ending
    report: dict[str, Any]


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    r"""k-means clustering by Lloyd's algorithm.

    .. math:: \min_{c_1, \dots, c_k} \sum_i \omega_i \min_j \lVert x_i - c_j \rVert^2

    Each round assigns every row to its nearest centre (the first one on a tie) and moves every
    centre to the mean of its rows; neither half-step can raise the cost. A cluster that loses all
    its rows gets the row farthest from its own centre. One pass over the data a round. Parameters
    and attributes are those of `sklearn.cluster.KMeans`.
    [000, 4.1; 002, ch. 7; 003, unit 4; 004, 6]

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    init : {"k-means++", "random"}, (k, p) array or callable
        Where to start: far-apart rows, any rows, given centres, or `f(X, k, random_state)`. The
        rows are drawn from a sample by global row number, so every engine starts alike.
    n_init : int or "auto"
        Number of starts, of which the best is kept; "auto" is 1 for "k-means++", given centres
        and 10 otherwise.
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
    algorithm : {"lloyd"}
        There is one; the results are those of scikit-learn's "elkan" too.

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

    _sparse_ok = True
    _draws = True
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd"})],
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
        if rows.n_rows < self.n_clusters:
            raise ValueError(f"n_samples={rows.n_rows} should be >= n_clusters={self.n_clusters}.")
        cloud = survey(rows)
        starts = (self._start(rows, rng) for _ in range(self._starts()))
        found = (self._descend(rows, cloud, start) for start in starts)
        best = min(found, key=lambda solution: solution.end.cost)
        centres = best.centres if cloud.origin is None else best.centres + cloud.origin
        return {
            "cluster_centers_": centres.astype(rows.dtype),
            "labels_": best.end.labels,
            "inertia_": best.end.cost,
            **best.report,
        }

    def _starts(self) -> int:
        if not (isinstance(self.init, str) or callable(self.init)):
            return 1  # the same start would lead to the same end
        if self.n_init == "auto":
            return 1 if self.init == "k-means++" else 10
        return self.n_init

    def _start(self, rows: Rows, rng: np.random.Generator) -> np.ndarray:
        """First centres, in the coordinates of the data."""
        k, seed = self.n_clusters, int(rng.integers(2**31))
        if not (isinstance(self.init, str) or callable(self.init)):
            return self._checked(np.asarray(self.init), rows)
        X, w = start_sample(rows, max(START_ROWS, 100 * k), seed)
        if callable(self.init):
            drawn = self.init(X, k, random_state=np.random.RandomState(seed))
            return self._checked(np.asarray(drawn), rows)
        if self.init == "random":
            return X[np.sort(rng.choice(len(X), k, replace=len(X) < k, p=w / w.sum()))]
        return plus_plus(X, w, k, rng)

    def _checked(self, start: np.ndarray, rows: Rows) -> np.ndarray:
        wanted = (self.n_clusters, rows.n_features)
        if start.shape != wanted:
            raise ValueError(f"init has the shape {start.shape}; {wanted} centres are needed")
        if not np.isfinite(start).all():
            raise ValueError("init contains NaN or infinity")
        return start

    def _descend(self, rows: Rows, cloud: Cloud, start: np.ndarray) -> Solution:
        start = start.astype(np.float64)
        start = start if cloud.origin is None else start - cloud.origin
        loop = until_still(start, tol=self.tol * cloud.variance, max_iter=self.max_iter)
        for centres in loop:
            moved, before = move(rows, cloud, centres)
            loop.tell(moved, objective=before, change=((moved - centres) ** 2).sum())
        end = rows.total(ending, loop.state.astype(rows.dtype), cloud.origin)
        return Solution(loop.state, end, loop.report)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    def predict(self, X: Any) -> np.ndarray:
        """Number of the nearest centre of each row, (n,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, nearest_rows, self.cluster_centers_)

    def transform(self, X: Any) -> np.ndarray:
        """Distance of each row to each centre, (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._each(X, distances, self.cluster_centers_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of the rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array, optional
            Weight of each row.
        """
        check_is_fitted(self)
        with self._at_work():
            rows = self._rows(X, None, sample_weight, reset=False)
            return -rows.total(total_cost, self.cluster_centers_)


def about_centres(chunk: Chunk, centres: np.ndarray) -> tuple[Chunk, np.ndarray]:
    """Dense rows and centres about the middle of the centres, if that is far from zero."""
    middle = centres.mean(axis=0)
    near = np.abs(middle) <= FAR * np.abs(centres - middle).max(axis=0)
    if near.all() or not isinstance(chunk.X, np.ndarray):
        return chunk, centres
    return chunk._replace(X=chunk.X - middle), centres - middle


def nearest_rows(chunk: Chunk, centres: np.ndarray) -> np.ndarray:
    """Number of the nearest centre of each row."""
    return label_rows(*about_centres(chunk, centres), None)


def total_cost(chunk: Chunk, centres: np.ndarray) -> float:
    """Weighted sum of squared distances to the nearest centre."""
    return cost(*about_centres(chunk, centres), None)


def distances(chunk: Chunk, centres: np.ndarray) -> np.ndarray:
    """Euclidean distance of each row to each centre."""
    chunk, centres = about_centres(chunk, centres)
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    return np.sqrt(squared_distances(X, centres))
