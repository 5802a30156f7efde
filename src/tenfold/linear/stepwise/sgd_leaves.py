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
def dot(data, at, low, high, v):  # noqa: ANN001, ANN201
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
def square(data, low, high):  # noqa: ANN001, ANN201
    """Squared length of a row."""
    total = data.dtype.type(0)
    for z in data[low:high]:
        total += z * z
    return np.float64(total)


@njit(cache=True, nogil=True, fastmath={"contract"})
def add(data, at, low, high, factor, v):  # noqa: ANN001, ANN201
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
def add_and_remember(data, at, low, high, factor, v, late, pull):  # noqa: ANN001, ANN201
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
def truncate(at, low, high, v, late, taken, own):  # noqa: ANN001, ANN201
    """Let the weights of a row's columns pay the L1 penalty they owe, but never past zero."""
    if taken is None:
        return
    scale, pull, owed = own[SCALE], own[PULL], own[OWED]
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
def fold_scale(v, late, own):  # noqa: ANN001, ANN201
    """Multiply the scale into v before it gets too small."""
    if late is not None:
        for j in range(len(late)):
            late[j] += own[PULL] * v[j]
    for j in range(len(v)):
        v[j] *= own[SCALE]
    own[SCALE], own[PULL] = 1.0, 0.0


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
def learn(data, at, low, high, label, weight, eta, t, plan, v, late, taken, own):  # noqa: ANN001, ANN201
    """One step of a score on one row."""
    z = own[SCALE] * dot(data, at, low, high, v) + own[OFFSET]
    loss, slope = loss_and_slope(plan.loss, plan.epsilon, z, label)
    own[LOSS] += weight * loss
    own[WEIGHT] += weight
    own[MISTAKES] += label * z <= 0.0
    size = square(data, low, high) if plan.rate >= PA1 else 0.0
    step = weight * step_for(plan, eta, size, loss, slope)
    if plan.shrink > 0.0:
        own[SCALE] *= max(0.0, 1.0 - eta * plan.shrink)
        if own[SCALE] < SMALLEST_SCALE:
            fold_scale(v, late, own)
    if step != 0.0 and own[PULL] == 0.0:
        add(data, at, low, high, step / own[SCALE], v)
    elif step != 0.0:
        add_and_remember(data, at, low, high, step / own[SCALE], v, late, own[PULL])
    own[OFFSET] += plan.offset * step
    if plan.cut > 0.0:
        own[OWED] += eta * plan.cut
        truncate(at, low, high, v, late, taken, own)
    if 0.0 < plan.average <= t:
        own[PULL] += own[SCALE]
        own[OFFSETS] += own[OFFSET]
        own[STEPS] += 1.0


@njit(cache=True, nogil=True)
def walk(data, at, start, order, y, w, targets, cost, live, v, late, taken, own, plan, t):  # noqa: ANN001, ANN201
    """Visit rows in order; each is one step of every live score. Returns the number of the next.

    Dense rows lie in `data` behind each other, and `at` and `start` are None; else the three are
    those of a CSR matrix. `y` and `w` come in the order of the visits. Score m learns whether y is
    targets[m], at cost[m, 0] if not and cost[m, 1] if so; it learns y itself without targets. What
    belongs to `Scores` may be None if it is not used: less is compiled then.
    """
    p = v.shape[1]
    in_line = 64 // data.itemsize
    lines = p // in_line
    mine = own.copy()  # threads that write side by side would wait for each other
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
                sought = label == targets[m]
                label, weight = 1.0 if sought else -1.0, weight * cost[m, int(sought)]
            rate = mine[m, RATE] if plan.rate == ADAPTIVE else eta
            sums = None if late is None else late[m]
            paid = None if taken is None else taken[m]
            learn(data, at, low, high, label, weight, rate, t, plan, v[m], sums, paid, mine[m])
        t += 1.0
    for k in range(len(live)):
        for j in range(own.shape[1]):  # number by number: whole rows take a second to compile
            own[live[k], j] = mine[live[k], j]
    return t
