"""Classical multidimensional scaling, of all rows or through landmarks."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dsymv  # pyright: ignore[reportAttributeAccessIssue]
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.manifold._embedding import (
    ManifoldModel,
    check_dissimilarities,
    check_square,
    distances_of_rows,
    distances_to_rows,
    gather_rows,
)

_MAX_DENSE_ROWS = 200  # up to which all eigenvectors take no longer than a few by iteration
_MAX_ITERATED_SHARE = 0.1  # of all eigenvectors: more of them are found at once


class ClassicalMDS(ManifoldModel):
    r"""Classical multidimensional scaling: points whose products are those of the distances.

    .. math:: B = -\tfrac12 J D^{(2)} J, \quad J = I - \tfrac1n 1 1^T, \qquad
              B u_j = \lambda_j u_j, \qquad Z = (\sqrt{\lambda_1} u_1, \dots, \sqrt{\lambda_k} u_k)

    :math:`D^{(2)}` holds the squared distances. Of Euclidean distances these are the scores of PCA,
    and distances of points in k dimensions give the points back, up to a rigid motion. A new point
    is placed by its distances to the rows of the fit (Gower). With `n_landmarks` the map is made of
    a few rows, and all others are placed by their distances to them: any number of rows, also those
    of a file. Parameters and attributes are those of `sklearn.manifold.ClassicalMDS`, and more.

    Parameters
    ----------
    n_components : int
        Dimensions of the map.
    metric : str or callable
        Any of `tenfold.math.distances.pairwise_distances`; "precomputed" if X holds the distances.
    metric_params : dict, optional
        Parameters of the metric.
    n_landmarks : int, optional
        Make the map of so many rows, each the farthest from those before; None takes all rows.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) the map
    eigenvalues_ : (n_components,) largest eigenvalues of B; those below 0 say that no Euclidean map
        has these distances, and their column of the map is 0
    dissimilarity_matrix_ : (n_samples, n_samples) the distances, without landmarks
    landmark_indices_ : (n_landmarks,) rows that are landmarks, with `n_landmarks`

    See Also
    --------
    MDS : Points whose distances, not products, fit best; weights and missing distances.
    PCA : The same map, from rows rather than from distances.

    References
    ----------
    W. S. Torgerson (1952), Multidimensional scaling: I. Theory and method.

    J. C. Gower (1968), Adding a point to vector diagrams in multivariate analysis.

    V. de Silva and J. B. Tenenbaum (2004), Sparse multidimensional scaling using landmark points.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ClassicalMDS
    >>> D = np.array([[0.0, 3, 5], [3, 0, 4], [5, 4, 0]])  # a triangle
    >>> Z = ClassicalMDS(metric="precomputed").fit_transform(D)
    >>> np.round(np.linalg.norm(Z[:, None] - Z, axis=2), 6).tolist()
    [[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]]
    """

    _sparse_ok = True
    _law_rows = 600
    _float64_learned = ("projection_",)
    _learned_shapes = {
        "X_fit_": "l p",
        "embedding_": "n m",
        "eigenvalues_": "m",
        "projection_": "l m",
        "_mean_squares": "l",
    }
    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.n_landmarks = n_landmarks

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self._is_precomputed():
            check_square(rows)
        if self.n_landmarks is not None and self.n_landmarks < rows.n_rows:
            return self._fit_landmarks(rows)
        X = gather_rows(rows)
        if self._is_precomputed():
            D = X = check_dissimilarities(X)
        else:
            D = distances_of_rows(X, self.metric, self.metric_params, type(self).__name__)
        learned = self._scale(D, rows.dtype)
        fitted = learned["projection_"] * learned["eigenvalues_"]
        learned |= {"embedding_": fitted.astype(rows.dtype), "dissimilarity_matrix_": D}
        return learned | ({} if self._is_precomputed() else {"X_fit_": X})

    def _scale(self, D: np.ndarray, dtype: np.dtype) -> dict[str, Any]:
        """The eigenvalues, and the matrix that places points by their squared distances."""
        squares = np.square(D, dtype=np.float64)
        means = squares.mean(axis=0)
        values, vectors = _largest_eigenvectors(squares, means, min(self.n_components, len(D)))
        roots = np.sqrt(np.maximum(values, 0.0))
        tiny = roots <= roots.max(initial=0.0) * np.sqrt(len(D) * np.finfo(np.float64).eps)
        lengths = np.where(tiny, np.inf, roots)
        return {
            "eigenvalues_": values.astype(dtype),
            "projection_": vectors / lengths,
            "_mean_squares": means,
        }

    def _map_columns(self) -> int:
        return min(self.n_components, len(self.projection_))

    def _fit_landmarks(self, rows: Rows) -> dict[str, Any]:
        """A map of landmarks, each the farthest row from those before; all rows placed in it."""
        count = int(self.n_landmarks or 0)
        marks, columns = [0], None
        for _ in range(count - 1):  # a pass each: the farthest row is a statistic that merges
            newest = np.array(marks[-1:])
            state = self._distance_state(rows.take(newest).X, newest)
            found, columns = rows.carry(_farthest, columns, *state, durable=True)
            marks.append(int(found.row))
        marks = np.unique(marks)  # fewer than asked for, where rows are equal
        chosen: Any = rows.take(marks).X
        if self._is_precomputed():
            D = check_dissimilarities(np.ascontiguousarray(chosen[:, marks]))
        else:
            D = distances_of_rows(chosen, self.metric, self.metric_params, type(self).__name__)
        learned = self._scale(D, rows.dtype)
        self.__dict__.pop("dissimilarity_matrix_", None)
        state = self._distance_state(chosen, marks)
        placed = rows.each(_place, *state, learned["projection_"], learned["_mean_squares"])
        learned |= {"embedding_": placed, "landmark_indices_": marks}
        return learned | ({} if self._is_precomputed() else {"X_fit_": chosen.copy()})

    def _distance_state(self, X: Any, marks: Any) -> tuple[Any, ...]:
        """State of chunk functions that compute distances to some rows, which are X."""
        if self._is_precomputed():
            return "precomputed", None, np.asarray(marks)
        return self.metric, self.metric_params, X

    def transform(self, X: Any) -> np.ndarray:
        """Places of rows in the map, by their distances to the rows of the fit (or landmarks).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for "precomputed" their distances to all rows of the fit.
        """
        check_is_fitted(self)
        known = None if self._is_precomputed() else self.X_fit_
        marks = getattr(self, "landmark_indices_", np.arange(len(self.projection_)))
        state = self._distance_state(known, marks)
        return self._map_rows(X, _place, *state, self.projection_, self._mean_squares)


def _chunk_distances(chunk: Chunk, metric: Any, params: Any, known: Any) -> np.ndarray:
    if isinstance(metric, str) and metric == "precomputed":
        return np.take(chunk.X, known, axis=1)
    return distances_to_rows(chunk.X, known, metric, params)


def _place(
    chunk: Chunk, metric: Any, params: Any, known: Any, projection: np.ndarray, means: np.ndarray
) -> np.ndarray:
    """Gower's places: half the projection of mean squared distances less squared distances."""
    squares = np.square(_chunk_distances(chunk, metric, params, known), dtype=np.float64)
    return (0.5 * ((means - squares) @ projection)).astype(chunk.X.dtype)


class FarthestRow(NamedTuple):
    """The largest distance to the nearest landmark, and its row; the first one on a tie."""

    distance: float
    row: int

    def merge(self, other: FarthestRow) -> FarthestRow:
        return other if other.distance > self.distance else self


def _farthest(
    chunk: Chunk, columns: Any, metric: Any, params: Any, newest: Any
) -> tuple[FarthestRow, tuple[np.ndarray]]:
    """The farthest row of a chunk from all landmarks, whose least distances are carried along."""
    nearest = _chunk_distances(chunk, metric, params, newest)[:, 0].astype(np.float64)
    if columns is not None:
        nearest = np.minimum(nearest, columns[0])
    i = int(nearest.argmax())
    return FarthestRow(float(nearest[i]), chunk.first + i), (nearest,)


def _largest_eigenvectors(
    squares: np.ndarray, means: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of -J squares J / 2, descending, and their eigenvectors."""
    n = len(squares)
    if n > _MAX_DENSE_ROWS and k <= _MAX_ITERATED_SHARE * n:

        def multiply(v: np.ndarray) -> np.ndarray:
            v = v.ravel() - v.mean()
            product = dsymv(1.0, squares.T, v)  # half of the matrix is read
            return -0.5 * (product - product.mean())

        make: Any = LinearOperator
        operator = make((n, n), matvec=multiply, dtype=np.float64)
        start = np.random.default_rng(0).uniform(-1, 1, n)
        try:
            values, vectors = eigsh(operator, k, which="LA", v0=start)
        except ArpackError:  # all distances are 0, or no convergence
            values, vectors = _all_eigenvectors(squares, means)
    else:
        values, vectors = _all_eigenvectors(squares, means)
    order = np.argsort(-values, kind="stable")[:k]
    signed: Any = svd_flip(vectors[:, order], None)[0]
    return values[order], signed


def _all_eigenvectors(squares: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    B = squares - means
    B -= means[:, None]
    B += means.mean()
    return np.linalg.eigh(-0.5 * B)
