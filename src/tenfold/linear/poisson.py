"""Poisson regression: counts whose log-mean is linear."""

from __future__ import annotations

from tenfold.linear._glm import GeneralizedLinearRegressor
from tenfold.math.losses import PoissonLoss


class PoissonRegressor(GeneralizedLinearRegressor):
    r"""Regression of counts: y is Poisson with mean exp(x·w + b).

    .. math:: \min_{w, b} \frac1{\sum_i \omega_i} \sum_i \omega_i
              \big[e^{z_i} - y_i z_i\big] + \tfrac\alpha2 \lVert w \rVert^2,
              \qquad z_i = x_i \cdot w + b

    The intercept b is not penalized. One pass over the data per iteration. Parameters and
    attributes are those of `sklearn.linear_model.PoissonRegressor`; only `solver` has a default of
    its own.

    Parameters
    ----------
    alpha : float
        Weight of the penalty against the mean loss.
    fit_intercept : bool
        Whether there is an intercept b.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg"}
        "newton-cholesky" takes few iterations and makes a Hessian of all columns; "newton-cg" takes
        as few, of several passes each, and makes none; "lbfgs" takes more, of one pass each. "auto"
        takes Newton's method for up to 255 columns, else "lbfgs".
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
    GammaRegressor, TweedieRegressor : Other distributions of the target.
    PenalizedRegressor : The Poisson loss with any penalty and solver.
    PoissonNB : Counts in the features.

    References
    ----------
    * P. McCullagh, J. A. Nelder (1989). Generalized Linear Models, 2nd ed., chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PoissonRegressor
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1, 2, 4])
    >>> model = PoissonRegressor(alpha=0, tol=1e-9).fit(X, y)  # doubles with every step
    >>> model.coef_.round(6).tolist(), model.predict([[3.0]]).round(6).tolist()
    ([0.693147], [8.0])
    """

    def _deviance(self) -> PoissonLoss:
        return PoissonLoss()
