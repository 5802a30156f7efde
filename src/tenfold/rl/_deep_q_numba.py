"""Compiled deep Q-learning: forward passes, targets, gradient and optimizer, many steps a call.

Parameters lie in one vector, as in `tenfold.neural._fused_mlp_numba`, whose parts are used here.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tenfold._compiled.dot_product import LANES, dot_product
from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS
from tenfold._compiled.register_product import tiled_matmul
from tenfold.neural._fused_mlp_numba import activation_backward, add_bias_activation
from tenfold.neural._fused_optimizers import adam_step

_ZERO, _ONE = np.float32(0), np.float32(1)


@njit(**INNER_OPTIONS)
def _forward(X, rows, first, n, theta, network, workspace, at):
    """Outputs of n rows, X[rows[first:first + n]]; returns where they begin in the workspace."""
    widths, codes, offsets = network
    p, no = np.uint64(widths[0]), n < 0
    to = np.uint64(at)
    for i in range(first, first + n):
        row = np.uint64(rows[i]) * p
        for j in range(p):
            workspace[to + j] = X[row + j]
        to += p
    a = at
    for layer in range(len(offsets)):
        p, q, w = widths[layer], widths[layer + 1], offsets[layer]
        z = a + n * p
        tiled_matmul(workspace, a, no, theta, w, no, workspace, z, n, p, q)
        add_bias_activation(workspace, z, n, q, theta, w + p * q, codes[layer])
        a = z
    return a


@njit(**ENTRY_OPTIONS)
def forward_rows(X, rows, theta, network, workspace, out):
    """Values of actions of some rows, written to `out`."""
    n, k = len(rows), network[0][len(network[0]) - 1]
    at = _forward(X, rows, 0, n, theta, network, workspace, 0)
    for i in range(n * k):
        out[i] = workspace[at + i]


@njit(**INNER_OPTIONS)
def _best_action(workspace, at, k):
    best = 0
    for b in range(1, k):
        if workspace[at + b] > workspace[at + best]:
            best = b
    return best


@njit(**INNER_OPTIONS)
def _make_targets(replay, rows, first, n, thetas, network, workspace, options, targets):
    """R + discount * Q'(s', best action), without the second term where the episode terminated.

    The best action is that of the network that learns if `double`, otherwise that of the target.
    """
    _, _, rewards, after, ended = replay
    discount, double = options[0], options[1] > _ZERO
    k = network[0][len(network[0]) - 1]
    at = _forward(after, rows, first, n, thetas[1], network, workspace, 0)
    for i in range(n):
        targets[i] = workspace[at + i * k + _best_action(workspace, at + i * k, k)]
    if double:
        for i in range(n * k):
            targets[n + i] = workspace[at + i]
        at = _forward(after, rows, first, n, thetas[0], network, workspace, 0)
        for i in range(n):
            targets[i] = targets[n + i * k + _best_action(workspace, at + i * k, k)]
    for i in range(n):
        row = rows[first + i]
        worth = _ZERO if ended[row] else discount * targets[i]
        targets[i] = rewards[row] + worth


@njit(**INNER_OPTIONS)
def _backward(theta, network, workspace, a, dz, n, gradients):
    """Gradient in all parameters, from that in the outputs, which begins at dz."""
    widths, codes, offsets = network
    no, yes = n < 0, n > 0
    k = widths[len(widths) - 1]
    dx = dz + n * k
    for layer in range(len(offsets) - 1, -1, -1):
        p, q, w = widths[layer], widths[layer + 1], offsets[layer]
        activation_backward(workspace, dz, a, n, q, codes[layer], gradients, w + p * q)
        a -= n * p
        tiled_matmul(workspace, a, yes, workspace, dz, no, gradients, w, p, n, q)
        if layer > 0:
            tiled_matmul(workspace, dz, no, theta, w, yes, workspace, dx, n, q, p)
            dz, dx = dx, dx + n * p


@njit(**ENTRY_OPTIONS)
def train_steps(replay, rows, batch, thetas, moments, network, constants, options, work, losses):
    """Gradient steps on batches of moves.

    Parameters
    ----------
    replay : observations (flat), actions, rewards, next observations (flat), whether terminated
    rows : moves of all batches, one after the other
    batch : moves of a batch
    thetas : parameters of the network that learns, updated, and of the target
    moments : mean and square of Adam, updated
    network : widths, codes of activations, offsets of layers
    constants : of the optimizer, for each step
    options : discount, double, largest error of the squared loss (Huber), clip of the gradient norm
    work : workspace, gradients, targets, penalty
    losses : mean loss of each step, written
    """
    theta = thetas[0]
    workspace, gradients, targets, penalty = work
    k = network[0][len(network[0]) - 1]
    for step in range(len(losses)):
        first = step * batch
        _make_targets(replay, rows, first, batch, thetas, network, workspace, options, targets)
        a = _forward(replay[0], rows, first, batch, theta, network, workspace, 0)
        dz = a + batch * k
        total = 0.0
        for i in range(batch * k):
            workspace[dz + i] = _ZERO
        for i in range(batch):
            taken = replay[1][rows[first + i]]
            error = workspace[a + i * k + taken] - targets[i]
            size = abs(error)
            bound = min(size, options[2])
            total += bound * (size - np.float32(0.5) * bound)
            workspace[dz + i * k + taken] = bound if error > _ZERO else -bound
        losses[step] = total / batch
        _backward(theta, network, workspace, a, dz, batch, gradients)
        penalty[0] = _ONE / np.float32(batch)
        whole = len(gradients) // LANES * LANES
        square = dot_product(gradients, 0, gradients, 0, whole)
        for i in range(whole, len(gradients)):
            square += gradients[i] * gradients[i]
        norm = math.sqrt(square) / batch
        if norm > options[3]:
            penalty[0] *= options[3] / np.float32(norm)
        adam_step(
            theta, gradients, moments[0], moments[1], (0, len(theta)), penalty, constants[step]
        )
