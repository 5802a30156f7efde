"""Transition probabilities and rewards estimated from moves: counts that merge."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.io.table_opener import open_table
from tenfold.rl._arguments import check_count, check_seed
from tenfold.rl._transitions import from_lists
from tenfold.rl.mdp import MDP
from tenfold.rl.moves import as_booleans, as_numbers, column_codes, move_columns

_UNVISITED = ("stay", "optimistic", "missing")


class MoveCounts(NamedTuple):
    """How often each move was made, and the sum of its rewards; two of them merge.

    Attributes
    ----------
    states, actions : sorted arrays of names
    moves : (n, 4) array
        Numbers of state, action and next state, and whether the episode terminated; sorted.
    n_times : (n,) array
    reward : (n,) array
        Sums.
    """

    states: np.ndarray
    actions: np.ndarray
    moves: np.ndarray
    n_times: np.ndarray
    reward: np.ndarray

    def merge(self, other: MoveCounts) -> MoveCounts:
        """Counts of both."""
        states = np.union1d(self.states, other.states)
        actions = np.union1d(self.actions, other.actions)
        parts = []
        for one in (self, other):
            s, a = np.searchsorted(states, one.states), np.searchsorted(actions, one.actions)
            codes = (s[one.moves[:, 0]], a[one.moves[:, 1]], s[one.moves[:, 2]], one.moves[:, 3])
            parts.append(np.stack(codes, axis=1))
        count = np.concatenate([self.n_times, other.n_times])
        reward = np.concatenate([self.reward, other.reward])
        return MoveCounts(states, actions, *_sum_equal(np.concatenate(parts), count, reward))


def _sum_equal(
    moves: np.ndarray, count: np.ndarray, reward: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Different moves, with their counts and rewards summed up."""
    sizes = moves.max(axis=0) + 1
    key = np.ravel_multi_index(tuple(moves.T), tuple(sizes))
    unique, where = np.unique(key, return_inverse=True)
    total = np.bincount(where, weights=count).astype(np.int64)  # exact below 2^53
    columns = np.stack(np.unravel_index(unique, tuple(sizes)), axis=1)
    return columns, total, np.bincount(where, weights=reward)


def count_moves(chunk: Chunk, columns: tuple[str, ...]) -> MoveCounts:
    """Counts of the moves of a chunk of a table."""
    cells = move_columns(chunk.X, columns, chunk.first)
    (s, t), states = column_codes([cells[0], cells[3]])
    (a,), actions = column_codes([cells[1]])
    ends = as_booleans(cells[4], columns[4], chunk.first)
    moves = np.stack([s, a, t, ends.astype(np.int64)], axis=1)
    reward, ones = as_numbers(cells[2], columns[2], chunk.first), np.ones(len(s), np.int64)
    return MoveCounts(np.array(states), np.array(actions), *_sum_equal(moves, ones, reward))


class TransitionModel(BaseEstimator):
    r"""A process estimated from moves that were observed.

    .. math:: \hat T(s, a, s') = \frac{N(s, a, s') + c}{\sum_{t} (N(s, a, t) + c)}, \qquad
        \hat R(s, a, s') = \text{mean of the rewards of the move},

    the sum being over the states t that were reached from s, a. Counts are a statistic of one pass:
    they are taken from tables and files of any size, on all cores, go on with `partial_fit`, and
    merge.

    Parameters
    ----------
    state, action, reward, next_state, terminated : str
        Names of the columns; `terminated` may be missing.

    Attributes
    ----------
    counts_ : MoveCounts
    states_, actions_ : lists
        Names, sorted.
    n_moves_ : int

    See Also
    --------
    QLearning : Learns from the same moves without a model.

    Examples
    --------
    >>> from tenfold.rl import TransitionModel
    >>> moves = {
    ...     "state": [0, 0, 0, 1],
    ...     "action": [0, 0, 0, 0],
    ...     "reward": [1, 3, 0, 5],
    ...     "next_state": [0, 0, 1, 1],
    ... }
    >>> mdp = TransitionModel().fit(moves).to_mdp()
    >>> mdp.transitions.probability.round(4).tolist(), mdp.transitions.reward.tolist()
    ([0.6667, 0.3333, 1.0], [2.0, 0.0, 5.0])
    """

    def __init__(
        self,
        state: str = "state",
        action: str = "action",
        reward: str = "reward",
        next_state: str = "next_state",
        terminated: str = "terminated",
    ) -> None:
        self.state, self.action, self.reward = state, action, reward
        self.next_state, self.terminated = next_state, terminated

    @property
    def columns(self) -> tuple[str, str, str, str, str]:
        """Names of the columns."""
        return self.state, self.action, self.reward, self.next_state, self.terminated

    def fit(self, moves: Any, y: Any = None) -> Self:
        """Count the moves of a table or file.

        Parameters
        ----------
        moves : path, data frame, dict of columns
        y : ignored
        """
        del y
        self.__dict__.pop("counts_", None)
        return self.partial_fit(moves)

    def partial_fit(self, moves: Any) -> Self:
        """Add the moves of another table or file."""
        source = open_table(moves)
        for name in self.columns[:4]:
            source.assert_column(name)
        if not len(source):
            raise ValueError(f"{source.shown} has no rows: nothing to count")
        names = [name for name in self.columns if name in source.names]
        return self.add_counts(
            Rows(source.select(names), allow_nan=True).total(count_moves, self.columns)
        )

    def merge(self, other: TransitionModel) -> TransitionModel:
        """Counts of both, as a new object."""
        both = TransitionModel(*self.columns)
        for counts in (self.counts_, other.counts_):
            both.add_counts(counts)
        return both

    def add_counts(self, counts: MoveCounts) -> Self:
        """Add counts, such as those of another process."""
        known = self.__dict__.get("counts_")
        self.counts_ = counts if known is None else known.merge(counts)
        self.states_, self.actions_ = self.counts_.states.tolist(), self.counts_.actions.tolist()
        self.n_moves_ = int(self.counts_.n_times.sum())
        return self

    def to_mdp(
        self,
        *,
        prior: float = 0.0,
        unvisited: str = "stay",
        optimistic_value: float = 0.0,
        terminal: Any = None,
        start: Any = None,
    ) -> MDP:
        """The estimated process, to plan with.

        Parameters
        ----------
        prior : float
            Pseudo-count of every state that was seen after the pair, a Dirichlet prior.
        unvisited : {"stay", "optimistic", "missing"}
            Of actions that were never tried in a state: "stay" there for nothing; "optimistic" end
            with `optimistic_value`, which makes a plan try them; "missing", the action does not
            exist (a state without any other must be terminal).
        optimistic_value : float
            Such as R_max / (1 - discount).
        terminal, start : optional
            As in `MDP`. States that were only reached by moves that terminated are terminal.
        """
        if unvisited not in _UNVISITED:
            raise ValueError(f"unvisited={unvisited!r}: there are {', '.join(_UNVISITED)}")
        check_is_fitted(self)
        if not (isinstance(prior, Real) and 0 <= prior < np.inf):
            raise ValueError(f"prior={prior!r}: expected a number, at least 0")
        counts, k, n = self.counts_, len(self.actions_), len(self.states_)
        s, a, t, ends = counts.moves.T
        pairs = s * k + a
        weight = counts.n_times + prior
        probability = weight / np.bincount(pairs, weights=weight, minlength=n * k)[pairs]
        reward = counts.reward / counts.n_times
        if terminal is None:
            mask = np.zeros(n, bool)
            mask[np.setdiff1d(t[ends == 1], np.concatenate([s, t[ends == 0]]))] = True
            terminal = [self.states_[i] for i in np.flatnonzero(mask)]
        new = np.setdiff1d(np.arange(n * k), pairs) if unvisited != "missing" else np.empty(0, int)
        is_optimistic = unvisited == "optimistic"
        table = from_lists(
            np.concatenate([pairs, new]),
            np.concatenate([t, new // k]),
            np.concatenate([probability, np.ones(len(new))]),
            np.concatenate([reward, np.full(len(new), optimistic_value * is_optimistic)]),
            np.concatenate([ends == 1, np.full(len(new), is_optimistic)]),
            n * k,
        )
        return MDP.from_transitions(table, self.states_, self.actions_, terminal, start)


def sample_moves(mdp: MDP, n: int, policy: Any = None, random_state: int = 0) -> dict[str, list]:
    """A table of n moves of a process, by default with random actions in random states.

    Parameters
    ----------
    mdp : MDP
    n : int
    policy : array, optional
        An action for each state, or (n_states, n_actions) probabilities.
    random_state : int

    Examples
    --------
    >>> from tenfold.rl import TransitionModel, grid_world, sample_moves
    >>> TransitionModel().fit(sample_moves(grid_world(), 500)).n_moves_
    500
    """
    check_count(n, "n", 1)
    rng = np.random.default_rng(check_seed(random_state))
    free = np.flatnonzero(~mdp.terminal)
    if not len(free):
        raise ValueError("all states of the process are terminal: there are no moves")
    P = mdp.available / mdp.available.sum(axis=1, keepdims=True) if policy is None else policy
    P = mdp.check_policy(P)
    P = np.eye(mdp.n_actions)[P] if P.ndim == 1 else P
    s = rng.choice(free, n)
    a = (rng.random(n)[:, None] > P[s].cumsum(axis=1)[:, :-1]).sum(axis=1)
    t, u = mdp.transitions, rng.random(n)
    first, last = t.indptr[s * mdp.n_actions + a], t.indptr[s * mdp.n_actions + a + 1]
    move = np.array(
        [_pick(t.probability[i:j], x) + i for i, j, x in zip(first, last, u, strict=True)]
    )
    ends = t.ends[move] | mdp.terminal[t.next_state[move]]
    states, actions = mdp.state_names, mdp.action_names
    return {
        "state": [states[i] for i in s],
        "action": [actions[i] for i in a],
        "reward": t.reward[move].tolist(),
        "next_state": [states[i] for i in t.next_state[move]],
        "terminated": ends.tolist(),
    }


def _pick(probability: np.ndarray, u: float) -> int:
    return int(min(np.searchsorted(probability.cumsum(), u, side="right"), len(probability) - 1))
