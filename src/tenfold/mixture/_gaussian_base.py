"""What Gaussian mixtures share, by maximum likelihood or with a posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.mixture import _covariance_types
from tenfold.mixture._base import BaseMixture
from tenfold.mixture._e_step import membership_probabilities
from tenfold.mixture._gaussian import DiagonalComponents
from tenfold.mixture._missing_values import MissingValueComponents


def check_finite_means(means: np.ndarray) -> None:
    """Raise an error that names a column with an infinite value."""
    bad = ~np.isfinite(means).all(axis=0)
    if bad.any():
        raise ValueError(
            f"Input X contains infinity, or numbers too large for a sum: column {np.argmax(bad)}. "
            "Write NaN where a value is missing."
        )


class BaseGaussianMixture(BaseMixture):
    """Covariance types, sampling and imputation of Gaussian mixtures."""

    _nan_ok = True

    @property
    def _column_matrices(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return {"full": 4 + 2 * self.n_components, "tied": 6}.get(self.covariance_type, 0)

    def _can_warm_start(self, rows: Rows) -> bool:
        shape = self.n_components, rows.n_features
        covariance_shape = _covariance_types.covariance_shape(self.covariance_type, *shape)
        return self.means_.shape == shape and self.covariances_.shape == covariance_shape

    def _gaussian_attributes(
        self, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, dtype: np.dtype
    ) -> dict[str, Any]:
        """Learned attributes of the components."""
        factors = _covariance_types.precision_factors(covariances, self.covariance_type)
        precisions = _covariance_types.precisions_from_factors(factors, self.covariance_type)
        return {
            "weights_": weights.astype(dtype),
            "means_": means.astype(dtype),
            "covariances_": covariances.astype(dtype),
            "precisions_": precisions.astype(dtype),
            "precisions_cholesky_": factors.astype(dtype),
        }

    def _draw(self, component: int, n: int, rng: np.random.Generator) -> np.ndarray:
        means = self.means_
        matrices = _covariance_types.full_covariances(
            self.covariances_, self.covariance_type, *means.shape
        )
        normals = rng.normal(size=(n, means.shape[1]))
        factor = np.linalg.cholesky(matrices[component].astype(np.float64))
        return means[component] + normals @ factor.T

    def impute(self, X: Any) -> np.ndarray:
        """Rows with the conditional mean in place of each missing entry, (n_samples, n_features).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        """
        check_is_fitted(self)
        return self._map_rows(X, _impute_chunk, self._components(), self.means_)


def _impute_chunk(
    chunk: Chunk, components: DiagonalComponents | MissingValueComponents, means: np.ndarray
) -> np.ndarray:
    """Rows with sum_k p(k | row) E(entry | row, k) for missing entries.

    With independent columns E(entry | row, k) is the mean of component k.
    """
    missing = np.isnan(chunk.X)
    if not missing.any():
        return chunk.X.copy()
    R = membership_probabilities(chunk, components)
    imputed = R @ means
    if isinstance(components, MissingValueComponents):
        imputed = imputed + np.einsum("nk,knp->np", R, components.impute(chunk.X).D)
    return np.where(missing, imputed, chunk.X).astype(chunk.X.dtype)
