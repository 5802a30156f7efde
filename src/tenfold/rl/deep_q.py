"""Deep Q-learning: a network for the values of actions, replay, and a target network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold._compiled.dot_product import LANES
from tenfold.base._sklearn import Interval
from tenfold.engine.hooks import end_loop, record_loop_state, report_objective, resume_loop
from tenfold.neural._fused_mlp import activation_code
from tenfold.neural._fused_optimizers import step_constants
from tenfold.neural.layers.dense import Dense
from tenfold.neural.network import (
    build_network,
    check_params,
    flatten_params,
    unflatten_params,
)
from tenfold.optim.optimizers import Adam
from tenfold.optim.schedules import Schedule, as_schedule
from tenfold.rl import _deep_q_numba as deep
from tenfold.rl import _table_numba as compiled
from tenfold.rl._random_numba import draw_index, episode_seed, uniform
from tenfold.rl.base import Agent
from tenfold.rl.environment import as_environment, count_actions
from tenfold.rl.episodes import check_reward
from tenfold.rl.exploration import EpsilonGreedy
from tenfold.rl.observations import ObservationEncoder

_DEFAULT_EXPLORATION = EpsilonGreedy(1.0, 0.04, 0.5)
_DEFAULT_LAYERS = (Dense(128, "relu"), Dense(128, "relu"))
_HISTORY = ("return", "length", "loss")
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


class DeepQ(Agent):
    r"""Q-learning with a neural network.

    The network gives the values of all actions of a state. Every `train_every` moves, a batch of
    moves (s, a, r, s') is drawn from the last `replay_size` ones, and a step of Adam reduces

    .. math:: \tfrac{1}{n} \sum L\bigl(r + \gamma\, Q_{\theta'}(s', a^*) - Q_\theta(s, a)\bigr),
        \qquad a^* = \arg\max_b Q_\theta(s', b),

    where L is Huber's loss and :math:`\theta'` a copy of the weights that is renewed every
    `target_every` steps. After moves that terminated nothing is added to r.

    Parameters
    ----------
    discount : float
        :math:`\gamma`.
    layers : sequence of Dense
        Hidden layers of `tenfold.neural`, with the activations linear, relu, tanh or sigmoid; a
        last layer with an output for each action is added. Empty: a linear function.
    features : transformer, callable or None
        As in `LinearQ`.
    learning_rate : float or schedule
        Of Adam, in the t-th gradient step.
    exploration : EpsilonGreedy or Boltzmann
    n_episodes, max_steps : int
        As in `QLearning`.
    replay_size : int
        Moves that are remembered.
    batch_size, train_every, warmup : int
        Moves of a batch; moves between two batches; moves before the first one.
    gradient_steps : int
        Batches each time.
    target_every : int
        Gradient steps after which the target network is renewed.
    double : bool
        Whether the network that learns chooses the next action (double Q-learning); otherwise the
        target network does.
    huber : float
        Error up to which the loss is squared.
    clip_norm : float
        Largest norm of a gradient.
    random_state : int, RandomState or None
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    network_, params_ : network of `tenfold.neural`, and its weights
    n_episodes_, n_steps_, n_updates_ : int
        Episodes, moves and gradient steps.
    history_ : dict
        Of each episode "return", "length" and mean "loss".

    See Also
    --------
    LinearQ, QLearning

    References
    ----------
    V. Mnih et al. (2015), "Human-level control through deep reinforcement learning". H. van
    Hasselt, A. Guez, D. Silver (2016), "Deep reinforcement learning with double Q-learning".

    Examples
    --------
    >>> from tenfold import DeepQ
    >>> from tenfold.rl import delayed_reward
    >>> agent = DeepQ(
    ...     0.9,
    ...     layers=(),
    ...     learning_rate=0.05,
    ...     n_episodes=400,
    ...     warmup=50,
    ...     train_every=4,
    ...     gradient_steps=4,
    ...     target_every=20,
    ...     random_state=0,
    ... )
    >>> agent.fit(delayed_reward(length=3)).predict([0, 1, 2]).tolist()
    [1, 1, 1]
    """

    _parameter_constraints = {
        "discount": [Interval(Real, 0, 1, closed="both")],
        "layers": [list, tuple],
        "features": "no_validation",
        "learning_rate": [Interval(Real, 0, None, closed="neither"), callable],
        "exploration": [tuple],
        "n_episodes": [Interval(Integral, 1, None, closed="left")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "replay_size": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "train_every": [Interval(Integral, 1, None, closed="left")],
        "warmup": [Interval(Integral, 1, None, closed="left")],
        "gradient_steps": [Interval(Integral, 1, None, closed="left")],
        "target_every": [Interval(Integral, 1, None, closed="left")],
        "double": ["boolean"],
        "huber": [Interval(Real, 0, None, closed="neither")],
        "clip_norm": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        discount: float = 0.99,
        *,
        layers: Sequence[Dense] = _DEFAULT_LAYERS,
        features: Any = None,
        learning_rate: float | Schedule = 1e-3,
        exploration: Any = _DEFAULT_EXPLORATION,
        n_episodes: int = 400,
        max_steps: int = 10_000,
        replay_size: int = 50_000,
        batch_size: int = 64,
        train_every: int = 128,
        warmup: int = 1000,
        gradient_steps: int = 64,
        target_every: int = 64,
        double: bool = True,
        huber: float = 100.0,
        clip_norm: float = 10.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.discount, self.layers, self.features = discount, layers, features
        self.learning_rate, self.exploration = learning_rate, exploration
        self.n_episodes, self.max_steps = n_episodes, max_steps
        self.replay_size, self.batch_size, self.train_every = replay_size, batch_size, train_every
        self.warmup, self.gradient_steps = warmup, gradient_steps
        self.target_every, self.double = target_every, double
        self.huber, self.clip_norm = huber, clip_norm
        self.random_state, self.verbose = random_state, verbose

    def fit(self, world: Any, y: Any = None) -> Self:
        """Learn from `n_episodes` episodes.

        Parameters
        ----------
        world : MDP, environment, or name for `gymnasium.make`
            With actions that are numbers from 0 on.
        y : ignored
        """
        del y
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        return self.partial_fit(world, self.n_episodes)

    def partial_fit(self, world: Any, episodes: int) -> Self:
        """Go on for some episodes: the result is that of one fit over all of them, to the bit.

        Parameters
        ----------
        world : MDP, environment, or name for `gymnasium.make`
        episodes : int
        """
        with self._work_context():
            self.exploration.check()
            env = as_environment(world, self.max_steps)
            if not hasattr(self, "params_"):
                self._begin(env)
            run = DeepRun(self, env)
            first, target = self.n_episodes_, self.n_episodes_ + episodes
            run.resume(resume_loop(run.state()))
            try:
                while run.episodes < target:
                    run.play()
                    report_objective(run.history["return"][-1])
                    record_loop_state(run.episodes - first, run.state)
            finally:  # Ctrl-C keeps what is learned
                run.store()
                end_loop()
        return self

    def _begin(self, env: Any) -> None:
        k = count_actions(env.action_space)
        self.seed_ = self.draw_seed()
        self.encoder_ = ObservationEncoder.make(self.features, env)
        layers = [*self.layers, Dense(k)]
        for number, layer in enumerate(layers):
            if activation_code(layer) is None:
                raise ValueError(
                    f"layers[{number}] is {layer}: DeepQ takes Dense layers with a bias and the "
                    "activations linear, relu, tanh or sigmoid"
                )
        rng = np.random.default_rng(self.seed_)
        self.network_, self.params_ = build_network(layers, (self.encoder_.size,), rng)
        size = sum(p.size for p in self.params_)
        p, n = self.encoder_.size, self.replay_size
        self.replay_ = Replay(
            np.zeros((n, p), np.float32), np.zeros(n, np.int64), np.zeros(n, np.float32),
            np.zeros((n, p), np.float32), np.zeros(n, bool),
        )  # fmt: skip
        self.target_ = flatten_params(self.params_)
        self.moments_ = np.zeros((2, size), np.float32)
        self.n_episodes_ = self.n_steps_ = self.n_updates_ = 0
        self.history_ = {name: np.zeros(0) for name in _HISTORY}

    def _check_learned(self) -> None:
        """Raise an error if the arrays of a file do not fit each other."""
        if not hasattr(self, "params_"):
            return
        check_params(self.network_, self.params_)
        if any(activation_code(layer) is None for layer in self.network_.layers):
            raise ValueError("network_ has layers that DeepQ does not take")
        size, p = sum(array.size for array in self.params_), self.network_.shape[0]
        k, n = self.network_.shapes[-1][0], self.replay_size
        shapes = [(n, p), (n,), (n,), (n, p), (n,)]
        if (
            [part.shape for part in self.replay_] != shapes
            or self.target_.shape != (size,)
            or self.moments_.shape != (2, size)
            or self.encoder_.size != p
            or not ((self.replay_.action >= 0) & (self.replay_.action < k)).all()
        ):
            raise ValueError("replay_, target_, moments_ and encoder_ do not fit the network")

    def action_values(self, observations: Any) -> np.ndarray:
        """Q of each observation and action.

        Parameters
        ----------
        observations : list
            As the world gives them.
        """
        check_is_fitted(self, "params_")
        X = np.array([self.encoder_(seen) for seen in observations], dtype=np.float32)
        return DeepNetwork(self).values(flatten_params(self.params_), X)

    def predict(self, observations: Any) -> np.ndarray:
        """The best action for each observation.

        Parameters
        ----------
        observations : list
            As the world gives them.
        """
        return self.action_values(observations).argmax(axis=1)


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

    def __init__(self, agent: DeepQ, env: Any) -> None:
        self.agent, self.env = agent, env
        self.theta = flatten_params(agent.params_)
        self.target, self.moments = agent.target_.copy(), agent.moments_.copy()
        self.replay = Replay(*(part.copy() for part in agent.replay_))
        self.episodes, self.steps = agent.n_episodes_, agent.n_steps_
        self.updates = agent.n_updates_
        self.history = {name: agent.history_[name].tolist() for name in _HISTORY}
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
        self.schedule = as_schedule(agent.learning_rate)
        self.single = np.zeros(k, np.float32), np.zeros(1, np.int64), np.zeros(k)

    def play(self) -> None:
        """One episode of learning; its luck depends on seed and number alone."""
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
                losses.append(self.train())
            x = after
            ends = bool(terminated or truncated or t >= agent.max_steps)
        self.episodes += 1
        for name, value in zip(_HISTORY, (total, t, np.mean(losses or [0.0])), strict=True):
            self.history[name].append(float(value))

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
        r = self.replay
        r.seen[i], r.action[i], r.reward[i], r.after[i], r.ended[i] = x, a, reward, after, ended
        self.steps += 1

    def train(self) -> float:
        """Some gradient steps; the target network is renewed between them."""
        agent, r = self.agent, self.replay
        n, batch = agent.gradient_steps, agent.batch_size
        full = min(self.steps, agent.replay_size)
        seed = int(episode_seed(agent.seed_ ^ _REPLAY_STREAM, self.steps))
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
        history = tuple(np.array(self.history[name], dtype=np.float64) for name in _HISTORY)
        weights = (self.theta.copy(), self.target.copy(), self.moments.copy())
        return (*weights, tuple(part.copy() for part in self.replay), counts, history)

    def resume(self, saved: tuple[int, tuple]) -> None:
        """Take over the state of a checkpoint, if there is one."""
        done, state = saved
        if done:
            self.theta, self.target, self.moments, replay, counts, history = state
            self.replay = Replay(*replay)
            self.episodes, self.steps, self.updates = (int(n) for n in counts)
            self.history = {n: c.tolist() for n, c in zip(_HISTORY, history, strict=True)}

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
        agent.history_ = {name: np.array(self.history[name]) for name in _HISTORY}
