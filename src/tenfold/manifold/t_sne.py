"""t-distributed stochastic neighbor embedding."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.decomposition.pca import PCA
from tenfold.engine.rows import Rows
from tenfold.engine.tiled_cholesky import run_pieces
from tenfold.manifold._embedding import (
    ManifoldModel,
    check_distance_memory,
    check_finite_start,
    distances_of_rows,
    gather_rows,
)
from tenfold.manifold._similarities import (
    ROWS_PER_PIECE,
    all_similarities,
    neighbor_count,
    neighbor_similarities,
    row_probabilities,
)
from tenfold.manifold._t_sne_descent import (
    START_DEVIATION,
    DescentOptions,
    Divergence,
    minimize_divergence,
)
from tenfold.manifold._t_sne_numba import place_among
from tenfold.neighbors.nearest_neighbors import NearestNeighbors

MAX_ROWS_BY_PAIRS = 10_000  # up to which all pairs take no longer than a grid or a tree
_MAX_PLACE_ITER, _PLACE_TOL = 100, 1e-4  # of new points
_DENSE_CURE = "take method='auto', which needs similarities of neighbors alone"


class TSNE(ManifoldModel):
    r"""t-SNE: a map in which rows have the neighbors that they have in the data.

    .. math:: \min_Y \; \sum_{i \ne j} p_{ij} \log \frac{p_{ij}}{q_{ij}}, \qquad
              q_{ij} \propto (1 + \lVert y_i - y_j \rVert^2 / \nu)^{-(\nu + 1)/2}

    :math:`p_{ij}` are probabilities of neighbors, Gaussian with as many effective neighbors
    (`perplexity`) around each row. The repulsion of all pairs is computed pair by pair up to 10,000
    rows, without any approximation, and beyond that through a grid and FFT in time proportional
    to the rows. The map depends on `random_state` alone: the number of threads changes no bit.
    Parameters and attributes are those of `sklearn.manifold.TSNE`, and more.

    Distances between clusters and their sizes in the map say little; compare several
    perplexities.

    Parameters
    ----------
    n_components : int
        Dimensions of the map.
    perplexity : float
        Effective number of neighbors; below the number of rows.
    early_exaggeration : float
        Factor of all :math:`p_{ij}` in the first 250 iterations.
    learning_rate : float or "auto"
        Step of the descent; "auto" is n / early_exaggeration / 4, at least 50.
    max_iter : int
        Maximum number of iterations, at least 250.
    n_iter_without_progress : int
        Iterations without a smaller divergence after which to stop, in steps of 50.
    min_grad_norm : float
        Stop where the norm of the gradient is at most this.
    metric : str or callable
        Any metric of `NearestNeighbors`; "precomputed" if X holds distances, dense or as a sparse
        graph of neighbors.
    metric_params : dict, optional
        Parameters of the metric.
    init : {"pca", "random"} or (n_samples, n_components) array
        Where to start; "pca" keeps the arrangement of the clusters and is the same for any seed.
    verbose : int
        Whether to show progress.
    random_state : int, optional
        Seed of a random start.
    method : {"auto", "exact", "barnes_hut", "interpolation"}
        "exact" gives all pairs of rows a similarity, the others the 3 * perplexity nearest ones.
        Repulsion is that of all pairs for "exact"; "barnes_hut" lets cells of a tree stand for
        their points, "interpolation" (two dimensions) a grid. "auto" takes all pairs up to 10,000
        rows, then "interpolation", or "barnes_hut" in one or three dimensions.
    angle : float
        Of "barnes_hut": cells count as one point if width / distance is below it; 0 is exact.
    n_jobs : int, optional
        Number of threads; by default all.
    degrees_of_freedom : float, optional
        :math:`\nu` of the tails: max(n_components - 1, 1) by default; below 1 clusters split finer.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) float32, the map
    kl_divergence_ : Kullback-Leibler divergence of the map
    learning_rate_ : the step
    n_iter_, converged_ : iterations done, and whether a rule of stopping ended them
    history_ : divergence ("objective") after every 50 iterations, and "seconds"

    See Also
    --------
    MDS : Keeps distances.
    trustworthiness : How far neighbors in a map are neighbors in the data.

    References
    ----------
    L. van der Maaten and G. Hinton (2008), Visualizing data using t-SNE.

    L. van der Maaten (2014), Accelerating t-SNE using tree-based algorithms.

    G. C. Linderman et al. (2019), Fast interpolation-based t-SNE.

    D. Kobak and P. Berens (2019), The art of using t-SNE for single-cell transcriptomics.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import TSNE
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(30, 5)), rng.normal(size=(30, 5)) + 9])
    >>> Y = TSNE(perplexity=10, max_iter=500).fit_transform(X)
    >>> apart = np.linalg.norm(Y[:30].mean(axis=0) - Y[30:].mean(axis=0))
    >>> bool(apart > 2 * Y[:30].std())
    True
    """

    _sparse_ok = _samples_rows = True
    _has_momentum = True
    _min_rows = 2
    _law_rows = 240
    _law_params = {"perplexity": 3.0, "max_iter": 300, "init": "random"}
    _learned_shapes = {"embedding_": "n m"}
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "perplexity": [Interval(Real, 0, None, closed="neither")],
        "early_exaggeration": [Interval(Real, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 250, None, closed="left")],
        "n_iter_without_progress": [Interval(Integral, -1, None, closed="left")],
        "min_grad_norm": [Interval(Real, 0, None, closed="left")],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "init": [StrOptions({"pca", "random"}), np.ndarray],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "method": [StrOptions({"auto", "exact", "barnes_hut", "interpolation"})],
        "angle": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [None, Integral],
        "degrees_of_freedom": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        early_exaggeration: float = 12.0,
        learning_rate: Any = "auto",
        max_iter: int = 1000,
        n_iter_without_progress: int = 300,
        min_grad_norm: float = 1e-7,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "pca",
        verbose: int = 0,
        random_state: Any = None,
        method: str = "auto",
        angle: float = 0.5,
        n_jobs: int | None = None,
        degrees_of_freedom: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_iter_without_progress = n_iter_without_progress
        self.min_grad_norm = min_grad_norm
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.verbose = verbose
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.n_jobs = n_jobs
        self.degrees_of_freedom = degrees_of_freedom

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        n = rows.n_rows
        self._check_parameters(rows)
        X = gather_rows(rows)
        if self._is_precomputed():
            _check_precomputed(X, self.method)
        index = NearestNeighbors(metric=self.metric, metric_params=self.metric_params)
        index.fit(X)
        if self.method == "exact":
            check_distance_memory(n, 6.0, type(self).__name__, _DENSE_CURE)
            D = X if self._is_precomputed() else self._distances(X)
            P = all_similarities(D, self.perplexity)
        else:
            P = neighbor_similarities(index, X, self.perplexity, n)
        rate = self.learning_rate
        rate = max(n / self.early_exaggeration / 4, 50.0) if rate == "auto" else float(rate)
        options = DescentOptions(
            self.max_iter,
            rate,
            self.early_exaggeration,
            self.min_grad_norm,
            self.n_iter_without_progress,
        )
        start = self._start(X, rng)
        divergence = Divergence(P, self._freedom(), self._repulsion(n), self.angle)
        points, value, report = minimize_divergence(divergence, start, options)
        if not np.isfinite(points).all():
            raise ValueError(
                f"the map left the range of numbers with learning_rate={rate:.3g}: lower it, or "
                "take 'auto'"
            )
        return {
            "embedding_": points,
            "kl_divergence_": value,
            "learning_rate_": rate,
            "neighbors_": index,
            **report,
        }

    def _distances(self, X: Any) -> np.ndarray:
        name = type(self).__name__
        D = distances_of_rows(X, self.metric, self.metric_params, name)
        if D.min(initial=0.0) < 0:
            raise ValueError("All distances should be positive, the metric given is not correct")
        return D

    def _check_parameters(self, rows: Rows) -> None:
        """Raise errors for parameters that contradict each other or the rows."""
        n, k = rows.n_rows, self.n_components
        if self._is_precomputed():
            if isinstance(self.init, str) and self.init == "pca":
                raise ValueError(
                    'The parameter init="pca" cannot be used with metric="precomputed": take '
                    'init="random", or the map of ClassicalMDS.'
                )
            if n != rows.n_features:
                raise ValueError(
                    f"X should be a square distance matrix, not of shape ({n}, {rows.n_features})"
                )
        if self.perplexity >= n:
            raise ValueError(
                f"perplexity ({self.perplexity}) must be less than n_samples ({n}): a third of the "
                "rows is a large one"
            )
        if self.method == "barnes_hut" and k > 3:
            raise ValueError(
                "'n_components' should be inferior to 4 for the barnes_hut algorithm as it relies "
                "on quad-tree or oct-tree: take method='exact'"
            )
        if self.method == "interpolation" and k != 2:
            raise ValueError("method='interpolation' is for n_components=2: take method='auto'")

    def _freedom(self) -> float:
        given = self.degrees_of_freedom
        return float(max(self.n_components - 1, 1) if given is None else given)

    def _repulsion(self, n: int) -> str:
        """How the repulsion is computed: "pairs", "interpolation" or "barnes_hut"."""
        if self.method in ("barnes_hut", "interpolation"):
            return self.method
        if self.method == "exact" or n <= MAX_ROWS_BY_PAIRS or self.n_components > 3:
            return "pairs"
        return "interpolation" if self.n_components == 2 else "barnes_hut"

    def _start(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        """Points to start from, (n_samples, n_components)."""
        n, k = X.shape[0], self.n_components
        if not isinstance(self.init, str):
            start = np.asarray(self.init, np.float32)
            if start.shape != (n, k):
                raise ValueError(f"init has shape {start.shape}, and the map ({n}, {k})")
            check_finite_start(start)
            return start
        if self.init == "random":
            return START_DEVIATION * rng.normal(size=(n, k))
        if k > min(n, X.shape[1]):
            raise ValueError(
                f"n_components={k} must be between 0 and min(n_samples, n_features)="
                f"{min(n, X.shape[1])} for init='pca': take init='random'"
            )
        pca = PCA(n_components=k, random_state=int(rng.integers(2**31)))
        start = np.asarray(pca.set_output(transform="default").fit_transform(X), np.float64)
        deviation = start[:, 0].std()
        return start * (START_DEVIATION / deviation if deviation > 0 else 1.0)

    def transform(self, X: Any) -> np.ndarray:
        """Places of new rows in the map, each by itself, which stays as it is.

        A row is moved from the mean of its neighbors' points to a minimum of the divergence of its
        own probabilities. A row at distance 0 from a row of the fit has its point.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for "precomputed" their distances to the rows of the fit.
        """
        check_is_fitted(self)
        index, Y = self.neighbors_, self.embedding_.astype(np.float64)
        n = len(Y)
        k = min(neighbor_count(self.perplexity, n) + 1, n)
        with self._work_context():
            distances, rows = index.kneighbors(self._queries(X), k)
            P = row_probabilities(distances**2, min(self.perplexity, 0.99 * k))
            Z = np.einsum("ij,ijd->id", P, Y[rows])

            def work(first: int) -> None:
                part = slice(first, first + ROWS_PER_PIECE // 8)
                state = Y, self._freedom(), _MAX_PLACE_ITER, _PLACE_TOL
                place_among(P[part], rows[part], *state, Z[part])

            run_pieces(work, range(0, len(Z), ROWS_PER_PIECE // 8))
        same = distances[:, 0] == 0
        Z[same] = Y[rows[same, 0]]
        return Z.astype(np.float32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _check_precomputed(X: Any, method: str) -> None:
    if issparse(X) and method == "exact":
        raise TypeError(
            'TSNE with method="exact" does not accept sparse precomputed distance matrix. Use '
            'method="barnes_hut" or provide the dense distance matrix.'
        )
    values = X.data if issparse(X) else X
    if values.min(initial=0.0) < 0:
        raise ValueError(
            "Negative values in data passed to TSNE.fit(). With metric='precomputed', X should "
            "contain positive distances."
        )
