r"""Losses as boosting sees them: gradients of each row, a start, and the values of leaves.

A tree is fitted to the gradients g and curvatures h of the loss at the scores so far. Where h is
zero or unbounded in places (absolute, quantile, Huber), 1 takes its place; for Huber that is an
upper bound, so a step never raises the loss. Where a loss bends down, its curvature counts by its
size, so that a step never climbs. Leaves of the absolute and quantile losses get the
median or quantile of their residuals instead of a Newton step (Friedman 2001).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from math import exp, inf
from typing import Any

import numpy as np

from tenfold.math.deviances import TweedieLoss
from tenfold.math.losses import AbsoluteLoss, HuberLoss, Loss, PinballLoss, SquaredLoss
from tenfold.tree._fixed_point_numba import exact_sum
from tenfold.tree._losses_numba import (
    exponentials,
    log_loss_gradients,
    softmax_columns,
    softmax_gradients,
)

_NO_COPIES = np.zeros(0, np.int64)
_MAX_COPIES = 64  # of a row; larger whole weights are factors
_SOFTMAX_ROWS = 4096  # at a time: their scores stay near
_MAX_DOUBLINGS = 64  # of a score, in search of a minimum beyond it
_PRECISION = 2.0**-20  # of the minimum
_FAR = 64.0  # a step in a score that needs no bound
_MIN_PROBABILITY = 2.0**-52  # of a class that has no rows, for the start


@dataclass(frozen=True)
class BoostingLoss:
    """A loss of scores (n, n_outputs).

    Attributes
    ----------
    n_outputs : number of scores of a row, and of trees of a round
    constant : whether curvatures are 1
    bounded : whether gradients are at most 1 and curvatures at most 1/4
    prepares : whether outputs share work on the scores, see `prepare`
    guarded : whether a Newton step may raise the loss and has to be tried, see `_guarded_steps`
    convex : whether each row's loss is convex in the score
    self_concordant : whether third derivatives are at most as large as curvatures, so that a step t
        changes these by a factor of exp(|t|) at most; see `safe_step`
    quantiles : levels whose quantiles of residuals are the values of leaves; None: Newton steps
    link : name of the function of scores that is predicted, see `invert_link`
    """

    n_outputs: int = 1
    constant = False
    bounded = False
    prepares = False
    guarded = False
    convex = True
    self_concordant = False
    link = "identity"
    quantiles: tuple[float, ...] | None = None

    def prepare(self, score: np.ndarray) -> np.ndarray:
        """What gradients of all outputs share, from the scores before the round."""
        return score

    def gradients(
        self, y: np.ndarray, prepared: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Gradients and curvatures in score k; None for curvatures 1."""
        raise NotImplementedError

    def value(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        raise NotImplementedError

    def start(self, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        """Scores before the first tree: a minimizer of the loss over constants."""
        raise NotImplementedError


@dataclass(frozen=True)
class BoostedRegression(BoostingLoss):
    """A loss of `tenfold.math.losses` in each of several targets."""

    loss: Loss = field(default_factory=SquaredLoss)

    @property
    def constant(self) -> bool:
        return type(self.loss) in {SquaredLoss, AbsoluteLoss, HuberLoss}  # not what derives of them

    @property
    def guarded(self) -> bool:
        return not self.constant

    @property
    def convex(self) -> bool:
        return self.loss.convex

    def gradients(
        self, y: np.ndarray, prepared: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        z, own = prepared[:, k], y[:, k]
        g = np.asarray(self.loss.gradient(z, own), np.float64)
        if self.constant:
            return g, None
        return g, np.abs(np.asarray(self.loss.curvature(z, own), np.float64))

    def value(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        losses = [np.asarray(self.loss.value(z, own)) for z, own in zip(score.T, y.T, strict=True)]
        return np.sum(losses, axis=0)

    def start(self, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        if not self.constant:
            return np.array([_find_minimum(self.loss, own, w) for own in y.T])
        if isinstance(self.loss, SquaredLoss):
            return np.array([exact_mean(own, w) for own in y.T])
        return np.array([weighted_quantile(own, w, 0.5) for own in y.T])


@dataclass(frozen=True)
class BoostedQuantiles(BoostingLoss):
    """Pinball losses of several levels of one target."""

    constant = True
    link = "ascending"

    def _loss(self, k: int) -> PinballLoss:
        return PinballLoss(self.quantiles[k])  # type: ignore[index]

    def gradients(
        self, y: np.ndarray, prepared: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        return self._loss(k).gradient(prepared[:, k], y[:, 0]), None

    def value(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        losses = [self._loss(k).value(z, y[:, 0]) for k, z in enumerate(score.T)]
        return np.sum(losses, axis=0) / self.n_outputs

    def start(self, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        return np.array([weighted_quantile(y[:, 0], w, q) for q in self.quantiles or ()])


@dataclass(frozen=True)
class BoostedDeviance(BoostingLoss):
    """Half a Tweedie deviance (Poisson: 1, gamma: 2) of exp(score), in each of several targets."""

    power: float = 1.0
    link = "log"
    self_concordant = True

    def gradients(
        self, y: np.ndarray, prepared: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        z, p = np.ascontiguousarray(prepared[:, k]), self.power
        rise, fall = np.empty_like(z), np.empty_like(z)
        exponentials((2 - p) * z, rise)
        exponentials((1 - p) * z, fall)
        fall *= y[:, k]
        return rise - fall, (2 - p) * rise + (p - 1) * fall

    def value(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        loss = TweedieLoss(self.power)
        losses = [loss.value(z, own) for z, own in zip(score.T, y.T, strict=True)]
        return np.sum(losses, axis=0)

    def start(self, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        return np.array([portable_log(exact_mean(own, w)) for own in y.T])


@dataclass(frozen=True)
class BoostedLogLoss(BoostingLoss):
    """Log-loss of two classes; y are 0 and 1."""

    bounded = True
    self_concordant = True

    def gradients(
        self, y: np.ndarray, prepared: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        g, h = np.empty(len(y)), np.empty(len(y))
        log_loss_gradients(y[:, 0], prepared, g, h)
        return g, h

    def value(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        z = score[:, 0]
        return np.logaddexp(0.0, z) - y[:, 0] * z

    def start(self, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        p = min(max(exact_mean(y[:, 0], w), _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
        return np.array([portable_log(p) - portable_log(1 - p)])


@dataclass(frozen=True)
class BoostedSoftmax(BoostingLoss):
    """Log-loss of several classes; y are class numbers."""

    bounded = True
    self_concordant = True
    prepares = True

    def prepare(self, score: np.ndarray) -> np.ndarray:
        out = np.empty_like(score)
        for first in range(0, len(score), _SOFTMAX_ROWS):
            part = slice(first, first + _SOFTMAX_ROWS)
            z = np.array(score[part].T, order="C")
            p = np.empty_like(z)
            softmax_columns(z, np.empty(z.shape[1]), p)
            out[part] = p.T
        return out

    def gradients(
        self, y: np.ndarray, prepared: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        g, h = np.empty(len(y)), np.empty(len(y))
        softmax_gradients(y[:, 0], np.ascontiguousarray(prepared[:, k]), k, g, h)
        return g, h

    def value(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        own = np.take_along_axis(score, y.astype(np.int64), axis=1)[:, 0]
        best = score.max(axis=1)
        return best + np.log(np.exp(score - best[:, None]).sum(axis=1)) - own

    def start(self, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        shares = (exact_mean((y[:, 0] == k) * 1.0, w) for k in range(self.n_outputs))
        logs = [portable_log(max(share, _MIN_PROBABILITY)) for share in shares]
        return np.array(logs) - round_fraction(sum(map(Fraction, logs)) / len(logs))


def _find_minimum(loss: Loss, y: np.ndarray, w: np.ndarray | None) -> float:
    """A constant score beyond which the loss does not fall any more; 0 if none is found."""

    def slope_sign(z: float) -> int:
        with np.errstate(all="ignore"):
            g = np.asarray(loss.gradient(np.full(len(y), z), y), np.float64)
        if not np.isfinite(g).all():
            return 0
        total = sum_pieces(exact_pieces(g, w, copies=are_copies(w))[0])
        return (total > 0) - (total < 0)

    first = slope_sign(0.0)
    near, far = 0.0, -float(first)
    for _ in range(_MAX_DOUBLINGS if first else 0):
        if slope_sign(far) != first:
            break
        near, far = far, 2 * far
    if first == 0 or slope_sign(far) == first:
        return 0.0
    for _ in range(_MAX_DOUBLINGS):
        if abs(far - near) <= _PRECISION * abs(near):
            break
        middle = near / 2 + far / 2
        near, far = (middle, far) if slope_sign(middle) == first else (near, middle)
    return near


def safe_step(loss: BoostingLoss, learning_rate: float) -> float:
    r"""The longest step in a score that lowers the loss for certain.

    A step t against the slope g of a self-concordant loss (Bach 2010) with curvature h adds at most
    :math:`h (e^t - t - 1) - |g| t`. With t the learning rate times g / h, that is
    :math:`h (e^t - t - 1 - t^2 / \eta)`, negative up to a root that this finds, for
    :math:`\eta \leq 1`, in steps of 1/1024. Longer Newton steps, from curvatures that are nearly
    0, as those of rare classes and counts, may raise the loss as much as one likes.
    """
    if not loss.self_concordant:
        return inf
    t, rate = 1.0, min(learning_rate, 1.0)
    while t < _FAR and exp(t) - t - 1 <= t**2 / rate:
        t += 2.0**-10
    return t - 2.0**-10


def invert_link(score: np.ndarray, link: str) -> np.ndarray:
    """Predictions (n, k) of scores.

    Quantiles of several levels that cross change places: link "ascending".
    """
    if link == "log":
        return np.exp(score)
    return np.sort(score, axis=1) if link == "ascending" else score


def mean_loss(
    loss: BoostingLoss, y: np.ndarray, score: np.ndarray, w: np.ndarray | None, *, copies: bool
) -> float:
    """Weighted mean of the losses of rows, from exact sums."""
    total, weight = exact_pieces(loss.value(y, score), w, copies=copies)
    return round_fraction(sum_pieces(total) / sum_pieces(weight))


def portable_log(x: float) -> float:
    """Natural logarithm, the same bits on every processor."""
    return float(Context(prec=28).ln(Decimal(x)))  # not the context that a user may have set


def exact_mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    """Mean whose sums are exact, so that the order of the rows does not matter.

    Examples
    --------
    >>> exact_mean(np.array([1e100, 1.0, -1e100]), None) == 1 / 3
    True
    """
    total, weight = exact_pieces(values, weights, copies=are_copies(weights))
    return round_fraction(sum_pieces(total) / sum_pieces(weight))


def are_copies(weights: np.ndarray | None) -> bool:
    """Whether weights are small whole numbers: then rows count as so many copies of them."""
    if weights is None or weights.max(initial=0.0) > _MAX_COPIES:
        return False
    return np.array_equal(weights, np.floor(weights))


def exact_pieces(
    values: np.ndarray, weights: np.ndarray | None, *, copies: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of weighted numbers and of weights without rounding, in pieces that add up.

    Products with weights that are not copies are rounded, one by one.
    """
    if weights is None:
        return _exact_sum(values), _exact_sum(np.array([float(len(values))]))
    if copies:
        return _exact_sum(values, weights.astype(np.int64)), _exact_sum(weights)
    return _exact_sum(np.asarray(values, np.float64) * weights), _exact_sum(weights)


def _exact_sum(values: np.ndarray, copies: np.ndarray = _NO_COPIES) -> np.ndarray:
    """Pieces of the sum of some numbers."""
    pieces = np.zeros(68, np.int64)
    exact_sum(np.ascontiguousarray(values, np.float64).view(np.int64), copies, pieces)
    return pieces


def sum_pieces(pieces: np.ndarray) -> Fraction:
    """The sum that pieces stand for."""
    return Fraction(sum(int(piece) << (32 * k) for k, piece in enumerate(pieces)), 2**1075)


def round_fraction(x: Any) -> float:
    """The nearest float; infinities where there is none."""
    try:
        return float(x)
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def weighted_quantile(values: np.ndarray, weights: np.ndarray | None, q: float) -> float:
    """Quantile by the averaged inverted distribution function; whole weights act as repetitions.

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 4.0]), None, 0.5)
    2.5
    >>> weighted_quantile(np.array([1.0, 5.0]), np.array([3.0, 1.0]), 0.5)
    1.0
    """
    if weights is None:
        ordered = np.sort(values)
        reached = np.arange(1.0, len(ordered) + 1)
    else:
        there = weights > 0
        order = np.argsort(values[there], kind="stable")
        ordered, reached = values[there][order], np.cumsum(weights[there][order])
    wanted = q * reached[-1]
    at = min(int(np.searchsorted(reached, wanted)), len(ordered) - 1)
    if reached[at] == wanted and at + 1 < len(ordered):
        return float(ordered[at] / 2 + ordered[at + 1] / 2)
    return float(ordered[at])
