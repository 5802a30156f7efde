"""Policy gradient: a network for the probabilities of actions, improved along the return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.hooks import end_loop, record_loop_state, report_objective, resume_loop
from tenfold.neural.layers.dense import Dense
from tenfold.neural.network import check_params
from tenfold.optim.optimizers import Adam, apply_update, init_state
from tenfold.rl._arguments import assert_finite, check_count
from tenfold.rl._lanes import Trajectories, collect_episodes, discounted_returns
from tenfold.rl._policy_heads import make_head
from tenfold.rl._random_numba import episode_seed
from tenfold.rl._sequence_networks import (
    EpisodeStates,
    build_policy,
    is_recurrent,
    move_gradients,
    move_outputs,
    next_outputs,
)
from tenfold.rl._table_numba import AGENT_STREAM
from tenfold.rl.base import Agent
from tenfold.rl.environment import as_environment, assert_all_actions, own_space
from tenfold.rl.observations import ObservationEncoder

_DEFAULT_LAYERS = (Dense(64, "tanh"), Dense(64, "tanh"))
_ADAM = Adam()


class PolicyGradient(Agent):
    r"""REINFORCE and its descendants: raise the probability of what turned out well.

    A network gives the probabilities :math:`\pi_\theta(a | s)` (softmax), or the mean of real
    actions (Gaussian). After some episodes, a gradient step on

    .. math:: -\frac{1}{N} \sum_n A_n \log \pi_\theta(a_n | s_n)

    with the advantage :math:`A_n = Q_n - V(s_n)`, where
    :math:`Q_t = \sum_{t' \ge t} \gamma^{t'-t} r_{t'}` is the return from there and V a baseline.
    The sum is unbounded below where advantages are negative, so a batch is used for one step, or
    for several with clipped ratios (PPO).

    Parameters
    ----------
    discount : float
        :math:`\gamma`; 1 is fine where episodes end.
    layers : sequence of layers
        Hidden layers of the policy; the value network has the same. With recurrent layers
        (`Rnn(16)`, `Gru(16)`, `Lstm(16)`) the policy remembers what it saw before in the episode,
        for worlds in which one observation does not tell the state.
    features : transformer, callable or None
        As in `LinearQ`.
    returns : {"to_go", "total"}
        Q of a move: rewards from there on, or those of the whole episode (plain REINFORCE).
    baseline : {"value", "mean", None}
        V: regression of the returns on the observations by a second network, the mean of the
        returns, or nothing.
    gae_lambda : float, optional
        Advantages as the lambda-weighted mean of many-step errors of the value network (Schulman
        et al., 2016); 1 is Q - V.
    standardize : bool
        Whether advantages are scaled to mean 0 and variance 1.
    clip : float, optional
        By how much the probability of an action may change, relatively, before its gradient is
        cut (PPO).
    epochs : int
        Steps on a batch; more than one only with `clip`.
    entropy : float
        Weight of the entropy of the policy, which keeps it from settling too early.
    learning_rate : float
        Of Adam.
    value_steps : int
        Steps of the value network on each batch; each takes every `value_steps`-th move.
    n_episodes, batch_episodes, max_steps : int
        Episodes of a fit, and of a batch; moves after which an episode is cut. A cut is no end: the
        value network estimates what is cut off.
    random_state : int, RandomState or None
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    network_, params_ : the policy; its last array is the log-spread of real actions
    value_network_, value_params_ : the baseline, if it is a network
    n_episodes_, n_updates_ : int
    history_ : dict
        Of each batch the mean "return" and "length", and the "entropy" of the policy.

    See Also
    --------
    DeepQ

    References
    ----------
    R. J. Williams (1992), "Simple statistical gradient-following algorithms for connectionist
    reinforcement learning". J. Schulman et al. (2016), "High-dimensional continuous control using
    generalized advantage estimation"; (2017), "Proximal policy optimization algorithms".

    Examples
    --------
    >>> from tenfold import PolicyGradient
    >>> from tenfold.rl import delayed_reward
    >>> agent = PolicyGradient(layers=(), learning_rate=0.1, n_episodes=640, random_state=0)
    >>> agent.fit(delayed_reward(length=3)).predict([0, 1, 2]).tolist()
    [1, 1, 1]
    """

    _parameter_constraints = {
        "discount": [Interval(Real, 0, 1, closed="both")],
        "layers": [list, tuple],
        "features": "no_validation",
        "returns": [StrOptions({"to_go", "total"})],
        "baseline": [StrOptions({"value", "mean"}), None],
        "gae_lambda": [None, Interval(Real, 0, 1, closed="both")],
        "standardize": ["boolean"],
        "clip": [None, Interval(Real, 0, None, closed="neither")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "entropy": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "value_steps": [Interval(Integral, 1, None, closed="left")],
        "n_episodes": [Interval(Integral, 1, None, closed="left")],
        "batch_episodes": [Interval(Integral, 1, None, closed="left")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        discount: float = 0.99,
        *,
        layers: Sequence[Any] = _DEFAULT_LAYERS,
        features: Any = None,
        returns: str = "to_go",
        baseline: str | None = "value",
        gae_lambda: float | None = None,
        standardize: bool = True,
        clip: float | None = None,
        epochs: int = 1,
        entropy: float = 0.0,
        learning_rate: float = 5e-3,
        value_steps: int = 10,
        n_episodes: int = 1600,
        batch_episodes: int = 32,
        max_steps: int = 10_000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.discount, self.layers, self.features = discount, layers, features
        self.returns, self.baseline, self.gae_lambda = returns, baseline, gae_lambda
        self.standardize, self.clip, self.epochs = standardize, clip, epochs
        self.entropy, self.learning_rate, self.value_steps = entropy, learning_rate, value_steps
        self.n_episodes, self.batch_episodes = n_episodes, batch_episodes
        self.max_steps, self.random_state, self.verbose = max_steps, random_state, verbose

    def fit(self, world: Any, y: Any = None) -> Self:
        """Learn from `n_episodes` episodes.

        Parameters
        ----------
        world : MDP, environment, or name for `gymnasium.make`
        y : ignored
        """
        del y
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        return self.partial_fit(world, self.n_episodes)

    def partial_fit(self, world: Any, episodes: int) -> Self:
        """Go on for some episodes, in batches; parts of whole batches are one fit, to the bit.

        Parameters
        ----------
        world : MDP, environment, or name for `gymnasium.make`
        episodes : int
        """
        check_count(episodes, "episodes")
        with self._work_context():
            self._check_settings()
            assert_all_actions(world, type(self).__name__)
            env = as_environment(world, self.max_steps)
            if not hasattr(self, "params_"):
                self._begin(env)
            first, target = self.n_updates_, self.n_episodes_ + episodes
            done, state = resume_loop(self._loop_state())
            if done:
                self._restore(state)
            try:
                while self.n_episodes_ < target:
                    with self._undo_on_error():
                        self._learn_batch(env, min(self.batch_episodes, target - self.n_episodes_))
                    report_objective(float(self.history_["return"][-1]))
                    record_loop_state(self.n_updates_ - first, self._loop_state)
            finally:
                end_loop()
        return self

    def _check_settings(self) -> None:
        if self.epochs > 1 and self.clip is None:
            raise ValueError(
                f"epochs={self.epochs} without clip: negative advantages make the loss unbounded "
                "below, so several steps on one batch run away. Set clip=0.2, or epochs=1"
            )
        if self.gae_lambda is not None and self.baseline != "value":
            raise ValueError('gae_lambda needs the value network: set baseline="value"')

    def _begin(self, env: Any) -> None:
        self.seed_ = self.draw_seed()
        self.encoder_ = ObservationEncoder.make(self.features, env)
        rng, size = np.random.default_rng(self.seed_), self.encoder_.size
        self.action_space_ = own_space(env.action_space)
        head = make_head(self.action_space_)
        out = Dense(head.n_outputs)
        self.network_, params = build_policy([*self.layers, out], size, rng)
        params[-2] *= 0.01  # all actions alike at first
        self.params_: list[np.ndarray] = [*params, *head.extra]
        self._state = init_state(_ADAM, self.params_)
        self.value_network_, self.value_params_ = None, []
        self._value_state: Any = []
        if self.baseline == "value":
            made = build_policy([*self.layers, Dense(1)], size, rng)
            self.value_network_, self.value_params_ = made
            self._value_state = init_state(_ADAM, self.value_params_)
        self.n_episodes_ = self.n_updates_ = 0
        self.history_ = {name: np.zeros(0) for name in ("return", "length", "entropy")}

    def _check_learned(self) -> None:
        """Raise an error if the arrays of a file do not fit each other."""
        if hasattr(self, "params_"):
            check_params(self.network_, self._split()[0])
            if self.value_network_ is not None:
                check_params(self.value_network_, self.value_params_)

    def _split(self) -> tuple[list, list]:
        """Weights of the network, and the log-spread of real actions."""
        n = sum(self.network_.sizes)
        return self.params_[:n], self.params_[n:]

    @contextmanager
    def _undo_on_error(self) -> Iterator[None]:
        """Batches that are interrupted have not happened."""
        before = self._loop_state()
        try:
            yield
        except BaseException:
            self._restore(before)
            raise

    def _learn_batch(self, env: Any, n: int) -> None:
        """Run n episodes and learn from them."""
        head = make_head(self.action_space_)
        numbers = range(self.n_episodes_, self.n_episodes_ + n)
        seeds = [int(episode_seed(self.seed_, number)) for number in numbers]
        lucks = [int(episode_seed(seed, AGENT_STREAM)) for seed in seeds]
        weights, extra = self._split()
        states = EpisodeStates(n)

        def choose(X: np.ndarray, who: np.ndarray, step: int) -> np.ndarray:
            z = states.next_outputs(self.network_, weights, X, who)
            return head.draw(z, extra, [lucks[i] for i in who], step)

        batch = collect_episodes(env, self.encoder_, seeds, choose, head.to_world, self.max_steps)
        advantage, target = self._advantages(batch)
        entropy = self._improve(head, batch, advantage)
        if self.value_network_ is not None:
            self._regress(batch, target)
        for array in (*self.params_, *self.value_params_):
            assert_finite(array, f"batch {self.n_updates_ + 1}")
        self.n_episodes_ += n
        self.n_updates_ += 1
        news = (batch.returns.mean(), np.diff(batch.ends).mean(), entropy)
        for name, value in zip(("return", "length", "entropy"), news, strict=True):
            self.history_ = self.history_ | {name: np.append(self.history_[name], value)}

    def _values(self, batch: Trajectories) -> tuple[np.ndarray, np.ndarray]:
        """Values of what was seen at all moves, and after the last ones."""
        n, ends = len(batch.terminated), batch.ends
        if self.value_network_ is None:
            return np.zeros(len(batch.X)), np.zeros(n)
        X = np.insert(batch.X, ends[1:], batch.last, axis=0)
        last = ends[1:] + np.arange(n)
        z = move_outputs(self.value_network_, self.value_params_, X, ends + np.arange(n + 1)).z
        V = z[:, 0].astype(np.float64)
        return np.delete(V, last), V[last]

    def _advantages(self, batch: Trajectories) -> tuple[np.ndarray, np.ndarray]:
        """Advantages of all moves, and targets of the value network."""
        V, after = self._values(batch)
        after[batch.terminated] = 0.0
        Q, A = np.zeros_like(batch.reward), np.zeros_like(batch.reward)
        for e, (i, j) in enumerate(zip(batch.ends[:-1], batch.ends[1:], strict=True)):
            Q[i:j] = discounted_returns(batch.reward[i:j], self.discount, after[e])
            if self.gae_lambda is not None:
                ahead = np.append(V[i + 1 : j], after[e])
                errors = batch.reward[i:j] + self.discount * ahead - V[i:j]
                A[i:j] = discounted_returns(errors, self.discount * self.gae_lambda)
            elif self.returns == "total":
                A[i:j] = Q[i] - V[i:j]
            else:
                A[i:j] = Q[i:j] - V[i:j]
        target = Q if self.gae_lambda is None else A + V
        if self.baseline == "mean":
            A = A - A.mean()
        if self.standardize:
            A = (A - A.mean() * (self.baseline is not None)) / (A.std() + 1e-8)
        return A, target

    def _improve(self, head: Any, batch: Trajectories, advantage: np.ndarray) -> float:
        """Steps on the policy; returns its entropy before them."""
        weights, extra = self._split()
        z = move_outputs(self.network_, weights, batch.X, batch.ends).z
        old = head.log_probability(z, extra, batch.action)
        for _ in range(self.epochs):
            gradients = policy_gradient(
                self.network_, weights, extra, head, batch, advantage, old, self.clip, self.entropy
            )
            updated = apply_update(_ADAM, self.params_, gradients, self._state, self.learning_rate)
            self.params_, self._state = updated
            weights, extra = self._split()
        return float(-old.mean())

    def _regress(self, batch: Trajectories, target: np.ndarray) -> None:
        """Steps of half the mean squared error of the value network.

        Each takes some of the moves, or of the episodes if the network is recurrent.
        """
        network: Any = self.value_network_
        recurrent, n = is_recurrent(network), len(batch.terminated)
        for first in range(min(self.value_steps, n if recurrent else len(target))):
            own, ends = np.arange(first, len(target), self.value_steps), batch.ends
            if recurrent:
                episodes = np.arange(first, n, self.value_steps)
                own = np.concatenate([np.arange(ends[e], ends[e + 1]) for e in episodes])
                ends = np.concatenate([[0], np.cumsum(np.diff(ends)[episodes])])
            outputs = move_outputs(network, self.value_params_, batch.X[own], ends)
            slope = (outputs.z - target[own, None]) / len(own)
            gradients = move_gradients(network, self.value_params_, outputs, slope)
            self.value_params_, self._value_state = apply_update(
                _ADAM, self.value_params_, gradients, self._value_state, self.learning_rate
            )

    def _loop_state(self) -> tuple:
        history = tuple(self.history_[name] for name in ("return", "length", "entropy"))
        networks = (self.params_, self._state, self.value_params_, self._value_state)
        return (*networks, np.array([self.n_episodes_, self.n_updates_]), history)

    def _restore(self, state: tuple) -> None:
        self.params_, self._state, self.value_params_, self._value_state, counts, history = state
        self.n_episodes_, self.n_updates_ = (int(n) for n in counts)
        self.history_ = dict(zip(("return", "length", "entropy"), history, strict=True))

    def act(self, observation: Any, memory: Any = None, rng: Any = None) -> tuple[Any, Any]:
        """The action for one observation, and what the agent remembers until the next one.

        Parameters
        ----------
        observation : number, array or str
            As the world gives it.
        memory : optional
            What `act` returned with the action before; None at the start of an episode. Only
            recurrent policies remember something.
        rng : ignored
        """
        del rng
        z, after = self._outputs([observation], memory)
        return self._best(z)[0], after or None

    def _best(self, z: np.ndarray) -> np.ndarray:
        head = make_head(self.action_space_)
        return head.to_world(head.best(z))

    def _outputs(self, observations: Any, states: Any = None) -> tuple[np.ndarray, list]:
        check_is_fitted(self, "params_")
        X = self.encoder_.encode(observations, np.float32)
        return next_outputs(self.network_, self._split()[0], X, states)

    def predict(self, observations: Any) -> np.ndarray:
        """The most probable action for each observation; the mean of real ones, within bounds.

        For a recurrent policy each is the first observation of an episode; `act` goes on.

        Parameters
        ----------
        observations : list
            As the world gives them.
        """
        return self._best(self._outputs(observations)[0])

    def predict_proba(self, observations: Any) -> np.ndarray:
        """Probabilities of actions for each observation.

        For a recurrent policy each is the first observation of an episode.

        Parameters
        ----------
        observations : list
        """
        z = self._outputs(observations)[0]
        if make_head(self.action_space_).extra:
            raise ValueError("real actions have densities, not probabilities")
        chances = np.exp(z - z.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)


def policy_gradient(
    network: Any,
    weights: list,
    extra: list,
    head: Any,
    batch: Trajectories,
    advantage: np.ndarray,
    old: np.ndarray,
    clip: float | None,
    entropy: float,
) -> list[np.ndarray]:
    """Gradient of the mean loss of the moves of a batch in all parameters."""
    outputs = move_outputs(network, weights, batch.X, batch.ends)
    z = outputs.z
    weight = advantage / len(z)
    if clip is not None:
        ratio = np.exp(head.log_probability(z, extra, batch.action) - old)
        is_cut = np.where(advantage > 0, ratio > 1 + clip, ratio < 1 - clip)
        weight = np.where(is_cut, 0.0, weight * ratio)
    slope, of_extra = head.gradient(z, extra, batch.action, weight, entropy)
    return [*move_gradients(network, weights, outputs, slope), *of_extra]
