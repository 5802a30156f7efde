"""First-order update rules: SGD, momentum, Nesterov, AdaGrad, RMSProp, Adam, AdamW; gradient clipping.

A rule is a named tuple of its settings with two pure functions,

    begin(theta) -> memory,      move(theta, gradient, memory, rate) -> (theta, memory)

for one array. `init_state` and `apply_update` of this module do the same for one array or a list of them, so
the parameters of a network need not be flattened. All formulas and defaults are PyTorch's.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

_Update = tuple[np.ndarray, Any]


class Optimizer(Protocol):
    """What a stepper must have."""

    def begin(self, theta: np.ndarray) -> Any: ...

    def move(
        self, theta: np.ndarray, gradient: np.ndarray, memory: Any, rate: float
    ) -> _Update: ...


def init_state(rule: Optimizer, theta: np.ndarray | list[np.ndarray]) -> Any:
    """The memory of a rule before its first step."""
    return [rule.begin(part) for part in theta] if isinstance(theta, list) else rule.begin(theta)


def apply_update(
    rule: Optimizer, theta: Any, gradient: Any, memory: Any, rate: float
) -> tuple[Any, Any]:
    """Parameters and memory after one step.

    Parameters
    ----------
    rule : stepper
        How to step, for instance `Adam()`.
    theta, gradient : array, or list of arrays
        Parameters and slope.
    memory
        What `init_state` or the step before has given.
    rate : float
        The learning rate.

    Returns
    -------
    theta, memory

    Examples
    --------
    >>> import numpy as np
    >>> rule, theta = Momentum(0.5), np.array([1.0])
    >>> memory = init_state(rule, theta)
    >>> for _ in range(2):
    ...     theta, memory = apply_update(rule, theta, np.array([1.0]), memory, rate=0.1)
    >>> theta.round(4).tolist()
    [0.75]
    """
    if not isinstance(theta, list):
        return rule.move(theta, gradient, memory, rate)
    moved = [rule.move(*part, rate) for part in zip(theta, gradient, memory, strict=True)]
    return [theta for theta, _ in moved], [memory for _, memory in moved]


class SGD(NamedTuple):
    """theta - rate g."""

    def begin(self, theta: np.ndarray) -> tuple:
        return ()

    def move(self, theta: np.ndarray, gradient: np.ndarray, memory: tuple, rate: float) -> _Update:
        return theta - rate * gradient, memory


class Momentum(NamedTuple):
    """v <- mass v + g, then theta - rate v: a heavy ball."""

    mass: float = 0.9

    def begin(self, theta: np.ndarray) -> np.ndarray:
        return np.zeros_like(theta)

    def move(self, theta: np.ndarray, gradient: np.ndarray, memory: Any, rate: float) -> _Update:
        v = self.mass * memory + gradient
        return theta - rate * v, v


class Nesterov(NamedTuple):
    """v <- mass v + g, then theta - rate (g + mass v): a ball that looks ahead."""

    mass: float = 0.9

    def begin(self, theta: np.ndarray) -> np.ndarray:
        return np.zeros_like(theta)

    def move(self, theta: np.ndarray, gradient: np.ndarray, memory: Any, rate: float) -> _Update:
        v = self.mass * memory + gradient
        return theta - rate * (gradient + self.mass * v), v


class AdaGrad(NamedTuple):
    """s <- s + g^2, then theta - rate g / (sqrt(s) + eps): rare features take longer steps."""

    eps: float = 1e-10

    def begin(self, theta: np.ndarray) -> np.ndarray:
        return np.zeros_like(theta)

    def move(self, theta: np.ndarray, gradient: np.ndarray, memory: Any, rate: float) -> _Update:
        s = memory + gradient**2
        return theta - rate * gradient / (np.sqrt(s) + self.eps), s


class RMSProp(NamedTuple):
    """s <- decay s + (1 - decay) g^2, then theta - rate g / (sqrt(s) + eps)."""

    decay: float = 0.99
    eps: float = 1e-8

    def begin(self, theta: np.ndarray) -> np.ndarray:
        return np.zeros_like(theta)

    def move(self, theta: np.ndarray, gradient: np.ndarray, memory: Any, rate: float) -> _Update:
        s = self.decay * memory + (1 - self.decay) * gradient**2
        return theta - rate * gradient / (np.sqrt(s) + self.eps), s


class Adam(NamedTuple):
    """Momentum m over size s, both averages freed from their start at zero.

    m <- beta1 m + (1 - beta1) g and s <- beta2 s + (1 - beta2) g^2, then
    theta (1 - rate decay) - rate m' / (sqrt(s') + eps) with m' = m / (1 - beta1^t) and
    s' = s / (1 - beta2^t). A `decay` of the weights makes it AdamW.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    decay: float = 0.0

    def begin(self, theta: np.ndarray) -> tuple:
        return np.zeros_like(theta), np.zeros_like(theta), 0

    def move(self, theta: np.ndarray, gradient: np.ndarray, memory: tuple, rate: float) -> _Update:
        m, s, t = memory
        m = self.beta1 * m + (1 - self.beta1) * gradient
        s = self.beta2 * s + (1 - self.beta2) * gradient**2
        t += 1
        size = np.sqrt(s / (1 - self.beta2**t)) + self.eps
        theta = theta * (1 - rate * self.decay) if self.decay else theta
        return theta - rate / (1 - self.beta1**t) * m / size, (m, s, t)


def AdamW(decay: float = 0.01, **settings: float) -> Adam:  # noqa: N802  reads as a class
    """Adam that shrinks the weights by themselves, not through the gradient.

    Examples
    --------
    >>> AdamW(decay=0.1).decay
    0.1
    """
    return Adam(decay=decay, **settings)


def clip_value(gradient: Any, limit: float) -> Any:
    """Cut every entry to the range from -limit to limit.

    Examples
    --------
    >>> import numpy as np
    >>> clip_value(np.array([3.0, -0.5]), 1.0).tolist()
    [1.0, -0.5]
    """
    if isinstance(gradient, list):
        return [clip_value(part, limit) for part in gradient]
    return np.clip(gradient, -limit, limit)


def clip_norm(gradient: Any, limit: float) -> Any:
    """Shorten a gradient (all arrays of a list together) to a Euclidean length of `limit`.

    Examples
    --------
    >>> import numpy as np
    >>> clip_norm([np.array([3.0]), np.array([4.0])], 1.0)
    [array([0.6]), array([0.8])]
    """
    parts = gradient if isinstance(gradient, list) else [gradient]
    length = float(np.sqrt(sum(np.vdot(part, part) for part in parts)))
    if length <= limit:
        return gradient
    shorter = [part * (limit / length) for part in parts]
    return shorter if isinstance(gradient, list) else shorter[0]
