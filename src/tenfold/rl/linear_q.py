"""Q-learning with linear approximation: a weight for each feature, for each action or jointly."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.engine.hooks import end_loop, record_loop_state, report_objective, resume_loop
from tenfold.optim.schedules import Schedule, as_schedule
from tenfold.rl import _table_numba as compiled
from tenfold.rl._arguments import as_list, assert_finite, check_count
from tenfold.rl._random_numba import draw_index, episode_seed, uniform
from tenfold.rl.base import Agent
from tenfold.rl.environment import as_environment, assert_all_actions, count_actions
from tenfold.rl.episodes import check_reward
from tenfold.rl.exploration import Boltzmann, EpsilonGreedy
from tenfold.rl.moves import LoggedMoves, is_move_table, read_moves
from tenfold.rl.observations import ObservationEncoder, number_observations
from tenfold.rl.table_agents import schedule_rates

_DEFAULT_EXPLORATION = EpsilonGreedy()


class LinearQ(Agent):
    r"""Q-learning with values of actions that are linear in features.

    They are :math:`Q(s, a) = \theta_a \cdot x(s)`, or :math:`\theta \cdot x(s, a)`.
    After a move from s by a to s' with reward r, half the squared error
    :math:`(y - Q(s, a))^2 / 2` of the target
    :math:`y = r + \gamma \max_{a'} Q(s', a')`, which is held fixed, has the gradient step

    .. math:: \theta_a \leftarrow \theta_a + \alpha\,(y - Q(s, a))\, x(s).

    With one indicator for each state this is Q-learning in a table, to the bit.

    Parameters
    ----------
    discount : float
        :math:`\gamma`.
    features : transformer, callable or None
        Turns observations into features: a model with `transform`, such as `WordCounts` for texts
        (it learns its words from the `texts` of the world if it is not fitted), or a function of
        one observation. None: an indicator for each state number, or the numbers of an array.
    joint_features : callable, optional
        ``joint_features(observation, action)`` gives features of both, with one weight vector for
        all actions; in place of `features`. Actions of a table of moves come by their names.
    learning_rate : float or schedule
        :math:`\alpha` of the t-th step.
    exploration : EpsilonGreedy or Boltzmann
        How actions are chosen while learning.
    n_episodes : int
        Episodes of a fit; passes over a table of moves.
    max_steps : int
        After which an episode is cut. A cut is no end: the last state keeps its worth.
    random_state : int, RandomState or None
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    theta_ : (n_actions, n_features) array; (1, n_features) with joint features
    n_episodes_, n_steps_ : int
    history_ : dict
        Of each episode "return", "length" and the mean absolute "error" of its targets; of each
        pass over a table of moves its "pass_error".
    actions_ : list
        Names of the actions of a table of moves.

    See Also
    --------
    DeepQ : A network instead of a linear function.

    Examples
    --------
    >>> from tenfold import LinearQ, WordCounts
    >>> from tenfold.rl import TextGame
    >>> words = WordCounts("presence")
    >>> agent = LinearQ(0.5, features=words, learning_rate=0.05, n_episodes=1000, random_state=0)
    >>> agent = agent.fit(TextGame())
    >>> bool(agent.evaluate(TextGame(), 50, discount=0.5).mean > 0.3)
    True
    """

    _parameter_constraints = {
        "discount": [Interval(Real, 0, 1, closed="both")],
        "features": "no_validation",
        "joint_features": [None, callable],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), callable],
        "exploration": [EpsilonGreedy, Boltzmann],
        "n_episodes": [Interval(Integral, 1, None, closed="left")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _learned_shapes = {"theta_": "_ _"}

    def __init__(
        self,
        discount: float = 0.99,
        *,
        features: Any = None,
        joint_features: Callable[[Any, int], Any] | None = None,
        learning_rate: float | Schedule = 0.1,
        exploration: Any = _DEFAULT_EXPLORATION,
        n_episodes: int = 1000,
        max_steps: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.discount, self.features, self.joint_features = discount, features, joint_features
        self.learning_rate, self.exploration = learning_rate, exploration
        self.n_episodes, self.max_steps = n_episodes, max_steps
        self.random_state, self.verbose = random_state, verbose

    def fit(self, world: Any, y: Any = None) -> Self:
        """Learn from `n_episodes` episodes, or from a table of moves that somebody made.

        Parameters
        ----------
        world : MDP, environment, name for `gymnasium.make`; or table or file of moves
            Of worlds, actions are numbers from 0 on. Moves have the columns state, action, reward,
            next_state (for several numbers state_0, state_1, ..., next_state_0, ...) and, if need
            be, terminated; they are learned from in their order, `n_episodes` times.
        y : ignored
        """
        del y
        if is_move_table(world):
            with self._work_context():
                return self._fit_moves(read_moves(world))
        self._forget()
        return self.partial_fit(world, self.n_episodes)

    @property
    def takes_names(self) -> bool:
        """Whether actions are those of a table of moves, listed in `actions_`."""
        return hasattr(self, "actions_")

    def _fit_moves(self, log: LoggedMoves) -> Self:
        """Passes over logged moves."""
        k, n = len(log.actions), len(log.action)
        together = np.concatenate([log.seen, log.after])
        different, codes = number_observations(together)
        self._forget()
        self.encoder_ = None
        if self.joint_features is None:
            self.encoder_ = ObservationEncoder.make_for_log(self.features, together)
            self.encoder_.assert_small(len(different), np.float64)
        self.n_actions_, self.actions_, self.seed_ = k, log.actions, self.draw_seed()
        features = np.array([self._feature_rows(seen) for seen in different.tolist()])
        theta = np.zeros((k if self.joint_features is None else 1, features.shape[2]))
        moves = (codes[:n], log.action, log.reward, codes[n:], log.ended)
        done, state = resume_loop((theta, features, moves))
        errors = np.zeros(self.n_episodes)
        if done:
            theta, errors[:done] = state
        number = done
        try:
            for number in range(done, self.n_episodes):
                theta, errors[number] = self._replay(theta, features, moves, number)
                record_loop_state(number + 1, lambda w=theta, m=number + 1: (w, errors[:m]))
            number = self.n_episodes
        finally:  # Ctrl-C keeps what is learned
            end_loop()
            self.theta_ = theta
            self.n_episodes_, self.n_steps_ = 0, number * n
            self.history_ = {name: np.zeros(0) for name in ("return", "length", "error")}
            self.history_["pass_error"] = errors[:number]
        return self

    def _replay(
        self, theta: np.ndarray, features: np.ndarray, moves: tuple, number: int
    ) -> tuple[np.ndarray, float]:
        """Weights after one more pass over logged moves, and its mean absolute error."""
        n, new = len(moves[0]), theta.copy()
        rates = schedule_rates(
            as_schedule(self.learning_rate), number * n + 1, (number + 1) * n + 1
        )
        error = compiled.replay_linear_moves(
            new, features, moves, rates, float(self.discount), self.n_actions_
        )
        assert_finite(new, f"pass {number + 1} over the moves")
        report_objective(error)
        return new, error

    def partial_fit(self, world: Any, episodes: int) -> Self:
        """Go on for some episodes: the result is that of one fit over all of them, to the bit.

        Parameters
        ----------
        world : MDP, environment, or name for `gymnasium.make`
        episodes : int
        """
        check_count(episodes, "episodes")
        with self._work_context():
            self.exploration.check()
            assert_all_actions(world, type(self).__name__)
            env = as_environment(world, self.max_steps)
            k = count_actions(env.action_space)
            self.assert_same_actions(k)
            if not hasattr(self, "theta_"):
                self._begin(env, k)
            first, target = self.n_episodes_, self.n_episodes_ + episodes
            self._resume()
            known: dict[str, np.ndarray] = {}
            try:
                while self.n_episodes_ < target:
                    self._run_episode(env, known)
                    report_objective(float(self.history_["return"][-1]))
                    record_loop_state(self.n_episodes_ - first, self._loop_state)
            finally:
                end_loop()
        return self

    def _begin(self, env: Any, k: int) -> None:
        self.encoder_: Any = None
        if self.joint_features is None:
            self.encoder_ = ObservationEncoder.make(self.features, env)
            size, rows = self.encoder_.size, k
        else:
            seen = env.reset(seed=0)[0]
            size, rows = len(np.atleast_1d(self.joint_features(seen, 0))), 1
        self.seed_ = self.draw_seed()
        self.theta_, self.n_actions_ = np.zeros((rows, size)), k
        self.n_episodes_ = self.n_steps_ = 0
        self.history_ = {name: np.zeros(0) for name in ("return", "length", "error")}

    def _feature_rows(self, observation: Any, known: dict | None = None) -> np.ndarray:
        """Features for each action, (n_actions, n_features); one row where all share them.

        `known` remembers the features of texts.
        """
        if self.joint_features is None:
            if known is None or not isinstance(observation, str):
                return self.encoder_(observation)[None]
            if observation not in known:
                known[observation] = self.encoder_(observation)[None]
            return known[observation]
        actions = self.actions_ if self.takes_names else range(self.n_actions_)
        rows = [np.atleast_1d(self.joint_features(observation, a)) for a in actions]
        return np.asarray(rows, dtype=np.float64)

    def _action_values(self, x: np.ndarray) -> np.ndarray:
        return self.theta_ @ x[0] if self.joint_features is None else x @ self.theta_[0]

    def _choose(self, q: np.ndarray, level: float, u: float) -> int:
        chances = np.zeros(len(q))
        counts = np.ones(len(q), np.int64)
        compiled.action_probabilities(q, counts, type(self.exploration).code, level, chances)
        return int(draw_index(chances, u))

    def _run_episode(self, env: Any, known: dict) -> None:
        """One episode of learning; its luck depends on seed and number alone."""
        number = self.n_episodes_
        own = int(episode_seed(self.seed_, number))
        luck = int(episode_seed(own, compiled.AGENT_STREAM))
        level = float(self.exploration.levels(number, number + 1, self.n_episodes)[0])
        rate, theta = as_schedule(self.learning_rate), self.theta_.copy()
        before, steps = self.theta_, self.n_steps_
        self.theta_ = theta
        x = self._feature_rows(env.reset(seed=own)[0], known)
        a = self._choose(self._action_values(x), level, uniform(luck, 0))
        total, t, errors, ends = 0.0, 0, 0.0, False
        try:
            while not ends:
                seen, reward, terminated, truncated, _ = env.step(a)
                t += 1
                reward = check_reward(reward, t, own)
                total += reward
                after = self._feature_rows(seen, known)
                q = self._action_values(after)
                b = self._choose(q, level, uniform(luck, 2 * t))
                worth = 0.0 if terminated else float(q.max())
                row, own_x = (a, x[0]) if self.joint_features is None else (0, x[a])
                error = reward + self.discount * worth - float(theta[row] @ own_x)
                steps += 1
                theta[row] += rate(steps) * error * own_x
                errors += abs(error)
                x, a = after, b
                ends = bool(terminated or truncated or t >= self.max_steps)
            assert_finite(theta, f"episode {number + 1}")
        except BaseException:
            self.theta_ = before  # an episode counts as a whole
            raise
        self.n_episodes_, self.n_steps_ = number + 1, steps
        news = (total, float(t), errors / t)
        names = ("return", "length", "error")
        self.history_ |= {
            n: np.append(self.history_[n], v) for n, v in zip(names, news, strict=True)
        }

    def _loop_state(self) -> tuple:
        columns = tuple(self.history_[name] for name in ("return", "length", "error"))
        return self.theta_, self.n_episodes_, self.n_steps_, columns

    def _resume(self) -> None:
        done, state = resume_loop(self._loop_state())
        if done:
            self.theta_, episodes, steps, columns = state
            self.n_episodes_, self.n_steps_ = int(episodes), int(steps)
            names = ("return", "length", "error")
            self.history_ |= dict(zip(names, columns, strict=True))

    def action_values(self, observations: Any) -> np.ndarray:
        """Q of each observation and action.

        Parameters
        ----------
        observations : list
            As the world gives them.
        """
        check_is_fitted(self, "theta_")
        given = as_list(observations)
        values = [self._action_values(self._feature_rows(seen)) for seen in given]
        return np.array(values).reshape(len(given), self.n_actions_)

    def predict(self, observations: Any) -> np.ndarray:
        """The best action for each observation.

        Parameters
        ----------
        observations : list
            As the world gives them.
        """
        return self.name_actions(self.action_values(observations).argmax(axis=1))
