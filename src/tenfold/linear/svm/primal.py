r"""The primal objective of linear SVMs by Newton's method, all scores side by side, a pass a round.

The squared hinge is a smooth objective of piecewise constant curvature, where Newton's method ends
after a few rounds. The hinge is approached through a parabola of width h around its kink,

.. math:: \ell_h(z) = \frac{(1 - z + h/2)^2}{2h} \quad \text{where } |1 - z| < h/2,

an upper bound that falls with h. Its slopes are multipliers of the dual, hence the gap is known at
each width, and it falls with the square of h.
Read in order: `bent` (the leaf), `primal_newton`, `newton_round`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.linear.svm.dual import Found
from tenfold.linear.svm.polish import polished
from tenfold.linear.svm.problem import (
    Problem,
    certificate,
    hinges,
    precise,
    prepared,
    products,
    slopes,
)
from tenfold.linear.ways.slopes import square
from tenfold.rows import Chunk, Rows
from tenfold.solve import until_still
from tenfold.solve.lbfgs import ENOUGH_DECREASE
from tenfold.solve.newton import solve_psd

FIRST_WIDTH = 4.0  # at zero all rows lie within it
NARROWER = 0.2
LEAST_WIDTH = 1e-6  # where multipliers begin to feel rounding: the rest is left to the polish
ROUNDING = 1e-12  # of the objective: no gap is known better
EXACT = 1e-6  # of the gap that is asked for: what Newton's method may leave at each width
HALVES = 0.5 ** np.arange(1, 25)  # shorter steps


Seen = tuple[np.ndarray, np.ndarray, np.ndarray]


class Bent(NamedTuple):
    """Losses (m,), their slopes (m, p + 1) and curvatures (m, p + 1, p + 1), summed over rows."""

    loss: np.ndarray
    slope: np.ndarray
    hessian: np.ndarray


class Point(NamedTuple):
    """Rows [w b] with objective, slope and Hessian of each, its width, and whether it is done."""

    T: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    hessian: np.ndarray
    width: np.ndarray
    done: np.ndarray


def bent(
    chunk: Chunk, problem: Problem, T: np.ndarray, width: np.ndarray, zone: np.ndarray
) -> Bent:
    """Losses with slope and curvature.

    The widths (m,) are those of the hinge. Slope and curvature are those of its parabola for all
    rows within the zone (m,), which is the width itself but for a guess at a narrower one.
    """
    chunk = precise(chunk, problem)
    if not isinstance(chunk.X, np.ndarray):
        chunk = chunk._replace(X=chunk.X.toarray())
    sign, cost = prepared(chunk, problem)
    h, width, zone = hinges(chunk, T, sign), width[:, None], zone[:, None]
    a, curvature = slopes(problem, h, cost, width), 2 * cost * (h > 0)
    if not problem.squared:
        within = np.abs(h) < zone / 2
        a = np.where(within, cost * (h / width + 0.5), a)
        curvature = cost * within / width
    H = np.stack([square(*near(chunk.X, row)) for row in curvature])
    return Bent(losses(problem, h, cost, width), -products(chunk, a * sign), H)


def near(X: np.ndarray, curvature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that bend, if they are few."""
    bends = curvature > 0
    if 4 * np.count_nonzero(bends) > len(X):
        return X, curvature
    return np.compress(bends, X, axis=0), np.compress(bends, curvature)


def losses(problem: Problem, h: np.ndarray, cost: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Total loss (m,): the squared hinge, or the hinge smoothed over a width."""
    if problem.squared:
        return (cost * np.maximum(h, 0.0) ** 2).sum(axis=1)
    within = np.clip(h + width / 2, 0.0, width) ** 2 / (2 * width)
    return (cost * (within + np.maximum(h - width / 2, 0.0))).sum(axis=1)


def looked_at(
    rows: Rows, problem: Problem, T: np.ndarray, width: np.ndarray, zone: np.ndarray | None = None
) -> Seen:
    """Objective, slope and Hessian of each score; one pass."""
    s = rows.total(bent, problem, T, width, width if zone is None else zone)
    ridge = np.append(np.ones(rows.n_features), problem.ridge)
    value, slope, H = problem.penalty(T) + s.loss, s.slope + ridge * T, s.hessian + np.diag(ridge)
    if not problem.intercept:
        slope[:, -1] = H[:, -1, :] = H[:, :, -1] = 0.0
        H[:, -1, -1] = 1.0
    return value, slope, H


def primal_newton(rows: Rows, problem: Problem, *, gap: float, max_iter: int) -> Found:
    """Newton's method for all scores until their gaps are at most `gap` times the objective."""
    m, q = len(problem.cost), rows.n_features + 1
    T, width = np.zeros((m, q)), np.full(m, FIRST_WIDTH)
    first = Point(T, *looked_at(rows, problem, T, width), width, np.zeros(m, bool))
    loop = until_still(first, tol=0.0, max_iter=max_iter)
    for here in loop:
        there = newton_round(rows, problem, here, gap)
        change = 0.0 if there.done.all() else np.inf
        loop.tell(there, objective=float(there.value.sum()), change=change)
    T, width = loop.state.T, loop.state.width
    if problem.squared:
        return Found(T, None, *certificate(rows, problem, T, None).found, loop.report)
    alpha, most = np.split(rows.each(multipliers, problem, T, width).T, 2)
    T, alpha, proof = polished(rows, problem, T, alpha, most)
    converged = loop.converged and bool((proof.gap <= max(gap, ROUNDING) * proof.primal).all())
    return Found(T, alpha, *proof.found, loop.report | {"converged_": converged})


def multipliers(chunk: Chunk, problem: Problem, T: np.ndarray, width: np.ndarray) -> np.ndarray:
    """The multipliers of each row and their upper bounds, (n, 2m)."""
    chunk = precise(chunk, problem)
    sign, cost = prepared(chunk, problem)
    return np.vstack([slopes(problem, hinges(chunk, T, sign), cost, width[:, None]), cost]).T


def newton_round(rows: Rows, problem: Problem, here: Point, gap: float) -> Point:
    """A damped step of all scores; those with nothing to gain are done, or get a narrower hinge."""
    turn, gain = turns(here)
    left = max(EXACT * gap, 0.01 * problem.eps(rows.dtype))
    settled = ~here.done & (gain <= left * here.value)
    if settled.any():
        here = narrowed(rows, problem, here, settled, gap)
        turn, gain = turns(here)
    if here.done.all():
        return here
    return damped(rows, problem, here, turn)


def turns(here: Point) -> tuple[np.ndarray, np.ndarray]:
    """Newton's step of each score that is not done, and what it promises to gain."""
    turn = np.zeros_like(here.T)
    for c in np.flatnonzero(~here.done):
        turn[c] = -solve_psd(here.hessian[c], here.slope[c])
    return turn, -0.5 * (turn * here.slope).sum(axis=1)


def narrowed(rows: Rows, problem: Problem, here: Point, settled: np.ndarray, gap: float) -> Point:
    """Narrower widths where the gap is too wide.

    Rows within the old width keep their multipliers, to first order, when they move towards the
    kink as the width shrinks: one step of Newton's method that takes them for the only ones.
    """
    if problem.squared:
        return here._replace(done=here.done | settled)
    proof = certificate(rows, problem, here.T, None, here.width)
    enough = (proof.gap <= gap * proof.primal) | (here.width < LEAST_WIDTH)
    done = here.done | settled & enough
    width = np.where(settled & ~done, NARROWER * here.width, here.width)
    guess = Point(here.T, *looked_at(rows, problem, here.T, width, here.width), width, done)
    T = here.T + turns(guess)[0]
    seen = looked_at(rows, problem, T, width)
    better = seen[0] <= guess.value
    if better.all():
        return Point(T, *seen, width, done)
    T = np.where(better[:, None], T, here.T)
    return Point(T, *looked_at(rows, problem, T, width), width, done)


def damped(rows: Rows, problem: Problem, here: Point, turn: np.ndarray) -> Point:
    """The full step; where it does not lower the objective, the best of 1/2, 1/4, 1/8, ..."""
    noise = problem.eps(rows.dtype) * np.abs(here.value)
    T = here.T + turn
    seen = looked_at(rows, problem, T, here.width)
    enough = here.value + ENOUGH_DECREASE * (here.slope * turn).sum(axis=1) + noise
    rises = ~(seen[0] <= enough)
    if rises.any():
        losses_at = rows.total(along, problem, here.T, turn, here.width)
        values = losses_at + [problem.penalty(here.T + t * turn) for t in HALVES]
        best = np.append(HALVES, 0.0)[np.vstack([values, here.value]).argmin(axis=0)]
        T = here.T + np.where(rises, best, 1.0)[:, None] * turn
        seen = looked_at(rows, problem, T, here.width)
    return Point(T, *seen, here.width, here.done)


def along(
    chunk: Chunk, problem: Problem, T: np.ndarray, turn: np.ndarray, width: np.ndarray
) -> np.ndarray:
    """Losses after each of the shorter steps, (steps, m)."""
    chunk = precise(chunk, problem)
    sign, cost = prepared(chunk, problem)
    h = hinges(chunk, T, sign)
    change = hinges(chunk, turn, sign) - 1.0
    return np.stack([losses(problem, h + t * change, cost, width[:, None]) for t in HALVES])
