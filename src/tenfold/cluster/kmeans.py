"""k-means: each row to its nearest centre, each centre to the mean of its rows, until still.

Read in order: `Assignment` (what a pass says), `move` (from one set of centres to the next),
`plus_plus` (where to start), `KMeans`.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tenfold.estimator import Clusterer
from tenfold.maths.distances import nearest_centres, squared_distances
from tenfold.maths.leaves import add_rows
from tenfold.rows import Chunk, Rows, uniforms
from tenfold.solve import until_still

START_ROWS = 20_000  # k-means++ looks at this many rows (or 100 for each cluster)
FAR = 4.0  # columns whose mean is this many deviations from zero are shifted before products


class Spread(NamedTuple):
    """Weight, sum, and sum of squares of each column about a point."""

    n: float
    x: np.ndarray
    xx: np.ndarray


def spread(chunk: Chunk, origin: np.ndarray) -> Spread:
    """How the columns of a chunk lie about a point."""
    w = chunk.weights()
    if isinstance(chunk.X, np.ndarray):
        D = chunk.X - origin
        return Spread(chunk.weight, w @ D, w @ (D * D))
    return Spread(chunk.weight, chunk.X.T @ w, chunk.X.power(2).T @ w)


class Assignment(NamedTuple):
    """Weight and sum of the rows that are nearest to each centre."""

    weight: np.ndarray  # (k,)
    sums: np.ndarray  # (k, p)


def shifted(chunk: Chunk, origin: np.ndarray | None) -> Any:
    return chunk.X if origin is None else chunk.X - origin


def assign(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> Assignment:
    """Give each row to its nearest centre."""
    X = shifted(chunk, origin)
    k = len(centres)
    labels = nearest_centres(X, centres)
    weight, sums = np.zeros(k), np.zeros(centres.shape)
    if isinstance(X, np.ndarray):
        w = np.empty(0, X.dtype) if chunk.w is None else chunk.w
        add_rows(X, w, labels, sums, weight)
        return Assignment(weight, sums)
    from scipy.sparse import csr_array

    w = chunk.weights().astype(np.float64)
    hot = csr_array((w, labels, np.arange(chunk.rows + 1)), shape=(chunk.rows, k))
    return Assignment(hot.sum(axis=0), (hot.T @ X).toarray())


def label_rows(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Number of the nearest centre of each row."""
    return nearest_centres(shifted(chunk, origin), centres)


def cost(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> float:
    """Weighted sum of squared distances to the nearest centre, from the differences themselves."""
    return float(chunk.weights() @ own_distances(chunk, centres, origin))


def own_distances(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Squared distance of each row to its nearest centre."""
    X = shifted(chunk, origin)
    labels = nearest_centres(X, centres)
    X = X if isinstance(X, np.ndarray) else X.toarray()
    difference = (X - np.take(centres, labels, axis=0)).astype(np.float64, copy=False)
    return np.einsum("ij,ij->i", difference, difference)


class Farthest(NamedTuple):
    """The rows farthest from their centres, by distance and then by number."""

    distance: np.ndarray  # (m,)
    row: np.ndarray  # (m,)
    label: np.ndarray  # (m,)
    X: np.ndarray  # (m, p)
    w: np.ndarray  # (m,)

    def merge(self, other: Farthest) -> Farthest:
        parts = [np.concatenate(pair) for pair in zip(self, other, strict=True)]
        most = np.lexsort((parts[1], -parts[0]))[: max(len(self.row), len(other.row))]
        return Farthest(*(part[most] for part in parts))


def farthest(chunk: Chunk, centres: np.ndarray, origin: np.ndarray | None, m: int) -> Farthest:
    """The m rows of a chunk that lie farthest from their centres."""
    distance = own_distances(chunk, centres, origin) * (chunk.weights() > 0)
    order = np.argsort(-distance, kind="stable")[:m]
    X = shifted(chunk, origin)
    X = X[order] if isinstance(X, np.ndarray) else X[order].toarray()
    label = label_rows(chunk, centres, origin)[order]
    return Farthest(distance[order], chunk.first + order, label, X, chunk.weights()[order])


class Cloud(NamedTuple):
    """What is known of the rows before the first pass of a start."""

    n: float
    mean: np.ndarray  # (p,)
    variance: float  # mean over the columns
    squares: float  # sum of squares about the origin
    origin: np.ndarray | None  # subtracted from rows before products


def survey(rows: Rows) -> Cloud:
    """Weight, mean and variance of the rows, and whether they lie too far from zero."""
    head = np.zeros(rows.n_features, rows.dtype)
    if not rows.sparse:
        head = rows.take(np.zeros(1, np.int64)).X[0]
    s = rows.total(spread, head)
    offset = s.x / s.n
    variance = np.maximum(s.xx / s.n - offset**2, 0.0)
    mean = head + offset
    if rows.sparse or (np.abs(mean) <= FAR * np.sqrt(variance) + np.finfo(rows.dtype).tiny).all():
        return Cloud(s.n, mean, variance.mean(), s.n * float((variance + mean**2).sum()), None)
    origin = mean.astype(rows.dtype)
    squares = s.n * float((variance + (mean - origin) ** 2).sum())
    return Cloud(s.n, mean, variance.mean(), squares, origin)


def move(rows: Rows, cloud: Cloud, centres: np.ndarray) -> tuple[np.ndarray, float]:
    """The means of the rows nearest to each centre, and the cost of the centres as they were."""
    a = rows.total(assign, centres.astype(rows.dtype), cloud.origin)
    empty = np.flatnonzero(a.weight == 0)
    means = a.sums / np.where(a.weight > 0, a.weight, 1.0)[:, None]
    within = cloud.squares - float((a.weight * (means**2).sum(axis=1)).sum())
    before = max(within, 0.0) + float((a.weight * ((means - centres) ** 2).sum(axis=1)).sum())
    if len(empty):
        a = refill(rows, cloud, centres, a, empty)
        means = a.sums / np.where(a.weight > 0, a.weight, 1.0)[:, None]
    return np.where(a.weight[:, None] > 0, means, centres), before


def refill(
    rows: Rows, cloud: Cloud, centres: np.ndarray, a: Assignment, empty: np.ndarray
) -> Assignment:
    """Give each empty cluster one of the rows farthest from their centres."""
    far = rows.total(farthest, centres.astype(rows.dtype), cloud.origin, len(empty))
    weight, sums = a.weight.copy(), a.sums.copy()
    for target, old, x, w in zip(empty, far.label, far.X, far.w, strict=False):
        if weight[old] > w > 0:
            weight[old] -= w
            sums[old] -= w * x
            weight[target], sums[target] = w, w * x
    return Assignment(weight, sums)


class Race(NamedTuple):
    """The m rows that win a race in which a row's speed is its weight: a weighted sample."""

    time: np.ndarray
    row: np.ndarray

    def merge(self, other: Race) -> Race:
        time, row = np.append(self.time, other.time), np.append(self.row, other.row)
        first = np.lexsort((row, time))[: max(len(self.row), len(other.row))]
        return Race(time[first], row[first])


def race(chunk: Chunk, m: int, seed: int) -> Race:
    """Exponential arrival times with the weights as rates; drawn by global row."""
    draws = uniforms(seed, chunk.first, chunk.rows)[:, 0]
    with np.errstate(divide="ignore"):
        time = -np.log(draws) / chunk.weights()
    first = np.argsort(time, kind="stable")[:m]
    return Race(time[first], chunk.first + first)


def start_sample(rows: Rows, m: int, seed: int) -> np.ndarray:
    """Some rows to choose starts from, drawn by global row and in proportion to their weight."""
    if not rows.source.has_weight:
        X = rows.sample(m, seed).X
    else:
        won = rows.total(race, min(m, rows.n_rows), seed)
        X = rows.take(np.sort(won.row[np.isfinite(won.time)])).X
    return X if isinstance(X, np.ndarray) else X.toarray()


def plus_plus(X: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k-means++: rows far from the centres so far are likely to be the next; best of a few tries.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0], [10.0], [20.0]], 5, axis=0)
    >>> sorted(plus_plus(X, 3, np.random.default_rng(0)).ravel().tolist())
    [0.0, 10.0, 20.0]
    """
    tries = 2 + int(np.log(k))
    chosen = [int(rng.integers(len(X)))]
    nearest_square = squared_distances(X, X[chosen])[:, 0]
    for _ in range(1, k):
        heights = np.cumsum(nearest_square, dtype=np.float64)
        if heights[-1] > 0:
            drawn = np.searchsorted(heights, rng.random(tries) * heights[-1], side="right")
            candidates = np.minimum(drawn, len(X) - 1)
        else:  # fewer different rows than clusters
            candidates = rng.integers(len(X), size=tries)
        squares = np.minimum(squared_distances(X, X[candidates]).T, nearest_square)
        best = int(squares.sum(axis=1, dtype=np.float64).argmin())
        chosen.append(int(candidates[best]))
        nearest_square = squares[best]
    return X[chosen]


class Solution(NamedTuple):
    """Where one start has led."""

    centres: np.ndarray  # about the origin
    inertia: float
    report: dict[str, Any]


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    r"""k-means clustering by Lloyd's algorithm.

    .. math:: \min_{c_1, \dots, c_k} \sum_i \omega_i \min_j \lVert x_i - c_j \rVert^2

    Each round assigns every row to its nearest centre (the first one on a tie) and moves every
    centre to the mean of its rows; neither half-step can raise the cost. A cluster that loses all
    its rows gets the row farthest from its own centre. One pass over the data a round. Parameters
    and attributes are those of `sklearn.cluster.KMeans`. [000, 4.2; 002, ch. 7; 003, unit 4; 004, 6]

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
        best = min((self._descend(rows, cloud, s) for s in starts), key=lambda found: found.inertia)
        final = best.centres.astype(rows.dtype)
        centres = best.centres if cloud.origin is None else best.centres + cloud.origin
        return {
            "cluster_centers_": centres.astype(rows.dtype),
            "labels_": rows.each(label_rows, final, cloud.origin),
            "inertia_": best.inertia,
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
        X = start_sample(rows, max(START_ROWS, 100 * k), seed)
        if callable(self.init):
            return self._checked(np.asarray(self.init(X, k, random_state=seed)), rows)
        if self.init == "random":
            return X[np.sort(rng.choice(len(X), k, replace=len(X) < k))]
        return plus_plus(X, k, rng)

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
        centres = loop.state
        inertia = rows.total(cost, centres.astype(rows.dtype), cloud.origin)
        return Solution(centres, inertia, loop.report)

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
        return self._each(X, label_rows, self.cluster_centers_, None)

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
            return -rows.total(cost, self.cluster_centers_, None)


def distances(chunk: Chunk, centres: np.ndarray) -> np.ndarray:
    """Euclidean distance of each row to each centre."""
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    return np.sqrt(squared_distances(X, centres))
