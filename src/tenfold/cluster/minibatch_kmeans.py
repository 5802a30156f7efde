"""Mini-batch k-means: each batch of rows moves the centers a little."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np

from tenfold._compiled.reductions import add_rows_by_label
from tenfold.base._sklearn import Interval, StrOptions
from tenfold.cluster._centroid_base import CentroidClusterer
from tenfold.cluster._lloyd import final_assignment, labels_and_squared_distances, summarize_data
from tenfold.cluster.initialization import INIT_METHODS
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged


class _MiniBatchState(NamedTuple):
    """Where the centres are, and how it has gone."""

    centres: np.ndarray  # (k, p) float64
    weight: np.ndarray  # (k,) of the rows that each centre has met
    smooth: float  # running mean of the cost of a row; NaN before the first
    least: float  # the least that it was
    idle: int  # batches since
    unmoved: float  # weight of rows since rare centres were looked at
    steps: int


def _iterate_batches(rows: Rows, size: int, seed: int) -> Iterator[Chunk]:
    """Every row once, in random batches that the seed alone decides."""
    for block in rows.blocks(seed):
        for start in range(0, len(block.order), size):
            order = block.order[start : start + size]
            yield Chunk(block.X[order], None, None if block.w is None else block.w[order])


def _update_on_batch(
    batch: Chunk, drift: _MiniBatchState, ratio: float, rng: np.random.Generator
) -> tuple[_MiniBatchState, float]:
    """The centres after a batch, and the cost of a row of it before."""
    known = drift.centres.astype(batch.X.dtype)
    labels, squares = labels_and_squared_distances(batch, known, None)
    w = batch.weights().astype(np.float64)
    met, sums = np.zeros(len(known)), np.zeros(known.shape)
    X = batch.X if isinstance(batch.X, np.ndarray) else batch.X.toarray()
    add_rows_by_label(X, w, labels, sums, met)
    weight = drift.weight + met
    share = np.where(weight > 0, weight, 1.0)[:, None]
    centres = drift.centres + (sums - met[:, None] * drift.centres) / share
    unmoved = drift.unmoved + batch.rows
    moved = drift._replace(centres=centres, weight=weight, steps=drift.steps + 1, unmoved=unmoved)
    if (weight == 0).any() or unmoved >= 10 * len(weight):
        moved = _reassign_rare_centers(moved, X, w, ratio, rng)
    return moved, float(w @ squares) / max(w.sum(), np.finfo(float).tiny)


def _update_running_cost(drift: _MiniBatchState, cost: float, share: float) -> _MiniBatchState:
    """The running mean of the cost, and since when it is at its least."""
    smooth = cost if np.isnan(drift.smooth) else (1 - share) * drift.smooth + share * cost
    better = smooth < drift.least
    idle = 0 if better else drift.idle + 1
    return drift._replace(smooth=smooth, least=min(smooth, drift.least), idle=idle)


def _reassign_rare_centers(
    drift: _MiniBatchState, X: np.ndarray, w: np.ndarray, ratio: float, rng: np.random.Generator
) -> _MiniBatchState:
    """Move centres that met few rows to rows of the batch, half the batch at most."""
    rare = drift.weight < ratio * drift.weight.max()
    seen = np.flatnonzero(w > 0)
    most = len(seen) // 2
    if rare.sum() > most:
        rare[np.argsort(drift.weight, kind="stable")[most:]] = False
    if not rare.any():
        return drift._replace(unmoved=0.0)
    rows = rng.choice(seen, int(rare.sum()), replace=False, p=w[seen] / w[seen].sum())
    centres, weight = drift.centres.copy(), drift.weight.copy()
    centres[rare] = X[np.sort(rows)]
    weight[rare] = weight[~rare].min() if (~rare).any() else 0.0
    return drift._replace(centres=centres, weight=weight, unmoved=0.0)


class MiniBatchKMeans(CentroidClusterer):
    r"""k-means in random batches: after a batch, each centre is the mean of all rows it has met.

    .. math:: c_j \leftarrow c_j + \frac{1}{N_j} \sum_{i \in B, \, \text{nearest } j}
              \omega_i (x_i - c_j)

    :math:`N_j` is the weight of the rows that centre j has met, this batch included. Centres that
    meet few rows are moved to rows of a batch now and then. Batches depend on the seed alone, so
    arrays, files and a cluster give the same bits; every row is met once an epoch. Parameters and
    attributes are those of `sklearn.cluster.MiniBatchKMeans`, which draws with replacement.
    [002, ch. 7]

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    init : {"k-means++", "random", "farthest", "uniform"}, (k, p) or (n,) array, or callable
        Where to start, as in `KMeans`.
    max_iter : int
        Most epochs. They end without a warning, as in scikit-learn: see `converged_`.
    batch_size : int
        Rows of a batch.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    compute_labels : bool
        Whether all rows are labelled at the end.
    random_state : int, optional
        Seed of starts and batches.
    tol : float
        Stop when the squared moves of a batch are at most this share of the mean variance of a
        column; 0 does not look at them.
    max_no_improvement : int or None
        Stop after so many batches without a new least running cost.
    init_size : int, optional
        Rows to choose starts from; 3 batches, or 3 rows for each cluster, by default.
    n_init : int or "auto"
        Number of starts, of which the best on those rows is taken; "auto" is 3 for "random",
        "uniform" and functions, else 1.
    reassignment_ratio : float
        Centres that met less than this share of what the busiest one met are moved.

    Attributes
    ----------
    cluster_centers_ : (k, p) centres
    labels_, inertia_ : (n,) labels of the rows, and their cost (without labels: an estimate)
    counts_ : (k,) weight of the rows that each centre has met
    unmoved_ : number of rows since rare centres were looked at
    n_iter_, n_steps_, converged_ : epochs, batches, and whether the fit stopped by itself
    history_ : running mean of the cost ("objective") after each epoch, and "seconds"

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.cluster.minibatch_kmeans import MiniBatchKMeans
    >>> X = np.repeat([[0.0], [10.0]], 500, axis=0) + np.linspace(0, 1, 1000)[:, None]
    >>> model = MiniBatchKMeans(2, random_state=0, batch_size=100).fit(X)
    >>> sorted(model.cluster_centers_.round().ravel().tolist())
    [0.0, 11.0]
    """

    _row_by_row = True
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(INIT_METHODS)), callable, "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "compute_labels": ["boolean"],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_no_improvement": [Interval(Integral, 0, None, closed="left"), None],
        "init_size": [Interval(Integral, 1, None, closed="left"), None],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "reassignment_ratio": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        max_iter: int = 100,
        batch_size: int = 1024,
        verbose: int = 0,
        compute_labels: bool = True,
        random_state: Any = None,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        init_size: int | None = None,
        n_init: Any = "auto",
        reassignment_ratio: float = 0.01,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._enough(rows)
        drift, seed = self._begun(rows, rng), int(rng.integers(2**31))
        still = self.tol * summarize_data(rows).variance if self.tol > 0 else -1.0
        loop = until_converged(drift, tol=0.0, max_iter=self.max_iter)
        for drift in loop:
            after, stopped = self._epoch(rows, drift, still, [seed, loop.n_iter])
            loop.update(after, objective=after.smooth, change=0.0 if stopped else np.inf)
        return self._results(rows, loop.state) | loop.report

    def _set_learned(self, learned: dict[str, Any]) -> None:
        vars(self).update(learned)  # the last epoch is an end like any other: no warning there

    def _begun(self, rows: Rows, rng: np.random.Generator) -> _MiniBatchState:
        """The best of some starts on a sample."""
        size = self._rows_to_start_from()
        starts = [self._start(rows, rng, size) for _ in range(self._starts(blind=3))]
        if len(starts) > 1:
            judged = rows.sample(size, int(rng.integers(2**31)))
            costs = [
                final_assignment(judged, start.astype(rows.dtype), None).cost for start in starts
            ]
            starts = [starts[int(np.argmin(costs))]]
        k = self.n_clusters
        return _MiniBatchState(starts[0].astype(np.float64), np.zeros(k), np.nan, np.inf, 0, 0.0, 0)

    def _rows_to_start_from(self) -> int:
        size = self.init_size or 3 * max(self.batch_size, self.n_clusters)
        if size >= self.n_clusters:
            return size
        warnings.warn(
            f"init_size={size} should be larger than n_clusters={self.n_clusters}. Setting it to "
            "min(3*n_clusters, n_samples)",
            RuntimeWarning,
            stacklevel=5,
        )
        return 3 * self.n_clusters

    def _epoch(
        self, rows: Rows, drift: _MiniBatchState, still: float, seed: list[int]
    ) -> tuple[_MiniBatchState, bool]:
        """Every row once; whether to stop."""
        rng = np.random.default_rng(seed)
        share = min(2.0 * self.batch_size / (rows.n_rows + 1), 1.0)
        for batch in _iterate_batches(rows, self.batch_size, int(rng.integers(2**31))):
            before = drift
            drift, cost = _update_on_batch(batch, drift, self.reassignment_ratio, rng)
            if before.steps > 0:  # the first cost is that of the start
                drift = _update_running_cost(drift, cost, share)
            stood = ((drift.centres - before.centres) ** 2).sum() <= still
            idle = self.max_no_improvement is not None and drift.idle >= self.max_no_improvement
            if before.steps > 0 and (stood or idle):
                return drift, True
        return drift, False

    def _results(self, rows: Rows, drift: _MiniBatchState) -> dict[str, Any]:
        centres = drift.centres.astype(rows.dtype)
        found: dict[str, Any] = {"cluster_centers_": centres, "counts_": drift.weight}
        if self.compute_labels:
            end = rows.total(final_assignment, centres, None)
            found |= {"labels_": end.labels, "inertia_": end.cost}
        else:
            found["inertia_"] = drift.smooth * rows.n_rows
        return found | {"n_steps_": drift.steps, "unmoved_": drift.unmoved}

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move the centres by one batch.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows of the batch.
        y : None
            Not used.
        sample_weight : array, optional
            Weight of each row.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._work_context():
            first = not hasattr(self, "cluster_centers_")
            rows = self._rows(X, None, sample_weight, reset=first)
            if first:
                self._enough(rows)
                drift = self._begun(rows, self._rng())
            else:
                steps, centres = self.n_steps_, self.cluster_centers_.astype(np.float64)
                drift = _MiniBatchState(
                    centres, self.counts_, np.nan, np.inf, 0, self.unmoved_, steps
                )
            rng = np.random.default_rng([0, drift.steps])
            drift, cost = _update_on_batch(rows.gather(), drift, self.reassignment_ratio, rng)
            self._set_learned(self._results(rows, drift._replace(smooth=cost)))
        return self
