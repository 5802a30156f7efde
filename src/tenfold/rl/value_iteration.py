"""Value iteration: in the given order, and ordered by strongly connected parts."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.hooks import report_objective
from tenfold.optim.convergence import until_converged
from tenfold.rl import _parts_numba as parts
from tenfold.rl import _planning_numba as compiled
from tenfold.rl import _state_orders_numba as orders
from tenfold.rl._end_components import check_undiscounted
from tenfold.rl.mdp import MDP
from tenfold.rl.planner import Planner, finish_plan, lower_bound, residual_history

_CALL_UPDATES = 20_000_000  # updates of states in one compiled call; Ctrl-C waits for its end
_ROUNDS = 30  # of tightening, at most, until the values are certified
_LARGE_PART = 32  # states from which on a part is ordered ...
_SMALL_SWEEPS = 200  # ... and sweeps after which a smaller one is: they cost as much as the order
_LATE = 0.3  # share of states that the policy leads to later ones, which asks for a new order
_RELAXATIONS = 10  # at most, after each sweep over all actions
_LEFT_OVER = 0.1  # of the change by a sweep, to which relaxation brings it down
_CAUTION = 5  # sweeps without a smaller change, after which steps are no longer over-relaxed
_PATIENCE = 100  # such sweeps, after which a part is no longer relaxed


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
    solved one after the other, those that others lead to first. Within a part each update uses the
    newest values (Gauss-Seidel), repeated stays in a state are summed up, states come in the order
    of their distance from those that pay best, and sweeps over all actions alternate with
    over-relaxed ones for the best actions (modified policy iteration).

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
        "residual", the largest change of a sweep (with order="auto" of each sweep over all actions
        of the largest strongly connected part, and in the end the Bellman residual of all states),
        "contraction", its ratio to that of the sweep before, and "seconds".

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
        g = self.discount
        V = np.full(mdp.n_states, lower_bound(mdp, g))
        V[mdp.terminal] = 0.0
        solver = PartSolver(mdp, g, self.max_iter * mdp.n_states)
        change = self.tol if g == 1 else self.tol * (1 - g)
        residual, converged, learned = np.inf, False, {}
        for _ in range(_ROUNDS):
            latest["values"] = V
            solver.run(V, change)
            learned = finish_plan(mdp, V, g)
            residual = float(np.abs(learned["values_"] - V).max())
            converged = residual <= change if g == 1 else residual * g / (1 - g) <= self.tol
            if converged or solver.is_exhausted:
                break
            V, change = learned["values_"].copy(), change / 4
        solver.record(residual)
        return learned | {
            "n_iter_": int(np.ceil(solver.spent / mdp.n_states)),
            "converged_": converged,
            "history_": residual_history(solver.changes, solver.seconds),
        }


class Places(NamedTuple):
    """A part in its order: states, their actions, values, policy, and the policy's linear system.

    `actions` are those whose rows the linear system has.
    """

    states: np.ndarray
    layout: tuple[np.ndarray, ...]
    values: np.ndarray
    policy: np.ndarray
    actions: np.ndarray
    rows: tuple[np.ndarray, ...]


class PartSolver:
    """Sweeps over the strongly connected parts of a process, those that others lead to first.

    Small parts are swept to and fro. The states of a large part come in the order of their distance
    from those that pay best, or later of the way that the policy takes, nearest first, and sweeps
    over all actions alternate with relaxation of the values under the best ones. Over-relaxation
    and shifts of all values may lead astray together: without progress steps are taken as they are,
    and in the end sweeps go on alone, each of which shrinks the error by the discount.

    Parameters
    ----------
    mdp : MDP
    discount : float
    budget : float
        Updates of states to spend.

    Attributes
    ----------
    spent : float
        Updates of states so far; one for a given action counts as its share of all actions.
    changes, seconds : list of float
        Largest change of each sweep over all actions of the largest part, and when it was done.
    """

    def __init__(self, mdp: MDP, discount: float, budget: float) -> None:
        self._start = perf_counter()
        p, self.n_actions, self.discount = mdp.planning, mdp.n_actions, float(discount)
        self.blocks = compiled.action_blocks(
            p.indptr, p.next_state, p.probability, p.rewards, self.discount
        )
        self.order, self.rank, self.ends = orders.order_parts(*self.blocks[:2], mdp.n_states)
        sizes = self.ends.copy()
        sizes[1:] -= self.ends[:-1]
        self.largest = int(sizes.argmax())
        self.large = np.flatnonzero(sizes >= _LARGE_PART).tolist()
        if not self.large and sizes[self.largest] > 1:
            self.large = [self.largest]
        self.policy = np.zeros(mdp.n_states, np.int64)
        # without discount nothing pulls values back that went too far
        self.is_discounted = self.is_trusted = discount < 1
        self.is_first_run = True
        self.spent, self.budget = 0.0, budget
        self.changes: list[float] = []
        self.seconds: list[float] = []

    @property
    def is_exhausted(self) -> bool:
        return self.spent >= self.budget

    def run(self, values: np.ndarray, change: float) -> None:
        """Improve the values in place until no part changes by more than `change`."""
        at = 0
        for part in [*self.large, len(self.ends)]:
            self._run_small(values, change, at, part)
            if part < len(self.ends):
                self._run_large(values, change, part, is_new=self.is_first_run)
            at = part + 1
        self.is_first_run = False

    def record(self, change: float) -> None:
        self.changes.append(change)
        self.seconds.append(perf_counter() - self._start)

    def _run_small(self, values: np.ndarray, change: float, first: int, last: int) -> None:
        """All parts from the first to before the last."""
        position = np.array([first, 0, last])
        while position[0] < last and not self.is_exhausted:
            limits = (change, min(self.budget - self.spent, _CALL_UPDATES), _SMALL_SWEEPS)
            self.spent += compiled.sweep_parts(
                *self.blocks, values, self.policy, self.order, self.ends, position, limits
            )
            report_objective(float(position[0]) / len(self.ends))
            if position[1] >= _SMALL_SWEEPS:
                self._run_large(values, change, int(position[0]), is_new=False)
                position += (1, -position[1], 0)

    def _run_large(self, values: np.ndarray, change: float, part: int, *, is_new: bool) -> None:
        """One part, whose states change their order with the policy."""
        span = (int(self.ends[part - 1]) if part else 0, int(self.ends[part]))
        n = span[1] - span[0]
        here = self._lay_out(values, span, is_new=is_new)
        lowest, stalled, late = np.inf, 0, 0
        most = max(1, min(_RELAXATIONS, _CALL_UPDATES // n))
        try:
            while not self.is_exhausted:
                limits = (change, _LEFT_OVER, most)
                largest, number, new, self.is_trusted = parts.improve(
                    *here[1:], limits, self.is_trusted, self.is_discounted
                )
                self.spent += n + number * n / self.n_actions
                if part == self.largest:
                    self.record(largest)
                    report_objective(largest)
                if largest <= change:
                    return
                lowest, stalled = min(lowest, largest), 0 if largest < lowest else stalled + 1
                self.is_trusted &= stalled < _CAUTION
                if stalled >= _PATIENCE and self.is_discounted:
                    most = 0
                late += new
                if late > _LATE * n:
                    self._take_back(here, values)
                    orders.order_by_policy(
                        *self.blocks[:3], self.policy, *span, self.order, self.rank
                    )
                    here, late = self._lay_out(values, span, is_new=False), -n  # all are new
        finally:
            self._take_back(here, values)

    def _lay_out(self, values: np.ndarray, span: tuple[int, int], *, is_new: bool) -> Places:
        """The part in its order; a new one gets an order, and values."""
        if is_new:
            orders.order_by_distance(*self.blocks, values, *span, self.order, self.rank)
        layout = parts.lay_out(*self.blocks, values, *span, self.order, self.rank)
        states = self.order[slice(*span)].copy()
        rows = parts.empty_rows(len(states), len(layout[3]))
        here = Places(
            states, layout, values[states], self.policy[states], np.full(len(states), -1), rows
        )
        if is_new and self.is_discounted:
            parts.start_values(layout, here.values, here.policy, self.discount)
            self.spent += len(states)
        return here

    def _take_back(self, here: Places, values: np.ndarray) -> None:
        """Values and policy of a part to those of all states."""
        values[here.states], self.policy[here.states] = here.values, here.policy
