"""Q-learning and SARSA."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.optim.schedules import PowerDecay, Schedule
from tenfold.rl import _table_numba as compiled
from tenfold.rl._arguments import check_share
from tenfold.rl.exploration import EpsilonGreedy
from tenfold.rl.table_agents import TABLE_CONSTRAINTS, TableAgent

_DEFAULT_RATE = PowerDecay(delta=0.8)
_DEFAULT_EXPLORATION = EpsilonGreedy()


class QLearning(TableAgent):
    r"""Q-learning: values of actions from experience, whatever the behavior.

    After a move from s by a to s' with reward r

    .. math:: Q(s, a) \leftarrow Q(s, a)
        + \alpha \bigl(r + \gamma \max_{a'} Q(s', a') - Q(s, a)\bigr),

    nothing being added for s' if the episode terminated there. If every action is taken in every
    state again and again, and the rates satisfy :math:`\sum \alpha = \infty` and
    :math:`\sum \alpha^2 < \infty`, Q converges to the optimal values. With the rate 1/N(s, a) it is
    the plain average of the samples.

    Parameters
    ----------
    discount : float
        :math:`\gamma`.
    learning_rate : float or schedule
        :math:`\alpha` of the t-th visit of a pair of state and action; t^-0.8 by default.
    exploration : EpsilonGreedy, Boltzmann or UpperConfidence
        How actions are chosen while learning, from `tenfold.rl`.
    n_episodes : int
        Episodes of a fit; passes over a table of moves.
    max_steps : int
        After which an episode is cut. A cut is no end: the last state keeps its worth.
    double : bool
        Whether two tables choose and evaluate the best next action (double Q-learning), which
        removes the optimism of the maximum of noisy values.
    n_steps : int
        Rewards that are summed before the next state is evaluated. Beyond one they are those of
        the behavior, not of the best actions: Q converges to optimal values only as exploration
        vanishes.
    trace_decay : float, optional
        Watkins's Q(lambda): every error is shared with the moves before, less by the factor
        discount * trace_decay for each step. None: no traces.
    initial_q : float or array of shape (n_states, n_actions)
        Values to begin with; large ones are optimism that makes every action be tried.
    random_state : int, RandomState or None
        Seed. Draws belong to episode and step, so that episodes can be redone one by one.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    q_ : (n_states, n_actions) array
    values_, policy_ : (n_states,) arrays
        Largest value and best action of each state.
    visits_ : (n_states, n_actions) array
        Updates of each pair.
    states_, actions_ : lists
        Names that the numbers stand for, from a table of moves.
    observation_sizes_ : tuple
        Numbers of values of the parts of an observation, if it has several; states are numbered
        with the last part changing fastest.
    n_episodes_ : int
    history_ : dict
        Of each episode "return", "length" and "seconds"; with `optimal_q` also "q_error", the
        largest distance to it, after the episodes "q_error_episode".

    See Also
    --------
    SARSA : Learns about the policy that it follows.
    ValueIteration : If the process is known.

    References
    ----------
    C. J. C. H. Watkins and P. Dayan (1992), "Q-learning". H. van Hasselt (2010), "Double
    Q-learning".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MDP, QLearning
    >>> go = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], float)
    >>> mdp = MDP(go, [[0.1, 0], [1, 0.5]])
    >>> agent = QLearning(0.5, n_episodes=200, max_steps=100, random_state=0).fit(mdp)
    >>> agent.q_.round(2).tolist(), agent.policy_.tolist()
    ([[0.6, 1.0], [2.0, 1.0]], [1, 0])
    """

    @property
    def update_rule(self) -> int:
        """Code of the update."""
        return compiled.Q_LEARNING

    def __init__(
        self,
        discount: float = 0.99,
        *,
        learning_rate: float | Schedule = _DEFAULT_RATE,
        exploration: Any = _DEFAULT_EXPLORATION,
        n_episodes: int = 1000,
        max_steps: int = 1000,
        double: bool = False,
        n_steps: int = 1,
        trace_decay: float | None = None,
        initial_q: Any = 0.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.discount, self.learning_rate, self.exploration = discount, learning_rate, exploration
        self.n_episodes, self.max_steps, self.double = n_episodes, max_steps, double
        self.n_steps, self.trace_decay, self.initial_q = n_steps, trace_decay, initial_q
        self.random_state, self.verbose = random_state, verbose


class SARSA(TableAgent):
    r"""SARSA: values of actions under the policy that is followed.

    After a move from s by a to s' with reward r, where a' is taken next,

    .. math:: Q(s, a) \leftarrow Q(s, a) + \alpha \bigl(r + \gamma Q(s', a') - Q(s, a)\bigr).

    With `expected=True` the value of the action that happens to be taken is replaced by the mean
    over the policy, :math:`\sum_{a'} \pi(a' | s') Q(s', a')`. Q converges to the optimal values if
    exploration vanishes; with constant exploration, to those of the policy that explores.

    Parameters
    ----------
    discount : float
        :math:`\gamma`.
    expected : bool
        Whether to take the mean over the next action.
    learning_rate, exploration, n_episodes, max_steps, double, initial_q, random_state, verbose
        As in `QLearning`.
    n_steps : int
        Rewards that are summed before the next state and action are evaluated.
    trace_decay : float, optional
        SARSA(lambda): every error is shared with the moves before, less by the factor
        discount * trace_decay for each step.

    Attributes
    ----------
    q_, values_, policy_, visits_, n_episodes_, history_
        As in `QLearning`.

    See Also
    --------
    QLearning

    References
    ----------
    G. A. Rummery and M. Niranjan (1994), "On-line Q-learning using connectionist systems". R. S.
    Sutton and A. G. Barto (2018), "Reinforcement Learning", chapters 6, 7 and 12.

    Examples
    --------
    Beside a cliff SARSA learns to keep away from the edge, since it sometimes stumbles:

    >>> from tenfold import SARSA
    >>> from tenfold.rl import EpsilonGreedy, cliff
    >>> world = cliff()
    >>> stumbling = EpsilonGreedy(0.1, 0.1)
    >>> agent = SARSA(
    ...     1.0, learning_rate=0.1, exploration=stumbling, n_episodes=1000, random_state=0
    ... ).fit(world)
    >>> print(world.show_policy(agent.policy_)[:12])
    →→→→→→→→→→→↓
    """

    _parameter_constraints = {**TABLE_CONSTRAINTS, "expected": ["boolean"]}

    def __init__(
        self,
        discount: float = 0.99,
        *,
        expected: bool = False,
        learning_rate: float | Schedule = _DEFAULT_RATE,
        exploration: Any = _DEFAULT_EXPLORATION,
        n_episodes: int = 1000,
        max_steps: int = 1000,
        double: bool = False,
        n_steps: int = 1,
        trace_decay: float | None = None,
        initial_q: Any = 0.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.discount, self.expected = discount, expected
        self.learning_rate, self.exploration = learning_rate, exploration
        self.n_episodes, self.max_steps, self.double = n_episodes, max_steps, double
        self.n_steps, self.trace_decay, self.initial_q = n_steps, trace_decay, initial_q
        self.random_state, self.verbose = random_state, verbose

    @property
    def update_rule(self) -> int:
        """Code of the update."""
        return compiled.EXPECTED_SARSA if self.expected else compiled.SARSA


def td_update(
    q: Any,
    move: tuple[int, int, float, int],
    *,
    rate: float,
    discount: float,
    next_action: int | None = None,
    terminated: bool = False,
) -> np.ndarray:
    r"""The table after one move: Q-learning's update, or SARSA's if the next action is given.

    Parameters
    ----------
    q : array of shape (n_states, n_actions)
    move : tuple
        State, action, reward, next state.
    rate, discount : float
        :math:`\alpha` and :math:`\gamma`.
    next_action : int, optional
    terminated : bool
        Whether nothing comes after the move.

    Examples
    --------
    >>> q = [[0, 0], [2, 1]]
    >>> float(td_update(q, (0, 0, 1.0, 1), rate=0.5, discount=0.9)[0, 0])
    1.4
    >>> td_update(q, (0, 0, 1.0, 1), rate=0.5, discount=0.9, next_action=1).tolist()
    [[0.95, 0.0], [2.0, 1.0]]
    """
    check_share(rate, "rate")
    check_share(discount, "discount")
    if len(move) != 4:
        raise ValueError(f"the move is {move!r}: expected (state, action, reward, next state)")
    s, a, reward, after = move
    table = np.array(q, dtype=np.float64)[None]
    if table.ndim != 3:
        raise ValueError(f"q has shape {table.shape[1:]}: expected (n_states, n_actions)")
    n, k = table.shape[1:]
    chosen = [a] if next_action is None else [a, next_action]
    for numbers, size, what in (([s, after], n, "state"), (chosen, k, "action")):
        if not all(isinstance(i, int | np.integer) and 0 <= i < size for i in numbers):
            raise ValueError(
                f"{what}s {numbers} of the move: expected numbers from 0 to {size - 1}"
            )
    if not np.isfinite(reward):
        raise ValueError(f"the reward of the move is {reward}: expected a finite number")
    tables = (table, np.zeros(table.shape[1:], np.int64), np.zeros(k), np.zeros(k))
    rule = compiled.Q_LEARNING if next_action is None else compiled.SARSA
    follow = 0 if next_action is None else next_action
    worth = 0.0 if terminated else compiled.next_value(tables, after, follow, rule, 0)
    rates = np.array([0.0, rate])
    compiled.update_pair(tables, s, a, reward + discount * worth, rates, 0)
    return table[0]
