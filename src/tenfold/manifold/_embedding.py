"""What all maps share: the rows of the fit in memory, their distances, and the map itself."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from tenfold.base.mixins import Transformer
from tenfold.engine.memory import check_memory
from tenfold.engine.rows import Rows
from tenfold.manifold._smacof_numba import survey_matrix
from tenfold.math.distances import pairwise_distances

_SYMMETRY_TOLERANCE = {4: 1e-5, 8: 1e-10}  # by bytes of a number, of the largest one
_CURE = "take a sample of the rows, or ClassicalMDS with n_landmarks, which takes any number"


class ManifoldModel(ClassNamePrefixFeaturesOutMixin, Transformer):
    """A map of rows: `embedding_` holds a point for each row of the fit."""

    _has_quadratic_time = True

    def fit(self, X: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Map rows to points.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for "precomputed" their distances from each other.
        y : ignored

        Returns
        -------
        self
        """
        del y
        return super().fit(X)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> np.ndarray:
        """Fit, and return the map of the rows, (n_samples, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for "precomputed" their distances from each other.
        y : ignored
        **params
            Further arguments of `fit`.
        """
        return self.fit(X, y, **params).embedding_

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def _check_learned(self) -> None:
        """Refuse a loaded map whose parts do not fit each other."""
        n, k = self.embedding_.shape
        if k != self._map_columns():
            raise ValueError(f"embedding_ has {k} columns, and the map {self._map_columns()}")
        index = getattr(self, "neighbors_", None) or getattr(self, "nbrs_", None)
        if index is not None:
            own = index.n_samples_fit_, index.n_features_in_
            if own != (n, self.n_features_in_):
                raise ValueError(
                    f"the index holds {own[0]} rows of {own[1]} columns, and the map {n} points of "
                    f"rows with {self.n_features_in_}"
                )
        if self._is_precomputed() and self.n_features_in_ != n:
            raise ValueError(f"{self.n_features_in_} distances of each of {n} rows")

    def _map_columns(self) -> int:
        """Columns that the map of a fit has."""
        return self.n_components

    def _queries(self, X: Any) -> Any:
        """New rows, checked in the name of this model, as its index of neighbors takes them."""
        rows = self._rows(X, reset=False)
        return gather_rows(rows) if self._is_precomputed() else rows

    def _is_precomputed(self) -> bool:
        metric = getattr(self, "metric", None)
        return isinstance(metric, str) and metric == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def gather_rows(rows: Rows) -> Any:
    """All rows in memory, dense or CSR, in an array of their own."""
    X: Any = rows.gather().X
    is_own = issparse(X) or (X.base is None and X.flags.c_contiguous)
    return X if is_own else np.array(X, order="C")


def check_square(rows: Rows) -> None:
    """Refuse distances that are not those of all pairs."""
    if rows.n_rows != rows.n_features:
        raise ValueError(
            "array must be 2-dimensional and square: precomputed distances have shape "
            f"({rows.n_rows}, {rows.n_features})"
        )


def check_finite_start(start: np.ndarray) -> None:
    """Refuse points to start from that are no numbers."""
    finite = np.isfinite(start).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise ValueError(f"init has NaN or infinity in row {row}: give finite points")


def check_distance_memory(n: int, copies: float, name: str, cure: str = _CURE) -> None:
    """Refuse rows so many that (n, n) matrices of their distances do not fit into memory."""
    check_memory(8.0 * copies * n * n, f"{name} of {n:,} rows", cure)


def check_dissimilarities(D: np.ndarray, what: str = "distances") -> np.ndarray:
    """A symmetric matrix of numbers that are not negative; NaN stands for what is missing."""
    low, top, gap, missing = survey_matrix(D)
    if missing and np.isnan(D).all():
        raise ValueError(f"{what}: all entries are NaN, so that nothing says where rows lie")
    if not np.isfinite([low, top]).all():
        i, j = np.argwhere(np.isinf(D))[0]
        raise ValueError(f"{what}: entry ({i}, {j}) is infinity: write NaN for what is missing")
    if low < 0:
        i, j = np.argwhere(low == D)[0]
        raise ValueError(f"{what} must not be negative, but entry ({i}, {j}) is {D[i, j]}")
    if gap > _SYMMETRY_TOLERANCE[D.dtype.itemsize] * max(top, 1e-300):
        i, j = np.unravel_index(int(np.nanargmax(np.abs(D - D.T))), D.shape)
        raise ValueError(
            f"Array must be symmetric: the {what} ({i}, {j}) and ({j}, {i}) are {D[i, j]} and "
            f"{D[j, i]}. Take their mean, (D + D.T) / 2, if they mean the same"
        )
    if gap == 0 and not missing:
        return D
    unknown = np.isnan(D)  # one of two suffices
    both = np.where(unknown, D.T, np.where(unknown.T, D, (D + D.T) / 2))
    return both.astype(D.dtype)


def distances_of_rows(X: Any, metric: Any, params: dict[str, Any] | None, name: str) -> np.ndarray:
    """Distances of all pairs of rows by a metric, (n, n)."""
    n = X.shape[0]
    check_distance_memory(n, 2.0, name)
    D = pairwise_distances(X, metric=metric, **(params or {}))
    if not np.isfinite(D.sum()):
        i, j = np.argwhere(~np.isfinite(D))[0]
        raise ValueError(
            f"metric={metric!r} gives {D[i, j]} for rows {i} and {j}: choose another metric, or "
            "clean these rows"
        )
    return np.ascontiguousarray(D)


def distances_to_rows(X: Any, X_fit: Any, metric: Any, params: dict[str, Any] | None) -> np.ndarray:
    """Distances of some rows to those of a fit, (m, n)."""
    if issparse(X_fit) and not issparse(X):
        X_fit = X_fit.toarray()
    return pairwise_distances(X, X_fit, metric=metric, **(params or {}))
