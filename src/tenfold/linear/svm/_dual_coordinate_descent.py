r"""Dual coordinate descent for linear SVMs, with rows in blocks and several classes in threads.

.. math:: \max_{0 \le \alpha_i \le u_i} \sum_i \alpha_i - \tfrac12 \Big\lVert \sum_i \alpha_i y_i
          [x_i\; s] \Big\rVert^2 - \sum_i \frac{\alpha_i^2}{4 c_i}

with u = c and no last term for the hinge, u infinite for its square (Hsieh et al. 2008). Rows come
in blocks, so they may be in files (Yu et al. 2012); only the multipliers are in memory. The scores
of several classes are learned in parallel threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.shuffle import ShuffledBlock
from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.linear._thresholds import EXTRAPOLATION_INTERVAL
from tenfold.linear.svm._dual_numba import (
    BALANCE,
    DUAL_VALUE,
    INTERCEPT,
    MAX_GRADIENT,
    MIN_GRADIENT,
    SHRINK_HIGH,
    SHRINK_LOW,
    extrapolate_in_place,
    max_feasible_step,
    movement_products,
    sweep,
)
from tenfold.linear.svm._objective import SVMObjective, SVMSolution, duality_certificate, hinge_loss
from tenfold.optim.convergence import until_converged

_MAX_EXTRAPOLATION = 1e3  # largest multiple of a movement: it multiplies rounding as well
_FIRST_GAP_CHECK = 100  # times tol: range of the gradients at which the gap is first computed


class DualState(NamedTuple):
    """The state of m scores between two sweeps.

    Attributes
    ----------
    W, alpha : (m, p) weights, (m, n) multipliers
    shrunk : (m, n) rows that are skipped for now
    scalars : (m, 7) numbers of each score, see `tenfold.linear.svm._dual_numba`
    target : (m,) range of the gradients at which the gap is computed
    done : (m,) whether that range is reached
    past : multipliers and weights at the last extrapolation, and their movement up to it
    """

    W: np.ndarray
    alpha: np.ndarray
    shrunk: np.ndarray
    scalars: np.ndarray
    target: np.ndarray
    done: np.ndarray
    past: tuple[tuple[np.ndarray, np.ndarray], ...]


def _norms_labels_weights(chunk: Chunk) -> np.ndarray:
    """Squared length, label and weight of each row."""
    squares = chunk.X.multiply(chunk.X) if hasattr(chunk.X, "multiply") else chunk.X**2
    lengths = np.asarray(squares.sum(axis=1, dtype=np.float64)).ravel()
    return np.column_stack([lengths, chunk.y, chunk.weights()]).astype(np.float64)


def dual_coordinate_descent(
    rows: Rows, problem: SVMObjective, seed: int, *, tol: float, gap: float, max_iter: int
) -> SVMSolution:
    """Sweep over the rows until the duality gap is at most `gap` times the objective."""
    row_data = rows.each(_norms_labels_weights)
    size = _intercept_feature_size(problem, row_data)
    state = _initial_state(problem, rows, _FIRST_GAP_CHECK * tol)
    checked = None
    loop = until_converged(state, tol=0.0, max_iter=max_iter)
    for state in loop:
        active = np.flatnonzero(~state.done)
        _sweep_all(rows, problem, row_data, size, state, active, seed + loop.n_iter)
        if (loop.n_iter + 1) % EXTRAPOLATION_INTERVAL == 0 and not problem.squared:
            _run_in_threads(partial(_extrapolate, problem, row_data, size, state), active)
        checked = _check_gaps(rows, problem, state, gap) if state.done.all() else None
        dual = float(state.scalars[:, DUAL_VALUE].sum())
        loop.update(state, objective=-dual, change=0.0 if state.done.all() else np.inf)
    state = loop.state
    T = np.column_stack([state.W, state.scalars[:, INTERCEPT]])
    checked = checked or _objectives_and_gaps(rows, problem, state)
    return SVMSolution(T, state.alpha, *checked, loop.report)


def _initial_state(problem: SVMObjective, rows: Rows, target: float) -> DualState:
    """Zero multipliers; the squared hinge needs no extrapolation."""
    m, n, p = len(problem.cost), rows.n_rows, rows.n_features
    scalars = np.zeros((m, 7))
    scalars[:, SHRINK_HIGH], scalars[:, SHRINK_LOW] = np.inf, -np.inf
    past = tuple((np.zeros((m, k)), np.zeros((m, k))) for k in (n, p) if not problem.squared)
    targets, done = np.full(m, target), np.zeros(m, bool)
    return DualState(
        np.zeros((m, p)), np.zeros((m, n)), np.zeros((m, n), bool), scalars, targets, done, past
    )


def _intercept_feature_size(problem: SVMObjective, row_data: np.ndarray) -> float:
    """Squared constant feature; without a penalty on b, the step size of its multiplier."""
    if not problem.intercept:
        return 0.0
    return float(row_data[:, 0].mean()) or 1.0 if problem.has_free_intercept else problem.scaling**2


def _sweep_all(
    rows: Rows,
    problem: SVMObjective,
    row_data: np.ndarray,
    size: float,
    state: DualState,
    active: np.ndarray,
    seed: int,
) -> None:
    """One sweep of the active scores over all rows; those that reach their target are done."""
    state.scalars[active, MAX_GRADIENT], state.scalars[active, MIN_GRADIENT] = -np.inf, np.inf

    def sweep_block(block: ShuffledBlock) -> Callable[[int], None]:
        matrix = _raw_rows(block.X)
        return lambda c: sweep(
            matrix, block.order, block.numbers, row_data, float(problem.labels[c]), problem.cost[c],
            problem.squared, size, state.W[c], state.alpha[c], state.shrunk[c], state.scalars[c],
        )  # fmt: skip

    for block in rows.blocks(seed):
        _run_in_threads(sweep_block(block), active)
    for c in active:
        _update_shrinking(problem, row_data, size, state, c)
    extent = state.scalars[active, MAX_GRADIENT] - state.scalars[active, MIN_GRADIENT]
    tilt = size * np.abs(state.scalars[active, BALANCE]) if problem.has_free_intercept else 0.0
    state.done[active] = np.maximum(extent, tilt) <= state.target[active]


def _raw_rows(X: Any) -> tuple[np.ndarray, ...]:
    """Rows as the sweep takes them; unsigned column numbers spare it a check of the sign."""
    if isinstance(X, np.ndarray):
        return (X,)
    return X.data, X.indices.view(f"u{X.indices.itemsize}"), X.indptr


def _update_shrinking(
    problem: SVMObjective, row_data: np.ndarray, size: float, state: DualState, c: int
) -> None:
    """Thresholds of the next sweep's shrinking; an intercept without penalty is updated."""
    scalars = state.scalars[c]
    scalars[SHRINK_HIGH] = scalars[MAX_GRADIENT] if scalars[MAX_GRADIENT] > 0 else np.inf
    scalars[SHRINK_LOW] = scalars[MIN_GRADIENT] if scalars[MIN_GRADIENT] < 0 else -np.inf
    inside = row_data[:, 1] == problem.labels[c]
    scalars[BALANCE] = float(np.where(inside, 1.0, -1.0) @ state.alpha[c])
    tilt = size * scalars[BALANCE]
    extent = scalars[MAX_GRADIENT] - scalars[MIN_GRADIENT]
    if problem.has_free_intercept and extent <= abs(tilt):  # the method of multipliers
        scalars[INTERCEPT] += tilt


def _check_gaps(
    rows: Rows, problem: SVMObjective, state: DualState, gap: float
) -> tuple[np.ndarray, np.ndarray]:
    """Objectives and gaps of all scores; where a gap is too large, continue with all rows."""
    primal, gaps = _objectives_and_gaps(rows, problem, state)
    excess = gaps / (gap * primal + np.finfo(float).tiny)
    open_gap = excess > 1
    state.done[:] = ~open_gap
    state.target[open_gap] *= np.clip(excess[open_gap] ** -0.5, 0.05, 0.5)
    state.shrunk[open_gap] = False
    state.scalars[open_gap, SHRINK_HIGH], state.scalars[open_gap, SHRINK_LOW] = np.inf, -np.inf
    return primal, gaps


def _objectives_and_gaps(
    rows: Rows, problem: SVMObjective, state: DualState
) -> tuple[np.ndarray, np.ndarray]:
    """Objectives and duality gaps of all scores; one pass."""
    T = np.column_stack([state.W, state.scalars[:, INTERCEPT]])
    if problem.has_free_intercept:
        return duality_certificate(rows, problem, T, state.alpha).objective_and_gap
    # the weights are those of the multipliers, so the dual is known
    primal = problem.penalty(T) + rows.total(hinge_loss, problem, T)
    return primal, primal - state.scalars[:, DUAL_VALUE]


def _extrapolate(
    problem: SVMObjective, row_data: np.ndarray, size: float, state: DualState, c: int
) -> None:
    """Move to the best feasible point in the plane of the last two movements.

    Sweeps of the hinge can continue in one direction for thousands of iterations, because many
    multipliers change together. On a plane the dual is a quadratic given by the weights, so no pass
    is needed.
    """
    a, w = state.alpha[c], state.W[c]
    (last_a, step_a), (last_w, step_w) = ((x[c], d[c]) for x, d in state.past)
    inside = row_data[:, 1] == problem.labels[c]
    moves = np.stack([a - last_a, step_a])
    balances = moves @ np.where(inside, 1.0, -1.0)  # their effect on the balance
    gradient, curvature = np.split(movement_products(w, last_w, step_w), [2])
    gradient += state.scalars[c, INTERCEPT] * balances - moves.sum(axis=1)
    H = curvature[[[0, 1], [1, 2]]] + size * np.multiply.outer(balances, balances)
    share = (
        _balanced_plane_minimum(gradient, H, balances)
        if problem.has_free_intercept
        else _plane_minimum(gradient, H)
    )
    share /= max(1.0, np.abs(share).max() / _MAX_EXTRAPOLATION)
    bound = row_data[:, 2] * np.where(inside, problem.cost[c, 1], problem.cost[c, 0])
    share *= max_feasible_step(a, last_a, step_a, share, bound)
    increase = -float(share @ gradient + 0.5 * share @ H @ share)
    share *= increase > 0
    state.scalars[c, DUAL_VALUE] += max(increase, 0.0)
    state.scalars[c, INTERCEPT] += size * (share @ balances)
    extrapolate_in_place(w, last_w, step_w, share)
    extrapolate_in_place(a, last_a, step_a, share)
    np.clip(a, 0.0, bound, out=a)  # removes rounding alone


def _plane_minimum(gradient: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The minimum of a quadratic on the plane."""
    return -np.linalg.lstsq(H, gradient, rcond=1e-10)[0]


def _balanced_plane_minimum(
    gradient: np.ndarray, H: np.ndarray, balances: np.ndarray
) -> np.ndarray:
    """The same on the line that keeps the balance, for an intercept without penalty."""
    line = np.array([balances[1], -balances[0]])
    curvature = line @ H @ line
    if curvature <= 1e-8 * (line**2 @ H.diagonal()):  # both movements are parallel, up to rounding
        return np.zeros(2)
    return -line * (line @ gradient) / curvature


def _run_in_threads(task: Callable[[int], None], numbers: Iterable[int]) -> None:
    """Call a task, which must not raise, for each number; one thread takes the next when free."""
    tasks = list(numbers)
    counter = itertools.count()

    def work() -> None:
        while (k := next(counter)) < len(tasks):
            task(int(tasks[k]))

    run_in_threads(work, min(n_threads(), len(tasks)) - 1)
