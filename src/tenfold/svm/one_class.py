"""Outliers by the support of a distribution."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.svm._base import KERNEL_CONSTRAINTS, SupportVectorMachine
from tenfold.svm._blocked_smo import DualSolution, solve_dual
from tenfold.svm._dual_problem import DualProblem, one_class_problem
from tenfold.svm.svr import single_score


class OneClassSVM(OutlierMixin, SupportVectorMachine):
    r"""Support of a distribution: a share nu of the rows lies outside.

    .. math:: \min_\alpha \tfrac12 \sum_{ij} \alpha_i \alpha_j k(x_i, x_j), \quad
              0 \le \alpha_i \le \omega_i, \quad \sum_i \alpha_i = \nu \sum_i \omega_i

    The score :math:`\sum_i \alpha_i k(x_i, x) - \rho` is negative for outliers; :math:`\rho` is the
    least score of a row whose multiplier is free, so that rows on the boundary are inside.
    Parameters and attributes are those of `sklearn.svm.OneClassSVM`; what `SVC` says about
    `duality_gap_` and about files holds here as well.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter
        As in `SVC`.
    nu : float
        Share of the training rows that are outliers at most, and support vectors at least.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, gamma_ : as in `SVR`
    duality_gap_, objective_, n_iter_, converged_, fit_status_, shape_fit_, history_ : as in `SVR`
    offset_ : rho: the decision function is `score_samples` minus this

    See Also
    --------
    IsolationForest : Outliers by random cuts, for many rows.

    References
    ----------
    B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson (2001). Estimating the support
    of a high-dimensional distribution. Neural Computation 13.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> OneClassSVM(nu=0.1, gamma=0.1).fit(X).predict([[0.0, 0.0], [6.0, 6.0]]).tolist()
    [1, -1]
    """

    _parameter_constraints = KERNEL_CONSTRAINTS | {"nu": [Interval(Real, 0.0, 1.0, closed="right")]}

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        data = self._training_data(rows)
        problem = one_class_problem(data.weight, self.nu)
        solution = solve_dual(problem, data.access, data.numbers, self._options())
        rho = _least_free_score(problem, solution, rows.dtype)
        return self._single_machine(data, problem, solution, rows) | {
            "intercept_": np.array([-rho]),
            "offset_": np.array([rho]),
        }

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance to the boundary, negative for outliers, (n,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        check_is_fitted(self)
        return self._map_rows(X, single_score, *self._score_state())

    def score_samples(self, X: Any) -> np.ndarray:
        """Score of each row before `offset_` is subtracted, (n,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for rows inside, -1 for outliers, (n,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, inside_or_outside, *self._score_state())


def _least_free_score(problem: DualProblem, solution: DualSolution, dtype: Any) -> float:
    """The least score of a row whose multiplier is free, less what rounding may take off."""
    free = (solution.beta > problem.lower) & (solution.beta < problem.upper)
    if not free.any():
        return float(solution.optimality.multipliers[0])
    least = float(solution.F[problem.row[free]].min())
    return least - 10 * float(np.finfo(dtype).eps) * abs(least)


def inside_or_outside(chunk: Chunk, *state: Any) -> np.ndarray:
    """1 where the score is positive, else -1."""
    return np.where(single_score(chunk, *state) > 0, 1, -1)
