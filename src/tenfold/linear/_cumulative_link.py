r"""Cumulative links: loss, gradient and Hessian of ordered classes.

Class j of k is the interval of a latent score between two thresholds, :math:`P(y \le j) = F(t_{j+1}
- x \cdot w)` with :math:`t_0 = -\infty < t_1 < \dots < t_k = \infty`. The loss of a row is that of
its interval (`logit_interval_loss`, `probit_interval_loss`); solvers see the unconstrained
parameters of `ordered_thresholds`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.math.linalg import to_dense
from tenfold.math.links import (
    log_normal_cdf,
    log_sigmoid,
    logit,
    normal_quantile,
    sigmoid,
    sigmoid_derivative,
)

_HALF_LOG_2_PI = 0.9189385332046727
# trial steps of a line search may leave the range of numbers
_IGNORE_OVERFLOW: Any = {"divide": "ignore", "over": "ignore", "invalid": "ignore"}
_MIN_CLASS_SHARE = 1e-3  # smallest initial share of a class: one may have no weight


class IntervalLoss(NamedTuple):
    """Loss -log(F(a) - F(b)) of each row and its derivatives in the ends a > b, all (n,)."""

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
    width = a - b
    decay = np.exp(-width)  # 0 for an infinite end
    ratio = decay / -np.expm1(-width)
    mixed = ratio * (1 + ratio)
    loss = -log_sigmoid(a) - log_sigmoid(-b) - np.log(-np.expm1(-width))
    aa, bb = sigmoid_derivative(a) + mixed, sigmoid_derivative(b) + mixed
    return IntervalLoss(loss, -sigmoid(-a) - ratio, sigmoid(b) + ratio, aa, -mixed, bb)


def probit_interval_loss(a: np.ndarray, b: np.ndarray) -> IntervalLoss:
    """The normal distribution between b and a, computed in the lighter tail.

    Examples
    --------
    >>> round(float(np.exp(-probit_interval_loss(np.array([1.0]), np.array([-1.0])).loss[0])), 6)
    0.682689
    """
    mirrored = a + b > 0
    high, low = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    log_high = log_normal_cdf(high)
    log_mass = log_high + np.log(-np.expm1(log_normal_cdf(low) - log_high))
    ra, rb = (np.exp(-0.5 * z * z - _HALF_LOG_2_PI - log_mass) for z in (a, b))
    ea, eb = (np.where(r > 0, z, 0) * r for z, r in ((a, ra), (b, rb)))
    return IntervalLoss(-log_mass, -ra, rb, ra * ra + ea, -ra * rb, rb * rb - eb)


INTERVAL_LOSSES = {"logit": logit_interval_loss, "probit": probit_interval_loss}
_INVERSE_LINKS = {"logit": logit, "probit": normal_quantile}


def _row_interval_loss(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> IntervalLoss:
    """Loss of each row, and its derivatives in the ends of its class, in float64."""
    z = (chunk.X @ w).astype(np.float64)
    edges = _with_infinite_ends(t)
    a, b = np.take(edges, chunk.y + 1) - z, np.take(edges, chunk.y) - z
    if chunk.w is not None:  # the interval of a class of no weight may become empty
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
    """Loss and its gradient, summed over rows."""

    loss: float
    w: np.ndarray  # (p,)
    t: np.ndarray  # (2, k) by class, in its upper and its lower end


class CumulativeHessian(NamedTuple):
    """Loss, gradient and Hessian, summed over rows."""

    gradient: CumulativeGradient
    ww: np.ndarray  # (p, p)
    wt: np.ndarray  # (2, k, p)
    tt: np.ndarray  # (3, k) upper end with itself, with the lower one, lower with itself


def _gradient(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> CumulativeGradient:
    """Loss and gradient of a chunk."""
    with np.errstate(**_IGNORE_OVERFLOW):
        losses = _row_interval_loss(chunk, link, w, t)
        return _gradient_sums(chunk, losses, _weights_by_class(chunk, len(t) + 1))


def _gradient_sums(
    chunk: Chunk, losses: IntervalLoss, class_weights: np.ndarray
) -> CumulativeGradient:
    weights = chunk.weights().astype(np.float64)
    in_score = (-(losses.a + losses.b) * weights).astype(chunk.X.dtype)
    in_ends = np.stack([losses.a, losses.b]) @ class_weights.T
    return CumulativeGradient(float(losses.loss @ weights), in_score @ chunk.X, in_ends)


def _hessian(chunk: Chunk, link: str, w: np.ndarray, t: np.ndarray) -> CumulativeHessian:
    """Loss, gradient and Hessian of a chunk."""
    X, class_weights = to_dense(chunk.X), _weights_by_class(chunk, len(t) + 1)
    with np.errstate(**_IGNORE_OVERFLOW):
        losses = _row_interval_loss(chunk, link, w, t)
        upper, lower = losses.aa + losses.ab, losses.ab + losses.bb
        curvature = ((upper + lower) * chunk.weights()).astype(X.dtype)
        wt = np.stack([(class_weights * -end).astype(X.dtype) @ X for end in (upper, lower)])
        tt = np.stack([losses.aa, losses.ab, losses.bb]) @ class_weights.T
        gradient = _gradient_sums(chunk, losses, class_weights)
        return CumulativeHessian(gradient, (X * curvature[:, None]).T @ X, wt, tt)


def _weights_by_class(chunk: Chunk, k: int) -> np.ndarray:
    """Weight of each row in its class, (k, n)."""
    return (np.arange(k)[:, None] == chunk.y) * chunk.weights().astype(np.float64)


def class_weight_totals(chunk: Chunk, k: int) -> np.ndarray:
    """Weight of each class in a chunk, (k,)."""
    return _weights_by_class(chunk, k).sum(axis=1)


def ordered_thresholds(u: np.ndarray) -> np.ndarray:
    """Ascending thresholds from unconstrained parameters: the first, then gaps log(1 + exp(u)).

    Examples
    --------
    >>> ordered_thresholds(np.array([1.0, 0.0, -3.0])).round(4).tolist()
    [1.0, 1.6931, 1.7417]
    """
    return np.cumsum(np.append(u[:1], np.logaddexp(0, u[1:])))


def unconstrained_thresholds(t: np.ndarray) -> np.ndarray:
    """The unconstrained parameters of thresholds, the inverse of `ordered_thresholds`.

    Examples
    --------
    >>> t = ordered_thresholds(np.array([1.0, 0.0, -3.0]))
    >>> unconstrained_thresholds(t).round(12).tolist()
    [1.0, 0.0, -3.0]
    """
    gaps = np.diff(t)
    return np.append(t[:1], gaps + np.log(-np.expm1(-gaps)))


class CumulativeLinkObjective(NamedTuple):
    """Mean loss + alpha/2 |w|^2 as a function of one flat vector [w u].

    Attributes
    ----------
    rows : the data
    link : "logit" or "probit"
    k : number of classes
    alpha : L2 penalty
    n : total weight of the rows
    """

    rows: Rows
    link: str
    k: int
    alpha: float
    n: float

    def split_parameters(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, in the dtype of the rows, and thresholds."""
        p = self.rows.n_features
        return theta[:p].astype(self.rows.dtype), ordered_thresholds(theta[p:])

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        s = self.rows.total(_gradient, self.link, *self.split_parameters(theta))
        return self._with_penalty(theta, s)

    def value_gradient_hessian(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient, and the Hessian without a term that vanishes at the minimum.

        The loss is convex in the thresholds. In their unconstrained parameters the Hessian has a
        further term, the second derivative of `ordered_thresholds` times the gradient; without it
        the matrix is positive semi-definite.
        """
        s: CumulativeHessian = self.rows.total(_hessian, self.link, *self.split_parameters(theta))
        p, J = len(s.ww), self._threshold_jacobian(theta)
        H = np.zeros((len(theta), len(theta)))
        H[:p, :p] = s.ww + self.alpha * self.n * np.eye(p)
        H[:p, p:] = (s.wt[0, :-1] + s.wt[1, 1:]).T @ J
        H[p:, :p] = H[:p, p:].T
        neighbors = np.diag(s.tt[1, 1:-1], 1)
        H[p:, p:] = J.T @ (np.diag(s.tt[0, :-1] + s.tt[2, 1:]) + neighbors + neighbors.T) @ J
        return *self._with_penalty(theta, s.gradient), H / self.n

    def _threshold_jacobian(self, theta: np.ndarray) -> np.ndarray:
        """Derivatives of the thresholds in their unconstrained parameters, (k - 1, k - 1)."""
        gaps = sigmoid(theta[self.rows.n_features + 1 :])
        return np.tril(np.ones((self.k - 1, self.k - 1))) * np.append(1.0, gaps)

    def _with_penalty(self, theta: np.ndarray, s: CumulativeGradient) -> tuple[float, np.ndarray]:
        w = theta[: len(s.w)]
        in_u = (s.t[0, :-1] + s.t[1, 1:]) @ self._threshold_jacobian(theta)
        gradient = np.concatenate([s.w / self.n + self.alpha * w, in_u / self.n])
        return s.loss / self.n + 0.5 * self.alpha * float(w @ w), gradient


def initial_parameters(link: str, p: int, totals: np.ndarray) -> np.ndarray:
    """Zero coefficients, and thresholds at the quantiles of the class shares."""
    share = np.maximum(totals / totals.sum(), _MIN_CLASS_SHARE)
    below = np.cumsum(share[:-1]) / share.sum()
    return np.append(np.zeros(p), unconstrained_thresholds(_INVERSE_LINKS[link](below)))
