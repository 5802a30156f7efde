"""Logistic and softmax regression: linear scores, cross-entropy, a penalty on the coefficients."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Hidden, Interval, StrOptions
from tenfold.base.mixins import ProbabilisticClassifier
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearClassifier, SparseCoefMixin
from tenfold.linear._objective import LinearObjective, classification_objective, mean_penalty
from tenfold.linear._separation import check_separation
from tenfold.linear._smooth_solvers import SMOOTH_SOLVERS
from tenfold.linear._solvers import SolverSettings, minimize_penalized
from tenfold.math.losses import LogisticLoss, SoftmaxLoss
from tenfold.math.penalties import L1Penalty, NoPenalty

_SKLEARN_SOLVERS = ("liblinear", "sag", "saga")  # names of scikit-learn for which "auto" stands in
_L2_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "sag")  # without an L1 part
_MAX_ITER_REACHED = "The max_iter was reached which means the coef_ did not converge."
_CONVERGENCE_WORDS = {
    "lbfgs": "lbfgs failed to converge.",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
    "sag": _MAX_ITER_REACHED,
    "saga": _MAX_ITER_REACHED,
}

LOGISTIC_CONSTRAINTS: dict[str, Any] = {
    "penalty": [
        StrOptions({"l1", "l2", "elasticnet"}),
        None,
        Hidden(StrOptions({"deprecated"})),
    ],
    "C": [Interval(Real, 0, None, closed="right")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
    "dual": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "random_state": ["random_state"],
    "solver": [StrOptions({*SMOOTH_SOLVERS, "coordinate", "gd", "proximal", *_SKLEARN_SOLVERS})],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "n_jobs": [None, Integral],
}


class LogisticRegression(SparseCoefMixin, LinearClassifier, ProbabilisticClassifier):
    r"""Logistic regression for two classes, softmax regression for more.

    .. math:: \min_{w, b} C \sum_i \omega_i \Big[\log \sum_c e^{x_i \cdot w_c + b_c}
              - x_i \cdot w_{y_i} - b_{y_i}\Big]
              + \tfrac{1 - \rho}2 \lVert w \rVert_2^2 + \rho \lVert w \rVert_1

    Two classes share one row of coefficients (the score of the first class is 0). The intercepts b
    are not penalized (but see "liblinear" below). One pass over the data per iteration. Parameters,
    attributes and stopping rule are those of `sklearn.linear_model.LogisticRegression`; only
    `solver` has a default of its own.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"} or None, optional
        Deprecated, as in scikit-learn: use `l1_ratio`, or ``C=np.inf`` for None.
    C : float
        Weight of the loss against the penalty; `np.inf` for no penalty.
    l1_ratio : float or None
        Share :math:`\rho` of the L1 penalty: 0 for L2 alone, 1 for L1 alone; None is 0.
    dual : bool
        True is accepted with ``solver="liblinear"`` and an L2 penalty. The minimum of the dual is
        that of the primal, which is solved.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this; with an L1 part
        (solver="coordinate"), nor a hundredth of that penalty.
    fit_intercept : bool
        Whether there are intercepts b.
    intercept_scaling : float
        With ``solver="liblinear"``: the intercept is penalized as if divided by this.
    class_weight : dict, "balanced" or None
        Weight of each class; "balanced" gives each the same total.
    random_state : int, optional
        Ignored: no solver draws random numbers.
    solver : str
        "auto", "lbfgs", "newton-cholesky", "newton-cg", "coordinate", "gd", "proximal", or
        scikit-learn's "liblinear", "sag", "saga". "newton-cholesky" takes few iterations and makes
        a Hessian of all parameters; "lbfgs" takes more and makes none (for up to 2000 columns
        it is preconditioned by their Gram matrix,
        from one further pass). "newton-cg" solves for Newton's steps by Hessian-vector products,
        each a pass. "coordinate" is for penalties with an L1 part: proximal Newton on working
        sets, or coordinate descent along the columns of sparse rows, which it gathers in memory.
        "gd" is gradient descent, "proximal" the proximal gradient method (FISTA), both with
        backtracking; for mini-batches see `SGDClassifier` and `PenalizedClassifier`. "auto" takes
        "coordinate" where `l1_ratio` is not 0, Newton's method for small tables (rows times
        parameters up to 100,000), else "lbfgs", which from 40,000 rows on starts from the minimum
        on a sample. scikit-learn's other names choose a solver for their objective (table below).
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

    Notes
    -----
    Where scikit-learn's solvers go:

    =================== ==========================================================================
    `solver`            is here
    =================== ==========================================================================
    "lbfgs"             L-BFGS, preconditioned
    "newton-cholesky"   Newton's method
    "newton-cg"         Newton's method with conjugate gradients
    "sag", "saga"       "auto", which is exact and draws no random numbers
    "liblinear"         "auto", for liblinear's objective: the intercept is penalized as a
                        coefficient of a column of `intercept_scaling`; two classes only
    =================== ==========================================================================

    See Also
    --------
    LogisticRegressionCV : Choose the penalty by cross-validation.
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
    _parameter_constraints = LOGISTIC_CONSTRAINTS

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        C, l1_ratio = self._penalty_parameters()
        self._check_compatible(C, l1_ratio)
        f = classification_objective(
            rows,
            LogisticLoss() if len(self.classes_) == 2 else SoftmaxLoss(),
            self.classes_,
            class_weight=self.class_weight,
            C=C,
            l1_ratio=l1_ratio,
            intercept=self.fit_intercept,
        )
        solver = "auto" if self.solver in _SKLEARN_SOLVERS else self.solver
        settings = SolverSettings(solver, self.tol, self.max_iter)
        l1 = mean_penalty(C, f.n) * l1_ratio
        if self.solver == "liblinear":  # a column of intercept_scaling, and a coefficient for it
            f.ridge[-1] = f.ridge[0] / self.intercept_scaling**2
            settings = settings._replace(intercept_l1=l1 / self.intercept_scaling)
        nonsmooth = L1Penalty(l1) if l1 else NoPenalty()
        minimum = minimize_penalized(f, nonsmooth, self._initial_parameters(f), settings)
        W, b = f.split_parameters(minimum.x)
        b = b - b.mean() if l1 and len(b) > 1 else b  # only their differences matter
        report = minimum.report if l1 else check_separation(f, minimum, "Set C.")
        report = {**report, "n_iter_": np.array([minimum.report["n_iter_"]], np.int32)}
        return {"coef_": W.copy(), "intercept_": b.copy(), **report}

    def _penalty_parameters(self) -> tuple[float, float]:
        """C and share of the L1 penalty, by `penalty` if it is given."""
        if self.penalty == "deprecated":
            if self.l1_ratio is None:
                warnings.warn(
                    "'l1_ratio=None' was deprecated in version 1.8 of scikit-learn and will be an "
                    "error in 1.10. Use 0<=l1_ratio<=1 instead.",
                    FutureWarning,
                    stacklevel=2,
                )
            return self.C, self.l1_ratio or 0.0
        warnings.warn(
            "'penalty' was deprecated in version 1.8 of scikit-learn and will be removed in 1.10. "
            "Use l1_ratio=0 instead of penalty='l2', l1_ratio=1 instead of penalty='l1', 0 < "
            "l1_ratio < 1 instead of penalty='elasticnet', and C=np.inf instead of penalty=None.",
            FutureWarning,
            stacklevel=2,
        )
        if self.penalty is None:
            if self.C != 1.0:
                message = "Setting penalty=None will ignore the C and l1_ratio parameters"
                warnings.warn(message, stacklevel=2)
            return np.inf, 0.0
        if self.penalty != "elasticnet":
            share = float(self.penalty == "l1")
            if 0 < (self.l1_ratio or 0) < 1:
                warnings.warn(
                    "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
                    f"(penalty={self.penalty})",
                    stacklevel=2,
                )
            elif self.l1_ratio not in (share, None):
                warnings.warn(
                    f"Inconsistent values: penalty={self.penalty} with l1_ratio={self.l1_ratio}. "
                    "penalty is deprecated. Please use l1_ratio only.",
                    stacklevel=2,
                )
            return self.C, share
        if self.l1_ratio is None:
            raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
        return self.C, self.l1_ratio

    def _check_compatible(self, C: float, l1_ratio: float) -> None:
        """Raise an error for what scikit-learn's solver of this name does not solve either."""
        if self.dual and (self.solver != "liblinear" or l1_ratio):
            raise ValueError(
                f"Solver {self.solver} supports only dual=False, got dual={self.dual}: the dual is "
                "for solver='liblinear' and the L2 penalty"
            )
        if l1_ratio and self.solver in _L2_SOLVERS:
            raise ValueError(
                f"Solver {self.solver} supports only 'l2' or None penalties, got "
                f"l1_ratio={l1_ratio}: an L1 penalty is not smooth at zero. Take solver='auto', "
                "'coordinate' or 'proximal', or l1_ratio=0"
            )
        if self.solver != "liblinear":
            return
        if 0 < l1_ratio < 1:
            raise ValueError(
                f"Only 'saga' solver supports elasticnet penalty, got solver={self.solver}. Take "
                "solver='auto', or l1_ratio 0 or 1"
            )
        if np.isinf(C):
            raise ValueError(
                "C=np.inf as well as penalty=None is not supported for the liblinear solver: take "
                "solver='auto'"
            )
        if len(self.classes_) > 2:
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification (n_classes >= "
                "3). Either use another solver or wrap the estimator in a OneVsRestClassifier to "
                "keep applying a one-versus-rest scheme."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.solver != "liblinear"
        return tags

    def _convergence_words(self) -> str:
        newton = f"Newton solver did not converge after {self.max_iter} iterations."
        words = {**_CONVERGENCE_WORDS, "newton-cholesky": newton}
        return words.get(self.solver, words["lbfgs"])

    def _initial_parameters(self, f: LinearObjective) -> np.ndarray:
        m, q = f.shape
        if self.warm_start and getattr(self, "coef_", np.empty(0)).shape == (m, q - 1):
            self.densify()
            intercept = self.intercept_ if self.fit_intercept else np.zeros(m)
            return np.column_stack([self.coef_, intercept]).astype(np.float64).ravel()
        return np.zeros(m * q)
