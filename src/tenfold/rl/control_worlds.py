"""Worlds of continuous states: the pole on a cart, the car in the valley."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from tenfold.rl._arguments import check_action, check_count, check_seed
from tenfold.rl._control_numba import move_cars, move_poles
from tenfold.rl.environment import BoxSpace, DiscreteSpace, Step


class ControlWorld:
    """A world of numbers that move by a compiled step; many episodes can run side by side."""

    metadata: dict[str, Any] = {"render_modes": []}
    render_mode = None
    observation_space: BoxSpace
    action_space: DiscreteSpace
    max_steps: int
    reward: float

    def __init__(self, max_steps: int | None = None) -> None:
        most = type(self).max_steps if max_steps is None else max_steps
        self.max_steps = check_count(most, "max_steps", 1)
        self._seed = 0
        self._states: np.ndarray | None = None

    def start(self, seed: int) -> np.ndarray:
        """The state at the start of an episode."""
        raise NotImplementedError

    def move(self, states: np.ndarray, actions: np.ndarray, ended: np.ndarray) -> None:
        """Move all states in place."""
        raise NotImplementedError

    def reset(
        self, *, seed: int | None = None, options: dict | None = None
    ) -> tuple[np.ndarray, dict]:
        """Start an episode; without a seed its luck differs from that of the one before."""
        del options
        self._seed = self._seed + 1 if seed is None else check_seed(seed, "seed")
        self._states, self._step = self.start(self._seed)[None], 0
        return self._states[0].astype(np.float32), {}

    def step(self, action: Any) -> Step:
        """Take an action."""
        if self._states is None:
            raise RuntimeError("call reset() before step(), and after the end of an episode")
        chosen, ended = check_action(action, self.action_space.n), np.zeros(1, bool)
        self.move(self._states, np.array([chosen]), ended)
        self._step += 1
        seen, cut = (
            self._states[0].astype(np.float32),
            not ended[0] and self._step >= self.max_steps,
        )
        if ended[0] or cut:
            self._states = None
        return seen, self.reward, bool(ended[0]), bool(cut), {}

    def render(self) -> None:
        """Nothing to show."""

    def close(self) -> None:
        """Nothing to release."""


class CartPole(ControlWorld):
    """A pole on a cart that is pushed left (0) or right (1); a reward of 1 until it falls.

    The equations, constants, start and limits are those of Gymnasium's "CartPole-v1", and so are
    the trajectories.

    Parameters
    ----------
    max_steps : int, optional
        After which an episode is truncated; 500 by default.

    References
    ----------
    A. G. Barto, R. S. Sutton, C. W. Anderson (1983), "Neuronlike adaptive elements that can solve
    difficult learning control problems".

    Examples
    --------
    >>> from tenfold.rl import CartPole
    >>> world = CartPole()
    >>> world.reset(seed=0)[0].shape, world.step(1)[1:]
    ((4,), (1.0, False, False, {}))
    """

    max_steps, reward = 500, 1.0
    _HIGH = np.array([4.8, np.inf, 24 * 2 * pi / 360, np.inf], np.float32)
    observation_space = BoxSpace(-_HIGH, _HIGH)
    action_space = DiscreteSpace(2)

    def start(self, seed: int) -> np.ndarray:
        """Four small numbers."""
        return np.random.default_rng(seed).uniform(-0.05, 0.05, size=4)

    def move(self, states: np.ndarray, actions: np.ndarray, ended: np.ndarray) -> None:
        """Move all carts in place."""
        move_poles(states, actions, ended)


class MountainCar(ControlWorld):
    """A weak car in a valley: left (0), nothing (1) or right (2); every step costs 1.

    As Gymnasium's "MountainCar-v0".

    Parameters
    ----------
    max_steps : int, optional
        After which an episode is truncated; 200 by default.

    References
    ----------
    A. W. Moore (1990), "Efficient memory-based learning for robot control".

    Examples
    --------
    >>> from tenfold.rl import MountainCar
    >>> world = MountainCar()
    >>> world.reset(seed=0)[0].shape, world.step(2)[1:]
    ((2,), (-1.0, False, False, {}))
    """

    max_steps, reward = 200, -1.0
    observation_space = BoxSpace(
        np.array([-1.2, -0.07], np.float32), np.array([0.6, 0.07], np.float32)
    )
    action_space = DiscreteSpace(3)

    def start(self, seed: int) -> np.ndarray:
        """Somewhere at the bottom, at rest."""
        return np.array([np.random.default_rng(seed).uniform(-0.6, -0.4), 0.0])

    def move(self, states: np.ndarray, actions: np.ndarray, ended: np.ndarray) -> None:
        """Move all cars in place."""
        move_cars(states, actions, ended)


class PointMass:
    """A point that is moved along a line by real actions, and should come to rest at zero.

    An action in [-1, 1] is added to the place; the reward is minus the squared distance, and minus
    a tenth of the squared action. The process ends after `max_steps` steps by truncation.

    Parameters
    ----------
    max_steps : int

    Examples
    --------
    >>> from tenfold.rl import PointMass
    >>> world = PointMass()
    >>> place = world.reset(seed=1)[0]
    >>> float(world.step(-place)[1] > -0.1)
    1.0
    """

    observation_space = BoxSpace(np.full(1, -10.0, np.float32), np.full(1, 10.0, np.float32))
    action_space = BoxSpace(np.full(1, -1.0, np.float32), np.full(1, 1.0, np.float32))

    def __init__(self, max_steps: int = 5) -> None:
        self.max_steps = check_count(max_steps, "max_steps", 1)
        self._place, self._left, self._seed = 0.0, 0, 0

    def reset(
        self, *, seed: int | None = None, options: dict | None = None
    ) -> tuple[np.ndarray, dict]:
        """Start an episode somewhere in [-1, 1]."""
        del options
        self._seed = self._seed + 1 if seed is None else check_seed(seed, "seed")
        self._place = float(np.random.default_rng(self._seed).uniform(-1, 1))
        self._left = self.max_steps
        return np.array([self._place], np.float32), {}

    def step(self, action: Any) -> Step:
        """Move the point."""
        if self._left <= 0:
            raise RuntimeError("call reset() before step(), and after the end of an episode")
        given = np.asarray(action)
        if given.size != 1 or given.dtype.kind not in "iuf" or np.isnan(given).any():
            raise ValueError(f"action {action!r}: expected a number from -1 to 1")
        push = float(np.clip(given.reshape(-1)[0], -1, 1))
        self._place += push
        self._left -= 1
        reward = -(self._place**2) - 0.1 * push**2
        return np.array([self._place], np.float32), reward, False, self._left <= 0, {}
