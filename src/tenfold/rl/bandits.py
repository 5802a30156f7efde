"""Bandits: several arms, no state, and the price of finding the best arm."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.rl._random_numba import draw_index, episode_seed
from tenfold.rl._table_numba import action_probabilities
from tenfold.rl.base import Agent
from tenfold.rl.episodes import check_reward
from tenfold.rl.exploration import BOLTZMANN, EPSILON_GREEDY, UCB

_METHODS = {"epsilon-greedy": EPSILON_GREEDY, "boltzmann": BOLTZMANN, "ucb": UCB}


class Arms(NamedTuple):
    """Arms with random rewards.

    Attributes
    ----------
    means : array of shape (n_arms,)
        Mean reward of each arm.
    scale : float
        Standard deviation of Gaussian rewards; 0: rewards are 1 with these probabilities, else 0.

    Examples
    --------
    >>> import numpy as np
    >>> Arms([0.2, 0.9]).draw(1, np.random.default_rng(0))
    1.0
    """

    means: Any
    scale: float = 0.0

    def draw(self, arm: int, rng: np.random.Generator) -> float:
        """A reward of an arm."""
        if self.scale > 0:
            return float(rng.normal(self.means[arm], self.scale))
        return float(rng.random() < self.means[arm])


class Bandit(Agent):
    r"""Pull arms, and find the best one while earning.

    - "ucb": the largest :math:`\bar r_a + c \sqrt{\log t / n_a}` (Auer et al., 2002);
    - "thompson": a draw from the posterior of each mean, and the arm with the largest one (Beta for
      rewards that are 0 or 1, otherwise Gaussian with the spread of the rewards so far);
    - "epsilon-greedy" and "boltzmann", also with `level` falling as 1 / t.

    The regret is what the best arm would have paid more, in expectation. It grows with log t for
    the first two, in proportion to t where exploration never ends.

    Parameters
    ----------
    method : {"ucb", "thompson", "epsilon-greedy", "boltzmann"}
    level : float
        c, epsilon or temperature.
    decay : bool
        Whether the level of "epsilon-greedy" and "boltzmann" is divided by the number of pulls.
    n_pulls : int
    random_state : int, RandomState or None

    Attributes
    ----------
    means_ : (n_arms,) array
        Mean rewards that were found.
    pulls_ : (n_arms,) array
    best_arm_ : int
    history_ : dict
        Of each pull "arm" and "reward"; "regret", summed up, if the means of the arms are known.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer (2002), "Finite-time analysis of the multiarmed bandit
    problem". W. R. Thompson (1933), "On the likelihood that one unknown probability exceeds
    another".

    Examples
    --------
    >>> from tenfold import Bandit
    >>> from tenfold.rl import Arms
    >>> agent = Bandit("thompson", n_pulls=500, random_state=0).fit(Arms([0.2, 0.5, 0.7]))
    >>> agent.best_arm_, bool(agent.pulls_[2] > 350)
    (2, True)
    """

    _parameter_constraints = {
        "method": [StrOptions({*_METHODS, "thompson"})],
        "level": [Interval(Real, 0, None, closed="neither")],
        "decay": ["boolean"],
        "n_pulls": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    _learned_shapes = {"means_": "m", "pulls_": "m"}

    def __init__(
        self,
        method: str = "ucb",
        *,
        level: float = 1.0,
        decay: bool = False,
        n_pulls: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.method, self.level, self.decay = method, level, decay
        self.n_pulls, self.random_state = n_pulls, random_state

    def fit(self, arms: Any, y: Any = None) -> Self:
        """Pull arms `n_pulls` times.

        Parameters
        ----------
        arms : Arms, or list of callables
            Callables take a Generator and return a reward.
        y : ignored
        """
        del y
        self.__dict__.pop("history_", None)
        return self.partial_fit(arms, self.n_pulls)

    def partial_fit(self, arms: Any, pulls: int) -> Self:
        """Go on pulling; the result is that of one fit over all pulls, to the bit.

        Parameters
        ----------
        arms : Arms, or list of callables
        pulls : int
        """
        n = len(arms.means) if isinstance(arms, Arms) else len(arms)
        with self._work_context():
            if not hasattr(self, "history_"):
                self.seed_ = self.draw_seed()
                self._sums, self.pulls_ = np.zeros((n, 2)), np.zeros(n, np.int64)
                self.history_ = {"arm": np.zeros(0, np.int64), "reward": np.zeros(0)}
            if len(self.pulls_) != n:
                raise ValueError(f"{n} arms, but the agent knows {len(self.pulls_)}")
            taken, rewards = [], []
            try:
                for _ in range(pulls):
                    self._pull(arms, taken, rewards)
            finally:  # Ctrl-C keeps what is learned
                self._store(arms, taken, rewards)
        return self

    def _pull(self, arms: Any, taken: list, rewards: list) -> None:
        t = int(self.pulls_.sum())
        rng = np.random.default_rng(int(episode_seed(self.seed_, t)))
        arm = self._choose(t, rng)
        reward = arms.draw(arm, rng) if isinstance(arms, Arms) else arms[arm](rng)
        reward = check_reward(reward, t + 1, self.seed_)
        self._sums[arm] += reward, reward * reward
        self.pulls_[arm] += 1
        taken.append(arm)
        rewards.append(reward)

    def _choose(self, t: int, rng: np.random.Generator) -> int:
        means = self._sums[:, 0] / np.maximum(self.pulls_, 1)
        if self.method == "thompson":
            return int(self._draw_means(means, rng).argmax())
        level = self.level / (t + 1) if self.decay and self.method != "ucb" else self.level
        if self.method == "epsilon-greedy":
            level = min(level, 1.0)
        chances = np.zeros(len(means))
        action_probabilities(means, self.pulls_, _METHODS[self.method], level, chances)
        return int(draw_index(chances, rng.random()))

    def _draw_means(self, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A draw from the posterior of each mean."""
        n, total = self.pulls_, self._sums[:, 0]
        if np.array_equal(self._sums[:, 0], self._sums[:, 1]):  # all rewards are 0 or 1
            return rng.beta(1 + total, 1 + n - total)
        untried = n == 0
        if untried.any():
            return np.where(untried, rng.random(len(n)) + 1, 0.0)
        spread = self._sums.sum(axis=0) / n.sum()
        scale = np.sqrt(max(float(spread[1] - spread[0] ** 2), 1e-12))
        return rng.normal(means, scale / np.sqrt(n))

    def _store(self, arms: Any, taken: list, rewards: list) -> None:
        h = self.history_
        self.history_ = {
            "arm": np.concatenate([h["arm"], np.array(taken, dtype=np.int64)]),
            "reward": np.concatenate([h["reward"], np.array(rewards, dtype=np.float64)]),
        }
        if isinstance(arms, Arms):
            known = np.asarray(arms.means, dtype=np.float64)
            self.history_["regret"] = np.cumsum(known.max() - known[self.history_["arm"]])
        self.means_ = self._sums[:, 0] / np.maximum(self.pulls_, 1)
        self.best_arm_ = int(np.where(self.pulls_ > 0, self.means_, -np.inf).argmax())

    def predict(self, observations: Any) -> np.ndarray:
        """The best arm, once for each observation, which is ignored."""
        check_is_fitted(self)
        return np.full(len(observations), self.best_arm_)
