"""Lasso and elastic net with the penalty chosen by cross-validation."""

from __future__ import annotations

from typing import Any

from tenfold.engine.rows import Rows
from tenfold.linear._elastic_net_folds import ElasticNetFold
from tenfold.linear._elastic_net_search import (
    L1_RATIO_CONSTRAINT,
    SINGLE_TASK_CONSTRAINTS,
    ElasticNetSearch,
)
from tenfold.linear.elastic_net import ElasticNet
from tenfold.linear.elastic_net_path import enet_path, lasso_path


class ElasticNetCV(ElasticNetSearch):
    r"""Elastic net with the penalty chosen by cross-validation.

    For each fold and each penalty of a descending sequence,

    .. math:: \frac{1}{2n} \sum_i \omega_i (y_i - x_i \cdot w - b)^2 + \alpha \rho \lVert w \rVert_1
              + \frac{\alpha (1 - \rho)}{2} \lVert w \rVert^2

    is minimized, each from the last. Up to 512 columns the moments of a fold are those of all
    rows less its own, so that all folds come from one pass; of more columns, fits of all folds
    share their passes. The penalty with the least mean squared error, averaged over the folds, is
    fitted to all rows. Parameters and attributes are those of `sklearn.linear_model.ElasticNetCV`.

    Parameters
    ----------
    l1_ratio : float or array
        Shares of the L1 penalty to try; 1 is the lasso.
    eps : float
        Smallest penalty as a share of the largest, where `alphas` is a number.
    alphas : int or array
        The penalties to try; or how many, equally spaced in their logarithm, from the smallest for
        which all coefficients are zero.
    fit_intercept : bool
        Whether there is an intercept b.
    precompute : "auto", bool or array
        Whether to make the second moments of all columns at once; "auto" does for up to 512. Those
        of folds and of all rows differ, so a given matrix has no effect.
    max_iter : int
        Maximum number of sweeps over the coefficients, for each penalty.
    tol : float
        Converged when the duality gap is at most `tol` times the mean square of y about its mean.
    cv : int, scikit-learn splitter, or pairs of arrays of row numbers, optional
        The folds: 5 consecutive ones by default.
    copy_X : bool
        X is never overwritten, whatever is given here.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    n_jobs : int, optional
        Number of threads; all by default.
    positive : bool
        Whether coefficients must not be negative.
    random_state : int, optional
        Seed of a random order.
    selection : {"cyclic", "random"}
        Order in which coefficients are visited.

    Attributes
    ----------
    alpha_ : the penalty that was chosen
    l1_ratio_ : its share of L1
    alphas_ : (n_alphas,) penalties or (n_l1_ratios, n_alphas), descending
    mse_path_ : (n_l1_ratios, n_alphas, n_folds) or (n_alphas, n_folds) mean squared errors on the
        test rows
    coef_ : (n_features,) coefficients, fitted to all rows
    intercept_ : intercept, 0.0 if `fit_intercept` is False
    n_iter_ : sweeps of the last fit
    dual_gap_ : how far at most its objective is above its minimum

    See Also
    --------
    ElasticNet : With a given penalty.
    LassoCV : The L1 penalty alone.
    enet_path : The path of one set of rows.

    References
    ----------
    * H. Zou, T. Hastie (2005). Regularization and variable selection via the elastic net. Journal
      of the Royal Statistical Society B 67.
    * J. Friedman, T. Hastie, R. Tibshirani (2010). Regularization paths for generalized linear
      models via coordinate descent. Journal of Statistical Software 33.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0]).fit(X, y)
    >>> model.l1_ratio_, round(model.alpha_, 4), model.mse_path_.shape
    (1.0, 0.0035, (2, 100, 5))
    """

    _parameter_constraints = {**SINGLE_TASK_CONSTRAINTS, "l1_ratio": L1_RATIO_CONSTRAINT}

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **settings: Any) -> tuple:
        """Coefficients for a sequence of penalties: see `tenfold.enet_path`."""
        return enet_path(X, y, **settings)

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        shape = getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] > 1:
            raise ValueError(f"For multi-task outputs, use MultiTask{type(self).__name__}")
        return super()._training_rows(X, y, w)

    def _models(self) -> tuple[Any, Any]:
        params = self._shared_params()
        params |= {"positive": self.positive, "precompute": self.precompute is True}
        return ElasticNet(**params), ElasticNetFold(**params)


class LassoCV(ElasticNetCV):
    r"""Lasso with the penalty chosen by cross-validation.

    For each fold and each penalty of a descending sequence,

    .. math:: \frac{1}{2n} \sum_i \omega_i (y_i - x_i \cdot w - b)^2 + \alpha \lVert w \rVert_1

    is minimized, each from the last. Up to 512 columns the moments of a fold are those of all
    rows less its own, so that all folds come from one pass; of more columns, fits of all folds
    share their passes. The penalty with the least mean squared error, averaged over the folds, is
    fitted to all rows. Parameters and attributes are those of `sklearn.linear_model.LassoCV`.

    Parameters
    ----------
    eps : float
        Smallest penalty as a share of the largest, where `alphas` is a number.
    alphas : int or array
        The penalties to try; or how many, equally spaced in their logarithm, from the smallest for
        which all coefficients are zero.
    fit_intercept : bool
        Whether there is an intercept b.
    precompute : "auto", bool or array
        Whether to make the second moments of all columns at once; "auto" does for up to 512. Those
        of folds and of all rows differ, so a given matrix has no effect.
    max_iter : int
        Maximum number of sweeps over the coefficients, for each penalty.
    tol : float
        Converged when the duality gap is at most `tol` times the mean square of y about its mean.
    copy_X : bool
        X is never overwritten, whatever is given here.
    cv : int, scikit-learn splitter, or pairs of arrays of row numbers, optional
        The folds: 5 consecutive ones by default.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    n_jobs : int, optional
        Number of threads; all by default.
    positive : bool
        Whether coefficients must not be negative.
    random_state : int, optional
        Seed of a random order.
    selection : {"cyclic", "random"}
        Order in which coefficients are visited.

    Attributes
    ----------
    alpha_ : the penalty that was chosen
    alphas_ : (n_alphas,) penalties, descending
    mse_path_ : (n_alphas, n_folds) mean squared errors on the test rows
    coef_ : (n_features,) coefficients, fitted to all rows
    intercept_ : intercept, 0.0 if `fit_intercept` is False
    n_iter_ : sweeps of the last fit
    dual_gap_ : how far at most its objective is above its minimum

    See Also
    --------
    Lasso : With a given penalty.
    ElasticNetCV : With an L2 penalty beside.
    lasso_path : The path of one set of rows.

    References
    ----------
    * R. Tibshirani (1996). Regression shrinkage and selection via the lasso. Journal of the Royal
      Statistical Society B 58.
    * J. Friedman, T. Hastie, R. Tibshirani (2010). Regularization paths for generalized linear
      models via coordinate descent. Journal of Statistical Software 33.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV().fit(X, y)
    >>> round(model.alpha_, 4), int((model.coef_ != 0).sum())
    (0.0035, 9)
    """

    _parameter_constraints = SINGLE_TASK_CONSTRAINTS
    l1_ratio = 1.0

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **settings: Any) -> tuple:
        """Coefficients for a sequence of penalties: see `tenfold.lasso_path`."""
        return lasso_path(X, y, **settings)
