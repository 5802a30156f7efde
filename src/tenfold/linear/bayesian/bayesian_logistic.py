"""Bayesian logistic and probit regression: a posterior over the coefficients, not one best."""

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


class BayesianLogisticRegression(ProbabilisticClassifier):
    r"""Logistic, softmax or probit regression with a Gaussian prior of the coefficients.

    .. math:: w \sim N(\mu, \Lambda^{-1}), \qquad
              p(y^* \mid x^*, D) = \int p(y^* \mid x^*, w)\, p(w \mid D)\, dw

    The mode of the posterior is `LogisticRegression` with the penalty
    :math:`\tfrac12 w^\top \Lambda w`. Far from the data the integral is unsure where the mode is
    not. The posterior is the Gaussian about the mode (Laplace), or is drawn by Hamiltonian Monte
    Carlo. With more than two classes the first is the reference, whose scores are zero, and each
    other class has a row of coefficients with this prior. One pass over the data a round.
    [000, 2.3.2 and Fig. 2.3(a); MacKay 1992, The Evidence Framework]

    Parameters
    ----------
    link : {"logit", "probit"}
        The probability of a score: logistic, or the normal distribution function (two classes).
    prior_precision : float, (p,) or (p, p) array
        Precision of the prior: one for all columns, one each, or a full matrix.
    prior_covariance : float, (p,) or (p, p) array, optional
        Covariance of the prior, instead of its precision.
    prior_mean : float or (p,) array
        Mean of the prior.
    intercept_precision : float
        Prior precision of the constants; 0 is a flat prior.
    fit_intercept : bool
        Whether there are constants.
    posterior : {"laplace", "mcmc"}
        A Gaussian about the mode, or draws that tend to the posterior itself.
    predictive : {"auto", "monte-carlo"}
        "auto" integrates over the score of a row: exactly for the probit link, by MacKay's
        approximation for the logit. "monte-carlo" averages over draws, as is always done for more
        than two classes and for "mcmc".
    n_draws : int
        Draws from the posterior that predictions average over.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this.
    max_iter : int
        Most rounds of Newton's method.
    random_state : int, optional
        Seed of the draws.

    Attributes
    ----------
    classes_ : (k,) labels
    coef_ : (k - 1, p) mode of the posterior; its mean for "mcmc"
    intercept_ : (k - 1,) constants there
    covariance_ : covariance of the posterior of the rows [w b], flat
    log_evidence_ : log-probability of the labels by Laplace's method; a flat prior counts as 1
    draws_ : (n_draws, k - 1, p + 1) draws of the rows [w b], where predictions use them
    r_hat_, effective_size_ : how well the chains of "mcmc" mixed, for each parameter
    n_iter_, converged_, history_ : rounds, whether they sufficed, mean objective after each

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.bayesian.bayesian_logistic import BayesianLogisticRegression
    >>> X, y = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    >>> model = BayesianLogisticRegression().fit(X, y)
    >>> model.predict_proba([[1.0], [1e6]])[:, 1].round(3).tolist()
    [0.673, 0.865]
    """

    _sparse_ok = True
    _min_classes = 2
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
        start = np.zeros(f.shape[0] * f.shape[1])
        about = laplace_approximation(f, start, tol=self.tol, max_iter=self.max_iter)
        seed = int(rng.integers(2**31))
        learned = {"log_evidence_": about.log_evidence, **about.report}
        if self.posterior == "mcmc":
            return learned | self._sampled(f, about, seed)
        J = np.kron(np.eye(f.shape[0]), f.chain())
        S = J @ about.covariance @ J.T
        learned |= self._summary(np.column_stack(f.parts(about.mode)), S, rows.dtype)
        if self.predictive == "monte-carlo" or f.shape[0] > 1:
            noise = np.random.default_rng(seed).standard_normal((self.n_draws, len(about.mode)))
            thetas = about.mode + noise @ covariance_root(about.covariance).T
            learned["draws_"] = _coefficient_rows(f, thetas).astype(rows.dtype)
        return learned

    def _log_posterior(self, rows: Rows) -> ClassifierLogPosterior:
        k, p = len(self.classes_), rows.n_features
        if self.link == "probit" and k > 2:
            raise ValueError(f"the probit link is for two classes, not {k}: use link='logit'")
        prior = gaussian_prior(self.prior_mean, self.prior_precision, self.prior_covariance, p)
        level = float(self.intercept_precision) if self.fit_intercept else np.inf
        n = float(rows.total(sum_class_weights, k).sum())
        return ClassifierLogPosterior(
            rows, link_loss(self.link, k), (k - 1, p + 1), prior, level, n
        )

    def _sampled(
        self, f: ClassifierLogPosterior, about: ClassifierLaplace, seed: int
    ) -> dict[str, Any]:
        chains = sample_posterior_chains(f, about, self.n_draws, seed)
        W = _coefficient_rows(f, chains.flat)
        flat = W.reshape(len(W), -1)
        learned = self._summary(W.mean(axis=0), np.cov(flat, rowvar=False), f.rows.dtype)
        learned |= {"r_hat_": chains.r_hat, "effective_size_": chains.effective_sample_size}
        return learned | {"draws_": W.astype(f.rows.dtype)}

    def _summary(self, W: np.ndarray, S: np.ndarray, dtype: np.dtype) -> dict[str, Any]:
        """Centre and covariance; for two classes also the pivot where the level is independent."""
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
        spread = (self.X_offset_, S, self.level_variance_)
        return _integrate_gaussian_score, (self.coef_[0], self.intercept_[0]), spread, self.link

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
            `coef` (n, k - 1, p) and `intercept` (n, k - 1).
        """
        check_is_fitted(self)
        rng = check_random_state(random_state)
        if self.posterior == "mcmc":
            W = self.draws_[rng.randint(len(self.draws_), size=n_samples)]
            return PosteriorDraws(W[:, :, :-1], W[:, :, -1])
        centre = np.column_stack([self.coef_, self.intercept_])
        values, V = np.linalg.eigh(self.covariance_.astype(np.float64))
        noise = rng.standard_normal((n_samples, len(V))) * np.sqrt(np.maximum(values, 0.0))
        W = centre + (noise @ V.T).reshape(n_samples, *centre.shape)
        return PosteriorDraws(W[:, :, :-1], W[:, :, -1])


def _coefficient_rows(f: ClassifierLogPosterior, thetas: np.ndarray) -> np.ndarray:
    """Rows [w b] of flat parameters [v b], (draws, m, q)."""
    return np.stack([np.column_stack(f.parts(theta)) for theta in thetas])


def _integrate_gaussian_score(chunk: Chunk, centre: tuple, spread: tuple, link: str) -> np.ndarray:
    """Log-odds (n, 2) for a Gaussian score: exact for probit, MacKay's approximation for logit."""
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    offset, S, level = spread
    D = X - offset
    variance = np.maximum(np.einsum("ij,ij->i", D @ S, D), 0) + level
    score = X @ centre[0] + centre[1]
    if link == "logit":
        score = score / np.sqrt(1 + np.pi / 8 * variance)
        return np.column_stack([np.zeros_like(score), score]).astype(X.dtype)
    score = score / np.sqrt(1 + variance)
    return np.column_stack([log_ndtr(-score), log_ndtr(score)]).astype(X.dtype)


def _average_over_draws(chunk: Chunk, draws: np.ndarray, link: str) -> np.ndarray:
    """Log of the mean probability (n, k) over the draws."""
    total = np.zeros((draws.shape[1] + 1, chunk.rows))
    for W in draws:
        Z = class_major_scores(chunk.X, W[:, :-1], W[:, -1])
        total += np.vstack([ndtr(-Z), ndtr(Z)]) if link == "probit" else _reference_softmax(Z)
    mean = np.maximum(total.T / len(draws), np.finfo(np.float64).tiny)
    return np.log(mean).astype(chunk.X.dtype)


def _reference_softmax(Z: np.ndarray) -> np.ndarray:
    """Softmax (k, n) of class-major scores (k - 1, n) beside a reference of score 0."""
    top = np.maximum(Z.max(axis=0), 0)
    E = np.exp(np.vstack([-top, Z - top]))
    return E / E.sum(axis=0)
