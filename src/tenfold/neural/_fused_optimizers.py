"""Compiled in-place updates of the optimizers that networks use most.

`tenfold.optim.optimizers` defines the optimizers; its updates allocate new arrays, a dozen passes
over memory for Adam. Here every parameter is read and written once, and the scaling of the gradient
and the penalties are part of the same loop. `FUSED_OPTIMIZERS` lists the optimizers that have a
compiled form (tested against the definition); others use their own `update`. All operations are
elementwise, so threads may split the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS
from tenfold.optim.optimizers import SGD, Adam, Momentum, Nesterov

_NEGLIGIBLE = np.float32(1e-30)  # momentum below it is set to 0: subnormal numbers are slow
_ZERO, _ONE = np.float32(0), np.float32(1)


@njit(**ENTRY_OPTIONS)
def adam_step(theta, g, m, s, span, penalty, constants):  # noqa: ANN001, ANN202
    """`Adam` on theta[span[0]:span[1]]; `penalty` holds the scale of g, l2 and l1.

    Constants: beta1, 1 - beta1, beta2, 1 - beta2, rate / (1 - beta1^t), 1 / (1 - beta2^t), eps,
    1 - rate * decay.
    """
    scale, l2, l1 = penalty[0], penalty[1], penalty[2]
    beta1, rest1, beta2, rest2 = constants[0], constants[1], constants[2], constants[3]
    rate, bias, eps, shrink = constants[4], constants[5], constants[6], constants[7]
    for i in range(np.uint64(span[0]), np.uint64(span[1])):
        weight = theta[i]
        sign = _ONE if weight > _ZERO else (-_ONE if weight < _ZERO else _ZERO)
        gradient = scale * g[i] + l2 * weight + l1 * sign
        mean = beta1 * m[i] + rest1 * gradient
        square = beta2 * s[i] + rest2 * gradient * gradient
        mean = mean if abs(mean) > _NEGLIGIBLE else _ZERO
        m[i], s[i] = mean, square
        theta[i] = shrink * weight - rate * mean / (math.sqrt(square * bias) + eps)


@njit(**ENTRY_OPTIONS)
def momentum_step(theta, g, v, span, penalty, constants):  # noqa: ANN001, ANN202
    """`Momentum`, or `Nesterov` if its last constant is not 0, on theta[span[0]:span[1]].

    Constants: rate, momentum, momentum of the look-ahead.
    """
    scale, l2, l1 = penalty[0], penalty[1], penalty[2]
    rate, momentum, lookahead = constants[0], constants[1], constants[2]
    for i in range(np.uint64(span[0]), np.uint64(span[1])):
        weight = theta[i]
        sign = _ONE if weight > _ZERO else (-_ONE if weight < _ZERO else _ZERO)
        gradient = scale * g[i] + l2 * weight + l1 * sign
        velocity = momentum * v[i] + gradient
        velocity = velocity if abs(velocity) > _NEGLIGIBLE else _ZERO
        v[i] = velocity
        theta[i] = weight - rate * (velocity if lookahead == 0 else gradient + lookahead * velocity)


@njit(**ENTRY_OPTIONS)
def sgd_step(theta, g, penalty, constants):  # noqa: ANN001, ANN202
    """`SGD`; constants: rate."""
    scale, l2, l1, rate = penalty[0], penalty[1], penalty[2], constants[0]
    for i in range(len(theta)):
        gradient = scale * g[i] + l2 * theta[i] + l1 * np.sign(theta[i])
        theta[i] -= rate * gradient


def _adam_constants(optimizer: Adam, t: int, rate: float) -> tuple[float, ...]:
    first, second = 1 - optimizer.beta1**t, 1 - optimizer.beta2**t
    shrink = 1 - rate * optimizer.decay
    betas = (optimizer.beta1, 1 - optimizer.beta1, optimizer.beta2, 1 - optimizer.beta2)
    return *betas, rate / first, 1 / second, optimizer.eps, shrink


def _update_adam(theta: Any, g: Any, state: Any, penalty: Any, constants: Any) -> Any:
    m, s, t = state
    adam_step(theta, g, m.reshape(-1), s.reshape(-1), (0, theta.size), penalty, constants)
    return m, s, t + 1


def _update_momentum(theta: Any, g: Any, state: Any, penalty: Any, constants: Any) -> Any:
    momentum_step(theta, g, state.reshape(-1), (0, theta.size), penalty, constants)
    return state


def _update_sgd(theta: Any, g: Any, state: Any, penalty: Any, constants: Any) -> Any:
    sgd_step(theta, g, penalty, constants)
    return state


class FusedOptimizer(NamedTuple):
    """The compiled form of an optimizer.

    Attributes
    ----------
    constants : of (optimizer, t, rate), the numbers that step t = 1, 2, ... needs
    update : of (theta, gradient, state, penalty, constants), flat; returns the state
    """

    constants: Callable[[Any, int, float], tuple[float, ...]]
    update: Callable[[Any, Any, Any, Any, Any], Any]


FUSED_OPTIMIZERS: dict[type, FusedOptimizer] = {
    Adam: FusedOptimizer(_adam_constants, _update_adam),
    Momentum: FusedOptimizer(lambda o, _, rate: (rate, o.momentum, 0.0), _update_momentum),
    Nesterov: FusedOptimizer(lambda o, _, rate: (rate, o.momentum, o.momentum), _update_momentum),
    SGD: FusedOptimizer(lambda _, __, rate: (rate,), _update_sgd),
}


def step_constants(optimizer: Any, t: int, rate: float, dtype: Any) -> Any:
    """What the compiled form needs to know of step t; None for other optimizers."""
    fused = FUSED_OPTIMIZERS.get(type(optimizer))
    return None if fused is None else np.array(fused.constants(optimizer, t, rate), dtype)


def update_in_place(
    optimizer: Any, theta: np.ndarray, g: np.ndarray, state: Any, step: Any, penalty: Any
) -> Any:
    """Update `theta` in place; returns the state of the optimizer.

    `step` is (rate, `step_constants`); `penalty` holds scale, l2 and l1: the gradient is
    scale g + l2 theta + l1 sign(theta).
    """
    rate, constants = step
    if constants is None:
        gradient = penalty[0] * g + penalty[1] * theta + penalty[2] * np.sign(theta)
        theta[...], state = optimizer.update(theta, gradient, state, theta.dtype.type(rate))
        return state
    update = FUSED_OPTIMIZERS[type(optimizer)].update
    return update(theta.reshape(-1), g.reshape(-1), state, penalty, constants)
