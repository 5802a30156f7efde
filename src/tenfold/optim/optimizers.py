"""First-order optimizers: SGD, momentum, Nesterov, AdaGrad, RMSProp, Adam, AdamW; clipping.

An optimizer is a named tuple of its settings with two pure methods for one array,

    init(theta) -> state,      update(theta, gradient, state, rate) -> (theta, state).

`init_state` and `apply_update` do the same for one array or a list of arrays, so the parameters of
a network need not be flattened. All formulas and defaults are PyTorch's.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

_Update = tuple[np.ndarray, Any]


class Optimizer(Protocol):
    """Interface of an optimizer."""

    def init(self, theta: np.ndarray) -> Any: ...

    def update(
        self, theta: np.ndarray, gradient: np.ndarray, state: Any, rate: float
    ) -> _Update: ...


def init_state(optimizer: Optimizer, theta: np.ndarray | list[np.ndarray]) -> Any:
    """The state of an optimizer before its first step."""
    return (
        [optimizer.init(part) for part in theta]
        if isinstance(theta, list)
        else optimizer.init(theta)
    )


def apply_update(
    optimizer: Optimizer, theta: Any, gradient: Any, state: Any, learning_rate: float
) -> tuple[Any, Any]:
    """Parameters and optimizer state after one step.

    Parameters
    ----------
    optimizer : Optimizer
        For instance `Adam()`.
    theta, gradient : array, or list of arrays
        Parameters and gradient.
    state
        The result of `init_state` or of the step before.
    learning_rate : float
        The learning rate.

    Returns
    -------
    theta, state

    Examples
    --------
    >>> import numpy as np
    >>> optimizer, theta = Momentum(0.5), np.array([1.0])
    >>> state = init_state(optimizer, theta)
    >>> for _ in range(2):
    ...     theta, state = apply_update(optimizer, theta, np.array([1.0]), state, 0.1)
    >>> theta.round(4).tolist()
    [0.75]
    """
    if not isinstance(theta, list):
        return optimizer.update(theta, gradient, state, learning_rate)
    updated = [
        optimizer.update(*part, learning_rate) for part in zip(theta, gradient, state, strict=True)
    ]
    return [theta for theta, _ in updated], [state for _, state in updated]


class SGD(NamedTuple):
    """theta - rate g."""

    def init(self, theta: np.ndarray) -> tuple:
        return ()

    def update(self, theta: np.ndarray, gradient: np.ndarray, state: tuple, rate: float) -> _Update:
        return theta - rate * gradient, state


class Momentum(NamedTuple):
    """v <- momentum v + g, then theta - rate v (heavy ball)."""

    momentum: float = 0.9

    def init(self, theta: np.ndarray) -> np.ndarray:
        return np.zeros_like(theta)

    def update(self, theta: np.ndarray, gradient: np.ndarray, state: Any, rate: float) -> _Update:
        v = self.momentum * state + gradient
        return theta - rate * v, v


class Nesterov(NamedTuple):
    """v <- momentum v + g, then theta - rate (g + momentum v)."""

    momentum: float = 0.9

    def init(self, theta: np.ndarray) -> np.ndarray:
        return np.zeros_like(theta)

    def update(self, theta: np.ndarray, gradient: np.ndarray, state: Any, rate: float) -> _Update:
        v = self.momentum * state + gradient
        return theta - rate * (gradient + self.momentum * v), v


class AdaGrad(NamedTuple):
    """s <- s + g^2, then theta - rate g / (sqrt(s) + eps); rare features get longer steps."""

    eps: float = 1e-10

    def init(self, theta: np.ndarray) -> np.ndarray:
        return np.zeros_like(theta)

    def update(self, theta: np.ndarray, gradient: np.ndarray, state: Any, rate: float) -> _Update:
        s = state + gradient**2
        return theta - rate * gradient / (np.sqrt(s) + self.eps), s


class RMSProp(NamedTuple):
    """s <- decay s + (1 - decay) g^2, then theta - rate g / (sqrt(s) + eps)."""

    decay: float = 0.99
    eps: float = 1e-8

    def init(self, theta: np.ndarray) -> np.ndarray:
        return np.zeros_like(theta)

    def update(self, theta: np.ndarray, gradient: np.ndarray, state: Any, rate: float) -> _Update:
        s = self.decay * state + (1 - self.decay) * gradient**2
        return theta - rate * gradient / (np.sqrt(s) + self.eps), s


class Adam(NamedTuple):
    """Bias-corrected moving averages of the gradient (m) and of its square (s).

    m <- beta1 m + (1 - beta1) g and s <- beta2 s + (1 - beta2) g^2, then
    theta (1 - rate decay) - rate m' / (sqrt(s') + eps) with m' = m / (1 - beta1^t) and
    s' = s / (1 - beta2^t). A weight `decay` makes it AdamW.

    References
    ----------
    D. P. Kingma and J. Ba (2015), "Adam: a method for stochastic optimization".
    """

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    decay: float = 0.0

    def init(self, theta: np.ndarray) -> tuple:
        return np.zeros_like(theta), np.zeros_like(theta), 0

    def update(self, theta: np.ndarray, gradient: np.ndarray, state: tuple, rate: float) -> _Update:
        m, s, t = state
        m = self.beta1 * m + (1 - self.beta1) * gradient
        s = self.beta2 * s + (1 - self.beta2) * gradient**2
        t += 1
        size = np.sqrt(s / (1 - self.beta2**t)) + self.eps
        theta = theta * (1 - rate * self.decay) if self.decay else theta
        return theta - rate / (1 - self.beta1**t) * m / size, (m, s, t)


def AdamW(decay: float = 0.01, **settings: float) -> Adam:  # noqa: N802  reads as a class
    """Adam with decoupled weight decay.

    References
    ----------
    I. Loshchilov and F. Hutter (2019), "Decoupled weight decay regularization".

    Examples
    --------
    >>> AdamW(decay=0.1).decay
    0.1
    """
    return Adam(decay=decay, **settings)


def clip_value(gradient: Any, limit: float) -> Any:
    """Clip every entry to [-limit, limit].

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
    """Scale a gradient (all arrays of a list together) down to a Euclidean norm of `limit`.

    Examples
    --------
    >>> import numpy as np
    >>> clip_norm([np.array([3.0]), np.array([4.0])], 1.0)
    [array([0.6]), array([0.8])]
    """
    parts = gradient if isinstance(gradient, list) else [gradient]
    norm = float(np.sqrt(sum(np.vdot(part, part) for part in parts)))
    if norm <= limit:
        return gradient
    clipped = [part * (limit / norm) for part in parts]
    return clipped if isinstance(gradient, list) else clipped[0]
