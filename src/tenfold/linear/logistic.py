"""Logistic and softmax regression: linear scores, cross-entropy, a penalty on the coefficients."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import ProbabilisticClassifier
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearClassifier
from tenfold.linear._objective import LinearObjective, compute_class_weight, sum_class_weights
from tenfold.linear._smooth_solvers import SMOOTH_SOLVERS
from tenfold.linear._solvers import SolverSettings, minimize_penalized
from tenfold.math.losses import LogisticLoss, SoftmaxLoss
from tenfold.math.penalties import L1Penalty, NoPenalty


class LogisticRegression(LinearClassifier, ProbabilisticClassifier):
    r"""Logistic regression for two classes, softmax regression for more.

    .. math:: \min_{w, b} C \sum_i \omega_i \Big[\log \sum_c e^{x_i \cdot w_c + b_c}
              - x_i \cdot w_{y_i} - b_{y_i}\Big]
              + \tfrac{1 - \rho}2 \lVert w \rVert_2^2 + \rho \lVert w \rVert_1

    Two classes share one row of coefficients (the score of the first class is 0). The constants b
    are not penalised. One pass over the data a round. Parameters, attributes and stopping rule are
    those of `sklearn.linear_model.LogisticRegression`; only `solver` has a default of its own.
    [001, 2.3-2.5; 002, ch. 2; 004, ch. 3]

    Parameters
    ----------
    C : float
        Weight of the loss against the penalty; `np.inf` for no penalty.
    l1_ratio : float
        Share :math:`\rho` of the L1 penalty: 0 for squares alone, 1 for the lasso's exact zeros.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this; with an L1 part
        (solver="coordinate"), nor a hundredth of that penalty.
    fit_intercept : bool
        Whether there are constants b.
    class_weight : dict, "balanced" or None
        Weight of each class; "balanced" gives each the same total.
    random_state : int, optional
        No solver here draws random numbers: any seed gives the same result.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg", "coordinate", "gd", "proximal"}
        "newton-cholesky" takes few rounds and makes a Hessian of all parameters; "lbfgs" takes more
        and makes none (for up to 2000 dense columns it knows their correlations from one further
        pass). "newton-cg" solves for Newton's steps by products with the Hessian, each a pass.
        "coordinate" is for penalties with an L1 part: Newton's models on a working set, or
        descent along the columns of sparse rows, which it gathers in memory. "gd" is gradient
        descent, "proximal" the same with a prox (FISTA), both with steps found by halving; steps
        on batches of rows are `SGDClassifier` and `PenalisedClassifier`. "auto" takes
        "coordinate" where `l1_ratio` is not 0, Newton's for small tables (rows times parameters up
        to 100,000), else "lbfgs", which from 40,000 rows on begins at the minimum on a sample.
    max_iter : int
        Most rounds.
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    n_jobs : int, optional
        Number of threads; all by default.

    Attributes
    ----------
    classes_ : (k,) labels
    coef_ : (1, p) or (k, p) coefficients
    intercept_ : (1,) or (k,) constants
    n_iter_, converged_ : rounds, and whether the gradient was small enough at the end
    history_ : mean objective after each round ("objective"), and "seconds"

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
        objective = self._objective(rows)
        l1 = self._strength(objective.n) * self.l1_ratio
        way = SolverSettings(self.solver, self.tol, self.max_iter)
        found = minimize_penalized(
            objective, L1Penalty(l1) if l1 else NoPenalty(), self._first(objective), way
        )
        W, b = objective.parts(found.x)
        b = b - b.mean() if l1 and len(b) > 1 else b  # their sum changes nothing: make it zero
        report = {**found.report, "n_iter_": np.array([found.report["n_iter_"]], np.int32)}
        return {"coef_": W.copy(), "intercept_": b.copy(), **report}

    def _objective(self, rows: Rows) -> LinearObjective:
        k = len(self.classes_)
        weight = rows.total(sum_class_weights, k)
        cost = compute_class_weight(self.class_weight, self.classes_, weight)
        n = float(weight.sum() if cost is None else weight @ cost)
        shape = (1 if k == 2 else k, rows.n_features + 1)
        ridge = np.full(shape[1], self._strength(n) * (1 - self.l1_ratio))
        ridge[-1] = 0.0
        loss = LogisticLoss() if k == 2 else SoftmaxLoss()
        return LinearObjective(rows, loss, shape, ridge, n, self.fit_intercept, cost)

    def _strength(self, n: float) -> float:
        """Penalty beside the mean loss."""
        return 0.0 if np.isinf(self.C) else 1 / (self.C * n)

    def _first(self, f: LinearObjective) -> np.ndarray:
        shape = f.shape
        if self.warm_start and getattr(self, "coef_", np.empty(0)).shape == (
            shape[0],
            shape[1] - 1,
        ):
            return np.column_stack([self.coef_, self.intercept_]).astype(np.float64).ravel()
        return np.zeros(shape[0] * shape[1])
