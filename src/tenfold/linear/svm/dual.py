r"""Dual coordinate descent: one multiplier at a time, the weights kept beside them.

.. math:: \max_{0 \le \alpha_i \le u_i} \sum_i \alpha_i - \tfrac12 \Big\lVert \sum_i \alpha_i y_i
          [x_i\; s] \Big\rVert^2 - \sum_i \frac{\alpha_i^2}{4 c_i}

with u = c and no last term for the hinge, u infinite for its square (Hsieh et al. 2008). Rows come
in blocks, so they may lie in files (Yu et al. 2012); only the multipliers are held. Scores of
several classes are learned beside each other in threads.
Read in order: `dual_descent`, `sweep_all`, `leap`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.svm.leaves import (
    BALANCE,
    BOTTOM,
    CONSTANT,
    GAIN,
    HIGH,
    LOW,
    TOP,
    go,
    plane,
    room,
    sweep,
)
from tenfold.linear.svm.problem import Problem, certificate, loss
from tenfold.rows import Chunk, Rows
from tenfold.rows.mixing import Block
from tenfold.rows.threads import n_threads, together
from tenfold.solve import until_still

LEAP_EVERY = 5  # sweeps between two leaps
LONGEST_LEAP = 1e3  # times a movement, whose rounding it makes larger
FIRST_LOOK = 100  # times tol: largest slope at which the gap is looked at for the first time


class State(NamedTuple):
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


class Found(NamedTuple):
    """Rows [w b], multipliers (m, n) if known, objectives, their gaps, and the loop's report."""

    T: np.ndarray
    alpha: np.ndarray | None
    objective: np.ndarray
    gap: np.ndarray
    report: dict[str, Any]


def row_facts(chunk: Chunk) -> np.ndarray:
    """Squared length, label and weight of each row."""
    squares = chunk.X.multiply(chunk.X) if hasattr(chunk.X, "multiply") else chunk.X**2
    lengths = np.asarray(squares.sum(axis=1, dtype=np.float64)).ravel()
    return np.column_stack([lengths, chunk.y, chunk.weights()]).astype(np.float64)


def dual_descent(
    rows: Rows, problem: Problem, seed: int, *, tol: float, gap: float, max_iter: int
) -> Found:
    """Sweep over the rows until the duality gap is at most `gap` times the objective."""
    facts = rows.each(row_facts)
    size = constant_size(problem, facts)
    state = start(problem, rows, FIRST_LOOK * tol)
    seen = None
    loop = until_still(state, tol=0.0, max_iter=max_iter)
    for state in loop:
        active = np.flatnonzero(~state.done)
        sweep_all(rows, problem, facts, size, state, active, seed + loop.n_iter)
        if (loop.n_iter + 1) % LEAP_EVERY == 0 and not problem.squared:
            in_threads(partial(leap, problem, facts, size, state), active)
        seen = judge(rows, problem, state, gap) if state.done.all() else None
        dual = float(state.memory[:, GAIN].sum())
        loop.tell(state, objective=-dual, change=0.0 if state.done.all() else np.inf)
    state = loop.state
    T = np.column_stack([state.W, state.memory[:, CONSTANT]])
    seen = seen or values(rows, problem, state)
    return Found(T, state.alpha, *seen, loop.report)


def start(problem: Problem, rows: Rows, goal: float) -> State:
    """Zero; the squared hinge needs no leaps."""
    m, n, p = len(problem.cost), rows.n_rows, rows.n_features
    memory = np.zeros((m, 7))
    memory[:, HIGH], memory[:, LOW] = np.inf, -np.inf
    past = tuple((np.zeros((m, k)), np.zeros((m, k))) for k in (n, p) if not problem.squared)
    goals, done = np.full(m, goal), np.zeros(m, bool)
    return State(
        np.zeros((m, p)), np.zeros((m, n)), np.zeros((m, n), bool), memory, goals, done, past
    )


def constant_size(problem: Problem, facts: np.ndarray) -> float:
    """Squared size of the constant feature; of a free constant, that of a step towards balance."""
    if not problem.intercept:
        return 0.0
    return float(facts[:, 0].mean()) or 1.0 if problem.free else problem.scaling**2


def sweep_all(
    rows: Rows,
    problem: Problem,
    facts: np.ndarray,
    size: float,
    state: State,
    active: np.ndarray,
    seed: int,
) -> None:
    """One sweep of the active scores over all rows; those whose slopes reach their goals rest."""
    state.memory[active, TOP], state.memory[active, BOTTOM] = -np.inf, np.inf

    def over(block: Block) -> Callable[[int], None]:
        lines = as_lines(block.X)
        return lambda c: sweep(
            lines, block.order, block.numbers, facts, float(problem.labels[c]), problem.cost[c],
            problem.squared, size, state.W[c], state.alpha[c], state.asleep[c], state.memory[c],
        )  # fmt: skip

    for block in rows.blocks(seed):
        in_threads(over(block), active)
    for c in active:
        remember(problem, facts, size, state, c)
    extent = state.memory[active, TOP] - state.memory[active, BOTTOM]
    tilt = size * np.abs(state.memory[active, BALANCE]) if problem.free else 0.0
    state.done[active] = np.maximum(extent, tilt) <= state.goal[active]


def as_lines(X: Any) -> tuple[np.ndarray, ...]:
    """Rows as the sweep takes them; unsigned columns spare it a look at the sign."""
    if isinstance(X, np.ndarray):
        return (X,)
    return X.data, X.indices.view(f"u{X.indices.itemsize}"), X.indptr


def remember(problem: Problem, facts: np.ndarray, size: float, state: State, c: int) -> None:
    """The slopes of this sweep say who may sleep in the next one; a free constant is balanced."""
    memory = state.memory[c]
    memory[HIGH] = memory[TOP] if memory[TOP] > 0 else np.inf
    memory[LOW] = memory[BOTTOM] if memory[BOTTOM] < 0 else -np.inf
    own = facts[:, 1] == problem.labels[c]
    memory[BALANCE] = float(np.where(own, 1.0, -1.0) @ state.alpha[c])
    tilt = size * memory[BALANCE]
    if problem.free and memory[TOP] - memory[BOTTOM] <= abs(tilt):  # the method of multipliers
        memory[CONSTANT] += tilt


def judge(rows: Rows, problem: Problem, state: State, gap: float) -> tuple[np.ndarray, np.ndarray]:
    """Objectives and gaps of all scores; where a gap is too wide, go on with all rows awake."""
    primal, gaps = values(rows, problem, state)
    excess = gaps / (gap * primal + np.finfo(float).tiny)
    wide = excess > 1
    state.done[:] = ~wide
    state.goal[wide] *= np.clip(excess[wide] ** -0.5, 0.05, 0.5)
    state.asleep[wide] = False
    state.memory[wide, HIGH], state.memory[wide, LOW] = np.inf, -np.inf
    return primal, gaps


def values(rows: Rows, problem: Problem, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Objectives and duality gaps of all scores; one pass."""
    T = np.column_stack([state.W, state.memory[:, CONSTANT]])
    if problem.free:
        proof = certificate(rows, problem, T, state.alpha)
        return proof.primal, proof.gap
    # the weights are those of the multipliers, so the dual is known
    primal = problem.penalty(T) + rows.total(loss, problem, T)
    return primal, primal - state.memory[:, GAIN]


def leap(problem: Problem, facts: np.ndarray, size: float, state: State, c: int) -> None:
    """To the best point in the plane of the last two movements that the bounds allow.

    Sweeps of the hinge can go on in one direction for thousands of rounds: many multipliers share
    what they push. On a plane the dual is a parabola that the weights know, so no row is needed.
    """
    a, w = state.alpha[c], state.W[c]
    (last_a, step_a), (last_w, step_w) = ((x[c], d[c]) for x, d in state.past)
    own = facts[:, 1] == problem.labels[c]
    moves = np.stack([a - last_a, step_a])
    sides = moves @ np.where(own, 1.0, -1.0)  # what they do to the balance
    slope, bend = np.split(plane(w, last_w, step_w), [2])
    slope += state.memory[c, CONSTANT] * sides - moves.sum(axis=1)
    H = bend[[[0, 1], [1, 2]]] + size * np.multiply.outer(sides, sides)
    share = balanced_share(slope, H, sides) if problem.free else best_share(slope, H)
    share /= max(1.0, np.abs(share).max() / LONGEST_LEAP)
    most = facts[:, 2] * np.where(own, problem.cost[c, 1], problem.cost[c, 0])
    share *= room(a, last_a, step_a, share, most)
    gain = -float(share @ slope + 0.5 * share @ H @ share)
    share *= gain > 0
    state.memory[c, GAIN] += max(gain, 0.0)
    state.memory[c, CONSTANT] += size * (share @ sides)
    go(w, last_w, step_w, share)
    go(a, last_a, step_a, share)
    np.clip(a, 0.0, most, out=a)  # only rounding is cut off


def best_share(slope: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The minimum of a parabola of the plane."""
    return -np.linalg.lstsq(H, slope, rcond=1e-10)[0]


def balanced_share(slope: np.ndarray, H: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """The same on the line that keeps the balance: a free constant is not known yet."""
    line = np.array([sides[1], -sides[0]])
    bend = line @ H @ line
    if bend <= 1e-8 * (
        line**2 @ H.diagonal()
    ):  # both movements are the same: only rounding is left
        return np.zeros(2)
    return -line * (line @ slope) / bend


def in_threads(task: Callable[[int], None], numbers: Iterable[int]) -> None:
    """Call a task, which must not raise, for each number; one thread takes the next when free."""
    waiting = list(numbers)
    ticket = itertools.count()

    def work() -> None:
        while (k := next(ticket)) < len(waiting):
            task(int(waiting[k]))

    together(work, min(n_threads(), len(waiting)) - 1)
