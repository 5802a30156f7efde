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
from tenfold.linear.least_squares import LeastSquaresRegressor
from tenfold.stats.moments import Moments

_MAX_LOST_SHARE = {
    4: 1e-3,
    8: 1e-8,
}  # residual share of what cancels that moments of 4 or 8 bytes don't know


def gaussian_log_likelihood(squares: float, n: float, sigma: float) -> float:
    r"""Log-likelihood of n residuals with this sum of squares.

    .. math:: -\frac n2 \log(2\pi\sigma^2) - \frac1{2\sigma^2}\sum_i r_i^2

    Its maximum over sigma is at sigma^2 = squares / n. It is not concave in sigma. [001, (25)-(32)]

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
    r"""Linear regression by maximum likelihood: y is a plane plus Gaussian noise.

    .. math:: y_i \sim N(x_i \cdot w + b, \sigma^2), \qquad
              \hat w = \text{least squares, whatever } \sigma, \qquad
              \hat\sigma^2 = \frac1n \sum_i (y_i - x_i \cdot \hat w - \hat b)^2

    One pass, as `LinearRegression`; a second one where the moments do not know the noise well.
    [000, 2.3; 001, 1.2.3; 002, 1.5; 004, 2.6]

    Parameters
    ----------
    fit_intercept : bool
        Whether there is a constant b.
    unbiased : bool
        Whether the noise that is used for predictions divides the squares by n less the number of
        coefficients, instead of n (maximum likelihood, which is too small on average).

    Attributes
    ----------
    coef_ : (p,) coefficients
    intercept_ : constant, 0.0 if `fit_intercept` is False
    squares_ : sum of the squared residuals
    noise_variance_ : sigma^2, as `unbiased` says
    precision_ : 1 / sigma^2, infinite where the plane explains all
    log_likelihood_ : of the rows, at the maximum (or at the unbiased sigma)
    statistic_ : the moments of [X y] that all this was computed from

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.gaussian_regression import GaussianRegression
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
        learned = super()._fit(rows, rng)
        s = learned["statistic_"]
        n = rows.total(chunk_weight) if s is None else s.n
        size = 0.0 if s is None else _cancellation_size(s, learned["coef_"])
        if s is None or learned["squares_"] <= _MAX_LOST_SHARE[rows.dtype.itemsize] * size:
            state = (learned["coef_"], learned["intercept_"])
            learned["squares_"] = rows.total(_residual_sum_of_squares, *state)
        return learned | self._noise(learned["squares_"], n)

    def _solved(self, P: LeastSquaresProblem, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        learned = super()._solved(P, s, dtype)
        S = s.scatter
        if not self.fit_intercept:
            S = S + s.n * np.multiply.outer(s.mean, s.mean)
        turn = np.append(learned["coef_"].astype(np.float64), -1.0)
        squares = max(float(turn @ S @ turn), 0.0)
        return learned | {"squares_": squares} | self._noise(squares, s.n)

    def _noise(self, squares: float, n: float) -> dict[str, Any]:
        free = n - self.unbiased * (self.n_features_in_ + self.fit_intercept)
        if free <= 0:
            raise ValueError(
                f"{n:g} rows leave nothing to estimate the noise from beside "
                f"{self.n_features_in_ + self.fit_intercept} coefficients: use unbiased=False, or "
                "a prior (BayesianLinearRegression)"
            )
        variance = squares / free
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = float(np.divide(1.0, variance))
            best = gaussian_log_likelihood(squares, n, np.sqrt(variance)) if variance else np.inf
        return {"noise_variance_": variance, "precision_": precision, "log_likelihood_": best}

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the target of each row, and perhaps the width of the noise about it.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        return_std : bool
            Whether to give the standard deviation too: the same for all rows.

        Returns
        -------
        (n,) array, or two of them
        """
        mean = super().predict(X)
        return (mean, np.full_like(mean, np.sqrt(self.noise_variance_))) if return_std else mean

    def log_likelihood(self, X: Any, y: Any, sigma: float | None = None) -> float:
        """Log-likelihood of rows under this plane.

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
        """Tell the story: targets of the plane with fresh noise, (n, n_samples).

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
        return self._each(X, _sample_targets, self.coef_, self.intercept_, (sigma, n_samples, seed))


def _cancellation_size(s: Moments, coef: np.ndarray) -> float:
    """Size of the terms that sum to the squared residuals: what is far larger loses digits."""
    turn = np.abs(np.append(coef.astype(np.float64), 1.0))
    return float(turn @ np.abs(s.scatter) @ turn)


def _residual_sum_of_squares(chunk: Chunk, coef: np.ndarray, intercept: Any) -> float:
    """Weighted sum of the squared residuals, in float64."""
    residual = chunk.y - linear_score(chunk, coef.astype(np.float64), intercept)
    return float(chunk.weights() @ (residual * residual))


def _sample_targets(
    chunk: Chunk, coef: np.ndarray, intercept: Any, story: tuple[float, int, int]
) -> np.ndarray:
    """Targets with fresh noise that belongs to the row."""
    sigma, k, seed = story
    plane = linear_score(chunk, coef, intercept)[:, None]
    return (plane + sigma * normals(seed, chunk.first, chunk.rows, k)).astype(chunk.X.dtype)
