"""Bandits: several arms, no state, and the price of finding the best arm."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.rl._arguments import check_count, check_level, check_seed
from tenfold.rl._random_numba import draw_index, episode_seed
from tenfold.rl._table_numba import action_probabilities
from tenfold.rl.base import Agent
from tenfold.rl.episodes import Evaluation, check_reward, mean_interval
from tenfold.rl.exploration import BOLTZMANN, EPSILON_GREEDY, UCB

_CONSTANT_LEVEL = 0.1  # epsilon or temperature that does not decay, by default
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
    level : float, optional
        c, epsilon or temperature; by default 1 for "ucb" and where it decays, else 0.1.
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
        "level": [None, Interval(Real, 0, None, closed="neither")],
        "decay": ["boolean"],
        "n_pulls": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    _learned_shapes = {"means_": "m", "pulls_": "m"}

    def __init__(
        self,
        method: str = "ucb",
        *,
        level: float | None = None,
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
        n = _count_arms(arms)
        check_count(pulls, "pulls")
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
        reward = check_reward(_draw(arms, arm, rng), t + 1, self.seed_)
        self._sums[arm] += reward, reward * reward
        self.pulls_[arm] += 1
        taken.append(arm)
        rewards.append(reward)

    def _choose(self, t: int, rng: np.random.Generator) -> int:
        means = self._sums[:, 0] / np.maximum(self.pulls_, 1)
        if self.method == "thompson":
            return int(self._draw_means(means, rng).argmax())
        falls = self.decay and self.method != "ucb"
        level = self.level or (1.0 if falls or self.method == "ucb" else _CONSTANT_LEVEL)
        level = level / (t + 1) if falls else level
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

    def evaluate(  # pyright: ignore[reportIncompatibleMethodOverride]  a pull has no steps
        self,
        arms: Any,
        episodes: int = 100,
        *,
        random_state: int = 0,
        level: float = 0.95,
    ) -> Evaluation:
        """Mean reward of the best arm over pulls, with a confidence interval.

        Parameters
        ----------
        arms : Arms, or list of callables
        episodes : int
            Pulls.
        random_state : int
            Seed of the pulls.
        level : float
            Confidence level.
        """
        check_is_fitted(self)
        check_count(episodes, "episodes", 1)
        check_seed(random_state)
        check_level(level)
        if _count_arms(arms) != len(self.pulls_):
            raise ValueError(f"expected {len(self.pulls_)} arms, as learned")
        returns = np.zeros(episodes)
        for i in range(episodes):
            rng = np.random.default_rng(int(episode_seed(random_state, i)))
            returns[i] = check_reward(_draw(arms, self.best_arm_, rng), i + 1, random_state)
        interval = mean_interval(returns, level)
        return Evaluation(float(returns.mean()), interval, returns, np.ones(episodes, np.int64))

    def predict(self, observations: Any) -> np.ndarray:
        """The best arm, once for each observation, which is ignored."""
        check_is_fitted(self)
        return np.full(len(observations), self.best_arm_)


def _draw(arms: Any, arm: int, rng: np.random.Generator) -> Any:
    return arms.draw(arm, rng) if isinstance(arms, Arms) else arms[arm](rng)


def _count_arms(arms: Any) -> int:
    """Number of arms; an error if they are none."""
    if not isinstance(arms, Arms):
        if not isinstance(arms, list | tuple) or not arms or not all(map(callable, arms)):
            raise TypeError(
                f"arms is {arms!r}: give Arms([...]) or a list of functions of a Generator"
            )
        return len(arms)
    means = np.asarray(arms.means, dtype=np.float64)
    if means.ndim != 1 or not len(means) or not np.isfinite(means).all():
        raise ValueError(f"means={arms.means!r}: expected a finite number for each arm")
    if not arms.scale >= 0 or (arms.scale == 0 and ((means < 0) | (means > 1)).any()):
        raise ValueError(
            f"means={arms.means!r}, scale={arms.scale!r}: with scale=0, means are probabilities; "
            "otherwise scale is a standard deviation above 0"
        )
    return len(means)
