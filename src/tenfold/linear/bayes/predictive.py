"""Predictions of a plane whose coefficients are Gaussian: mean, width, and draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.estimator.base import Estimator
from tenfold.linear.scores import linear_score
from tenfold.rows import Chunk, normals


class Draws(NamedTuple):
    """Draws from the posterior: coefficients (n, p) and constants (n,)."""

    coef: np.ndarray
    intercept: np.ndarray


class GaussianPredictive(Estimator):
    """What a model with a Gaussian posterior of its coefficients predicts.

    It has `coef_`, `intercept_`, their covariance `sigma_`, the pivot `X_offset_` with the variance
    of the level there, `level_variance_`, and the precision `alpha_` of the noise.
    """

    def _covariance(self) -> np.ndarray:
        """Covariance of all coefficients, (p, p)."""
        return self.sigma_

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the prediction of each row, and perhaps its standard deviation.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        return_std : bool
            Whether to give the standard deviation too: of the noise and the posterior together.

        Returns
        -------
        (n,) array, or two of them
        """
        check_is_fitted(self)
        if not return_std:
            return self._each(X, linear_score, self.coef_, self.intercept_)
        constant = 1 / self.alpha_ + self.level_variance_
        mean = (self.coef_, self.intercept_)
        both = self._each(X, mean_and_std, mean, self.X_offset_, self._covariance(), constant)
        return both[:, 0], both[:, 1]

    def sample_posterior(self, n_samples: int = 1, random_state: Any = None) -> Draws:
        """Draw planes from the posterior.

        Parameters
        ----------
        n_samples : int
            Number of draws.
        random_state : int, optional
            Seed.

        Returns
        -------
        Draws
            `coef` (n, p) and `intercept` (n,).
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        values, V = np.linalg.eigh(self._covariance().astype(np.float64))
        root = V * np.sqrt(np.maximum(values, 0.0))
        coef = self.coef_ + rng.standard_normal((n_samples, len(V))) @ root.T
        level = np.sqrt(self.level_variance_) * rng.standard_normal(n_samples)
        intercept = self.intercept_ + level - (coef - self.coef_) @ self.X_offset_
        return Draws(coef, intercept)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw targets from the predictive distribution: a plane for all rows, noise for each.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        n_samples : int
            Number of draws.
        random_state : int, optional
            Seed.

        Returns
        -------
        (n, n_samples) array
        """
        rng = check_random_state(random_state)
        planes = self.sample_posterior(n_samples, rng)
        return self._each(X, drawn, *planes, self.alpha_**-0.5, int(rng.randint(2**31 - 1)))


def mean_and_std(
    chunk: Chunk, mean: tuple, offset: np.ndarray, sigma: np.ndarray, constant: float
) -> np.ndarray:
    """Mean and standard deviation of the prediction of each row, (n, 2)."""
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    D = X - offset
    variance = np.maximum(np.einsum("ij,ij->i", D @ sigma, D), 0)
    return np.column_stack(
        [linear_score(chunk, *mean), np.sqrt(variance + constant).astype(D.dtype)]
    )


def drawn(
    chunk: Chunk, coef: np.ndarray, intercept: np.ndarray, noise: float, seed: int
) -> np.ndarray:
    """Targets (n, k) of k planes, with noise that belongs to the row."""
    plane = chunk.X @ coef.T.astype(chunk.X.dtype) + intercept
    return (plane + noise * normals(seed, chunk.first, *plane.shape)).astype(chunk.X.dtype)
