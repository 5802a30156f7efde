r"""Quantile regression, first stage: Newton's method on a smoothed pinball loss.

The pinball loss of a residual r has a kink at 0. Smoothed with width mu it is

.. math:: \phi_\mu(r) = \max(q r, (q - 1) r) + \mu \log(1 + e^{-|r| / \mu}),

which exceeds it by at most mu log 2. Every iteration makes one Newton step from one pass; when the
step is small relative to mu, mu shrinks. Once few rows lie within the width, the linear program of
`tenfold.linear._quantile_lp` finishes exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._loss_gradients import class_major_scores, weighted_gram
from tenfold.math.linalg import solve_psd, to_dense
from tenfold.optim.convergence import until_converged
from tenfold.optim.line_search import SUFFICIENT_DECREASE

_WIDTH_REDUCTION = 0.2  # factor on the width after a step that was small relative to it
_MIN_SHARE_RATIO = 0.1  # smallest plausible change of the share of rows within the width
_SMALL_STEP_FRACTION = 1 / 16  # of width times share: decrease of a step that counts as small
_NEGLIGIBLE_WIDTH_FRACTION = 0.25  # of the allowed error of the objective: width that is negligible
_MAX_HALVINGS = 12
_MAX_WIDTHS = 60.0  # beyond so many widths exp(-x) is zero; avoids slow subnormal numbers
_MIN_WIDTH_RATIO = 1e-10  # smallest width relative to the first, if the precision allows


class SmoothedPinballSums(NamedTuple):
    """Sums over rows.

    Attributes
    ----------
    exact : pinball loss
    previous : loss smoothed with the previous width
    loss, gradient, hessian : loss smoothed with the new width, and its derivatives
    """

    exact: float
    previous: float
    loss: float
    gradient: np.ndarray
    hessian: np.ndarray


class PinballPoint(NamedTuple):
    """A point, the smoothing width there, and the objective with its derivatives.

    Attributes
    ----------
    theta : coefficients and intercept
    width : smoothing width
    exact : objective without smoothing
    value, gradient, hessian : smoothed objective and its derivatives
    share : share of the rows that lie within the width
    """

    theta: np.ndarray
    width: float
    exact: float
    value: float
    gradient: np.ndarray
    hessian: np.ndarray
    share: float


def residuals(chunk: Chunk, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Target less prediction, in the dtype of the rows."""
    r = chunk.y - class_major_scores(chunk.X, w[None], b)[0]
    return r.astype(chunk.X.dtype, copy=False)


def _smoothed_sums(
    chunk: Chunk, w: np.ndarray, b: np.ndarray, q: float, previous: float, width: float
) -> SmoothedPinballSums:
    """The sums of a chunk; `previous` is the previous width."""
    r = residuals(chunk, w, b)
    size, weights = np.abs(r), chunk.weights()
    exact = np.maximum(q * r, (q - 1) * r)
    decay = np.exp(-np.minimum(size / width, _MAX_WIDTHS))
    loss = exact + width * np.log1p(decay)
    derivative = np.where(r > 0, decay, 1) / (1 + decay) - q
    curvature = weights * (decay / (1 + decay) ** 2 / width)
    before = loss
    if previous != width:
        before = exact + previous * np.log1p(np.exp(-size / previous))
    X = to_dense(chunk.X)
    weighted = (weights * derivative).astype(X.dtype, copy=False)
    gradient = np.append(weighted @ X, weighted.sum(dtype=np.float64))
    weights = weights.astype(np.float64)
    totals = float(weights @ exact), float(weights @ before), float(weights @ loss)
    return SmoothedPinballSums(*totals, gradient, weighted_gram(X, curvature))


class PinballObjective(NamedTuple):
    """Mean pinball loss + alpha |w|_1 as a function of [w b].

    Attributes
    ----------
    rows : the data
    q : the quantile
    alpha : L1 penalty
    n : total weight of the rows
    intercept : whether there is an intercept; else it keeps its initial value
    """

    rows: Rows
    q: float
    alpha: float
    n: float
    intercept: bool

    @property
    def precision(self) -> float:
        return float(np.finfo(self.rows.dtype).eps)

    def split_parameters(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercept (1,), in the dtype of the rows."""
        theta = theta.astype(self.rows.dtype)
        return theta[:-1], theta[-1:]

    def penalty(self, theta: np.ndarray) -> float:
        return self.alpha * float(np.abs(theta[:-1]).sum())

    def evaluate(
        self, theta: np.ndarray, previous: float, width: float, column_rms: np.ndarray
    ) -> tuple[PinballPoint, float]:
        """The objective at a point, and its value with the previous smoothing width.

        The kinks of |w| are smoothed like those of the loss, in units of the columns.
        """
        state = (*self.split_parameters(theta), self.q, previous, width)
        s = self.rows.total(_smoothed_sums, *state)
        w, nu = theta[:-1], width / column_rms
        decay = np.exp(-np.abs(w) / nu)
        gradient, H, p = s.gradient / self.n, s.hessian / self.n, len(w)
        gradient[:-1] += self.alpha * np.sign(w) * (1 - decay) / (1 + decay)
        H[np.diag_indices(p)] += self.alpha * 2 * decay / (1 + decay) ** 2 / nu
        share = 4 * width * s.hessian[-1, -1] / self.n
        if not self.intercept:
            gradient[-1], H[-1, :], H[:, -1], H[-1, -1] = 0.0, 0.0, 0.0, 1.0
        value = s.loss / self.n + self._smoothed_penalty(w, nu)
        exact = s.exact / self.n + self.penalty(theta)
        point = PinballPoint(theta, width, exact, value, gradient, H, share)
        return point, s.previous / self.n + self._smoothed_penalty(w, previous / column_rms)

    def _smoothed_penalty(self, w: np.ndarray, nu: np.ndarray) -> float:
        sizes = np.abs(w) + 2 * nu * np.log1p(np.exp(-np.abs(w) / nu))
        return self.alpha * float(sizes.sum())


def _column_rms(f: PinballObjective, theta: np.ndarray, width: float) -> np.ndarray:
    """Approximate root mean squares of the columns; 1 for columns of zeros."""
    state = (*f.split_parameters(theta), f.q, width, width)
    H = f.rows.total(_smoothed_sums, *state).hessian
    rms = np.sqrt(H.diagonal()[:-1] / max(H[-1, -1], np.finfo(float).tiny))
    return np.where(rms > 0, rms, 1.0)


def minimize_smoothed_pinball(
    f: PinballObjective,
    start: np.ndarray,
    width: float,
    *,
    max_rows: int,
    tol: float,
    max_iter: int,
) -> tuple[PinballPoint, dict[str, Any]]:
    """A point so near the minimum that at most `max_rows` rows lie within the smoothing width.

    Where more rows lie on the plane itself, the width shrinks until it is negligible.
    """
    column_rms = _column_rms(f, start, width)
    point = f.evaluate(start, width, width, column_rms)[0]
    min_width = max(_MIN_WIDTH_RATIO, 10 * f.precision) * width
    loop = until_converged(point, tol=1.0, max_iter=max_iter)
    for point in loop:
        negligible = max(min_width, _NEGLIGIBLE_WIDTH_FRACTION * tol * point.exact)
        following, small = _newton_iteration(f, point, column_rms, negligible)
        best = min([following.exact, *loop.objectives[-1:]])
        done = following is point or (small and point.width <= negligible)
        # right after a reduction rows on the plane may seem to lie outside: the plane has moved
        share = max(following.share, _MIN_SHARE_RATIO * point.share)
        change = 0.0 if done else share * f.rows.n_rows / max_rows
        loop.update(following, objective=best, change=change)
    return loop.state, loop.report


def _newton_iteration(
    f: PinballObjective, point: PinballPoint, column_rms: np.ndarray, negligible: float
) -> tuple[PinballPoint, bool]:
    """One Newton step, halved until it lowers the objective, and whether it was small.

    The point itself if rounding hides any decrease.
    """
    step = -solve_psd(point.hessian, point.gradient)
    decrease = float(point.gradient @ step)
    small = -decrease <= _SMALL_STEP_FRACTION * point.share * point.width
    width = point.width
    if small:
        width = max(_WIDTH_REDUCTION * point.width, min(negligible, point.width))
    rounding = f.precision * abs(point.value)
    for halvings in range(_MAX_HALVINGS):
        t = 0.5**halvings
        following, value = f.evaluate(point.theta + t * step, point.width, width, column_rms)
        if value <= point.value + SUFFICIENT_DECREASE * t * decrease + rounding:
            return following, small
    return point, small
