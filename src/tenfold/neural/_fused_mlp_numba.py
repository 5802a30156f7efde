"""Compiled forward pass, backward pass and optimizer step of dense networks.

All parameters lie in one vector theta: W_1, b_1, W_2, b_2, ...; `widths` holds the number of values
of a row before the first and after each layer. A step has two rounds of work items that threads
claim from a counter (`tenfold._compiled.work_counter`): gradients of the parts of the batch, then
updates of slices of theta with the sum of these gradients. The number of items does not depend on
the number of threads, and neither do the bits.

Arrays are flat, and every block of them is given by the offset where it begins (`*_at`), see
`tenfold._compiled.gemm`. Labels, other targets, dropout and the state of an optimizer that a
network does not need are None; the branches for them are not compiled.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS
from tenfold._compiled.register_product import tiled_matmul
from tenfold._compiled.work_counter import claim_item, finish_item, wait_for_items
from tenfold.neural._fused_optimizers import adam_step, momentum_step
from tenfold.neural.layers.dropout import drop_values
from tenfold.neural.losses import softmax_cross_entropy

LINEAR, RELU, TANH, SIGMOID = range(4)
CROSS_ENTROPY, BINARY, SQUARED = range(3)
_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)
_NO_FLOOR = np.float32(-np.inf)


@njit(**INNER_OPTIONS)
def _gather_rows(X, order, first, n, p, workspace, at):
    """Copy rows order[first:first + n] of X to the workspace."""
    to, size = np.uint64(at), np.uint64(p)
    for i in range(first, first + n):
        row = np.uint64(order[i] * p)
        for j in range(size):
            workspace[to + j] = X[row + j]
        to += size


@njit(**INNER_OPTIONS)
def add_bias_activation(z, z_at, n, q, theta, b_at, activation):
    """activation(z + b), in place."""
    row, bias, size = np.uint64(z_at), np.uint64(b_at), np.uint64(q)
    floor = _ZERO if activation == RELU else _NO_FLOOR
    half = _HALF if activation == SIGMOID else _ONE  # sigmoid(z) = tanh(z / 2) / 2 + 1 / 2
    for _ in range(n):
        if activation < TANH:
            for j in range(size):
                value = z[row + j] + theta[bias + j]
                z[row + j] = floor if value < floor else value  # noqa: FURB136  NaN stays NaN
        else:
            for j in range(size):
                value = half * (z[row + j] + theta[bias + j])
                z[row + j] = half * math.tanh(value) + (_ONE - half)
        row += size


@njit(**INNER_OPTIONS)
def activation_backward(workspace, dz_at, a_at, n, q, activation, gradients, db_at):
    """Gradient before the activation, in place, and its sum over rows (that of the bias)."""
    dz, a, db, size = np.uint64(dz_at), np.uint64(a_at), np.uint64(db_at), np.uint64(q)
    one = _ZERO if activation == SIGMOID else _ONE  # the derivative is a - a^2, or 1 - a^2
    for j in range(size):
        gradients[db + j] = _ZERO
    for _ in range(n):
        if activation == RELU:
            for j in range(size):
                workspace[dz + j] = workspace[dz + j] if workspace[a + j] > _ZERO else _ZERO
        elif activation != LINEAR:
            for j in range(size):
                value = workspace[a + j]
                workspace[dz + j] *= one + (_ONE - one) * value - value * value
        for j in range(size):
            gradients[db + j] += workspace[dz + j]
        dz, a = dz + size, a + size


@njit(**INNER_OPTIONS)
def _elementwise_loss(workspace, z_at, y, first, n, k, loss, dz_at, loss_at):
    """Binary cross-entropy or squared error of each row, and its gradient in z."""
    z, dz, target, size = np.uint64(z_at), np.uint64(dz_at), np.uint64(first * k), np.uint64(k)
    for i in range(n):
        total = _ZERO
        for j in range(size):
            score, expected = workspace[z + j], y[target + j]
            if loss == BINARY:
                decay = math.exp(-abs(score))
                total += (max(_ZERO, score)) + math.log1p(decay) - expected * score
                workspace[dz + j] = (_ONE if score > _ZERO else decay) / (_ONE + decay) - expected
            else:
                total += _HALF * (score - expected) * (score - expected)
                workspace[dz + j] = score - expected
        workspace[loss_at + i] = total
        z, dz, target = z + size, dz + size, target + size


@njit(**INNER_OPTIONS)
def _batch_loss(workspace, z_at, labels, y, w, first, n, k, loss, smoothing, dz_at, loss_at):
    """The weighted sum of the loss over rows, and its gradient in z."""
    if y is not None:
        _elementwise_loss(workspace, z_at, y, first, n, k, loss, dz_at, loss_at)
    if labels is not None:
        softmax_cross_entropy(
            workspace, z_at, labels, first, n, k, smoothing, workspace, loss_at, workspace, dz_at
        )
    total = 0.0
    for i in range(n):
        weight = w[first + i]
        total += weight * workspace[loss_at + i]
        if weight != _ONE:
            for j in range(dz_at + i * k, dz_at + (i + 1) * k):
                workspace[j] *= weight
    return total


@njit(**INNER_OPTIONS)
def _drop_inputs(workspace, at, n, p, dropout, layer, seed, first_row, out_at):
    """Drop inputs of a layer, or gradients in them; True if the layer has dropout at all."""
    if dropout is None or dropout[layer, 0] == 0:
        return False
    rate, number = dropout[layer, 0], np.int64(dropout[layer, 1])
    drop_values(workspace, at, n, p, rate, seed + number, first_row, workspace, out_at)
    return True


@njit(inline="always", **INNER_OPTIONS)
def _part_gradient(
    rows, first, n, theta, settings, random, workspace, start, gradients, to
):  # fmt: skip
    """Forward and backward pass of n rows: returns their loss, writes their gradient from `to` on.

    `settings` are those of `train_batches`, `random` the seed of the step and the place of the
    first row in its batch; the workspace of this part begins at `start`.
    """
    X, order, labels, y, w = rows
    widths, codes, offsets, smoothing, dropout = settings
    seed, first_row = random
    layers, a, plain, transposed = len(offsets), start, n < 0, n > 0
    _gather_rows(X, order, first, n, widths[0], workspace, a)
    for layer in range(layers):
        p, q, at = widths[layer], widths[layer + 1], offsets[layer]
        if _drop_inputs(workspace, a, n, p, dropout, layer, seed, first_row, a + n * p):
            a += n * p
        z = a + n * p
        tiled_matmul(workspace, a, plain, theta, at, plain, workspace, z, n, p, q)
        add_bias_activation(workspace, z, n, q, theta, at + p * q, codes[layer + 1])
        a = z
    q = widths[layers]
    dz = a + n * q
    dx = dz + n * q  # gradients do not overwrite activations
    total = _batch_loss(workspace, a, labels, y, w, first, n, q, codes[0], smoothing, dz, dx)
    for layer in range(layers - 1, -1, -1):
        p, q, at = widths[layer], widths[layer + 1], offsets[layer]
        activation_backward(workspace, dz, a, n, q, codes[layer + 1], gradients, to + at + p * q)
        a -= n * p
        tiled_matmul(workspace, a, transposed, workspace, dz, plain, gradients, to + at, p, n, q)
        if layer > 0:
            tiled_matmul(workspace, dz, plain, theta, at, transposed, workspace, dx, n, q, p)
            if _drop_inputs(workspace, dx, n, p, dropout, layer, seed, first_row, dx):
                a -= n * p  # the values before dropout
            dz, dx = dx, dx + n * p
    return total


@njit(**INNER_OPTIONS)
def _update_span(
    theta, velocity, mean, square, gradients, parts, span, widths, constants, penalties
):  # fmt: skip
    """Update theta[span[0]:span[1]] by the summed gradients of the parts."""
    start, end, at, size = np.uint64(span[0]), np.uint64(span[1]), 0, len(theta)
    for part in range(1, parts):
        offset = np.uint64(part * size)
        for i in range(start, end):
            gradients[i] += gradients[offset + i]
    for number in range(2 * len(widths) - 2):
        layer, is_bias = number // 2, number % 2
        a, at = at, at + widths[layer + 1] * (1 if is_bias else widths[layer])
        overlap = (max(span[0], a), min(span[1], at))
        if overlap[0] >= overlap[1]:
            continue
        if velocity is not None:
            momentum_step(theta, gradients, velocity, overlap, penalties[is_bias], constants)
        if mean is not None:
            adam_step(theta, gradients, mean, square, overlap, penalties[is_bias], constants)


@njit(**ENTRY_OPTIONS)
def train_batches(rows, theta, optimizer_state, settings, steps, bounds, work):
    """Steps over many minibatches, run by every thread that takes part.

    Parameters
    ----------
    rows : X, the order of its rows, and in that order labels or other targets, and weights
    theta : parameters; updated
    optimizer_state : velocity, mean and square of gradients, those not needed None; updated
    settings : widths, codes (loss, then activations), offsets of layers in theta, label smoothing,
        for each layer the rate of the dropout before it and the number that it adds to the seed
    steps : for each step the constants of the optimizer, (scale, l2, l1) of weights and biases, and
        the seed
    bounds : (n_steps, n_parts + 1) bounds of the parts of each batch in the order
    work : workspace and gradients of all parts, losses (n_steps, n_parts), work counters
    """
    velocity, mean, square = optimizer_state
    constants, penalties, seeds = steps
    workspace, gradients, losses, counters = work
    parts, size = losses.shape[1], len(theta)
    while True:
        item = claim_item(counters)
        step, piece = item // (2 * parts), item % (2 * parts)
        if step >= len(losses):
            return
        before = 2 * parts * step
        if piece < parts:
            wait_for_items(counters, before)
            first, n = bounds[step, piece], bounds[step, piece + 1] - bounds[step, piece]
            start, to = piece * (len(workspace) // parts), piece * size
            if n > 0:
                random = (seeds[step], first - bounds[step, 0])
                losses[step, piece] = _part_gradient(
                    rows, first, n, theta, settings, random, workspace, start, gradients, to
                )
        else:
            wait_for_items(counters, before + parts)
            piece -= parts
            span = (piece * size // parts, (piece + 1) * size // parts)
            used = 0
            while used < parts and bounds[step, used] < bounds[step, used + 1]:
                used += 1
            _update_span(
                theta, velocity, mean, square, gradients, used, span, settings[0],
                constants[step], penalties[step],
            )  # fmt: skip
        finish_item(counters)
