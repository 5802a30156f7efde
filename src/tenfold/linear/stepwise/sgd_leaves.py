"""The compiled walk over rows, one step for each: dense and sparse, serial and without the lock.

A score's weights are kept as w = scale * v, so that shrinking all of them is one product (Bottou).
The sum of all w so far is kept as late + pull * v, so that averaging, too, touches only the columns
of the row. The L1 penalty that a weight owes is collected when its column is met (Tsuruoka).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold.linear.stepwise.prefetch import prefetch
from tenfold.linear.stepwise.sgd_losses import loss_and_slope

RATES = ("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2")
CONSTANT, OPTIMAL, INVSCALING, ADAPTIVE, PA1, PA2 = range(6)
# columns of Scores.own
SCALE, OFFSET, PULL, OFFSETS, STEPS, OWED, RATE, LOSS, WEIGHT, MISTAKES = range(10)
SMALLEST_SCALE = 1e-6  # below it the scale is multiplied into v
STEEPEST = 1e12  # slopes beyond this are cut
AHEAD = 4  # rows that are fetched to the cache before they are needed


class Scores(NamedTuple):
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


class Plan(NamedTuple):
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
def dot(data, at, low, high, v, m):  # noqa: ANN001, ANN201
    """Product of the row data[low:high] with v[m]; `at` has the columns of a sparse row."""
    total = v.dtype.type(0)
    if at is None:
        x, u = data[low:high], v[m]  # whose places no loop has to check for a sign
        for j in range(len(x)):
            total += x[j] * u[j]
    else:
        for k in range(low, high):
            total += data[k] * v[m, at[k]]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def square(data, low, high):  # noqa: ANN001, ANN201
    """Squared length of a row."""
    total = data.dtype.type(0)
    for z in data[low:high]:
        total += z * z
    return np.float64(total)


@njit(cache=True, nogil=True, fastmath={"contract"})
def add(data, at, low, high, factor, v, m):  # noqa: ANN001, ANN201
    """Add a multiple of the row to v[m]."""
    c = v.dtype.type(factor)
    if at is None:
        x, u = data[low:high], v[m]
        for j in range(len(x)):
            u[j] += c * x[j]
    else:
        for k in range(low, high):
            v[m, at[k]] += c * data[k]


@njit(cache=True, nogil=True)
def add_and_remember(data, at, low, high, factor, v, m, late, pull):  # noqa: ANN001, ANN201
    """Add a multiple of the row to v[m]; the sum late + pull * v stays what it was."""
    c = v.dtype.type(factor)
    for k in range(low, high):
        j = k - low if at is None else at[k]
        old = v[m, j]
        v[m, j] = old + c * data[k]
        late[m, j] -= pull * (v[m, j] - old)


@njit(cache=True, nogil=True)
def truncate(at, low, high, v, m, late, taken, own):  # noqa: ANN001, ANN201
    """Let the weights of a row's columns pay the L1 penalty they owe, but never past zero."""
    scale, pull, owed = own[m, SCALE], own[m, PULL], own[m, OWED]
    for k in range(low, high):
        j = k - low if at is None else at[k]
        old = v[m, j]
        if old > 0.0:
            v[m, j] = max(0.0, old - (owed + taken[m, j]) / scale)
        elif old < 0.0:
            v[m, j] = min(0.0, old + (owed - taken[m, j]) / scale)
        taken[m, j] += scale * (v[m, j] - old)
        if late.shape[1]:
            late[m, j] -= pull * (v[m, j] - old)


@njit(cache=True, nogil=True)
def fold_scale(v, m, late, own):  # noqa: ANN001, ANN201
    """Multiply the scale into v[m] before it gets too small."""
    for j in range(late.shape[1]):
        late[m, j] += own[m, PULL] * v[m, j]
    for j in range(v.shape[1]):
        v[m, j] *= own[m, SCALE]
    own[m, SCALE], own[m, PULL] = 1.0, 0.0


@njit(cache=True, nogil=True)
def rate_at(plan, t):  # noqa: ANN001, ANN201
    """Size of step t where it depends on t alone."""
    if plan.rate == OPTIMAL:
        return 1.0 / (plan.alpha * (plan.t0 + t - 1.0))
    if plan.rate == INVSCALING:
        return plan.eta0 / (np.sqrt(t) if plan.power == 0.5 else t**plan.power)
    return plan.eta0


@njit(cache=True, nogil=True)
def step_for(plan, eta, size, loss, slope):  # noqa: ANN001, ANN201
    """Multiple of the row that is added to the weights; `size` is the square of its length."""
    if plan.rate == PA1:
        return -slope * min(plan.eta0, loss / size)
    if plan.rate == PA2:
        return -slope * loss / (size + 0.5 / plan.eta0)
    return -eta * min(max(slope, -STEEPEST), STEEPEST)


@njit(cache=True, nogil=True, inline="always")
def learn(data, at, low, high, label, weight, eta, t, plan, v, m, late, taken, own):  # noqa: ANN001, ANN201
    """One step of score m on one row."""
    z = own[m, SCALE] * dot(data, at, low, high, v, m) + own[m, OFFSET]
    loss, slope = loss_and_slope(plan.loss, plan.epsilon, z, label)
    own[m, LOSS] += weight * loss
    own[m, WEIGHT] += weight
    own[m, MISTAKES] += label * z <= 0.0
    size = square(data, low, high) if plan.rate >= PA1 else 0.0
    step = weight * step_for(plan, eta, size, loss, slope)
    if plan.shrink > 0.0:
        own[m, SCALE] *= max(0.0, 1.0 - eta * plan.shrink)
        if own[m, SCALE] < SMALLEST_SCALE:
            fold_scale(v, m, late, own)
    if step != 0.0 and own[m, PULL] == 0.0:
        add(data, at, low, high, step / own[m, SCALE], v, m)
    elif step != 0.0:
        add_and_remember(data, at, low, high, step / own[m, SCALE], v, m, late, own[m, PULL])
    own[m, OFFSET] += plan.offset * step
    if plan.cut > 0.0:
        own[m, OWED] += eta * plan.cut
        truncate(at, low, high, v, m, late, taken, own)
    if 0.0 < plan.average <= t:
        own[m, PULL] += own[m, SCALE]
        own[m, OFFSETS] += own[m, OFFSET]
        own[m, STEPS] += 1.0


@njit(cache=True, nogil=True)
def walk(data, at, start, order, y, w, targets, cost, live, scores, plan, t):  # noqa: ANN001, ANN201
    """Visit rows in order; each is one step of every live score. Returns the number of the next.

    Dense rows lie in `data` behind each other, and `at` and `start` are None; else the three are
    those of a CSR matrix. `y` and `w` come in the order of the visits. Score m learns whether y is
    targets[m], at cost[m, 0] if not and cost[m, 1] if so; it learns y itself without targets.
    """
    v, late, taken = scores.v, scores.late, scores.taken
    p = v.shape[1]
    in_line = 64 // data.itemsize
    lines = p // in_line
    own = scores.own.copy()  # threads that write side by side would wait for each other
    for i in range(len(order)):
        row = order[i]
        if at is None:
            low, high = row * p, row * p + p
            if i + AHEAD < len(order):  # nobody but us knows which row comes then
                soon = order[i + AHEAD] * p
                for line in range(lines):
                    prefetch(data, soon + line * in_line)
        else:
            low, high = start[row], start[row + 1]
        if plan.rate == PA1 and square(data, low, high) == 0.0:
            continue
        eta = rate_at(plan, t)
        for k in range(len(live)):
            m = live[k]
            label, weight = y[i], w[i]
            if len(targets):
                mine = label == targets[m]
                label, weight = 1.0 if mine else -1.0, weight * cost[m, int(mine)]
            rate = own[m, RATE] if plan.rate == ADAPTIVE else eta
            learn(data, at, low, high, label, weight, rate, t, plan, v, m, late, taken, own)
        t += 1.0
    for k in range(len(live)):
        for j in range(own.shape[1]):  # number by number: whole rows take a second to compile
            scores.own[live[k], j] = own[live[k], j]
    return t
