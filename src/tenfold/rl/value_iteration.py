"""Value iteration: in the given order, and ordered by strongly connected parts."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.hooks import report_objective
from tenfold.optim.convergence import until_converged
from tenfold.rl import _planning_numba as compiled
from tenfold.rl._end_components import check_undiscounted
from tenfold.rl.mdp import MDP
from tenfold.rl.planner import Planner, finish_plan, lower_bound, residual_history

_CALL_UPDATES = 20_000_000  # updates of states in one compiled call; Ctrl-C waits for its end
_BEST_ACTION_SWEEPS = 6  # after each sweep over all actions
_ROUNDS = 30  # of tightening, at most, until the values are certified


def value_iteration_steps(mdp: MDP, discount: float, values: Any = None) -> Iterator[np.ndarray]:
    """The values after 1, 2, ... sweeps of value iteration, without end.

    Parameters
    ----------
    mdp : MDP
    discount : float
    values : array of shape (n_states,), optional
        Where to start; zero by default, so that sweep k gives the best utility of k steps.

    Examples
    --------
    One state that pays 1 forever is worth 1 / (1 - 0.5); the error halves with each sweep.

    >>> import numpy as np
    >>> from itertools import islice
    >>> from tenfold import MDP
    >>> from tenfold.rl import value_iteration_steps
    >>> steps = value_iteration_steps(MDP(np.ones((1, 1, 1)), [1.0]), 0.5)
    >>> [2 - float(V[0]) for V in islice(steps, 4)]
    [1.0, 0.5, 0.25, 0.125]
    """
    V = np.zeros(mdp.n_states) if values is None else np.asarray(values, dtype=np.float64)
    while True:
        V = mdp.action_values(V, discount).max(axis=1)
        yield V


class ValueIteration(Planner):
    r"""Optimal values of the states, and the policy that reaches them.

    The values solve Bellman's equations

    .. math:: V(s) = \max_a Q(s, a), \quad
        Q(s, a) = \sum_{s'} T(s, a, s') \bigl(R(s, a, s') + \gamma V(s')\bigr).

    Every sweep replaces V by the right-hand side, which brings it nearer to the solution by the
    factor :math:`\gamma`. By default states are grouped into strongly connected parts, which are
    solved one after the other, those that others lead to first; within a part each update uses the
    newest values (Gauss-Seidel), repeated stays in a state are summed up, sweeps alternate
    their direction, and sweeps over all actions with some over the best ones.

    Parameters
    ----------
    discount : float
        :math:`\gamma` from 0 to 1. 1 is refused where utilities would not be finite.
    tol : float
        Largest error of a value, certified. Without discount: largest change in a sweep.
    max_iter : int
        Most sweeps over all states.
    order : {"auto", "given"}
        "given" is the sweep of textbooks: all states from the values before, from zero.
    iterate : {"values", "q"}
        What a sweep in the given order updates: V, or Q (Q-value iteration).
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    values_ : (n_states,) array
    q_ : (n_states, n_actions) array
        Values of actions, -inf where an action does not exist.
    policy_ : (n_states,) array
        The first of the best actions of each state.
    optimal_actions_ : (n_states, n_actions) bool array
        All best actions: ties.
    bounds_ : ValueBounds or None
        Certified bounds (MacQueen, 1966) of values and of the loss of the policy. None without
        discount: a small change in a sweep then says nothing of the distance to the solution.
    n_iter_ : int
        Sweeps; with order="auto" updates of states by the number of states.
    converged_ : bool
    history_ : dict
        "residual", the largest change of a sweep (with order="auto" the Bellman residual of each
        round), "contraction", its ratio to that of the sweep before, and "seconds".

    See Also
    --------
    PolicyIteration : Fewer, dearer iterations.
    FiniteHorizon : For a given number of steps.
    tenfold.rl.value_iteration_steps : Values sweep by sweep.

    References
    ----------
    R. Bellman (1957), "Dynamic Programming". J. MacQueen (1966), "A modified dynamic programming
    method for Markovian decision problems". P. Dai and J. Goldsmith (2007), "Topological value
    iteration algorithm for Markov decision processes".

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MDP, ValueIteration
    >>> go = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], float)
    >>> plan = ValueIteration(discount=0.9).fit(MDP(go, [[0.1, 0], [1, 0.5]]))
    >>> plan.values_.round(4).tolist(), plan.policy_.tolist()
    ([9.0, 10.0], [1, 0])
    >>> bool(plan.bounds_.policy_loss <= 2e-6)
    True
    """

    _parameter_constraints = {
        "discount": [Interval(Real, 0, 1, closed="both")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "order": [StrOptions({"auto", "given"})],
        "iterate": [StrOptions({"values", "q"})],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        discount: float = 0.99,
        *,
        tol: float = 1e-6,
        max_iter: int = 100_000,
        order: str = "auto",
        iterate: str = "values",
        verbose: int = 0,
    ) -> None:
        self.discount, self.tol, self.max_iter = discount, tol, max_iter
        self.order, self.iterate, self.verbose = order, iterate, verbose

    def _plan(self, mdp: MDP, latest: dict[str, np.ndarray]) -> dict[str, Any]:
        if self.discount == 1:
            check_undiscounted(mdp)
        if self.order == "auto" and self.iterate == "q":
            raise ValueError('iterate="q" is a sweep in the given order: set order="given"')
        solve = self._solve_ordered if self.order == "auto" else self._sweep
        return solve(mdp, latest)

    def _sweep(self, mdp: MDP, latest: dict[str, np.ndarray]) -> dict[str, Any]:
        """Sweeps over all states from the values of the sweep before."""
        g = self.discount
        # an error e in all values changes them by (1 - g) e: a small change is a small error
        tol = self.tol if g == 1 else self.tol * (1 - g) / max(g, 1e-300)
        start = np.zeros((mdp.n_states, mdp.n_actions) if self.iterate == "q" else mdp.n_states)
        loop = until_converged(start, tol=tol, max_iter=self.max_iter)
        for old in loop:
            V = old.max(axis=1) if self.iterate == "q" else old
            latest["values"] = V
            q = mdp.action_values(V, g)
            new = q if self.iterate == "q" else q.max(axis=1)
            change = float(
                np.abs(np.subtract(new, old, where=np.isfinite(new), out=np.zeros_like(old))).max()
            )
            loop.update(new, objective=change, change=change)
        V = loop.state.max(axis=1) if self.iterate == "q" else loop.state
        learned = finish_plan(mdp, V, g)
        return learned | {
            "n_iter_": loop.n_iter,
            "converged_": loop.converged,
            "history_": residual_history(loop.objectives, loop.seconds),
        }

    def _solve_ordered(self, mdp: MDP, latest: dict[str, np.ndarray]) -> dict[str, Any]:
        """Part after part, until the values of all states are certified."""
        g, start = self.discount, perf_counter()
        V = np.full(mdp.n_states, lower_bound(mdp, g))
        V[mdp.terminal] = 0.0
        solver = PartSolver(mdp, g)
        change = self.tol if g == 1 else self.tol * (1 - g)
        residuals, seconds, converged, learned = [], [], False, {}
        for _ in range(_ROUNDS):
            latest["values"] = V
            solver.run(V, change, self.max_iter * mdp.n_states)
            learned = finish_plan(mdp, V, g)
            residual = float(np.abs(learned["values_"] - V).max())
            residuals.append(residual)
            seconds.append(perf_counter() - start)
            converged = residual <= change if g == 1 else residual * g / (1 - g) <= self.tol
            if converged or solver.spent >= self.max_iter * mdp.n_states:
                break
            V, change = learned["values_"].copy(), change / 4
        return learned | {
            "n_iter_": int(np.ceil(solver.spent / mdp.n_states)),
            "converged_": converged,
            "history_": residual_history(residuals, seconds),
        }


class PartSolver:
    """Gauss-Seidel sweeps over the strongly connected parts of a process."""

    def __init__(self, mdp: MDP, discount: float) -> None:
        p = mdp.planning
        self.arrays = compiled.eliminate_self_loops(
            p.indptr, p.next_state, p.probability, p.rewards, float(discount)
        )
        self.order, self.ends = order_parts(mdp.n_states, mdp.n_actions, *self.arrays[:2])
        self.policy, self.spent = np.zeros(mdp.n_states, np.int64), 0.0

    def run(self, values: np.ndarray, change: float, budget: float) -> None:
        """Improve the values in place until no part changes by more than `change`."""
        position = np.zeros(2, np.int64)
        while position[0] < len(self.ends) and self.spent < budget:
            limits = (change, min(budget - self.spent, _CALL_UPDATES), float(_BEST_ACTION_SWEEPS))
            self.spent += compiled.sweep_parts(
                *self.arrays, values, self.policy, self.order, self.ends, position, limits
            )
            report_objective(float(position[0]) / len(self.ends))


def order_parts(
    n_states: int, n_actions: int, starts: np.ndarray, after: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States in the order of strongly connected parts, and where each part ends.

    SciPy numbers the parts so that edges lead to parts of smaller or equal numbers.
    """
    edges = (np.ones(len(after), np.int8), after, starts[::n_actions])
    graph = sparse.csr_array(edges, shape=(n_states, n_states))
    _, labels = connected_components(graph, directed=True, connection="strong")
    order = np.argsort(labels, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(labels[order])) + 1, n_states)
    return order, ends
