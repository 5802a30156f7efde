"""A fit of a deep Q-network under way: weights, remembered moves, episodes, gradient steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.dot_product import LANES
from tenfold.engine.hooks import end_loop, record_loop_state, report_objective, resume_loop
from tenfold.neural._fused_mlp import activation_code
from tenfold.neural._fused_optimizers import step_constants
from tenfold.neural.network import flatten_params, unflatten_params
from tenfold.optim.optimizers import Adam
from tenfold.optim.schedules import as_schedule
from tenfold.rl import _deep_q_numba as deep
from tenfold.rl import _table_numba as compiled
from tenfold.rl._arguments import assert_finite
from tenfold.rl._random_numba import draw_index, episode_seed, uniform
from tenfold.rl.episodes import check_reward

HISTORY = ("return", "length", "loss")
_ADAM = Adam()
_REPLAY_STREAM = 0xBA7C4  # tells the draws of moves from those of actions


class Replay(NamedTuple):
    """Moves that a network learns from; new ones replace the oldest.

    Attributes
    ----------
    seen, after : (capacity, n_features) float32 arrays
    action : (capacity,) array
    reward : (capacity,) float32 array
    ended : (capacity,) bool array
        Whether the episode terminated with the move; a cut is no end.
    """

    seen: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    after: np.ndarray
    ended: np.ndarray

    def put(self, i: int, move: tuple) -> None:
        """Remember a move in place i."""
        self.seen[i], self.action[i], self.reward[i], self.after[i], self.ended[i] = move

    def get(self, i: int) -> tuple:
        """A copy of the move in place i."""
        return tuple(part[i].copy() for part in self)


class DeepNetwork:
    """Sizes of a network as compiled code takes them, and its work space."""

    def __init__(self, agent: Any) -> None:
        widths = [*agent.network_.shape, *(shape[0] for shape in agent.network_.shapes)]
        codes = [activation_code(layer) for layer in agent.network_.layers]
        sizes = np.array([(p + 1) * q for p, q in pairwise(widths)])
        self.network = (np.array(widths), np.array(codes), np.cumsum(sizes) - sizes)
        self.per_row = int(widths[0] + 3 * sum(widths[1:]) + 2)

    def values(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Values of actions of the rows of X."""
        out = np.zeros((len(X), int(self.network[0][-1])), np.float32)
        space = np.zeros(self.per_row * len(X), np.float32)
        rows = np.arange(len(X))
        deep.forward_rows(
            np.ascontiguousarray(X).ravel(), rows, theta, self.network, space, out.ravel()
        )
        return out


class DeepRun:
    """A fit under way: weights, moves, and the episodes that change them."""

    def __init__(self, agent: Any, env: Any) -> None:
        self.agent, self.env = agent, env
        self.theta = flatten_params(agent.params_)
        self.target, self.moments = agent.target_.copy(), agent.moments_.copy()
        self.replay = Replay(*(part.copy() for part in agent.replay_))
        self.episodes, self.steps = agent.n_episodes_, agent.n_steps_
        self.updates = agent.n_updates_
        self.history = {name: agent.history_[name].tolist() for name in HISTORY}
        self.sizes = DeepNetwork(agent)
        batch = agent.batch_size
        k = int(self.sizes.network[0][-1])
        self.work = (
            np.zeros(self.sizes.per_row * batch, np.float32),
            np.zeros(-(-len(self.theta) // LANES) * LANES, np.float32),  # whole vectors
            np.zeros(batch * (k + 1), np.float32),
            np.zeros(3, np.float32),
        )
        self.options = np.array(
            [agent.discount, agent.double, agent.huber, agent.clip_norm], np.float32
        )
        self.known: dict[str, np.ndarray] = {}
        self.forgotten: list[tuple[int, tuple]] = []  # moves that this episode has replaced
        self.schedule = as_schedule(agent.learning_rate)
        self.single = np.zeros(k, np.float32), np.zeros(1, np.int64), np.zeros(k)

    @contextmanager
    def _undo_on_error(self) -> Iterator[None]:
        """Episodes and passes that are interrupted have not happened."""
        weights = self.theta.copy(), self.target.copy(), self.moments.copy()
        counts, self.forgotten = (self.steps, self.updates), []
        try:
            yield
        except BaseException:
            self.theta, self.target, self.moments = weights
            self.steps, self.updates = counts
            for i, move in reversed(self.forgotten):
                self.replay.put(i, move)
            raise

    def play(self) -> None:
        """One episode of learning; its luck depends on seed and number alone."""
        with self._undo_on_error():
            total, t, losses = self._play()
            assert_finite(self.theta, f"episode {self.episodes + 1}")
        self.episodes += 1
        for name, value in zip(HISTORY, (total, t, np.mean(losses or [0.0])), strict=True):
            self.history[name].append(float(value))

    def _play(self) -> tuple[float, int, list[float]]:
        """Return, length and losses of an episode."""
        agent, number = self.agent, self.episodes
        own = int(episode_seed(agent.seed_, number))
        luck = int(episode_seed(own, compiled.AGENT_STREAM))
        level = float(agent.exploration.levels(number, number + 1, agent.n_episodes)[0])
        x = self._encode(self.env.reset(seed=own)[0])
        total, t, ends, losses = 0.0, 0, False, []
        while not ends:
            a = self._choose(x, level, uniform(luck, t))
            seen, reward, terminated, truncated, _ = self.env.step(a)
            t += 1
            reward = check_reward(reward, t, own)
            total += reward
            after = self._encode(seen)
            self._remember(x, a, reward, after, bool(terminated))
            if self.steps >= agent.warmup and self.steps % agent.train_every == 0:
                full = min(self.steps, agent.replay_size)
                losses.append(self.train(self.steps, full, agent.gradient_steps))
            x = after
            ends = bool(terminated or truncated or t >= agent.max_steps)
        return total, t, losses

    def _encode(self, seen: Any) -> np.ndarray:
        encode = self.agent.encoder_
        if not isinstance(seen, str):
            return encode(seen).astype(np.float32)
        if seen not in self.known:
            self.known[seen] = encode(seen).astype(np.float32)
        return self.known[seen]

    def _choose(self, x: np.ndarray, level: float, u: float) -> int:
        out, row, chances = self.single
        deep.forward_rows(x, row, self.theta, self.sizes.network, self.work[0], out)
        q = out.astype(np.float64)
        counts = np.ones(len(q), np.int64)
        how = type(self.agent.exploration).code
        compiled.action_probabilities(q, counts, how, level, chances)
        return int(draw_index(chances, u))

    def _remember(self, x: Any, a: int, reward: float, after: Any, ended: bool) -> None:
        i = self.steps % self.agent.replay_size
        if self.steps >= self.agent.replay_size:
            self.forgotten.append((i, self.replay.get(i)))
        self.replay.put(i, (x, a, reward, after, ended))
        self.steps += 1

    def replay_log(self, passes: int, losses: list[float]) -> None:
        """Learn from logged moves in the place of remembered ones; losses of passes are added."""
        n = len(self.replay.action)
        done, state = resume_loop((self.theta.copy(), tuple(self.replay)))
        if done:
            self.theta, self.target, self.moments, known, updates = state
            losses[:], self.updates = known.tolist(), int(updates)
        try:
            for number in range(done, passes):
                with self._undo_on_error():
                    loss = self.train(number, n, -(-n // self.agent.batch_size))
                    assert_finite(self.theta, f"pass {number + 1} over the moves")
                losses.append(loss)
                report_objective(losses[-1])
                record_loop_state(number + 1, lambda: self._log_state(losses))
        finally:
            end_loop()

    def _log_state(self, losses: list[float]) -> tuple:
        weights = (self.theta.copy(), self.target.copy(), self.moments.copy())
        return (*weights, np.array(losses), self.updates)

    def train(self, draw: int, full: int, n: int) -> float:
        """N gradient steps on some of the first `full` moves; mean loss.

        Batches depend on the seed and on the number of the draw alone; the target network is
        renewed between steps.
        """
        agent, r, batch = self.agent, self.replay, self.agent.batch_size
        seed = int(episode_seed(agent.seed_ ^ _REPLAY_STREAM, draw))
        rows = np.random.Generator(np.random.Philox(key=seed)).integers(0, full, n * batch)
        replay = (r.seen.reshape(-1), r.action, r.reward, r.after.reshape(-1), r.ended)
        losses, done = np.zeros(n), 0
        thetas, moments = (self.theta, self.target), (self.moments[0], self.moments[1])
        while done < n:
            some = min(n - done, agent.target_every - self.updates % agent.target_every)
            steps = range(self.updates + 1, self.updates + 1 + some)
            rates = [step_constants(_ADAM, t, self.schedule(t), np.float32) for t in steps]
            own = rows[done * batch : (done + some) * batch]
            deep.train_steps(
                replay, own, batch, thetas, moments, self.sizes.network, np.array(rates),
                self.options, self.work, losses[done : done + some],
            )  # fmt: skip
            done, self.updates = done + some, self.updates + some
            if self.updates % agent.target_every == 0:
                self.target[:] = self.theta
        return float(losses.mean())

    def state(self) -> tuple:
        """All that the next episode depends on."""
        counts = np.array([self.episodes, self.steps, self.updates])
        history = tuple(np.array(self.history[name], dtype=np.float64) for name in HISTORY)
        weights = (self.theta.copy(), self.target.copy(), self.moments.copy())
        return (*weights, tuple(part.copy() for part in self.replay), counts, history)

    def resume(self, saved: tuple[int, tuple]) -> None:
        """Take over the state of a checkpoint, if there is one."""
        done, state = saved
        if done:
            self.theta, self.target, self.moments, replay, counts, history = state
            self.replay = Replay(*replay)
            self.episodes, self.steps, self.updates = (int(n) for n in counts)
            self.history = {n: c.tolist() for n, c in zip(HISTORY, history, strict=True)}

    def store(self) -> None:
        """Give what is learned to the agent."""
        agent: Any = self.agent
        agent.params_ = unflatten_params(self.theta, agent.params_)
        agent.target_, agent.moments_, agent.replay_ = self.target, self.moments, self.replay
        agent.n_episodes_, agent.n_steps_, agent.n_updates_ = (
            self.episodes,
            self.steps,
            self.updates,
        )
        old = getattr(agent, "history_", {})
        agent.history_ = old | {name: np.array(self.history[name]) for name in HISTORY}
