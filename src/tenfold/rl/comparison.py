"""The harness: runs, epochs, training and test episodes, and the mean over runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.model_selection.confidence_intervals import ConfidenceInterval
from tenfold.rl._arguments import check_count, check_seed
from tenfold.rl._random_numba import episode_seed
from tenfold.rl.bandits import Bandit
from tenfold.rl.episodes import mean_interval


class AgentComparison(NamedTuple):
    """Test returns of some agents.

    Attributes
    ----------
    returns : dict, name -> (n_runs, n_epochs) array
        Mean return of the test episodes.
    episodes : (n_epochs,) array
        Training episodes done before each test.
    """

    returns: dict[str, np.ndarray]
    episodes: np.ndarray

    def mean(self, name: str) -> np.ndarray:
        """Mean over runs after each epoch."""
        return self.returns[name].mean(axis=0)

    def interval(self, name: str, epoch: int = -1, level: float = 0.95) -> ConfidenceInterval:
        """Confidence interval of the mean over runs after an epoch.

        Parameters
        ----------
        name : str
        epoch : int
        level : float
        """
        return mean_interval(self.returns[name][:, epoch], level)

    def difference(
        self, first: str, second: str, epoch: int = -1, level: float = 0.95
    ) -> ConfidenceInterval:
        """Interval of the mean difference of two agents, run by run on the same luck.

        Parameters
        ----------
        first, second : str
        epoch : int
        level : float
        """
        gap = self.returns[first][:, epoch] - self.returns[second][:, epoch]
        return mean_interval(gap, level)


def compare(
    agents: Mapping[str, Any],
    world: Any,
    *,
    runs: int = 5,
    epochs: int = 20,
    train_episodes: int = 25,
    test_episodes: int = 50,
    discount: float = 1.0,
    max_steps: int = 10_000,
    random_state: int = 0,
) -> AgentComparison:
    """Train agents in turn with tests, several times.

    Each run trains a new copy of each agent: `epochs` times `train_episodes` episodes of
    learning, then `test_episodes` without. The test episodes of a run are the same for all agents.

    Parameters
    ----------
    agents : dict, name -> agent
        With `partial_fit(world, episodes)` and a parameter `random_state`; parameters that depend
        on `n_episodes` see the episodes of a whole run.
    world : MDP, environment, or dict, name -> world
        One for each agent where agents see the world differently.
    runs, epochs, train_episodes, test_episodes : int
    discount : float
        Of the returns of test episodes.
    max_steps : int
        Of a test episode.
    random_state : int

    Returns
    -------
    AgentComparison

    Examples
    --------
    >>> from tenfold import SARSA, QLearning
    >>> from tenfold.rl import compare, grid_world
    >>> agents = {"Q": QLearning(0.9), "SARSA": SARSA(0.9)}
    >>> result = compare(agents, grid_world(), runs=2, epochs=3, test_episodes=1, max_steps=50)
    >>> result.returns["Q"].shape, result.episodes.tolist()
    ((2, 3), [25, 50, 75])
    """
    counts = {"runs": runs, "epochs": epochs, "train_episodes": train_episodes}
    for what, value in counts.items():
        check_count(value, what, 1)
    check_seed(random_state)
    if not isinstance(agents, Mapping) or not agents:
        raise ValueError('agents: expected a dict, such as {"Q-learning": QLearning()}')
    if isinstance(world, Mapping) and (missing := [name for name in agents if name not in world]):
        raise ValueError(f"world: there is none for agent {missing[0]!r}")
    for name, agent in agents.items():
        if not hasattr(agent, "partial_fit") or isinstance(agent, Bandit):
            raise ValueError(
                f"{name}: a {type(agent).__name__} does not learn from episodes; evaluate it once "
                "with `agent.fit(mdp).evaluate(world)` and compare the means"
            )
    returns = {name: np.zeros((runs, epochs)) for name in agents}
    for name, prototype in agents.items():
        own = world[name] if isinstance(world, Mapping) else world
        for run in range(runs):
            seed = int(episode_seed(random_state, run))
            agent: Any = clone(prototype)
            agent.set_params(random_state=seed)
            if "n_episodes" in agent.get_params():
                agent.set_params(n_episodes=epochs * train_episodes)
            for epoch in range(epochs):
                agent.partial_fit(own, train_episodes)
                test = agent.evaluate(
                    own, test_episodes, discount=discount, max_steps=max_steps, random_state=seed
                )
                returns[name][run, epoch] = test.mean
    return AgentComparison(returns, train_episodes * np.arange(1, epochs + 1))
