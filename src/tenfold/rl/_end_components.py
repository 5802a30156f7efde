"""Whether an undiscounted process has finite optimal values, and why not.

A set of states in which one can stay forever is an end component (de Alfaro, 1997). Without
discount the optimal values are finite where no end component pays on average, and from every state
the process can end, or come to an end component that costs nothing.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from tenfold.rl._transitions import pair_numbers
from tenfold.rl.mdp import MDP
from tenfold.rl.policies import reaches

_GAIN_SWEEPS = 20_000
_GAIN_TOLERANCE = 1e-9  # of the largest reward: an average gain below counts as none
_REST = 1e-9  # of the largest value: one below counts as nothing
_WHOLE = 1e-9  # probability of ending below which an action counts as never ending


def check_undiscounted(mdp: MDP) -> None:
    """Raise an error that names a state where utilities without discount are not finite."""
    stays = _never_ends(mdp)
    rewards = mdp.planning.rewards.ravel()
    scale = float(np.abs(rewards[np.isfinite(rewards)]).max(initial=0.0))
    if scale == 0:
        return
    labels, kept = _end_components(mdp, stays)
    balanced = np.zeros(mdp.n_states, bool)  # gains and costs cancel
    for part in np.unique(labels[np.flatnonzero(kept & (rewards > 0)) // mdp.n_actions]):
        gain = _best_gain(mdp, labels == part, kept)
        balanced |= (labels == part) & (abs(gain) <= _GAIN_TOLERANCE * scale)
        if gain > _GAIN_TOLERANCE * scale:
            state = mdp.states[int(np.flatnonzero(labels == part)[0])]
            raise ValueError(
                f"discount=1: from state {state!r} one can go on forever and earn at "
                f"least {gain:.2g} a step on average, so utilities are not finite. Choose a "
                "discount below 1, a horizon (FiniteHorizon), or terminal states"
            )
    free, _ = _end_components(mdp, stays & (rewards == 0))
    ending = ~np.isin(np.arange(mdp.n_states), np.flatnonzero(_all_actions(mdp, stays)))
    safe = ending | (free >= 0) | balanced
    found = reaches(_graph(mdp, np.isfinite(rewards)), safe)
    if not found.all():
        state = mdp.states[int(np.flatnonzero(~found)[0])]
        raise ValueError(
            f"discount=1: from state {state!r} the process can never end and every way costs, so "
            "its utility is not finite. Choose a discount below 1, a horizon, or terminal states"
        )


def free_components(mdp: MDP) -> tuple[np.ndarray, np.ndarray]:
    """States in which one can stay for ever and is paid nothing, and the pairs that do so."""
    rewards = mdp.planning.rewards.ravel()
    labels, kept = _end_components(mdp, _never_ends(mdp) & (rewards == 0))
    return labels >= 0, kept.reshape(mdp.n_states, mdp.n_actions)


def proper_policy(mdp: MDP, values: np.ndarray, best: np.ndarray) -> np.ndarray:
    """One of the best actions of each state, such that the process comes to its end.

    Policies that surely end are called proper (Bertsekas and Tsitsiklis, 1991). Where nothing is to
    be gained any more, it may also stay for nothing. From there on backwards, a state takes an
    action that may lead to a state which has one already.
    """
    policy, k = best.argmax(axis=1), mdp.n_actions
    free, stays = free_components(mdp)
    never = _never_ends(mdp).reshape(best.shape)
    rests = free & (np.abs(values) <= _REST * max(1.0, float(np.abs(values).max(initial=0.0))))
    ends = best & ~never
    known = mdp.terminal | rests | ends.any(axis=1)
    policy = np.where(ends.any(axis=1), ends.argmax(axis=1), policy)
    policy = np.where(rests, (best & stays).argmax(axis=1), policy)
    p = mdp.planning
    pair = pair_numbers(p.indptr)
    usable = best.ravel()[pair]
    pair, after = pair[usable], p.next_state[usable]
    while True:
        leads = np.unique(pair[known[after] & ~known[pair // k]])
        if not len(leads):
            return policy
        states, first = np.unique(leads // k, return_index=True)
        policy[states], known[states] = leads[first] % k, True


def _never_ends(mdp: MDP) -> np.ndarray:
    """Pairs that exist and surely go on."""
    p = mdp.planning
    goes_on = np.bincount(
        pair_numbers(p.indptr), weights=p.probability, minlength=mdp.n_states * mdp.n_actions
    )
    exists = np.isfinite(p.rewards.ravel()) & ~np.repeat(mdp.terminal, mdp.n_actions)
    return exists & (goes_on > 1 - _WHOLE)


def _all_actions(mdp: MDP, stays: np.ndarray) -> np.ndarray:
    """States in which every action that exists surely goes on."""
    exists = mdp.available & ~mdp.terminal[:, None]
    go_on = stays.reshape(exists.shape) | ~exists
    return np.logical_and(exists.any(axis=1), go_on.all(axis=1))


def _graph(mdp: MDP, pairs: np.ndarray) -> sparse.csr_array:
    """Edges of the transitions of some pairs."""
    p = mdp.planning
    number = pair_numbers(p.indptr)
    keep = pairs[number]
    edges = (number[keep] // mdp.n_actions, p.next_state[keep])
    size = (mdp.n_states, mdp.n_states)
    return sparse.csr_array((np.ones(int(keep.sum()), np.int32), edges), shape=size)


def _end_components(mdp: MDP, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Component of each state, -1 outside of all; and the pairs that stay inside of theirs."""
    kept, p = pairs.copy(), mdp.planning
    number = pair_numbers(p.indptr)
    owner = number // mdp.n_actions
    while True:
        _, labels = connected_components(_graph(mdp, kept), directed=True, connection="strong")
        inside = np.zeros(mdp.n_states, bool)
        inside[np.flatnonzero(kept) // mdp.n_actions] = True
        leaves = (labels[owner] != labels[p.next_state]) | ~inside[p.next_state]
        bad = kept.copy()
        bad[:] = False
        bad[number[leaves]] = True
        if not (bad & kept).any():
            return np.where(inside, labels, -1), kept
        kept &= ~bad


def _best_gain(mdp: MDP, inside: np.ndarray, kept: np.ndarray) -> float:
    """Lower bound of the largest average reward in an end component, by relative values."""
    p, k = mdp.planning, mdp.n_actions
    shape = (mdp.n_states * k, mdp.n_states)
    rows = kept & np.repeat(inside, k)
    P = sparse.csr_array((p.probability, p.next_state, p.indptr), shape=shape)[np.flatnonzero(rows)]
    r = p.rewards.ravel()[rows]
    owner = np.flatnonzero(rows) // k
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    states, V = owner[starts], np.zeros(mdp.n_states)
    low = -np.inf
    for _ in range(_GAIN_SWEEPS):
        better = 0.5 * (np.maximum.reduceat(r + P @ V, starts) + V[states])  # lazy: aperiodic
        step = better - V[states]
        low, high = 2 * step.min(), 2 * step.max()
        V[states] = better - better[0]
        if high - low <= 1e-12 + 1e-10 * abs(high) or low > 0:
            break
    return float(low)
