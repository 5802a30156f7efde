"""Metric and non-metric multidimensional scaling."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Hidden, Interval, StrOptions
from tenfold.engine.blas_threads import one_blas_thread
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.manifold._embedding import (
    ManifoldModel,
    check_dissimilarities,
    check_finite_start,
    check_square,
    distances_of_rows,
    distances_to_rows,
    gather_rows,
)
from tenfold.manifold._smacof import (
    Dissimilarities,
    RankedPairs,
    Scaled,
    from_matrix,
    minimize_ordinal_stress,
    minimize_stress,
    minimize_stress_by_gradient,
)
from tenfold.manifold._smacof_numba import place_points
from tenfold.manifold.classical_mds import ClassicalMDS

_MAX_PLACE_ITER, _PLACE_TOL = 200, 1e-6  # of new points


class MDS(ManifoldModel):
    r"""Multidimensional scaling: points whose distances are close to given dissimilarities.

    .. math:: \min_Z \; \sigma(Z) = \sum_{i<j} w_{ij} (\delta_{ij} - \lVert z_i - z_j \rVert)^2,
              \qquad \text{Stress-1} = \Big( \frac{\sigma(Z)}{\sum_{i<j} w_{ij}
              \lVert z_i - z_j \rVert^2} \Big)^{1/2}

    Non-metric scaling keeps only the order of the dissimilarities: :math:`\delta_{ij}` is replaced
    by the nearest numbers in this order (isotonic regression), of mean square 1. Iterations are
    folds over the rows of the dissimilarities. Parameters and attributes are those of
    `sklearn.manifold.MDS`; weights, missing dissimilarities (NaN) and `transform` are added, and a
    dissimilarity of 0 counts as 0 in both forms.

    Parameters
    ----------
    n_components : int
        Dimensions of the map.
    metric_mds : bool
        Metric scaling; False for non-metric scaling.
    n_init : int
        Number of random starts, of which the best map is kept.
    init : {"classical_mds", "random"}
        Start from the map of `ClassicalMDS` (once; missing distances as shortest paths), or from
        uniform random points. "warn", scikit-learn's present default, stands for "classical_mds",
        its next one.
    max_iter : int
        Maximum number of iterations of a start.
    verbose : int
        Whether to show progress.
    eps : float
        Converged when an iteration lowers the stress by at most this share of the sum of squared
        distances; for "lbfgs", when the gradient is that small.
    n_jobs : int, optional
        Number of threads; by default all.
    random_state : int, optional
        Seed of random starts.
    dissimilarity : {"deprecated", "euclidean", "precomputed"}
        The old name of `metric`.
    metric : str or callable
        Any of `tenfold.math.distances.pairwise_distances`; "precomputed" if X holds the
        dissimilarities, in which NaN stands for missing ones.
    metric_params : dict, optional
        Parameters of the metric.
    normalized_stress : bool or "auto"
        Whether `stress_` is Stress-1; "auto" for non-metric scaling alone.
    algorithm : {"smacof", "lbfgs"}
        Majorization, which never raises the stress, or L-BFGS on the same gradient, which takes
        fewer iterations; for metric scaling.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) the map
    n_components_ : dimensions of the map, those of `init` where it was given to `fit`
    stress_ : float, stress of the map
    dissimilarity_matrix_ : (n_samples, n_samples) the dissimilarities
    disparities_ : (n_pairs,) of non-metric scaling: what stands for each of the ascending
        dissimilarities `ordered_dissimilarities_`
    n_iter_, converged_ : iterations of the best start, and whether they converged
    history_ : stress ("objective") after each of these iterations, and "seconds"

    See Also
    --------
    ClassicalMDS : A closed form, which fits products in place of distances; landmarks.
    TSNE : Keeps neighbors rather than distances.

    References
    ----------
    J. B. Kruskal (1964), Nonmetric multidimensional scaling: a numerical method.

    J. de Leeuw (1977), Applications of convex analysis to multidimensional scaling.

    I. Borg and P. Groenen (2005), Modern multidimensional scaling, chapters 8, 9 and 11.

    Examples
    --------
    Distances of points in the plane, one of which is not known:

    >>> import numpy as np
    >>> from tenfold import MDS
    >>> D = np.array([[0, 3, 5, np.nan], [3, 0, 4, 5], [5, 4, 0, 3], [np.nan, 5, 3, 0]])
    >>> model = MDS(metric="precomputed", eps=1e-12, max_iter=1000).fit(D)
    >>> model.stress_ < 1e-3
    True
    """

    _sparse_ok = _samples_rows = True
    _law_rows = 300
    _law_params = {"init": "random", "n_init": 1, "max_iter": 400, "eps": 1e-7}
    _learned_shapes = {
        "X_fit_": "n p",
        "embedding_": "n m",
        "disparities_": "q",
        "ordered_dissimilarities_": "q",
    }
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric_mds": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left"), Hidden(StrOptions({"warn"}))],
        "init": [StrOptions({"random", "classical_mds"}), Hidden(StrOptions({"warn"}))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "eps": [Interval(Real, 0.0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "dissimilarity": [
            StrOptions({"euclidean", "precomputed"}),
            Hidden(StrOptions({"deprecated"})),
        ],
        "metric": [str, callable, Hidden("boolean")],
        "metric_params": [dict, None],
        "normalized_stress": ["boolean", StrOptions({"auto"})],
        "algorithm": [StrOptions({"smacof", "lbfgs"})],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric_mds: bool = True,
        n_init: Any = 1,
        init: str = "classical_mds",
        max_iter: int = 300,
        verbose: int = 0,
        eps: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
        dissimilarity: str = "deprecated",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        normalized_stress: Any = "auto",
        algorithm: str = "smacof",
    ) -> None:
        self.n_components = n_components
        self.metric_mds = metric_mds
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.normalized_stress = normalized_stress
        self.algorithm = algorithm

    def fit(self, X: Any, y: Any = None, init: Any = None, weights: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Map rows to points.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for "precomputed" their dissimilarities.
        y : ignored
        init : (n_samples, n_components) array, optional
            The points to start from.
        weights : (n_samples, n_samples) array, optional
            Symmetric weights of the pairs; a pair of weight 0 does not count.

        Returns
        -------
        self
        """
        self._check_deprecated_names()
        self._start, self._pair_weights = init, weights
        try:
            return super().fit(X)
        finally:
            del self._start, self._pair_weights

    def _check_deprecated_names(self) -> None:
        """scikit-learn's warnings about names that it will drop."""
        if self.dissimilarity != "deprecated":
            if not isinstance(self.metric, bool) and self.metric != "euclidean":
                raise ValueError(
                    "You provided both `dissimilarity` and `metric`. Please use only `metric`."
                )
            warnings.warn(
                "The `dissimilarity` parameter is deprecated. Use `metric` instead.",
                FutureWarning,
                stacklevel=3,
            )
        if isinstance(self.metric, bool):
            warnings.warn(
                f"Use metric_mds={self.metric} instead of metric={self.metric}.",
                FutureWarning,
                stacklevel=3,
            )

    def _metric_name(self) -> Any:
        if self.dissimilarity != "deprecated":
            return self.dissimilarity
        return "euclidean" if isinstance(self.metric, bool) else self.metric

    def _map_columns(self) -> int:
        return self.n_components_

    def _is_metric_scaling(self) -> bool:
        return bool(self.metric if isinstance(self.metric, bool) else self.metric_mds)

    def _is_precomputed(self) -> bool:
        metric = self._metric_name()
        return isinstance(metric, str) and metric == "precomputed"

    @property
    def _nan_ok(self) -> bool:
        return self._is_precomputed()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._is_precomputed()
        return tags

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        X = gather_rows(rows)
        if self._is_precomputed():
            check_square(rows)
            D = check_dissimilarities(X, "dissimilarities")
        else:
            if rows.n_rows == rows.n_features:
                warnings.warn(
                    "The provided input is a square matrix: its rows are taken as samples. To use "
                    "a matrix of dissimilarities, set ``metric='precomputed'``.",
                    stacklevel=4,
                )
            name = type(self).__name__
            D = distances_of_rows(X, self._metric_name(), self.metric_params, name)
        W = _check_weights(getattr(self, "_pair_weights", None), len(D))
        best = self._best_map(D, W, rng)
        if not self._is_precomputed():
            self.X_fit_ = X
        learned = {
            "embedding_": best.points.astype(rows.dtype),
            "n_components_": best.points.shape[1],
            "stress_": final_stress(best, self._is_normalized()),
            "dissimilarity_matrix_": D,
            **best.report,
        }
        if best.disparities is not None:
            learned |= {
                "disparities_": best.disparities,
                "ordered_dissimilarities_": RankedPairs.of(D, W).values,
            }
        return learned

    def _is_normalized(self) -> bool:
        auto = self.normalized_stress == "auto"
        return not self._is_metric_scaling() if auto else bool(self.normalized_stress)

    def _best_map(self, D: np.ndarray, W: np.ndarray | None, rng: np.random.Generator) -> Scaled:
        """The best map of all starts."""
        given = getattr(self, "_start", None)
        if given is not None:
            starts = [check_start(given, len(D))]
        elif self.init == "random":
            count = 1 if self.n_init == "warn" else self.n_init
            starts = (rng.uniform(size=(len(D), self.n_components)) for _ in range(count))
        else:
            starts = [classical_start(D, self.n_components)]
        if self._is_metric_scaling():
            data: Dissimilarities = from_matrix(D, W)
            solve = minimize_stress if self.algorithm == "smacof" else minimize_stress_by_gradient
            maps = [solve(data, start, self.max_iter, self.eps) for start in starts]
        elif self.algorithm != "smacof":
            raise ValueError("algorithm='lbfgs' is for metric scaling: take algorithm='smacof'")
        else:
            maps = [minimize_ordinal_stress(D, W, s, self.max_iter, self.eps) for s in starts]
        return min(maps, key=lambda found: final_stress(found, self._is_normalized()))

    def transform(self, X: Any) -> np.ndarray:
        """Places of new rows among the points of the map, each by itself.

        A row is moved from the point of its nearest row to a minimum of the sum of squared
        differences between its dissimilarities to the rows of the fit and the distances to their
        points. A row at distance 0 from a row of the fit has its point.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for "precomputed" their dissimilarities to the rows of the fit, NaN where one
            is missing.
        """
        check_is_fitted(self)
        known = None if self._is_precomputed() else self.X_fit_
        order = None
        if not self._is_metric_scaling():
            order = self.ordered_dissimilarities_, self.disparities_
        state = self._metric_name(), self.metric_params, known, self.embedding_, order
        return self._map_rows(X, _place_rows, *state)


def _place_rows(
    chunk: Chunk, metric: Any, params: Any, X_fit: Any, points: np.ndarray, order: Any
) -> np.ndarray:
    """Places of some rows in a map."""
    D = chunk.X if X_fit is None else distances_to_rows(chunk.X, X_fit, metric, params)
    D = np.ascontiguousarray(D, np.float64)
    if np.isnan(D).all(axis=1).any():
        row = chunk.first + int(np.flatnonzero(np.isnan(D).all(axis=1))[0])
        raise ValueError(f"row {row} has no dissimilarity to any row of the fit")
    nearest = np.nanargmin(D, axis=1)
    Y = points.astype(np.float64)
    Z = np.take(Y, nearest, axis=0)
    same = np.take_along_axis(D, nearest[:, None], axis=1)[:, 0] == 0
    wanted = D if order is None or not len(order[0]) else np.interp(D, *order)
    moved = _leave_points(Y, Z)
    place_points(wanted, Y, moved, _MAX_PLACE_ITER, _PLACE_TOL)
    return np.where(same[:, None], Z, moved).astype(chunk.X.dtype)


def _leave_points(Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Starts a little off the points Z, towards the mean of all: at a point there is no slope."""
    center = Y.mean(axis=0)
    return Z + 0.1 * (center - Z) + 1e-3 * np.abs(Y - center).max(initial=0.0)


def classical_start(D: np.ndarray, n_components: int) -> np.ndarray:
    """The map of `ClassicalMDS`; missing distances are those of the shortest paths."""
    if np.isnan(D).any():
        from scipy.sparse.csgraph import csgraph_from_dense, shortest_path

        D = shortest_path(csgraph_from_dense(D, null_value=np.nan), directed=False)
        D = np.where(np.isfinite(D), D, np.nanmax(D[np.isfinite(D)]))
    points = ClassicalMDS(n_components, metric="precomputed").fit_transform(D)
    points = np.asarray(points, np.float64)
    lacking = n_components - points.shape[1]
    return np.pad(points, ((0, 0), (0, lacking))) if lacking > 0 else points


def check_start(init: Any, n: int) -> np.ndarray:
    """Points to start from, one for each row."""
    start = np.array(init, np.float64)
    if start.ndim != 2 or len(start) != n:
        raise ValueError(f"init matrix should be of shape ({n}, n_components), not {start.shape}")
    check_finite_start(start)
    return start


def _check_weights(weights: Any, n: int) -> np.ndarray | None:
    if weights is None:
        return None
    W = np.asarray(weights, np.float64)
    if W.shape != (n, n):
        raise ValueError(f"weights have shape {W.shape}, but there are {n} rows: give ({n}, {n})")
    if np.isnan(W).any():
        raise ValueError("weights must not be NaN: a pair that does not count has weight 0")
    W = check_dissimilarities(W, "weights").copy()
    np.fill_diagonal(W, 0.0)
    return W


def final_stress(found: Scaled, normalized: bool) -> float:
    """The stress of a map: the sum of squares, or Stress-1."""
    return float(np.sqrt(found.stress / max(found.size, 1e-300))) if normalized else found.stress


def stress(
    dissimilarities: Any, embedding: Any, *, weights: Any = None, normalized: bool = False
) -> float:
    """Stress of a map: how far its distances are from dissimilarities.

    Parameters
    ----------
    dissimilarities : (n, n) array
        What the distances should be; NaN where it is not known.
    embedding : (n, k) array
        The points.
    weights : (n, n) array, optional
        Weights of the pairs.
    normalized : bool
        Whether to divide by the sum of squared distances and take the root (Stress-1): "0 indicates
        perfect fit, 0.025 excellent, 0.05 good, 0.1 fair, 0.2 poor" (Kruskal 1964).

    Examples
    --------
    >>> import numpy as np
    >>> stress(np.array([[0.0, 2.0], [2.0, 0.0]]), [[0.0], [1.0]])
    1.0
    """
    D = np.ascontiguousarray(dissimilarities, np.float64)
    Y = np.asarray(embedding, np.float64)
    D = check_dissimilarities(D, "dissimilarities")
    W = _check_weights(weights, len(D))
    rows = from_matrix(np.nan_to_num(D), None).rows
    if np.isnan(D).any():
        W = np.where(np.isnan(D), 0.0, 1.0 if W is None else W)
    sums = Dissimilarities(rows, W).sums(check_start(Y, len(D)))
    return final_stress(Scaled(Y, sums.stress, sums.size, {}), normalized)


def smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: Any = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: Any = "auto",
    weights: Any = None,
) -> Any:
    """Multidimensional scaling of dissimilarities, as a function: see `MDS`.

    Parameters
    ----------
    dissimilarities : (n, n) array
        Symmetric; NaN where one is missing.
    metric : bool
        Metric or non-metric scaling.
    n_components, n_init, n_jobs, max_iter, verbose, eps, random_state, normalized_stress : Any
        As in `MDS`.
    init : (n, k) array, optional
        Points to start from, once; else random ones.
    return_n_iter : bool
        Whether to return the number of iterations too.
    weights : (n, n) array, optional
        Weights of the pairs.

    Returns
    -------
    points : (n, n_components) array
    stress : float
    n_iter : int, if asked for

    Examples
    --------
    >>> import numpy as np
    >>> D = np.array([[0.0, 3, 5], [3, 0, 4], [5, 4, 0]])
    >>> points, value = smacof(D, random_state=0, eps=1e-12)
    >>> value < 1e-6
    True
    """
    model = MDS(
        n_components,
        metric_mds=metric,
        n_init=n_init,
        init="random",
        max_iter=max_iter,
        verbose=verbose,
        eps=eps,
        n_jobs=n_jobs,
        random_state=check_random_state(random_state),
        metric="precomputed",
        normalized_stress=normalized_stress,
    )
    with one_blas_thread():
        model.fit(np.asarray(dissimilarities), init=init, weights=weights)
    found = model.embedding_, model.stress_
    return (*found, model.n_iter_) if return_n_iter else found
