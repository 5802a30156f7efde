"""Support vector regression with kernels, by epsilon or by nu."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.mixins import Regressor
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.svm._base import KERNEL_CONSTRAINTS, SupportVectorMachine, support_scores
from tenfold.svm._blocked_smo import DualSolution, solve_dual
from tenfold.svm._dual_problem import DualProblem, nu_regression_problem, regression_problem


class KernelRegressor(SupportVectorMachine, Regressor):
    """What `SVR` and `NuSVR` share; they say what the problem is."""

    def _problem(self, y: np.ndarray, weight: np.ndarray) -> DualProblem:
        raise NotImplementedError

    def _tube(self, solution: DualSolution) -> dict[str, Any]:
        """The intercept, and what else the multipliers of the solution say."""
        return {"intercept_": -solution.optimality.multipliers[:1]}

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        data = self._training_data(rows)
        problem = self._warm_started(
            self._problem(data.y, data.weight), self._last_coefficients(data.numbers)
        )
        solution = solve_dual(problem, data.access, data.numbers, self._options())
        return self._single_machine(data, problem, solution, rows) | self._tube(solution)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row, (n,).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        check_is_fitted(self)
        return self._map_rows(X, single_score, *self._score_state())


def single_score(chunk: Chunk, *state: Any) -> np.ndarray:
    """The score of each row, of a model with one score."""
    return support_scores(chunk, *state)[:, 0]


class SVR(KernelRegressor):
    r"""Support vector regression with a kernel: errors up to epsilon cost nothing.

    .. math:: \min_{\alpha, \alpha^*} \tfrac12 (\alpha - \alpha^*)^\top K (\alpha - \alpha^*)
              + \epsilon \sum_i (\alpha_i + \alpha_i^*) - \sum_i y_i (\alpha_i - \alpha_i^*), \quad
              0 \le \alpha_i, \alpha_i^* \le C \omega_i, \quad \sum_i (\alpha_i - \alpha_i^*) = 0,

    the dual of :math:`\tfrac12 \lVert w \rVert^2 + C \sum_i \omega_i \max(0, |y_i - w \cdot
    \phi(x_i) - b| - \epsilon)`. The prediction is :math:`\sum_i (\alpha_i - \alpha_i^*) k(x_i, x)
    + b`. Parameters and attributes are those of `sklearn.svm.SVR`; what `SVC` says about
    `duality_gap_` and about files holds here as well.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter
        As in `SVC`.
    C : float
        Cost of errors.
    epsilon : float
        Errors up to this cost nothing.
    warm_start : bool
        Whether to begin at the multipliers of the last fit, for the same rows and another C.

    Attributes
    ----------
    support_ : (n_SV,) numbers of the support vectors
    support_vectors_ : (n_SV, n_features) support vectors; empty for a precomputed kernel
    n_support_ : (1,) their number
    dual_coef_ : (1, n_SV) alpha - alpha*
    coef_ : (1, n_features) weights of the features, for a linear kernel
    intercept_ : (1,) intercept
    gamma_ : the number that `gamma` stands for
    duality_gap_, objective_ : (1,) duality gap, and dual objective
    n_iter_, converged_, fit_status_ : steps of the solver, whether it converged, 0 if it did
    shape_fit_ : shape of X
    history_ : "objective", "violation", "seconds" of each round, and "problem", which is 0

    See Also
    --------
    NuSVR : The same with a share of support vectors instead of epsilon.

    References
    ----------
    A. Smola, B. Schölkopf (2004). A tutorial on support vector regression. Statistics and Computing
    14.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SVR
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.01).fit(x, np.sin(x[:, 0]))
    >>> model.predict([[1.5]]).round(1).tolist()
    [1.0]
    """

    _parameter_constraints = KERNEL_CONSTRAINTS | {
        "C": [Interval(Real, 0.0, None, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.warm_start = warm_start

    def _problem(self, y: np.ndarray, weight: np.ndarray) -> DualProblem:
        return regression_problem(y, self._bounded_cost() * weight, self.epsilon)


class NuSVR(KernelRegressor):
    r"""Support vector regression in which nu bounds the share of errors beyond a tube.

    .. math:: \min_{\alpha, \alpha^*} \tfrac12 (\alpha - \alpha^*)^\top K (\alpha - \alpha^*)
              - \sum_i y_i (\alpha_i - \alpha_i^*), \quad 0 \le \alpha_i, \alpha_i^* \le C \omega_i,
              \quad \sum_i \alpha_i = \sum_i \alpha_i^* = \tfrac{C \nu}{2} \sum_i \omega_i

    The width of the tube, `epsilon_`, is found by the fit: at most a share nu of the rows lies
    outside of it, and at least a share nu are support vectors. Parameters and attributes are those
    of `sklearn.svm.NuSVR`; what `SVC` says about `duality_gap_` and about files holds here as well.

    Parameters
    ----------
    nu : float
        Share of rows outside of the tube at most, of support vectors at least.
    C : float
        Cost of errors.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As in `SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, gamma_ : as in `SVR`
    duality_gap_, objective_, n_iter_, converged_, fit_status_, shape_fit_, history_ : as in `SVR`
    epsilon_ : half the width of the tube

    See Also
    --------
    SVR : The same with a given epsilon.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson, P. Bartlett (2000). New support vector algorithms. Neural
    Computation 12.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NuSVR
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> model = NuSVR(C=10.0, nu=0.2).fit(x, np.sin(x[:, 0]))
    >>> model.predict([[1.5]]).round(1).tolist()
    [1.0]
    """

    _parameter_constraints = KERNEL_CONSTRAINTS | {
        "C": [Interval(Real, 0.0, None, closed="right")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter

    def _problem(self, y: np.ndarray, weight: np.ndarray) -> DualProblem:
        return nu_regression_problem(y, self._bounded_cost() * weight, self.nu)

    def _tube(self, solution: DualSolution) -> dict[str, Any]:
        above, below = solution.optimality.multipliers
        return {
            "intercept_": np.array([-0.5 * (above + below)]),
            "epsilon_": 0.5 * float(below - above),
        }
