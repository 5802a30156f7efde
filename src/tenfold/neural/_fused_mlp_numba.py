"""Compiled forward pass, backward pass and optimizer step of dense networks.

All parameters lie in one vector theta, W_1, b_1, W_2, b_2, ...; `widths` are the numbers of a row
before each layer and after the last. Each step is two rounds of pieces that threads draw as tickets
(see `tenfold._compiled.work_counter`): gradients of parts of the batch, then steps of stretches of theta with
the sum of these gradients. Both rounds have as many pieces whoever draws them, so the bits do not
depend on the number of threads.

All arrays are flat, see `tenfold._compiled.gemm`. What a network does not need is not compiled:
labels or other targets are None, and what another rule would remember.
"""

# ruff: noqa: ANN001 - the compiler knows the types
from __future__ import annotations

import math

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS, matmul
from tenfold._compiled.work_counter import claim_item, finish_item, wait_for_items
from tenfold.neural._fused_optimizers import adam_step, momentum_step
from tenfold.neural.losses import softmax_cross_entropy

LINEAR, RELU, TANH, SIGMOID = range(4)
CROSS_ENTROPY, BINARY, SQUARED = range(3)
_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)
_NO_FLOOR = np.float32(-np.inf)


@njit(**INNER_OPTIONS)
def _gather_rows(X, order, first, n, p, room, at):
    """Rows of X in an order, from its place `first` on."""
    here, size = np.uint64(at), np.uint64(p)
    for i in range(first, first + n):
        there = np.uint64(order[i] * p)
        for j in range(size):
            room[here + j] = X[there + j]
        here += size


@njit(**INNER_OPTIONS)
def _add_bias_activation(z, at, n, q, theta, b, bend):
    """bend(z + b), in place."""
    here, constants, size = np.uint64(at), np.uint64(b), np.uint64(q)
    floor = _ZERO if bend == RELU else _NO_FLOOR
    half = _HALF if bend == SIGMOID else _ONE  # sigmoid(z) = tanh(z / 2) / 2 + 1 / 2
    for _ in range(n):
        if bend < TANH:
            for j in range(size):
                value = z[here + j] + theta[constants + j]
                z[here + j] = floor if value < floor else value  # noqa: FURB136  NaN stays NaN
        else:
            for j in range(size):
                value = half * (z[here + j] + theta[constants + j])
                z[here + j] = half * math.tanh(value) + (_ONE - half)
        here += size


@njit(**INNER_OPTIONS)
def _activation_backward(room, slope, a, n, q, bend, slopes, total):
    """The slope before bending, in place, and its sum over rows."""
    here, value, sums, size = np.uint64(slope), np.uint64(a), np.uint64(total), np.uint64(q)
    one = _ZERO if bend == SIGMOID else _ONE  # the slope is a - a^2, or 1 - a^2
    for j in range(size):
        slopes[sums + j] = _ZERO
    for _ in range(n):
        if bend == RELU:
            for j in range(size):
                room[here + j] = room[here + j] if room[value + j] > _ZERO else _ZERO
        elif bend != LINEAR:
            for j in range(size):
                bent = room[value + j]
                room[here + j] *= one + (_ONE - one) * bent - bent * bent
        for j in range(size):
            slopes[sums + j] += room[here + j]
        here, value = here + size, value + size


@njit(**INNER_OPTIONS)
def _elementwise_loss(room, z, y, first, n, k, loss, slope, each):
    """The loss of each row where targets are numbers, and its slope in z."""
    here, there, aim, size = np.uint64(z), np.uint64(slope), np.uint64(first * k), np.uint64(k)
    for i in range(n):
        total = _ZERO
        for j in range(size):
            score, wanted = room[here + j], y[aim + j]
            if loss == BINARY:
                far = math.exp(-abs(score))
                total += (max(_ZERO, score)) + math.log1p(far) - wanted * score
                room[there + j] = (_ONE if score > _ZERO else far) / (_ONE + far) - wanted
            else:
                total += _HALF * (score - wanted) * (score - wanted)
                room[there + j] = score - wanted
        room[each + i] = total
        here, there, aim = here + size, there + size, aim + size


@njit(**INNER_OPTIONS)
def _batch_loss(room, z, labels, y, w, first, n, k, loss, smoothing, slope, each):
    """The loss, summed over rows with their weights, and its slope in z."""
    if y is not None:
        _elementwise_loss(room, z, y, first, n, k, loss, slope, each)
    if labels is not None:
        softmax_cross_entropy(room, z, labels, first, n, k, smoothing, room, each, room, slope)
    total = 0.0
    for i in range(n):
        weight = w[first + i]
        total += weight * room[each + i]
        if weight != _ONE:
            for j in range(slope + i * k, slope + (i + 1) * k):
                room[j] *= weight
    return total


@njit(inline="always", **INNER_OPTIONS)
def _part_gradient(rows, first, n, theta, widths, how, places, smoothing, room, start, slopes, to):
    """Forward and back with some rows; their loss is returned, their gradient is in `slopes`.

    `how` names the loss and then the bend of each layer, `places` where its parameters begin in
    theta; in `room` is memory to work in.
    """
    X, order, labels, y, w = rows
    layers, a, lies, stands = len(places), start, n < 0, n > 0
    _gather_rows(X, order, first, n, widths[0], room, a)
    for layer in range(layers):
        p, q, at = widths[layer], widths[layer + 1], places[layer]
        z = a + n * p
        matmul(room, a, lies, theta, at, lies, room, z, n, p, q)
        _add_bias_activation(room, z, n, q, theta, at + p * q, how[layer + 1])
        a = z
    q = widths[layers]
    slope = a + n * q
    below = slope + n * q  # slopes have memory of their own
    total = _batch_loss(room, a, labels, y, w, first, n, q, how[0], smoothing, slope, below)
    for layer in range(layers - 1, -1, -1):
        p, q, at = widths[layer], widths[layer + 1], places[layer]
        _activation_backward(room, slope, a, n, q, how[layer + 1], slopes, to + at + p * q)
        a -= n * p
        matmul(room, a, stands, room, slope, lies, slopes, to + at, p, n, q)
        if layer > 0:
            matmul(room, slope, lies, theta, at, stands, room, below, n, q, p)
            slope, below = below, below + n * p
    return total


@njit(**INNER_OPTIONS)
def _update_span(theta, speed, mean, square, slopes, parts, span, widths, numbers, pulls):
    """Move a stretch of theta by the sum of some parts' slopes; constants are not penalised."""
    start, end, at, size = np.uint64(span[0]), np.uint64(span[1]), 0, len(theta)
    for part in range(1, parts):
        more = np.uint64(part * size)
        for i in range(start, end):
            slopes[i] += slopes[more + i]
    for number in range(2 * len(widths) - 2):
        layer, constants = number // 2, number % 2
        a, at = at, at + widths[layer + 1] * (1 if constants else widths[layer])
        mine = (max(span[0], a), min(span[1], at))
        if mine[0] >= mine[1]:
            continue
        if speed is not None:
            momentum_step(theta, slopes, speed, mine, pulls[constants], numbers)
        if mean is not None:
            adam_step(theta, slopes, mean, square, mine, pulls[constants], numbers)


@njit(**ENTRY_OPTIONS)
def train_batches(rows, theta, memory, settings, steps, ends, work):
    """Steps from batch to batch, as one of the threads that share them.

    Parameters
    ----------
    rows : X, the order of rows, and in that order labels or other targets, and weights
    theta, memory : parameters and what the rule remembers (a speed, or mean and square); changed
    settings : widths, how (loss, then bends), smoothing of targets
    steps : for each step constants of the rule, and scale, l2, l1 of slopes: weights, constants
    ends : (steps, parts + 1), where parts of each batch begin and end in the order
    work : room and slopes of all parts, losses (steps, parts), counters of tickets
    """
    widths, how, places, smoothing = settings
    speed, mean, square = memory
    numbers, pulls = steps
    room, slopes, losses, counts = work
    parts, size = losses.shape[1], len(theta)
    while True:
        ticket = claim_item(counts)
        step, piece = ticket // (2 * parts), ticket % (2 * parts)
        if step >= len(losses):
            return
        before = 2 * parts * step
        if piece < parts:
            wait_for_items(counts, before)
            first, n = ends[step, piece], ends[step, piece + 1] - ends[step, piece]
            start, to = piece * (len(room) // parts), piece * size
            if n > 0:
                losses[step, piece] = _part_gradient(
                    rows, first, n, theta, widths, how, places, smoothing, room, start, slopes, to
                )
        else:
            wait_for_items(counts, before + parts)
            piece -= parts
            span = (piece * size // parts, (piece + 1) * size // parts)
            used = 0
            while used < parts and ends[step, used] < ends[step, used + 1]:
                used += 1
            rate, pull = numbers[step], pulls[step]
            _update_span(theta, speed, mean, square, slopes, used, span, widths, rate, pull)
        finish_item(counts)
