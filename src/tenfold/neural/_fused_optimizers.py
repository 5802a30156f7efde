"""Compiled in-place steps of the optimizers that networks use most.

A rule of that module makes new arrays, a dozen passes over memory for Adam. Here each number is
read and written once, and the merged gradient is divided and the penalty added on the way. Other
rules take their own `move`. All work number by number, so threads may share out the numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS
from tenfold.optim.optimizers import SGD, Adam, Momentum, Nesterov

_NEGLIGIBLE = np.float32(1e-30)  # a momentum so small moves no weight
_ZERO, _ONE = np.float32(0), np.float32(1)


@njit(**ENTRY_OPTIONS)
def adam_step(theta, g, m, s, span, pull, numbers):  # noqa: ANN001, ANN202
    """`Adam`; numbers: beta1, 1 - beta1, beta2, 1 - beta2, rate', 1 / (1 - beta2^t), eps, keep."""
    scale, l2, l1 = pull[0], pull[1], pull[2]
    beta1, rest1, beta2, rest2 = numbers[0], numbers[1], numbers[2], numbers[3]
    rate, bias, eps, keep = numbers[4], numbers[5], numbers[6], numbers[7]
    for i in range(np.uint64(span[0]), np.uint64(span[1])):
        here = theta[i]
        sign = _ONE if here > _ZERO else (-_ONE if here < _ZERO else _ZERO)
        slope = scale * g[i] + l2 * here + l1 * sign
        mean = beta1 * m[i] + rest1 * slope
        square = beta2 * s[i] + rest2 * slope * slope
        mean = mean if abs(mean) > _NEGLIGIBLE else _ZERO  # numbers below the normal ones are slow
        m[i], s[i] = mean, square
        theta[i] = keep * here - rate * mean / (math.sqrt(square * bias) + eps)


@njit(**ENTRY_OPTIONS)
def momentum_step(theta, g, v, span, pull, numbers):  # noqa: ANN001, ANN202
    """`Momentum`; `Nesterov` if it looks ahead; numbers: rate, mass, how far ahead."""
    scale, l2, l1 = pull[0], pull[1], pull[2]
    rate, mass, ahead = numbers[0], numbers[1], numbers[2]
    for i in range(np.uint64(span[0]), np.uint64(span[1])):
        here = theta[i]
        sign = _ONE if here > _ZERO else (-_ONE if here < _ZERO else _ZERO)
        slope = scale * g[i] + l2 * here + l1 * sign
        speed = mass * v[i] + slope
        speed = speed if abs(speed) > _NEGLIGIBLE else _ZERO
        v[i] = speed
        theta[i] = here - rate * (speed if ahead == 0 else slope + ahead * speed)


@njit(**ENTRY_OPTIONS)
def sgd_step(theta, g, pull, numbers):  # noqa: ANN001, ANN202
    """`SGD`; numbers: rate."""
    scale, l2, l1, rate = pull[0], pull[1], pull[2], numbers[0]
    for i in range(len(theta)):
        slope = scale * g[i] + l2 * theta[i] + l1 * np.sign(theta[i])
        theta[i] -= rate * slope


def step_constants(rule: Any, t: int, rate: float, dtype: Any) -> Any:
    """What a compiled rule needs to know of step t; None for others."""
    if isinstance(rule, Adam):
        return np.array(_adam_constants(rule, t, rate), dtype)
    if isinstance(rule, Momentum | Nesterov):
        return np.array((rate, rule.mass, rule.mass * isinstance(rule, Nesterov)), dtype)
    return np.array((rate,), dtype) if isinstance(rule, SGD) else None


def update_in_place(
    rule: Any, theta: np.ndarray, g: np.ndarray, memory: Any, step: Any, pull: Any
) -> Any:
    """Move `theta` in place; returns the memory of the rule.

    `step` is (rate, `step_constants`); `pull` holds scale, l2 and l1: the slope is
    scale g + l2 theta + l1 sign(theta).
    """
    rate, numbers = step
    flat, slopes, all_of_it = theta.reshape(-1), g.reshape(-1), (0, theta.size)
    if numbers is None:
        pulled = pull[0] * g + pull[1] * theta + pull[2] * np.sign(theta)
        theta[...], memory = rule.move(theta, pulled, memory, theta.dtype.type(rate))
    elif isinstance(rule, Adam):
        m, s, t = memory
        adam_step(flat, slopes, m.reshape(-1), s.reshape(-1), all_of_it, pull, numbers)
        memory = m, s, t + 1
    elif isinstance(rule, SGD):
        sgd_step(flat, slopes, pull, numbers)
    else:
        momentum_step(flat, slopes, memory.reshape(-1), all_of_it, pull, numbers)
    return memory


def _adam_constants(rule: Adam, t: int, rate: float) -> tuple[float, ...]:
    """The constants of step t."""
    first, second = 1 - rule.beta1**t, 1 - rule.beta2**t
    keep = 1 - rate * rule.decay
    betas = (rule.beta1, 1 - rule.beta1, rule.beta2, 1 - rule.beta2)
    return *betas, rate / first, 1 / second, rule.eps, keep
