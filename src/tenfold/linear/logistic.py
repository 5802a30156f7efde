"""Logistic and softmax regression: linear scores, cross-entropy, a penalty on the coefficients.

Read in order: the two leaves (slope, and slope with curvature), `Penalised` (what solvers see),
`LogisticRegression`. Parameters are class-major rows [w b]: one row for two classes, k rows for k.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tenfold.estimator import ProbabilisticClassifier
from tenfold.maths.losses import logistic_loss, softmax_loss
from tenfold.maths.moments import Moments, moments
from tenfold.rows import Chunk, Rows
from tenfold.solve import lbfgs, newton
from tenfold.solve.lbfgs import Minimum

NEWTON_WIDTH = 256  # parameters up to which Newton's Hessian is made


class Slope(NamedTuple):
    """Loss and its gradient, summed over rows."""

    loss: float
    w: np.ndarray  # (m, p)
    b: np.ndarray  # (m,)


class Curve(NamedTuple):
    """Loss, gradient and Hessian, summed over rows."""

    loss: float
    slope: np.ndarray  # (m, p + 1)
    hessian: np.ndarray  # (m, p + 1, m, p + 1)


def scores(X: Any, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Class-major scores W x + b, (m, n)."""
    Z = W @ X.T if isinstance(X, np.ndarray) else np.ascontiguousarray((X @ W.T).T)
    Z += b[:, None]
    return Z


def losses(chunk: Chunk, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None) -> tuple:
    """Total loss and weighted slopes (m, n) in the scores; `cost` weighs the classes."""
    Z = scores(chunk.X, W, b)
    if len(W) == 1:
        loss, slope = logistic_loss(Z[0], chunk.y)
        slope = slope[None]
    else:
        loss, slope = softmax_loss(Z, chunk.y)
    w = row_weights(chunk, cost)
    if w is None:
        return float(loss.sum(dtype=np.float64)), slope
    return float(w.astype(np.float64) @ loss), slope * w.astype(slope.dtype, copy=False)


def row_weights(chunk: Chunk, cost: np.ndarray | None) -> np.ndarray | None:
    """Weights of the rows times the cost of their classes; None where all are 1."""
    if cost is None:
        return chunk.w
    own = np.take(cost, chunk.y)
    return own if chunk.w is None else own * chunk.w


def slope(chunk: Chunk, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None) -> Slope:
    """Loss and gradient of a chunk."""
    loss, R = losses(chunk, W, b, cost)
    g = R @ chunk.X if isinstance(chunk.X, np.ndarray) else (chunk.X.T @ R.T).T
    return Slope(loss, g, R.sum(axis=1, dtype=np.float64))


def curve(chunk: Chunk, W: np.ndarray, b: np.ndarray, cost: np.ndarray | None) -> Curve:
    """Loss, gradient and Hessian of a chunk: sums over rows of (P - pp') (x) [x 1][x 1]'."""
    loss, R = losses(chunk, W, b, cost)
    w = row_weights(chunk, cost)
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    A = np.hstack([X, np.ones((len(X), 1), X.dtype)])
    P = R if w is None else R / np.where(w > 0, w, 1)
    m = len(W)
    own = np.zeros(P.shape, P.dtype)
    own[:] = np.arange(m)[:, None] == chunk.y if m > 1 else chunk.y
    P = P + own
    H = np.empty((m, A.shape[1], m, A.shape[1]))
    for i in range(m):
        for j in range(i + 1):
            bend = P[i] * ((i == j) - P[j])
            bend = bend if w is None else bend * w
            H[i, :, j] = (A * bend[:, None].astype(A.dtype, copy=False)).T @ A
            H[j, :, i] = H[i, :, j].T
    return Curve(loss, R @ A, H)


def row_moments(chunk: Chunk) -> Moments:
    """Second moments of the rows, for the preconditioner."""
    return moments(chunk.X, chunk.w)


class Weighed(NamedTuple):
    """Total weight, of all rows and of each class."""

    by_class: np.ndarray


def weigh(chunk: Chunk, k: int) -> Weighed:
    """Weight of each class in a chunk."""
    return Weighed(np.bincount(chunk.y, chunk.weights(), minlength=k))


class Penalised(NamedTuple):
    """Mean loss + alpha/2 |w|^2 as solvers see it: a function of one flat vector."""

    rows: Rows
    shape: tuple[int, int]  # (m, p + 1)
    alpha: float
    n: float
    intercept: bool
    cost: np.ndarray | None

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (m, p) and constants (m,) of a flat vector, in the dtype of the rows."""
        T = theta.reshape(self.shape).astype(self.rows.dtype)
        return T[:, :-1], T[:, -1]

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        s = self.rows.total(slope, *self.parts(theta), self.cost)
        return self._with_penalty(theta, s.loss, np.column_stack([s.w, s.b]))

    def curve(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian, without the flat directions of softmax."""
        s = self.rows.total(curve, *self.parts(theta), self.cost)
        value, gradient = self._with_penalty(theta, s.loss, s.slope)
        m, q = self.shape
        ridge = np.broadcast_to(np.append(np.full(q - 1, self.alpha), 0.0), (m, q))
        H = s.hessian.reshape(m * q, m * q) / self.n + np.diag(ridge.ravel())
        if m > 1:  # equal shifts of all classes change nothing: hold them still
            H += np.kron(np.full((m, m), 1 / m), np.diag(H.diagonal().reshape(m, q).mean(axis=0)))
        if not self.intercept:
            fixed = np.arange(q - 1, m * q, q)
            H[fixed, :] = H[:, fixed] = 0.0
            H[fixed, fixed] = 1.0
        return value, gradient, H

    def _with_penalty(
        self, theta: np.ndarray, loss: float, gradient: np.ndarray
    ) -> tuple[float, np.ndarray]:
        T = theta.reshape(self.shape)
        gradient = gradient / self.n
        gradient[:, :-1] += self.alpha * T[:, :-1]
        if not self.intercept:
            gradient[:, -1] = 0.0
        return loss / self.n + 0.5 * self.alpha * float((T[:, :-1] ** 2).sum()), gradient.ravel()


def preconditioner(f: Penalised, s: Moments) -> Any:
    """Multiply by the inverse of the Hessian at zero, ((I - 11'/m) / m) (x) E[xx'] + alpha.

    It knows how the columns are scaled and correlated, which is what slows L-BFGS down.
    """
    from scipy.linalg import cho_factor, cho_solve

    m, q = f.shape
    mean = np.append(s.mean, 1.0)
    M = np.multiply.outer(mean, mean)
    M[:-1, :-1] += s.scatter / s.n
    M *= 0.25 if m == 1 else 1 / m
    M[np.diag_indices(q - 1)] += f.alpha
    if not f.intercept:
        M[-1, :] = M[:, -1] = 0.0
        M[-1, -1] = 1.0
    M[np.diag_indices(q)] += 1e-10 * M.trace() / q  # dependent columns
    factor = cho_factor(M, lower=True, check_finite=False)
    return lambda v: cho_solve(factor, v.reshape(m, q).T, check_finite=False).T.ravel()


class LogisticRegression(ProbabilisticClassifier):
    r"""Logistic regression for two classes, softmax regression for more.

    .. math:: \min_{w, b} C \sum_i \omega_i \Big[\log \sum_c e^{x_i \cdot w_c + b_c}
              - x_i \cdot w_{y_i} - b_{y_i}\Big] + \tfrac12 \lVert w \rVert^2

    Two classes share one row of coefficients (the score of the first class is 0). The constants b
    are not penalised. One pass over the data a round. Parameters, attributes and stopping rule are
    those of `sklearn.linear_model.LogisticRegression`; only `solver` has a default of its own.
    [001, 2.3-2.5; 002, ch. 2; 004, ch. 3]

    Parameters
    ----------
    C : float
        Weight of the loss against the penalty; `np.inf` for no penalty.
    tol : float
        Converged when no entry of the gradient of the mean objective exceeds this.
    fit_intercept : bool
        Whether there are constants b.
    class_weight : dict, "balanced" or None
        Weight of each class; "balanced" gives each the same total.
    random_state : int, optional
        No solver here draws random numbers: any seed gives the same result.
    solver : {"auto", "lbfgs", "newton-cholesky"}
        "newton-cholesky" takes few rounds and makes a Hessian of all parameters; "lbfgs" takes more
        and makes none. "auto" takes Newton's up to 256 parameters.
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
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "solver": [StrOptions({"auto", "lbfgs", "newton-cholesky"})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
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
        found = self._minimum(objective)
        W, b = objective.parts(found.x)
        report = {**found.report, "n_iter_": np.array([found.report["n_iter_"]], np.int32)}
        return {"coef_": W.copy(), "intercept_": b.copy(), **report}

    def _objective(self, rows: Rows) -> Penalised:
        k = len(self.classes_)
        weight = rows.total(weigh, k).by_class
        cost = self._class_cost(weight)
        n = float(weight.sum() if cost is None else weight @ cost)
        shape = (1 if k == 2 else k, rows.n_features + 1)
        alpha = 0.0 if np.isinf(self.C) else 1 / (self.C * n)
        return Penalised(rows, shape, alpha, n, self.fit_intercept, cost)

    def _class_cost(self, weight: np.ndarray) -> np.ndarray | None:
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str):
            return weight.sum() / (len(weight) * np.where(weight > 0, weight, np.inf))
        unknown = set(self.class_weight) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(f"class_weight names {sorted(unknown)}, which are no labels of y")
        return np.array([self.class_weight.get(c, 1.0) for c in self.classes_.tolist()])

    def _minimum(self, f: Penalised) -> Minimum:
        start = self._first(f)
        settings = {"tol": self.tol, "max_iter": self.max_iter}
        settings["precision"] = float(np.finfo(f.rows.dtype).eps)
        size = int(np.prod(f.shape))
        if self.solver == "newton-cholesky" or (self.solver == "auto" and size <= NEWTON_WIDTH):
            return newton(f.curve, start, **settings)
        return lbfgs(f.slope, start, precondition=self._preconditioner(f), **settings)

    def _preconditioner(self, f: Penalised) -> Any:
        if f.rows.sparse or f.shape[1] > min(2000, f.rows.n_rows):
            return None
        return preconditioner(f, f.rows.total(row_moments))

    def _first(self, f: Penalised) -> np.ndarray:
        shape = f.shape
        if self.warm_start and getattr(self, "coef_", np.empty(0)).shape == (
            shape[0],
            shape[1] - 1,
        ):
            return np.column_stack([self.coef_, self.intercept_]).astype(np.float64).ravel()
        return np.zeros(shape[0] * shape[1])

    def _scorer(self) -> tuple:
        return class_scores, self.coef_, self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each row: (n,) for the second of two classes, else (n, k).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        Z = self._each(X, row_scores, self.coef_, self.intercept_)
        return Z[:, 0] if len(self.coef_) == 1 else Z


def row_scores(chunk: Chunk, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores (n, m)."""
    return chunk.X @ W.T + b


def class_scores(chunk: Chunk, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores (n, k), with a column of zeros for the first of two classes."""
    Z = row_scores(chunk, W, b)
    return np.hstack([np.zeros_like(Z), Z]) if len(W) == 1 else Z
