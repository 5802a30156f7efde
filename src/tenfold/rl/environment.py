"""Environments: Gymnasium's interface without Gymnasium, and adapters in both directions."""

from __future__ import annotations

import math
from importlib import import_module
from string import printable
from typing import Any, NamedTuple, Protocol

import numpy as np

from tenfold.rl import _table_numba as compiled
from tenfold.rl._arguments import check_action, check_count, check_seed
from tenfold.rl._mdp_sources import make_gymnasium
from tenfold.rl._random_numba import draw_index, uniform
from tenfold.rl.mdp import MDP

_MOST_STATES = 100_000_000  # of a table

Step = tuple[Any, float, bool, bool, dict]


class Environment(Protocol):
    """What agents need of a world: Gymnasium's `reset` and `step`.

    `reset(seed=...)` starts an episode whose luck depends on the seed alone, and returns an
    observation and a dict. `step(action)` returns observation, reward, whether the episode
    terminated (nothing comes after), whether it was truncated (cut, though it would go on), and a
    dict.
    """

    observation_space: Any
    action_space: Any

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        """Start an episode."""
        ...

    def step(self, action: Any) -> Step:
        """Take an action."""
        ...


class DiscreteSpace(NamedTuple):
    """The numbers 0, ..., n - 1."""

    n: int


class BoxSpace(NamedTuple):
    """Arrays of numbers between bounds.

    Attributes
    ----------
    low, high : arrays of one shape
    """

    low: np.ndarray
    high: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays."""
        return self.low.shape


class TextSpace(NamedTuple):
    """Texts of at most so many characters."""

    max_length: int


class MDPWorld:
    """A Markov decision process to act in.

    Parameters
    ----------
    mdp : MDP
    max_steps : int
        After which an episode is truncated.

    Examples
    --------
    >>> from tenfold.rl import MDPWorld, delayed_reward
    >>> world = MDPWorld(delayed_reward(length=2))
    >>> world.reset(seed=0)
    (0, {})
    >>> world.step(1), world.step(1)
    ((1, 0.0, False, False, {}), (2, 10.0, True, False, {}))
    """

    metadata: dict[str, Any] = {"render_modes": []}
    render_mode = None

    def __init__(self, mdp: MDP, max_steps: int = 10_000) -> None:
        if not isinstance(mdp, MDP):
            raise TypeError(f"a {type(mdp).__name__} is no MDP")
        self.mdp, self.max_steps = mdp, check_count(max_steps, "max_steps", 1)
        self.observation_space = DiscreteSpace(mdp.n_states)
        self.action_space = DiscreteSpace(mdp.n_actions)
        self._arrays, self._available = world_arrays(mdp, max_steps), mdp.available
        self._state, self._step, self._luck = -1, 0, 0

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[int, dict]:
        """Start an episode; without a seed its luck differs from that of the one before."""
        del options
        self._luck = self._luck + 1 if seed is None else check_seed(seed, "seed")
        self._state, self._step = int(draw_index(self.mdp.start, uniform(self._luck, 0))), 0
        return self._state, {}

    def step(self, action: Any) -> Step:
        """Take an action."""
        if self._state < 0:
            raise RuntimeError("call reset() before step(), and after the end of an episode")
        name = self.mdp.states[self._state]
        try:
            chosen = check_action(action, self.mdp.n_actions)
        except ValueError:
            raise ValueError(f"action {action!r} does not exist in state {name!r}") from None
        if not self._available[self._state, chosen]:
            raise ValueError(f"action {action!r} does not exist in state {name!r}")
        pair = self._state * self.mdp.n_actions + chosen
        self._step += 1
        move = compiled.sample_move(self._arrays, pair, uniform(self._luck, self._step))
        after, ends = int(self._arrays[1][move]), bool(self._arrays[4][move])
        cut = not ends and self._step >= self.max_steps
        self._state = -1 if ends or cut else after
        return after, float(self._arrays[3][move]), ends, cut, {}

    def render(self) -> None:
        """Nothing to show."""

    def close(self) -> None:
        """Nothing to release."""


def world_arrays(mdp: MDP, max_steps: int) -> tuple:
    """A process as compiled episodes take it: transitions, which of them end, start, length."""
    if mdp.terminal.all():
        raise ValueError("all states of the process are terminal: there is nothing to do")
    t = mdp.transitions
    ends = t.ends | mdp.terminal[t.next_state]
    return t.indptr, t.next_state, t.probability, t.reward, ends, mdp.start, max_steps


def own_space(space: Any) -> Any:
    """A space of Gymnasium as one of this module, which files may hold; others as they are."""
    n, shape = getattr(space, "n", None), getattr(space, "shape", ())
    if isinstance(n, int | np.integer) and not shape and getattr(space, "start", 0) == 0:
        return DiscreteSpace(int(n))
    if getattr(space, "low", None) is not None:
        return BoxSpace(np.asarray(space.low), np.asarray(space.high))
    return space


def as_environment(world: Any, max_steps: int = 10_000) -> Any:
    """An environment: the given one, a process to act in, or a name for `gymnasium.make`."""
    if isinstance(world, MDP):
        return MDPWorld(world, max_steps)
    if isinstance(world, str):
        return make_gymnasium(world)
    if not (hasattr(world, "reset") and hasattr(world, "step")):
        raise TypeError(
            f"a {type(world).__name__} is no world: give an MDP, an environment with reset and "
            "step, or a name for gymnasium.make"
        )
    return world


def assert_all_actions(world: Any, agent: str) -> None:
    """Raise an error if actions are missing in some states, and the agent takes any of them."""
    mdp = getattr(world, "mdp", world)
    if not isinstance(mdp, MDP) or (lacks := ~mdp.available)[~mdp.terminal].sum() == 0:
        return
    state, action = np.argwhere(lacks & ~mdp.terminal[:, None])[0]
    raise ValueError(
        f"action {mdp.actions[action]!r} does not exist in state {mdp.states[state]!r}, and "
        f"{agent} takes any action anywhere: take QLearning or SARSA, or let it stay there for a "
        "cost"
    )


def count_actions(space: Any) -> int:
    """Number of actions of a world whose actions are numbers from 0 on."""
    sizes = discrete_sizes(space)
    if len(sizes) != 1:
        raise ValueError(
            f"the actions of this world are {space}: values of actions need numbers from 0 on. "
            "For real actions take PolicyGradient"
        )
    return sizes[0]


def observation_sizes(space: Any) -> tuple[int, ...]:
    """Numbers of values of the parts of an observation that a table can hold; often one part."""
    sizes = discrete_sizes(space)
    if not sizes:
        raise ValueError(
            f"the observations of this world are {space}: a table needs numbers from 0 on. For "
            "arrays or texts take LinearQ, DeepQ or PolicyGradient"
        )
    if math.prod(sizes) > _MOST_STATES:
        raise ValueError(
            f"the observations of this world are {space}: {math.prod(sizes):,} states are too many "
            "for a table. Take LinearQ, DeepQ or PolicyGradient"
        )
    return sizes


def discrete_sizes(space: Any) -> tuple[int, ...]:
    """Sizes of the parts of a discrete space of Gymnasium or of this module; none if it is not."""
    parts = getattr(space, "spaces", None)
    if isinstance(parts, list | tuple):
        sizes = [discrete_sizes(part) for part in parts]
        return sum(sizes, ()) if all(sizes) else ()
    if hasattr(space, "nvec"):
        return tuple(int(n) for n in np.ravel(space.nvec)) if not np.any(space.start) else ()
    n = getattr(space, "n", None)
    if getattr(space, "shape", ()):  # as many bits, or arrays of numbers
        return () if n is None else (2,) * int(np.prod(n))
    if not isinstance(n, int | np.integer) or getattr(space, "start", 0) != 0:
        return ()
    return (int(n),)


def to_gymnasium(world: Any) -> Any:
    """The world as an environment of Gymnasium, which its checker and its wrappers accept.

    Parameters
    ----------
    world : MDP or environment
        With spaces of this module.

    Returns
    -------
    gymnasium.Env
    """
    gymnasium = import_module("gymnasium")
    inner = as_environment(world)

    class Adapter(gymnasium.Env):
        """A world of tenfold behind Gymnasium's class."""

        metadata = {"render_modes": []}
        observation_space = _gymnasium_space(gymnasium.spaces, inner.observation_space)
        action_space = _gymnasium_space(gymnasium.spaces, inner.action_space)

        def reset(self, *, seed: int | None = None, options: dict | None = None) -> Any:
            super().reset(seed=seed)
            return inner.reset(seed=seed, options=options)

        def step(self, action: Any) -> Any:
            return inner.step(action)

    return Adapter()


def _gymnasium_space(spaces: Any, space: Any) -> Any:
    if isinstance(space, DiscreteSpace):
        return spaces.Discrete(space.n)
    if isinstance(space, BoxSpace):
        return spaces.Box(space.low, space.high, dtype=space.low.dtype)
    return spaces.Text(space.max_length, min_length=0, charset=printable)
