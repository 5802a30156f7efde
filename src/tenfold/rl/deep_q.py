"""Deep Q-learning: a network for the values of actions, replay, and a target network."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.engine.hooks import end_loop, record_loop_state, report_objective, resume_loop
from tenfold.neural._fused_mlp import activation_code
from tenfold.neural.layers.dense import Dense
from tenfold.neural.network import (
    build_network,
    check_params,
    flatten_params,
)
from tenfold.optim.schedules import Schedule
from tenfold.rl._arguments import check_count
from tenfold.rl._deep_q_run import HISTORY, DeepNetwork, DeepRun, Replay
from tenfold.rl.base import Agent
from tenfold.rl.environment import as_environment, assert_all_actions, count_actions
from tenfold.rl.exploration import Boltzmann, EpsilonGreedy
from tenfold.rl.moves import LoggedMoves, is_move_table, read_moves
from tenfold.rl.observations import ObservationEncoder, number_observations

_DEFAULT_EXPLORATION = EpsilonGreedy(1.0, 0.04, 0.5)
_DEFAULT_LAYERS = (Dense(128, "relu"), Dense(128, "relu"))


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
        Of each episode "return", "length" and mean "loss"; of each pass over a table of moves its
        mean "pass_loss".
    actions_ : list
        Names of the actions of a table of moves.

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
        "exploration": [EpsilonGreedy, Boltzmann],
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
        """Learn from `n_episodes` episodes, or from a table of moves that somebody made.

        Parameters
        ----------
        world : MDP, environment, name for `gymnasium.make`; or table or file of moves
            Of worlds, actions are numbers from 0 on. Moves have the columns state, action, reward,
            next_state (for several numbers state_0, state_1, ..., next_state_0, ...) and, if need
            be, terminated. Batches are drawn from all of them, as many in each of `n_episodes`
            passes as the moves fill.
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
        """Passes over logged moves in random batches."""
        n = len(log.action)
        together = np.concatenate([log.seen, log.after])
        different, codes = number_observations(together)
        encoder = ObservationEncoder.make_for_log(self.features, together)
        encoder.assert_small(max(len(codes), self.replay_size), np.float32)
        X = np.array([encoder(seen) for seen in different.tolist()], dtype=np.float32)[codes]
        self._forget()
        self.encoder_ = encoder
        self._build(len(log.actions))
        self.actions_ = log.actions
        run = DeepRun(self, None)
        run.replay = Replay(X[:n], log.action, log.reward.astype(np.float32), X[n:], log.ended)
        losses: list[float] = []
        try:
            run.replay_log(self.n_episodes, losses)
        finally:  # Ctrl-C keeps what is learned
            run.replay = self.replay_  # of episodes to come
            run.store()
            self.history_["pass_loss"] = np.array(losses)
        return self

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
            self.assert_same_actions(count_actions(env.action_space))
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
        self.encoder_ = ObservationEncoder.make(self.features, env)
        self._build(count_actions(env.action_space))

    def _build(self, k: int) -> None:
        """Random weights of a network for k actions, and nothing remembered."""
        self.seed_ = self.draw_seed()
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
        self.history_ = {name: np.zeros(0) for name in HISTORY}

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
        X = self.encoder_.encode(observations, np.float32)
        return DeepNetwork(self).values(flatten_params(self.params_), X)

    def predict(self, observations: Any) -> np.ndarray:
        """The best action for each observation.

        Parameters
        ----------
        observations : list
            As the world gives them.
        """
        return self.name_actions(self.action_values(observations).argmax(axis=1))
