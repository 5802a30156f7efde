"""A primal-dual interior-point method for quadratic programs, after Mehrotra.

With slacks s = h - Gx and multipliers z and y a minimum satisfies
Px + q + G'z + A'y = 0, Gx + s = h, Ax = b, s z = 0, s >= 0, z >= 0. Newton's method is applied to
the equations while all products s_i z_i are led to zero together, from inside.
Read in order: `mehrotra_step`, `direction`, `Factored`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

INSIDE = 0.99  # of the way to the nearest wall
TINY = 1e-13  # added to a diagonal of ones, so that dependent rows do no harm
REFINEMENTS = 3


class Problem(NamedTuple):
    """The data of a quadratic program."""

    P: np.ndarray
    q: np.ndarray
    G: np.ndarray
    h: np.ndarray
    A: np.ndarray
    b: np.ndarray


class State(NamedTuple):
    """Point, slacks, and multipliers of the inequalities and equations."""

    x: np.ndarray
    s: np.ndarray
    z: np.ndarray
    y: np.ndarray


def mehrotra_step(problem: Problem, state: State) -> State:
    """Predict with the target s z = 0, then step with a target that the prediction justifies."""
    _, s, z, _ = state
    m = len(s)
    solve = Factored(problem, z / s)
    mu = float(s @ z) / max(m, 1)
    ds, dz = direction(problem, state, solve, s * z)[1:3]
    after = float((s + _room(s, ds) * ds) @ (z + _room(z, dz) * dz)) / max(m, 1)
    centre = (after / mu) ** 3 * mu if mu > 0 else 0.0
    turn = direction(problem, state, solve, s * z + ds * dz - centre)
    length = min(1.0, INSIDE * min(_room(s, turn.s, np.inf), _room(z, turn.z, np.inf)))
    return State(*(part + length * move for part, move in zip(state, turn, strict=True)))


def direction(problem: Problem, state: State, solve: Factored, target: np.ndarray) -> State:
    """Newton's direction for the conditions, with s dz + z ds = -target."""
    _, s, z, _ = state
    dual, primal, equal = residuals(problem, state)
    push = (z * primal - target) / s
    dx, dy = solve(-dual - problem.G.T @ push, -equal)
    ds = -primal - problem.G @ dx
    return State(dx, ds, -(target + z * ds) / s, dy)


def _room(v: np.ndarray, move: np.ndarray, most: float = 1.0) -> float:
    """How far v can move before an entry is negative."""
    shrinks = move < 0
    return float(min(most, (-v[shrinks] / move[shrinks]).min(initial=np.inf)))


class Factored:
    """Solver of [P + G'WG, A'; A, 0] [x; y] = [r; t]: scaled, a little regularised, refined."""

    def __init__(self, problem: Problem, w: np.ndarray) -> None:
        from scipy.linalg import lu_factor

        P, _, G, _, A, _ = problem
        H = P + (G.T * w) @ G
        self.n, sign = len(P), np.repeat([1.0, -1.0], [len(P), len(A)])
        self.K = np.block([[H, A.T], [A, np.zeros((len(A), len(A)))]])
        diagonal = H.diagonal().copy()
        diagonal[diagonal <= 0] = 1.0
        A_size = (A**2 / diagonal).sum(axis=1)  # the diagonal of A H^-1 A', if H were diagonal
        A_size[A_size <= 0] = 1.0
        self.size = 1 / np.sqrt(np.concatenate([diagonal, A_size]))
        K = self.K * self.size * self.size[:, None]
        self.factor = lu_factor(K + TINY * np.diag(sign), check_finite=False)

    def __call__(self, r: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from scipy.linalg import lu_solve

        wanted = np.concatenate([r, t])
        found = np.zeros_like(wanted)
        for _ in range(REFINEMENTS):
            missing = self.size * (wanted - self.K @ found)
            found += self.size * lu_solve(self.factor, missing, check_finite=False)
        return found[: self.n], found[self.n :]


def starting_point(problem: Problem) -> State:
    """The least-squares point, with slacks and multipliers pushed inside."""
    G, h = problem.G, problem.h
    x, y = Factored(problem, np.ones(len(h)))(G.T @ h - problem.q, problem.b)
    r = h - G @ x
    return State(x, _pushed(r), _pushed(-r), y)


def _pushed(v: np.ndarray) -> np.ndarray:
    low = float(v.min(initial=np.inf))
    return v if low > 0 else v + (1 - low) if np.isfinite(low) else v


def value(problem: Problem, x: np.ndarray) -> float:
    """The objective."""
    return float(x @ problem.P @ x / 2 + problem.q @ x)


def gap(problem: Problem, x: np.ndarray, z: np.ndarray, y: np.ndarray) -> float:
    """Primal less dual value: x'Px + q'x + h'z + b'y."""
    return float(x @ problem.P @ x + problem.q @ x + problem.h @ z + problem.b @ y)


def residuals(problem: Problem, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is missing in stationarity, inequalities and equations."""
    P, q, G, h, A, b = problem
    x, s, z, y = state
    return P @ x + q + G.T @ z + A.T @ y, G @ x + s - h, A @ x - b


def error(problem: Problem, state: State) -> float:
    """The worst of residuals and gap, each relative to the data."""
    sizes = [1 + np.abs(part).max(initial=0.0) for part in (problem.q, problem.h, problem.b)]
    parts = residuals(problem, state)
    worst = [np.abs(p).max(initial=0.0) / size for p, size in zip(parts, sizes, strict=True)]
    products = float(state.s @ state.z) / (1 + abs(value(problem, state.x)))
    return max(*worst, products)
