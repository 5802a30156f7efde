r"""Cumulative links: loss, slope and curvature of ordered classes, as solvers see them.

Class j of k is the interval of a latent score between two thresholds, :math:`P(y \le j) =
F(t_{j+1} - x \cdot w)` with :math:`t_0 = -\infty < t_1 < \dots < t_k = \infty`. Read in order:
`logit_interval` and `probit_interval` (one row), the leaves (`slope`, `curve`), `thresholds` (from
free numbers), `Cumulative` (the objective).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.maths.links import (
    inverse_probit,
    log_probit,
    log_sigmoid,
    logit,
    sigmoid,
    sigmoid_slope,
)
from tenfold.rows import Chunk, Rows

HALF_LOG_2_PI = 0.9189385332046727
TOO_FAR: Any = {"divide": "ignore", "over": "ignore", "invalid": "ignore"}  # solvers try such steps
SHARE = 1e-3  # least share of a class at the start, where a class may weigh nothing


class Interval(NamedTuple):
    """Loss -log(F(a) - F(b)) of each row, and its derivatives in the ends a > b, all (n,)."""

    loss: np.ndarray
    a: np.ndarray
    b: np.ndarray
    aa: np.ndarray
    ab: np.ndarray
    bb: np.ndarray


def logit_interval(a: np.ndarray, b: np.ndarray) -> Interval:
    """The logistic distribution between b and a: F(a) - F(b) = s(a) s(-b) (1 - exp(b - a)).

    Examples
    --------
    >>> round(float(np.exp(-logit_interval(np.array([1.0]), np.array([-1.0])).loss[0])), 6)
    0.462117
    """
    gap = a - b
    rest = np.exp(-gap)  # 0 for an open end
    pull = rest / -np.expm1(-gap)
    bend = pull * (1 + pull)
    loss = -log_sigmoid(a) - log_sigmoid(-b) - np.log(-np.expm1(-gap))
    ends = sigmoid_slope(a) + bend, sigmoid_slope(b) + bend
    return Interval(loss, -sigmoid(-a) - pull, sigmoid(b) + pull, ends[0], -bend, ends[1])


def probit_interval(a: np.ndarray, b: np.ndarray) -> Interval:
    """The normal distribution between b and a, in whichever tail is the lighter.

    Examples
    --------
    >>> round(float(np.exp(-probit_interval(np.array([1.0]), np.array([-1.0])).loss[0])), 6)
    0.682689
    """
    flip = a + b > 0
    high, low = np.where(flip, -b, a), np.where(flip, -a, b)
    top = log_probit(high)
    mass = top + np.log(-np.expm1(log_probit(low) - top))
    ra, rb = (np.exp(-0.5 * z * z - HALF_LOG_2_PI - mass) for z in (a, b))
    ea, eb = (np.where(r > 0, z, 0) * r for z, r in ((a, ra), (b, rb)))
    return Interval(-mass, -ra, rb, ra * ra + ea, -ra * rb, rb * rb - eb)


INTERVALS = {"logit": logit_interval, "probit": probit_interval}
INVERSES = {"logit": logit, "probit": inverse_probit}


def interval(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> Interval:
    """The interval of each row's class about its latent score, in float64."""
    z = (chunk.X @ w).astype(np.float64)
    edges = open_ended(t)
    a, b = np.take(edges, chunk.y + 1) - z, np.take(edges, chunk.y) - z
    if chunk.w is not None:  # a class of no weight may lose all its room
        a, b = np.where(chunk.w > 0, a, np.inf), np.where(chunk.w > 0, b, -np.inf)
    return INTERVALS[link](a, b)


def open_ended(t: np.ndarray) -> np.ndarray:
    """Thresholds with the infinite ones of the first and the last class."""
    return np.concatenate([[-np.inf], t, [np.inf]])


def log_probabilities(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Log-probability of each class, (n, k)."""
    z, edges = (chunk.X @ w).astype(np.float64)[:, None], open_ended(t)
    with np.errstate(**TOO_FAR):
        return -INTERVALS[link](edges[1:] - z, edges[:-1] - z).loss.astype(chunk.X.dtype)


class Slope(NamedTuple):
    """Loss and its slope, summed over rows."""

    loss: float
    w: np.ndarray  # (p,)
    t: np.ndarray  # (2, k) by class, in its upper and its lower end


class Curve(NamedTuple):
    """Loss, slope and curvature, summed over rows."""

    slope: Slope
    ww: np.ndarray  # (p, p)
    wt: np.ndarray  # (2, k, p)
    tt: np.ndarray  # (3, k) upper end with itself, with the lower one, lower with itself


def slope(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> Slope:
    """Loss and slope of a chunk."""
    with np.errstate(**TOO_FAR):
        return _slope(chunk, interval(chunk, link, w, t), own_weights(chunk, len(t) + 1))


def _slope(chunk: Chunk, at: Interval, own: np.ndarray) -> Slope:
    weights = chunk.weights().astype(np.float64)
    rise = -(at.a + at.b) * weights
    by_class = np.stack([at.a, at.b]) @ own.T
    return Slope(float(at.loss @ weights), rise.astype(chunk.X.dtype) @ chunk.X, by_class)


def curve(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> Curve:
    """Loss, slope and curvature of a chunk."""
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    own = own_weights(chunk, len(t) + 1)
    with np.errstate(**TOO_FAR):
        at = interval(chunk, link, w, t)
        upper, lower = at.aa + at.ab, at.ab + at.bb
        bend = ((upper + lower) * chunk.weights()).astype(X.dtype)
        wt = np.stack([(own * -end).astype(X.dtype) @ X for end in (upper, lower)])
        tt = np.stack([at.aa, at.ab, at.bb]) @ own.T
        return Curve(_slope(chunk, at, own), (X * bend[:, None]).T @ X, wt, tt)


def own_weights(chunk: Chunk, k: int) -> np.ndarray:
    """Weight of each row in its class, (k, n)."""
    return (np.arange(k)[:, None] == chunk.y) * chunk.weights().astype(np.float64)


def class_weight(chunk: Chunk, k: int) -> np.ndarray:
    """Weight of each class in a chunk, (k,)."""
    return own_weights(chunk, k).sum(axis=1)


def thresholds(u: np.ndarray) -> np.ndarray:
    """Ascending thresholds from any numbers: the first as it is, then gaps log(1 + exp(u)).

    Examples
    --------
    >>> thresholds(np.array([1.0, 0.0, -3.0])).round(4).tolist()
    [1.0, 1.6931, 1.7417]
    """
    return np.cumsum(np.append(u[:1], np.logaddexp(0, u[1:])))


def free(t: np.ndarray) -> np.ndarray:
    """The numbers that make thresholds, the inverse of `thresholds`.

    Examples
    --------
    >>> free(thresholds(np.array([1.0, 0.0, -3.0]))).round(12).tolist()
    [1.0, 0.0, -3.0]
    """
    gaps = np.diff(t)
    return np.append(t[:1], gaps + np.log(-np.expm1(-gaps)))


class Cumulative(NamedTuple):
    """Mean loss + alpha/2 |w|^2 as solvers see it: a function of one flat vector [w u]."""

    rows: Rows
    link: str
    k: int
    alpha: float
    n: float

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, in the dtype of the rows, and thresholds."""
        p = self.rows.n_features
        return theta[:p].astype(self.rows.dtype), thresholds(theta[p:])

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        return self._with_penalty(theta, self.rows.total(slope, self.link, *self.parts(theta)))

    def curve(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient, and the Hessian less what vanishes at the minimum.

        The loss is convex in the thresholds. In the free numbers that make them, the Hessian has a
        further term, the bend of `thresholds` times the gradient; without it, it stays positive.
        """
        s: Curve = self.rows.total(curve, self.link, *self.parts(theta))
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

    def _with_penalty(self, theta: np.ndarray, s: Slope) -> tuple[float, np.ndarray]:
        w = theta[: len(s.w)]
        in_u = (s.t[0, :-1] + s.t[1, 1:]) @ self._turn(theta)
        gradient = np.concatenate([s.w / self.n + self.alpha * w, in_u / self.n])
        return s.loss / self.n + 0.5 * self.alpha * float(w @ w), gradient


def start(link: str, p: int, weight: np.ndarray) -> np.ndarray:
    """No slope, and thresholds at the shares of the classes."""
    share = np.maximum(weight / weight.sum(), SHARE)
    below = np.cumsum(share[:-1]) / share.sum()
    return np.append(np.zeros(p), free(INVERSES[link](below)))
