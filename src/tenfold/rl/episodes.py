"""Episodes: running a policy, and its mean return with a confidence interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.model_selection.confidence_intervals import ConfidenceInterval
from tenfold.rl._arguments import check_count, check_level, check_seed, check_share
from tenfold.rl._random_numba import episode_seed
from tenfold.rl.environment import as_environment
from tenfold.rl.mdp import MDP


class Move(NamedTuple):
    """One step of an episode.

    Attributes
    ----------
    observation, action : what was seen and done
    reward : float
    after : the observation after it
    terminated, truncated : whether the episode ended, or was cut
    """

    observation: Any
    action: Any
    reward: float
    after: Any
    terminated: bool
    truncated: bool


class Evaluation(NamedTuple):
    """Returns of some episodes.

    Attributes
    ----------
    mean : float
        Mean return.
    interval : ConfidenceInterval
        Of the mean, by Student's t.
    returns, lengths : (n_episodes,) arrays
    """

    mean: float
    interval: ConfidenceInterval
    returns: np.ndarray
    lengths: np.ndarray

    def __str__(self) -> str:
        return f"return {self.interval}, {len(self.returns)} episodes"


def evaluate(
    agent: Any,
    world: Any,
    episodes: int,
    *,
    discount: float,
    max_steps: int,
    random_state: int,
    level: float,
) -> Evaluation:
    """Mean return of an agent; see `Agent.evaluate`."""
    check_count(episodes, "episodes", 1)
    check_count(max_steps, "max_steps", 1)
    check_share(discount, "discount")
    check_level(level)
    check_seed(random_state)
    env, agent = as_environment(world, max_steps), match_names(agent, world)
    returns, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    for e in range(episodes):
        factor = 1.0
        for move in play(agent, env, int(episode_seed(random_state, e)), max_steps):
            returns[e] += factor * move.reward
            factor *= discount
            lengths[e] += 1
    return Evaluation(float(returns.mean()), mean_interval(returns, level), returns, lengths)


class NamedAgent:
    """An agent in a process whose states or actions have other numbers, but the same names.

    Parameters
    ----------
    agent : fitted agent with `actions_`; with `states_` too if it learned states by their names
    mdp : MDP
    """

    def __init__(self, agent: Any, mdp: MDP) -> None:
        self.agent, self.names = agent, mdp.state_names
        states = getattr(agent, "states_", None)
        if states is not None and _are_numbers(states, mdp.state_names, mdp.n_states):
            self.names = list(range(mdp.n_states))
        self.numbers = None if states is None else {name: i for i, name in enumerate(states)}
        known = mdp.action_names
        if _are_numbers(agent.actions_, known, mdp.n_actions):
            known = list(range(mdp.n_actions))
        self.actions = {name: i for i, name in enumerate(known)}
        unknown = [name for name in agent.actions_ if name not in self.actions]
        if unknown:
            raise ValueError(f"the world has no action {unknown[0]!r}, which the agent may take")

    def act(self, observation: Any, memory: Any = None, rng: Any = None) -> tuple[Any, Any]:
        """The action for one state of the process, and the memory of the agent."""
        by_name = self.agent.takes_names
        action, memory = self.agent.act(self._known_state(observation), memory, rng)
        return self.actions[action if by_name else self.agent.actions_[int(action)]], memory

    def _known_state(self, observation: Any) -> Any:
        """The state as the agent knows it."""
        if self.numbers is None:
            return observation
        name = self.names[int(observation)]
        if name not in self.numbers:
            raise ValueError(f"the agent does not know state {name!r} of this world: see states_")
        return name if self.agent.takes_names else self.numbers[name]


def _are_numbers(learned: Any, names: list, size: int) -> bool:
    """Whether what was learned are numbers of states or actions, which have other names."""
    return not set(learned) & set(names) and set(learned) <= set(range(size))


def match_names(agent: Any, world: Any) -> Any:
    """The agent, which sees the states of a process under the names that it has learned."""
    mdp, states = getattr(world, "mdp", world), getattr(agent, "states_", None)
    takes_names = getattr(agent, "takes_names", False)
    if not isinstance(mdp, MDP) or (states is None and not takes_names):
        return agent
    names = mdp.state_names, mdp.action_names
    is_same = not takes_names and names == (states, agent.actions_)
    return agent if is_same else NamedAgent(agent, mdp)


def mean_interval(values: np.ndarray, level: float = 0.95) -> ConfidenceInterval:
    """Confidence interval of a mean by Student's t; a single value has an endless one."""
    from scipy.stats import t

    n, mean = len(values), float(values.mean())
    if n < 2:
        return ConfidenceInterval(mean, -np.inf, np.inf, level, "t")
    margin = float(t.ppf((1 + level) / 2, n - 1)) * float(values.std(ddof=1)) / n**0.5
    return ConfidenceInterval(mean, mean - margin, mean + margin, level, "t")


def play(agent: Any, env: Any, seed: int, max_steps: int) -> Iterator[Move]:
    """The moves of one episode; at `max_steps` it is truncated."""
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    memory = None
    for t in range(1, max_steps + 1):
        action, memory = agent.act(observation, memory, rng)
        after, reward, terminated, truncated, _ = env.step(action)
        reward = check_reward(reward, t, seed)
        cut = bool(truncated) or (t == max_steps and not terminated)
        yield Move(observation, action, reward, after, bool(terminated), cut)
        if terminated or truncated:
            return
        observation = after


def check_reward(reward: Any, step: int, seed: int) -> float:
    """The reward as a number; an error that names the step if it is none."""
    try:
        value = float(reward)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(
            f"the world paid {reward!r} in step {step} of the episode with seed {seed}: rewards "
            "are finite numbers"
        )
    return value
