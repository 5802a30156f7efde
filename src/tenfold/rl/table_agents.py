"""Learning values of actions in tables: Q-learning, SARSA and their relatives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.engine.hooks import end_loop, record_loop_state, report_objective, resume_loop
from tenfold.engine.validation import format_names
from tenfold.optim.schedules import ConstantRate, PowerDecay, Schedule, as_schedule, known_tail
from tenfold.rl import _table_numba as compiled
from tenfold.rl._arguments import check_count
from tenfold.rl._random_numba import episode_seed, uniform
from tenfold.rl.base import Agent, state_numbers
from tenfold.rl.environment import (
    as_environment,
    count_actions,
    observation_sizes,
    world_arrays,
)
from tenfold.rl.episodes import check_reward
from tenfold.rl.exploration import Boltzmann, EpsilonGreedy, UpperConfidence
from tenfold.rl.mdp import MDP
from tenfold.rl.moves import LoggedMoves, column_codes, is_move_table, read_moves
from tenfold.rl.observations import as_state_number
from tenfold.rl.policies import greedy_policy

_CALL_STEPS = 100_000  # steps of episodes in one compiled call, at most


TABLE_CONSTRAINTS: dict[str, Any] = {
    "discount": [Interval(Real, 0, 1, closed="both")],
    "learning_rate": [Interval(Real, 0, 1, closed="right"), callable],
    "exploration": [EpsilonGreedy, Boltzmann, UpperConfidence],
    "n_episodes": [Interval(Integral, 1, None, closed="left")],
    "max_steps": [Interval(Integral, 1, None, closed="left")],
    "double": ["boolean"],
    "n_steps": [Interval(Integral, 1, None, closed="left")],
    "trace_decay": [None, Interval(Real, 0, 1, closed="both")],
    "initial_q": [Real, "array-like"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class TableAgent(Agent):
    """What agents with a table of action values share."""

    _parameter_constraints = TABLE_CONSTRAINTS
    _learned_shapes = {"q_": "n m", "tables_": "_ n m", "visits_": "n m", "policy_": "n"}

    def fit(self, world: Any, y: Any = None, *, optimal_q: Any = None) -> Self:
        """Learn from `n_episodes` episodes, or from a table of moves that somebody made.

        Parameters
        ----------
        world : MDP, environment, name for `gymnasium.make`; or table or file of moves
            Of worlds, states and actions are numbers from 0 on. Moves have the columns state,
            action, reward, next_state and, if need be, terminated and truncated; they are learned
            from in their order, `n_episodes` times. `SARSA` takes the action of the next row for
            the next one, and leaves out moves of which it is not known.
        y : ignored
        optimal_q : array of shape (n_states, n_actions), optional
            What should be found; its largest distance goes into `history_`.
        """
        del y
        if is_move_table(world):
            with self._work_context():
                self._check_settings()
                return self._fit_moves(read_moves(world))
        self._forget()
        return self.partial_fit(world, self.n_episodes, optimal_q=optimal_q)

    def _fit_moves(self, log: LoggedMoves) -> Self:
        """Passes over logged moves."""
        moves, states = number_moves(self, log)
        self._forget()
        table = EpisodeTable(self, (len(states), len(log.actions)))
        try:
            table.replay(moves, self.n_episodes)
        finally:  # Ctrl-C keeps what is learned
            table.store(self)
            self.states_, self.actions_ = states, log.actions
        return self

    def partial_fit(self, world: Any, episodes: int, *, optimal_q: Any = None) -> Self:
        """Go on for some episodes: the result is that of one fit over all of them, to the bit.

        Parameters
        ----------
        world : MDP, environment, or name for `gymnasium.make`
        episodes : int
        optimal_q : array of shape (n_states, n_actions), optional
        """
        check_count(episodes, "episodes")
        with self._work_context():
            self._check_settings()
            table = EpisodeTable(self, world)
            n, k = table.tables[1].shape
            self.assert_same_actions(k)
            if self.takes_names and self.states_ != list(range(n)):
                raise ValueError(
                    f"the agent learned the states {format_names(self.states_)} from a table of "
                    f"moves, the world has the numbers 0 to {n - 1}"
                )
            try:
                table.run(episodes, optimal_q)
            finally:  # Ctrl-C keeps what is learned
                table.store(self)
        return self

    def _check_learned(self) -> None:
        """Raise an error if the numbers of a file cannot be counts of visits."""
        visits = getattr(self, "visits_", None)
        if visits is not None and (visits.dtype.kind != "i" or (visits < 0).any()):
            raise ValueError("visits_ holds something else than counts")

    def _check_settings(self) -> None:
        self.exploration.check()
        if self.trace_decay is not None and (self.n_steps > 1 or self.double):
            raise ValueError("trace_decay goes with n_steps=1 and double=False")

    @property
    def takes_names(self) -> bool:
        """Whether states and actions are names, as after learning from a table of moves."""
        return hasattr(self, "states_")

    @property
    def update_rule(self) -> int:
        """Code of the update."""
        raise NotImplementedError(f"{type(self).__name__} has to define update_rule")

    @property
    def meets_robbins_monro(self) -> bool | None:
        """Whether learning rates vanish, but not too fast: then Q converges; None if unknown.

        The sum of the rates of a pair diverges and that of their squares converges for rates
        t^-power with 1/2 < power <= 1; `tenfold.teaching.robbins_monro` tests any schedule.
        """
        tail = known_tail(as_schedule(self.learning_rate))
        return None if tail is None else 0.5 < tail.power <= 1

    def predict(self, observations: Any) -> np.ndarray:
        """The best action of each state.

        Parameters
        ----------
        observations : list of state numbers
            Or as the world gives them, if they are tuples; or names, if the agent learned from a
            table of moves: then the actions have their names too.
        """
        check_is_fitted(self, "q_")
        if self.takes_names:
            numbers = number_names(observations, self.states_)
            return self.name_actions(self.policy_[numbers])
        numbers = number_parts(observations, getattr(self, "observation_sizes_", ()))
        return self.policy_[state_numbers(numbers, len(self.q_))]


class EpisodeTable:
    """The table of a fit under way, and the episodes that fill it."""

    def __init__(self, agent: TableAgent, world: Any) -> None:
        self.agent = agent
        self.mdp = world if isinstance(world, MDP) else None
        self.env: Any = None
        self.sizes: tuple[int, ...] = ()
        if isinstance(world, tuple):  # numbers of states and actions of a table of moves
            self._start(np.ones(world, bool))
        elif self.mdp is not None:
            self._start(self.mdp.available)
        else:
            self.env = as_environment(world, agent.max_steps)
            n_actions = count_actions(self.env.action_space)
            self.sizes = observation_sizes(self.env.observation_space)
            self._start(np.ones((math.prod(self.sizes), n_actions), bool))

    def _start(self, there: np.ndarray) -> None:
        """Begin with a new table, or with that of the agent."""
        agent, (n, k) = self.agent, there.shape
        known = getattr(agent, "tables_", None)
        if known is not None and known.shape[1:] != (n, k):
            raise ValueError(
                f"the world has {n} states and {k} actions, the agent learned about "
                f"{known.shape[1]} and {known.shape[2]}"
            )
        initial = as_action_values(agent.initial_q, "initial_q", (n, k), is_finite=True)
        first = np.where(there, initial, -np.inf)
        if self.mdp is not None:
            first[self.mdp.terminal] = 0.0
        new = np.repeat(first[None], 2 if agent.double else 1, axis=0)
        tables = new if known is None else known.copy()
        self.seed = agent.seed_ if known is not None else agent.draw_seed()
        visits = np.zeros((n, k), np.int64) if known is None else agent.visits_.copy()
        self.tables = (tables, visits, np.zeros(k), np.zeros(k))
        self.memory = (
            np.zeros((agent.n_steps, 2), np.int64),
            np.zeros(agent.n_steps),
            np.zeros((n, k) if agent.trace_decay is not None else (1, 1)),
            np.zeros((n * k + 1 if agent.trace_decay is not None else 1, 2), np.int64),
            np.zeros(3, np.int64),
        )
        decay = -1.0 if agent.trace_decay is None else float(agent.trace_decay)
        self.settings = (agent.update_rule, float(agent.discount), int(agent.n_steps), decay, 1.0)
        self.rates, self.schedule = np.zeros(1), as_schedule(agent.learning_rate)
        names = ("return", "length", "seconds")
        old = getattr(agent, "history_", {})
        self.history = {name: [*old.get(name, [])] for name in names}
        self.errors = [*old.get("q_error", [])]
        self.error_episodes = [*old.get("q_error_episode", [])]

    def run(self, episodes: int, optimal_q: Any) -> None:
        """Some more episodes."""
        self.began = perf_counter()
        shape = self.tables[1].shape
        target = None if optimal_q is None else as_action_values(optimal_q, "optimal_q", shape)
        first = len(self.history["return"])
        self._resume()
        last = first + episodes
        block = max(min(_CALL_STEPS // self.agent.max_steps, max(episodes // 20, 1)), 1)
        try:
            while (done := len(self.history["return"])) < last:
                results = self._run_block(done, min(done + block, last))
                self._record(results)
                if target is not None:
                    self._measure(target)
                report_objective(float(results[:, 0].mean()))
                record_loop_state(len(self.history["return"]) - first, self._loop_state)
        finally:
            end_loop()

    def replay(self, moves: tuple[np.ndarray, ...], passes: int) -> None:
        """Learn from logged moves, one after the other, some times over."""
        states, actions = moves[:2]
        q, visits = self.tables[:2]
        most = int(np.bincount(states * visits.shape[1] + actions).max())  # visits of a pass
        done, state = resume_loop((q.copy(), visits.copy(), moves))
        if done:
            q[:], visits[:] = state
        try:
            for number in range(done, passes):
                self.extend_rates((number + 1) * most + 1)
                with self._undo_on_error():
                    seed = int(episode_seed(self.seed, number))
                    compiled.replay_moves(self.tables, moves, self.settings, self.rates, seed)
                record_loop_state(number + 1, lambda: (q.copy(), visits.copy()))
        finally:
            end_loop()

    def _record(self, results: np.ndarray) -> None:
        """Append returns and lengths of episodes to the history."""
        self.history["return"] += results[:, 0].tolist()
        self.history["length"] += results[:, 1].astype(np.int64).tolist()
        self.history["seconds"] += [perf_counter() - self.began] * len(results)

    @contextmanager
    def _undo_on_error(self) -> Iterator[None]:
        """Episodes that are interrupted have not happened."""
        before = self.tables[0].copy(), self.tables[1].copy()
        try:
            yield
        except BaseException:
            self.tables[0][:], self.tables[1][:] = before
            raise

    def _run_block(self, first: int, last: int) -> np.ndarray:
        agent = self.agent
        levels = agent.exploration.levels(first, last, agent.n_episodes)
        self.extend_rates(int(self.tables[1].max()) + (last - first) * agent.max_steps + 1)
        results = np.zeros((last - first, 2))
        how = type(agent.exploration).code
        if self.mdp is not None:
            arrays = world_arrays(self.mdp, agent.max_steps)
            episodes = (self.seed, first, how, levels)
            with self._undo_on_error():
                compiled.run_episodes(
                    arrays, self.tables, self.memory, episodes, self.settings, self.rates, results
                )
            return results
        done = 0
        try:
            for done in range(last - first):
                with self._undo_on_error():
                    results[done] = self._run_episode(first + done, how, float(levels[done]))
        except BaseException:
            self._record(results[:done])
            raise
        return results

    def _run_episode(self, number: int, how: int, level: float) -> tuple[float, int]:
        """One episode of an environment in Python, move by move as the compiled ones."""
        own = int(episode_seed(self.seed, number))
        luck = int(episode_seed(own, compiled.AGENT_STREAM))
        env: Any = self.env
        rule, discount, steps, decay, _ = self.settings
        compiled.begin_episode(self.memory)
        s = self._state_number(env.reset(seed=own)[0], 0, own)
        a = compiled.choose_action(self.tables, s, how, level, uniform(luck, 0))
        total, t, ends = 0.0, 0, 0
        while not ends:
            after, reward, terminated, truncated, _ = env.step(int(a))
            t, after = t + 1, self._state_number(after, t + 1, own)
            reward = check_reward(reward, t, own)
            total += reward
            ends = 1 if terminated else 2 if truncated or t >= self.agent.max_steps else 0
            b = compiled.choose_action(self.tables, after, how, level, uniform(luck, 2 * t))
            part = int(len(self.tables[0]) == 2 and uniform(luck, 2 * t + 1) < 0.5)
            is_watkins = rule == compiled.Q_LEARNING and decay >= 0
            greedy = compiled.is_greedy(self.tables, after, b) if is_watkins else 1.0
            settings = (rule, discount, steps, decay, greedy)
            move = (s, a, reward, ends)
            compiled.learn_move(
                self.tables, self.memory, move, (after, b), settings, self.rates, part
            )
            s, a = after, b
        return total, t

    def _state_number(self, observation: Any, step: int, seed: int) -> int:
        """The state that an observation stands for; an error that names the step if it is none."""
        try:
            return as_state_number(number_parts([observation], self.sizes)[0], len(self.tables[1]))
        except ValueError as problem:
            raise ValueError(f"step {step} of the episode with seed {seed}: {problem}") from None

    def extend_rates(self, size: int) -> None:
        """Learning rates of the visits up to `size`."""
        have = len(self.rates)
        if have < size:
            self.rates = np.concatenate([self.rates, visit_rates(self.schedule, have, size)])

    def _measure(self, target: np.ndarray) -> None:
        q = self.tables[0].mean(axis=0)
        there = np.isfinite(q) & np.isfinite(target)
        self.errors.append(float(np.abs(q - target)[there].max()))
        self.error_episodes.append(len(self.history["return"]))

    def _loop_state(self) -> tuple:
        h = self.history
        names = ("return", "length", "seconds")
        columns = tuple(np.array(h[name], dtype=np.float64) for name in names)
        errors = np.array(self.errors), np.array(self.error_episodes, dtype=np.float64)
        return (self.tables[0].copy(), self.tables[1].copy(), columns, errors)

    def _resume(self) -> None:
        """Take over the state of a checkpoint, if there is one."""
        done, state = resume_loop(self._loop_state())
        if done:
            q, visits, columns, errors = state
            self.tables[0][:], self.tables[1][:] = q, visits
            names = ("return", "length", "seconds")
            self.history = {n: c.tolist() for n, c in zip(names, columns, strict=True)}
            self.history["length"] = [int(n) for n in self.history["length"]]
            self.errors, self.error_episodes = errors[0].tolist(), errors[1].astype(int).tolist()

    def store(self, agent: Any) -> None:
        """Give what is learned to the agent."""
        q = self.tables[0].mean(axis=0)
        agent.tables_, agent.visits_, agent.seed_ = self.tables[0], self.tables[1], self.seed
        agent.q_, agent.values_, agent.policy_ = q, q.max(axis=1), greedy_policy(q, 0.0)
        agent.n_episodes_ = len(self.history["return"])
        if len(self.sizes) > 1:
            agent.observation_sizes_ = self.sizes
        agent.history_ = {name: np.array(column) for name, column in self.history.items()}
        if self.errors:
            agent.history_["q_error"] = np.array(self.errors)
            agent.history_["q_error_episode"] = np.array(self.error_episodes)


def number_moves(agent: TableAgent, log: LoggedMoves) -> tuple[tuple[np.ndarray, ...], list]:
    """Logged moves with numbers of states, and the names of these.

    The moves are states, actions, rewards, next states, next actions, and whether they ended.
    """
    if log.seen.ndim > 1:
        raise ValueError(
            f"{type(agent).__name__} takes moves with one column 'state'; LinearQ and DeepQ take "
            "several numbers"
        )
    if agent.n_steps > 1 or agent.trace_decay is not None:
        raise ValueError("moves of a table are learned from one by one: n_steps=1, no traces")
    if agent.update_rule == compiled.EXPECTED_SARSA:
        raise ValueError(
            "a table of moves does not tell the probabilities of actions: set expected=False, or "
            "take QLearning"
        )
    (s, after), states = column_codes([log.seen, log.after])
    moves = (s, log.action, log.reward, after)
    follow, is_known = log.next_actions()
    if agent.update_rule == compiled.SARSA:
        if not is_known.any():
            raise ValueError(
                "no row begins in the state in which the one before it ended: SARSA needs the "
                "moves of episodes in their order, QLearning does not"
            )
    else:
        is_known = np.ones(len(s), bool)
    moves = (*moves, follow, log.ended.astype(np.int64))
    return tuple(np.ascontiguousarray(part[is_known]) for part in moves), states


def number_parts(observations: Any, sizes: tuple[int, ...]) -> Any:
    """Observations of several parts as state numbers, the last part changing fastest."""
    if len(sizes) < 2:
        return observations
    parts = np.array([np.ravel(observation) for observation in observations])
    if parts.shape != (len(parts), len(sizes)) or (parts < 0).any() or (parts >= sizes).any():
        raise ValueError(f"an observation is no tuple of whole numbers below {sizes}")
    return np.ravel_multi_index(tuple(parts.T.astype(np.int64)), sizes)


def as_action_values(
    values: Any, name: str, shape: tuple[int, int], *, is_finite: bool = False
) -> np.ndarray:
    """Values of all actions as an array; an error that names them if they cannot be."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 0 and array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}: expected {shape}, states by actions")
    if np.isnan(array).any() or (is_finite and np.isinf(array).any()):
        raise ValueError(f"{name} holds numbers that are not finite")
    return np.broadcast_to(array, shape)


def number_names(observations: Any, names: list) -> np.ndarray:
    """Names of states as their numbers in a list; what is no name may be one as text."""
    numbers = {name: i for i, name in enumerate(names)}
    try:
        return np.array(
            [numbers[state if state in numbers else str(state)] for state in observations],
            dtype=np.int64,
        )
    except (KeyError, TypeError) as problem:
        raise ValueError(f"state {problem} is not among those of the moves: see states_") from None


def visit_rates(schedule: Schedule, first: int, last: int) -> np.ndarray:
    """Learning rates of the visits first, ..., last - 1; checked."""
    rates = schedule_rates(schedule, first, last)
    bad = ~((rates >= 0) & (rates <= 1))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"learning_rate({first + at}) is {rates[at]:g}: expected numbers from 0 to 1"
        )
    return rates


def schedule_rates(schedule: Schedule, first: int, last: int) -> np.ndarray:
    """Learning rates of the steps first, ..., last - 1."""
    t = np.arange(first, last)
    if isinstance(schedule, ConstantRate | PowerDecay):
        rate: Any = schedule
        return np.broadcast_to(np.asarray(rate(t.astype(np.float64))), t.shape)
    return np.array([schedule(int(step)) for step in t], dtype=np.float64)
