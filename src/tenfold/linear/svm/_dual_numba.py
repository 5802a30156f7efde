"""One compiled sweep of dual coordinate descent over dense or sparse rows.

Rows are dense or those of a CSR matrix; `_row_dot` and `_add_row` are chosen when the loop is
compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

# numbers of one score: columns of DualState.scalars
INTERCEPT, SHRINK_HIGH, SHRINK_LOW, MAX_GRADIENT, MIN_GRADIENT, DUAL_VALUE, BALANCE = range(7)


def _row_dot(rows, i, w) -> float:
    """Product of row i with w."""
    raise NotImplementedError


def _add_row(rows, i, factor, w) -> None:
    """Add row i times a factor to w."""
    raise NotImplementedError


@overload(_row_dot)
def _overload_row_dot(rows, i, w) -> Any:  # noqa: ARG001
    return _sparse_dot if len(rows) > 1 else _dense_dot


@overload(_add_row)
def _overload_add_row(rows, i, factor, w) -> Any:  # noqa: ARG001
    return _sparse_add if len(rows) > 1 else _dense_add


def _dense_dot(rows, i, w):
    x = rows[0][i]
    a = b = c = d = 0.0  # four independent sums: the processor adds them in parallel
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


def _sparse_dot(rows, i, w):
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


def _dense_add(rows, i, factor, w):
    x = rows[0][i]
    for j in range(len(x)):
        w[j] += factor * x[j]


def _sparse_add(rows, i, factor, w):
    data, columns, starts = rows
    for k in range(starts[i], starts[i + 1]):
        w[columns[k]] += factor * data[k]


@njit(cache=True, nogil=True)
def sweep(
    rows,  # (X,) or (data, columns, starts)
    order,  # positions in them
    numbers,  # the same as global row numbers
    row_data,  # (n, 3) squared length, label, weight of each row
    label,  # of the rows inside of the class
    cost,  # (2,) outside, inside
    squared,
    constant,  # squared constant feature
    w,  # (p,)
    alpha,  # (n,)
    shrunk,  # (n,)
    scalars,  # (7,), see above
):
    """Minimize over each multiplier in turn; rows that stay at a bound are shrunk (skipped)."""
    b, high, low = scalars[INTERCEPT], scalars[SHRINK_HIGH], scalars[SHRINK_LOW]
    top, bottom, dual = scalars[MAX_GRADIENT], scalars[MIN_GRADIENT], scalars[DUAL_VALUE]
    for t in range(len(order)):
        i, r = order[t], numbers[t]
        if shrunk[r]:
            continue
        inside = row_data[r, 1] == label
        c = row_data[r, 2] * (cost[1] if inside else cost[0])
        if c == 0.0:
            shrunk[r] = True
            continue
        sign = 1.0 if inside else -1.0
        bound, regularization = (np.inf, 0.5 / c) if squared else (c, 0.0)
        a = alpha[r]
        gradient = sign * (_row_dot(rows, i, w) + b) - 1.0 + a * regularization
        if (a == 0.0 and gradient > high) or (a >= bound and gradient < low):
            shrunk[r] = True
            continue
        projected = (
            min(gradient, 0.0) if a == 0.0 else max(gradient, 0.0) if a >= bound else gradient
        )
        top, bottom = max(top, projected), min(bottom, projected)
        if projected != 0.0:
            curvature = row_data[r, 0] + constant + regularization
            # a row of zeros has no curvature: its multiplier goes to its bound
            new = min(max(a - gradient / curvature, 0.0), bound) if curvature > 0.0 else bound
            step = new - a
            alpha[r] = new
            dual -= step * (gradient + 0.5 * curvature * step)
            _add_row(rows, i, step * sign, w)
            b += step * sign * constant
    scalars[INTERCEPT], scalars[DUAL_VALUE] = b, dual
    scalars[MAX_GRADIENT], scalars[MIN_GRADIENT] = top, bottom


@njit(cache=True, nogil=True)
def sweep_joint_multipliers(
    rows,  # (X,) or (data, columns, starts)
    order,  # of the rows
    labels,  # (n,) class of each row
    cost,  # (n,) weight of each loss
    norms,  # (n,) squared length of each row, the constant feature included
    constant,  # constant feature
    W,  # (k, p) weights
    v,  # (k,) weights of the constant feature
    alpha,  # (n, k) multipliers
):
    """Minimize over the multipliers of all classes of each row in turn (Crammer and Singer)."""
    k = len(v)
    gradient, sorted_gradient = np.empty(k), np.empty(k)
    for i in order:
        curvature, label, c = norms[i], labels[i], cost[i]
        if curvature <= 0.0 or c <= 0.0:
            continue
        for m in range(k):
            score = _row_dot(rows, i, W[m]) + constant * v[m]
            gradient[m] = score + (0.0 if m == label else 1.0) - curvature * alpha[i, m]
            sorted_gradient[m] = gradient[m]
        sorted_gradient[label] += curvature * c
        sorted_gradient.sort()
        threshold, used = sorted_gradient[k - 1] - curvature * c, 1
        while used < k and threshold < used * sorted_gradient[k - 1 - used]:
            threshold += sorted_gradient[k - 1 - used]
            used += 1
        threshold /= used
        for m in range(k):
            new = min(c if m == label else 0.0, (threshold - gradient[m]) / curvature)
            step = new - alpha[i, m]
            if step != 0.0:
                alpha[i, m] = new
                _add_row(rows, i, step, W[m])
                v[m] += step * constant


@njit(cache=True, nogil=True)
def movement_products(x, last, step):
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
def max_feasible_step(alpha, last, step, share, bound):
    """The fraction of a movement, at most all of it, that keeps 0 <= alpha <= bound."""
    fraction = 1.0
    for r in range(len(alpha)):
        move = share[0] * (alpha[r] - last[r]) + share[1] * step[r]
        if move > 0.0:
            fraction = min(fraction, (bound[r] - alpha[r]) / move)
        elif move < 0.0:
            fraction = min(fraction, -alpha[r] / move)
    return fraction


@njit(cache=True, nogil=True)
def extrapolate_in_place(x, last, step, share):
    """Move x within the plane; `last` becomes the new x, `step` the movement to it."""
    for j in range(len(x)):
        x[j] += share[0] * (x[j] - last[j]) + share[1] * step[j]
        step[j] = x[j] - last[j]
        last[j] = x[j]
