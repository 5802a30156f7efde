"""Policy iteration, exact and modified."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.base._sklearn import Interval
from tenfold.optim.convergence import until_converged
from tenfold.rl._end_components import check_undiscounted, free_components
from tenfold.rl.mdp import MDP
from tenfold.rl.planner import Planner, finish_plan, lower_bound, residual_history
from tenfold.rl.policies import greedy_policy, optimal_actions, reaches, solve_chain
from tenfold.rl.value_iteration import ValueIteration


class PolicyIteration(Planner):
    r"""Evaluate a policy, act greedily on its values, and repeat until nothing changes.

    .. math:: V^\pi = r_\pi + \gamma P_\pi V^\pi, \qquad
        \pi'(s) = \arg\max_a R(s, a) + \gamma \sum_{s'} T(s, a, s') V^\pi(s')

    An action is changed only for a better one, so values never fall and the loop ends. With
    `sweeps=k` the policy is evaluated by k sweeps alone (modified policy iteration, Puterman and
    Shin, 1978); k = 0 is value iteration.

    Parameters
    ----------
    discount : float
        :math:`\gamma` in [0, 1]. 1 is refused where utilities would not be finite.
    sweeps : int, optional
        Sweeps of each evaluation; exact by default (a linear system, by a Krylov method if it is
        large).
    tol : float
        Of modified policy iteration: largest error of a value, certified.
    max_iter : int
        Most policies.
    initial_policy : array of shape (n_states,), optional
        The first action that exists by default.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    values_, q_, policy_, optimal_actions_, bounds_, converged_
        As in `ValueIteration`.
    n_iter_ : int
        Policies that were evaluated.
    history_ : dict
        "changed", in how many states the action changed; "residual", "contraction", "seconds".

    See Also
    --------
    ValueIteration, FiniteHorizon

    References
    ----------
    R. A. Howard (1960), "Dynamic Programming and Markov Processes".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MDP, PolicyIteration
    >>> go = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], float)
    >>> plan = PolicyIteration(discount=0.9).fit(MDP(go, [[0.1, 0], [1, 0.5]]))
    >>> plan.values_.round(4).tolist(), plan.n_iter_
    ([9.0, 10.0], 2)
    """

    _parameter_constraints = {
        "discount": [Interval(Real, 0, 1, closed="both")],
        "sweeps": [None, Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "initial_policy": [None, "array-like"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        discount: float = 0.99,
        *,
        sweeps: int | None = None,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        initial_policy: Any = None,
        verbose: int = 0,
    ) -> None:
        self.discount, self.sweeps, self.tol = discount, sweeps, tol
        self.max_iter, self.initial_policy, self.verbose = max_iter, initial_policy, verbose

    def _plan(self, mdp: MDP, latest: dict[str, np.ndarray]) -> dict[str, Any]:
        g = self.discount
        if g == 1:
            check_undiscounted(mdp)
        first = mdp.available.argmax(axis=1) if self.initial_policy is None else self.initial_policy
        policy = mdp.check_policy(np.asarray(first)).astype(np.int64)
        if g == 1 and self.sweeps is None:
            policy = _proper_policy(mdp, policy)
        exact = self.sweeps is None
        rests = free_components(mdp)[0] if g == 1 and exact else np.zeros(mdp.n_states, bool)
        V = np.full(mdp.n_states, lower_bound(mdp, g))
        V[mdp.terminal] = 0.0
        tol = 0.0 if exact else self.tol * (1 - g) / max(g, 1e-300) if g < 1 else self.tol
        loop = until_converged((policy, V), tol=tol, max_iter=self.max_iter)
        changed = []
        for policy, V in loop:
            latest["values"] = V
            P, r = _chain(mdp, policy)
            better = solve_chain(P, r, g) if exact else _partial_evaluation(P, r, g, V, self.sweeps)
            q = mdp.action_values(better, g)
            after, value = _improve(q, policy, rests)
            changed.append(int((after != policy).sum()))
            residual = float(np.abs(value - better).max())
            change = float(changed[-1]) if exact else residual
            # the next evaluation starts from the improved values
            loop.update((after, better if exact else value), objective=residual, change=change)
        learned = finish_plan(mdp, loop.state[1], g)
        history = residual_history(loop.objectives, loop.seconds) | {"changed": np.array(changed)}
        return learned | {"n_iter_": loop.n_iter, "converged_": loop.converged, "history_": history}


def _partial_evaluation(
    P: sparse.csr_array, r: np.ndarray, discount: float, V: np.ndarray, sweeps: Any
) -> np.ndarray:
    for _ in range(sweeps):
        V = r + discount * (P @ V)
    return V


def _improve(q: np.ndarray, policy: np.ndarray, rests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Actions that are better than those of the policy, else these; and the best values.

    Where one may rest for ever and is paid nothing, this is an action too: number -1, worth 0.
    """
    options = np.concatenate([q, np.where(rests, 0.0, -np.inf)[:, None]], axis=1)
    best, keep = greedy_policy(options), optimal_actions(options)[np.arange(len(q)), policy]
    return np.where(keep, policy, np.where(best == q.shape[1], -1, best)), options.max(axis=1)


def _chain(mdp: MDP, policy: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """Transitions and rewards under a policy; to rest is an end."""
    rests = policy < 0
    P, r = mdp.chain(np.where(rests, mdp.available.argmax(axis=1), policy))
    if not rests.any():
        return P, r
    goes_on: Any = sparse.diags_array(np.where(rests, 0.0, 1.0))
    return sparse.csr_array(goes_on @ P), np.where(rests, 0.0, r)


def _proper_policy(mdp: MDP, policy: np.ndarray) -> np.ndarray:
    """The policy, or one that ends or rests where it would go on forever."""
    if _find_ends(mdp, policy).all():
        return policy
    policy = ValueIteration(discount=1.0).fit(mdp).policy_
    return np.where(_find_ends(mdp, policy) | ~free_components(mdp)[0], policy, -1)


def _find_ends(mdp: MDP, policy: np.ndarray) -> np.ndarray:
    """States from which the process ends under a policy."""
    P, _ = mdp.chain(policy)
    return reaches(P, np.asarray(P.sum(axis=1)).ravel() < 1 - 1e-12)
