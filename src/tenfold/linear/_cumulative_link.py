r"""Cumulative links: loss, slope and curvature of ordered classes, as solvers see them.

Class j of k is the interval of a latent score between two thresholds, :math:`P(y \le j) =
F(t_{j+1} - x \cdot w)` with :math:`t_0 = -\infty < t_1 < \dots < t_k = \infty`. Read in order:
`logit_interval_loss` and `probit_interval_loss` (one row), the leaves (`_gradient`, `_hessian`), `ordered_thresholds` (from
free numbers), `CumulativeLinkObjective` (the objective).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.links import (
    log_normal_cdf,
    log_sigmoid,
    logit,
    normal_quantile,
    sigmoid,
    sigmoid_derivative,
)

_HALF_LOG_2_PI = 0.9189385332046727
_IGNORE_OVERFLOW: Any = {
    "divide": "ignore",
    "over": "ignore",
    "invalid": "ignore",
}  # solvers try such steps
_MIN_CLASS_SHARE = 1e-3  # least share of a class at the start, where a class may weigh nothing


class IntervalLoss(NamedTuple):
    """Loss -log(F(a) - F(b)) of each row, and its derivatives in the ends a > b, all (n,)."""

    loss: np.ndarray
    a: np.ndarray
    b: np.ndarray
    aa: np.ndarray
    ab: np.ndarray
    bb: np.ndarray


def logit_interval_loss(a: np.ndarray, b: np.ndarray) -> IntervalLoss:
    """The logistic distribution between b and a: F(a) - F(b) = s(a) s(-b) (1 - exp(b - a)).

    Examples
    --------
    >>> round(float(np.exp(-logit_interval_loss(np.array([1.0]), np.array([-1.0])).loss[0])), 6)
    0.462117
    """
    gap = a - b
    rest = np.exp(-gap)  # 0 for an open end
    pull = rest / -np.expm1(-gap)
    bend = pull * (1 + pull)
    loss = -log_sigmoid(a) - log_sigmoid(-b) - np.log(-np.expm1(-gap))
    ends = sigmoid_derivative(a) + bend, sigmoid_derivative(b) + bend
    return IntervalLoss(loss, -sigmoid(-a) - pull, sigmoid(b) + pull, ends[0], -bend, ends[1])


def probit_interval_loss(a: np.ndarray, b: np.ndarray) -> IntervalLoss:
    """The normal distribution between b and a, in whichever tail is the lighter.

    Examples
    --------
    >>> round(float(np.exp(-probit_interval_loss(np.array([1.0]), np.array([-1.0])).loss[0])), 6)
    0.682689
    """
    flip = a + b > 0
    high, low = np.where(flip, -b, a), np.where(flip, -a, b)
    top = log_normal_cdf(high)
    mass = top + np.log(-np.expm1(log_normal_cdf(low) - top))
    ra, rb = (np.exp(-0.5 * z * z - _HALF_LOG_2_PI - mass) for z in (a, b))
    ea, eb = (np.where(r > 0, z, 0) * r for z, r in ((a, ra), (b, rb)))
    return IntervalLoss(-mass, -ra, rb, ra * ra + ea, -ra * rb, rb * rb - eb)


INTERVAL_LOSSES = {"logit": logit_interval_loss, "probit": probit_interval_loss}
_INVERSE_LINKS = {"logit": logit, "probit": normal_quantile}


def _row_interval_loss(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> IntervalLoss:
    """The interval of each row's class about its latent score, in float64."""
    z = (chunk.X @ w).astype(np.float64)
    edges = _with_infinite_ends(t)
    a, b = np.take(edges, chunk.y + 1) - z, np.take(edges, chunk.y) - z
    if chunk.w is not None:  # a class of no weight may lose all its room
        a, b = np.where(chunk.w > 0, a, np.inf), np.where(chunk.w > 0, b, -np.inf)
    return INTERVAL_LOSSES[link](a, b)


def _with_infinite_ends(t: np.ndarray) -> np.ndarray:
    """Thresholds with the infinite ones of the first and the last class."""
    return np.concatenate([[-np.inf], t, [np.inf]])


def log_probabilities(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Log-probability of each class, (n, k)."""
    z, edges = (chunk.X @ w).astype(np.float64)[:, None], _with_infinite_ends(t)
    with np.errstate(**_IGNORE_OVERFLOW):
        return -INTERVAL_LOSSES[link](edges[1:] - z, edges[:-1] - z).loss.astype(chunk.X.dtype)


class CumulativeGradient(NamedTuple):
    """Loss and its slope, summed over rows."""

    loss: float
    w: np.ndarray  # (p,)
    t: np.ndarray  # (2, k) by class, in its upper and its lower end


class CumulativeHessian(NamedTuple):
    """Loss, slope and curvature, summed over rows."""

    slope: CumulativeGradient
    ww: np.ndarray  # (p, p)
    wt: np.ndarray  # (2, k, p)
    tt: np.ndarray  # (3, k) upper end with itself, with the lower one, lower with itself


def _gradient(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> CumulativeGradient:
    """Loss and slope of a chunk."""
    with np.errstate(**_IGNORE_OVERFLOW):
        return _gradient_sums(
            chunk, _row_interval_loss(chunk, link, w, t), _weights_by_class(chunk, len(t) + 1)
        )


def _gradient_sums(chunk: Chunk, at: IntervalLoss, own: np.ndarray) -> CumulativeGradient:
    weights = chunk.weights().astype(np.float64)
    rise = -(at.a + at.b) * weights
    by_class = np.stack([at.a, at.b]) @ own.T
    return CumulativeGradient(
        float(at.loss @ weights), rise.astype(chunk.X.dtype) @ chunk.X, by_class
    )


def _hessian(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> CumulativeHessian:
    """Loss, slope and curvature of a chunk."""
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    own = _weights_by_class(chunk, len(t) + 1)
    with np.errstate(**_IGNORE_OVERFLOW):
        at = _row_interval_loss(chunk, link, w, t)
        upper, lower = at.aa + at.ab, at.ab + at.bb
        bend = ((upper + lower) * chunk.weights()).astype(X.dtype)
        wt = np.stack([(own * -end).astype(X.dtype) @ X for end in (upper, lower)])
        tt = np.stack([at.aa, at.ab, at.bb]) @ own.T
        return CumulativeHessian(_gradient_sums(chunk, at, own), (X * bend[:, None]).T @ X, wt, tt)


def _weights_by_class(chunk: Chunk, k: int) -> np.ndarray:
    """Weight of each row in its class, (k, n)."""
    return (np.arange(k)[:, None] == chunk.y) * chunk.weights().astype(np.float64)


def class_weight_totals(chunk: Chunk, k: int) -> np.ndarray:
    """Weight of each class in a chunk, (k,)."""
    return _weights_by_class(chunk, k).sum(axis=1)


def ordered_thresholds(u: np.ndarray) -> np.ndarray:
    """Ascending thresholds from any numbers: the first as it is, then gaps log(1 + exp(u)).

    Examples
    --------
    >>> ordered_thresholds(np.array([1.0, 0.0, -3.0])).round(4).tolist()
    [1.0, 1.6931, 1.7417]
    """
    return np.cumsum(np.append(u[:1], np.logaddexp(0, u[1:])))


def unconstrained_thresholds(t: np.ndarray) -> np.ndarray:
    """The numbers that make thresholds, the inverse of `ordered_thresholds`.

    Examples
    --------
    >>> unconstrained_thresholds(ordered_thresholds(np.array([1.0, 0.0, -3.0]))).round(12).tolist()
    [1.0, 0.0, -3.0]
    """
    gaps = np.diff(t)
    return np.append(t[:1], gaps + np.log(-np.expm1(-gaps)))


class CumulativeLinkObjective(NamedTuple):
    """Mean loss + alpha/2 |w|^2 as solvers see it: a function of one flat vector [w u]."""

    rows: Rows
    link: str
    k: int
    alpha: float
    n: float

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, in the dtype of the rows, and thresholds."""
        p = self.rows.n_features
        return theta[:p].astype(self.rows.dtype), ordered_thresholds(theta[p:])

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        return self._with_penalty(theta, self.rows.total(_gradient, self.link, *self.parts(theta)))

    def curve(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient, and the Hessian less what vanishes at the minimum.

        The loss is convex in the thresholds. In the free numbers that make them, the Hessian has a
        further term, the bend of `ordered_thresholds` times the gradient; without it, it stays positive.
        """
        s: CumulativeHessian = self.rows.total(_hessian, self.link, *self.parts(theta))
        p, turn = len(s.ww), self._turn(theta)
        H = np.zeros((len(theta), len(theta)))
        H[:p, :p] = s.ww + self.alpha * self.n * np.eye(p)
        H[:p, p:] = (s.wt[0, :-1] + s.wt[1, 1:]).T @ turn
        H[p:, :p] = H[:p, p:].T
        beside = np.diag(s.tt[1, 1:-1], 1)
        H[p:, p:] = turn.T @ (np.diag(s.tt[0, :-1] + s.tt[2, 1:]) + beside + beside.T) @ turn
        return *self._with_penalty(theta, s.slope), H / self.n

    def _turn(self, theta: np.ndarray) -> np.ndarray:
        """Slopes of the thresholds in the free numbers, (k - 1, k - 1)."""
        gaps = sigmoid(theta[self.rows.n_features + 1 :])
        return np.tril(np.ones((self.k - 1, self.k - 1))) * np.append(1.0, gaps)

    def _with_penalty(self, theta: np.ndarray, s: CumulativeGradient) -> tuple[float, np.ndarray]:
        w = theta[: len(s.w)]
        in_u = (s.t[0, :-1] + s.t[1, 1:]) @ self._turn(theta)
        gradient = np.concatenate([s.w / self.n + self.alpha * w, in_u / self.n])
        return s.loss / self.n + 0.5 * self.alpha * float(w @ w), gradient


def initial_parameters(link: str, p: int, weight: np.ndarray) -> np.ndarray:
    """No slope, and thresholds at the shares of the classes."""
    share = np.maximum(weight / weight.sum(), _MIN_CLASS_SHARE)
    below = np.cumsum(share[:-1]) / share.sum()
    return np.append(np.zeros(p), unconstrained_thresholds(_INVERSE_LINKS[link](below)))
