"""Multi-task elastic net and lasso: several targets share the columns that they use."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, Self

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.engine.rows import Rows
from tenfold.linear._lasso_gram import GramMatrix
from tenfold.linear._lasso_working_set import (
    L1L2Penalty,
    LassoSettings,
    LassoSolution,
    warn_unless_converged,
)
from tenfold.linear._multi_task import follow_multi_task_path, minimize_multi_task
from tenfold.linear.elastic_net import LASSO_CONSTRAINTS, ElasticNet

MULTI_TASK_CONSTRAINTS = dict(LASSO_CONSTRAINTS)
for _name in ("precompute", "positive"):
    del MULTI_TASK_CONSTRAINTS[_name]


class MultiTaskElasticNet(ElasticNet):
    r"""Elastic net of several targets, with the same columns for all of them.

    .. math:: \min_{W, b} \frac{1}{2n} \sum_i \omega_i \lVert y_i - W x_i - b \rVert^2
              + \alpha \rho \sum_j \lVert W_{\cdot j} \rVert
              + \frac{\alpha (1 - \rho)}{2} \lVert W \rVert^2

    A column has coefficients for all targets or for none. Here n is the total weight,
    :math:`\rho` is `l1_ratio`, and the intercepts b are not penalized. Block coordinate descent on
    the second moments of the columns of a working set: one pass over the data for up to 512
    columns; of more, columns enter in batches, each by a pass. Parameters, attributes and stopping
    rule are those of `sklearn.linear_model.MultiTaskElasticNet`.

    Parameters
    ----------
    alpha : float
        Weight of the penalty.
    l1_ratio : float
        Share of the penalty on the norms of columns; 1 is the multi-task lasso, 0 ridge regression.
    fit_intercept : bool
        Whether there are intercepts b.
    copy_X : bool
        X is never overwritten, whatever is given here.
    max_iter : int
        Maximum number of sweeps over the columns.
    tol : float
        Converged when the duality gap is at most `tol` times the mean square of y about its mean.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    random_state : int, optional
        Seed of a random order.
    selection : {"cyclic", "random"}
        Order in which columns are visited.

    Attributes
    ----------
    coef_ : (n_targets, n_features) coefficients
    sparse_coef_ : the same as a sparse array
    intercept_ : (n_targets,) intercepts, 0.0 if `fit_intercept` is False
    n_iter_ : sweeps
    dual_gap_ : how far at most the objective is above its minimum
    eps_ : `tol` times the sum of squares of y about its mean

    See Also
    --------
    ElasticNet : Each target by itself.
    MultiTaskElasticNetCV : Choose the penalty by cross-validation.

    References
    ----------
    * G. Obozinski, B. Taskar, M. I. Jordan (2010). Joint covariate selection and joint subspace
      selection for multiple classification problems. Statistics and Computing 20.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultiTaskElasticNet
    >>> X, Y = np.array([[0.0, 0], [1, 1], [2, 0]]), np.array([[0.0, 0], [1, 1], [2, 3]])
    >>> MultiTaskElasticNet(alpha=0.1).fit(X, Y).coef_.round(2).tolist()
    [[0.89, 0.0], [1.34, -0.22]]
    """

    _parameter_constraints = {
        **MULTI_TASK_CONSTRAINTS,
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    }
    precompute = False
    positive = False

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride] - scikit-learn's signature
        """Learn from rows.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        y : (n_rows, n_targets) array
            Targets.
        sample_weight : array or column name, optional
            Weight of each row; a weight of two is the row twice.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        rows = super()._training_rows(X, y, w)
        require_several_targets(self, rows)
        return rows

    def _fit_gram(self, gram: GramMatrix, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        settings, penalty = self._settings(rng), self._penalty(self.alpha)
        start = np.ascontiguousarray(self._initial_coef(gram).T)
        solution = minimize_multi_task(gram, penalty, start, settings)
        warn_unless_converged([solution], settings)
        return self._shape_attributes([solution], gram, rows.dtype, rows.target_shape) | {
            "eps_": float(self.tol * gram.yy.sum() * rows.n_rows)
        }

    def _follow(
        self, gram: GramMatrix, penalties: list[L1L2Penalty], w: Any, settings: LassoSettings
    ) -> Iterator[LassoSolution]:
        W = np.zeros(gram.xy.shape) if w is None else np.array(w, np.float64).T.copy()
        return follow_multi_task_path(gram, penalties, W, settings)

    def _shape_attributes(
        self,
        solutions: list[LassoSolution],
        gram: GramMatrix,
        dtype: np.dtype,
        target_shape: tuple[int, ...],
    ) -> dict[str, Any]:
        [s], p = solutions, len(gram.xy)
        b = (gram.mean[p:] - s.w.T @ gram.mean[:p]).astype(dtype)
        learned = {"coef_": s.w.T.astype(dtype), "intercept_": b if self.fit_intercept else 0.0}
        return learned | {"n_iter_": s.n_iter, "dual_gap_": s.gap}


def require_several_targets(model: Any, rows: Rows) -> None:
    """Raise an error for a single target, as scikit-learn does."""
    if not rows.target_shape:
        raise ValueError(
            f"For mono-task outputs, use {type(model).__name__.removeprefix('MultiTask')}: "
            f"{type(model).__name__} needs y of shape (n_rows, n_targets)"
        )


class MultiTaskLasso(MultiTaskElasticNet):
    r"""Lasso of several targets, with the same columns for all of them.

    .. math:: \min_{W, b} \frac{1}{2n} \sum_i \omega_i \lVert y_i - W x_i - b \rVert^2
              + \alpha \sum_j \lVert W_{\cdot j} \rVert

    This is `MultiTaskElasticNet` with `l1_ratio=1`.

    Parameters
    ----------
    alpha : float
        Weight of the penalty.
    fit_intercept : bool
        Whether there are intercepts b.
    copy_X : bool
        X is never overwritten, whatever is given here.
    max_iter : int
        Maximum number of sweeps over the columns.
    tol : float
        Converged when the duality gap is at most `tol` times the mean square of y about its mean.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    random_state : int, optional
        Seed of a random order.
    selection : {"cyclic", "random"}
        Order in which columns are visited.

    Attributes
    ----------
    coef_ : (n_targets, n_features) coefficients
    sparse_coef_ : the same as a sparse array
    intercept_ : (n_targets,) intercepts, 0.0 if `fit_intercept` is False
    n_iter_ : sweeps
    dual_gap_ : how far at most the objective is above its minimum
    eps_ : `tol` times the sum of squares of y about its mean

    See Also
    --------
    Lasso : Each target by itself.
    MultiTaskLassoCV : Choose the penalty by cross-validation.

    References
    ----------
    * G. Obozinski, B. Taskar, M. I. Jordan (2010). Joint covariate selection and joint subspace
      selection for multiple classification problems. Statistics and Computing 20.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultiTaskLasso
    >>> X, Y = np.array([[0.0, 0], [1, 1], [2, 0]]), np.array([[0.0, 0], [1, 1], [2, 3]])
    >>> MultiTaskLasso(alpha=0.1).fit(X, Y).coef_.round(2).tolist()
    [[0.92, 0.0], [1.38, -0.05]]
    """

    _parameter_constraints = MULTI_TASK_CONSTRAINTS
    l1_ratio = 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
