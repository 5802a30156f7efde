"""Markov decision processes: states, actions, transition probabilities and rewards."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.rl import _mdp_sources as sources
from tenfold.rl._arguments import check_share
from tenfold.rl._planning_numba import look_ahead
from tenfold.rl._transitions import (
    Planning,
    Transitions,
    check_transitions,
    from_arrays,
    pair_numbers,
    planning_arrays,
)


def plain_names(names: Sequence[Hashable]) -> list[Any]:
    """Names of states or actions as cells of a table: numbers and text, all others as text."""
    plain = (name.item() if isinstance(name, np.generic) else name for name in names)
    return [name if isinstance(name, int | float | str) else str(name) for name in plain]


class MDP:
    r"""A Markov decision process with finitely many states and actions.

    In state s an action a leads to the state s' with probability :math:`T(s, a, s')` and pays the
    reward :math:`R(s, a, s')`. A policy is worth its expected discounted utility

    .. math:: U = R(s_0, a_0, s_1) + \gamma R(s_1, a_1, s_2) + \gamma^2 R(s_2, a_2, s_3) + \dots
        \quad\text{with}\quad |U| \le \frac{R_{\max}}{1 - \gamma},

    so the cost of the first action and the reward of the first arrival are not discounted. With
    one action and equal rewards the process is a Markov chain.

    Parameters
    ----------
    transitions : array of shape (n_states, n_actions, n_states), or list of sparse matrices
        Probabilities of the next states; or a (n_states, n_states) matrix for each action.
    rewards : array, or list of sparse matrices
        R(s) of shape (n_states,), R(s, a) of shape (n_states, n_actions), or R(s, a, s') of shape
        (n_states, n_actions, n_states), also as a (n_states, n_states) matrix for each action. An
        entry -inf of R(s, a) says that the action does not exist in that state.
    reward_on : {"leaving", "arriving"}
        Whether R(s) is paid when the state is left, or when it is reached.
    action_cost : float or array of shape (n_actions,)
        Subtracted from every reward.
    terminal : array of bool, or list of states, optional
        States in which the process ends; nothing is paid there.
    states, actions : list, optional
        Their names; numbers by default.
    start : state, or array of shape (n_states,), optional
        Where episodes start: one state, or a probability for each; all that are not terminal
        alike by default.

    Attributes
    ----------
    n_states, n_actions : int
    transitions : Transitions
        All transitions, state by state and action by action.
    terminal : (n_states,) bool array
    start : (n_states,) array
    states, actions : list

    See Also
    --------
    tenfold.ValueIteration, tenfold.PolicyIteration, tenfold.FiniteHorizon : Planning.
    tenfold.QLearning : Learning without knowing the probabilities.
    tenfold.rl.TransitionModel : The process estimated from moves.

    References
    ----------
    M. L. Puterman (1994), "Markov Decision Processes", chapters 2 to 6.

    Examples
    --------
    Two states. In the first one can stay (reward 0.1) or go to the second (0); there staying pays
    1 and going back 0.5.

    >>> import numpy as np
    >>> from tenfold import MDP, ValueIteration
    >>> go = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], float)
    >>> mdp = MDP(go, [[0.1, 0], [1, 0.5]], actions=["stay", "go"])
    >>> plan = ValueIteration(discount=0.9).fit(mdp)
    >>> plan.values_.round(4).tolist(), [mdp.actions[a] for a in plan.policy_]
    ([9.0, 10.0], ['go', 'stay'])
    """

    def __init__(
        self,
        transitions: Any,
        rewards: Any,
        *,
        reward_on: str = "leaving",
        action_cost: Any = 0.0,
        terminal: Any = None,
        states: Sequence[Hashable] | None = None,
        actions: Sequence[Hashable] | None = None,
        start: Any = None,
    ) -> None:
        n, k, indptr, next_state, probability = from_arrays(transitions)
        self._name(n, k, states, actions)
        pairs = pair_numbers(indptr)
        reward, missing = self._rewards(rewards, reward_on, action_cost, pairs, next_state)
        if missing is not None and missing.any():
            keep = ~missing.ravel()[pairs]
            indptr = np.concatenate([[0], np.cumsum(keep)])[indptr].astype(np.int64)
            next_state, probability, reward = next_state[keep], probability[keep], reward[keep]
        ends = np.zeros(len(next_state), bool)
        table = Transitions(indptr, next_state, probability, reward, ends)
        self._finish(table, terminal, start)

    def _name(self, n: int, k: int, states: Any, actions: Any) -> None:
        """Set sizes and names."""
        self.n_states, self.n_actions = n, k
        self.states = list(range(n)) if states is None else list(states)
        self.actions = list(range(k)) if actions is None else list(actions)
        if not n or not k:
            raise ValueError(f"{n} states and {k} actions: a process has at least one of each")
        for names, size, what in ((self.states, n, "states"), (self.actions, k, "actions")):
            try:
                different = len(set(names))
            except TypeError:
                raise ValueError(
                    f"{what} are named {names[0]!r}, ...: lists are no names"
                ) from None
            if len(names) != size or different != size:
                raise ValueError(f"{what}: expected {size} different names, got {len(names)}")

    def _finish(self, table: Transitions, terminal: Any, start: Any) -> None:
        """Set transitions, terminal states and start, all checked."""
        self.terminal = self._state_mask(terminal, "terminal")
        self.transitions = table
        check_transitions(table, self.pair_name, self.terminal)
        self.start = self._start_probabilities(start)
        if (self.start[self.terminal] > 0).any():
            state = self.states[int(np.flatnonzero(self.terminal & (self.start > 0))[0])]
            raise ValueError(f"episodes would start in state {state!r}, which is terminal")

    @classmethod
    def from_transitions(
        cls, table: Transitions, states: Any, actions: Any, terminal: Any, start: Any
    ) -> MDP:
        """The process with these transitions; terminal states and start as in the constructor."""
        self = cls.__new__(cls)
        self._name(len(states), len(actions), states, actions)
        self._finish(table, terminal, start)
        return self

    @classmethod
    def from_gymnasium(cls, env: Any, **settings: Any) -> MDP:
        """The dynamics `P[s][a]` of an environment of Gymnasium's "toy text" kind.

        A transition that terminates ends the process, whatever the state after it.

        Parameters
        ----------
        env : str, environment or dict
            A name for `gymnasium.make`, an environment (also a wrapped one) with an attribute `P`,
            or `P` itself: lists of (probability, next state, reward, terminated).
        **settings
            Of `gymnasium.make`, such as ``is_slippery=False``.

        Examples
        --------
        >>> from tenfold import MDP
        >>> mdp = MDP.from_gymnasium(
        ...     {0: {0: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)]}, 1: {0: [(1.0, 1, 0.0, True)]}}
        ... )
        >>> mdp.n_states, mdp.expected_rewards.tolist()
        (2, [[0.5], [0.0]])
        """
        return cls.from_transitions(*sources.read_gymnasium(env, settings))

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        state: str = "state",
        action: str = "action",
        next_state: str = "next_state",
        probability: str = "probability",
        reward: str = "reward",
        terminated: str = "terminated",
        terminal: Any = None,
        start: Any = None,
    ) -> MDP:
        """A process from a table with a row for each possible move.

        Parameters
        ----------
        table : path, data frame, dict of columns
            CSV, Parquet, Excel, JSON lines, or a table in memory.
        state, action, next_state, probability, reward, terminated : str
            Names of the columns; `terminated` may be missing. States and actions may be numbers or
            words, and are sorted.
        terminal, start : optional
            As in `MDP`; states by their names.

        See Also
        --------
        tenfold.rl.TransitionModel : From moves that were observed, without probabilities.

        Examples
        --------
        >>> from tenfold import MDP
        >>> moves = {
        ...     "state": ["in", "in"],
        ...     "action": ["wait", "wait"],
        ...     "probability": [0.9, 0.1],
        ...     "next_state": ["in", "out"],
        ...     "reward": [1, 0],
        ... }
        >>> mdp = MDP.from_table(moves, terminal=["out"])
        >>> mdp.states, mdp.expected_rewards[0]
        (['in', 'out'], array([0.9]))
        """
        columns = (state, action, next_state, probability, reward, terminated)
        return cls.from_transitions(*sources.read_table(table, columns, terminal, start))

    @classmethod
    def from_functions(
        cls,
        transition: Callable[[Any, Any], Any],
        *,
        actions: Any,
        start: Hashable | None = None,
        states: Sequence[Hashable] | None = None,
        reward: Callable[[Any, Any, Any], float] | None = None,
        terminal: Callable[[Any], bool] | None = None,
        max_states: int = 10_000_000,
    ) -> MDP:
        """A process from functions of states and actions.

        Parameters
        ----------
        transition : callable
            ``transition(state, action)`` gives a dict from next states to probabilities, or one
            next state that is certain.
        actions : list, or callable
            All actions; or ``actions(state)`` gives those that exist there.
        start : state, optional
            Where the process starts.
        states : list, optional
            All states; by default those that can be reached from `start`.
        reward : callable, optional
            ``reward(state, action, next_state)``; zero by default.
        terminal : callable, optional
            ``terminal(state)`` says whether the process ends there.
        max_states : int
            Most states to look for.

        Examples
        --------
        A fortune that is doubled or lost by the toss of a coin, up to eight:

        >>> from tenfold import MDP
        >>> mdp = MDP.from_functions(
        ...     lambda s, a: {s + a: 0.5, s - a: 0.5},
        ...     actions=lambda s: range(1, min(s, 8 - s) + 1),
        ...     start=3,
        ...     reward=lambda s, a, after: float(after == 8),
        ...     terminal=lambda s: s in (0, 8),
        ... )
        >>> sorted(mdp.states)
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        """
        read = sources.FunctionReader(transition, actions, reward, terminal, max_states)
        return cls.from_transitions(*read.explore(start, states))

    @cached_property
    def state_names(self) -> list[Any]:
        """Names of the states as numbers and text."""
        return plain_names(self.states)

    @cached_property
    def action_names(self) -> list[Any]:
        """Names of the actions as numbers and text."""
        return plain_names(self.actions)

    @cached_property
    def planning(self) -> Planning:
        """Expected rewards, and the transitions after which the process goes on."""
        return planning_arrays(self.transitions, self.terminal)

    @property
    def expected_rewards(self) -> np.ndarray:
        """R(s, a), the expected reward of each action; -inf where it does not exist."""
        return self.planning.rewards

    @property
    def available(self) -> np.ndarray:
        """(n_states, n_actions) whether the action exists in the state."""
        return np.isfinite(self.planning.rewards)

    def value_bound(self, discount: float) -> float:
        """The bound R_max / (1 - discount) of the absolute value of every policy.

        Parameters
        ----------
        discount : float
            Below 1: without discount rewards bound no value, as episodes may have any length.
        """
        if not 0 <= discount < 1:
            raise ValueError(f"discount={discount}: the bound needs a discount in [0, 1)")
        rewards = self.planning.rewards
        return float(np.abs(rewards[np.isfinite(rewards)]).max()) / (1 - discount)

    def action_values(self, values: Any, discount: float) -> np.ndarray:
        """Q(s, a) = R(s, a) + discount * sum_s' T(s, a, s') V(s'), from values of the states.

        Parameters
        ----------
        values : array of shape (n_states,)
        discount : float
        """
        V, p = np.ascontiguousarray(values, dtype=np.float64), self.planning
        if V.shape != (self.n_states,) or np.isnan(V).any():
            raise ValueError(
                f"values has shape {V.shape}: expected ({self.n_states},), none of them NaN"
            )
        check_share(discount, "discount")
        return look_ahead(p.indptr, p.next_state, p.probability, p.rewards, V, float(discount))[0]

    def bellman_residual(self, values: Any, discount: float) -> float:
        """``max_s |max_a Q(s, a) - V(s)|``, which is zero for the optimal values alone."""
        V = np.asarray(values, dtype=np.float64)
        return float(np.abs(self.action_values(V, discount).max(axis=1) - V).max())

    def chain(self, policy: Any) -> tuple[sparse.csr_array, np.ndarray]:
        """Transition matrix (of the moves that go on) and expected rewards under a policy.

        Parameters
        ----------
        policy : array of shape (n_states,), or (n_states, n_actions)
            An action for each state, or a probability for each action in each state.
        """
        policy = self.check_policy(policy)
        n, k = self.n_states, self.n_actions
        if policy.ndim == 1:
            chosen = np.arange(n) * k + policy
            return sparse.csr_array(self._matrix[chosen]), self.planning.rewards.ravel()[chosen]
        pairs = np.arange(n * k)
        choice = sparse.csr_array((policy.ravel(), (pairs // k, pairs)), shape=(n, n * k))
        rewards = np.where(policy > 0, self.planning.rewards, 0.0)
        return sparse.csr_array(choice @ self._matrix), (policy * rewards).sum(axis=1)

    def check_policy(self, policy: Any) -> np.ndarray:
        """The policy as an array of actions or of probabilities, checked."""
        policy = np.asarray(policy)
        n, k = self.n_states, self.n_actions
        if policy.shape == (n,) and policy.dtype.kind in "iu":
            bad = (policy < 0) | (policy >= k)
            chosen = ~bad & ~self.available[np.arange(n), np.where(bad, 0, policy)]
            if (wrong := bad | chosen).any():
                state = int(np.flatnonzero(wrong)[0])
                raise ValueError(
                    f"the policy takes action {policy[state]} in state {self.states[state]!r}, "
                    "which does not exist there"
                )
            return policy
        if policy.shape == (n, k) and policy.dtype.kind in "fiub":
            policy = policy.astype(np.float64)
            wrong = (policy < 0).any(axis=1) | ~(np.abs(policy.sum(axis=1) - 1) < 1e-8)
            wrong |= ((policy > 0) & ~self.available).any(axis=1)
            if wrong.any():
                state = int(np.flatnonzero(wrong)[0])
                raise ValueError(
                    f"the policy in state {self.states[state]!r} is {policy[state].tolist()}: "
                    "expected probabilities that sum to 1, zero for actions that do not exist"
                )
            return policy
        raise ValueError(
            f"the policy has shape {policy.shape} and holds {policy.dtype}: expected ({n},) whole "
            f"numbers, or ({n}, {k}) probabilities"
        )

    def pair_name(self, pair: int) -> str:
        """State and action of a pair in words."""
        state, action = divmod(pair, self.n_actions)
        return f"state {self.states[state]!r}, action {self.actions[action]!r}"

    def to_table(self) -> dict[str, list]:
        """All transitions as columns, which `from_table` reads; names as numbers or text."""
        t, states, actions = self.transitions, plain_names(self.states), plain_names(self.actions)
        pairs = pair_numbers(t.indptr)
        return {
            "state": [states[s] for s in pairs // self.n_actions],
            "action": [actions[a] for a in pairs % self.n_actions],
            "next_state": [states[s] for s in t.next_state],
            "probability": t.probability.tolist(),
            "reward": t.reward.tolist(),
            "terminated": (t.ends | self.terminal[t.next_state]).tolist(),
        }

    def __repr__(self) -> str:
        size = f"{self.n_states} states, {self.n_actions} actions"
        return f"MDP({size}, {len(self.transitions.next_state)} transitions)"

    @cached_property
    def _matrix(self) -> sparse.csr_array:
        """(n_states * n_actions, n_states) probabilities of the moves that go on."""
        p = self.planning
        shape = (self.n_states * self.n_actions, self.n_states)
        return sparse.csr_array((p.probability, p.next_state, p.indptr), shape=shape)

    def _rewards(
        self, rewards: Any, reward_on: str, cost: Any, pairs: np.ndarray, next_state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Reward of each transition, and which pairs do not exist."""
        if reward_on not in {"leaving", "arriving"}:
            raise ValueError(f"reward_on={reward_on!r}: there are 'leaving' and 'arriving'")
        n, k, missing = self.n_states, self.n_actions, None
        if isinstance(rewards, Sequence) and any(sparse.issparse(part) for part in rewards):
            stacked: Any = sparse.vstack([sparse.csr_array(part) for part in rewards], format="csr")
            if stacked.shape != (n * k, n):
                raise ValueError(f"rewards: expected {k} matrices of shape ({n}, {n})")
            reward = np.asarray(stacked[pairs % k * n + pairs // k, next_state]).ravel()
        else:
            try:
                R = np.asarray(rewards, dtype=np.float64)
            except (TypeError, ValueError) as problem:
                raise ValueError(f"rewards holds something else than numbers: {problem}") from None
            if R.shape == (n,):
                reward = R[next_state if reward_on == "arriving" else pairs // k]
            elif R.shape == (n, k):
                reward, missing = R.ravel()[pairs], np.isneginf(R)
            elif R.shape == (n, k, n):
                reward = R.reshape(n * k, n)[pairs, next_state]
            else:
                raise ValueError(
                    f"rewards has shape {R.shape}: expected R(s) of shape ({n},), R(s, a) of "
                    f"shape ({n}, {k}), or R(s, a, s') of shape ({n}, {k}, {n})"
                )
        try:
            costs = np.broadcast_to(np.asarray(cost, dtype=np.float64), (k,))
        except (TypeError, ValueError):
            raise ValueError(
                f"action_cost={cost!r}: expected a number, or one for each of {k} actions"
            ) from None
        return reward - costs[pairs % k], missing

    def _state_mask(self, which: Any, what: str) -> np.ndarray:
        """States given as a mask, by names or by numbers, as a mask."""
        mask = np.zeros(self.n_states, bool)
        if which is None:
            return mask
        array = np.asarray(which)
        if array.dtype == bool and array.shape == mask.shape:
            return array.copy()
        if isinstance(which, str) or not isinstance(which, Iterable):
            raise TypeError(f"{what}={which!r}: expected a list of states, or a mask")
        number: dict[Any, int] = {name: i for i, name in enumerate(self.states)}
        for name in which:
            if not isinstance(name, Hashable) or name not in number:
                raise ValueError(f"{what}: there is no state {name!r}")
            mask[number[name]] = True
        return mask

    def _start_probabilities(self, start: Any) -> np.ndarray:
        if start is None:
            return ~self.terminal / max(int((~self.terminal).sum()), 1)
        given = start.tolist() if isinstance(start, np.generic) else start
        if isinstance(given, Hashable) and given in self.states:
            chosen = np.zeros(self.n_states)
            chosen[next(i for i, name in enumerate(self.states) if name == given)] = 1.0
            return chosen
        array = np.asarray(start, dtype=np.float64) if not isinstance(start, str) else np.empty(0)
        is_wrong = array.shape != (self.n_states,) or not (array >= 0).all()
        if is_wrong or abs(array.sum() - 1) > 1e-8:
            raise ValueError(f"start={start!r}: expected a state, or a probability for each state")
        return array
