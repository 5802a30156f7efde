"""Logistic regression in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import ProbabilisticClassifier
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.tiled_cholesky import cholesky_with_jitter, solve_triangular
from tenfold.kernel._inner_models import FeatureLogisticRegression
from tenfold.kernel._model_base import KERNEL_CONSTRAINTS, KernelParameters, kernel_scores
from tenfold.math.links import sigmoid

_CURE = (
    "take NystroemLogisticRegression (on landmarks, any number of rows), Nystroem or RBFSampler "
    "before LogisticRegression, or fewer rows"
)


class KernelLogisticRegression(KernelParameters, ProbabilisticClassifier):
    r"""Logistic regression with a kernel: binary, or softmax over all classes, with an L2 penalty.

    .. math:: \min_{a, b} \ C \sum_i \omega_i \, \ell(y_i, f(x_i)) + \tfrac{1}{2} a^T K a, \qquad
              f(x) = \sum_i a_i \, k(x_i, x) + b

    With a Cholesky factor :math:`K = L L^T` and :math:`w = L^T a` this is the logistic regression
    of `LogisticRegression` on the rows of L, which solves it; with a linear kernel, the same model.
    All coefficients are different from 0: unlike in an SVM, every row has a say.

    Parameters
    ----------
    C : float
        Inverse of the penalty.
    kernel, gamma, degree, coef0, kernel_params : Any
        The kernel, as in `KernelRidge`.
    fit_intercept : bool
        Whether there is an intercept b, which is not penalized.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    tol, max_iter : float and int
        Of the solver.

    Attributes
    ----------
    classes_ : (n_classes,) labels
    dual_coef_ : (1, n_samples) or (n_classes, n_samples) the coefficients a
    intercept_ : (1,) or (n_classes,) the intercepts b
    X_fit_ : (n_samples, n_features) the rows of the fit
    n_iter_, converged_, history_ : of the solver

    See Also
    --------
    LogisticRegression : The same with a linear kernel.
    NystroemLogisticRegression : On landmarks, for any number of rows.
    kernel_logistic_steps : Gradient descent, step by step.

    References
    ----------
    J. Zhu and T. Hastie (2005), Kernel logistic regression and the import vector machine.

    Examples
    --------
    Two rings:

    >>> import numpy as np
    >>> from tenfold import KernelLogisticRegression
    >>> angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    >>> ring = np.c_[np.cos(angle), np.sin(angle)]
    >>> X, y = np.vstack([ring, 3 * ring]), np.repeat(["in", "out"], 30)
    >>> KernelLogisticRegression(gamma=0.5).fit(X, y).score(X, y)
    1.0
    """

    _sparse_ok = True
    _min_classes = 2
    _has_quadratic_time = True
    _law_rows = 600
    _law_params = {"tol": 1e-10}
    _chunk_rows = 512  # a chunk of queries meets all rows of the fit
    _float64_learned = ("dual_coef_",)  # small penalties make them large: they need the digits
    _learned_shapes = {"X_fit_": "n p", "dual_coef_": "K n", "intercept_": "K"}
    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        **KERNEL_CONSTRAINTS,
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        train = self._gather_rows(rows, copies=3, cure=_CURE)
        L, _ = cholesky_with_jitter(train.gram())
        linear = FeatureLogisticRegression(
            C=self.C,
            fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        linear.fit(L, self.classes_[train.y], sample_weight=train.w)
        dual = solve_triangular(L, linear.coef_.T, transposed=True).T
        return {
            "dual_coef_": dual,
            "intercept_": np.broadcast_to(linear.intercept_, len(dual)).astype(rows.dtype),
            "X_fit_": train.X,
            **linear.report(),
        }

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row: (n_rows,) for the second of two classes, else (n_rows, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows; for a precomputed kernel their values with the rows of the fit.
        """
        check_is_fitted(self)
        scores = self._map_rows(X, *self._scorer())
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def _scorer(self) -> tuple:
        state = self._kernel_object(self.n_features_in_), self.X_fit_.astype(np.float64)
        return _class_scores, *state, self.dual_coef_.T.astype(np.float64), self.intercept_


def _class_scores(
    chunk: Chunk, kernel: Any, X_fit: Any, dual: np.ndarray, intercept: np.ndarray
) -> np.ndarray:
    """Scores of all classes; of two, 0 for the first."""
    scores = kernel_scores(chunk, kernel, X_fit, dual) + intercept.astype(chunk.X.dtype)
    return scores if scores.shape[1] > 1 else np.hstack([np.zeros_like(scores), scores])


def kernel_logistic_steps(K: Any, y: Any, eta: float, penalty: float = 0.0) -> Iterator[np.ndarray]:
    r"""Gradient descent for kernel logistic regression, step by step.

    .. math:: a \leftarrow (1 - 2 \eta \lambda) \, a
              + \frac{\eta}{n} \, \sigma(-y \odot K a) \odot y

    from a = 0. With :math:`K = X X^T` and :math:`w = X^T a` these are the steps of gradient
    descent for :math:`\frac{1}{n} \sum_i \log(1 + e^{-y_i w \cdot x_i}) + \lambda \lVert w
    \rVert^2`: the predictions are the same after every step.

    Parameters
    ----------
    K : (n, n) array
        A Gram matrix; no rows are needed.
    y : (n,) array of -1 and +1
        Labels.
    eta : float
        Step size.
    penalty : float
        The penalty :math:`\lambda`.

    Yields
    ------
    (n,) array : the coefficients a after each step, without end

    See Also
    --------
    KernelLogisticRegression : The minimum.

    Examples
    --------
    >>> from tenfold import kernel_logistic_steps
    >>> steps = kernel_logistic_steps([[1.0, 0.0], [0.0, 1.0]], [1, -1], eta=1.0)
    >>> next(steps).tolist()
    [0.25, -0.25]
    """
    K, y = np.asarray(K, np.float64), np.asarray(y, np.float64)
    alpha = np.zeros(len(y))
    while True:
        slope = sigmoid(-y * (K @ alpha)) * y / len(y)
        alpha = (1 - 2 * eta * penalty) * alpha + eta * slope
        yield alpha.copy()
