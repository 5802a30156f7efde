"""BayesianRidge and ARDRegression, scikit-learn's names for two cases of one model."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.linear.bayesian._evidence import DesignSpectrum, is_relevant
from tenfold.linear.bayesian._posterior import PosteriorProblem
from tenfold.linear.bayesian.bayesian_linear import BayesianLinearRegression

_PRIOR_PARAMETERS = (
    "prior_precision",
    "prior_covariance",
    "prior_mean",
    "noise",
    "intercept_precision",
)


def _constraints_without(*names: str) -> dict[str, Any]:
    """Constraints of all parameters except these and those of the prior."""
    constraints = BayesianLinearRegression._parameter_constraints  # noqa: SLF001
    return {
        name: value
        for name, value in constraints.items()
        if name not in {*_PRIOR_PARAMETERS, *names}
    }


class EvidenceRegression(BayesianLinearRegression):
    """Bayesian linear regression that estimates noise and prior."""

    prior_precision = "isotropic"
    prior_covariance = None
    prior_mean = 0.0
    noise = None
    intercept_precision = None


class BayesianRidge(EvidenceRegression):
    """Linear regression whose noise and whose one prior precision maximize the evidence.

    Parameters and attributes are those of `sklearn.linear_model.BayesianRidge`. It is
    `BayesianLinearRegression` with its default prior.

    Parameters
    ----------
    max_iter : int
        Maximum number of fixed-point iterations.
    tol : float
        Converged when the coefficients change by less, in sum.
    alpha_1, alpha_2, lambda_1, lambda_2 : float
        Shapes and rates of the Gamma priors of the precisions.
    alpha_init, lambda_init : float, optional
        Initial values of the fixed point.
    compute_score : bool
        Whether to keep `scores_`.
    fit_intercept : bool
        Whether there is an intercept.
    copy_X : bool
        X is never overwritten, whatever is given here.
    verbose : bool
        Whether to show progress.

    See Also
    --------
    BayesianLinearRegression, ARDRegression, Ridge

    References
    ----------
    MacKay, D. (1992). Bayesian Interpolation.

    Examples
    --------
    >>> from tenfold import BayesianRidge
    >>> model = BayesianRidge().fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[1.0, 1.0]]).round(6).tolist()
    [1.0]
    """

    threshold_lambda = 1e4
    _parameter_constraints = _constraints_without("threshold_lambda")

    def __init__(  # pyright: ignore[reportMissingSuperCall]
        self,
        *,
        max_iter: int = 300,
        tol: float = 1e-3,
        alpha_1: float = 1e-6,
        alpha_2: float = 1e-6,
        lambda_1: float = 1e-6,
        lambda_2: float = 1e-6,
        alpha_init: float | None = None,
        lambda_init: float | None = None,
        compute_score: bool = False,
        fit_intercept: bool = True,
        copy_X: bool = True,
        verbose: bool = False,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.alpha_init = alpha_init
        self.lambda_init = lambda_init
        self.compute_score = compute_score
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose


class ARDRegression(EvidenceRegression):
    """Automatic relevance determination: a prior precision for each coefficient.

    Parameters and attributes are those of `sklearn.linear_model.ARDRegression`. It is
    `BayesianLinearRegression` with ``prior_precision="relevance"``, but `sigma_` holds
    only the columns that were kept.

    Parameters
    ----------
    max_iter : int
        Maximum number of fixed-point iterations.
    tol : float
        Converged when the coefficients change by less, in sum.
    alpha_1, alpha_2, lambda_1, lambda_2 : float
        Shapes and rates of the Gamma priors of the precisions.
    compute_score : bool
        Whether to keep `scores_`.
    threshold_lambda : float
        Precision from which a column is dropped.
    fit_intercept : bool
        Whether there is an intercept.
    copy_X : bool
        X is never overwritten, whatever is given here.
    verbose : bool
        Whether to show progress.

    See Also
    --------
    BayesianLinearRegression, BayesianRidge, Lasso

    References
    ----------
    MacKay, D. (1994). Bayesian Nonlinear Modeling for the Prediction Competition.
    Tipping, M. (2001). Sparse Bayesian Learning and the Relevance Vector Machine.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ARDRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = ARDRegression().fit(X, 2 * X[:, 0])
    >>> model.coef_.round(3).tolist()
    [2.0, 0.0, 0.0]
    """

    prior_precision = "relevance"
    alpha_init = None
    lambda_init = None
    _parameter_constraints = _constraints_without("alpha_init", "lambda_init")

    def __init__(  # pyright: ignore[reportMissingSuperCall]
        self,
        *,
        max_iter: int = 300,
        tol: float = 1e-3,
        alpha_1: float = 1e-6,
        alpha_2: float = 1e-6,
        lambda_1: float = 1e-6,
        lambda_2: float = 1e-6,
        compute_score: bool = False,
        threshold_lambda: float = 1e4,
        fit_intercept: bool = True,
        copy_X: bool = True,
        verbose: bool = False,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.compute_score = compute_score
        self.threshold_lambda = threshold_lambda
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose

    def _solve_posterior(
        self, problem: PosteriorProblem, spectrum: DesignSpectrum, dtype: np.dtype
    ) -> dict[str, Any]:
        learned = super()._solve_posterior(problem, spectrum, dtype)
        relevant = is_relevant(learned["lambda_"], self.threshold_lambda)
        return learned | {"sigma_": learned["sigma_"][np.ix_(relevant, relevant)]}

    def _covariance(self) -> np.ndarray:
        relevant = is_relevant(self.lambda_, self.threshold_lambda)
        S = np.zeros((len(relevant), len(relevant)), self.sigma_.dtype)
        S[np.ix_(relevant, relevant)] = self.sigma_
        return S
