"""Huber regression with a learned scale, by Newton's method on its jointly convex objective."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import Interval
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._base import (
    INITIAL_SAMPLE_ROWS,
    LinearRegressor,
    chunk_weight,
    linear_score,
    median_and_deviation,
    sample_rows,
    warm_start_parameters,
)
from tenfold.linear._loss_gradients import class_major_scores, weighted_gram
from tenfold.linear._smooth_solvers import GRAM_MAX_COLUMNS, SAMPLE_DIVISOR
from tenfold.math.linalg import solve_psd
from tenfold.optim.convergence import Minimum, until_converged
from tenfold.optim.line_search import MAX_HALVINGS, ROUNDING_FACTOR, SUFFICIENT_DECREASE
from tenfold.optim.quasi_newton import lbfgs

_MIN_SCALE_RATIO = 0.1  # share of itself that a step leaves to the scale, at least
_MAX_TRUSTED_HALVINGS = 3  # a step that needs more was led astray by too few rows
_SOLVE_TOL = 1e-6  # share of the slope that a solution may leave

_ValueGradientHessian = tuple[float, np.ndarray, np.ndarray]


class HuberPoint(NamedTuple):
    """A point with all that is known of the objective there."""

    x: np.ndarray
    value: float
    slope: np.ndarray
    hessian: np.ndarray


class HuberStep(NamedTuple):
    """A step, what it promises to gain, and whether it takes care of the whole slope."""

    step: np.ndarray
    gap: float
    solved: bool


class HuberSums(NamedTuple):
    """Loss, gradient and Hessian of [w sigma b], summed over rows."""

    loss: float
    slope: np.ndarray
    hessian: np.ndarray


def _huber_sums(
    chunk: Chunk, w: np.ndarray, scale: float, b: np.ndarray, epsilon: float, share: float | None
) -> HuberSums:
    """The sums of a chunk; outliers curve as much as a parabola above them, times `share`.

    Without a share there is no Hessian.
    """
    omega = chunk.w
    u = (chunk.y - class_major_scores(chunk.X, w[None], b)[0]).astype(
        chunk.X.dtype, copy=False
    ) / scale
    size = np.abs(u)
    near = np.minimum(size, epsilon)
    each = 1 + near * (2 * size - near)
    pull, shrink = -2 * np.copysign(near, u), 1 - near**2
    if omega is not None:
        each, pull, shrink = each * omega, pull * omega, shrink * omega
    loss = scale * float(each.sum(dtype=np.float64))
    pull = pull.astype(chunk.X.dtype, copy=False)
    ends = [shrink.sum(dtype=np.float64), pull.sum(dtype=np.float64)]
    slope = np.append(pull @ chunk.X, ends)
    if share is None:
        return HuberSums(loss, slope, np.zeros((0, 0)))
    bend = np.where(size <= epsilon, 1, share * epsilon / np.maximum(size, epsilon))
    bend = bend if omega is None else bend * omega
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    V = np.column_stack([X, np.where(size <= epsilon, u, 0).astype(X.dtype)])
    return HuberSums(loss, slope, weighted_gram(V, bend) * (2 / scale))


class HuberObjective(NamedTuple):
    """The objective of Huber regression as a function of [w sigma b].

    Attributes
    ----------
    rows : the data
    epsilon : scales up to which the loss is a square
    alpha : weight of the square penalty
    n : total weight of the rows
    floor : the least scale
    intercept : whether there is a constant; else it stays where it starts
    """

    rows: Rows
    epsilon: float
    alpha: float
    n: float
    floor: float
    intercept: bool

    @property
    def precision(self) -> float:
        return float(np.finfo(self.rows.dtype).eps)

    def noise(self, value: float) -> float:
        """What rounding may do to a value; residuals that ought to be 0 are rounding, too."""
        return self.precision * abs(value) + self.n * self.floor / ROUNDING_FACTOR

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, float, np.floating]:
        """Coefficients, scale and constant, in the dtype of the rows but for the scale."""
        w = theta.astype(self.rows.dtype)
        return w[:-2], float(theta[-2]), w[-1]

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient; infinite where the scale is too small."""
        if theta[-2] < self.floor:
            return np.inf, np.zeros_like(theta)
        return self._sums(theta, None)[:2]

    def curve(self, theta: np.ndarray, share: float = 0.0) -> _ValueGradientHessian:
        """Value, gradient and Hessian, in which outliers count with a share of their parabolas."""
        value, slope, H = self._sums(theta, share)
        H[np.diag_indices(len(theta) - 2)] += 2 * self.alpha
        if not self.intercept:
            _freeze_parameter(H, -1)
        return value, slope, H

    def _sums(self, theta: np.ndarray, share: float | None) -> _ValueGradientHessian:
        w, scale, b = self.parts(theta)
        s = self.rows.total(_huber_sums, w, scale, np.array([b]), self.epsilon, share)
        w = theta[:-2]
        slope = s.slope + np.append(2 * self.alpha * w, [0.0, 0.0])
        if not self.intercept:
            slope[-1] = 0.0
        return s.loss + self.alpha * float(w @ w), slope, s.hessian


def _freeze_parameter(H: np.ndarray, i: int) -> None:
    """Make a Hessian leave a parameter where it is."""
    H[i, :] = H[:, i] = 0.0
    H[i, i] = 1.0


def _minimize_huber(f: HuberObjective, start: np.ndarray, *, tol: float, max_iter: int) -> Minimum:
    """The minimum, by Newton's steps that stay above the least scale."""
    here = HuberPoint(start, *f.curve(start))
    at_rest = np.abs(_projected_gradient(f, here)).max() <= tol
    loop = until_converged(here, tol=tol, max_iter=0 if at_rest else max_iter)
    loop.converged = bool(at_rest)
    for here in loop:
        there, gap = _newton_iteration(f, here)
        stuck = there is here
        unseen = gap <= (ROUNDING_FACTOR if stuck else 1) * f.noise(here.value)
        change = 0.0 if unseen else np.abs(_projected_gradient(f, there)).max()
        loop.update(there, objective=there.value, change=change, stuck=stuck and not unseen)
    end = loop.state
    return Minimum(end.x, end.value, end.slope, loop.report)


def _projected_gradient(f: HuberObjective, here: HuberPoint) -> np.ndarray:
    """The slope without the part that pushes the scale below the least one."""
    slope = here.slope.copy()
    if here.x[-2] <= f.floor:
        slope[-2] = min(slope[-2], 0.0)
    return slope


def _newton_iteration(f: HuberObjective, here: HuberPoint) -> tuple[HuberPoint, float]:
    """Where the round leads, and how much there was to gain.

    Newton's step knows only rows that are no outliers. Where these are too few to say where to go,
    the parabolas above the outliers say it.
    """
    turn = _newton_step(f, here, here.hessian)
    if turn.solved:
        there, halvings = _line_search(f, here, turn.step)
        if halvings <= _MAX_TRUSTED_HALVINGS or turn.gap <= ROUNDING_FACTOR * f.noise(here.value):
            return there, turn.gap
    turn = _newton_step(f, here, f.curve(here.x, share=1.0)[2])
    return _line_search(f, here, turn.step)[0], turn.gap


def _newton_step(f: HuberObjective, here: HuberPoint, H: np.ndarray) -> HuberStep:
    """Newton's turn. The scale shrinks only when the coefficients are about right for it.

    A small scale makes corners of the objective, where steps from afar go astray.
    """
    slope, scale = _projected_gradient(f, here), here.x[-2]
    turn = _solve_step(H, slope)
    if turn.solved and turn.step[-2] >= 0 and scale > f.floor:
        return turn
    rest, held = slope.copy(), H.copy()
    rest[-2] = 0.0
    _freeze_parameter(held, -2)
    careful = _solve_step(held, rest)
    if slope[-2] == 0 or careful.gap > f.n * scale:
        return careful
    if turn.solved or slope[-2] < 0:
        return turn
    careful.step[-2] = -scale  # all rows are fitted exactly: straight down
    return careful._replace(gap=careful.gap + slope[-2] * scale)


def _solve_step(H: np.ndarray, slope: np.ndarray) -> HuberStep:
    """The step that a parabola suggests."""
    step = -solve_psd(H, slope)
    left = np.abs(H @ step + slope).max()
    return HuberStep(
        step, -0.5 * float(slope @ step), bool(left <= _SOLVE_TOL * np.abs(slope).max())
    )


def _line_search(f: HuberObjective, here: HuberPoint, step: np.ndarray) -> tuple[HuberPoint, int]:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the objective, and its number."""
    least_scale = max(f.floor, _MIN_SCALE_RATIO * here.x[-2])
    for halvings in range(MAX_HALVINGS):
        x = here.x + 0.5**halvings * step
        x[-2] = max(x[-2], least_scale)
        if np.array_equal(x, here.x):
            break
        there = HuberPoint(x, *f.curve(x))
        allowed = SUFFICIENT_DECREASE * float(here.slope @ (x - here.x)) + f.noise(here.value)
        if there.value <= here.value + allowed:
            return there, halvings
    return here, MAX_HALVINGS


_MIN_SCALE_EPS = 1e3  # times the precision: the least scale, in units of the target


class HuberRegressor(LinearRegressor):
    r"""Linear regression that outliers cannot pull far.

    .. math:: \min_{w, b, \sigma > 0} \sum_i \omega_i \Big[\sigma + \sigma
              H_\epsilon\Big(\frac{y_i - x_i \cdot w - b}{\sigma}\Big)\Big]
              + \alpha \lVert w \rVert^2, \qquad
              H_\epsilon(u) = \begin{cases} u^2 & |u| \le \epsilon \\
              2 \epsilon |u| - \epsilon^2 & \text{else} \end{cases}

    The scale is learned with the coefficients; the objective is convex in both together, so
    Newton's way finds the one minimum. One pass over the data a round. Parameters and attributes
    are those of `sklearn.linear_model.HuberRegressor`.

    Parameters
    ----------
    epsilon : float
        Scales beyond which a row counts as an outlier; 1.35 keeps 95 % efficiency on normal noise.
    max_iter : int
        Most rounds.
    alpha : float
        Weight of the penalty against the sum of the losses.
    warm_start : bool
        Whether to start from the coefficients of the last fit.
    fit_intercept : bool
        Whether there is a constant b.
    tol : float
        Converged when no entry of the gradient exceeds this, or no digit is left to gain.

    Attributes
    ----------
    coef_ : (p,) coefficients
    intercept_ : constant, 0.0 if `fit_intercept` is False
    scale_ : the scale; next to nothing where about half of the rows are fitted exactly
    outliers_ : (n,) whether a row lies more than epsilon scales off
    n_iter_, converged_ : rounds, and whether the gradient was small enough at the end
    history_ : objective after each round ("objective"), and "seconds"

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
        middle, typical = median_and_deviation(rows, centered=self.fit_intercept)
        floor = _MIN_SCALE_EPS * float(np.finfo(rows.dtype).eps) * typical
        n = rows.total(chunk_weight)
        f = HuberObjective(rows, self.epsilon, self.alpha, n, floor, self.fit_intercept)
        found = self._minimum(f, self._first(f, middle, typical))
        w, scale, b = f.parts(found.x)
        off = rows.each(_is_outlier, w, b, self.epsilon * scale)
        constant = b if self.fit_intercept else 0.0
        learned = {"coef_": w.copy(), "intercept_": constant, "scale_": scale, "outliers_": off}
        return {**learned, **found.report}

    def _first(self, f: HuberObjective, middle: float, typical: float) -> np.ndarray:
        """The last fit, or the fit of a sample, or nothing but the middle of y."""
        if (last := warm_start_parameters(self)) is not None:
            return np.insert(last, -1, max(self.scale_, f.floor))
        start = np.append(np.zeros(f.rows.n_features), [typical, middle])
        k = f.rows.n_rows // SAMPLE_DIVISOR
        wide = f.rows.n_features > GRAM_MAX_COLUMNS
        if wide or k < max(INITIAL_SAMPLE_ROWS, 20 * len(start)) or self.max_iter < 2:
            return start
        rows = sample_rows(f.rows, k, seed=0)
        part = f._replace(rows=rows, n=rows.total(chunk_weight))
        return _minimize_huber(part, start, tol=1e-3 * part.n, max_iter=self.max_iter).x

    def _minimum(self, f: HuberObjective, start: np.ndarray) -> Minimum:
        stop = {"tol": self.tol, "max_iter": self.max_iter}
        if f.rows.n_features <= GRAM_MAX_COLUMNS:
            return _minimize_huber(f, start, **stop)
        return lbfgs(f.slope, start, precision=f.precision, **stop)


def _is_outlier(chunk: Chunk, w: np.ndarray, b: np.ndarray, most: float) -> np.ndarray:
    """Whether each row lies further off than that."""
    return np.abs(chunk.y - linear_score(chunk, w, b)) > most
