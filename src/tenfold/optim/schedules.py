"""Learning-rate schedules: constant, power, exponential, step and cosine decay, and linear warm-up.

A schedule is a callable that maps the step t = 1, 2, ... to a positive learning rate. The classes
here also have a `tail`, rate(t) ~ t^-power (log t)^logs, from which
`tenfold.teaching.robbins_monro` derives whether its sums converge.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, inf, log, pi, sqrt
from typing import Any, NamedTuple

Schedule = Callable[[Any], float]


class Tail(NamedTuple):
    """Asymptotics t^-power (log t)^logs of a schedule; power = inf if faster than any power."""

    power: float
    logs: float = 0.0


def known_tail(schedule: Any) -> Tail | None:
    """The tail of a schedule, or None if it does not define one."""
    return getattr(schedule, "tail", None)


class ConstantRate(NamedTuple):
    """The rate `eta` at every step.

    Examples
    --------
    >>> ConstantRate(0.1)(1), ConstantRate(0.1)(1000)
    (0.1, 0.1)
    """

    eta: float = 0.01

    def __call__(self, t: float) -> float:
        return self.eta

    @property
    def tail(self) -> Tail:
        return Tail(0.0)


class PowerDecay(NamedTuple):
    """The rate gamma (t + shift)^-delta: 1/t by default, 1/(1+t) with shift=1.

    Examples
    --------
    >>> PowerDecay()(4), PowerDecay(shift=1)(4), PowerDecay(gamma=2, delta=0.5)(4)
    (0.25, 0.2, 1.0)
    """

    gamma: float = 1.0
    delta: float = 1.0
    shift: float = 0.0

    def __call__(self, t: float) -> float:
        return self.gamma * (t + self.shift) ** -self.delta

    @property
    def tail(self) -> Tail:
        return Tail(self.delta)


class LogOverSqrt(NamedTuple):
    """The rate gamma log(t) / sqrt(t): zero at t = 1, largest at e^2, then decreasing.

    Examples
    --------
    >>> [round(LogOverSqrt()(t), 4) for t in (1, 7, 100)]
    [0.0, 0.7355, 0.4605]
    """

    gamma: float = 1.0

    def __call__(self, t: float) -> float:
        return self.gamma * log(t) / sqrt(t)

    @property
    def tail(self) -> Tail:
        return Tail(0.5, 1.0)


class ExponentialDecay(NamedTuple):
    """The rate eta decay^(t-1).

    Examples
    --------
    >>> ExponentialDecay(1.0, 0.5)(3)
    0.25
    """

    eta: float
    decay: float

    def __call__(self, t: float) -> float:
        return self.eta * self.decay ** (t - 1)

    @property
    def tail(self) -> Tail:
        return Tail(inf if self.decay < 1 else 0.0)


class StepDecay(NamedTuple):
    """The rate eta, multiplied by `drop` after every `every` steps.

    Examples
    --------
    >>> [StepDecay(1.0, drop=0.5, every=2)(t) for t in range(1, 6)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    eta: float
    drop: float = 0.1
    every: int = 100

    def __call__(self, t: float) -> float:
        return self.eta * self.drop ** ((t - 1) // self.every)

    @property
    def tail(self) -> Tail:
        return Tail(inf if self.drop < 1 else 0.0)


class CosineDecay(NamedTuple):
    """Cosine annealing from `eta` at the first of `steps` steps to `end`, constant after that.

    Neural networks replace `steps=None` by the number of all steps of a fit.

    Examples
    --------
    >>> [round(CosineDecay(1.0, steps=5)(t), 4) for t in range(1, 7)]
    [1.0, 0.8536, 0.5, 0.1464, 0.0, 0.0]
    """

    eta: float
    steps: int | None = None
    end: float = 0.0

    def __call__(self, t: float) -> float:
        if self.steps is None:
            raise ValueError("Cosine(eta): give the number of steps, Cosine(eta, steps)")
        share = min((t - 1) / max(self.steps - 1, 1), 1.0)
        return self.end + (self.eta - self.end) * (1 + cos(pi * share)) / 2

    @property
    def tail(self) -> Tail:
        return Tail(0.0 if self.end > 0 else inf)


class LinearWarmup(NamedTuple):
    """Linear warm-up over the first `steps` steps, then the schedule `then`, counted from there.

    Examples
    --------
    >>> [LinearWarmup(ConstantRate(1.0), steps=3)(t) for t in range(1, 6)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    then: Schedule
    steps: int

    def __call__(self, t: float) -> float:
        if t <= self.steps:
            return self.then(1) * t / (self.steps + 1)
        return self.then(t - self.steps)

    @property
    def tail(self) -> Tail | None:
        return known_tail(self.then)


def inverse_scaling(eta: float = 0.01, power: float = 0.25) -> PowerDecay:
    """The rate eta / t^power: scikit-learn's "invscaling".

    Examples
    --------
    >>> round(inverse_scaling(0.1, 0.5)(100), 12)
    0.01
    """
    return PowerDecay(eta, power)


def optimal_decay(alpha: float, eta: float | None = None) -> PowerDecay:
    """The rate 1 / (alpha (t + t0)) for an objective that is alpha-strongly convex.

    The shift t0 makes the first rate `eta`. By default that is alpha^(-1/4): one step of gradient
    norm 1 then has about the size of weights under the penalty `alpha/2 |w|^2`.

    References
    ----------
    L. Bottou (2012), "Stochastic gradient descent tricks".

    Examples
    --------
    >>> rate = optimal_decay(alpha=0.01, eta=1.0)
    >>> rate(1), rate(101)
    (1.0, 0.5)
    """
    first = alpha**-0.25 if eta is None else eta
    return PowerDecay(1 / alpha, 1.0, 1 / (alpha * first) - 1)


def as_schedule(schedule: Schedule | float) -> Schedule:
    """A schedule; a number becomes a constant one."""
    return schedule if callable(schedule) else ConstantRate(float(schedule))
