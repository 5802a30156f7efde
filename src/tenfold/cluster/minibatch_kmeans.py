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
from tenfold.math.linalg import to_dense
from tenfold.optim.convergence import until_converged


class _MiniBatchState(NamedTuple):
    """Centers, and the running cost by which the iterations stop."""

    centers: np.ndarray  # (k, p) float64
    weight: np.ndarray  # (k,) of the rows that were assigned to each center
    running_cost: float  # exponential moving average of the cost of a row; NaN before the first
    best_cost: float  # the least running cost
    batches_since_best: int
    rows_since_reassignment: float
    steps: int


def _iterate_batches(rows: Rows, size: int, seed: int) -> Iterator[Chunk]:
    """Every row once, in random batches that depend on the seed alone."""
    for block in rows.blocks(seed):
        for start in range(0, len(block.order), size):
            order = block.order[start : start + size]
            yield Chunk(block.X[order], None, None if block.w is None else block.w[order])


def _update_on_batch(
    batch: Chunk, state: _MiniBatchState, ratio: float, rng: np.random.Generator
) -> tuple[_MiniBatchState, float]:
    """The state after a batch, and the mean cost of its rows before."""
    centers = state.centers.astype(batch.X.dtype)
    labels, squares = labels_and_squared_distances(batch, centers, None)
    w = batch.weights().astype(np.float64)
    batch_weight, sums = np.zeros(len(centers)), np.zeros(centers.shape)
    X = to_dense(batch.X)
    add_rows_by_label(X, w, labels, sums, batch_weight)
    weight = state.weight + batch_weight
    divisor = np.where(weight > 0, weight, 1.0)[:, None]
    updated = state._replace(
        centers=state.centers + (sums - batch_weight[:, None] * state.centers) / divisor,
        weight=weight,
        steps=state.steps + 1,
        rows_since_reassignment=state.rows_since_reassignment + batch.rows,
    )
    if (weight == 0).any() or updated.rows_since_reassignment >= 10 * len(weight):
        updated = _reassign_rare_centers(updated, X, w, ratio, rng)
    return updated, float(w @ squares) / max(w.sum(), np.finfo(float).tiny)


def _update_running_cost(state: _MiniBatchState, cost: float, rate: float) -> _MiniBatchState:
    """The state with the running cost after a batch."""
    last = state.running_cost
    running = cost if np.isnan(last) else (1 - rate) * last + rate * cost
    return state._replace(
        running_cost=running,
        best_cost=min(running, state.best_cost),
        batches_since_best=0 if running < state.best_cost else state.batches_since_best + 1,
    )


def _reassign_rare_centers(
    state: _MiniBatchState, X: np.ndarray, w: np.ndarray, ratio: float, rng: np.random.Generator
) -> _MiniBatchState:
    """Move centers with few rows to rows of the batch, at most half of the batch."""
    rare = state.weight < ratio * state.weight.max()
    candidates = np.flatnonzero(w > 0)
    most = len(candidates) // 2
    if rare.sum() > most:
        rare[np.argsort(state.weight, kind="stable")[most:]] = False
    if not rare.any():
        return state._replace(rows_since_reassignment=0.0)
    p = w[candidates] / w[candidates].sum()
    rows = rng.choice(candidates, int(rare.sum()), replace=False, p=p)
    centers, weight = state.centers.copy(), state.weight.copy()
    centers[rare] = X[np.sort(rows)]
    weight[rare] = weight[~rare].min() if (~rare).any() else 0.0
    return state._replace(centers=centers, weight=weight, rows_since_reassignment=0.0)


class MiniBatchKMeans(CentroidClusterer):
    r"""Mini-batch k-means: each center is the mean of all rows that were assigned to it so far.

    .. math:: c_j \leftarrow c_j + \frac{1}{N_j} \sum_{i \in B, \, \text{nearest } j}
              \omega_i (x_i - c_j)

    :math:`N_j` is the weight of the rows assigned to center j so far, this batch included. Centers
    with few rows are moved to rows of a batch from time to time. Batches depend on the seed alone,
    so arrays, files and Dask give the same bits; an epoch visits every row once. Parameters and
    attributes are those of `sklearn.cluster.MiniBatchKMeans`, which draws with replacement.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    init : {"k-means++", "random", "farthest", "uniform"}, array or callable
        Initialization, as in `KMeans`.
    max_iter : int
        Maximum epochs. There is no warning if they do not suffice: see `converged_`.
    batch_size : int
        Rows of a batch.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    compute_labels : bool
        Whether labels and inertia of all rows are computed at the end.
    random_state : int, optional
        Seed of initializations and batches.
    tol : float
        Stop when the squared moves of a batch are at most this fraction of the mean variance of a
        feature; 0 turns this off.
    max_no_improvement : int or None
        Stop after so many batches without a new minimum of the running cost.
    init_size : int, optional
        Rows of the sample for initialization; by default 3 batches, or 3 rows for each cluster.
    n_init : int or "auto"
        Number of initializations, of which the best on that sample is used; "auto" is 3 for
        "random", "uniform" and callables, otherwise 1.
    reassignment_ratio : float
        Centers with less than this fraction of the largest weight are moved.

    Attributes
    ----------
    cluster_centers_ : (n_clusters, n_features)
    labels_, inertia_ : (n_samples,) labels, and their cost (an estimate without `compute_labels`)
    counts_ : (n_clusters,) weight of the rows that were assigned to each center
    unmoved_ : rows since the last reassignment of rare centers
    n_iter_, n_steps_, converged_ : epochs, batches, and whether a stopping criterion was met
    history_ : running mean of the cost ("objective") after each epoch, and "seconds"

    See Also
    --------
    KMeans : Lloyd's algorithm on all rows.

    References
    ----------
    D. Sculley (2010), Web-scale k-means clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MiniBatchKMeans
    >>> X = np.repeat([[0.0], [10.0]], 500, axis=0) + np.linspace(0, 1, 1000)[:, None]
    >>> model = MiniBatchKMeans(2, random_state=0, batch_size=100).fit(X)
    >>> sorted(model.cluster_centers_.round().ravel().tolist())
    [0.0, 11.0]
    """

    _learns_in_row_order = True
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
        self._check_row_count(rows)
        state, seed = self._initial_state(rows, rng), int(rng.integers(2**31))
        tol = self.tol * summarize_data(rows).variance if self.tol > 0 else -1.0
        loop, cost = until_converged(state, tol=0.0, max_iter=self.max_iter), np.nan
        for state in loop:
            after, cost, stopped = self._run_epoch(rows, state, tol, [seed, loop.n_iter])
            loop.update(after, objective=cost, change=0.0 if stopped else np.inf)
        return self._results(rows, loop.state._replace(running_cost=cost)) | loop.report

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned | {"warning_": ""})  # reaching max_iter is no reason for one

    def _initial_state(self, rows: Rows, rng: np.random.Generator) -> _MiniBatchState:
        """The state of the best of `n_init` initializations on a sample."""
        size = self._sample_size()
        starts = [
            self._initial_centers(rows, rng, size)
            for _ in range(self._n_initializations(independent=3))
        ]
        if len(starts) > 1:
            sample = rows.sample(size, int(rng.integers(2**31)))
            costs = [
                final_assignment(sample, start.astype(rows.dtype), None).cost for start in starts
            ]
            starts = [starts[int(np.argmin(costs))]]
        k = self.n_clusters
        return _MiniBatchState(starts[0].astype(np.float64), np.zeros(k), np.nan, np.inf, 0, 0.0, 0)

    def _sample_size(self) -> int:
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

    def _run_epoch(
        self, rows: Rows, state: _MiniBatchState, tol: float, seed: list[int]
    ) -> tuple[_MiniBatchState, float, bool]:
        """The state after one epoch, the cost of a row, and whether a criterion stops it."""
        rng, cost = np.random.default_rng(seed), np.nan
        rate = min(2.0 * self.batch_size / (rows.n_rows + 1), 1.0)
        for batch in _iterate_batches(rows, self.batch_size, int(rng.integers(2**31))):
            before = state
            state, cost = _update_on_batch(batch, state, self.reassignment_ratio, rng)
            if before.steps > 0:  # the first cost is that of the initial centers
                state = _update_running_cost(state, cost, rate)
            converged = ((state.centers - before.centers) ** 2).sum() <= tol
            patience = self.max_no_improvement
            stalled = patience is not None and state.batches_since_best >= patience
            if before.steps > 0 and (converged or stalled):
                return state, state.running_cost, True
        return state, cost if np.isnan(state.running_cost) else state.running_cost, False

    def _results(self, rows: Rows, state: _MiniBatchState) -> dict[str, Any]:
        centers = state.centers.astype(rows.dtype)
        learned: dict[str, Any] = {"cluster_centers_": centers, "counts_": state.weight}
        if self.compute_labels:
            end = rows.total(final_assignment, centers, None)
            learned |= {"labels_": end.labels, "inertia_": end.cost}
        else:
            learned["inertia_"] = state.running_cost * rows.n_rows
        unmoved = state.rows_since_reassignment
        return learned | {"n_steps_": state.steps, "unmoved_": unmoved}

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the centers with one batch.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows of the batch.
        y : None
            Ignored; present for API consistency.
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
                self._check_row_count(rows)
                state = self._initial_state(rows, self._rng())
            else:
                steps, centers = self.n_steps_, self.cluster_centers_.astype(np.float64)
                state = _MiniBatchState(
                    centers, self.counts_, np.nan, np.inf, 0, self.unmoved_, steps
                )
            rng = np.random.default_rng([0, state.steps])
            state, cost = _update_on_batch(rows.gather(), state, self.reassignment_ratio, rng)
            self._set_learned(self._results(rows, state._replace(running_cost=cost)))
        return self
