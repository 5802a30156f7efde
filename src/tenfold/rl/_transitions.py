"""Transitions of a process as sparse rows, one for each pair of state and action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

_SUM_TOLERANCE = 1e-8  # by which probabilities of a pair may miss 1; they are scaled to it


class Transitions(NamedTuple):
    """Where each pair of state and action leads.

    Attributes
    ----------
    indptr : (n_states * n_actions + 1,) array
        Transitions of state s and action a stand from `indptr[s * n_actions + a]` on.
    next_state : (n,) int32 array
    probability : (n,) array
    reward : (n,) array
        Reward of the transition.
    ends : (n,) bool array
        Whether the process ends with it.
    """

    indptr: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray
    reward: np.ndarray
    ends: np.ndarray


class Planning(NamedTuple):
    """What planning needs: expected rewards, and the transitions after which the process goes on.

    Attributes
    ----------
    rewards : (n_states, n_actions) array
        Expected reward; -inf where the action is not available.
    indptr, next_state, probability : arrays
        As in `Transitions`, without those that end.
    """

    rewards: np.ndarray
    indptr: np.ndarray
    next_state: np.ndarray
    probability: np.ndarray


def from_arrays(transitions: Any) -> tuple[int, int, np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of states and actions, then `indptr`, next states and probabilities.

    `transitions` is an array (n_states, n_actions, n_states), or n_actions sparse matrices
    (n_states, n_states).
    """
    if sparse.issparse(transitions):
        raise ValueError(
            "transitions is one sparse matrix: give a list with one (n_states, n_states) matrix "
            "for each action"
        )
    if isinstance(transitions, Sequence) and any(sparse.issparse(part) for part in transitions):
        return _from_sparse(transitions)
    given = np.asarray(transitions)
    try:
        P = given.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"transitions holds something else than numbers: {problem}") from None
    if P.ndim != 3 or P.shape[0] != P.shape[2] or not P.size:
        raise ValueError(
            f"transitions has shape {P.shape}: expected (n_states, n_actions, n_states), the "
            "probability of each next state; (n_actions, n_states, n_states) becomes this by "
            ".transpose(1, 0, 2)"
        )
    n, k, _ = P.shape
    rows = P.reshape(n * k, n)
    if given.dtype in (np.float16, np.float32):  # sums of rounded numbers
        sums = rows.sum(axis=1, keepdims=True)
        near = np.abs(sums - 1) < 4 * n * np.finfo(given.dtype).eps
        rows = np.divide(rows, sums, out=rows, where=near)
    where = np.nonzero((rows != 0) | np.isnan(rows))
    return n, k, _row_starts(where[0], n * k), where[1].astype(np.int32), rows[where]


def _from_sparse(parts: Sequence[Any]) -> tuple[int, int, np.ndarray, np.ndarray, np.ndarray]:
    matrices: list[Any] = [sparse.csr_array(part).astype(np.float64) for part in parts]
    n, k = matrices[0].shape[0], len(matrices)
    for action, matrix in enumerate(matrices):
        if matrix.shape != (n, n):
            raise ValueError(
                f"transitions[{action}] has shape {matrix.shape}: expected ({n}, {n}), the "
                "probability of each next state"
            )
    stacked: Any = sparse.vstack(matrices, format="csr")
    stacked.sum_duplicates()
    order = np.arange(n * k).reshape(k, n).T.ravel()  # states outside, actions inside
    rows = sparse.csr_array(stacked[order])
    return n, k, rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data


def _row_starts(rows: np.ndarray, n: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)


def from_lists(
    rows: Any,
    next_state: Any,
    probability: Any,
    reward: Any,
    ends: Any,
    n_rows: int,
) -> Transitions:
    """Transitions given one by one, with the number of the pair that each belongs to."""
    number = np.asarray(rows, dtype=np.int64)
    order = np.argsort(number, kind="stable")
    return Transitions(
        _row_starts(number, n_rows),
        np.asarray(next_state, dtype=np.int32)[order],
        np.asarray(probability, dtype=np.float64)[order],
        np.asarray(reward, dtype=np.float64)[order],
        np.asarray(ends, dtype=bool)[order],
    )


def pair_numbers(indptr: np.ndarray) -> np.ndarray:
    """Number of the pair of state and action that each transition belongs to."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def pair_sums(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of values of the transitions of each pair."""
    pairs = len(indptr) - 1
    return np.bincount(pair_numbers(indptr), weights=values, minlength=pairs)[:pairs]


def check_transitions(t: Transitions, name: Callable[[int], str], terminal: np.ndarray) -> None:
    """Raise an error that names state and action where probabilities or rewards are impossible."""
    bad = ~((t.probability >= 0) & (t.probability <= 1 + _SUM_TOLERANCE))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        pair = int(np.searchsorted(t.indptr, at, side="right")) - 1
        raise ValueError(
            f"{name(pair)}: the probability of next state {int(t.next_state[at])} is "
            f"{t.probability[at]:g}; probabilities lie between 0 and 1"
        )
    bad = ~np.isfinite(t.reward)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        pair = int(np.searchsorted(t.indptr, at, side="right")) - 1
        raise ValueError(
            f"{name(pair)}: the reward on the way to state {int(t.next_state[at])} is "
            f"{t.reward[at]}; rewards are finite (an action that does not exist in a state has "
            "the reward -inf in R(s, a), or no transitions)"
        )
    n_states = len(terminal)
    if len(t.next_state) and not 0 <= int(t.next_state.min()) <= int(t.next_state.max()) < n_states:
        raise ValueError(f"next states must be numbers from 0 to {n_states - 1}")
    sums = pair_sums(t.indptr, t.probability)
    k = (len(t.indptr) - 1) // n_states
    used = (np.diff(t.indptr) > 0) & ~np.repeat(terminal, k)
    wrong = used & (np.abs(sums - 1) > _SUM_TOLERANCE)
    if wrong.any():
        pair = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{name(pair)}: the probabilities of the next states sum to {sums[pair]:.10g}, not 1. "
            "Add what is missing (staying in the state, for example), or leave all of them out if "
            "the action does not exist there"
        )
    stuck = ~terminal & ~used.reshape(n_states, k).any(axis=1)
    if stuck.any():
        state = int(np.flatnonzero(stuck)[0])
        raise ValueError(
            f"{name(state * k).rsplit(', action', 1)[0]} has no action: name it in `terminal` if "
            "the process ends there"
        )


def planning_arrays(t: Transitions, terminal: np.ndarray) -> Planning:
    """Expected rewards, and the transitions that go on; terminal states are worth nothing."""
    n, k = len(terminal), (len(t.indptr) - 1) // len(terminal)
    rewards = pair_sums(t.indptr, t.probability * t.reward)
    rewards[np.diff(t.indptr) == 0] = -np.inf
    rewards = rewards.reshape(n, k)
    rewards[terminal] = 0.0
    goes_on = (t.probability > 0) & ~t.ends & ~terminal[t.next_state]
    if terminal.any():
        goes_on &= ~np.repeat(terminal, k)[pair_numbers(t.indptr)]
    if goes_on.all():
        return Planning(rewards, t.indptr, t.next_state, t.probability)
    indptr = np.concatenate([[0], np.cumsum(goes_on)])[t.indptr].astype(np.int64)
    return Planning(rewards, indptr, t.next_state[goes_on], t.probability[goes_on])
