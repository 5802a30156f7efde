r"""Huber regression with a learned scale, by Newton's method on its jointly convex objective.

With the residual r and u = r / sigma, a row that is no outlier adds sigma + r^2 / sigma, whose
Hessian in (w, sigma, b) is (2 / sigma) v v' with v = [x u 1]: the scale acts like the coefficient
of one more column, u. Outliers add linear functions. Parameters are [w sigma b].
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import (
    LinearRegressor,
    chunk_weight,
    linear_score,
    median_and_deviation,
    sample_rows,
    warm_start_parameters,
)
from tenfold.linear._loss_gradients import class_major_scores, weighted_gram
from tenfold.linear._thresholds import GRAM_MAX_COLUMNS, INITIAL_SAMPLE_ROWS, SAMPLE_DIVISOR
from tenfold.math.linalg import solve_psd, to_dense
from tenfold.optim.convergence import Minimum, until_converged
from tenfold.optim.line_search import MAX_HALVINGS, ROUNDING_FACTOR, SUFFICIENT_DECREASE
from tenfold.optim.quasi_newton import lbfgs

_MIN_SCALE_RATIO = 0.1  # smallest factor on the scale in one step
_MAX_TRUSTED_HALVINGS = 3  # a Newton step that needs more came from too few rows
_SOLVE_TOL = 1e-6  # residual of the Newton equations relative to the gradient, if they are solvable
_MIN_SCALE_EPS = 1e3  # smallest scale, in units of the precision times the deviation of the target

_ValueGradientHessian = tuple[float, np.ndarray, np.ndarray]


class HuberPoint(NamedTuple):
    """A point with the objective and its derivatives."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    hessian: np.ndarray


class HuberStep(NamedTuple):
    """A step, the decrease that its model predicts, and whether its equations were solvable."""

    step: np.ndarray
    decrease: float
    solved: bool


class HuberSums(NamedTuple):
    """Loss, gradient and Hessian of [w sigma b], summed over rows."""

    loss: float
    gradient: np.ndarray
    hessian: np.ndarray


def _huber_sums(
    chunk: Chunk,
    w: np.ndarray,
    scale: float,
    b: np.ndarray,
    epsilon: float,
    outlier_curvature: float | None,
) -> HuberSums:
    """The sums of a chunk.

    Outliers have the curvature of a parabola above their loss, times `outlier_curvature`. If it is
    None there is no Hessian.
    """
    weights = chunk.w
    r = chunk.y - class_major_scores(chunk.X, w[None], b)[0]
    u = r.astype(chunk.X.dtype, copy=False) / scale
    size = np.abs(u)
    clipped = np.minimum(size, epsilon)
    losses = 1 + clipped * (2 * size - clipped)
    in_score, in_scale = -2 * np.copysign(clipped, u), 1 - clipped**2
    if weights is not None:
        losses, in_score, in_scale = losses * weights, in_score * weights, in_scale * weights
    loss = scale * float(losses.sum(dtype=np.float64))
    in_score = in_score.astype(chunk.X.dtype, copy=False)
    ends = [in_scale.sum(dtype=np.float64), in_score.sum(dtype=np.float64)]
    gradient = np.append(in_score @ chunk.X, ends)
    if outlier_curvature is None:
        return HuberSums(loss, gradient, np.zeros((0, 0)))
    parabola = outlier_curvature * epsilon / np.maximum(size, epsilon)
    curvature = np.where(size <= epsilon, 1, parabola)
    curvature = curvature if weights is None else curvature * weights
    X = to_dense(chunk.X)
    V = np.column_stack([X, np.where(size <= epsilon, u, 0).astype(X.dtype)])
    return HuberSums(loss, gradient, weighted_gram(V, curvature) * (2 / scale))


class HuberObjective(NamedTuple):
    """The objective of Huber regression as a function of [w sigma b].

    Attributes
    ----------
    rows : the data
    epsilon : residuals up to this many scales have a squared loss
    alpha : L2 penalty
    n : total weight of the rows
    min_scale : the smallest scale
    intercept : whether there is an intercept; else it keeps its initial value
    """

    rows: Rows
    epsilon: float
    alpha: float
    n: float
    min_scale: float
    intercept: bool

    @property
    def precision(self) -> float:
        return float(np.finfo(self.rows.dtype).eps)

    def rounding(self, value: float) -> float:
        """Rounding error of a value; residuals that should be 0 are rounding, too."""
        return self.precision * abs(value) + self.n * self.min_scale / ROUNDING_FACTOR

    def split_parameters(self, theta: np.ndarray) -> tuple[np.ndarray, float, np.floating]:
        """Coefficients, scale and intercept, in the dtype of the rows but for the scale."""
        w = theta.astype(self.rows.dtype)
        return w[:-2], float(theta[-2]), w[-1]

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient; infinite where the scale is too small."""
        if theta[-2] < self.min_scale:
            return np.inf, np.zeros_like(theta)
        return self._evaluate(theta, None)[:2]

    def value_gradient_hessian(
        self, theta: np.ndarray, outlier_curvature: float = 0.0
    ) -> _ValueGradientHessian:
        """Value, gradient and Hessian, in which outliers have a share of their parabolas."""
        value, gradient, H = self._evaluate(theta, outlier_curvature)
        H[np.diag_indices(len(theta) - 2)] += 2 * self.alpha
        if not self.intercept:
            _freeze_parameter(H, -1)
        return value, gradient, H

    def _evaluate(
        self, theta: np.ndarray, outlier_curvature: float | None
    ) -> _ValueGradientHessian:
        w, scale, b = self.split_parameters(theta)
        state = (w, scale, np.array([b]), self.epsilon, outlier_curvature)
        s = self.rows.total(_huber_sums, *state)
        w = theta[:-2]
        gradient = s.gradient + np.append(2 * self.alpha * w, [0.0, 0.0])
        if not self.intercept:
            gradient[-1] = 0.0
        return s.loss + self.alpha * float(w @ w), gradient, s.hessian


def _freeze_parameter(H: np.ndarray, i: int) -> None:
    """Make Newton steps leave a parameter where it is."""
    H[i, :] = H[:, i] = 0.0
    H[i, i] = 1.0


def _minimize_huber(f: HuberObjective, start: np.ndarray, *, tol: float, max_iter: int) -> Minimum:
    """The minimum by Newton's method, with scales above the smallest one."""
    point = HuberPoint(start, *f.value_gradient_hessian(start))
    optimal = np.abs(_projected_gradient(f, point)).max() <= tol
    loop = until_converged(point, tol=tol, max_iter=0 if optimal else max_iter)
    loop.converged = bool(optimal)
    for point in loop:
        following, decrease = _newton_iteration(f, point)
        stuck = following is point
        negligible = decrease <= (ROUNDING_FACTOR if stuck else 1) * f.rounding(point.value)
        change = 0.0 if negligible else np.abs(_projected_gradient(f, following)).max()
        loop.update(
            following, objective=following.value, change=change, stuck=stuck and not negligible
        )
    end = loop.state
    return Minimum(end.x, end.value, end.gradient, loop.report)


def _projected_gradient(f: HuberObjective, point: HuberPoint) -> np.ndarray:
    """The gradient without the part that would take the scale below the smallest one."""
    gradient = point.gradient.copy()
    if point.x[-2] <= f.min_scale:
        gradient[-2] = min(gradient[-2], 0.0)
    return gradient


def _newton_iteration(f: HuberObjective, point: HuberPoint) -> tuple[HuberPoint, float]:
    """The next point, and the predicted decrease.

    The Hessian contains only rows that are no outliers. Where these are too few to determine a
    step, the parabolas above the outliers are added.
    """
    newton = _newton_step(f, point, point.hessian)
    if newton.solved:
        following, halvings = _line_search(f, point, newton.step)
        negligible = newton.decrease <= ROUNDING_FACTOR * f.rounding(point.value)
        if halvings <= _MAX_TRUSTED_HALVINGS or negligible:
            return following, newton.decrease
    H = f.value_gradient_hessian(point.x, outlier_curvature=1.0)[2]
    newton = _newton_step(f, point, H)
    return _line_search(f, point, newton.step)[0], newton.decrease


def _newton_step(f: HuberObjective, point: HuberPoint, H: np.ndarray) -> HuberStep:
    """Newton's step. The scale shrinks only when the coefficients are nearly right for it.

    At a small scale the objective is nearly non-smooth, and steps from afar are poor.
    """
    gradient, scale = _projected_gradient(f, point), point.x[-2]
    newton = _solve_step(H, gradient)
    if newton.solved and newton.step[-2] >= 0 and scale > f.min_scale:
        return newton
    fixed_gradient, fixed_hessian = gradient.copy(), H.copy()
    fixed_gradient[-2] = 0.0
    _freeze_parameter(fixed_hessian, -2)
    fixed_scale = _solve_step(fixed_hessian, fixed_gradient)
    if gradient[-2] == 0 or fixed_scale.decrease > f.n * scale:
        return fixed_scale
    if newton.solved or gradient[-2] < 0:
        return newton
    fixed_scale.step[-2] = -scale  # all rows are fitted exactly: reduce the scale as far as allowed
    return fixed_scale._replace(decrease=fixed_scale.decrease + gradient[-2] * scale)


def _solve_step(H: np.ndarray, gradient: np.ndarray) -> HuberStep:
    """The step to the minimum of the quadratic model."""
    step = -solve_psd(H, gradient)
    residual = np.abs(H @ step + gradient).max()
    solved = bool(residual <= _SOLVE_TOL * np.abs(gradient).max())
    return HuberStep(step, -0.5 * float(gradient @ step), solved)


def _line_search(f: HuberObjective, point: HuberPoint, step: np.ndarray) -> tuple[HuberPoint, int]:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the objective, and its number."""
    min_scale = max(f.min_scale, _MIN_SCALE_RATIO * point.x[-2])
    for halvings in range(MAX_HALVINGS):
        x = point.x + 0.5**halvings * step
        x[-2] = max(x[-2], min_scale)
        if np.array_equal(x, point.x):
            break
        following = HuberPoint(x, *f.value_gradient_hessian(x))
        decrease = SUFFICIENT_DECREASE * float(point.gradient @ (x - point.x))
        if following.value <= point.value + (decrease + f.rounding(point.value)):
            return following, halvings
    return point, MAX_HALVINGS


class HuberRegressor(LinearRegressor):
    r"""Linear regression that is robust to outliers.

    .. math:: \min_{w, b, \sigma > 0} \sum_i \omega_i \Big[\sigma + \sigma
              H_\epsilon\Big(\frac{y_i - x_i \cdot w - b}{\sigma}\Big)\Big]
              + \alpha \lVert w \rVert^2, \qquad
              H_\epsilon(u) = \begin{cases} u^2 & |u| \le \epsilon \\
              2 \epsilon |u| - \epsilon^2 & \text{else} \end{cases}

    The scale is learned with the coefficients; the objective is jointly convex, so
    Newton's method finds the global minimum. One pass over the data per iteration. Parameters and
    attributes are those of `sklearn.linear_model.HuberRegressor`.

    Parameters
    ----------
    epsilon : float
        Residual, in scales, beyond which a row is an outlier; 1.35 has 95 % efficiency on normal
        noise.
    max_iter : int
        Maximum number of iterations.
    alpha : float
        Weight of the penalty against the sum of the losses.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    fit_intercept : bool
        Whether there is an intercept b.
    tol : float
        Converged when no entry of the gradient exceeds this, or the decrease is below rounding.

    Attributes
    ----------
    coef_ : (n_features,) coefficients
    intercept_ : intercept, 0.0 if `fit_intercept` is False
    scale_ : the scale; nearly 0 where about half of the rows are fitted exactly
    outliers_ : (n_rows,) whether a residual exceeds epsilon scales
    n_iter_, converged_ : iterations, and whether the gradient was small enough at the end
    history_ : objective after each iteration ("objective"), and "seconds"

    See Also
    --------
    QuantileRegressor : The median is more robust still.
    Ridge : Squares alone.

    References
    ----------
    * P. J. Huber, E. M. Ronchetti (2009). Robust Statistics, 2nd ed., chapter 7.
    * A. B. Owen (2007). A robust hybrid of lasso and ridge regression. Contemporary Mathematics
      443.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import HuberRegressor
    >>> X = np.arange(10.0)[:, None]
    >>> y = 2 * X[:, 0] + np.where(np.arange(10) % 2, 0.1, -0.1)
    >>> y[9] = 500.0
    >>> model = HuberRegressor(alpha=0).fit(X, y)
    >>> model.coef_.round(1).tolist(), bool(model.outliers_[9])
    ([2.0], True)
    """

    _sparse_ok = True
    _parameter_constraints = {
        "epsilon": [Interval(Real, 1.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 100,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-5,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        median, deviation = median_and_deviation(rows, centered=self.fit_intercept)
        min_scale = _MIN_SCALE_EPS * float(np.finfo(rows.dtype).eps) * deviation
        n = rows.total(chunk_weight)
        f = HuberObjective(rows, self.epsilon, self.alpha, n, min_scale, self.fit_intercept)
        minimum = self._minimize(f, self._initial_parameters(f, median, deviation))
        w, scale, b = f.split_parameters(minimum.x)
        return {
            "coef_": w.copy(),
            "intercept_": b if self.fit_intercept else 0.0,
            "scale_": np.float64(scale),
            "outliers_": rows.each(_is_outlier, w, b, self.epsilon * scale),
            **minimum.report,
        }

    def _initial_parameters(self, f: HuberObjective, median: float, deviation: float) -> np.ndarray:
        """The last fit, or the fit of a sample, or the median of the target."""
        if (previous := warm_start_parameters(self)) is not None:
            return np.insert(previous, -1, max(self.scale_, f.min_scale))
        start = np.append(np.zeros(f.rows.n_features), [deviation, median])
        k = f.rows.n_rows // SAMPLE_DIVISOR
        wide = f.rows.n_features > GRAM_MAX_COLUMNS
        if wide or k < max(INITIAL_SAMPLE_ROWS, 20 * len(start)) or self.max_iter < 2:
            return start
        rows = sample_rows(f.rows, k, seed=0)
        sample = f._replace(rows=rows, n=rows.total(chunk_weight))
        return _minimize_huber(sample, start, tol=1e-3 * sample.n, max_iter=self.max_iter).x

    def _minimize(self, f: HuberObjective, start: np.ndarray) -> Minimum:
        stop = {"tol": self.tol, "max_iter": self.max_iter}
        if f.rows.n_features <= GRAM_MAX_COLUMNS:
            return _minimize_huber(f, start, **stop)
        return lbfgs(f.value_and_gradient, start, precision=f.precision, **stop)


def _is_outlier(chunk: Chunk, w: np.ndarray, b: np.ndarray, threshold: float) -> np.ndarray:
    """Whether each absolute residual exceeds the threshold."""
    return np.abs(chunk.y - linear_score(chunk, w, b)) > threshold
