"""Steps of dense networks, compiled as a whole: rows in, parameters moved.

All parameters lie in one vector theta, W_1, b_1, W_2, b_2, ...; `widths` are the numbers of a row
before each layer and after the last. Each step is two rounds of pieces that threads draw as tickets
(see `tenfold.rows.tickets`): gradients of parts of the batch, then steps of stretches of theta with
the sum of these gradients. Both rounds have as many pieces whoever draws them, so the bits do not
depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.neural.losses import cross_entropies
from tenfold.neural.updates import adam_step, momentum_step
from tenfold.rows.tickets import done, draw, wait

LINEAR, RELU, TANH, SIGMOID = range(4)
CROSS_ENTROPY, BINARY, SQUARED = range(3)
ADAM, MOMENTUM = range(2)
ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)
NO_FLOOR = np.float32(-np.inf)


@njit(cache=True, nogil=True)
def matrix(flat, at, n, q):  # noqa: ANN001, ANN201
    """(n, q) of the numbers from place `at` on."""
    return flat[at : at + n * q].reshape(n, q)


@njit(cache=True, nogil=True, error_model="numpy")
def add_and_bend(z, b, bend):  # noqa: ANN001, ANN201  (n, q), (q,)
    """bend(z + b), in place."""
    n, q = z.shape
    floor = ZERO if bend == RELU else NO_FLOOR
    half, shift = (HALF, HALF) if bend == SIGMOID else (ONE, ZERO)
    for i in range(n):
        if bend in (TANH, SIGMOID):  # sigmoid(z) = tanh(z / 2) / 2 + 1 / 2
            for j in range(q):
                z[i, j] = half * np.tanh(half * (z[i, j] + b[j])) + shift
        else:
            for j in range(q):
                value = z[i, j] + b[j]
                z[i, j] = floor if value < floor else value  # noqa: FURB136  NaN stays NaN


@njit(cache=True, nogil=True, error_model="numpy")
def unbend_and_sum(slope, a, bend, total):  # noqa: ANN001, ANN201  (n, q), (n, q), (q,)
    """The slope before bending, in place, and its sum over rows."""
    n, q = slope.shape
    total[:] = ZERO
    one, linear = (ZERO, ONE) if bend == SIGMOID else (ONE, ZERO)  # a - a^2, or 1 - a^2
    for i in range(n):
        if bend in (TANH, SIGMOID):
            for j in range(q):
                slope[i, j] *= one + linear * a[i, j] - a[i, j] * a[i, j]
        elif bend == RELU:
            for j in range(q):
                slope[i, j] = slope[i, j] if a[i, j] > ZERO else ZERO
        for j in range(q):
            total[j] += slope[i, j]


@njit(cache=True, nogil=True, error_model="numpy")
def judged(z, y, w, loss, smoothing, slope, each):  # noqa: ANN001, ANN201  (n, k), (n, q), (n,)
    """The loss, summed over rows with their weights, and its slope in z."""
    n, k = z.shape
    total = 0.0
    if loss == CROSS_ENTROPY:
        cross_entropies(z, y[:, 0], smoothing, each, slope)
    for i in range(n):
        if loss != CROSS_ENTROPY:
            each[i] = ZERO
        if loss == BINARY:
            for j in range(k):
                far = np.exp(-abs(z[i, j]))
                each[i] += max(z[i, j], ZERO) + np.log1p(far) - y[i, j] * z[i, j]
                slope[i, j] = (ONE if z[i, j] > ZERO else far) / (ONE + far) - y[i, j]
        elif loss == SQUARED:
            for j in range(k):
                slope[i, j] = z[i, j] - y[i, j]
                each[i] += HALF * slope[i, j] * slope[i, j]
        total += w[i] * each[i]
        if w[i] != ONE:
            for j in range(k):
                slope[i, j] *= w[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def part_gradient(X, order, y, w, theta, widths, how, smoothing, room, slopes):  # noqa: ANN001, ANN201
    """Forward and back with some rows; their loss is returned, their gradient is in `slopes`.

    `how` names the loss and then the bend of each layer; `room` is memory to work in.
    """
    n, p, layers = len(order), widths[0], len(widths) - 1
    used, at = n * p, 0
    x = matrix(room, at, n, p)
    for i in range(n):
        row = X[order[i]]
        for j in range(p):
            x[i, j] = row[j]
    a = x
    for layer in range(layers):
        p, q = widths[layer], widths[layer + 1]
        z = matrix(room, used, n, q)
        np.dot(a, matrix(theta, at, p, q), z)
        add_and_bend(z, theta[at + p * q : at + (p + 1) * q], how[layer + 1])
        a, used, at = z, used + n * q, at + (p + 1) * q
    slope = matrix(room, used, n, widths[layers])
    below = used + a.size  # slopes have memory of their own
    total = judged(a, y, w, how[0], smoothing, slope, room[below : below + n])
    used -= a.size
    for layer in range(layers - 1, -1, -1):
        p, q = widths[layer], widths[layer + 1]
        at -= (p + 1) * q
        a = matrix(room, used, n, q)
        unbend_and_sum(slope, a, how[layer + 1], slopes[at + p * q : at + (p + 1) * q])
        used -= n * p
        a = matrix(room, used, n, p)
        np.dot(a.T, slope, matrix(slopes, at, p, q))
        if layer > 0:
            down = matrix(room, below, n, p)
            np.dot(slope, matrix(theta, at, p, q).T, down)
            slope, below = down, below + n * p
    return total


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def moved(theta, memory, slopes, parts, span, widths, rule, numbers, pulls):  # noqa: ANN001, ANN201
    """Move a stretch of theta by the sum of some parts' slopes; constants are not penalised."""
    g, end = slopes[0], 0
    for part in range(1, parts):
        for i in range(span[0], span[1]):
            g[i] += slopes[part, i]
    for number in range(2 * len(widths) - 2):
        layer, constants = number // 2, number % 2
        size = widths[layer + 1] * (1 if constants else widths[layer])
        start, end = end, end + size
        a, b, by = max(start, span[0]), min(end, span[1]), pulls[constants]
        if a >= b:
            continue
        if rule == ADAM:
            adam_step(theta[a:b], g[a:b], memory[0, a:b], memory[1, a:b], by, numbers)
        else:
            momentum_step(theta[a:b], g[a:b], memory[0, a:b], by, numbers)


@njit(cache=True, nogil=True, error_model="numpy")
def walk(rows, theta, memory, settings, steps, ends, work):  # noqa: ANN001, ANN201
    """Steps from batch to batch, as one of the threads that share them.

    Parameters
    ----------
    rows : X, the order of rows, and targets and weights in that order
    theta, memory : parameters and what the rule remembers, (2, size); changed in place
    settings : widths, how (loss, then bends), smoothing of targets, rule
    steps : for each step constants of the rule, and scale, l2, l1 of slopes: weights, constants
    ends : (steps, parts + 1), where parts of each batch begin and end in the order
    work : room and slopes of each part, losses (steps, parts), counters of tickets
    """
    X, order, y, w = rows
    widths, how, smoothing, rule = settings
    numbers, pulls = steps
    room, slopes, losses, counts = work
    parts, size = losses.shape[1], len(theta)
    while True:
        step, piece = divmod(draw(counts), 2 * parts)
        if step >= len(losses):
            return
        before = 2 * parts * step
        if piece < parts:
            wait(counts, before)
            a, b = ends[step, piece], ends[step, piece + 1]
            if a < b:
                losses[step, piece] = part_gradient(
                    X, order[a:b], y[a:b], w[a:b], theta, widths, how, smoothing,
                    room[piece], slopes[piece],
                )  # fmt: skip
        else:
            wait(counts, before + parts)
            piece -= parts
            span = (piece * size // parts, (piece + 1) * size // parts)
            used = 0
            while used < parts and ends[step, used] < ends[step, used + 1]:
                used += 1
            moved(theta, memory, slopes, used, span, widths, rule, numbers[step], pulls[step])
        done(counts)
