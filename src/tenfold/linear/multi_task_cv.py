"""Multi-task lasso and elastic net with the penalty chosen by cross-validation."""

from __future__ import annotations

from typing import Any

from tenfold.engine.rows import Rows
from tenfold.linear._elastic_net_folds import MultiTaskFold
from tenfold.linear._elastic_net_search import (
    L1_RATIO_CONSTRAINT,
    PATH_CONSTRAINTS,
    ElasticNetSearch,
)
from tenfold.linear.elastic_net_path import enet_path, lasso_path
from tenfold.linear.multi_task import MultiTaskElasticNet, require_several_targets


class MultiTaskElasticNetCV(ElasticNetSearch):
    r"""Multi-task elastic net with the penalty chosen by cross-validation.

    For each fold and each penalty of a descending sequence,

    .. math:: \frac{1}{2n} \sum_i \omega_i \lVert y_i - W x_i - b \rVert^2
              + \alpha \rho \sum_j \lVert W_{\cdot j} \rVert
              + \frac{\alpha (1 - \rho)}{2} \lVert W \rVert^2

    is minimized, each from the last. Up to 512 columns the moments of a fold are those of all
    rows less its own, so that all folds come from one pass; of more columns, fits of all folds
    share their passes. The penalty with the least mean squared error, averaged over the folds, is
    fitted to all rows. Parameters and attributes are those of
    `sklearn.linear_model.MultiTaskElasticNetCV`.

    Parameters
    ----------
    l1_ratio : float or array
        Shares of the penalty on the norms of columns to try; 1 is the multi-task lasso.
    eps : float
        Smallest penalty as a share of the largest, where `alphas` is a number.
    alphas : int or array
        The penalties to try; or how many, equally spaced in their logarithm, from the smallest for
        which all coefficients are zero.
    fit_intercept : bool
        Whether there is an intercept b.
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
    coef_ : (n_targets, n_features) coefficients, fitted to all rows
    intercept_ : (n_targets,) intercepts, 0.0 if `fit_intercept` is False
    n_iter_ : sweeps of the last fit
    dual_gap_ : how far at most its objective is above its minimum

    See Also
    --------
    MultiTaskElasticNet : With a given penalty.
    ElasticNetCV : For one target.

    References
    ----------
    * G. Obozinski, B. Taskar, M. I. Jordan (2010). Joint covariate selection and joint subspace
      selection for multiple classification problems. Statistics and Computing 20.
    * J. Friedman, T. Hastie, R. Tibshirani (2010). Regularization paths for generalized linear
      models via coordinate descent. Journal of Statistical Software 33.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultiTaskElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Y = X[:, :2] @ [[1.0, 2.0], [-1.0, 1.0]] + 0.1 * rng.normal(size=(60, 2))
    >>> MultiTaskElasticNetCV(alphas=[0.05, 0.5]).fit(X, Y).alpha_
    0.05
    """

    _parameter_constraints = {**PATH_CONSTRAINTS, "l1_ratio": L1_RATIO_CONSTRAINT}
    _multi_output = True

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **settings: Any) -> tuple:
        """Coefficients for a sequence of penalties: see `tenfold.enet_path`."""
        return enet_path(X, y, **settings)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        rows = super()._training_rows(X, y, w)
        require_several_targets(self, rows)
        return rows

    def _models(self) -> tuple[Any, Any]:
        params = self._shared_params()
        return MultiTaskElasticNet(**params), MultiTaskFold(**params)


class MultiTaskLassoCV(MultiTaskElasticNetCV):
    r"""Multi-task lasso with the penalty chosen by cross-validation.

    For each fold and each penalty of a descending sequence,

    .. math:: \frac{1}{2n} \sum_i \omega_i \lVert y_i - W x_i - b \rVert^2
              + \alpha \sum_j \lVert W_{\cdot j} \rVert

    is minimized, each from the last. Up to 512 columns the moments of a fold are those of all
    rows less its own, so that all folds come from one pass; of more columns, fits of all folds
    share their passes. The penalty with the least mean squared error, averaged over the folds, is
    fitted to all rows. Parameters and attributes are those of
    `sklearn.linear_model.MultiTaskLassoCV`.

    Parameters
    ----------
    eps : float
        Smallest penalty as a share of the largest, where `alphas` is a number.
    alphas : int or array
        The penalties to try; or how many, equally spaced in their logarithm, from the smallest for
        which all coefficients are zero.
    fit_intercept : bool
        Whether there is an intercept b.
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
    random_state : int, optional
        Seed of a random order.
    selection : {"cyclic", "random"}
        Order in which coefficients are visited.

    Attributes
    ----------
    alpha_ : the penalty that was chosen
    alphas_ : (n_alphas,) penalties, descending
    mse_path_ : (n_alphas, n_folds) mean squared errors on the test rows
    coef_ : (n_targets, n_features) coefficients, fitted to all rows
    intercept_ : (n_targets,) intercepts, 0.0 if `fit_intercept` is False
    n_iter_ : sweeps of the last fit
    dual_gap_ : how far at most its objective is above its minimum

    See Also
    --------
    MultiTaskLasso : With a given penalty.
    LassoCV : For one target.

    References
    ----------
    * G. Obozinski, B. Taskar, M. I. Jordan (2010). Joint covariate selection and joint subspace
      selection for multiple classification problems. Statistics and Computing 20.
    * J. Friedman, T. Hastie, R. Tibshirani (2010). Regularization paths for generalized linear
      models via coordinate descent. Journal of Statistical Software 33.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultiTaskLassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Y = X[:, :2] @ [[1.0, 2.0], [-1.0, 1.0]] + 0.1 * rng.normal(size=(60, 2))
    >>> MultiTaskLassoCV(alphas=[0.05, 0.5]).fit(X, Y).alpha_
    0.05
    """

    _parameter_constraints = PATH_CONSTRAINTS
    l1_ratio = 1.0

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **settings: Any) -> tuple:
        """Coefficients for a sequence of penalties: see `tenfold.lasso_path`."""
        return lasso_path(X, y, **settings)
