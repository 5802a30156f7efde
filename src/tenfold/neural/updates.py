"""A step in place: compiled twins of the rules of `tenfold.solve.steppers` that networks use most.

A rule of that module makes new arrays, a dozen passes over memory for Adam. Here each number is
read and written once, and the merged gradient is divided and the penalty added on the way. Other
rules take their own `move`. All work number by number, so threads may share out the numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tenfold.solve.steppers import Adam, Momentum, Nesterov, Plain

NOTHING, ZERO = np.float32(1e-30), np.float32(0)  # a momentum so small moves no weight


@njit(cache=True, nogil=True, error_model="numpy")
def adam_step(theta, g, m, s, pull, numbers):  # noqa: ANN001, ANN201
    """`Adam`; numbers: beta1, 1 - beta1, beta2, 1 - beta2, rate', 1 / (1 - beta2^t), eps, keep."""
    scale, l2, l1 = pull[0], pull[1], pull[2]
    beta1, rest1, beta2, rest2 = numbers[0], numbers[1], numbers[2], numbers[3]
    rate, bias, eps, keep = numbers[4], numbers[5], numbers[6], numbers[7]
    for i in range(len(theta)):
        here = theta[i]
        slope = scale * g[i] + l2 * here
        if l1 != 0:
            slope += l1 * np.sign(here)
        mean = beta1 * m[i] + rest1 * slope
        square = beta2 * s[i] + rest2 * slope * slope
        mean = mean if abs(mean) > NOTHING else ZERO  # numbers below the normal ones are slow
        m[i], s[i] = mean, square
        theta[i] = keep * here - rate * mean / (np.sqrt(square * bias) + eps)


@njit(cache=True, nogil=True)
def momentum_step(theta, g, v, pull, numbers):  # noqa: ANN001, ANN201
    """`Momentum`; `Nesterov` if it looks ahead; numbers: rate, mass, how far ahead."""
    scale, l2, l1 = pull[0], pull[1], pull[2]
    rate, mass, ahead = numbers[0], numbers[1], numbers[2]
    for i in range(len(theta)):
        slope = scale * g[i] + l2 * theta[i] + l1 * np.sign(theta[i])
        speed = mass * v[i] + slope
        v[i] = speed if abs(speed) > NOTHING else ZERO
        theta[i] -= rate * (v[i] if ahead == 0 else slope + ahead * v[i])


@njit(cache=True, nogil=True)
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
    if numbers is None:
        pulled = pull[0] * g + pull[1] * theta + pull[2] * np.sign(theta)
        theta[...], memory = rule.move(theta, pulled, memory, theta.dtype.type(rate))
    elif isinstance(rule, Adam):
        m, s, t = memory
        adam_step(theta.reshape(-1), g.reshape(-1), m.reshape(-1), s.reshape(-1), pull, numbers)
        memory = m, s, t + 1
    elif isinstance(rule, Plain):
        plain_step(theta.reshape(-1), g.reshape(-1), pull, numbers)
    else:
        momentum_step(theta.reshape(-1), g.reshape(-1), memory.reshape(-1), pull, numbers)
    return memory


def adam_numbers(rule: Adam, t: int, rate: float) -> tuple[float, ...]:
    """The constants of step t."""
    first, second = 1 - rule.beta1**t, 1 - rule.beta2**t
    keep = 1 - rate * rule.decay
    betas = (rule.beta1, 1 - rule.beta1, rule.beta2, 1 - rule.beta2)
    return *betas, rate / first, 1 / second, rule.eps, keep
