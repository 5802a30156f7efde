"""Maximum-likelihood linear regression with Gaussian noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import normals
from tenfold.engine.rows import Rows
from tenfold.linear._base import chunk_weight, linear_score
from tenfold.linear._least_squares_solvers import LeastSquaresProblem
from tenfold.linear.least_squares import LeastSquaresRegressor, numerical_rank, spectrum
from tenfold.stats.moments import Moments

_MAX_LOST_SHARE = {
    4: 1e-3,
    8: 1e-8,
}  # residual share of what cancels that moments of 4 or 8 bytes don't know


def gaussian_log_likelihood(squares: float, n: float, sigma: float) -> float:
    r"""Log-likelihood of n residuals with this sum of squares.

    .. math:: -\frac n2 \log(2\pi\sigma^2) - \frac1{2\sigma^2}\sum_i r_i^2

    Its maximum over sigma is at sigma^2 = squares / n. It is not concave in sigma.

    Parameters
    ----------
    squares : float
        Sum of the squared residuals.
    n : float
        Their number.
    sigma : float
        Standard deviation of the noise.

    Examples
    --------
    >>> round(gaussian_log_likelihood(1.8, 4, 0.45**0.5), 6)
    -4.078739
    """
    return -0.5 * n * float(np.log(2 * np.pi * sigma**2)) - squares / (2 * sigma**2)


class GaussianRegression(LeastSquaresRegressor):
    r"""Linear regression by maximum likelihood: a linear mean plus Gaussian noise.

    .. math:: y_i \sim N(x_i \cdot w + b, \sigma^2), \qquad
              \hat w = \text{least squares, whatever } \sigma, \qquad
              \hat\sigma^2 = \frac1n \sum_i (y_i - x_i \cdot \hat w - \hat b)^2

    One pass, as `LinearRegression`; a second one where cancellation in the moments would lose the
    noise.

    Parameters
    ----------
    fit_intercept : bool
        Whether there is an intercept.
    unbiased : bool
        Whether the noise variance divides the squares by n less the number of coefficients that the
        rows determine, instead of by n (maximum likelihood, which is biased downwards).

    Attributes
    ----------
    coef_ : (n_features,) coefficients
    intercept_ : intercept, 0.0 if `fit_intercept` is False
    rank_ : rank of the (centered) X; the number of columns where these are too many to tell
    squares_ : sum of the squared residuals
    noise_variance_ : sigma^2, as `unbiased` says
    precision_ : 1 / sigma^2, infinite where all residuals are zero
    log_likelihood_ : of the rows, at the maximum (or at the unbiased sigma)
    statistic_ : the moments of [X y] from which the fit is computed

    See Also
    --------
    LinearRegression, BayesianLinearRegression, gaussian_log_likelihood

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 4.0, 8.0])
    >>> model = GaussianRegression().fit(X, y)
    >>> model.coef_.round(6).tolist(), round(model.noise_variance_, 6), round(model.precision_, 4)
    ([2.2], 0.45, 2.2222)
    """

    _multi_output = False
    _parameter_constraints = {"fit_intercept": ["boolean"], "unbiased": ["boolean"]}
    positive = False
    tol = 1e-6

    def __init__(self, *, fit_intercept: bool = True, unbiased: bool = False) -> None:
        self.fit_intercept = fit_intercept
        self.unbiased = unbiased

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        learned = {"rank_": rows.n_features} | super()._fit(rows, rng)
        s = learned["statistic_"]
        n = rows.total(chunk_weight) if s is None else s.n
        size = 0.0 if s is None else _cancellation_size(s, learned["coef_"])
        if s is None or learned["squares_"] <= _MAX_LOST_SHARE[rows.dtype.itemsize] * size:
            state = (learned["coef_"], learned["intercept_"])
            learned["squares_"] = rows.total(_residual_sum_of_squares, *state)
        return learned | self._noise(learned["squares_"], n, learned["rank_"])

    def _solve(self, P: LeastSquaresProblem, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        learned = super()._solve(P, s, dtype)
        S = s.scatter
        if not self.fit_intercept:
            S = S + s.n * np.multiply.outer(s.mean, s.mean)
        signed_coef = np.append(learned["coef_"].astype(np.float64), -1.0)
        squares = max(float(signed_coef @ S @ signed_coef), 0.0)
        return learned | {"squares_": squares} | self._noise(squares, s.n, learned["rank_"])

    def _extra_attributes(self, P: LeastSquaresProblem) -> dict[str, Any]:
        return {"rank_": spectrum(P)["rank_"]}

    def _spectrum_attributes(self, singular: np.ndarray, eps: float) -> dict[str, Any]:
        return {"rank_": numerical_rank(singular, self.n_features_in_, eps)}

    def _noise(self, squares: float, n: float, rank: int) -> dict[str, Any]:
        degrees_of_freedom = n - self.unbiased * (rank + self.fit_intercept)
        if degrees_of_freedom <= 0:
            raise ValueError(
                f"{n:g} rows leave no degrees of freedom for the noise beside "
                f"{rank + self.fit_intercept} coefficients: use unbiased=False, or "
                "a prior (BayesianLinearRegression)"
            )
        variance = squares / degrees_of_freedom
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = float(np.divide(1.0, variance))
            log_likelihood = (
                gaussian_log_likelihood(squares, n, np.sqrt(variance)) if variance else np.inf
            )
        return {
            "noise_variance_": variance,
            "precision_": precision,
            "log_likelihood_": log_likelihood,
        }

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the target of each row, and optionally the standard deviation of the noise.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        return_std : bool
            Whether to return the standard deviation too: the same for all rows.

        Returns
        -------
        (n,) array, or two of them
        """
        mean = super().predict(X)
        return (mean, np.full_like(mean, np.sqrt(self.noise_variance_))) if return_std else mean

    def log_likelihood(self, X: Any, y: Any, sigma: float | None = None) -> float:
        """Log-likelihood of rows under the fitted model.

        Parameters
        ----------
        X, y : rows and their target, as `fit` takes them
        sigma : float, optional
            Standard deviation of the noise; by default the estimated one.
        """
        check_is_fitted(self)
        noise = np.sqrt(self.noise_variance_) if sigma is None else sigma
        with self._work_context():
            rows = self._rows(X, y, reset=False)
            squares = rows.total(_residual_sum_of_squares, self.coef_, self.intercept_)
        return gaussian_log_likelihood(squares, rows.n_rows, noise)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Sample targets from the fitted Gaussian model, (n, n_samples).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        n_samples : int
            Number of draws.
        random_state : int, optional
            Seed.
        """
        check_is_fitted(self)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        sigma = float(np.sqrt(self.noise_variance_))
        return self._map_rows(
            X, _sample_targets, self.coef_, self.intercept_, (sigma, n_samples, seed)
        )


def _cancellation_size(s: Moments, coef: np.ndarray) -> float:
    """Size of the terms that cancel in the sum of squared residuals."""
    signed_coef = np.abs(np.append(coef.astype(np.float64), 1.0))
    return float(signed_coef @ np.abs(s.scatter) @ signed_coef)


def _residual_sum_of_squares(chunk: Chunk, coef: np.ndarray, intercept: Any) -> float:
    """Weighted sum of the squared residuals, in float64."""
    residual = chunk.y - linear_score(chunk, coef.astype(np.float64), intercept)
    return float(chunk.weights() @ (residual * residual))


def _sample_targets(
    chunk: Chunk, coef: np.ndarray, intercept: Any, noise: tuple[float, int, int]
) -> np.ndarray:
    """Targets with noise seeded by the row number."""
    sigma, k, seed = noise
    mean = linear_score(chunk, coef, intercept)[:, None]
    return (mean + sigma * normals(seed, chunk.first, chunk.rows, k)).astype(chunk.X.dtype)
