"""Bayesian logistic, softmax and probit regression: Laplace approximation or MCMC."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import ProbabilisticClassifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._loss_gradients import class_major_scores
from tenfold.linear._objective import sum_class_weights
from tenfold.linear.bayesian._laplace import (
    ClassifierLaplace,
    ClassifierLogPosterior,
    covariance_root,
    laplace_approximation,
    link_loss,
    sample_posterior_chains,
)
from tenfold.linear.bayesian.bayesian_linear import NON_NEGATIVE, POSITIVE, PosteriorDraws
from tenfold.linear.bayesian.prior import gaussian_prior
from tenfold.math.linalg import to_dense


class BayesianLogisticRegression(ProbabilisticClassifier):
    r"""Logistic, softmax or probit regression with a Gaussian prior of the coefficients.

    .. math:: w \sim N(\mu, \Lambda^{-1}), \qquad
              p(y^* \mid x^*, D) = \int p(y^* \mid x^*, w)\, p(w \mid D)\, dw

    The mode of the posterior is `LogisticRegression` with the penalty
    :math:`\tfrac12 w^\top \Lambda w`. Far from the data, the integral gives
    less extreme probabilities than the mode. The posterior is Laplace's Gaussian at the mode, or
    is sampled by Hamiltonian Monte Carlo. With more than two classes the first is the reference,
    whose scores are zero, and each other class has a row of coefficients with this prior. One pass
    over the data per iteration.

    Parameters
    ----------
    link : {"logit", "probit"}
        The probability of a score: logistic, or the normal distribution function (two classes).
    prior_precision : float, or array of (n_features,) or its square
        Precision of the prior: one for all columns, one each, or a full matrix.
    prior_covariance : float, or array of (n_features,) or its square, optional
        Covariance of the prior, instead of its precision.
    prior_mean : float or (n_features,) array
        Mean of the prior.
    intercept_precision : float
        Prior precision of the intercepts; 0 is a flat prior.
    fit_intercept : bool
        Whether there are intercepts.
    posterior : {"laplace", "mcmc"}
        A Gaussian at the mode, or draws that converge to the posterior.
    predictive : {"auto", "monte-carlo"}
        "auto" integrates over the score of a row: exactly for the probit link, by MacKay's
        approximation for the logit. "monte-carlo" averages over draws, as is always done for more
        than two classes and for "mcmc".
    n_draws : int
        Draws from the posterior that predictions average over.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this.
    max_iter : int
        Maximum number of iterations of Newton's method.
    random_state : int, optional
        Seed of the draws.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_ : (n_classes - 1, n_features) mode of the posterior; its mean for "mcmc"
    intercept_ : (n_classes - 1,) intercepts there
    covariance_ : covariance of the posterior of the rows [coef intercept], flattened
    log_evidence_ : log-probability of the labels by Laplace's method; a flat prior counts as 1
    draws_ : (n_draws, n_classes - 1, n_features + 1) draws of [coef intercept], if used
    r_hat_, effective_size_ : convergence diagnostics of "mcmc", for each parameter
    n_iter_, converged_, history_ : iterations, whether they converged, mean objective of each

    See Also
    --------
    LogisticRegression, ProbitRegression, BayesianLinearRegression

    References
    ----------
    MacKay, D. (1992). The Evidence Framework Applied to Classification Networks.
    Neal, R. (2011). MCMC Using Hamiltonian Dynamics.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BayesianLogisticRegression
    >>> X, y = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> model = BayesianLogisticRegression().fit(X, y)
    >>> model.predict_proba([[1.0], [1e6]])[:, 1].round(3).tolist()
    [0.673, 0.865]
    """

    _sparse_ok = True
    _min_classes = 2
    _column_matrices = 4
    _law_rows = 6000
    _parameter_constraints = {
        "link": [StrOptions({"logit", "probit"})],
        "prior_precision": [POSITIVE, "array-like"],
        "prior_covariance": [None, NON_NEGATIVE, "array-like"],
        "prior_mean": [Real, "array-like"],
        "intercept_precision": [NON_NEGATIVE],
        "fit_intercept": ["boolean"],
        "posterior": [StrOptions({"laplace", "mcmc"})],
        "predictive": [StrOptions({"auto", "monte-carlo"})],
        "n_draws": [Interval(Integral, 16, None, closed="left")],
        "tol": [NON_NEGATIVE],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        link: str = "logit",
        prior_precision: Any = 1.0,
        prior_covariance: Any = None,
        prior_mean: Any = 0.0,
        intercept_precision: float = 0.0,
        fit_intercept: bool = True,
        posterior: str = "laplace",
        predictive: str = "auto",
        n_draws: int = 256,
        tol: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.link = link
        self.prior_precision = prior_precision
        self.prior_covariance = prior_covariance
        self.prior_mean = prior_mean
        self.intercept_precision = intercept_precision
        self.fit_intercept = fit_intercept
        self.posterior = posterior
        self.predictive = predictive
        self.n_draws = n_draws
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        f = self._log_posterior(rows)
        initial = np.zeros(f.shape[0] * f.shape[1])
        approximation = laplace_approximation(f, initial, tol=self.tol, max_iter=self.max_iter)
        seed = int(rng.integers(2**31))
        learned = {"log_evidence_": approximation.log_evidence, **approximation.report}
        if self.posterior == "mcmc":
            return learned | self._sample_mcmc(f, approximation, seed)
        J = np.kron(np.eye(f.shape[0]), f.jacobian())
        S = J @ approximation.covariance @ J.T
        learned |= self._summary(
            np.column_stack(f.to_coefficients(approximation.mode)), S, rows.dtype
        )
        if self.predictive == "monte-carlo" or f.shape[0] > 1:
            noise = np.random.default_rng(seed).standard_normal(
                (self.n_draws, len(approximation.mode))
            )
            thetas = approximation.mode + noise @ covariance_root(approximation.covariance).T
            learned["draws_"] = _coefficient_rows(f, thetas).astype(rows.dtype)
        return learned

    def _log_posterior(self, rows: Rows) -> ClassifierLogPosterior:
        k, p = len(self.classes_), rows.n_features
        if self.link == "probit" and k > 2:
            raise ValueError(f"the probit link is for two classes, not {k}: use link='logit'")
        prior = gaussian_prior(self.prior_mean, self.prior_precision, self.prior_covariance, p)
        intercept_precision = float(self.intercept_precision) if self.fit_intercept else np.inf
        totals = rows.total(sum_class_weights, k)
        if (totals == 0).any() and intercept_precision == 0:
            label = self.classes_.tolist()[int(np.argmin(totals))]
            raise ValueError(
                f"all rows of the class {label!r} have weight 0, so its intercept has no "
                "posterior: leave these rows out, or set intercept_precision"
            )
        n = float(totals.sum())
        return ClassifierLogPosterior(
            rows, link_loss(self.link, k), (k - 1, p + 1), prior, intercept_precision, n
        )

    def _sample_mcmc(
        self, f: ClassifierLogPosterior, approximation: ClassifierLaplace, seed: int
    ) -> dict[str, Any]:
        chains = sample_posterior_chains(f, approximation, self.n_draws, seed)
        W = _coefficient_rows(f, chains.flat)
        flat = W.reshape(len(W), -1)
        learned = self._summary(W.mean(axis=0), np.cov(flat, rowvar=False), f.rows.dtype)
        learned |= {"r_hat_": chains.r_hat, "effective_size_": chains.effective_sample_size}
        return learned | {"draws_": W.astype(f.rows.dtype)}

    def _summary(self, W: np.ndarray, S: np.ndarray, dtype: np.dtype) -> dict[str, Any]:
        """Center and covariance; for two classes also the pivot of the score."""
        learned: dict[str, Any] = {"coef_": W[:, :-1].astype(dtype)}
        learned |= {"intercept_": W[:, -1].astype(dtype), "covariance_": S.astype(dtype)}
        if len(W) == 1:
            pivot = -np.linalg.lstsq(S[:-1, :-1], S[:-1, -1], rcond=None)[0]
            learned["X_offset_"] = pivot.astype(dtype)
            learned["level_variance_"] = max(float(S[-1, -1] + pivot @ S[:-1, -1]), 0.0)
        return learned

    def _scorer(self) -> tuple:
        if hasattr(self, "draws_"):
            return _average_over_draws, self.draws_, self.link
        S = np.ascontiguousarray(self.covariance_[:-1, :-1])
        pivot_covariance = (self.X_offset_, S, self.level_variance_)
        return (
            _integrate_gaussian_score,
            (self.coef_[0], self.intercept_[0]),
            pivot_covariance,
            self.link,
        )

    def sample_posterior(self, n_samples: int = 1, random_state: Any = None) -> PosteriorDraws:
        """Draw coefficients from the posterior.

        Parameters
        ----------
        n_samples : int
            Number of draws; those of "mcmc" are chosen from `draws_`.
        random_state : int, optional
            Seed.

        Returns
        -------
        Draws
            `coef` (n_samples, n_classes - 1, n_features) and `intercept`.
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        if self.posterior == "mcmc":
            W = self.draws_[rng.randint(len(self.draws_), size=n_samples)]
            return PosteriorDraws(W[:, :, :-1], W[:, :, -1])
        center = np.column_stack([self.coef_, self.intercept_])
        values, V = np.linalg.eigh(self.covariance_.astype(np.float64))
        noise = rng.standard_normal((n_samples, len(V))) * np.sqrt(np.maximum(values, 0.0))
        W = center + (noise @ V.T).reshape(n_samples, *center.shape)
        return PosteriorDraws(W[:, :, :-1], W[:, :, -1])


def _coefficient_rows(f: ClassifierLogPosterior, thetas: np.ndarray) -> np.ndarray:
    """Rows [coef intercept] of flat parameters in prior coordinates, (draws, m, q)."""
    return np.stack([np.column_stack(f.to_coefficients(theta)) for theta in thetas])


def _integrate_gaussian_score(
    chunk: Chunk, center: tuple, pivot_covariance: tuple, link: str
) -> np.ndarray:
    """Log-odds (n, 2) for a Gaussian score: exact for probit, MacKay's approximation for logit."""
    X = to_dense(chunk.X)
    offset, S, intercept_precision = pivot_covariance
    D = X - offset
    variance = np.maximum(np.einsum("ij,ij->i", D @ S, D), 0) + intercept_precision
    score = X @ center[0] + center[1]
    if link == "logit":
        score = score / np.sqrt(1 + np.pi / 8 * variance)
        return np.column_stack([np.zeros_like(score), score]).astype(X.dtype)
    score = score / np.sqrt(1 + variance)
    return np.column_stack([log_ndtr(-score), log_ndtr(score)]).astype(X.dtype)


def _average_over_draws(chunk: Chunk, draws: np.ndarray, link: str) -> np.ndarray:
    """Log of the mean probability (n, k) over the draws."""
    summed = np.zeros((draws.shape[1] + 1, chunk.rows))
    for W in draws:
        Z = class_major_scores(chunk.X, W[:, :-1], W[:, -1])
        summed += np.vstack([ndtr(-Z), ndtr(Z)]) if link == "probit" else _reference_softmax(Z)
    mean = np.maximum(summed.T / len(draws), np.finfo(np.float64).tiny)
    return np.log(mean).astype(chunk.X.dtype)


def _reference_softmax(Z: np.ndarray) -> np.ndarray:
    """Softmax (k, n) of class-major scores (k - 1, n) beside a reference of score 0."""
    largest = np.maximum(Z.max(axis=0), 0)
    E = np.exp(np.vstack([-largest, Z - largest]))
    return E / E.sum(axis=0)
