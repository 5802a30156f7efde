"""k-means by mini-batches: centres move a little with every batch of rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from tenfold.cluster.batch_steps import Drift, batches, followed, step
from tenfold.cluster.centred import Centred
from tenfold.cluster.lloyd import ending, survey
from tenfold.rows import Rows
from tenfold.solve import until_still
from tenfold.solve.spreading import STARTS


class MiniBatchKMeans(Centred):
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
    >>> from tenfold.cluster.minibatch import MiniBatchKMeans
    >>> X = np.repeat([[0.0], [10.0]], 500, axis=0) + np.linspace(0, 1, 1000)[:, None]
    >>> model = MiniBatchKMeans(2, random_state=0, batch_size=100).fit(X)
    >>> sorted(model.cluster_centers_.round().ravel().tolist())
    [0.0, 11.0]
    """

    _row_by_row = True
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(STARTS)), callable, "array-like"],
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
        still = self.tol * survey(rows).variance if self.tol > 0 else -1.0
        loop = until_still(drift, tol=0.0, max_iter=self.max_iter)
        for drift in loop:
            after, stopped = self._epoch(rows, drift, still, [seed, loop.n_iter])
            loop.tell(after, objective=after.smooth, change=0.0 if stopped else np.inf)
        return self._results(rows, loop.state) | loop.report

    def _keep(self, learned: dict[str, Any]) -> None:
        vars(self).update(learned)  # the last epoch is an end like any other: no warning there

    def _begun(self, rows: Rows, rng: np.random.Generator) -> Drift:
        """The best of some starts on a sample."""
        size = self._rows_to_start_from()
        starts = [self._start(rows, rng, size) for _ in range(self._starts(blind=3))]
        if len(starts) > 1:
            judged = rows.sample(size, int(rng.integers(2**31)))
            costs = [ending(judged, start.astype(rows.dtype), None).cost for start in starts]
            starts = [starts[int(np.argmin(costs))]]
        k = self.n_clusters
        return Drift(starts[0].astype(np.float64), np.zeros(k), np.nan, np.inf, 0, 0.0, 0)

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

    def _epoch(self, rows: Rows, drift: Drift, still: float, seed: list[int]) -> tuple[Drift, bool]:
        """Every row once; whether to stop."""
        rng = np.random.default_rng(seed)
        share = min(2.0 * self.batch_size / (rows.n_rows + 1), 1.0)
        for batch in batches(rows, self.batch_size, int(rng.integers(2**31))):
            before = drift
            drift, cost = step(batch, drift, self.reassignment_ratio, rng)
            if before.steps > 0:  # the first cost is that of the start
                drift = followed(drift, cost, share)
            stood = ((drift.centres - before.centres) ** 2).sum() <= still
            idle = self.max_no_improvement is not None and drift.idle >= self.max_no_improvement
            if before.steps > 0 and (stood or idle):
                return drift, True
        return drift, False

    def _results(self, rows: Rows, drift: Drift) -> dict[str, Any]:
        centres = drift.centres.astype(rows.dtype)
        found: dict[str, Any] = {"cluster_centers_": centres, "counts_": drift.weight}
        if self.compute_labels:
            end = rows.total(ending, centres, None)
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
        with self._at_work():
            first = not hasattr(self, "cluster_centers_")
            rows = self._rows(X, None, sample_weight, reset=first)
            if first:
                self._enough(rows)
                drift = self._begun(rows, self._rng())
            else:
                steps, centres = self.n_steps_, self.cluster_centers_.astype(np.float64)
                drift = Drift(centres, self.counts_, np.nan, np.inf, 0, self.unmoved_, steps)
            rng = np.random.default_rng([0, drift.steps])
            drift, cost = step(rows.gather(), drift, self.reassignment_ratio, rng)
            self._keep(self._results(rows, drift._replace(smooth=cost)))
        return self
