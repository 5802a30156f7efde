"""The hinge objective of a kernel machine as a function of the coefficients of its rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.mixins import Classifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._block import check_gram_memory
from tenfold.svm._base import (
    KERNEL_CONSTRAINTS,
    SupportVectorData,
    SupportVectorMachine,
    support_scores,
)
from tenfold.svm._blocked_smo import DualSolution, SolverOptions, solve_dual
from tenfold.svm._dual_problem import classification_problem
from tenfold.svm._kernel_access import kernel_matrix


def primal_objective(
    alpha: np.ndarray,
    K: np.ndarray,
    y: np.ndarray,
    penalty: float,
    weight: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    r"""Mean hinge loss plus penalty, as a function of the coefficients, and a subgradient.

    .. math:: L(\alpha) = \frac1n \sum_i \max(0, 1 - y_i (K \alpha)_i) + \lambda \alpha^\top K
              \alpha

    Parameters
    ----------
    alpha : (n,) array
        Coefficients of the rows: the score of a row x is sum_i alpha_i k(x_i, x).
    K : (n, n) array
        Kernel matrix of the rows.
    y : (n,) array
        Signs, -1 or 1.
    penalty : float
        Lambda.
    weight : (n,) array, optional
        Weights of the rows; the mean is weighted.

    Returns
    -------
    objective, (n,) subgradient

    Examples
    --------
    >>> import numpy as np
    >>> K = np.array([[1.0, -1.0], [-1.0, 1.0]])  # of x = 1 and x = -1
    >>> primal_objective(np.array([0.5, -0.5]), K, np.array([1, -1]), 0.1)
    (0.1, array([ 0.2, -0.2]))
    """
    weight = np.ones(len(y)) if weight is None else weight
    scores = K @ alpha
    hinge = np.maximum(1.0 - y * scores, 0.0)
    slope = np.where(hinge > 0, -y * weight / weight.sum(), 0.0)
    value = float(weight @ hinge / weight.sum() + penalty * (alpha @ scores))
    return value, K @ (slope + 2 * penalty * alpha)


class PrimalSVC(SupportVectorMachine, Classifier):
    r"""Kernel machine without an intercept, by its primal objective in the coefficients alpha.

    .. math:: L(\alpha) = \frac1n \sum_i \max\Bigl(0, 1 - y_i \sum_j \alpha_j k(x_j, x_i)\Bigr)
              + \lambda \sum_{ij} \alpha_i \alpha_j k(x_i, x_j)

    This is how lecture notes write the kernel machine. Its minimum has :math:`\alpha_i = y_i a_i`
    with :math:`0 \le a_i \le 1 / (2 \lambda n)`, exactly zero for all but the support vectors; it
    is found by the dual, and `duality_gap_` says how near it is. With an intercept and
    :math:`C = 1 / (2 \lambda n)` the machine is `SVC`. Several classes are told apart one against
    the rest. All rows are held in memory, with their kernel matrix.

    Parameters
    ----------
    alpha : float
        The penalty lambda.
    kernel, degree, gamma, coef0
        As in `SVC`.
    tol : float
        Largest violation of the optimality conditions.
    max_iter : int
        Most steps of the solver; -1 for no limit.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    support_ : (n_SV,) numbers of the rows whose coefficient is not zero
    support_vectors_ : (n_SV, n_features) these rows; empty for a precomputed kernel
    n_support_ : (1,) their number
    dual_coef_ : (1 or n_classes, n_SV) their coefficients alpha
    coef_ : (1 or n_classes, n_features) weights of the features, for a linear kernel
    gamma_ : the number that `gamma` stands for
    objective_ : (1 or n_classes,) the objective L
    duality_gap_ : (1 or n_classes,) bound of the difference to its minimum
    n_iter_, converged_, fit_status_ : steps of the solver, whether it converged, 0 if it did
    shape_fit_ : shape of X
    history_ : dual objective, violation and seconds of each round, and the problem it belongs to

    See Also
    --------
    SVC : With an intercept, and for many rows.
    tenfold.svm.primal_svc.primal_objective : The objective and its subgradient.

    References
    ----------
    O. Chapelle (2007). Training a support vector machine in the primal. Neural Computation 19.

    Examples
    --------
    Two points, where the weight is min(1, 1 / (2 lambda)):

    >>> from tenfold import PrimalSVC
    >>> for penalty in (0.1, 1.0):
    ...     model = PrimalSVC(penalty, kernel="linear").fit([[1.0], [-1.0]], [1, -1])
    ...     print(model.coef_.round(6).tolist(), model.objective_.round(6).tolist())
    [[1.0]] [0.1]
    [[0.5]] [0.75]
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0.0, None, closed="neither")],
        **{
            name: KERNEL_CONSTRAINTS[name] for name in ("kernel", "degree", "gamma", "coef0", "tol")
        },
        "max_iter": [Interval(Integral, -1, None, closed="left")],
    }
    _min_classes = 2
    _law_rows = 1100

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def _check_memory(self, rows: Rows) -> None:
        check_gram_memory(
            rows.n_rows, 2.0, type(self).__name__, "take SVC, which holds cache_size MB of them"
        )

    def _learned_sizes(self, k: int) -> tuple[int, int, int]:
        rows = 1 if k == 2 else k
        return 1, rows, rows

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        data = self._training_data(rows)
        K = kernel_matrix(data.access.with_dtype(np.float64), data.numbers)
        classes = np.arange(len(self.classes_))[1 if len(self.classes_) == 2 else 0 :]
        signs = [np.where(data.y == c, 1, -1) for c in classes]
        solutions = [self._solve(data, K, sign) for sign in signs]
        coefficients = np.array([s.beta[: len(data.y)] for s in solutions])
        used = np.flatnonzero(coefficients.any(axis=0))
        numbers, report = data.numbers[used], self._report(solutions, rows)
        scale = 2 * self.alpha  # of the dual, whose bounds are 1 / (2 lambda n)
        objective = [
            primal_objective(c, K, sign, self.alpha, data.weight)[0]
            for c, sign in zip(coefficients, signs, strict=True)
        ]
        return report | {
            "support_": numbers.astype(np.int32),
            "support_vectors_": self._support_rows(data, numbers),
            "n_support_": np.array([len(used)], np.int32),
            "dual_coef_": coefficients[:, used],
            "objective_": np.array(objective),
            "duality_gap_": scale * report["duality_gap_"],
        }

    def _solve(self, data: SupportVectorData, K: np.ndarray, sign: np.ndarray) -> DualSolution:
        """The dual without an intercept: a free variable without a kernel takes up the sum."""
        n = len(sign)
        gram = np.zeros((n + 1, n + 1))
        gram[:n, :n] = K
        cost = data.weight / (2 * self.alpha * data.weight.sum())
        problem = classification_problem(np.append(sign, 1), np.append(cost, 0.0))
        linear = np.append(problem.linear[:n], 0.0)
        lower, upper = np.append(problem.lower[:n], -np.inf), np.append(problem.upper[:n], np.inf)
        free = problem._replace(linear=linear, lower=lower, upper=upper)
        options = SolverOptions(self.tol, self.max_iter, 0.0, shrinking=False)
        return solve_dual(free, data.access, np.arange(n + 1), options, gram=gram)

    def _scorer(self) -> tuple[Any, ...]:
        intercept = np.zeros(len(self.dual_coef_))
        return (class_scores, *self._prediction_state(self.dual_coef_.T, intercept))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n,) for two classes, positive for the second; else (n, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        check_is_fitted(self)
        scores = self._map_rows(X, support_scores, *self._scorer()[1:])
        return scores[:, 0] if scores.shape[1] == 1 else scores


def class_scores(chunk: Chunk, *state: Any) -> np.ndarray:
    """A score for each class: minus and plus the one score of two classes."""
    scores = support_scores(chunk, *state)
    return np.column_stack([-scores, scores]) if scores.shape[1] == 1 else scores
