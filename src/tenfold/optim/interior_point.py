"""Convex quadratic programs by Mehrotra's primal-dual interior-point method, with certificates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.blas_threads import one_blas_thread
from tenfold.optim.convergence import until_converged
from tenfold.optim.optimality import KKT, kkt

_STEP_TO_BOUNDARY = 0.99  # of the way to the nearest wall
_KKT_REGULARIZATION = 1e-13  # added to a diagonal of ones, so that dependent rows do no harm
_REFINEMENT_STEPS = 3


class QuadraticProgram(NamedTuple):
    """The data of a quadratic program."""

    P: np.ndarray
    q: np.ndarray
    G: np.ndarray
    h: np.ndarray
    A: np.ndarray
    b: np.ndarray


class PrimalDualPoint(NamedTuple):
    """Point, slacks, and multipliers of the inequalities and equations."""

    x: np.ndarray
    s: np.ndarray
    z: np.ndarray
    y: np.ndarray


def _mehrotra_step(problem: QuadraticProgram, state: PrimalDualPoint) -> PrimalDualPoint:
    """Predict with the target s z = 0, then step with a target that the prediction justifies."""
    _, s, z, _ = state
    m = len(s)
    solve = _KKTFactorization(problem, z / s)
    mu = float(s @ z) / max(m, 1)
    ds, dz = _newton_direction(problem, state, solve, s * z)[1:3]
    after = float((s + _max_step(s, ds) * ds) @ (z + _max_step(z, dz) * dz)) / max(m, 1)
    centre = (after / mu) ** 3 * mu if mu > 0 else 0.0
    turn = _newton_direction(problem, state, solve, s * z + ds * dz - centre)
    length = min(
        1.0, _STEP_TO_BOUNDARY * min(_max_step(s, turn.s, np.inf), _max_step(z, turn.z, np.inf))
    )
    return PrimalDualPoint(*(part + length * move for part, move in zip(state, turn, strict=True)))


def _newton_direction(
    problem: QuadraticProgram, state: PrimalDualPoint, solve: _KKTFactorization, target: np.ndarray
) -> PrimalDualPoint:
    """Newton's direction for the conditions, with s dz + z ds = -target."""
    _, s, z, _ = state
    dual, primal, equal = _kkt_residuals(problem, state)
    push = (z * primal - target) / s
    dx, dy = solve(-dual - problem.G.T @ push, -equal)
    ds = -primal - problem.G @ dx
    return PrimalDualPoint(dx, ds, -(target + z * ds) / s, dy)


def _max_step(v: np.ndarray, move: np.ndarray, most: float = 1.0) -> float:
    """How far v can move before an entry is negative."""
    shrinks = move < 0
    return float(min(most, (-v[shrinks] / move[shrinks]).min(initial=np.inf)))


class _KKTFactorization:
    """Solver of [P + G'WG, A'; A, 0] [x; y] = [r; t]: scaled, a little regularised, refined."""

    def __init__(self, problem: QuadraticProgram, w: np.ndarray) -> None:
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
        self.factor = lu_factor(K + _KKT_REGULARIZATION * np.diag(sign), check_finite=False)

    def __call__(self, r: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from scipy.linalg import lu_solve

        wanted = np.concatenate([r, t])
        found = np.zeros_like(wanted)
        for _ in range(_REFINEMENT_STEPS):
            missing = self.size * (wanted - self.K @ found)
            found += self.size * lu_solve(self.factor, missing, check_finite=False)
        return found[: self.n], found[self.n :]


def _initial_point(problem: QuadraticProgram) -> PrimalDualPoint:
    """The least-squares point, with slacks and multipliers pushed inside."""
    G, h = problem.G, problem.h
    x, y = _KKTFactorization(problem, np.ones(len(h)))(G.T @ h - problem.q, problem.b)
    r = h - G @ x
    return PrimalDualPoint(x, _shift_positive(r), _shift_positive(-r), y)


def _shift_positive(v: np.ndarray) -> np.ndarray:
    low = float(v.min(initial=np.inf))
    return v if low > 0 else v + (1 - low) if np.isfinite(low) else v


def _objective_value(problem: QuadraticProgram, x: np.ndarray) -> float:
    """The objective."""
    return float(x @ problem.P @ x / 2 + problem.q @ x)


def _duality_gap(problem: QuadraticProgram, x: np.ndarray, z: np.ndarray, y: np.ndarray) -> float:
    """Primal less dual value: x'Px + q'x + h'z + b'y."""
    return float(x @ problem.P @ x + problem.q @ x + problem.h @ z + problem.b @ y)


def _kkt_residuals(
    problem: QuadraticProgram, state: PrimalDualPoint
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is missing in stationarity, inequalities and equations."""
    P, q, G, h, A, b = problem
    x, s, z, y = state
    return P @ x + q + G.T @ z + A.T @ y, G @ x + s - h, A @ x - b


def _relative_error(problem: QuadraticProgram, state: PrimalDualPoint) -> float:
    """The worst of residuals and gap, each relative to the data."""
    sizes = [1 + np.abs(part).max(initial=0.0) for part in (problem.q, problem.h, problem.b)]
    parts = _kkt_residuals(problem, state)
    worst = [np.abs(p).max(initial=0.0) / size for p, size in zip(parts, sizes, strict=True)]
    products = float(state.s @ state.z) / (1 + abs(_objective_value(problem, state.x)))
    return max(*worst, products)


class InfeasibleError(ValueError):
    """No point meets all constraints."""


class UnboundedError(ValueError):
    """The objective falls for ever.

    Attributes
    ----------
    direction : a direction in which it does, within all constraints
    """

    def __init__(self, message: str, direction: np.ndarray) -> None:
        super().__init__(message)
        self.direction = direction


def _raise_if_unsolvable(problem: QuadraticProgram) -> None:
    """Raise the error that says why there is no minimum; return if there is one after all."""
    from scipy.optimize import linprog

    P, q, G, h, A, b = problem
    if linprog(np.zeros(len(q)), G, h, A, b, bounds=(None, None)).status == 2:
        raise InfeasibleError(
            f"no point meets all {len(h)} inequalities and {len(b)} equations: they contradict "
            "each other. Leave some out, or pay for their violation (slack variables)."
        )
    flat = np.vstack([A, P])
    fall = linprog(q, G, np.zeros(len(h)), flat, np.zeros(len(flat)), bounds=(-1, 1))
    if fall.status == 0 and fall.fun < -1e-7 * max(1.0, float(np.abs(q).max(initial=0.0))):
        raise UnboundedError(
            "the objective falls without end along a direction that the constraints allow (see "
            "`direction` of this error): bound it, or give P curvature there.",
            fall.x,
        )


_DIVERGED_ITERATE = 1e14  # iterates of a problem without solution run away


class QuadraticProgramSolution(NamedTuple):
    """The minimum of a quadratic program and its proof.

    Attributes
    ----------
    x : the minimum
    z, y : multipliers of G x <= h and of A x = b
    value : the objective there
    gap : value less the value of the dual, a bound on what is left to gain
    certificate : KKT, how well the conditions hold
    report : n_iter_, converged_, history_
    """

    x: np.ndarray
    z: np.ndarray
    y: np.ndarray
    value: float
    gap: float
    certificate: KKT
    report: dict[str, Any]


def quadratic_program(
    P: np.ndarray,
    q: np.ndarray,
    G: np.ndarray | None = None,
    h: np.ndarray | None = None,
    A: np.ndarray | None = None,
    b: np.ndarray | None = None,
    *,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> QuadraticProgramSolution:
    """Minimise x'Px/2 + q'x subject to G x <= h and A x = b.

    Parameters
    ----------
    P : array (n, n)
        Symmetric, positive semi-definite; it may be singular, or zero (a linear program).
    q : array (n,)
    G, h : arrays (m, n), (m,), optional
        Inequalities.
    A, b : arrays (p, n), (p,), optional
        Equations; they may depend on each other.
    tol : float
        Converged when conditions and gap are met to within this, relative to the data.
    max_iter : int
        Most steps; 10 to 30 are usual.

    Returns
    -------
    Solution

    Raises
    ------
    InfeasibleError
        If no point meets the constraints.
    UnboundedError
        If the objective falls for ever along a direction, which the error holds.

    Examples
    --------
    The least x^2 + y^2 with x + y >= 2:

    >>> import numpy as np
    >>> found = quadratic_program(2 * np.eye(2), np.zeros(2), -np.ones((1, 2)), np.array([-2.0]))
    >>> found.x.round(6).tolist(), found.z.round(6).tolist(), found.certificate.holds(1e-7)
    ([1.0, 1.0], [2.0], True)
    """
    problem = _validate_problem(P=P, q=q, G=G, h=h, A=A, b=b)
    units, scaled = _scale_problem(problem)
    with one_blas_thread():  # small matrices: threads cost more than they bring
        state, report = _run_interior_point(scaled, tol, max_iter)
    if not report["converged_"]:
        _raise_if_unsolvable(problem)
    x, z, y = state.x, state.z * units.cost / units.G, state.y * units.cost / units.A
    certificate = kkt(
        problem.P @ x + problem.q,
        inequalities=(problem.G @ x - problem.h, problem.G, z),
        equalities=(problem.A @ x - problem.b, problem.A, y),
    )
    return QuadraticProgramSolution(
        x, z, y, _objective_value(problem, x), _duality_gap(problem, x, z, y), certificate, report
    )


def _run_interior_point(
    problem: QuadraticProgram, tol: float, max_iter: int
) -> tuple[PrimalDualPoint, dict[str, Any]]:
    """The last state of the interior-point method, and the report of its loop."""
    loop = until_converged(_initial_point(problem), tol=tol, max_iter=max_iter)
    for state in loop:
        there = _mehrotra_step(problem, state)
        lost = not all(np.abs(part).max(initial=0.0) < _DIVERGED_ITERATE for part in there)
        there = state if lost else there
        loop.update(
            there,
            objective=_objective_value(problem, there.x),
            change=_relative_error(problem, there),
            stuck=lost,
        )
    return loop.state, loop.report


class _ProblemScale(NamedTuple):
    """What the objective and each constraint is measured in."""

    cost: float
    G: np.ndarray
    A: np.ndarray


def _scale_problem(problem: QuadraticProgram) -> tuple[_ProblemScale, QuadraticProgram]:
    """The same problem with numbers of the order one."""
    P, q, G, h, A, b = problem
    cost = max(float(np.abs(P).max(initial=0.0)), float(np.abs(q).max(initial=0.0))) or 1.0
    G_size, A_size = (np.linalg.norm(M, axis=1) for M in (G, A))
    G_size[G_size == 0], A_size[A_size == 0] = 1.0, 1.0
    scaled = QuadraticProgram(
        P / cost, q / cost, (G.T / G_size).T, h / G_size, (A.T / A_size).T, b / A_size
    )
    return _ProblemScale(cost, G_size, A_size), scaled


def _validate_problem(*, P: Any, q: Any, G: Any, h: Any, A: Any, b: Any) -> QuadraticProgram:
    """The data as arrays that fit each other."""
    n = len(q)
    G, h = (np.zeros((0, n)), np.zeros(0)) if G is None else (G, h)
    A, b = (np.zeros((0, n)), np.zeros(0)) if A is None else (A, b)
    problem = QuadraticProgram(*(np.asarray(part, dtype=np.float64) for part in (P, q, G, h, A, b)))
    shapes = {"P": (n, n), "q": (n,), "G": (len(problem.h), n), "A": (len(problem.b), n)}
    for name, shape in shapes.items():
        if getattr(problem, name).shape != shape:
            given = getattr(problem, name).shape
            raise ValueError(f"{name} has the shape {given}, and {shape} would fit the others")
    low = float(np.linalg.eigvalsh(problem.P)[0]) if n else 0.0
    if not np.allclose(problem.P, problem.P.T) or low < -1e-8 * max(1.0, np.abs(problem.P).max()):
        raise ValueError(f"P must be symmetric and positive semi-definite (eigenvalue {low:.3g})")
    return problem
