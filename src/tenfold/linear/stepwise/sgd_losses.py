"""Losses of one score, compiled: what `sgd_leaves` asks of every row it visits.

`tenfold.maths.losses` has the same for arrays of scores. At a kink these take the slope of the side
that still learns, as scikit-learn does: a point on the margin is pushed away from it.
"""

from __future__ import annotations

from math import exp, log1p

from numba import njit

from tenfold.maths.leaves import normal_tail

OF_MARGIN = ("hinge", "perceptron", "squared_hinge", "modified_huber", "log_loss", "probit")
OF_RESIDUAL = (
    "squared_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "quantile",
)
NUMBER = {name: number for number, name in enumerate(OF_MARGIN + OF_RESIDUAL)}
NUMBER["absolute_error"] = NUMBER["epsilon_insensitive"]  # with epsilon = 0

HINGE, PERCEPTRON, SQUARED_HINGE, MODIFIED_HUBER, LOG_LOSS, PROBIT = range(6)
SQUARED_ERROR, HUBER, EPSILON_INSENSITIVE, SQUARED_EPSILON_INSENSITIVE, QUANTILE = range(6, 11)


@njit(cache=True, nogil=True)
def loss_and_slope(loss, epsilon, z, y):  # noqa: ANN001, ANN201
    """Value and derivative in the score z; y is -1 or +1 for losses of the margin."""
    if loss <= PROBIT:
        value, slope = of_margin(loss, y * z)
        return value, y * slope
    return of_residual(loss, epsilon, z - y)


@njit(cache=True, nogil=True)
def of_margin(loss, m):  # noqa: ANN001, ANN201
    """Value and derivative in the margin m = yz."""
    if loss == HINGE:
        return (1.0 - m, -1.0) if m <= 1.0 else (0.0, 0.0)
    if loss == PERCEPTRON:
        return (-m, -1.0) if m <= 0.0 else (0.0, 0.0)
    if loss == LOG_LOSS:
        decay = exp(-abs(m))
        wrong = (decay if m >= 0.0 else 1.0) / (1.0 + decay)  # probability of the other sign
        return log1p(decay) + max(-m, 0.0), -wrong
    if loss == PROBIT:
        return normal_tail(m)
    gap = 1.0 - m
    if gap <= 0.0:
        return 0.0, 0.0
    if loss == MODIFIED_HUBER and m < -1.0:
        return -4.0 * m, -4.0
    return gap * gap, -2.0 * gap


@njit(cache=True, nogil=True)
def of_residual(loss, epsilon, r):  # noqa: ANN001, ANN201
    """Value and derivative in the residual r = z - y; a quantile's share stands for epsilon."""
    if loss == SQUARED_ERROR:
        return 0.5 * r * r, r
    if loss == QUANTILE:
        slope = 1.0 - epsilon if r > 0.0 else (-epsilon if r < 0.0 else 0.0)
        return slope * r, slope
    sign = 1.0 if r > 0.0 else -1.0
    excess = abs(r) - epsilon
    if loss == HUBER:
        near = 0.5 * r * r, r
        return near if excess <= 0.0 else (epsilon * (abs(r) - 0.5 * epsilon), epsilon * sign)
    if excess <= 0.0:
        return 0.0, 0.0
    if loss == EPSILON_INSENSITIVE:
        return excess, sign
    return excess * excess, 2.0 * excess * sign
