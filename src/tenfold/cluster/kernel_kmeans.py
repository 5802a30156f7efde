"""Kernel k-means with Nystroem landmarks."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.validation import check_is_fitted

from tenfold._compiled.reductions import add_rows_by_label
from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Clusterer
from tenfold.cluster._lloyd import FinalAssignment
from tenfold.cluster._nystroem import KernelFunction, Landmarks, draw_landmarks
from tenfold.cluster.initialization import draw_weighted
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged


class _KernelClusterSums(NamedTuple):
    """Weight and sum of kernel values of each cluster, and the cost of the current centers."""

    weight: np.ndarray  # (k,)
    sums: np.ndarray  # (k, m)
    cost: float


class KernelKMeans(Clusterer):
    r"""Kernel k-means: k-means in the feature space of a kernel.

    .. math:: \min_c \sum_i \omega_i \min_j \lVert \phi(x_i) - c_j \rVert^2, \qquad
              c_j = \sum_l \alpha_{jl} \, \phi(x_l), \quad k(x, x') = \phi(x) \cdot \phi(x')

    Centers are linear combinations of landmarks, a random sample of rows. With all n rows as
    landmarks this is exact kernel k-means; with m of them an iteration takes n m instead of n^2
    kernel values, one pass over the rows, and each center moves to the projection of the mean of
    its rows (Nystroem approximation). No step raises the cost. An empty cluster keeps its center.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    kernel : str or callable
        A kernel of `sklearn.metrics.pairwise.pairwise_kernels`, a function of two rows, or
        "precomputed": X holds the kernel values of all rows with all rows. Sparse rows take
        "rbf", "laplacian", "linear", "poly", "sigmoid" and "cosine".
    gamma, degree, coef0 : float
        Parameters of the kernel; gamma is 1 / n_features by default.
    kernel_params : dict, optional
        Further arguments of a kernel that is a function.
    n_landmarks : int or None
        Number of landmarks; None takes all rows.
    n_init : int
        Number of initializations (k-means++ among the landmarks), of which the best is kept.
    max_iter : int
        Maximum iterations.
    tol : float
        Converged when the squared moves of all centers sum to at most this fraction of the mean
        kernel value of a row with itself.
    random_state : int, optional
        Seed of landmarks and initializations.

    Attributes
    ----------
    labels_ : (n_samples,) cluster of each row
    inertia_ : weighted sum of squared distances to the nearest center
    dual_coef_ : (n_clusters, n_landmarks) the alphas
    landmarks_ : (n_landmarks, n_features) landmarks; their row numbers for a precomputed kernel
    n_iter_, converged_ : iterations of the best initialization, and whether they converged
    history_ : cost ("objective") before each of these iterations, and "seconds"

    See Also
    --------
    KMeans : Clusters by Euclidean distance.

    References
    ----------
    B. Schölkopf, A. Smola and K.-R. Müller (1998), Nonlinear component analysis as a kernel
    eigenvalue problem.

    R. Chitta, R. Jin, T. C. Havens and A. K. Jain (2011), Approximate kernel k-means: solution to
    large scale kernel clustering.

    Examples
    --------
    Two concentric rings, which no two centers in the plane separate:

    >>> import numpy as np
    >>> from tenfold import KernelKMeans
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.c_[np.cos(angle), np.sin(angle)]
    >>> model = KernelKMeans(2, kernel=lambda a, b: (a @ a) * (b @ b), random_state=0)
    >>> labels = model.fit(np.vstack([ring, 4 * ring])).labels_
    >>> bool(len(set(labels[:40])) == len(set(labels[40:])) == 1 and labels[0] != labels[40])
    True
    """

    _sparse_ok = True
    _samples_rows = True
    _law_rows = 4500
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_landmarks: int | None = 100,
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        k = self.n_clusters
        if rows.n_rows < k:
            raise ValueError(f"n_samples={rows.n_rows} should be >= n_clusters={k}.")
        m = rows.n_rows if self.n_landmarks is None else max(self.n_landmarks, k)
        landmarks = draw_landmarks(rows, self._kernel(), m, int(rng.integers(2**31)))
        solutions = [self._fit_from(rows, landmarks, rng) for _ in range(self.n_init)]
        alphas, end, report = min(solutions, key=lambda solution: solution[1].cost)
        return {
            "labels_": end.labels,
            "inertia_": end.cost,
            "dual_coef_": alphas.astype(rows.dtype),
            "half_squares_": landmarks.half_squares(alphas),
            "landmarks_": landmarks.rows,
            **report,
        }

    def _kernel(self) -> KernelFunction:
        if isinstance(self.kernel, str):
            return KernelFunction(self.kernel, self.gamma, self.degree, self.coef0, {})
        return KernelFunction(self.kernel, None, 0, 0, self.kernel_params or {})

    def _fit_from(
        self, rows: Rows, landmarks: Landmarks, rng: np.random.Generator
    ) -> tuple[np.ndarray, FinalAssignment, dict[str, Any]]:
        start = np.zeros((self.n_clusters, len(landmarks.K)))
        start[
            np.arange(self.n_clusters), _kernel_kmeans_plusplus(landmarks.K, self.n_clusters, rng)
        ] = 1.0
        scale = float(np.abs(landmarks.K.diagonal()).mean())
        loop = until_converged(start, tol=self.tol * scale, max_iter=self.max_iter)
        for alphas in loop:
            s = rows.total(
                _kernel_cluster_sums,
                landmarks.kernel,
                landmarks.rows,
                alphas,
                landmarks.half_squares(alphas),
            )
            means = s.sums / np.where(s.weight > 0, s.weight, 1.0)[:, None]
            updated = np.where(s.weight[:, None] > 0, means @ landmarks.inverse, alphas)
            step = updated - alphas
            change = np.einsum("ij,ij->", step @ landmarks.K, step)
            loop.update(updated, objective=s.cost, change=max(change, 0.0))
        state = (landmarks.kernel, landmarks.rows, loop.state, landmarks.half_squares(loop.state))
        return loop.state, rows.total(_final_assignment, *state), loop.report

    def predict(self, X: Any) -> np.ndarray:
        """Number of the nearest center of each row, (n_samples,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        check_is_fitted(self)
        state = (self._kernel(), self.landmarks_, self.dual_coef_, self.half_squares_)
        return self._map_rows(X, _nearest_by_kernel, *state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _kernel_kmeans_plusplus(K: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k-means++ among landmarks, with squared distances from the kernel."""
    diagonal = K.diagonal()
    chosen = draw_weighted(np.ones(len(K)), 1, rng)
    nearest = np.full(len(K), np.inf)
    for _ in range(1, k):
        last = chosen[-1]
        nearest = np.minimum(nearest, np.maximum(diagonal + K[last, last] - 2 * K[last], 0))
        weights = nearest if nearest.any() else np.ones(len(K))
        chosen = np.append(chosen, draw_weighted(weights, 1, rng))
    return chosen


def _center_scores(
    chunk: Chunk,
    kernel: KernelFunction,
    landmarks: np.ndarray,
    alphas: np.ndarray,
    half: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Kernel values with the landmarks, and |c|^2/2 - c.phi(x) for all centers."""
    values = kernel.values(chunk.X, landmarks)
    return values, half - values @ alphas.T


def _nearest_by_kernel(chunk: Chunk, *state: Any) -> np.ndarray:
    """Number of the nearest center of each row."""
    return _center_scores(chunk, *state)[1].argmin(axis=1).astype(np.int32)


def _kernel_cluster_sums(chunk: Chunk, kernel: KernelFunction, *state: Any) -> _KernelClusterSums:
    """Weight and sum of kernel values of each cluster."""
    values, scores = _center_scores(chunk, kernel, *state)
    label, w = scores.argmin(axis=1), chunk.weights().astype(np.float64)
    weight, sums = np.zeros(scores.shape[1]), np.zeros((scores.shape[1], values.shape[1]))
    add_rows_by_label(values, w, label, sums, weight)
    squares = kernel.squares(chunk) + 2 * scores.min(axis=1)
    return _KernelClusterSums(weight, sums, float(w @ np.maximum(squares, 0)))


def _final_assignment(chunk: Chunk, kernel: KernelFunction, *state: Any) -> FinalAssignment:
    """Cost and labels of a chunk."""
    scores = _center_scores(chunk, kernel, *state)[1]
    squares = np.maximum(kernel.squares(chunk) + 2 * scores.min(axis=1), 0)
    cost = float(chunk.weights().astype(np.float64) @ squares)
    return FinalAssignment(cost, scores.argmin(axis=1).astype(np.int32))
