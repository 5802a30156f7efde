"""Bayesian linear regression: moments in one pass, posterior and predictions in closed form."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import Estimator
from tenfold.base.mixins import Regressor
from tenfold.base.one_pass import OnePass
from tenfold.engine.chunk import Chunk
from tenfold.engine.row_random import normals
from tenfold.engine.rows import Rows
from tenfold.engine.second_moments import second_moments
from tenfold.linear._base import linear_score
from tenfold.linear._least_squares_solvers import centered_qr
from tenfold.linear.bayesian._evidence import DesignSpectrum, GammaHyperpriors, Precisions
from tenfold.linear.bayesian._posterior import InterceptPrior, PosteriorProblem, fit_posterior
from tenfold.linear.bayesian.prior import CoefficientPrior, gaussian_prior
from tenfold.math.linalg import to_dense
from tenfold.stats.moments import Moments


class PosteriorDraws(NamedTuple):
    """Draws from the posterior: coefficients (n_samples, n_features), intercepts (n_samples,)."""

    coef: np.ndarray
    intercept: np.ndarray


class GaussianPredictive(Estimator):
    """Predictions of a model whose coefficients have a Gaussian posterior.

    Subclasses learn `coef_`, `intercept_`, the covariance `sigma_`, the pivot `X_offset_` with the
    variance `level_variance_` of the prediction there, and the precision `alpha_` of the noise.
    """

    def _covariance(self) -> np.ndarray:
        """Covariance of all coefficients, (n_features, n_features)."""
        return self.sigma_

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the predictive distribution of each row, and optionally its standard deviation.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        return_std : bool
            Whether to return the standard deviation too: of noise and posterior together.

        Returns
        -------
        (n,) array, or two of them
        """
        check_is_fitted(self)
        if not return_std:
            return self._map_rows(X, linear_score, self.coef_, self.intercept_)
        constant = 1 / self.alpha_ + self.level_variance_
        mean = (self.coef_, self.intercept_)
        mean_and_std = self._map_rows(
            X, _predictive_mean_and_std, mean, self.X_offset_, self._covariance(), constant
        )
        return mean_and_std[:, 0], mean_and_std[:, 1]

    def sample_posterior(self, n_samples: int = 1, random_state: Any = None) -> PosteriorDraws:
        """Draw coefficients from the posterior.

        Parameters
        ----------
        n_samples : int
            Number of draws.
        random_state : int, optional
            Seed.

        Returns
        -------
        Draws
            `coef` (n_samples, n_features) and `intercept` (n_samples,).
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        values, V = np.linalg.eigh(self._covariance().astype(np.float64))
        root = V * np.sqrt(np.maximum(values, 0.0))
        coef = self.coef_ + rng.standard_normal((n_samples, len(V))) @ root.T
        level = np.sqrt(self.level_variance_) * rng.standard_normal(n_samples)
        intercept = self.intercept_ + level - (coef - self.coef_) @ self.X_offset_
        return PosteriorDraws(coef, intercept)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw targets: one draw of the coefficients for all rows, independent noise for each row.

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
        draws = self.sample_posterior(n_samples, rng)
        return self._map_rows(
            X, _sample_targets, *draws, self.alpha_**-0.5, int(rng.randint(2**31 - 1))
        )


def _predictive_mean_and_std(
    chunk: Chunk, mean: tuple, offset: np.ndarray, sigma: np.ndarray, constant: float
) -> np.ndarray:
    """Mean and standard deviation of the prediction of each row, (n, 2)."""
    X = to_dense(chunk.X)
    D = X - offset
    variance = np.maximum(np.einsum("ij,ij->i", D @ sigma, D), 0)
    return np.column_stack(
        [linear_score(chunk, *mean), np.sqrt(variance + constant).astype(D.dtype)]
    )


def _sample_targets(
    chunk: Chunk, coef: np.ndarray, intercept: np.ndarray, noise: float, seed: int
) -> np.ndarray:
    """Targets (n, n_samples) for n_samples draws, with noise seeded by the row number."""
    mean = chunk.X @ coef.T.astype(chunk.X.dtype) + intercept
    return (mean + noise * normals(seed, chunk.first, *mean.shape)).astype(chunk.X.dtype)


_ESTIMATED_PRIORS = ("isotropic", "relevance")
POSITIVE = Interval(Real, 0, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")


class BayesianLinearRegression(GaussianPredictive, OnePass, Regressor):
    r"""Linear regression with Gaussian noise and a Gaussian prior of the coefficients.

    .. math:: w \sim N(\mu, \Lambda^{-1}), \quad y_i \sim N(x_i \cdot w + b, \alpha^{-1}), \qquad
              w \mid y \sim N(\bar w, S),\quad S^{-1} = \Lambda + \alpha X^\top X,\quad
              \bar w = S(\Lambda\mu + \alpha X^\top y)

    and a prediction at x has the variance :math:`1/\alpha + x^\top S x`. The mean is also the mode
    (MAP) and, for :math:`\Lambda = \lambda I`, ridge regression with :math:`\lambda/\alpha`: see
    `ridge_penalty`. Of alpha and lambda, what is not given maximizes the evidence
    :math:`p(y \mid \alpha, \lambda)`. One pass over the data, whatever is estimated, and a second
    one only where the moments would lose digits; `partial_fit` updates the posterior with more
    rows, in any order. With the defaults, parameters, attributes and numbers are those of
    `sklearn.linear_model.BayesianRidge`.

    Parameters
    ----------
    prior_precision : {"isotropic", "relevance"}, float, or array of (n_features,) or its square
        Precision of the prior. "isotropic" estimates one for all coefficients, "relevance" one
        each (as `sklearn.linear_model.ARDRegression` does). Numbers are fixed: one for all, one
        each, or a full matrix for correlated coefficients.
    prior_covariance : float, or array of (n_features,) or its square, optional
        Covariance of the prior, instead of its precision.
    prior_mean : float or (n_features,) array
        Mean of the prior.
    noise : float, optional
        Standard deviation of the noise; estimated if it is not given.
    intercept_precision : float, optional
        Prior precision of the intercept. None: a parameter set to its best value. 0.0: a
        flat prior, integrated out. Above 0: a Gaussian prior with mean zero;
        this needs a known `noise`.
    max_iter : int
        Maximum number of fixed-point iterations; they do not read the data.
    tol : float
        Converged when the coefficients change by less, in sum.
    alpha_1, alpha_2 : float
        Shape and rate of the Gamma prior of alpha, the precision of the noise.
    lambda_1, lambda_2 : float
        Shape and rate of the Gamma prior of lambda, the precision of the coefficients.
    alpha_init, lambda_init : float, optional
        Initial values of the fixed point; by default 1 / variance of y, and 1.
    threshold_lambda : float
        Precision from which "relevance" drops a column.
    compute_score : bool
        Whether to keep `scores_`.
    fit_intercept : bool
        Whether there is an intercept.
    copy_X : bool
        X is never overwritten, whatever is given here.
    verbose : bool
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    coef_ : (n_features,) mean of the posterior
    intercept_ : intercept at that mean, 0.0 if `fit_intercept` is False
    sigma_ : (n_features, n_features) covariance of the posterior; zero for dropped columns
    alpha_ : precision of the noise
    lambda_ : precision of the prior: a number, (n_features,) for "relevance", or a matrix
    log_evidence_ : log-probability of y, the coefficients integrated out
    scores_ : log-evidence plus the logs of the Gamma priors, before each iteration and at the end;
        empty unless `compute_score` is set
    X_scale_ : (n_features,) ones, as in scikit-learn
    X_offset_ : (n_features,) pivot, where coefficients and prediction are independent
    level_variance_ : posterior variance of the prediction at the pivot, without noise
    n_iter_, converged_, history_ : iterations, whether they converged, minus the score of each
    statistic_ : the moments of [X y] from which the posterior is computed

    See Also
    --------
    BayesianRidge, ARDRegression, GaussianRegression, Ridge, BayesianModelAverage

    References
    ----------
    MacKay, D. (1992). Bayesian Interpolation.
    Bishop, C. (2006). Pattern Recognition and Machine Learning, chapter 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BayesianLinearRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 4.0, 8.0])
    >>> known = BayesianLinearRegression(prior_precision=1.0, noise=1.0).fit(X, y)
    >>> known.coef_.round(6).tolist(), round(float(known.intercept_), 6)
    ([1.833333], 1.25)
    >>> mean, std = known.predict(np.array([[1.5], [9.0]]), return_std=True)
    >>> std.round(4).tolist()
    [1.0, 3.221]
    """

    _sparse_ok = True
    _column_matrices = 5
    _parameter_constraints = {
        "prior_precision": [StrOptions(set(_ESTIMATED_PRIORS)), POSITIVE, "array-like"],
        "prior_covariance": [None, NON_NEGATIVE, "array-like"],
        "prior_mean": [Real, "array-like"],
        "noise": [None, POSITIVE],
        "intercept_precision": [None, NON_NEGATIVE],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [NON_NEGATIVE],
        **{f"{name}_{i}": [NON_NEGATIVE] for name in ("alpha", "lambda") for i in (1, 2)},
        "alpha_init": [None, NON_NEGATIVE],
        "lambda_init": [None, NON_NEGATIVE],
        "threshold_lambda": [NON_NEGATIVE],
        "compute_score": ["boolean"],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        prior_precision: Any = "isotropic",
        prior_covariance: Any = None,
        prior_mean: Any = 0.0,
        noise: float | None = None,
        intercept_precision: float | None = None,
        max_iter: int = 300,
        tol: float = 1e-3,
        alpha_1: float = 1e-6,
        alpha_2: float = 1e-6,
        lambda_1: float = 1e-6,
        lambda_2: float = 1e-6,
        alpha_init: float | None = None,
        lambda_init: float | None = None,
        threshold_lambda: float = 1e4,
        compute_score: bool = False,
        fit_intercept: bool = True,
        copy_X: bool = True,
        verbose: bool = False,
    ) -> None:
        self.prior_precision = prior_precision
        self.prior_covariance = prior_covariance
        self.prior_mean = prior_mean
        self.noise = noise
        self.intercept_precision = intercept_precision
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.alpha_init = alpha_init
        self.lambda_init = lambda_init
        self.threshold_lambda = threshold_lambda
        self.compute_score = compute_score
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        s = self._statistic(rows)
        problem = self._posterior_problem(s)
        spectrum = problem.spectrum()
        if not rows.sparse and problem.has_lost_digits(spectrum, rows.dtype):
            eps = float(np.finfo(rows.dtype).eps)
            spectrum = problem.spectrum_from_factor(rows.total(centered_qr, s.mean).R, eps)
        return {
            **self._solve_posterior(problem, spectrum, rows.dtype),
            "statistic_": s,
            "dtype_": rows.dtype,
        }

    def _statistic(self, rows: Rows) -> Moments:
        return second_moments(rows, target=True)

    def _finalize(self, s: Moments, dtype: np.dtype) -> dict[str, Any]:
        problem = self._posterior_problem(s)
        return self._solve_posterior(problem, problem.spectrum(), dtype)

    def _posterior_problem(self, s: Moments) -> PosteriorProblem:
        if not self.fit_intercept:
            return PosteriorProblem(s, self._prior(), InterceptPrior(1.0))
        if self.intercept_precision and self.noise is None:
            raise ValueError(
                "intercept_precision needs a known noise: give noise=, or add a column of ones to X"
                " and set fit_intercept=False"
            )
        alpha = 1.0 if self.noise is None else self.noise**-2
        return PosteriorProblem(
            s, self._prior(), InterceptPrior.of(self.intercept_precision, alpha, s.n)
        )

    def _estimates_prior(self) -> bool:
        return isinstance(self.prior_precision, str) and self.prior_covariance is None

    def _prior(self) -> CoefficientPrior:
        precision = 1.0 if self._estimates_prior() else self.prior_precision
        return gaussian_prior(
            self.prior_mean, precision, self.prior_covariance, self.n_features_in_
        )

    def _initial_precisions(self, problem: PosteriorProblem) -> Precisions:
        s, estimated = problem.moments, self._estimates_prior()
        lam: Any = problem.prior.scale
        if estimated:
            lam = 1.0 if self.lambda_init is None else float(self.lambda_init)
            lam = np.full(self.n_features_in_, lam) if self.prior_precision == "relevance" else lam
        if self.noise is not None:
            return Precisions(self.noise**-2, lam, True, not estimated)
        variance = max(s.scatter[-1, -1], 0.0) / s.n
        default_alpha = 1 / (variance + np.finfo(np.float64).eps)
        alpha = default_alpha if self.alpha_init is None else float(self.alpha_init)
        return Precisions(alpha, lam, False, not estimated)

    def _solve_posterior(
        self, problem: PosteriorProblem, spectrum: DesignSpectrum, dtype: np.dtype
    ) -> dict[str, Any]:
        hyperpriors = GammaHyperpriors(self.alpha_1, self.alpha_2, self.lambda_1, self.lambda_2)
        initial, limits = (
            self._initial_precisions(problem),
            {"tol": self.tol, "max_iter": self.max_iter},
        )
        fitted = fit_posterior(
            problem, spectrum, initial, hyperpriors, self.threshold_lambda, **limits
        )
        precisions, s = fitted.precisions, problem.moments
        offset = (1 - problem.intercept.share) * s.mean[:-1]
        level = (1 - problem.intercept.share) * s.mean[-1]
        precision: Any = precisions.lam if self._estimates_prior() else problem.prior.precision()
        flat = self.fit_intercept and self.intercept_precision == 0
        return {
            "coef_": fitted.mean.astype(dtype),
            "intercept_": dtype.type(level - offset @ fitted.mean) if self.fit_intercept else 0.0,
            "sigma_": fitted.covariance.astype(dtype),
            "alpha_": np.float64(precisions.alpha),
            "lambda_": precision.astype(dtype) if np.ndim(precision) else np.float64(precision),
            "log_evidence_": fitted.log_evidence,
            "X_offset_": offset.astype(dtype),
            "level_variance_": 1 / (precisions.alpha * s.n) if flat else problem.intercept.variance,
            "X_scale_": np.ones(len(offset), dtype),
            "scores_": fitted.scores if self.compute_score else np.empty(0),
            **fitted.report,
        }
