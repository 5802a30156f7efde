"""Episodes side by side: a compiled world moves all of them at once, others are copied."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from tenfold.rl._arguments import check_share
from tenfold.rl.control_worlds import ControlWorld
from tenfold.rl.episodes import check_reward


class Trajectories(NamedTuple):
    """Moves of some episodes, episode by episode.

    Attributes
    ----------
    X : (n, n_features) array
        What was seen.
    action : (n,) array, or (n, n_dims) for real actions
    reward : (n,) array
    ends : (n_episodes + 1,) array
        Moves of episode e are ends[e], ..., ends[e + 1] - 1.
    last : (n_episodes, n_features) array
        What was seen after the last move.
    terminated : (n_episodes,) bool array
        Whether the episode ended there; otherwise it was cut, and would have gone on.
    """

    X: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    ends: np.ndarray
    last: np.ndarray
    terminated: np.ndarray

    @property
    def returns(self) -> np.ndarray:
        """Sum of the rewards of each episode."""
        return np.add.reduceat(self.reward, self.ends[:-1])


class ControlLanes:
    """Episodes of a compiled world."""

    def __init__(self, world: ControlWorld, encode: Any, seeds: list[int]) -> None:
        self.world, self.encode = world, encode
        self.states = np.array([world.start(seed) for seed in seeds])
        self.step_number = 0

    def see(self, alive: np.ndarray) -> np.ndarray:
        """What is seen in the episodes that go on."""
        seen = self.states[alive].astype(np.float32)
        return np.array([self.encode(row) for row in seen]) if self.encode.model else seen

    def move(self, alive: np.ndarray, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards, which episodes terminated, and which were cut."""
        states, ended = self.states[alive], np.zeros(len(alive), bool)
        self.world.move(states, np.asarray(actions), ended)
        self.states[alive] = states
        self.step_number += 1
        cut = ~ended & (self.step_number >= self.world.max_steps)
        return np.full(len(alive), self.world.reward), ended, cut


class CopyLanes:
    """Episodes of copies of any environment."""

    def __init__(self, env: Any, encode: Any, seeds: list[int]) -> None:
        self.envs, self.encode, self.seeds = [deepcopy(env) for _ in seeds], encode, seeds
        self.seen = [encode(one.reset(seed=s)[0]) for one, s in zip(self.envs, seeds, strict=True)]
        self.step_number = 0

    def see(self, alive: np.ndarray) -> np.ndarray:
        """What is seen in the episodes that go on."""
        return np.array([self.seen[i] for i in alive])

    def move(self, alive: np.ndarray, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards, which episodes terminated, and which were cut."""
        self.step_number += 1
        outcome = []
        for i, action in zip(alive, actions, strict=True):
            seen, reward, terminated, truncated, _ = self.envs[i].step(action)
            self.seen[i] = self.encode(seen)
            reward = check_reward(reward, self.step_number, self.seeds[i])
            outcome.append((reward, bool(terminated), bool(truncated)))
        reward, terminated, truncated = (np.array(part) for part in zip(*outcome, strict=True))
        return reward, terminated, truncated


def collect_episodes(
    env: Any, encode: Any, seeds: list[int], choose: Any, to_world: Any, max_steps: int
) -> Trajectories:
    """Run an episode for each seed; `choose(X, episodes, step)` gives the actions.

    The world gets them as `to_world` makes them; drawn real actions may lie beyond its bounds.
    """
    lanes = (ControlLanes if isinstance(env, ControlWorld) else CopyLanes)(env, encode, seeds)
    alive = np.arange(len(seeds))
    terminated = np.zeros(len(seeds), bool)
    parts: list[tuple] = []
    for step in range(max_steps):
        X = lanes.see(alive).astype(np.float32)
        actions = choose(X, alive, step)
        reward, ended, cut = lanes.move(alive, to_world(actions))
        parts.append((alive, X, np.asarray(actions), reward))
        terminated[alive[ended]] = True
        alive = alive[~(ended | cut)]
        if not len(alive):
            break
    owner, X, action, reward = (np.concatenate([part[i] for part in parts]) for i in range(4))
    order = np.argsort(owner, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(seeds)))])
    last = lanes.see(np.arange(len(seeds))).astype(np.float32)
    return Trajectories(X[order], action[order], reward[order], ends, last, terminated)


def discounted_returns(rewards: Any, discount: float, last_value: float = 0.0) -> np.ndarray:
    r"""Returns :math:`Q_t = \sum_{t' \ge t} \gamma^{t'-t} r_{t'}` of one episode.

    Parameters
    ----------
    rewards : list of numbers
    discount : float
        :math:`\gamma`.
    last_value : float
        Worth of the state after the last reward, if the episode was cut there.

    Examples
    --------
    >>> discounted_returns([1, 0, 2], 0.5).tolist(), discounted_returns([1, 0, 2], 1.0).tolist()
    ([1.5, 1.0, 2.0], [3.0, 2.0, 2.0])
    """
    check_share(discount, "discount")
    values = np.asarray(rewards, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"rewards={rewards!r}: expected a list of finite numbers")
    out, total = np.zeros(len(values)), float(last_value)
    for t in range(len(values) - 1, -1, -1):
        total = float(values[t]) + discount * total
        out[t] = total
    return out
