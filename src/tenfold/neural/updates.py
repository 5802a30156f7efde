"""A step in place: compiled twins of the rules of `tenfold.solve.steppers` that networks use most.

A rule of that module makes new arrays, a dozen passes over memory for Adam. Here each number is
read and written once, and the merged gradient is divided and the penalty added on the way. Other
rules take their own `move`. All work number by number, so threads may share out the numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from tenfold.neural.products import CALLED
from tenfold.solve.steppers import Adam, Momentum, Nesterov, Plain

NOTHING = np.float32(1e-30)  # a momentum so small moves no weight
ZERO, ONE = np.float32(0), np.float32(1)


@njit(**CALLED)
def adam_step(theta, g, m, s, span, pull, numbers):  # noqa: ANN001, ANN201
    """`Adam`; numbers: beta1, 1 - beta1, beta2, 1 - beta2, rate', 1 / (1 - beta2^t), eps, keep."""
    scale, l2, l1 = pull[0], pull[1], pull[2]
    beta1, rest1, beta2, rest2 = numbers[0], numbers[1], numbers[2], numbers[3]
    rate, bias, eps, keep = numbers[4], numbers[5], numbers[6], numbers[7]
    for i in range(np.uint64(span[0]), np.uint64(span[1])):
        here = theta[i]
        sign = ONE if here > ZERO else (-ONE if here < ZERO else ZERO)
        slope = scale * g[i] + l2 * here + l1 * sign
        mean = beta1 * m[i] + rest1 * slope
        square = beta2 * s[i] + rest2 * slope * slope
        mean = mean if abs(mean) > NOTHING else ZERO  # numbers below the normal ones are slow
        m[i], s[i] = mean, square
        theta[i] = keep * here - rate * mean / (math.sqrt(square * bias) + eps)


@njit(**CALLED)
def momentum_step(theta, g, v, span, pull, numbers):  # noqa: ANN001, ANN201
    """`Momentum`; `Nesterov` if it looks ahead; numbers: rate, mass, how far ahead."""
    scale, l2, l1 = pull[0], pull[1], pull[2]
    rate, mass, ahead = numbers[0], numbers[1], numbers[2]
    for i in range(np.uint64(span[0]), np.uint64(span[1])):
        here = theta[i]
        sign = ONE if here > ZERO else (-ONE if here < ZERO else ZERO)
        slope = scale * g[i] + l2 * here + l1 * sign
        speed = mass * v[i] + slope
        speed = speed if abs(speed) > NOTHING else ZERO
        v[i] = speed
        theta[i] = here - rate * (speed if ahead == 0 else slope + ahead * speed)


@njit(**CALLED)
def plain_step(theta, g, pull, numbers):  # noqa: ANN001, ANN201
    """`Plain`; numbers: rate."""
    scale, l2, l1, rate = pull[0], pull[1], pull[2], numbers[0]
    for i in range(len(theta)):
        slope = scale * g[i] + l2 * theta[i] + l1 * np.sign(theta[i])
        theta[i] -= rate * slope


def constants(rule: Any, t: int, rate: float, dtype: Any) -> Any:
    """What a compiled rule needs to know of step t; None for others."""
    if isinstance(rule, Adam):
        return np.array(adam_numbers(rule, t, rate), dtype)
    if isinstance(rule, Momentum | Nesterov):
        return np.array((rate, rule.mass, rule.mass * isinstance(rule, Nesterov)), dtype)
    return np.array((rate,), dtype) if isinstance(rule, Plain) else None


def moved(rule: Any, theta: np.ndarray, g: np.ndarray, memory: Any, step: Any, pull: Any) -> Any:
    """Move `theta` in place; returns the memory of the rule.

    `step` is (rate, `constants`); `pull` holds scale, l2 and l1: the slope is
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
    elif isinstance(rule, Plain):
        plain_step(flat, slopes, pull, numbers)
    else:
        momentum_step(flat, slopes, memory.reshape(-1), all_of_it, pull, numbers)
    return memory


def adam_numbers(rule: Adam, t: int, rate: float) -> tuple[float, ...]:
    """The constants of step t."""
    first, second = 1 - rule.beta1**t, 1 - rule.beta2**t
    keep = 1 - rate * rule.decay
    betas = (rule.beta1, 1 - rule.beta1, rule.beta2, 1 - rule.beta2)
    return *betas, rate / first, 1 / second, rule.eps, keep
