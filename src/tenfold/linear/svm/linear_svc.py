"""Linear support vector classification with hinge or squared hinge loss."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import LinearClassifier, SparseCoefMixin
from tenfold.linear._objective import (
    compute_class_weight,
    one_vs_rest_weights,
    sum_class_weights,
)
from tenfold.linear._thresholds import SVM_NEWTON_MAX_ENTRIES, SVM_NEWTON_MAX_SPARSE_COLUMNS
from tenfold.linear.svm._crammer_singer import crammer_singer
from tenfold.linear.svm._dual_coordinate_descent import dual_coordinate_descent
from tenfold.linear.svm._l1_prox_newton import l1_prox_newton
from tenfold.linear.svm._objective import SVMObjective, SVMSolution
from tenfold.linear.svm._primal import primal_lbfgs, primal_newton
from tenfold.linear.svm.hard_margin_solver import hard_margin_per_class
from tenfold.math.linalg import to_dense


class LinearSVC(SparseCoefMixin, LinearClassifier):
    r"""Linear support vector machine.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + \tfrac{1}{2 s^2} b^2
              + C \sum_i \omega_i \max(0, 1 - y_i (w \cdot x_i + b))^{1 \text{ or } 2}

    with y = -1 or +1: the second of two classes, else each class against the rest. Parameters,
    objective and attributes are those of `sklearn.svm.LinearSVC`, liblinear's penalty on b included
    (s is `intercept_scaling`). The textbook form, with b not penalized, is
    ``LinearSVC(loss="hinge", intercept_scaling=np.inf)``; with ``C=np.inf`` its margin is hard.

    Every fit ends with a certificate: `gap_` bounds how far the objective is from the minimum.
    Narrow dense data are solved by Newton's method, a pass per iteration; wide and sparse ones by
    coordinate descent on the dual, which keeps one multiplier for each row and score in memory. A
    hard margin gathers all rows.

    Parameters
    ----------
    penalty : {"l2", "l1"}
        L2 as above, or L1, which makes many coefficients exactly zero.
    loss : {"squared_hinge", "hinge"}
        The power 2 or 1 above.
    dual : bool or "auto"
        Coordinate descent on the dual, or the primal; "auto" takes the faster one. The hinge has no
        primal solver by itself, the L1 penalty no dual one.
    tol : float
        Converged when the duality gap is at most tol/100 of the objective.
    C : float
        Weight of the losses; small: a wide margin; `np.inf`: no row may lie within the margin.
    multi_class : {"ovr", "crammer_singer"}
        Each class against the rest; or all classes in one objective (Crammer and Singer, 2001), for
        which `penalty`, `loss` and `dual` are ignored, and all rows are gathered in memory.
    fit_intercept : bool
        Whether there is an intercept b.
    intercept_scaling : float
        s above; `np.inf` leaves b without a penalty.
    class_weight : dict, "balanced" or None
        Factor on C for rows of each class (as in liblinear: in the score of that class alone, if
        there are more than two).
    verbose : int
        Whether to show progress, as `tenfold.progress()` does.
    random_state : int, optional
        Seed of the order of rows in the dual; the primal draws nothing.
    max_iter : int
        Maximum number of iterations.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    coef_ : (1, n_features) or (n_classes, n_features) coefficients
    intercept_ : (1,) or (n_classes,) intercepts
    gap_ : (1,) or (n_classes,) duality gap of each score: the minimum is at most that far away
    objective_ : (1,) or (n_classes,) objective of each score
    support_ : numbers of the support vectors of any score; where the dual was solved
    dual_coef_ : (1 or n_classes, n_support) multipliers times sign: `coef_` is their product with
        the support vectors; where the dual was solved
    n_iter_, converged_ : iterations, and whether the gap was small enough at the end
    history_ : objective after each iteration ("objective"; of the dual, its negative), and
        "seconds"

    See Also
    --------
    Pegasos : The same objective by stochastic sub-gradients.
    SGDClassifier : Hinge losses by stochastic gradient descent.
    hard_margin : The plane of maximal margin itself.

    References
    ----------
    * C. Cortes, V. Vapnik (1995). Support-vector networks. Machine Learning 20.
    * C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan (2008). A dual coordinate
      descent method for large-scale linear SVM. ICML.
    * H.-F. Yu, C.-J. Hsieh, K.-W. Chang, C.-J. Lin (2012). Large linear classification when data
      cannot fit in memory. ACM Transactions on Knowledge Discovery from Data 5.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.linear.svm.linear_svc import LinearSVC
    >>> X, y = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]]), np.array([0, 0, 0, 1, 1])
    >>> model = LinearSVC(loss="hinge", intercept_scaling=np.inf).fit(X, y)
    >>> model.coef_.round(3).tolist(), model.support_.tolist()
    ([[0.667]], [1, 2, 3, 4])
    """

    _sparse_ok = True
    _min_classes = 2
    _parameter_constraints = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="right")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    @property
    def _samples_rows(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.dual is True or self.multi_class == "crammer_singer"

    def _convergence_words(self) -> str:
        return "Liblinear failed to converge, increase the number of iterations."

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        seed = int(rng.integers(2**31))
        if self.multi_class == "crammer_singer":
            return self._fit_jointly(rows, seed)
        problem = self.problem(rows)
        solution = self._solve(rows, problem, seed)
        T = solution.T.astype(rows.dtype)
        learned = {"coef_": T[:, :-1].copy(), "intercept_": T[:, -1].copy()}
        if not self.fit_intercept:
            learned["intercept_"] = np.zeros(len(T), rows.dtype)
        certificate = {"gap_": solution.gap, "objective_": solution.objective}
        return learned | self._support(rows, problem, solution) | certificate | solution.report

    def _fit_jointly(self, rows: Rows, seed: int) -> dict[str, Any]:
        """All classes in one objective; of two, the difference of their scores."""
        if np.isinf(self.C) or np.isinf(self.intercept_scaling):
            raise ValueError(
                "multi_class='crammer_singer' needs a finite C and a finite intercept_scaling: "
                "take multi_class='ovr' for a hard margin or an intercept without a penalty"
            )
        totals = rows.total(sum_class_weights, len(self.classes_))
        weights = compute_class_weight(self.class_weight, self.classes_, totals)
        cost = self.C * (np.ones(len(totals)) if weights is None else weights)
        constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
        gap = max(0.01 * self.tol, 10 * float(np.finfo(np.float64).eps))
        solution = crammer_singer(rows, cost, constant, seed, gap=gap, max_iter=self.max_iter)
        T = solution.T[1:] - solution.T[:1] if len(totals) == 2 else solution.T
        T = T.astype(rows.dtype)
        certificate = {"gap_": solution.gap, "objective_": solution.objective}
        learned = {"coef_": T[:, :-1].copy(), "intercept_": T[:, -1].copy()}
        return learned | certificate | solution.report

    def problem(self, rows: Rows) -> SVMObjective:
        """The objective that the parameters define on these rows."""
        self._check_compatible()
        k = len(self.classes_)
        totals = rows.total(sum_class_weights, k)
        weights = one_vs_rest_weights(self.class_weight, self.classes_, totals)
        return SVMObjective(
            np.arange(k - len(weights), k),
            self.C * weights,
            self.loss == "squared_hinge",
            self.penalty == "l1",
            bool(self.fit_intercept),
            float(self.intercept_scaling),
        )

    def _check_compatible(self) -> None:
        l1, hinge = self.penalty == "l1", self.loss == "hinge"
        if (l1 and (hinge or self.dual is True)) or (hinge and self.dual is False):
            cure = "loss='squared_hinge'" if l1 and hinge else "dual='auto'"
            raise ValueError(
                f"Unsupported set of arguments: no solver takes penalty={self.penalty!r} with "
                f"loss={self.loss!r} and dual={self.dual}. Take {cure}."
            )
        if self.penalty == "l1" and np.isinf(self.C):
            raise ValueError("C=inf asks for a hard margin, which has penalty='l2'")

    def _solve(self, rows: Rows, problem: SVMObjective, seed: int) -> SVMSolution:
        gap = max(0.01 * self.tol, 10 * problem.eps(rows.dtype))
        stop = {"gap": gap, "max_iter": self.max_iter}
        if np.isinf(self.C):
            return _solve_hard_margin(rows, problem)
        if problem.l1:
            return l1_prox_newton(rows, problem, **stop)
        size = len(problem.cost) * (rows.n_features + 1) ** 2
        widest = SVM_NEWTON_MAX_SPARSE_COLUMNS if rows.sparse else rows.n_rows
        narrow = size <= SVM_NEWTON_MAX_ENTRIES and rows.n_features <= min(widest, rows.n_rows)
        if narrow and self.dual is not True:
            return primal_newton(rows, problem, **stop)
        if self.dual is False:
            return primal_lbfgs(rows, problem, tol=self.tol, max_iter=self.max_iter)
        return dual_coordinate_descent(rows, problem, seed, tol=self.tol, **stop)

    def _support(self, rows: Rows, problem: SVMObjective, solution: SVMSolution) -> dict[str, Any]:
        if solution.alpha is None:
            return {}
        support = np.flatnonzero((solution.alpha > 0).any(axis=0))
        inside = rows.each(_class_numbers)[support] == problem.labels[:, None]
        signed = np.where(inside, 1.0, -1.0) * solution.alpha[:, support]
        return {"support_": support, "dual_coef_": signed.astype(rows.dtype)}


def _class_numbers(chunk: Chunk) -> np.ndarray:
    """Class numbers."""
    return chunk.y.copy()


def _solve_hard_margin(rows: Rows, problem: SVMObjective) -> SVMSolution:
    """A hard margin, with its certificate."""
    X, y, w, _ = rows.gather()
    weighted = slice(None) if w is None else np.flatnonzero(w)
    X = to_dense(X)
    T, multipliers = hard_margin_per_class(X[weighted], y[weighted], problem)
    alpha = np.zeros((len(T), len(X)))
    alpha[:, weighted] = multipliers
    primal = problem.penalty(T)
    history = {"objective": np.array([primal.sum()]), "seconds": np.zeros(1)}
    report = {"n_iter_": 1, "converged_": True, "history_": history}
    return SVMSolution(T, alpha, primal, 2 * primal - alpha.sum(axis=1), report)
