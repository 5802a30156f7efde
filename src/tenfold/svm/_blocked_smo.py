"""Blocked sequential minimal optimization.

A round takes the worst violators of the optimality conditions as working set, half of them from
the last round, minimizes over them alone (`_smo_numba`), and adds the kernel columns of those that
changed to F = K beta of all rows. Columns are cached. Where a few do not fit into the cache, the
products are summed as they arise and nothing is kept, so that a round is one pass over the rows.

References
----------
* J. Platt (1998). Sequential minimal optimization. Microsoft Research MSR-TR-98-14.
* R.-E. Fan, P.-H. Chen, C.-J. Lin (2005). Working set selection using second order information for
  training support vector machines. JMLR 6.
* T. Joachims (1998). Making large-scale support vector machine learning practical (shrinking).
* Z. Wen, J. Shi, Q. Li, B. He, J. Chen (2018). ThunderSVM: a fast SVM library. JMLR 19.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from tenfold.engine.thread_pool import map_threads
from tenfold.kernel import _block as block
from tenfold.optim.convergence import until_converged
from tenfold.svm._centered_rows import CenteredRBF
from tenfold.svm._column_cache import ColumnCache
from tenfold.svm._dual_problem import (
    DualProblem,
    Optimality,
    check_optimality,
    movable_by_group,
)
from tenfold.svm._kernel_access import KernelAccess, kernel_matrix
from tenfold.svm._smo_numba import add_columns, gather_square
from tenfold.svm._thresholds import (
    FOLD_WORKING_SET,
    FULL_MATRIX_ROWS,
    INNER_TOLERANCE,
    MAX_COMPUTED_WIDTH,
    SHRINK_INTERVAL,
    STALL_ROUNDS,
    WORKING_SET,
)
from tenfold.svm._working_set import smallest, solve_working_set, sparse_product

_MAX_STEPS = 10_000_000  # of pairs, where max_iter sets no limit; 100 for each variable if more
_WHOLE_STEPS = 20  # for each variable: after so many steps progress on a whole problem is looked at
_ROUND_STEPS = 100  # most steps of a round, for each variable of a working set
_HOPELESS_GAIN = 1e-10  # of the duality gap: a round that gains less gains nothing
_FIRST_SEGMENT = 256  # rounds of the first segment; each next one has twice as many
_GATHER_COLUMNS = 128  # columns that a thread takes values of at a time
_UPDATE_ROWS = 4096  # rows of F that a thread updates at a time
_MAX_SHRUNK_SHARE = 0.7  # of the active variables may stay, or shrinking is not worth it


class SolverOptions(NamedTuple):
    """How to solve.

    Attributes
    ----------
    tol : largest violation of the optimality conditions
    max_iter : most steps of pairs; -1 for no limit but a very large one
    cache_bytes : of the cache of kernel columns
    shrinking : whether to leave out variables that stay at their bounds
    """

    tol: float
    max_iter: int
    cache_bytes: float
    shrinking: bool


class DualSolution(NamedTuple):
    """The solution of a `DualProblem`.

    Attributes
    ----------
    beta : (m,) variables
    F : (n,) K beta of all rows
    optimality : violation, multipliers, gap, objective
    n_steps : steps of pairs
    converged : whether the violation is at most tol
    stuck : whether rounding ended the fit
    least_curvature : of a pair; below zero the kernel is not positive semi-definite
    history : "objective", "violation" and "seconds" of each round
    """

    beta: np.ndarray
    F: np.ndarray
    optimality: Optimality
    n_steps: int
    converged: bool
    stuck: bool
    least_curvature: float
    history: dict[str, np.ndarray]


class _State(NamedTuple):
    """All that the next round needs.

    Attributes
    ----------
    beta : (m,) variables
    F : (n,) K beta; of rows without an active variable, as of the last synchronization
    active : (m,) variables that the rounds look at
    synchronized : (n,) row sums of beta at the last synchronization; empty before the first
    recent : variables that came last into the working set
    n_steps : steps of pairs so far
    wide : whether kernel values are computed and kept in float64
    widened_at : number of rounds after which they were
    least_curvature : of a pair
    stalled : rounds since the objective was improved
    history : (rounds, 3) objective, violation and seconds of each round
    """

    beta: np.ndarray
    F: np.ndarray
    active: np.ndarray
    synchronized: np.ndarray
    recent: np.ndarray
    n_steps: int
    wide: bool
    widened_at: int
    least_curvature: float
    stalled: int
    history: np.ndarray

    @property
    def violation(self) -> float:
        """The violation after the last round."""
        return float(self.history[-1, 1]) if len(self.history) else np.inf


def solve_dual(
    problem: DualProblem,
    access: KernelAccess,
    numbers: np.ndarray,
    options: SolverOptions,
    *,
    gram: np.ndarray | None = None,
) -> DualSolution:
    """Solve a quadratic program of a support vector machine.

    Parameters
    ----------
    problem : DualProblem
        The program; its start may be the solution of a similar one.
    access : KernelAccess
        Kernel values.
    numbers : (n_rows,) int64 array
        Global numbers of the rows of the problem, ascending.
    options : SolverOptions
        When to stop, and size of the cache.
    gram : (n_rows, n_rows) array, optional
        The kernel matrix of these rows, if it is known.
    """
    rounds = _Rounds(problem, access, numbers, options, gram)
    loop = until_converged(rounds.start(), tol=options.tol, max_iter=max(rounds.max_steps, 0))
    for state in loop:  # a segment of rounds, which begins with an empty cache
        rounds.open(state)
        for _ in range(rounds.segment(loop.n_iter)):
            state = rounds.advance(state)
            if rounds.is_done(state) or rounds.is_stuck(state):
                break
        change = state.violation if rounds.is_done(state) else np.inf
        objective = float(state.history[-1, 0])
        loop.update(state, objective=objective, change=change, stuck=rounds.is_stuck(state))
    state = loop.state
    names = ("objective", "violation", "seconds")
    return DualSolution(
        state.beta,
        state.F,
        rounds.optimality(state),
        state.n_steps,
        loop.converged,
        loop.stuck and state.n_steps < rounds.max_steps,
        state.least_curvature,
        dict(zip(names, state.history.T.copy(), strict=True)),
    )


class _Rounds:
    """The rounds of one problem."""

    def __init__(
        self,
        problem: DualProblem,
        access: KernelAccess,
        numbers: np.ndarray,
        options: SolverOptions,
        gram: np.ndarray | None,
    ) -> None:
        self.problem, self.numbers, self.options = problem, numbers, options
        self.given_access = self.access = access
        self.m, self.n = len(problem.row), problem.n_rows
        limit = max(_MAX_STEPS, 100 * self.m)
        self.max_steps = limit if options.max_iter < 0 else options.max_iter
        self.is_whole = gram is not None or self.n <= FULL_MATRIX_ROWS
        self.gram = gram
        self.cache: ColumnCache | None = None
        self.checked: tuple[np.ndarray, np.ndarray, Optimality] | None = None
        slots = options.cache_bytes / (self.n * 4)
        self.keeps_columns = slots >= 2 * WORKING_SET
        self.size = WORKING_SET if self.keeps_columns else FOLD_WORKING_SET
        self.square = np.empty(self.size**2 if self.keeps_columns and not self.is_whole else 0)
        self.begun = perf_counter()

    def start(self) -> _State:
        """The state before the first round."""
        beta = self.problem.start.copy()
        state = _State(
            beta, np.zeros(self.n), np.ones(self.m, bool), np.zeros(0), np.zeros(0, np.int64), 0,
            self._needs_float64(), 0, np.inf, 0, np.zeros((0, 3)),
        )  # fmt: skip
        if beta.any():
            self.open(state)
            state.F[:] = self._products(self.problem.row_sums(beta), np.arange(self.n))
        return state

    def _needs_float64(self) -> bool:
        """Whether rounding of kernel values to float32 could hide a violation of tol."""
        largest = max(np.abs(self.problem.upper).max(), np.abs(self.problem.lower).max())
        return bool(largest * np.finfo(np.float32).eps > self.options.tol)

    def segment(self, number: int) -> int:
        """Rounds of a segment: its state can be a checkpoint, since nothing is cached before it."""
        return _FIRST_SEGMENT << min(number, 20) if self.keeps_columns or self.is_whole else 1

    def open(self, state: _State) -> None:
        """Begin a segment at this state."""
        access = self.given_access
        narrow = access.dtype if self.is_whole else access.column_dtype
        self.access = access.with_dtype(np.float64 if state.wide else narrow)
        if self.is_whole:
            if self.gram is None:
                self.gram = kernel_matrix(self.access, self.numbers)
        elif self.keeps_columns:
            rows = self._active_rows(state)
            dtype = np.float64 if state.wide else np.float32
            n_bytes = self.options.cache_bytes
            if self.cache is not None and self.cache.buffer.dtype == dtype:
                self.cache.clear(rows)
            else:
                self.cache = ColumnCache(self.access, self.numbers, rows, n_bytes, dtype)

    def is_done(self, state: _State) -> bool:
        """Whether the violation over all variables is small enough."""
        return state.violation <= self.options.tol and bool(state.active.all())

    def is_stuck(self, state: _State) -> bool:
        """Whether the rounds must end without convergence."""
        out_of_steps = state.n_steps >= self.max_steps
        return not self.is_done(state) and (out_of_steps or state.stalled > STALL_ROUNDS)

    def advance(self, state: _State) -> _State:
        """One round."""
        past = state.history[state.widened_at :, :2]
        best = past.min(axis=0) if len(past) else (np.inf, np.inf)
        before = state
        if state.violation <= self.options.tol:
            state = self._synchronize(state)
        elif self.options.shrinking and len(state.history) % SHRINK_INTERVAL == 0:
            state = self._shrink(state)
        begun = state
        if self.is_whole:
            state = self._solve_whole(state)
        else:
            is_known = state is before and np.isfinite(state.violation)
            violation = state.violation if is_known else self._violation(state)
            state = self._solve_set(state, violation) if violation > self.options.tol else state
        objective, violation = self._progress(begun, state)
        entry = np.array([[objective, violation, perf_counter() - self.begun]])
        state = state._replace(history=np.concatenate([state.history, entry]))
        if self.is_done(state):
            return state
        improved = violation < 0.9 * best[1] or self._gains(state, best[0] - objective)
        state = state._replace(stalled=0 if improved else state.stalled + 1)
        stalled = state.stalled > STALL_ROUNDS and not state.wide
        return self._widen(state) if stalled else state

    def _gains(self, state: _State, decrease: float) -> bool:
        """Whether the objective has decreased by more than rounding."""
        gap = self.optimality(state).gap
        rounding = (1e-14 if state.wide else 1e-9) * abs(state.history[-1, 0])
        return decrease > max(rounding, _HOPELESS_GAIN * gap)

    def optimality(self, state: _State) -> Optimality:
        """How far a state is from the optimum, for F of all rows; known if it was asked before."""
        beta, F, known = self.checked or (None, None, None)
        if known is None or beta is not state.beta or F is not state.F:
            known = check_optimality(self.problem, state.beta, state.F)
            self.checked = state.beta, state.F, known
        return known

    def _violation(self, state: _State) -> float:
        """Largest violation among active variables."""
        f, worst = self.problem.gradient(state.F), -np.inf
        for rising, falling in movable_by_group(self.problem, state.beta, state.active):
            if len(rising) and len(falling):
                worst = max(worst, float(f[falling].max() - f[rising].min()))
        return worst

    def _progress(self, before: _State, state: _State) -> tuple[float, float]:
        """Objective, and violation; F of rows that are not active is old: what was is changed."""
        problem, known = self.problem, state if state.active.all() else before
        optimality = self.optimality(known)
        if known is state:
            return optimality.objective, optimality.violation
        middle = 0.5 * (problem.gradient(before.F) + problem.gradient(state.F))
        start = float(state.history[-1, 0]) if len(state.history) else optimality.objective
        return start + float((state.beta - before.beta) @ middle), self._violation(state)

    def _active_rows(self, state: _State) -> np.ndarray:
        """Positions of the rows of active variables."""
        is_active = np.zeros(self.n, bool)
        is_active[self.problem.row[state.active]] = True
        return np.flatnonzero(is_active)

    def _products(self, sums: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """K times coefficients of all rows, for some rows."""
        used = np.flatnonzero(sums)
        if not len(used) or not len(rows):
            return np.zeros(len(rows))
        if self.gram is not None:
            return (sums[used] @ self.gram[used])[rows].astype(np.float64)
        Z = self.access.take(self.numbers[used])
        return self.access.product(Z, sums[used], self.numbers[rows])

    def _solve_whole(self, state: _State) -> _State:
        """All variables are the working set."""
        p, beta, F = self.problem, state.beta.copy(), state.F
        most = min(self.max_steps - state.n_steps, _WHOLE_STEPS * self.m + 1000)
        K: np.ndarray = self.gram  # type: ignore[assignment]  made by `open`
        change, steps, curvature = solve_working_set(K, p, beta, F, self.options.tol, most)
        return state._replace(
            beta=beta,
            F=F + sparse_product(K, change),
            n_steps=state.n_steps + steps,
            least_curvature=min(state.least_curvature, curvature),
        )

    def _solve_set(self, state: _State, violation: float) -> _State:
        """One working set, and its effect on all active rows."""
        p = self.problem
        chosen, recent = self._choose(state)
        rows, local = np.unique(p.row[chosen], return_inverse=True)
        slots = None if self.cache is None else self.cache.slots(rows)
        K = self._square(rows, slots)
        beta = state.beta[chosen]
        tol = max(INNER_TOLERANCE * violation, 0.5 * self.options.tol)
        most = min(self.max_steps - state.n_steps, _ROUND_STEPS * self.size)
        fields = [part[chosen] for part in (p.linear, p.lower, p.upper, p.group, p.start)]
        small = DualProblem._make([local, *fields, len(rows)])
        F = state.F[rows]
        delta, steps, curvature = solve_working_set(K, small, beta, F, tol, most)
        everything, new_F = state.beta.copy(), state.F.copy()
        everything[chosen] = beta
        moved = np.flatnonzero(delta)
        if len(moved):
            self._add(new_F, state, rows[moved], delta[moved], slots)
        return state._replace(
            beta=everything,
            F=new_F,
            recent=recent,
            n_steps=state.n_steps + steps,
            least_curvature=min(state.least_curvature, curvature),
        )

    def _square(self, rows: np.ndarray, slots: np.ndarray | None) -> np.ndarray:
        """The kernel matrix of some rows, in float64."""
        if self.cache is None or slots is None:
            return kernel_matrix(self.access, self.numbers[rows])
        out = self.square[: len(rows) ** 2].reshape(len(rows), len(rows))
        if isinstance(self.access.kernel, CenteredRBF) and self.access.width <= MAX_COMPUTED_WIDTH:
            Z = self.access.take(self.numbers[rows])  # cheaper than to collect values
            return block.kernel_matrix(Z, Z, self.access.kernel, out)
        places, values = np.searchsorted(self.cache.active, rows), self.cache.values
        flat, part = values.reshape(-1), out.reshape(-1)

        def gather(number: int) -> None:
            start = number * _GATHER_COLUMNS
            stop = min(start + _GATHER_COLUMNS, len(slots))
            gather_square(flat, values.shape[1], slots, places, part, start, stop)

        map_threads(gather, -(-len(slots) // _GATHER_COLUMNS))
        return out

    def _add(
        self,
        F: np.ndarray,
        state: _State,
        rows: np.ndarray,
        delta: np.ndarray,
        slots: np.ndarray | None,
    ) -> None:
        """Add the kernel columns of some rows times delta to F of all active rows."""
        if self.cache is None or slots is None:
            active = self._active_rows(state)
            F[active] += self._add_product(rows, delta, active)
            return
        cache, active = self.cache, self.cache.active
        part, used, flat = F[active], cache.slot_of[rows], cache.values.reshape(-1)

        def add(number: int) -> None:
            start = number * _UPDATE_ROWS
            stop = min(start + _UPDATE_ROWS, len(part))
            add_columns(part, flat, len(part), used, delta, start, stop)

        map_threads(add, -(-len(part) // _UPDATE_ROWS))
        F[active] = part

    def _add_product(self, rows: np.ndarray, delta: np.ndarray, active: np.ndarray) -> np.ndarray:
        Z = self.access.take(self.numbers[rows])
        return self.access.product(Z, delta, self.numbers[active])

    def _choose(self, state: _State) -> tuple[np.ndarray, np.ndarray]:
        """The working set, ascending, and those of it that are new."""
        f = self.problem.gradient(state.F)
        kept = state.recent[state.active[state.recent]]
        fresh = np.ones(self.m, bool)
        fresh[kept] = False
        groups = movable_by_group(self.problem, state.beta, state.active)
        share = (self.size - len(kept)) // (2 * len(groups))
        new: list[np.ndarray] = []
        for rising, falling in groups:
            if not (len(rising) and len(falling)):
                continue
            low, high = f[rising].min(), f[falling].max()
            up = rising[fresh[rising] & (f[rising] < high)]
            up = up[smallest(f[up], share)]
            fresh[up] = False
            down = falling[fresh[falling] & (f[falling] > low)]
            down = down[smallest(-f[down], share)]
            fresh[down] = False
            new += [up, down]
        recent = np.concatenate(new)
        if len(recent) > self.size // 2:  # the first round: those that violate most stay
            recent = recent[: self.size // 2] if not len(kept) else recent
        return np.sort(np.concatenate([kept, *new])), np.sort(recent)

    def _shrink(self, state: _State) -> _State:
        """Leave out variables at a bound that no pair would move, once memory is short."""
        short = self.cache is None or self.cache.overflowed
        if self.is_whole or len(state.synchronized) or not short:
            return state
        active = state.active & ~self._is_settled(state)
        if active.sum() > _MAX_SHRUNK_SHARE * state.active.sum():
            return state
        state = state._replace(active=active, recent=state.recent[active[state.recent]])
        if self.cache is not None:
            self.cache.set_active(self._active_rows(state))
        return state

    def _is_settled(self, state: _State) -> np.ndarray:
        """Variables at a bound that no pair of active variables would move."""
        f, settled = self.problem.gradient(state.F), np.zeros(self.m, bool)
        groups = movable_by_group(self.problem, state.beta, state.active)
        for g, (rising, falling) in enumerate(groups):
            if not (len(rising) and len(falling)):
                continue
            low, high = f[rising].min(), f[falling].max()
            cannot_fall = state.beta <= self.problem.lower
            cannot_rise = state.beta >= self.problem.upper
            stays = (cannot_fall & (f > high)) | (cannot_rise & (f < low))
            settled |= stays & (self.problem.group == g)
        return settled

    def _synchronize(self, state: _State) -> _State:
        """Compute F of all rows; variables that violate are active again."""
        sums, F = self.problem.row_sums(state.beta), state.F.copy()
        is_active = np.zeros(self.n, bool)
        is_active[self._active_rows(state)] = True
        rows = np.flatnonzero(~is_active)
        if len(state.synchronized):
            F[rows] += self._products(sums - state.synchronized, rows)
        else:
            F[rows] = self._products(sums, rows)
        everything = state._replace(F=F, active=np.ones(self.m, bool), synchronized=sums)
        if self._violation(everything) <= self.options.tol:
            return everything
        active = state.active | ~self._is_settled(everything)
        state = everything._replace(active=active)
        if self.cache is not None:
            self.cache.set_active(self._active_rows(state))
        return state

    def _widen(self, state: _State) -> _State:
        """Go on with kernel values in float64."""
        state = state._replace(
            wide=True, widened_at=len(state.history), stalled=0, active=np.ones(self.m, bool)
        )
        self.gram = None
        self.open(state)
        F = self._products(self.problem.row_sums(state.beta), np.arange(self.n))
        return state._replace(F=F, synchronized=np.zeros(0))
