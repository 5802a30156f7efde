"""Compiled stochastic gradient descent, one row a step: losses, lazy scaling, averaging, cumulative L1."""

from __future__ import annotations

from math import exp, log1p
from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.likelihoods import neg_log_normal_cdf
from tenfold._compiled.prefetch import prefetch

MARGIN_LOSSES = ("hinge", "perceptron", "squared_hinge", "modified_huber", "log_loss", "probit")
RESIDUAL_LOSSES = (
    "squared_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "quantile",
)
LOSS_CODES = {name: number for number, name in enumerate(MARGIN_LOSSES + RESIDUAL_LOSSES)}
LOSS_CODES["absolute_error"] = LOSS_CODES["epsilon_insensitive"]  # with epsilon = 0

_HINGE, _PERCEPTRON, _SQUARED_HINGE, _MODIFIED_HUBER, _LOG_LOSS, _PROBIT = range(6)
_SQUARED_ERROR, _HUBER, _EPSILON_INSENSITIVE, _SQUARED_EPSILON_INSENSITIVE, _QUANTILE = range(6, 11)


@njit(cache=True, nogil=True)
def loss_and_derivative(loss, epsilon, z, y):  # noqa: ANN001, ANN202
    """Value and derivative in the score z; y is -1 or +1 for losses of the margin."""
    if loss <= _PROBIT:
        value, slope = _margin_loss(loss, y * z)
        return value, y * slope
    return _residual_loss(loss, epsilon, z - y)


@njit(cache=True, nogil=True)
def _margin_loss(loss, m):  # noqa: ANN001, ANN202
    """Value and derivative in the margin m = yz."""
    if loss == _HINGE:
        return (1.0 - m, -1.0) if m <= 1.0 else (0.0, 0.0)
    if loss == _PERCEPTRON:
        return (-m, -1.0) if m <= 0.0 else (0.0, 0.0)
    if loss == _LOG_LOSS:
        decay = exp(-abs(m))
        wrong = (decay if m >= 0.0 else 1.0) / (1.0 + decay)  # probability of the other sign
        return log1p(decay) + max(-m, 0.0), -wrong
    if loss == _PROBIT:
        return neg_log_normal_cdf(m)
    gap = 1.0 - m
    if gap <= 0.0:
        return 0.0, 0.0
    if loss == _MODIFIED_HUBER and m < -1.0:
        return -4.0 * m, -4.0
    return gap * gap, -2.0 * gap


@njit(cache=True, nogil=True)
def _residual_loss(loss, epsilon, r):  # noqa: ANN001, ANN202
    """Value and derivative in the residual r = z - y; a quantile's share stands for epsilon."""
    if loss == _SQUARED_ERROR:
        return 0.5 * r * r, r
    if loss == _QUANTILE:
        slope = 1.0 - epsilon if r > 0.0 else (-epsilon if r < 0.0 else 0.0)
        return slope * r, slope
    sign = 1.0 if r > 0.0 else -1.0
    excess = abs(r) - epsilon
    if loss == _HUBER:
        near = 0.5 * r * r, r
        return near if excess <= 0.0 else (epsilon * (abs(r) - 0.5 * epsilon), epsilon * sign)
    if excess <= 0.0:
        return 0.0, 0.0
    if loss == _EPSILON_INSENSITIVE:
        return excess, sign
    return excess * excess, 2.0 * excess * sign


LEARNING_RATES = ("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2")
_CONSTANT, _OPTIMAL, _INVSCALING, ADAPTIVE, PA1, _PA2 = range(6)
# columns of Scores.own
(
    SCALE,
    INTERCEPT,
    AVERAGE_FACTOR,
    INTERCEPT_SUM,
    AVERAGED_STEPS,
    _CUMULATIVE_L1,
    STEP_SIZE,
    LOSS_SUM,
    WEIGHT_SUM,
    MISTAKES,
) = range(10)
_MIN_SCALE = 1e-6  # below it the scale is multiplied into v
_MAX_DERIVATIVE = 1e12  # slopes beyond this are cut
_PREFETCH_ROWS = 4  # rows that are fetched to the cache before they are needed


class SGDState(NamedTuple):
    """m linear scores that are being learned.

    Attributes
    ----------
    v : (m, p) weights without their scale
    late : (m, p) sum of all weights so far, less pull * v; (m, 0) without averaging
    taken : (m, p) L1 penalty that each weight has paid; (m, 0) without
    own : (m, 10) the numbers of each score: the columns named above
    """

    v: np.ndarray
    late: np.ndarray
    taken: np.ndarray
    own: np.ndarray


class SGDSettings(NamedTuple):
    """How to learn: all that stays the same from row to row."""

    loss: int
    epsilon: float
    rate: int
    eta0: float
    power: float
    alpha: float
    t0: float  # steps that "optimal" counts as done before the first
    shrink: float  # strength of the L2 penalty
    cut: float  # strength of the L1 penalty
    average: float  # step from which on weights are averaged; 0 for never
    offset: float  # share of a step that the constant takes


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _row_dot(data, at, low, high, v):  # noqa: ANN001, ANN202
    """Product of the row data[low:high] with v; `at` has the columns of a sparse row."""
    total = v.dtype.type(0)
    if at is None:
        x = data[low:high]  # whose places no loop has to check for a sign
        for j in range(len(x)):
            total += x[j] * v[j]
    else:
        for k in range(low, high):
            total += data[k] * v[at[k]]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _squared_norm(data, low, high):  # noqa: ANN001, ANN202
    """Squared length of a row."""
    total = data.dtype.type(0)
    for z in data[low:high]:
        total += z * z
    return np.float64(total)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_row(data, at, low, high, factor, v):  # noqa: ANN001, ANN202
    """Add a multiple of the row to v."""
    c = v.dtype.type(factor)
    if at is None:
        x = data[low:high]
        for j in range(len(x)):
            v[j] += c * x[j]
    else:
        for k in range(low, high):
            v[at[k]] += c * data[k]


@njit(cache=True, nogil=True)
def _add_row_averaged(data, at, low, high, factor, v, late, pull):  # noqa: ANN001, ANN202
    """Add a multiple of the row to v; the sum late + pull * v stays what it was."""
    if late is None:
        return
    c = v.dtype.type(factor)
    for k in range(low, high):
        j = k - low if at is None else at[k]
        old = v[j]
        v[j] = old + c * data[k]
        late[j] -= pull * (v[j] - old)


@njit(cache=True, nogil=True)
def _apply_cumulative_l1(at, low, high, v, late, taken, own):  # noqa: ANN001, ANN202
    """Let the weights of a row's columns pay the L1 penalty they owe, but never past zero."""
    if taken is None:
        return
    scale, pull, owed = own[SCALE], own[AVERAGE_FACTOR], own[_CUMULATIVE_L1]
    for k in range(low, high):
        j = k - low if at is None else at[k]
        old = v[j]
        if old > 0.0:
            v[j] = max(0.0, old - (owed + taken[j]) / scale)
        elif old < 0.0:
            v[j] = min(0.0, old + (owed - taken[j]) / scale)
        taken[j] += scale * (v[j] - old)
        if late is not None:
            late[j] -= pull * (v[j] - old)


@njit(cache=True, nogil=True)
def _fold_scale(v, late, own):  # noqa: ANN001, ANN202
    """Multiply the scale into v before it gets too small."""
    if late is not None:
        for j in range(len(late)):
            late[j] += own[AVERAGE_FACTOR] * v[j]
    for j in range(len(v)):
        v[j] *= own[SCALE]
    own[SCALE], own[AVERAGE_FACTOR] = 1.0, 0.0


@njit(cache=True, nogil=True)
def _learning_rate(plan, t):  # noqa: ANN001, ANN202
    """Size of step t where it depends on t alone."""
    if plan.rate == _OPTIMAL:
        return 1.0 / (plan.alpha * (plan.t0 + t - 1.0))
    if plan.rate == _INVSCALING:
        return plan.eta0 / (np.sqrt(t) if plan.power == 0.5 else t**plan.power)
    return plan.eta0


@njit(cache=True, nogil=True)
def _row_multiple(plan, eta, size, loss, slope):  # noqa: ANN001, ANN202
    """Multiple of the row that is added to the weights; `size` is the square of its length."""
    if plan.rate == PA1:
        return -slope * min(plan.eta0, loss / size)
    if plan.rate == _PA2:
        return -slope * loss / (size + 0.5 / plan.eta0)
    return -eta * min(max(slope, -_MAX_DERIVATIVE), _MAX_DERIVATIVE)


@njit(cache=True, nogil=True, inline="always")
def _update_score(data, at, low, high, label, weight, eta, t, plan, v, late, taken, own):  # noqa: ANN001, ANN202
    """One step of a score on one row."""
    z = own[SCALE] * _row_dot(data, at, low, high, v) + own[INTERCEPT]
    loss, slope = loss_and_derivative(plan.loss, plan.epsilon, z, label)
    own[LOSS_SUM] += weight * loss
    own[WEIGHT_SUM] += weight
    own[MISTAKES] += label * z <= 0.0
    size = _squared_norm(data, low, high) if plan.rate >= PA1 else 0.0
    step = weight * _row_multiple(plan, eta, size, loss, slope)
    if plan.shrink > 0.0:
        own[SCALE] *= max(0.0, 1.0 - eta * plan.shrink)
        if own[SCALE] < _MIN_SCALE:
            _fold_scale(v, late, own)
    if step != 0.0 and own[AVERAGE_FACTOR] == 0.0:
        _add_row(data, at, low, high, step / own[SCALE], v)
    elif step != 0.0:
        _add_row_averaged(data, at, low, high, step / own[SCALE], v, late, own[AVERAGE_FACTOR])
    own[INTERCEPT] += plan.offset * step
    if plan.cut > 0.0:
        own[_CUMULATIVE_L1] += eta * plan.cut
        _apply_cumulative_l1(at, low, high, v, late, taken, own)
    if 0.0 < plan.average <= t:
        own[AVERAGE_FACTOR] += own[SCALE]
        own[INTERCEPT_SUM] += own[INTERCEPT]
        own[AVERAGED_STEPS] += 1.0


@njit(cache=True, nogil=True)
def run_sgd_steps(data, at, start, order, y, w, targets, cost, live, v, late, taken, own, plan, t):  # noqa: ANN001, ANN202
    """Visit rows in order; each is one step of every live score. Returns the number of the next.

    Dense rows lie in `data` behind each other, and `at` and `start` are None; else the three are
    those of a CSR matrix. `y` and `w` come in the order of the visits. Score m learns whether y is
    targets[m], at cost[m, 0] if not and cost[m, 1] if so; it learns y itself without targets. What
    belongs to `SGDState` may be None if it is not used: less is compiled then.
    """
    p = v.shape[1]
    in_line = 64 // data.itemsize
    lines = p // in_line
    mine = own.copy()  # threads that write side by side would wait for each other
    for i in range(len(order)):
        row = order[i]
        if at is None:
            low, high = row * p, row * p + p
            if i + _PREFETCH_ROWS < len(order):  # nobody but us knows which row comes then
                soon = order[i + _PREFETCH_ROWS] * p
                for line in range(lines):
                    prefetch(data, soon + line * in_line)
        else:
            low, high = start[row], start[row + 1]
        if plan.rate == PA1 and _squared_norm(data, low, high) == 0.0:
            continue
        eta = _learning_rate(plan, t)
        for k in range(len(live)):
            m = live[k]
            label, weight = y[i], w[i]
            if len(targets):
                sought = label == targets[m]
                label, weight = 1.0 if sought else -1.0, weight * cost[m, int(sought)]
            rate = mine[m, STEP_SIZE] if plan.rate == ADAPTIVE else eta
            sums = None if late is None else late[m]
            paid = None if taken is None else taken[m]
            _update_score(
                data, at, low, high, label, weight, rate, t, plan, v[m], sums, paid, mine[m]
            )
        t += 1.0
    for k in range(len(live)):
        for j in range(own.shape[1]):  # number by number: whole rows take a second to compile
            own[live[k], j] = mine[live[k], j]
    return t
