r"""Huber's loss with its scale, as one convex function, and Newton's way to its minimum.

With the residual r and u = r / sigma, a row that is no outlier adds sigma + r^2 / sigma, whose
Hessian in (w, sigma, b) is (2 / sigma) v v' with v = [x u 1]: the scale acts like the coefficient
of one more column, u. Rows further off add straight lines. Parameters are [w sigma b].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.linear.ways.slopes import scores, square
from tenfold.rows import Chunk, Rows
from tenfold.solve.lbfgs import ENOUGH_DECREASE, NOISE, Minimum
from tenfold.solve.loop import until_still
from tenfold.solve.newton import MOST_HALVINGS, solve_psd

SHRINKING = 0.1  # share of itself that a step leaves to the scale, at least
FEW_HALVINGS = 3  # a step that needs more was led astray by too few rows
SOLVED = 1e-6  # share of the slope that a solution may leave

Curve = tuple[float, np.ndarray, np.ndarray]


class Place(NamedTuple):
    """A point with all that is known of the objective there."""

    x: np.ndarray
    value: float
    slope: np.ndarray
    hessian: np.ndarray


class Turn(NamedTuple):
    """A step, what it promises to gain, and whether it takes care of the whole slope."""

    step: np.ndarray
    gap: float
    solved: bool


class Sums(NamedTuple):
    """Loss, gradient and Hessian of [w sigma b], summed over rows."""

    loss: float
    slope: np.ndarray
    hessian: np.ndarray


def sums(
    chunk: Chunk, w: np.ndarray, scale: float, b: np.ndarray, epsilon: float, share: float | None
) -> Sums:
    """The sums of a chunk; outliers curve as much as a parabola above them, times `share`.

    Without a share there is no Hessian.
    """
    omega = chunk.w
    u = (chunk.y - scores(chunk.X, w[None], b)[0]).astype(chunk.X.dtype, copy=False) / scale
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
        return Sums(loss, slope, np.zeros((0, 0)))
    bend = np.where(size <= epsilon, 1, share * epsilon / np.maximum(size, epsilon))
    bend = bend if omega is None else bend * omega
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    V = np.column_stack([X, np.where(size <= epsilon, u, 0).astype(X.dtype)])
    return Sums(loss, slope, square(V, bend) * (2 / scale))


class Concomitant(NamedTuple):
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
        return self.precision * abs(value) + self.n * self.floor / NOISE

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, float, np.floating]:
        """Coefficients, scale and constant, in the dtype of the rows but for the scale."""
        w = theta.astype(self.rows.dtype)
        return w[:-2], float(theta[-2]), w[-1]

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient; infinite where the scale is too small."""
        if theta[-2] < self.floor:
            return np.inf, np.zeros_like(theta)
        return self._sums(theta, None)[:2]

    def curve(self, theta: np.ndarray, share: float = 0.0) -> Curve:
        """Value, gradient and Hessian, in which outliers count with a share of their parabolas."""
        value, slope, H = self._sums(theta, share)
        H[np.diag_indices(len(theta) - 2)] += 2 * self.alpha
        if not self.intercept:
            hold(H, -1)
        return value, slope, H

    def _sums(self, theta: np.ndarray, share: float | None) -> Curve:
        w, scale, b = self.parts(theta)
        s = self.rows.total(sums, w, scale, np.array([b]), self.epsilon, share)
        w = theta[:-2]
        slope = s.slope + np.append(2 * self.alpha * w, [0.0, 0.0])
        if not self.intercept:
            slope[-1] = 0.0
        return s.loss + self.alpha * float(w @ w), slope, s.hessian


def hold(H: np.ndarray, i: int) -> None:
    """Make a Hessian leave a parameter where it is."""
    H[i, :] = H[:, i] = 0.0
    H[i, i] = 1.0


def least(f: Concomitant, start: np.ndarray, *, tol: float, max_iter: int) -> Minimum:
    """The minimum, by Newton's steps that stay above the least scale."""
    here = Place(start, *f.curve(start))
    at_rest = np.abs(free(f, here)).max() <= tol
    loop = until_still(here, tol=tol, max_iter=0 if at_rest else max_iter)
    loop.converged = bool(at_rest)
    for here in loop:
        there, gap = forward(f, here)
        stuck = there is here
        unseen = gap <= (NOISE if stuck else 1) * f.noise(here.value)
        change = 0.0 if unseen else np.abs(free(f, there)).max()
        loop.tell(there, objective=there.value, change=change, stuck=stuck and not unseen)
    end = loop.state
    return Minimum(end.x, end.value, end.slope, loop.report)


def free(f: Concomitant, here: Place) -> np.ndarray:
    """The slope without the part that pushes the scale below the least one."""
    slope = here.slope.copy()
    if here.x[-2] <= f.floor:
        slope[-2] = min(slope[-2], 0.0)
    return slope


def forward(f: Concomitant, here: Place) -> tuple[Place, float]:
    """Where the round leads, and how much there was to gain.

    Newton's step knows only rows that are no outliers. Where these are too few to say where to go,
    the parabolas above the outliers say it.
    """
    turn = newton_turn(f, here, here.hessian)
    if turn.solved:
        there, halvings = damped(f, here, turn.step)
        if halvings <= FEW_HALVINGS or turn.gap <= NOISE * f.noise(here.value):
            return there, turn.gap
    turn = newton_turn(f, here, f.curve(here.x, share=1.0)[2])
    return damped(f, here, turn.step)[0], turn.gap


def newton_turn(f: Concomitant, here: Place, H: np.ndarray) -> Turn:
    """Newton's turn. The scale shrinks only when the coefficients are about right for it.

    A small scale makes corners of the objective, where steps from afar go astray.
    """
    slope, scale = free(f, here), here.x[-2]
    turn = solution(H, slope)
    if turn.solved and turn.step[-2] >= 0 and scale > f.floor:
        return turn
    rest, held = slope.copy(), H.copy()
    rest[-2] = 0.0
    hold(held, -2)
    careful = solution(held, rest)
    if slope[-2] == 0 or careful.gap > f.n * scale:
        return careful
    if turn.solved or slope[-2] < 0:
        return turn
    careful.step[-2] = -scale  # all rows are fitted exactly: straight down
    return careful._replace(gap=careful.gap + slope[-2] * scale)


def solution(H: np.ndarray, slope: np.ndarray) -> Turn:
    """The step that a parabola suggests."""
    step = -solve_psd(H, slope)
    left = np.abs(H @ step + slope).max()
    return Turn(step, -0.5 * float(slope @ step), bool(left <= SOLVED * np.abs(slope).max()))


def damped(f: Concomitant, here: Place, step: np.ndarray) -> tuple[Place, int]:
    """The first of the steps 1, 1/2, 1/4, ... that lowers the objective, and its number."""
    least_scale = max(f.floor, SHRINKING * here.x[-2])
    for halvings in range(MOST_HALVINGS):
        x = here.x + 0.5**halvings * step
        x[-2] = max(x[-2], least_scale)
        if np.array_equal(x, here.x):
            break
        there = Place(x, *f.curve(x))
        allowed = ENOUGH_DECREASE * float(here.slope @ (x - here.x)) + f.noise(here.value)
        if there.value <= here.value + allowed:
            return there, halvings
    return here, MOST_HALVINGS
