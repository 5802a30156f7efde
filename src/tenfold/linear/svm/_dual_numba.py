"""One compiled sweep of dual coordinate descent over dense or sparse rows.

A row is a dense line or part of a CSR matrix; `_row_dot` and `_add_row` are chosen when the loop is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

INTERCEPT, SHRINK_HIGH, SHRINK_LOW, MAX_GRADIENT, MIN_GRADIENT, DUAL_VALUE, BALANCE = range(
    7
)  # what a sweep remembers of one score


def _row_dot(rows, i, w) -> float:  # noqa: ANN001
    """Product of row i with w."""
    raise NotImplementedError


def _add_row(rows, i, factor, w) -> None:  # noqa: ANN001
    """Add row i times a factor to w."""
    raise NotImplementedError


@overload(_row_dot)
def _overload_row_dot(rows, i, w) -> Any:  # noqa: ANN001, ARG001
    return _sparse_dot if len(rows) > 1 else _dense_dot


@overload(_add_row)
def _overload_add_row(rows, i, factor, w) -> Any:  # noqa: ANN001, ARG001
    return _sparse_add if len(rows) > 1 else _dense_add


def _dense_dot(rows, i, w):  # noqa: ANN001, ANN202
    x = rows[0][i]
    a = b = c = d = 0.0  # four sums: the processor adds them side by side
    j, end = 0, len(x)
    while j + 4 <= end:
        a += x[j] * w[j]
        b += x[j + 1] * w[j + 1]
        c += x[j + 2] * w[j + 2]
        d += x[j + 3] * w[j + 3]
        j += 4
    while j < end:
        a += x[j] * w[j]
        j += 1
    return (a + b) + (c + d)


def _sparse_dot(rows, i, w):  # noqa: ANN001, ANN202
    data, columns, starts = rows
    a = b = c = d = 0.0
    k, end = starts[i], starts[i + 1]
    while k + 4 <= end:
        a += data[k] * w[columns[k]]
        b += data[k + 1] * w[columns[k + 1]]
        c += data[k + 2] * w[columns[k + 2]]
        d += data[k + 3] * w[columns[k + 3]]
        k += 4
    while k < end:
        a += data[k] * w[columns[k]]
        k += 1
    return (a + b) + (c + d)


def _dense_add(rows, i, factor, w):  # noqa: ANN001, ANN202
    x = rows[0][i]
    for j in range(len(x)):
        w[j] += factor * x[j]


def _sparse_add(rows, i, factor, w):  # noqa: ANN001, ANN202
    data, columns, starts = rows
    for k in range(starts[i], starts[i + 1]):
        w[columns[k]] += factor * data[k]


@njit(cache=True, nogil=True)
def sweep(  # noqa: ANN202
    rows,  # noqa: ANN001  (X,) or (data, columns, starts)
    order,  # noqa: ANN001  positions in them
    numbers,  # noqa: ANN001  the same as global row numbers
    facts,  # noqa: ANN001  (n, 3) squared length, label, weight of each row
    label,  # noqa: ANN001  of the rows inside of the class
    cost,  # noqa: ANN001  (2,) outside, inside
    squared,  # noqa: ANN001
    constant,  # noqa: ANN001  squared size of the constant feature
    w,  # noqa: ANN001  (p,)
    alpha,  # noqa: ANN001  (n,)
    asleep,  # noqa: ANN001  (n,)
    memory,  # noqa: ANN001  (7,), see above
):
    """Take each multiplier to its own minimum; rows that stay at a bound are put to sleep."""
    b, high, low = memory[INTERCEPT], memory[SHRINK_HIGH], memory[SHRINK_LOW]
    top, bottom, gain = memory[MAX_GRADIENT], memory[MIN_GRADIENT], memory[DUAL_VALUE]
    for t in range(len(order)):
        i, r = order[t], numbers[t]
        if asleep[r]:
            continue
        own = facts[r, 1] == label
        c = facts[r, 2] * (cost[1] if own else cost[0])
        if c == 0.0:
            asleep[r] = True
            continue
        sign = 1.0 if own else -1.0
        most, bend = (np.inf, 0.5 / c) if squared else (c, 0.0)
        a = alpha[r]
        slope = sign * (_row_dot(rows, i, w) + b) - 1.0 + a * bend
        if (a == 0.0 and slope > high) or (a >= most and slope < low):
            asleep[r] = True
            continue
        projected = min(slope, 0.0) if a == 0.0 else max(slope, 0.0) if a >= most else slope
        top, bottom = max(top, projected), min(bottom, projected)
        if projected != 0.0:
            curvature = facts[r, 0] + constant + bend
            # an empty row has no curvature: its multiplier goes all the way
            new = min(max(a - slope / curvature, 0.0), most) if curvature > 0.0 else most
            step = new - a
            alpha[r] = new
            gain -= step * (slope + 0.5 * curvature * step)
            _add_row(rows, i, step * sign, w)
            b += step * sign * constant
    memory[INTERCEPT], memory[MAX_GRADIENT], memory[MIN_GRADIENT], memory[DUAL_VALUE] = (
        b,
        top,
        bottom,
        gain,
    )


@njit(cache=True, nogil=True)
def movement_products(x, last, step):  # noqa: ANN001, ANN202  -> (5,)
    """Products of the movements d = x - last and e = step: d x, e x, d d, d e, e e."""
    dx = ex = dd = de = ee = 0.0
    for j in range(len(x)):
        d, e = x[j] - last[j], step[j]
        dx += d * x[j]
        ex += e * x[j]
        dd += d * d
        de += d * e
        ee += e * e
    return np.array([dx, ex, dd, de, ee])


@njit(cache=True, nogil=True)
def max_feasible_step(alpha, last, step, share, most):  # noqa: ANN001, ANN202
    """The part of a movement, at most all of it, that keeps 0 <= alpha <= most."""
    part = 1.0
    for r in range(len(alpha)):
        move = share[0] * (alpha[r] - last[r]) + share[1] * step[r]
        if move > 0.0:
            part = min(part, (most[r] - alpha[r]) / move)
        elif move < 0.0:
            part = min(part, -alpha[r] / move)
    return part


@njit(cache=True, nogil=True)
def extrapolate_in_place(x, last, step, share):  # noqa: ANN001, ANN202
    """Move x within the plane; `last` becomes where it is now, `step` how it came there."""
    for j in range(len(x)):
        x[j] += share[0] * (x[j] - last[j]) + share[1] * step[j]
        step[j] = x[j] - last[j]
        last[j] = x[j]
