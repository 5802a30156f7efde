r"""Quantile regression, first stage: Newton's method on a smoothed pinball loss.

The pinball loss of a residual r has a corner at 0. Smoothed with width mu it is

.. math:: \phi_\mu(r) = \max(q r, (q - 1) r) + \mu \log(1 + e^{-|r| / \mu}),

which lies above it by at most mu log 2. Every round makes one Newton step from one pass; when the
step is small against mu, mu shrinks. Once few rows lie in the corner, `band.py` finishes exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._loss_gradients import class_major_scores, weighted_gram
from tenfold.math.linalg import solve_psd
from tenfold.optim.convergence import until_converged
from tenfold.optim.line_search import SUFFICIENT_DECREASE

_WIDTH_REDUCTION = 0.2  # of the width of corners, when a step was small against it
_MIN_SHARE_RATIO = (
    0.1  # the least that a shrink leaves of the share of rows in corners, if all is well
)
_SMALL_STEP_FRACTION = (
    1 / 16
)  # of the width and the share of rows in it: a step that counts as small
_NEGLIGIBLE_WIDTH_FRACTION = (
    0.25  # of what the objective may be off: corners of that width hardly count
)
_MAX_HALVINGS = 12
_MAX_WIDTHS = (
    60.0  # widths from a corner where all is straight; beyond, tiny numbers would slow us down
)
_MIN_WIDTH_RATIO = 1e-10  # share of the first width, if the precision allows


class SmoothedPinballSums(NamedTuple):
    """Sums over rows: the loss; with corners of the old width; gradient and Hessian of the new."""

    exact: float
    before: float
    loss: float
    slope: np.ndarray
    hessian: np.ndarray


class PinballPoint(NamedTuple):
    """A point, the width of corners there, and what the objective is like."""

    theta: np.ndarray
    width: float
    exact: float
    value: float
    slope: np.ndarray
    hessian: np.ndarray
    share: float  # of the rows that lie in a corner


def residuals(chunk: Chunk, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Target less prediction, in the dtype of the rows."""
    return (chunk.y - class_major_scores(chunk.X, w[None], b)[0]).astype(chunk.X.dtype, copy=False)


def _smoothed_sums(
    chunk: Chunk, w: np.ndarray, b: np.ndarray, q: float, before: float, width: float
) -> SmoothedPinballSums:
    """The sums of a chunk."""
    r = residuals(chunk, w, b)
    size, omega = np.abs(r), chunk.weights()
    exact = np.maximum(q * r, (q - 1) * r)
    decay = np.exp(-np.minimum(size / width, _MAX_WIDTHS))
    loss, slope = exact + width * np.log1p(decay), np.where(r > 0, decay, 1) / (1 + decay) - q
    bend = omega * (decay / (1 + decay) ** 2 / width)
    old = loss if before == width else exact + before * np.log1p(np.exp(-size / before))
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    pull = (omega * slope).astype(X.dtype, copy=False)
    gradient = np.append(pull @ X, pull.sum(dtype=np.float64))
    mass = omega.astype(np.float64)
    totals = float(mass @ exact), float(mass @ old), float(mass @ loss)
    return SmoothedPinballSums(*totals, gradient, weighted_gram(X, bend))


class PinballObjective(NamedTuple):
    """Mean pinball loss + alpha |w|_1 as a function of [w b].

    Attributes
    ----------
    rows : the data
    q : the quantile
    alpha : weight of the penalty
    n : total weight of the rows
    intercept : whether there is a constant; else it stays where it starts
    """

    rows: Rows
    q: float
    alpha: float
    n: float
    intercept: bool

    @property
    def precision(self) -> float:
        return float(np.finfo(self.rows.dtype).eps)

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and constant (1,), in the dtype of the rows."""
        theta = theta.astype(self.rows.dtype)
        return theta[:-1], theta[-1:]

    def penalty(self, theta: np.ndarray) -> float:
        return self.alpha * float(np.abs(theta[:-1]).sum())

    def at(self, theta: np.ndarray, before: float, width: float, size: np.ndarray) -> tuple:
        """The place of a point, and its value with corners as they were before.

        The corners of |w| are smoothed like those of the loss, with `size` (p,) of the columns.
        """
        s = self.rows.total(_smoothed_sums, *self.parts(theta), self.q, before, width)
        w, nu = theta[:-1], width / size
        decay = np.exp(-np.abs(w) / nu)
        slope, H, p = s.slope / self.n, s.hessian / self.n, len(w)
        slope[:-1] += self.alpha * np.sign(w) * (1 - decay) / (1 + decay)
        H[np.diag_indices(p)] += self.alpha * 2 * decay / (1 + decay) ** 2 / nu
        share = 4 * width * s.hessian[-1, -1] / self.n
        if not self.intercept:
            slope[-1], H[-1, :], H[:, -1], H[-1, -1] = 0.0, 0.0, 0.0, 1.0
        value = s.loss / self.n + self._soft(w, nu)
        exact = s.exact / self.n + self.penalty(theta)
        here = PinballPoint(theta, width, exact, value, slope, H, share)
        return here, s.before / self.n + self._soft(w, before / size)

    def _soft(self, w: np.ndarray, nu: np.ndarray) -> float:
        each = np.abs(w) + 2 * nu * np.log1p(np.exp(-np.abs(w) / nu))
        return self.alpha * float(each.sum())


def _column_rms(f: PinballObjective, theta: np.ndarray, width: float) -> np.ndarray:
    """Root mean squares of the columns, about; 1 for empty ones."""
    H = f.rows.total(_smoothed_sums, *f.parts(theta), f.q, width, width).hessian
    size = np.sqrt(H.diagonal()[:-1] / max(H[-1, -1], np.finfo(float).tiny))
    return np.where(size > 0, size, 1.0)


def minimize_smoothed_pinball(
    f: PinballObjective, start: np.ndarray, width: float, *, enough: int, tol: float, max_iter: int
) -> tuple[PinballPoint, dict[str, Any]]:
    """A place so near the minimum that only `enough` rows lie in the corners.

    Where more rows lie on the plane itself, the corners shrink until they hardly count.
    """
    size = _column_rms(f, start, width)
    here = f.at(start, width, width, size)[0]
    narrowest = max(_MIN_WIDTH_RATIO, 10 * f.precision) * width
    loop = until_converged(here, tol=1.0, max_iter=max_iter)
    for here in loop:
        least = max(narrowest, _NEGLIGIBLE_WIDTH_FRACTION * tol * here.exact)
        there, calm = _newton_iteration(f, here, size, least)
        best = min([there.exact, *loop.objectives[-1:]])
        done = there is here or (calm and here.width <= least)
        # rows that lie on the plane seem to be gone right after a shrink: the plane moved
        share = max(there.share, _MIN_SHARE_RATIO * here.share)
        loop.update(there, objective=best, change=0.0 if done else share * f.rows.n_rows / enough)
    return loop.state, loop.report


def _newton_iteration(
    f: PinballObjective, here: PinballPoint, size: np.ndarray, least: float
) -> tuple[PinballPoint, bool]:
    """One Newton step, halved until it lowers the objective, and whether it was small.

    It ends where it began if rounding hides any gain.
    """
    turn = -solve_psd(here.hessian, here.slope)
    fall = float(here.slope @ turn)
    calm = -fall <= _SMALL_STEP_FRACTION * here.share * here.width
    width = max(_WIDTH_REDUCTION * here.width, min(least, here.width)) if calm else here.width
    noise = f.precision * abs(here.value)
    for halvings in range(_MAX_HALVINGS):
        t = 0.5**halvings
        there, value = f.at(here.theta + t * turn, here.width, width, size)
        if value <= here.value + SUFFICIENT_DECREASE * t * fall + noise:
            return there, calm
    return here, calm
