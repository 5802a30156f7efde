"""Compiled stochastic gradient descent: one update per row, dense or sparse, without the GIL.

The weights of a score are stored as w = scale * v, so that the L2 penalty shrinks all of them by
one product (Bottou, 2012). The sum of all w so far is stored as average_offset + average_factor *
v, so that averaging, too, touches only the columns of the row. The L1 penalty is cumulative: a
weight pays what it owes when its column occurs in a row (Tsuruoka et al., 2009).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.prefetch import prefetch
from tenfold.linear._losses_numba import loss_and_derivative
from tenfold.linear._thresholds import PREFETCH_ROWS

LEARNING_RATES = ("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2")
_CONSTANT, _OPTIMAL, _INVSCALING, ADAPTIVE, PA1, _PA2 = range(6)
# columns of SGDState.scalars
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
_MAX_DERIVATIVE = 1e12  # larger derivatives of a loss are clipped
_CACHE_LINE_BYTES = 64


class SGDState(NamedTuple):
    """m linear scores while they are learned.

    Attributes
    ----------
    v : (m, p) weights without their scale
    average_offset : (m, p) sum of all weights so far, less average_factor * v; (m, 0) if unused
    l1_paid : (m, p) L1 penalty that each weight has paid; (m, 0) if unused
    scalars : (m, 10) numbers of each score: the columns named above
    """

    v: np.ndarray
    average_offset: np.ndarray
    l1_paid: np.ndarray
    scalars: np.ndarray


class SGDSettings(NamedTuple):
    """What stays the same from row to row."""

    loss: int  # code of the loss
    epsilon: float
    schedule: int  # code of the learning rate
    eta0: float
    power: float
    alpha: float
    t0: float  # steps that "optimal" counts as done before the first
    l2: float  # strength of the L2 penalty
    l1: float  # strength of the L1 penalty
    average_from: float  # step from which on weights are averaged; 0 for never
    intercept_factor: float  # step size of the intercept, relative to that of the weights


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _row_dot(data, columns, low, high, v):
    """Product of the row data[low:high] with v; `columns` is None for dense rows."""
    total = v.dtype.type(0)
    if columns is None:
        x = data[low:high]  # a slice spares the loop a check for negative indices
        for j in range(len(x)):
            total += x[j] * v[j]
    else:
        for k in range(low, high):
            total += data[k] * v[columns[k]]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _squared_norm(data, low, high):
    """Squared length of a row."""
    total = data.dtype.type(0)
    for z in data[low:high]:
        total += z * z
    return np.float64(total)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_row(data, columns, low, high, factor, v):
    """Add a multiple of the row to v."""
    c = v.dtype.type(factor)
    if columns is None:
        x = data[low:high]
        for j in range(len(x)):
            v[j] += c * x[j]
    else:
        for k in range(low, high):
            v[columns[k]] += c * data[k]


@njit(cache=True, nogil=True)
def _add_row_averaged(data, columns, low, high, factor, v, average_offset, average_factor):
    """Add a multiple of the row to v; average_offset + average_factor * v stays the same."""
    if average_offset is None:
        return
    c = v.dtype.type(factor)
    for k in range(low, high):
        j = k - low if columns is None else columns[k]
        old = v[j]
        v[j] = old + c * data[k]
        average_offset[j] -= average_factor * (v[j] - old)


@njit(cache=True, nogil=True)
def _apply_cumulative_l1(columns, low, high, v, average_offset, l1_paid, scalars):
    """Shrink the weights of a row's columns by the L1 penalty they owe, but never past zero."""
    if l1_paid is None:
        return
    scale, factor, owed = scalars[SCALE], scalars[AVERAGE_FACTOR], scalars[_CUMULATIVE_L1]
    for k in range(low, high):
        j = k - low if columns is None else columns[k]
        old = v[j]
        if old > 0.0:
            v[j] = max(0.0, old - (owed + l1_paid[j]) / scale)
        elif old < 0.0:
            v[j] = min(0.0, old + (owed - l1_paid[j]) / scale)
        l1_paid[j] += scale * (v[j] - old)
        if average_offset is not None:
            average_offset[j] -= factor * (v[j] - old)


@njit(cache=True, nogil=True)
def _fold_scale(v, average_offset, scalars):
    """Multiply the scale into v before it becomes too small."""
    if average_offset is not None:
        for j in range(len(average_offset)):
            average_offset[j] += scalars[AVERAGE_FACTOR] * v[j]
    for j in range(len(v)):
        v[j] *= scalars[SCALE]
    scalars[SCALE], scalars[AVERAGE_FACTOR] = 1.0, 0.0


@njit(cache=True, nogil=True)
def _learning_rate(settings, t):
    """Learning rate of step t where it depends on t alone."""
    if settings.schedule == _OPTIMAL:
        return 1.0 / (settings.alpha * (settings.t0 + t - 1.0))
    if settings.schedule == _INVSCALING:
        return settings.eta0 / (np.sqrt(t) if settings.power == 0.5 else t**settings.power)
    return settings.eta0


@njit(cache=True, nogil=True)
def _row_multiple(settings, eta, squared_norm, loss, derivative):
    """Multiple of the row that is added to the weights."""
    if settings.schedule == PA1:
        return -derivative * min(settings.eta0, loss / squared_norm)
    if settings.schedule == _PA2:
        return -derivative * loss / (squared_norm + 0.5 / settings.eta0)
    return -eta * min(max(derivative, -_MAX_DERIVATIVE), _MAX_DERIVATIVE)


@njit(cache=True, nogil=True, inline="always")
def _update_score(
    data, columns, low, high, label, weight, eta, t, settings, v, average_offset, l1_paid, scalars
):
    """One step of a score on one row."""
    z = scalars[SCALE] * _row_dot(data, columns, low, high, v) + scalars[INTERCEPT]
    loss, derivative = loss_and_derivative(settings.loss, settings.epsilon, z, label)
    scalars[LOSS_SUM] += weight * loss
    scalars[WEIGHT_SUM] += weight
    scalars[MISTAKES] += weight > 0.0 and label * z <= 0.0
    squared_norm = _squared_norm(data, low, high) if settings.schedule >= PA1 else 0.0
    step = weight * _row_multiple(settings, eta, squared_norm, loss, derivative)
    if settings.l2 > 0.0:
        scalars[SCALE] *= max(0.0, 1.0 - eta * settings.l2)
        if scalars[SCALE] < _MIN_SCALE:
            _fold_scale(v, average_offset, scalars)
    factor = scalars[AVERAGE_FACTOR]
    if step != 0.0 and factor == 0.0:
        _add_row(data, columns, low, high, step / scalars[SCALE], v)
    elif step != 0.0:
        scaled = step / scalars[SCALE]
        _add_row_averaged(data, columns, low, high, scaled, v, average_offset, factor)
    scalars[INTERCEPT] += settings.intercept_factor * step
    if settings.l1 > 0.0:
        scalars[_CUMULATIVE_L1] += eta * settings.l1
        _apply_cumulative_l1(columns, low, high, v, average_offset, l1_paid, scalars)
    if 0.0 < settings.average_from <= t:
        scalars[AVERAGE_FACTOR] += scalars[SCALE]
        scalars[INTERCEPT_SUM] += scalars[INTERCEPT]
        scalars[AVERAGED_STEPS] += 1.0


@njit(cache=True, nogil=True)
def run_sgd_steps(
    data,
    columns,
    starts,
    order,
    y,
    w,
    targets,
    cost,
    active,
    v,
    average_offset,
    l1_paid,
    scalars,
    settings,
    t,
):
    """Visit rows in order; each is one step of every active score. Returns the next step's number.

    Dense rows stand one after another in `data`, and `columns` and `starts` are None; else the
    three are those of a CSR matrix. `y` and `w` are in the order of the visits. Score m learns
    whether y is targets[m], at cost[m, 0] if not and cost[m, 1] if so; without targets it learns y
    itself. Arrays of `SGDState` that are not used may be None: less is compiled then.
    """
    p = v.shape[1]
    in_line = _CACHE_LINE_BYTES // data.itemsize
    lines = p // in_line
    local = scalars.copy()  # threads that write to one cache line would wait for each other
    for i in range(len(order)):
        row = order[i]
        if columns is None:
            low, high = row * p, row * p + p
            if i + PREFETCH_ROWS < len(order):  # the processor cannot predict a random order
                later = order[i + PREFETCH_ROWS] * p
                for line in range(lines):
                    prefetch(data, later + line * in_line)
        else:
            low, high = starts[row], starts[row + 1]
        if settings.schedule == PA1 and _squared_norm(data, low, high) == 0.0:
            continue
        eta = _learning_rate(settings, t)
        for k in range(len(active)):
            m = active[k]
            label, weight = y[i], w[i]
            if len(targets):
                positive = label == targets[m]
                label, weight = 1.0 if positive else -1.0, weight * cost[m, int(positive)]
            rate = local[m, STEP_SIZE] if settings.schedule == ADAPTIVE else eta
            offset = None if average_offset is None else average_offset[m]
            paid = None if l1_paid is None else l1_paid[m]
            _update_score(
                data, columns, low, high, label, weight, rate, t, settings,
                v[m], offset, paid, local[m],
            )  # fmt: skip
        t += 1.0
    for k in range(len(active)):
        for j in range(scalars.shape[1]):  # entry by entry: assigning rows compiles a second longer
            scalars[active[k], j] = local[active[k], j]
    return t
