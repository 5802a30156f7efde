"""Policies of finite processes: extraction from action values, and evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, bicgstab, spsolve

from tenfold.optim.convergence import until_converged
from tenfold.rl._arguments import check_count, check_share
from tenfold.rl._planning_numba import choose_best
from tenfold.rl.mdp import MDP

_DENSE_STATES = 800  # up to which the linear system of a policy is solved densely
_KRYLOV_RTOL = 1e-13
TIE_TOLERANCE = 1e-9  # of the largest value, by which a best action may fall behind


def optimal_actions(q: Any, tol: float = TIE_TOLERANCE) -> np.ndarray:
    """Which actions are best in each state, ties within `tol` included.

    Parameters
    ----------
    q : array of shape (n_states, n_actions)
        Values of actions.
    tol : float
        Relative to the largest absolute value, by which a best action may fall behind.

    Returns
    -------
    (n_states, n_actions) bool array

    Examples
    --------
    >>> optimal_actions([[1.0, 1.0], [0.0, 2.0]]).tolist()
    [[True, True], [False, True]]
    """
    return _choose_best(q, tol)[0]


def greedy_policy(q: Any, tol: float = TIE_TOLERANCE) -> np.ndarray:
    """The first of the best actions in each state: argmax_a Q(s, a).

    Parameters
    ----------
    q : array of shape (n_states, n_actions)
        Values of actions.
    tol : float
        As in `optimal_actions`.

    Examples
    --------
    >>> greedy_policy([[1.0, 1.0], [0.0, 2.0]]).tolist()
    [0, 1]
    """
    return _choose_best(q, tol)[1]


def _choose_best(q: Any, tol: float) -> tuple[np.ndarray, np.ndarray, float]:
    q = np.ascontiguousarray(q, dtype=np.float64)
    if q.ndim != 2 or not q.shape[1] or np.isnan(q).any():
        raise ValueError(
            f"q has shape {q.shape}: expected a value for each state and action, none of them NaN"
        )
    finite = np.abs(q[np.isfinite(q)])
    slack = tol * max(1.0, float(finite.max(initial=0.0)))
    return choose_best(q, q.max(axis=1), slack)


def evaluate_policy(
    mdp: MDP,
    policy: Any,
    discount: float = 0.99,
    *,
    horizon: int | None = None,
    method: str = "exact",
    tol: float = 1e-10,
    max_iter: int = 100_000,
) -> np.ndarray:
    r"""The value of each state under a policy.

    Without a horizon :math:`V = r_\pi + \gamma P_\pi V`, a linear system; iterated from zero, the
    error shrinks by :math:`\gamma` each time. With a horizon
    :math:`V_t = r_{\pi_t} + \gamma P_{\pi_t} V_{t-1}` for t steps left, from :math:`V_0 = 0`.

    Parameters
    ----------
    mdp : MDP
    policy : array
        An action for each state; or (n_states, n_actions) probabilities; with a horizon also
        (horizon + 1, n_states) actions, those for t steps left in row t.
    discount : float
        Between 0 and 1. 1 only with a horizon, or where the process ends under the policy.
    horizon : int, optional
        Number of steps; endless by default.
    method : {"exact", "iterative"}
        Of endless processes. "exact" solves the system, by a Krylov method where it is large.
    tol : float
        Of "iterative": stop where no value changes by more.
    max_iter : int
        Of "iterative".

    Returns
    -------
    (n_states,) array; (horizon + 1, n_states) with a horizon, the row t for t steps left

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MDP
    >>> from tenfold.rl import evaluate_policy
    >>> go = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], float)
    >>> mdp = MDP(go, [[0.1, 0], [1, 0.5]])
    >>> evaluate_policy(mdp, [0, 0], 0.9).round(6).tolist()
    [1.0, 10.0]
    >>> evaluate_policy(mdp, [0, 0], 1.0, horizon=2).tolist()
    [[0.0, 0.0], [0.1, 1.0], [0.2, 2.0]]
    """
    check_share(discount, "discount")
    if horizon is not None:
        return _evaluate_finite(mdp, policy, discount, horizon)
    P, r = mdp.chain(policy)
    if discount == 1:
        _check_proper(mdp, P)
    if method == "exact":
        return solve_chain(P, r, discount)
    if method != "iterative":
        raise ValueError(f"method={method!r}: there are 'exact' and 'iterative'")
    loop = until_converged(np.zeros(mdp.n_states), tol=tol, max_iter=max_iter)
    for V in loop:
        better = r + discount * (P @ V)
        change = float(np.abs(better - V).max())
        loop.update(better, objective=change, change=change)
    return loop.state


def _evaluate_finite(mdp: MDP, policy: Any, discount: float, horizon: int) -> np.ndarray:
    check_count(horizon, "horizon")
    policy = np.asarray(policy)
    by_time = policy.shape == (horizon + 1, mdp.n_states) and policy.dtype.kind in "iu"
    values = np.zeros((horizon + 1, mdp.n_states))
    P, r = (None, None) if by_time else mdp.chain(policy)
    for t in range(1, horizon + 1):
        if by_time:
            P, r = mdp.chain(policy[t])
        values[t] = r + discount * (P @ values[t - 1])
    return values


def solve_chain(P: sparse.csr_array, r: np.ndarray, discount: float) -> np.ndarray:
    """V = (I - discount P)^-1 r, densely for few states, by BiCGSTAB or LU for many."""
    n = len(r)
    if n <= _DENSE_STATES:
        return np.linalg.solve(np.eye(n) - discount * P.toarray(), r)
    stay = 1.0 - discount * P.diagonal()  # Jacobi: self-loops are eliminated
    if (stay > 0).all():
        operator: Any = LinearOperator
        step = operator((n, n), matvec=lambda v: v - discount * (P @ v))
        scale = operator((n, n), matvec=lambda v: v / stay)
        values, failed = bicgstab(step, r, rtol=_KRYLOV_RTOL, atol=0.0, maxiter=20 * n, M=scale)
        if not failed:
            return values
    return np.asarray(spsolve((sparse.eye_array(n) - discount * P).tocsc(), r))


def _check_proper(mdp: MDP, P: sparse.csr_array) -> None:
    """Raise an error that names a state from which the process never ends under the policy."""
    loses = np.asarray(P.sum(axis=1)).ravel() < 1 - 1e-12
    ending = reaches(P, loses)
    if not ending.all():
        state = mdp.states[int(np.flatnonzero(~ending)[0])]
        raise ValueError(
            f"discount=1: from state {state!r} the process never ends under this policy, so its "
            "utility is not finite. Choose a discount below 1, a horizon, or terminal states"
        )


def reaches(graph: sparse.csr_array, goal: np.ndarray) -> np.ndarray:
    """From which states some goal state can be reached along the edges."""
    back = sparse.csr_array(graph.T)
    found, front = goal.copy(), np.flatnonzero(goal)
    while len(front):
        lengths = np.diff(back.indptr)[front]
        first = np.repeat(
            back.indptr[front] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths
        )
        new = back.indices[first + np.arange(int(lengths.sum()))]
        front = np.unique(new[~found[new]])
        found[front] = True
    return found
