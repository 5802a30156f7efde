r"""Dual coordinate descent for linear SVMs, with rows in blocks and several classes in threads.

.. math:: \max_{0 \le \alpha_i \le u_i} \sum_i \alpha_i - \tfrac12 \Big\lVert \sum_i \alpha_i y_i
          [x_i\; s] \Big\rVert^2 - \sum_i \frac{\alpha_i^2}{4 c_i}

with u = c and no last term for the hinge, u infinite for its square (Hsieh et al. 2008). Rows come
in blocks, so they may lie in files (Yu et al. 2012); only the multipliers are held. Scores of
several classes are learned beside each other in threads.
Read in order: `dual_coordinate_descent`, `_sweep_all`, `_extrapolate`.
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

EXTRAPOLATION_INTERVAL = 5  # sweeps between two leaps
_MAX_EXTRAPOLATION = 1e3  # times a movement, whose rounding it makes larger
_FIRST_GAP_CHECK = 100  # times tol: largest slope at which the gap is looked at for the first time


class DualState(NamedTuple):
    """All that a sweep needs of m scores.

    Attributes
    ----------
    W, alpha : (m, p) weights, (m, n) multipliers
    asleep : (m, n) rows that are left out for now
    memory : (m, 7) constants, thresholds of sleep, extremes of the slope, dual value, balance
    goal, done : (m,) extent of the slopes at which to look at the gap, and whether it is reached
    past : multipliers and weights at the last leap, and their movement up to there
    """

    W: np.ndarray
    alpha: np.ndarray
    asleep: np.ndarray
    memory: np.ndarray
    goal: np.ndarray
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
    facts = rows.each(_norms_labels_weights)
    size = _intercept_feature_size(problem, facts)
    state = _initial_state(problem, rows, _FIRST_GAP_CHECK * tol)
    seen = None
    loop = until_converged(state, tol=0.0, max_iter=max_iter)
    for state in loop:
        active = np.flatnonzero(~state.done)
        _sweep_all(rows, problem, facts, size, state, active, seed + loop.n_iter)
        if (loop.n_iter + 1) % EXTRAPOLATION_INTERVAL == 0 and not problem.squared:
            _run_in_threads(partial(_extrapolate, problem, facts, size, state), active)
        seen = _check_gaps(rows, problem, state, gap) if state.done.all() else None
        dual = float(state.memory[:, DUAL_VALUE].sum())
        loop.update(state, objective=-dual, change=0.0 if state.done.all() else np.inf)
    state = loop.state
    T = np.column_stack([state.W, state.memory[:, INTERCEPT]])
    seen = seen or _objectives_and_gaps(rows, problem, state)
    return SVMSolution(T, state.alpha, *seen, loop.report)


def _initial_state(problem: SVMObjective, rows: Rows, goal: float) -> DualState:
    """Zero; the squared hinge needs no leaps."""
    m, n, p = len(problem.cost), rows.n_rows, rows.n_features
    memory = np.zeros((m, 7))
    memory[:, SHRINK_HIGH], memory[:, SHRINK_LOW] = np.inf, -np.inf
    past = tuple((np.zeros((m, k)), np.zeros((m, k))) for k in (n, p) if not problem.squared)
    goals, done = np.full(m, goal), np.zeros(m, bool)
    return DualState(
        np.zeros((m, p)), np.zeros((m, n)), np.zeros((m, n), bool), memory, goals, done, past
    )


def _intercept_feature_size(problem: SVMObjective, facts: np.ndarray) -> float:
    """Squared size of the constant feature; of a free constant, that of a step towards balance."""
    if not problem.intercept:
        return 0.0
    return float(facts[:, 0].mean()) or 1.0 if problem.free else problem.scaling**2


def _sweep_all(
    rows: Rows,
    problem: SVMObjective,
    facts: np.ndarray,
    size: float,
    state: DualState,
    active: np.ndarray,
    seed: int,
) -> None:
    """One sweep of the active scores over all rows; those whose slopes reach their goals rest."""
    state.memory[active, MAX_GRADIENT], state.memory[active, MIN_GRADIENT] = -np.inf, np.inf

    def over(block: ShuffledBlock) -> Callable[[int], None]:
        lines = _raw_rows(block.X)
        return lambda c: sweep(
            lines, block.order, block.numbers, facts, float(problem.labels[c]), problem.cost[c],
            problem.squared, size, state.W[c], state.alpha[c], state.asleep[c], state.memory[c],
        )  # fmt: skip

    for block in rows.blocks(seed):
        _run_in_threads(over(block), active)
    for c in active:
        _update_shrinking(problem, facts, size, state, c)
    extent = state.memory[active, MAX_GRADIENT] - state.memory[active, MIN_GRADIENT]
    tilt = size * np.abs(state.memory[active, BALANCE]) if problem.free else 0.0
    state.done[active] = np.maximum(extent, tilt) <= state.goal[active]


def _raw_rows(X: Any) -> tuple[np.ndarray, ...]:
    """Rows as the sweep takes them; unsigned columns spare it a look at the sign."""
    if isinstance(X, np.ndarray):
        return (X,)
    return X.data, X.indices.view(f"u{X.indices.itemsize}"), X.indptr


def _update_shrinking(
    problem: SVMObjective, facts: np.ndarray, size: float, state: DualState, c: int
) -> None:
    """The slopes of this sweep say who may sleep in the next one; a free constant is balanced."""
    memory = state.memory[c]
    memory[SHRINK_HIGH] = memory[MAX_GRADIENT] if memory[MAX_GRADIENT] > 0 else np.inf
    memory[SHRINK_LOW] = memory[MIN_GRADIENT] if memory[MIN_GRADIENT] < 0 else -np.inf
    own = facts[:, 1] == problem.labels[c]
    memory[BALANCE] = float(np.where(own, 1.0, -1.0) @ state.alpha[c])
    tilt = size * memory[BALANCE]
    if problem.free and memory[MAX_GRADIENT] - memory[MIN_GRADIENT] <= abs(
        tilt
    ):  # the method of multipliers
        memory[INTERCEPT] += tilt


def _check_gaps(
    rows: Rows, problem: SVMObjective, state: DualState, gap: float
) -> tuple[np.ndarray, np.ndarray]:
    """Objectives and gaps of all scores; where a gap is too wide, go on with all rows awake."""
    primal, gaps = _objectives_and_gaps(rows, problem, state)
    excess = gaps / (gap * primal + np.finfo(float).tiny)
    wide = excess > 1
    state.done[:] = ~wide
    state.goal[wide] *= np.clip(excess[wide] ** -0.5, 0.05, 0.5)
    state.asleep[wide] = False
    state.memory[wide, SHRINK_HIGH], state.memory[wide, SHRINK_LOW] = np.inf, -np.inf
    return primal, gaps


def _objectives_and_gaps(
    rows: Rows, problem: SVMObjective, state: DualState
) -> tuple[np.ndarray, np.ndarray]:
    """Objectives and duality gaps of all scores; one pass."""
    T = np.column_stack([state.W, state.memory[:, INTERCEPT]])
    if problem.free:
        proof = duality_certificate(rows, problem, T, state.alpha)
        return proof.primal, proof.gap
    # the weights are those of the multipliers, so the dual is known
    primal = problem.penalty(T) + rows.total(hinge_loss, problem, T)
    return primal, primal - state.memory[:, DUAL_VALUE]


def _extrapolate(
    problem: SVMObjective, facts: np.ndarray, size: float, state: DualState, c: int
) -> None:
    """To the best point in the plane of the last two movements that the bounds allow.

    Sweeps of the hinge can go on in one direction for thousands of rounds: many multipliers share
    what they push. On a plane the dual is a parabola that the weights know, so no row is needed.
    """
    a, w = state.alpha[c], state.W[c]
    (last_a, step_a), (last_w, step_w) = ((x[c], d[c]) for x, d in state.past)
    own = facts[:, 1] == problem.labels[c]
    moves = np.stack([a - last_a, step_a])
    sides = moves @ np.where(own, 1.0, -1.0)  # what they do to the balance
    slope, bend = np.split(movement_products(w, last_w, step_w), [2])
    slope += state.memory[c, INTERCEPT] * sides - moves.sum(axis=1)
    H = bend[[[0, 1], [1, 2]]] + size * np.multiply.outer(sides, sides)
    share = _balanced_plane_minimum(slope, H, sides) if problem.free else _plane_minimum(slope, H)
    share /= max(1.0, np.abs(share).max() / _MAX_EXTRAPOLATION)
    most = facts[:, 2] * np.where(own, problem.cost[c, 1], problem.cost[c, 0])
    share *= max_feasible_step(a, last_a, step_a, share, most)
    gain = -float(share @ slope + 0.5 * share @ H @ share)
    share *= gain > 0
    state.memory[c, DUAL_VALUE] += max(gain, 0.0)
    state.memory[c, INTERCEPT] += size * (share @ sides)
    extrapolate_in_place(w, last_w, step_w, share)
    extrapolate_in_place(a, last_a, step_a, share)
    np.clip(a, 0.0, most, out=a)  # only rounding is cut off


def _plane_minimum(slope: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The minimum of a parabola of the plane."""
    return -np.linalg.lstsq(H, slope, rcond=1e-10)[0]


def _balanced_plane_minimum(slope: np.ndarray, H: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """The same on the line that keeps the balance: a free constant is not known yet."""
    line = np.array([sides[1], -sides[0]])
    bend = line @ H @ line
    if bend <= 1e-8 * (
        line**2 @ H.diagonal()
    ):  # both movements are the same: only rounding is left
        return np.zeros(2)
    return -line * (line @ slope) / bend


def _run_in_threads(task: Callable[[int], None], numbers: Iterable[int]) -> None:
    """Call a task, which must not raise, for each number; one thread takes the next when free."""
    waiting = list(numbers)
    ticket = itertools.count()

    def work() -> None:
        while (k := next(ticket)) < len(waiting):
            task(int(waiting[k]))

    run_in_threads(work, min(n_threads(), len(waiting)) - 1)
