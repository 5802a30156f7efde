"""Imitation: behavioral cloning and DAgger with any classifier, and machines with a memory."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.rl._arguments import as_list, check_count, check_seed
from tenfold.rl._random_numba import episode_seed, uniform
from tenfold.rl._table_numba import AGENT_STREAM
from tenfold.rl.base import Agent
from tenfold.rl.environment import as_environment
from tenfold.rl.episodes import Move, play
from tenfold.rl.moves import Demonstrations, is_move_table, read_demonstrations
from tenfold.rl.observations import ObservationEncoder


def demonstrate(
    expert: Any, world: Any, episodes: int, *, max_steps: int = 10_000, random_state: int = 0
) -> list[list[Move]]:
    """Episodes of an expert, to be imitated.

    Parameters
    ----------
    expert : agent, or callable
        With `act`; or a function of one observation.
    world : MDP, environment, or name for `gymnasium.make`
    episodes, max_steps : int
    random_state : int

    Examples
    --------
    >>> from tenfold import ValueIteration
    >>> from tenfold.rl import demonstrate, grid_world
    >>> world = grid_world()
    >>> [moves] = demonstrate(ValueIteration(0.9).fit(world), world, 1)
    >>> len(moves), moves[-1].terminated
    (6, True)
    """
    check_count(episodes, "episodes", 1)
    check_count(max_steps, "max_steps", 1)
    check_seed(random_state)
    env = as_environment(world, max_steps)
    actor = as_actor(expert)
    seeds = [int(episode_seed(random_state, e)) for e in range(episodes)]
    return [list(play(actor, env, seed, max_steps)) for seed in seeds]


def _join_episodes(episodes: list[list[Move]]) -> Demonstrations:
    """Moves of episodes, one after the other."""
    moves = [move for episode in episodes for move in episode]
    seen: Any = [move.observation for move in moves]
    is_first = [number == 0 for episode in episodes for number in range(len(episode))]
    return Demonstrations(seen, np.array([m.action for m in moves]), np.array(is_first))


class FunctionActor:
    """A function of observations as something that acts."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def act(self, observation: Any, memory: Any = None, rng: Any = None) -> tuple[Any, Any]:
        """The action, and the memory as it was."""
        del rng
        return self.function(observation), memory


def as_actor(expert: Any) -> Any:
    """The expert itself if it acts, or the function as an actor."""
    if hasattr(expert, "act"):
        return expert
    if callable(expert):
        return FunctionActor(expert)
    raise TypeError(f"a {type(expert).__name__} cannot act: give an agent, or a function")


class BehavioralCloning(Agent):
    r"""Imitate an expert by supervised learning: from what was seen to what was done.

    The machine is :math:`[y_t; h_t] = M([x_t; y_{t-1}; h_{t-1}])`. Without memory it is a
    classifier of x alone; with `previous_action` also of the action before, which it carries
    along by itself while it acts; with `window` of the last observations too. An error leads to
    states that the expert never showed, so errors grow with the square of the length of
    episodes (Ross and Bagnell, 2010).

    Parameters
    ----------
    classifier : classifier
        Of tenfold or scikit-learn; a regressor for real actions.
    features : transformer, callable or None
        As in `LinearQ`; None takes observations as numbers (an indicator for each state number).
    previous_action : bool
        Whether the action before is a feature (an indicator for each one, none at the start).
    window : int
        How many observations are seen at once, the last one included.

    Attributes
    ----------
    classifier_ : fitted classifier
    n_moves_ : int
    error_ : float
        Share of the demonstrated actions that it does not repeat.

    See Also
    --------
    DAgger : Asks the expert about the states that the learner comes to.

    References
    ----------
    D. A. Pomerleau (1989), "ALVINN: an autonomous land vehicle in a neural network". S. Ross and
    J. A. Bagnell (2010), "Efficient reductions for imitation learning".

    Examples
    --------
    >>> from tenfold import BehavioralCloning, DecisionTreeClassifier, ValueIteration
    >>> from tenfold.rl import demonstrate, grid_world
    >>> world = grid_world()
    >>> expert = ValueIteration(0.9).fit(world)
    >>> clone = BehavioralCloning(DecisionTreeClassifier()).fit(
    ...     demonstrate(expert, world, 5), world
    ... )
    >>> clone.error_, round(clone.evaluate(world, 5).mean, 2)
    (0.0, 0.94)
    """

    _parameter_constraints = {
        "classifier": "no_validation",
        "features": "no_validation",
        "previous_action": ["boolean"],
        "window": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        classifier: Any,
        *,
        features: Any = None,
        previous_action: bool = False,
        window: int = 1,
    ) -> None:
        self.classifier, self.features = classifier, features
        self.previous_action, self.window = previous_action, window

    def fit(self, episodes: Any, world: Any = None) -> Self:
        """Learn from episodes of an expert.

        Parameters
        ----------
        episodes : list of lists of Move; or table or file
            Of `demonstrate`. A table has the columns state, action (for several numbers state_0,
            state_1, ..., action_0, ...); episode, or terminated and truncated, tell where episodes
            begin.
        world : MDP, environment, or name for `gymnasium.make`
            Tells what observations are; a table can do without.
        """
        self._validate_params()
        if is_move_table(episodes):
            log = read_demonstrations(episodes)
        elif not any(episodes):
            raise ValueError("there are no moves to imitate")
        elif not all(isinstance(move, Move) for episode in episodes for move in episode):
            raise TypeError("give episodes of `demonstrate`, or a table of states and actions")
        elif world is None:
            raise TypeError("give the world too: it tells what the observations of episodes are")
        else:
            log = _join_episodes(episodes)
        if world is None:
            self.encoder_ = ObservationEncoder.make_for_log(self.features, np.asarray(log.seen))
        else:
            self.encoder_ = ObservationEncoder.make(self.features, as_environment(world))
        self.actions_ = np.unique(log.action, axis=0)
        X, memory = [], None
        for seen, action, is_first in zip(*log, strict=True):
            x, memory = self._see(seen, None if is_first else memory)
            X.append(x)
            memory = (*memory[:1], action)
        return self._learn(np.array(X), np.asarray(log.action))

    @property
    def takes_names(self) -> bool:
        """Whether the actions are words, as in a table of moves; `actions_` lists them."""
        return hasattr(self, "actions_") and self.actions_.dtype.kind in "OU"

    def _learn(self, X: np.ndarray, y: np.ndarray) -> Self:
        model: Any = clone(self.classifier)
        self.classifier_ = model.fit(X, y)
        self.n_moves_ = len(y)
        wrong = np.asarray(self.classifier_.predict(X)) != y
        self.error_ = float(wrong.reshape(len(y), -1).any(axis=1).mean())
        return self

    def _see(self, observation: Any, memory: Any) -> tuple[np.ndarray, tuple]:
        """Features of what is seen and remembered, and the memory that goes on."""
        own = self.encoder_(observation)
        before, action = ([], None) if memory is None else memory
        seen = [*before, own][-self.window :]
        parts = [np.zeros((self.window - len(seen)) * len(own)), *seen]
        if self.previous_action:
            is_it = np.array(
                [action is not None and np.array_equal(a, action) for a in self.actions_]
            )
            parts.append(is_it.astype(np.float64))
        return np.concatenate(parts), (seen, action)

    def act(self, observation: Any, memory: Any = None, rng: Any = None) -> tuple[Any, Any]:
        """The action for one observation; the memory holds what was seen and done before."""
        del rng
        check_is_fitted(self, "classifier_")
        x, memory = self._see(observation, memory)
        action = self.classifier_.predict(x[None])[0]
        return action, (memory[0], action)

    def predict(self, observations: Any) -> np.ndarray:
        """The action for each observation, each as the first of an episode.

        Parameters
        ----------
        observations : list
            As the world gives them.
        """
        check_is_fitted(self, "classifier_")
        if not len(given := as_list(observations)):
            return self.actions_[:0]
        X = np.array([self._see(seen, None)[0] for seen in given])
        return np.asarray(self.classifier_.predict(X))


class DAgger(BehavioralCloning):
    r"""Imitation where the expert corrects the learner: dataset aggregation.

    Round i runs episodes in which the expert acts with probability :math:`\beta^i` and the learner
    otherwise, asks the expert for the right action in every state that came up, adds these moves to
    all before, and trains again. So the learner is trained where it acts, and its errors grow with
    the length of episodes, not with its square (Ross, Gordon, Bagnell, 2011).

    Parameters
    ----------
    classifier, features
        As in `BehavioralCloning`.
    expert : agent, or callable
        Without memory.
    n_rounds : int
        The first round is behavioral cloning.
    n_episodes : int
        Episodes of a round.
    beta : float
        Of the expert acting in round i, beta^i.
    max_steps : int
        Of an episode.
    random_state : int, RandomState or None

    Attributes
    ----------
    classifier_, n_moves_, error_
        As in `BehavioralCloning`.
    history_ : dict
        Of each round "moves" so far, the "error" on them, and the mean "return" of its episodes.

    References
    ----------
    S. Ross, G. Gordon, J. A. Bagnell (2011), "A reduction of imitation learning and structured
    prediction to no-regret online learning".

    Examples
    --------
    >>> from tenfold import DAgger, DecisionTreeClassifier, ValueIteration
    >>> from tenfold.rl import grid_world
    >>> world = grid_world(slip=0.2)
    >>> expert = ValueIteration(0.9).fit(world)
    >>> agent = DAgger(DecisionTreeClassifier(), expert=expert, random_state=0).fit(world)
    >>> bool((agent.predict(range(8)) == expert.policy_)[~world.terminal].all())
    True
    """

    _parameter_constraints = {
        "classifier": "no_validation",
        "features": "no_validation",
        "expert": "no_validation",
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "n_episodes": [Interval(Integral, 1, None, closed="left")],
        "beta": [Interval(Real, 0, 1, closed="both")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    previous_action, window = False, 1  # the expert is asked about single states

    def __init__(
        self,
        classifier: Any,
        *,
        expert: Any,
        features: Any = None,
        n_rounds: int = 5,
        n_episodes: int = 10,
        beta: float = 0.5,
        max_steps: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.classifier, self.expert, self.features = classifier, expert, features
        self.n_rounds, self.n_episodes, self.beta = n_rounds, n_episodes, beta
        self.max_steps, self.random_state = max_steps, random_state

    def fit(self, world: Any, y: Any = None) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Learn in a world, with the expert at hand.

        Parameters
        ----------
        world : MDP, environment, or name for `gymnasium.make`
        y : ignored
        """
        del y
        with self._work_context():
            env, expert = as_environment(world, self.max_steps), as_actor(self.expert)
            self.encoder_ = ObservationEncoder.make(self.features, env)
            seed, X, right = self.draw_seed(), [], []
            history: dict[str, list] = {"moves": [], "error": [], "return": []}
            for number in range(self.n_rounds):
                total = 0.0
                for e in range(self.n_episodes):
                    own = int(episode_seed(seed, number * self.n_episodes + e))
                    actor = MixedActor(self, expert, self.beta**number, own, is_first=number == 0)
                    for move in play(actor, env, own, self.max_steps):
                        X.append(self.encoder_(move.observation))
                        total += move.reward
                    right += actor.right
                self.actions_ = np.unique(right, axis=0)
                self._learn(np.array(X), np.array(right))
                for name, value in zip(
                    history, (len(X), self.error_, total / self.n_episodes), strict=True
                ):
                    history[name].append(value)
                self.history_ = {name: np.array(column) for name, column in history.items()}
        return self


class MixedActor:
    """The expert with some probability, otherwise the learner; the expert's actions are noted."""

    def __init__(
        self, learner: Any, expert: Any, share: float, seed: int, *, is_first: bool
    ) -> None:
        self.learner, self.expert, self.share = learner, expert, 1.0 if is_first else share
        self.luck, self.right = int(episode_seed(seed, AGENT_STREAM)), []

    def act(self, observation: Any, memory: Any = None, rng: Any = None) -> tuple[Any, Any]:
        """The action of one of the two."""
        right, _ = self.expert.act(observation, None, rng)
        self.right.append(right)
        if uniform(self.luck, len(self.right)) < self.share:
            return right, memory
        return self.learner.act(observation, memory, rng)[0], memory
