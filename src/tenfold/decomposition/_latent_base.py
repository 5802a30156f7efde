"""What probabilistic PCA and factor analysis share: a Gaussian density with latent variables."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base.mixins import Transformer
from tenfold.base.one_pass import OnePass
from tenfold.decomposition._latent_gaussian import (
    LatentGaussian,
    imputation_covariances,
    impute_rows,
    log_densities,
    observe_columns,
    posterior_covariances,
    posterior_means,
)
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.stats.moments import Moments


class LatentGaussianModel(ClassNamePrefixFeaturesOutMixin, OnePass, Transformer):
    """A linear function of latent variables plus independent noise; NaN is a missing entry.

    Subclasses have `_model()`: the parameters, with standard normal latent variables, and the
    matrix from these to the ones that users see.
    """

    _nan_ok = True
    _learns_nan = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, as if they had been part of the rows so far.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The further rows, without missing entries.
        y : None
            Not used; there so that pipelines can pass it.
        sample_weight : array or column name, optional
            Their weights.

        Returns
        -------
        self
        """
        return super().partial_fit(X, None, sample_weight)

    def _statistic(self, rows: Rows) -> Moments:
        s = second_moments(rows)
        if not np.isfinite(s.scatter).all():
            observe_columns(rows, type(self).__name__)
            raise ValueError(
                "partial_fit needs rows without missing entries (NaN): `fit` of all rows takes them"
            )
        return s

    def _model(self) -> tuple[LatentGaussian, np.ndarray]:
        raise NotImplementedError(f"{type(self).__name__} has to define _model()")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def transform(self, X: Any) -> np.ndarray:
        """Posterior mean of the latent variables of each row, (n_rows, n_components).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        """
        check_is_fitted(self)
        return self._map_rows(X, posterior_means, *self._model())

    def posterior(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean (n_rows, k) and covariance (n_rows, k, k) of the k latent variables of each row.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        """
        check_is_fitted(self)
        model = self._model()
        means = self._map_rows(X, posterior_means, *model)
        return means, self._map_rows(X, posterior_covariances, *model)

    def impute(self, X: Any, *, return_covariance: bool = False) -> Any:
        """The rows with the expected values of their missing entries, (n_rows, n_features).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        return_covariance : bool
            Whether to return also the covariance of the missing entries of each row given the
            others, (n_rows, n_features, n_features), zero elsewhere.
        """
        check_is_fitted(self)
        g, _ = self._model()
        filled = self._map_rows(X, impute_rows, g)
        if not return_covariance:
            return filled
        return filled, self._map_rows(X, imputation_covariances, g)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the model, (n_samples, n_features).

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, optional
            Seed; that of the model by default.
        """
        check_is_fitted(self)
        g, _ = self._model()
        rng = self._rng() if random_state is None else np.random.default_rng(random_state)
        p, k = g.loadings.shape
        Z, E = rng.normal(size=(n_samples, k)), rng.normal(size=(n_samples, p))
        drawn = Z @ g.loadings.T + g.mean + E * np.sqrt(g.noise)
        return drawn.astype(self.mean_.dtype)

    def get_precision(self) -> np.ndarray:
        """Inverse of the covariance of the model, (n_features, n_features)."""
        check_is_fitted(self)
        g, _ = self._model()
        scaled = g.loadings / g.noise[:, None]
        A = np.eye(g.loadings.shape[1]) + g.loadings.T @ scaled
        precision = np.diag(1 / g.noise) - scaled @ np.linalg.solve(A, scaled.T)
        return precision.astype(self.mean_.dtype)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of the observed entries of each row, (n_rows,).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        """
        check_is_fitted(self)
        return self._map_rows(X, log_densities, self._model()[0])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; NaN where an entry is missing.
        y : None
            Not used; there so that pipelines can pass it.
        """
        return float(self.score_samples(X).mean())
