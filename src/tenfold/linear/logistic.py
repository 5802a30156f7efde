"""Logistic and softmax regression: linear scores, cross-entropy, a penalty on the coefficients."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import ProbabilisticClassifier
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearClassifier
from tenfold.linear._objective import LinearObjective, classification_objective, mean_penalty
from tenfold.linear._smooth_solvers import SMOOTH_SOLVERS
from tenfold.linear._solvers import SolverSettings, minimize_penalized
from tenfold.math.losses import LogisticLoss, SoftmaxLoss
from tenfold.math.penalties import L1Penalty, NoPenalty


class LogisticRegression(LinearClassifier, ProbabilisticClassifier):
    r"""Logistic regression for two classes, softmax regression for more.

    .. math:: \min_{w, b} C \sum_i \omega_i \Big[\log \sum_c e^{x_i \cdot w_c + b_c}
              - x_i \cdot w_{y_i} - b_{y_i}\Big]
              + \tfrac{1 - \rho}2 \lVert w \rVert_2^2 + \rho \lVert w \rVert_1

    Two classes share one row of coefficients (the score of the first class is 0). The intercepts b
    are not penalized. One pass over the data per iteration. Parameters, attributes and stopping
    rule are those of `sklearn.linear_model.LogisticRegression`; only `solver` has a default of its
    own.

    Parameters
    ----------
    C : float
        Weight of the loss against the penalty; `np.inf` for no penalty.
    l1_ratio : float
        Share :math:`\rho` of the L1 penalty: 0 for L2 alone, 1 for L1 alone.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this; with an L1 part
        (solver="coordinate"), nor a hundredth of that penalty.
    fit_intercept : bool
        Whether there are intercepts b.
    class_weight : dict, "balanced" or None
        Weight of each class; "balanced" gives each the same total.
    random_state : int, optional
        Ignored: no solver draws random numbers.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg", "coordinate", "gd", "proximal"}
        "newton-cholesky" takes few iterations and makes a Hessian of all parameters; "lbfgs" takes
        more and makes none (for up to 2000 dense columns it is preconditioned by their Gram matrix,
        from one further pass). "newton-cg" solves for Newton's steps by Hessian-vector products,
        each a pass. "coordinate" is for penalties with an L1 part: proximal Newton on working
        sets, or coordinate descent along the columns of sparse rows, which it gathers in memory.
        "gd" is gradient descent, "proximal" the proximal gradient method (FISTA), both with
        backtracking; for mini-batches see `SGDClassifier` and `PenalizedClassifier`. "auto" takes
        "coordinate" where `l1_ratio` is not 0, Newton's method for small tables (rows times
        parameters up to 100,000), else "lbfgs", which from 40,000 rows on starts from the minimum
        on a sample.
    max_iter : int
        Maximum number of iterations.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    n_jobs : int, optional
        Number of threads; all by default.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_ : (1, n_features) or (n_classes, n_features) coefficients
    intercept_ : (1,) or (n_classes,) intercepts
    n_iter_, converged_ : iterations, and whether the gradient was small enough at the end
    history_ : mean objective after each iteration ("objective"), and "seconds"

    See Also
    --------
    SGDClassifier : The same loss by stochastic gradient descent.
    ProbitRegression : A normal instead of a logistic link.
    PenalizedClassifier : Any loss, penalty and solver.

    References
    ----------
    * D. C. Liu, J. Nocedal (1989). On the limited memory BFGS method for large scale optimization.
      Mathematical Programming 45.
    * J. D. Lee, Y. Sun, M. A. Saunders (2014). Proximal Newton-type methods for minimizing
      composite functions. SIAM Journal on Optimization 24.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> round(model.score(X, y), 3), model.coef_.shape
    (0.973, (3, 4))
    """

    _sparse_ok = True
    _min_classes = 2
    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "solver": [StrOptions({*SMOOTH_SOLVERS, "coordinate", "gd", "proximal"})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        f = classification_objective(
            rows,
            LogisticLoss() if len(self.classes_) == 2 else SoftmaxLoss(),
            self.classes_,
            class_weight=self.class_weight,
            C=self.C,
            l1_ratio=self.l1_ratio,
            intercept=self.fit_intercept,
        )
        l1 = mean_penalty(self.C, f.n) * self.l1_ratio
        nonsmooth = L1Penalty(l1) if l1 else NoPenalty()
        settings = SolverSettings(self.solver, self.tol, self.max_iter)
        minimum = minimize_penalized(f, nonsmooth, self._initial_parameters(f), settings)
        W, b = f.split_parameters(minimum.x)
        b = b - b.mean() if l1 and len(b) > 1 else b  # only their differences matter
        report = {**minimum.report, "n_iter_": np.array([minimum.report["n_iter_"]], np.int32)}
        return {"coef_": W.copy(), "intercept_": b.copy(), **report}

    def _initial_parameters(self, f: LinearObjective) -> np.ndarray:
        m, q = f.shape
        if self.warm_start and getattr(self, "coef_", np.empty(0)).shape == (m, q - 1):
            return np.column_stack([self.coef_, self.intercept_]).astype(np.float64).ravel()
        return np.zeros(m * q)
