"""Markov chains of named or numbered states."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.save_mixin import SaveMixin
from tenfold.sequence._sequence_lengths import check_whole
from tenfold.sequence._text_generation import make_seeds
from tenfold.sequence._transition_counts import (
    TransitionCounts,
    count_transitions,
    open_states,
    refuse_repeated,
    sort_states,
)


class MarkovChain(SaveMixin, BaseEstimator):
    r"""Markov chain: the next state depends on the present one alone.

    .. math:: p(s_1 \dots s_T) = p(s_1) \prod_{t=2}^{T} P_{s_{t-1} s_t}

    Starts and transitions are estimated by their shares of the counts, which is maximum likelihood,
    or by the posterior mean under a symmetric Dirichlet prior (`pseudo_count`). Counts come from
    one pass and are whole numbers: threads, files, workers, `partial_fit` and `merge` give exactly
    the same chain.

    Parameters
    ----------
    pseudo_count : float
        Added to each count.
    states : list, optional
        All states; by default those that occur.

    Attributes
    ----------
    states_ : list
        States in ascending order.
    start_prob_ : (K,) array
        Distribution of the first state.
    transition_matrix_ : (K, K) array
        Row: from, column: to. The row of a state that was never left is uniform if there are
        pseudo-counts, and otherwise leads back to the state itself: it is absorbing.
    statistic_ : TransitionCounts
        The counts.

    See Also
    --------
    NGramModel : chains of higher order, with smoothing.

    References
    ----------
    .. [1] J. G. Kemeny and J. L. Snell, "Finite Markov chains", 1960.
    .. [2] W. K. Grassmann, M. I. Taksar and D. P. Heyman, "Regenerative analysis and steady state
       distributions for Markov chains", Operations Research 33, 1985.

    Examples
    --------
    >>> from tenfold import MarkovChain
    >>> chain = MarkovChain().fit([["sun", "sun", "rain"], ["rain", "sun", "sun", "sun"]])
    >>> chain.states_
    ['rain', 'sun']
    >>> chain.transition_matrix_.tolist()
    [[0.0, 1.0], [0.25, 0.75]]
    >>> chain.stationary_distribution().round(3).tolist()
    [0.2, 0.8]
    """

    _parameter_constraints: dict[str, Any] = {
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
        "states": ["array-like", range, None],
    }

    _learned_shapes = {
        "start_prob_": "m",
        "transition_matrix_": "m m",
        "statistic_.starts": "m",
        "statistic_.transitions": "m m",
    }

    def __init__(self, *, pseudo_count: float = 0.0, states: Any = None) -> None:
        self.pseudo_count = pseudo_count
        self.states = states

    def fit(self, X: Any, y: Any = None, *, lengths: Any = None) -> Self:
        """Count starts and transitions.

        Parameters
        ----------
        X : list of sequences, `Ragged`, (values, lengths) of arrays or `.npy` files, or array
            States of any kind in a list or an array, whose rows are sequences; whole numbers from 0
            on in the other forms, which may be larger than memory. A flat list (or array, or column
            of a table) of names or numbers is one sequence; a single text is the sequence of its
            characters, so ``[list(word) for word in words]`` makes a sequence of each word.
        y : None
            Not used.
        lengths : list of int, optional
            Lengths of the sequences, if X holds all their steps below each other.

        Returns
        -------
        self
        """
        self._validate_params()
        known = None if self.states is None else sort_states(self.states)
        states, rows = open_states(X, lengths, known)
        self._set_counts(states, count_transitions(rows, len(states)))
        return self

    def partial_fit(self, X: Any, y: Any = None, *, lengths: Any = None) -> Self:
        """Learn from more sequences, as if they had been part of those so far.

        Parameters
        ----------
        X, y, lengths : as for `fit`
            More sequences.

        Returns
        -------
        self
        """
        further = type(self)(**self.get_params()).fit(X, lengths=lengths)
        joint = self.merge(further) if hasattr(self, "statistic_") else further
        self._set_counts(joint.states_, joint.statistic_)
        return self

    def merge(self, other: Self) -> Self:
        """Merge with a chain of other sequences; returns the chain of both parts.

        Parameters
        ----------
        other : fitted chain with the same parameters
            It is left as it is.
        """
        for chain in (self, other):
            check_is_fitted(chain, "statistic_")
        states = sort_states(set(self.states_) | set(other.states_))
        places = {state: place for place, state in enumerate(states)}
        counts = [
            chain.statistic_.expand(np.array([places[s] for s in chain.states_]), len(states))
            for chain in (self, other)
        ]
        merged = type(self)(**self.get_params())
        merged._set_counts(  # noqa: SLF001 - of the same class
            states, TransitionCounts(*(a + b for a, b in zip(*counts, strict=True)))
        )
        return merged

    @classmethod
    def from_matrix(
        cls, transition_matrix: Any, start_prob: Any = None, states: Any = None
    ) -> Self:
        """The chain of a given matrix.

        Parameters
        ----------
        transition_matrix : (K, K) array
            Row: from, column: to; rows sum to one.
        start_prob : (K,) array, optional
            Distribution of the first state; uniform by default.
        states : list, optional
            Names of the states, in the order of the rows; by default 0 to K - 1.
        """
        matrix = np.asarray(transition_matrix, float)
        size = len(matrix)
        start = np.full(size, 1 / size) if start_prob is None else np.asarray(start_prob, float)
        names = list(range(size)) if states is None else list(states)
        refuse_repeated(names)
        _check_distributions(matrix, start, names)
        chain = cls(states=None if states is None else names)
        chain.states_, chain.start_prob_, chain.transition_matrix_ = names, start, matrix
        return chain

    def log_prob(self, X: Any, *, lengths: Any = None) -> np.ndarray:
        """Natural logarithm of the probability of each sequence.

        Parameters
        ----------
        X, lengths : as for `fit`
            The sequences.
        """
        check_is_fitted(self)
        _, rows = open_states(X, lengths, self.states_)
        with np.errstate(divide="ignore"):
            return rows.each(
                _score_chunk, np.log(self.start_prob_), np.log(self.transition_matrix_)
            )

    def score(self, X: Any, y: Any = None, *, lengths: Any = None) -> float:
        """Sum of the log-probabilities of the sequences.

        Parameters
        ----------
        X, y, lengths : as for `fit`
            The sequences.
        """
        return float(self.log_prob(X, lengths=lengths).sum())

    def sample(
        self, n_steps: int, n_sequences: int = 1, *, start: Any = None, random_state: Any = None
    ) -> list[list[Any]]:
        """Simulate sequences; sequence i is the same whatever their number.

        Parameters
        ----------
        n_steps : int
            Length of each.
        n_sequences : int
            Number of sequences.
        start : state, optional
            First state, instead of a draw from `start_prob_`.
        random_state : int or None
            Seed.
        """
        check_is_fitted(self)
        for name, value in (("n_steps", n_steps), ("n_sequences", n_sequences)):
            check_whole(name, value, least=0)
        first = np.cumsum(self.start_prob_)
        rows = np.cumsum(self.transition_matrix_, axis=1)
        sequences = []
        for seed in make_seeds(random_state).spawn(n_sequences):
            draws = np.random.Generator(np.random.Philox(seed)).random(n_steps)
            state, path = -1, []
            for step, draw in enumerate(draws):
                if step == 0 and start is not None:
                    state = self._place(start)
                else:
                    table = first if step == 0 else rows[state]
                    state = int(np.searchsorted(table, draw * table[-1], side="right"))
                path.append(self.states_[state])
            sequences.append(path)
        return sequences

    def predict_proba(self, state: Any = None, steps: int = 1) -> np.ndarray:
        """Distribution of the state after some steps.

        Parameters
        ----------
        state : state, optional
            The present state; by default the distribution of the first state is moved on.
        steps : int
            Number of steps.
        """
        check_is_fitted(self)
        if state is None:
            present = self.start_prob_
        else:
            present = np.zeros(len(self.states_))
            present[self._place(state)] = 1.0
        return present @ np.linalg.matrix_power(self.transition_matrix_, steps)

    def communicating_classes(self) -> list[list[Any]]:
        """Sets of states that reach each other; a chain of one class is irreducible."""
        labels = self._class_labels()
        return [
            [self.states_[k] for k in np.flatnonzero(labels == label)]
            for label in np.unique(labels)
        ]

    def recurrent_classes(self) -> list[list[Any]]:
        """The communicating classes that are never left."""
        places = [self._places(states) for states in self.communicating_classes()]
        outside = [self.transition_matrix_[np.ix_(p, np.setdiff1d(self._all(), p))] for p in places]
        return [
            [self.states_[k] for k in p]
            for p, leaves in zip(places, outside, strict=True)
            if not (leaves > 0).any()
        ]

    def period(self, state: Any = None) -> int:
        """Greatest common divisor of the numbers of steps in which a state may return to itself.

        Parameters
        ----------
        state : state, optional
            By default the first one; all states of a communicating class have the same period.
        """
        check_is_fitted(self)
        place = self._place(self.states_[0] if state is None else state)
        labels = self._class_labels()
        inside = np.flatnonzero(labels == labels[place])
        links = self.transition_matrix_[np.ix_(inside, inside)] > 0
        distance = np.full(len(inside), -1)
        distance[np.flatnonzero(inside == place)[0]] = 0
        frontier = [int(np.flatnonzero(inside == place)[0])]
        while frontier:
            reached = {int(b) for a in frontier for b in np.flatnonzero(links[a])}
            step = distance[frontier[0]] + 1
            frontier = [b for b in reached if distance[b] < 0]
            distance[frontier] = step
        a, b = np.nonzero(links)
        return int(np.gcd.reduce(distance[a] + 1 - distance[b])) if len(a) else 0

    def stationary_distribution(self) -> np.ndarray:
        """The distribution that a step does not change.

        Raises
        ------
        ValueError
            If there are several recurrent classes, hence several such distributions.
        """
        check_is_fitted(self)
        classes = self.recurrent_classes()
        if len(classes) > 1:
            shown = "; ".join(", ".join(map(str, c[:3])) for c in classes[:3])
            raise ValueError(
                f"there are {len(classes)} classes of states that are never left ({shown}), each "
                "with a stationary distribution of its own: select the states of one of them"
            )
        inside = self._places(classes[0])
        distribution = np.zeros(len(self.states_))
        distribution[inside] = _solve_stationary(self.transition_matrix_[np.ix_(inside, inside)])
        return distribution

    def hitting_probabilities(self, targets: Any) -> np.ndarray:
        """Probability of ever reaching one of some states, from each state.

        Parameters
        ----------
        targets : state, or list of states
            The states to reach.
        """
        at, reaching = self._targets(targets)
        inside = np.setdiff1d(reaching, at)
        probability = np.zeros(len(self.states_))
        probability[at] = 1.0
        P = self.transition_matrix_
        if len(inside):
            system = np.eye(len(inside)) - P[np.ix_(inside, inside)]
            probability[inside] = np.linalg.solve(system, P[np.ix_(inside, at)].sum(axis=1))
        return np.clip(probability, 0.0, 1.0)

    def hitting_times(self, targets: Any) -> np.ndarray:
        """Expected number of steps to reach one of some states; infinite if that is not certain.

        Parameters
        ----------
        targets : state, or list of states
            The states to reach.
        """
        at, reaching = self._targets(targets)
        P = self.transition_matrix_
        # A state that may wander to where no target is reached from does not reach one for certain.
        lost = np.setdiff1d(self._all(), reaching)
        stopped = P.copy()
        stopped[at] = 0.0
        lost = np.flatnonzero(_reach(stopped, lost)) if len(lost) else lost
        inside = np.setdiff1d(self._all(), np.union1d(lost, at))
        times = np.full(len(self.states_), np.inf)
        times[at] = 0.0
        if len(inside):
            system = np.eye(len(inside)) - P[np.ix_(inside, inside)]
            times[inside] = np.linalg.solve(system, np.ones(len(inside)))
        return times

    def _set_counts(self, states: list[Any], counts: TransitionCounts) -> None:
        self.states_, self.statistic_ = states, counts
        starts, transitions = (part + float(self.pseudo_count) for part in counts)
        if not starts.sum() > 0:
            raise ValueError("all sequences are empty: there is nothing to count")
        self.start_prob_ = starts / starts.sum()
        totals = transitions.sum(axis=1)
        never = totals == 0
        transitions[never, never] = 1.0
        self.transition_matrix_ = transitions / np.where(never, 1.0, totals)[:, None]

    def _all(self) -> np.ndarray:
        return np.arange(len(self.states_))

    def _place(self, state: Any) -> int:
        if state not in self.states_:
            raise ValueError(f"{state!r} is not among the states {self.states_[:8]}")
        return self.states_.index(state)

    def _places(self, states: list[Any]) -> np.ndarray:
        return np.array([self._place(state) for state in states], np.int64)

    def _class_labels(self) -> np.ndarray:
        check_is_fitted(self)
        links = csr_array(self.transition_matrix_ > 0)
        return connected_components(links, directed=True, connection="strong")[1]

    def _targets(self, targets: Any) -> tuple[np.ndarray, np.ndarray]:
        """Places of targets, and of all states from which one of them can be reached."""
        check_is_fitted(self)
        single = isinstance(targets, str | bytes) or not isinstance(targets, Iterable)
        if single or (isinstance(targets, tuple) and targets in self.states_):
            targets = [targets]
        at = np.unique(self._places(list(targets)))
        if not len(at):
            raise ValueError("there are no targets")
        return at, np.flatnonzero(_reach(self.transition_matrix_, at))


def _reach(matrix: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Whether each state may come to one of the targets."""
    reached = np.zeros(len(matrix), bool)
    frontier = np.asarray(targets)
    while len(frontier):
        reached[frontier] = True
        frontier = np.flatnonzero((matrix[:, frontier] > 0).any(axis=1) & ~reached)
    return reached


def _solve_stationary(matrix: np.ndarray) -> np.ndarray:
    """Stationary distribution of an irreducible chain, by elimination of states [2].

    No differences are formed, so small probabilities keep all their digits.
    """
    P = matrix.copy()
    size = len(P)
    for k in range(size - 1, 0, -1):
        P[:k, k] /= P[k, :k].sum()
        P[:k, :k] += np.outer(P[:k, k], P[k, :k])
    weights = np.ones(size)
    for k in range(1, size):
        weights[k] = weights[:k] @ P[:k, k]
    return weights / weights.sum()


def _score_chunk(chunk: Any, start: np.ndarray, transition: np.ndarray) -> np.ndarray:
    scores = np.zeros(len(chunk.X))
    for row, states in enumerate(chunk.X):
        path = states.ravel()
        if len(path):
            scores[row] = start[path[0]] + transition[path[:-1], path[1:]].sum()
    return scores


def _check_distributions(matrix: np.ndarray, start: np.ndarray, names: list[Any]) -> None:
    size = len(names)
    if matrix.shape != (size, size) or start.shape != (size,):
        raise ValueError(
            f"a matrix of shape {matrix.shape} and starts of shape {start.shape} for {size} states"
        )
    for name, row in zip([*names, "the start"], [*matrix, start], strict=True):
        if (row < 0).any() or not np.isclose(row.sum(), 1):
            raise ValueError(
                f"the probabilities of {name!r} are {row.tolist()}: they must not be negative and "
                "must sum to one"
            )
