"""Ridge regression: least squares with an L2 penalty on the coefficients."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.rows import Rows
from tenfold.linear._least_squares_solvers import (
    LeastSquaresProblem,
    problem_from_moments,
    thin_svd,
)
from tenfold.linear.least_squares import LeastSquaresRegressor
from tenfold.stats.moments import Moments


class Ridge(LeastSquaresRegressor):
    r"""Least squares with an L2 penalty on the coefficients.

    .. math:: \min_{w, b} \sum_i \omega_i (y_i - x_i \cdot w - b)^2 + \alpha \lVert w \rVert^2

    The intercept b is not penalized. One pass over the data; parameters and attributes are those of
    `sklearn.linear_model.Ridge`.

    Parameters
    ----------
    alpha : float or (n_targets,) array
        Weight of the penalty, one for all targets or one each.
    fit_intercept : bool
        Whether there is an intercept b.
    copy_X : bool
        X is never overwritten, whatever is given here.
    max_iter : int, optional
        Maximum number of iterations of "sparse_cg".
    tol : float
        Relative precision of "sparse_cg".
    solver : {"auto", "cholesky", "svd", "sparse_cg", "lsqr", "sag", "saga", "lbfgs"}
        "cholesky" solves the normal equations, "svd" uses the triangular factor of the rows
        (slower, most accurate), "sparse_cg" iterates (for X of many columns). "auto" takes the
        first unless digits would be lost, and the last for more than 4096 sparse columns.
        scikit-learn's other names choose one of these (table below).
    positive : bool
        Whether coefficients must not be negative.
    random_state : int, optional
        Ignored: no solver draws random numbers.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features) coefficients
    intercept_ : float or (n_targets,) intercept, 0.0 if `fit_intercept` is False
    n_iter_ : iterations of "sparse_cg"; 1 for the other solvers
    solver_ : `solver`, as in scikit-learn; for "auto" the solver that was chosen
    statistic_ : the moments of [X y] from which all this was computed

    Notes
    -----
    Where scikit-learn's solvers go; with ``positive=True`` every name is an active-set method:

    ======================= ===========================================
    `solver`                is here
    ======================= ===========================================
    "cholesky"              normal equations
    "svd"                   triangular factor, then singular values
    "sparse_cg"             conjugate gradients
    "lsqr", "sag", "saga"   "auto": exact, and without random numbers
    "lbfgs"                 for ``positive=True`` alone
    ======================= ===========================================

    See Also
    --------
    LinearRegression : Without a penalty.
    BayesianRidge : Learns the penalty from the data.
    ElasticNet : With an L1 penalty beside.

    References
    ----------
    * A. E. Hoerl, R. W. Kennard (1970). Ridge regression: biased estimation for nonorthogonal
      problems. Technometrics 12.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Ridge
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> Ridge(alpha=2.0).fit(X, y).coef_.round(9).tolist()
    [0.5]
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left"), np.ndarray, "array-like"],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "solver": [
            StrOptions({"auto", "cholesky", "svd", "sparse_cg", "lsqr", "sag", "saga", "lbfgs"})
        ],
        "positive": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    def _solver(self) -> str:
        if self.solver == "lbfgs" and not self.positive:
            raise ValueError(
                "'lbfgs' solver can be used only when positive=True. Please use another solver."
            )
        direct = self.positive or self.solver in ("lsqr", "sag", "saga", "lbfgs")
        return "auto" if direct else self.solver

    def _models_from_statistic(
        self, s: Moments, dtype: np.dtype, settings: list[dict]
    ) -> list[Any]:
        """All penalties from one spectral decomposition of the moments."""
        if self.positive or not _are_scalar_penalties(settings):
            return super()._models_from_statistic(s, dtype, settings)
        p = self.n_features_in_
        P = problem_from_moments(s, p, dtype, intercept=self.fit_intercept)
        values, V = np.linalg.eigh(P.AA)
        projected, models = V.T @ P.AB, [copy(self) for _ in settings]
        for model, setting in zip(models, settings, strict=True):
            model.alpha = setting["alpha"]
            shrunk = projected / (np.maximum(values, 0.0) + model._alpha(P)[0])[:, None]
            coef = V @ shrunk
            learned = model._shape_attributes(coef, s.mean[p:] - s.mean[:p] @ coef, dtype)
            learned |= model._extra_attributes(P) | {"statistic_": s, "dtype_": dtype}
            model._set_learned(learned)
        return models

    def _fit_path(self, rows: Rows, settings: list[dict]) -> list[Any] | None:
        """All penalties from one decomposition, where the rows are fewer than the columns."""
        if not (_are_scalar_penalties(settings) and self._is_wide(rows)):
            return None
        models = [copy(self).set_params(**setting) for setting in settings]
        svd = thin_svd(rows, intercept=self.fit_intercept)
        for model in models:
            model._validate_params()
            model._target_shape = rows.target_shape
            model._set_learned(model._attributes_from_svd(svd, rows.dtype))
        return models

    def _penalties(self, targets: int) -> np.ndarray:
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim and len(alpha) != targets:
            raise ValueError(
                "Number of targets and number of penalties do not correspond: "
                f"{len(alpha)} != {targets}"
            )
        if (alpha < 0).any():
            raise ValueError(f"alpha={self.alpha} must not be negative")
        return np.broadcast_to(alpha, targets)

    def _shape_attributes(
        self, coef: np.ndarray, intercept: np.ndarray, dtype: np.dtype
    ) -> dict[str, Any]:
        learned = super()._shape_attributes(coef, intercept, dtype)
        if self._target_shape == (1,):  # scikit-learn's Ridge drops this axis too
            learned["coef_"] = learned["coef_"][0]
        return learned

    def _extra_attributes(self, P: LeastSquaresProblem) -> dict[str, Any]:
        return {"n_iter_": 1, "solver_": self._solver_name("cholesky" if P.R is None else "svd")}

    def _spectrum_attributes(self, singular: np.ndarray, eps: float) -> dict[str, Any]:
        return {"n_iter_": 1, "solver_": self._solver_name("svd")}

    def _solver_name(self, used: str) -> str:
        """What was asked for; what was used, if the choice was left to the model."""
        return used if self.solver == "auto" else self.solver


def _are_scalar_penalties(settings: list[dict]) -> bool:
    """Whether the settings differ in a single penalty for all targets, and in nothing else."""
    return all(set(s) == {"alpha"} and np.ndim(s["alpha"]) == 0 for s in settings)
