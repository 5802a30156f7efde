"""Probit regression: classification with a normal link."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import ProbabilisticClassifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import linear_score, warm_start_parameters
from tenfold.linear._objective import LinearObjective, classification_objective
from tenfold.linear._separation import check_separation
from tenfold.linear._smooth_solvers import SMOOTH_SOLVERS, minimize_smooth
from tenfold.math.losses import ProbitLoss
from tenfold.optim.convergence import Minimum
from tenfold.optim.gradient_methods import gradient_descent


class ProbitRegression(ProbabilisticClassifier):
    r"""Probit regression for two classes: P(second class) = Phi(x·w + b), Phi the normal cdf.

    .. math:: \min_{w, b} -C \sum_i \omega_i \log \Phi(s_i (x_i \cdot w + b))
              + \tfrac12 \lVert w \rVert^2, \qquad s_i = \pm 1

    A row is of the second class if its score exceeds a threshold drawn from the standard normal.
    Scores are about 1.6 to 1.8 times smaller than those of logistic regression, probabilities
    nearly the same. Everything is computed in the log domain, so no score overflows. The intercept
    b is not penalized. One pass over the data per iteration. For more than two classes take
    `sklearn.multiclass.OneVsRestClassifier(ProbitRegression())`.

    Parameters
    ----------
    C : float
        Weight of the loss against the penalty; `np.inf` for no penalty. Linearly
        separable classes then have no finite solution, which gives a warning.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this; with
        solver="gd", its Euclidean length.
    fit_intercept : bool
        Whether there is an intercept b.
    class_weight : dict, "balanced" or None
        Weight of each class; "balanced" gives both the same total.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg", "gd"}
        "newton-cholesky" takes few iterations and makes a Hessian of all columns; "newton-cg" takes
        as few, of several passes each, and makes none; "lbfgs" takes more, of one pass each. "auto"
        takes Newton's method for up to 255 columns, else "lbfgs". "gd" is gradient descent on the
        mean objective, with the learning rate below.
    max_iter : int
        Maximum number of iterations.
    learning_rate : float, callable or "backtracking"
        Step sizes of solver="gd"; see `tenfold.optim.schedules` for schedules. A warning says so
        if it is set for another solver.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    warm_start : bool
        Whether to start from the coefficients of the last fit.

    Attributes
    ----------
    classes_ : (2,) labels
    coef_ : (1, n_features) coefficients
    intercept_ : (1,) intercept
    n_iter_, converged_ : iterations, and whether the gradient was small enough at the end
    history_ : mean objective after each iteration ("objective"), and "seconds"

    See Also
    --------
    LogisticRegression : A logistic instead of a normal link; more than two classes.
    OrdinalRegression : Ordered classes, with a logit or probit link.

    References
    ----------
    * P. McCullagh, J. A. Nelder (1989). Generalized Linear Models, 2nd ed., chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ProbitRegression
    >>> X, y = np.array([[0.0]] * 4 + [[1.0]] * 4), np.array([0, 0, 0, 1, 0, 1, 1, 1])
    >>> model = ProbitRegression(C=np.inf, tol=1e-9).fit(X, y)
    >>> model.predict_proba([[0.0], [1.0]]).round(6).tolist()  # the shares of the two groups
    [[0.75, 0.25], [0.25, 0.75]]
    """

    _sparse_ok = True
    _min_classes = 2
    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="right")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "solver": [StrOptions({*SMOOTH_SOLVERS, "gd"})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"backtracking"}),
            callable,
        ],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        learning_rate: float | Callable[[int], float] | str = "backtracking",
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.verbose = verbose
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        _check_binary(self.classes_)
        if self.solver != "gd" and self.learning_rate != "backtracking":
            warnings.warn(
                f"ProbitRegression: learning_rate={self.learning_rate!r} has no effect with "
                f"solver={self.solver!r}, only with solver='gd'",
                UserWarning,
                stacklevel=3,
            )
        f = classification_objective(
            rows,
            ProbitLoss(),
            self.classes_,
            class_weight=self.class_weight,
            C=self.C,
            intercept=self.fit_intercept,
        )
        minimum = self._minimize(f, self._initial_parameters())
        W, b = f.split_parameters(minimum.x)
        report = check_separation(f, minimum, "Set C.")
        return {"coef_": W.copy(), "intercept_": b.copy(), **report}

    def _minimize(self, f: LinearObjective, start: np.ndarray) -> Minimum:
        stop = {"tol": self.tol, "max_iter": self.max_iter}
        if self.solver == "gd":
            return gradient_descent(
                f.value_and_gradient, start, learning_rate=self.learning_rate, **stop
            )
        return minimize_smooth(f, start, solver=self.solver, **stop)

    def _initial_parameters(self) -> np.ndarray:
        previous = warm_start_parameters(self)
        return np.zeros(self.n_features_in_ + 1) if previous is None else previous

    def _scorer(self) -> tuple:
        return probit_log_probabilities, self.coef_[0], self.intercept_[0]

    def decision_function(self, X: Any) -> np.ndarray:
        """Score x·w + b of each row, (n_rows,): above 0 for the second class.

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, linear_score, self.coef_[0], self.intercept_[0])


def _check_binary(classes: np.ndarray) -> None:
    """Raise an error if there are more than two classes."""
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported: the target has {len(classes)} classes. Use "
            "sklearn.multiclass.OneVsRestClassifier(ProbitRegression()), or LogisticRegression."
        )


def probit_log_probabilities(chunk: Chunk, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Log-probabilities (n, 2), exact in both tails."""
    z = linear_score(chunk, w, b)
    return np.column_stack([log_ndtr(-z), log_ndtr(z)])
