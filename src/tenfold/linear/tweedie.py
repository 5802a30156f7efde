"""Regression of positive targets: gamma and Tweedie distributions."""

from __future__ import annotations

from numbers import Real

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.linear._glm import GLM_CONSTRAINTS, GeneralizedLinearRegressor
from tenfold.math.deviances import TweedieLoss


class GammaRegressor(GeneralizedLinearRegressor):
    r"""Regression of positive numbers: y is gamma with mean exp(x·w + b).

    .. math:: \min_{w, b} \frac1{\sum_i \omega_i} \sum_i \omega_i
              \big[z_i + y_i e^{-z_i}\big] + \tfrac\alpha2 \lVert w \rVert^2,
              \qquad z_i = x_i \cdot w + b

    The deviation of y grows with its mean. The intercept b is not penalized. One pass over the
    data per iteration. Parameters and attributes are those of
    `sklearn.linear_model.GammaRegressor`; only `solver` has a default of its own.

    Parameters
    ----------
    alpha : float
        Weight of the penalty against the mean loss.
    fit_intercept : bool
        Whether there is an intercept b.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg"}
        As in `PoissonRegressor`.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Converged when no entry of the gradient exceeds this.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    coef_ : (n_features,) coefficients
    intercept_ : intercept, 0.0 if `fit_intercept` is False
    n_iter_, converged_ : iterations, and whether the gradient was small enough at the end
    history_ : objective after each iteration ("objective"), and "seconds"

    See Also
    --------
    PoissonRegressor : For counts.
    TweedieRegressor : For any power of the mean as variance.

    References
    ----------
    * P. McCullagh, J. A. Nelder (1989). Generalized Linear Models, 2nd ed., chapter 8.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GammaRegressor
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.5, 1.0, 2.0])
    >>> model = GammaRegressor(alpha=0, tol=1e-9).fit(X, y)  # doubles with every step
    >>> model.coef_.round(6).tolist(), model.predict([[3.0]]).round(6).tolist()
    ([0.693147], [4.0])
    """

    def _deviance(self) -> TweedieLoss:
        return TweedieLoss(2.0)


class TweedieRegressor(GeneralizedLinearRegressor):
    r"""Regression of targets whose variance is a power of their mean.

    .. math:: \min_{w, b} \frac1{\sum_i \omega_i} \sum_i \omega_i
              \Big[\frac{\mu_i^{2-p}}{2-p} - \frac{y_i\, \mu_i^{1-p}}{1-p}\Big]
              + \tfrac\alpha2 \lVert w \rVert^2

    with logarithms in place of the powers zero. The intercept b is not penalized. One pass over
    the data per iteration. Parameters and attributes are those of
    `sklearn.linear_model.TweedieRegressor`; only `solver` has a default of its own.

    Parameters
    ----------
    power : float
        The power p: 0 is the normal distribution, 1 Poisson, between 1 and 2 a sum of a Poisson
        number of gamma variables (y may be zero), 2 gamma, 3 inverse Gaussian.
    alpha : float
        Weight of the penalty against the mean loss.
    fit_intercept : bool
        Whether there is an intercept b.
    link : {"auto", "identity", "log"}
        The mean is x·w + b or its exponential; "auto" takes the former for powers up to 0.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg"}
        As in `PoissonRegressor`.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Converged when no entry of the gradient exceeds this.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.

    Attributes
    ----------
    coef_ : (n_features,) coefficients
    intercept_ : intercept, 0.0 if `fit_intercept` is False
    n_iter_, converged_ : iterations, and whether the gradient was small enough at the end
    history_ : objective after each iteration ("objective"), and "seconds"

    See Also
    --------
    PoissonRegressor : Power 1.
    GammaRegressor : Power 2.

    References
    ----------
    * B. Jorgensen (1987). Exponential dispersion models. Journal of the Royal Statistical Society
      B 49.

    Examples
    --------
    >>> from tenfold import TweedieRegressor
    >>> X, y = [[1, 2], [2, 3], [3, 4], [4, 3]], [2, 3.5, 5, 5.5]
    >>> model = TweedieRegressor(tol=1e-9).fit(X, y)
    >>> model.coef_.round(3).tolist(), round(model.score(X, y), 3)
    ([0.6, 0.3], 0.84)
    """

    _parameter_constraints = {
        **GLM_CONSTRAINTS,
        "power": [Interval(Real, None, None, closed="neither")],
        "link": [StrOptions({"auto", "identity", "log"})],
    }

    def __init__(
        self,
        *,
        power: float = 0.0,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        link: str = "auto",
        solver: str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            alpha=alpha,
            fit_intercept=fit_intercept,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.power = power
        self.link = link

    def _deviance(self) -> TweedieLoss:
        link = ("log" if self.power > 0 else "identity") if self.link == "auto" else self.link
        return TweedieLoss(float(self.power), link)
