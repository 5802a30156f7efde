r"""Convex quadratic programs by Mehrotra's primal-dual interior-point method, with certificates.

.. math:: \min_x \tfrac12 x^\top P x + q^\top x \quad\text{subject to}\quad G x \le h,\; A x = b

with P positive semi-definite, dense, for some hundred variables. With slacks s = h - Gx and
multipliers z and y a minimum satisfies Px + q + G'z + A'y = 0, Gx + s = h, Ax = b, s z = 0, s >= 0,
z >= 0. Newton's method is applied to the equations while all products s_i z_i go to zero together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.blas_threads import one_blas_thread
from tenfold.optim.convergence import until_converged
from tenfold.optim.optimality import KKT, kkt

_STEP_TO_BOUNDARY = 0.99  # share of the step to the nearest bound
_KKT_REGULARIZATION = 1e-13  # of the scaled KKT matrix, for dependent rows
_REFINEMENT_STEPS = 3
_DIVERGED_ITERATE = 1e14  # largest entry of an iterate: larger means that there is no solution


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
    """One predictor-corrector step: affine direction, then centering and correction."""
    _, s, z, _ = state
    m = len(s)
    solve = _KKTFactorization(problem, z / s)
    mu = float(s @ z) / max(m, 1)
    ds, dz = _newton_direction(problem, state, solve, s * z)[1:3]
    predicted_mu = float((s + _max_step(s, ds) * ds) @ (z + _max_step(z, dz) * dz)) / max(m, 1)
    centering = (predicted_mu / mu) ** 3 * mu if mu > 0 else 0.0
    direction = _newton_direction(problem, state, solve, s * z + ds * dz - centering)
    step = min(
        1.0,
        _STEP_TO_BOUNDARY
        * min(_max_step(s, direction.s, np.inf), _max_step(z, direction.z, np.inf)),
    )
    return PrimalDualPoint(
        *(part + step * change for part, change in zip(state, direction, strict=True))
    )


def _newton_direction(
    problem: QuadraticProgram, state: PrimalDualPoint, solve: _KKTFactorization, target: np.ndarray
) -> PrimalDualPoint:
    """Newton direction of the KKT conditions, with s dz + z ds = -target."""
    _, s, z, _ = state
    dual, primal, equality = _kkt_residuals(problem, state)
    scaled = (z * primal - target) / s
    dx, dy = solve(-dual - problem.G.T @ scaled, -equality)
    ds = -primal - problem.G @ dx
    return PrimalDualPoint(dx, ds, -(target + z * ds) / s, dy)


def _max_step(v: np.ndarray, direction: np.ndarray, limit: float = 1.0) -> float:
    """Largest step along `direction` that keeps v non-negative."""
    decreasing = direction < 0
    return float(min(limit, (-v[decreasing] / direction[decreasing]).min(initial=np.inf)))


class _KKTFactorization:
    """Solver of [P + G'WG, A'; A, 0] [x; y] = [r; t]: scaled, regularized, refined."""

    def __init__(self, problem: QuadraticProgram, w: np.ndarray) -> None:
        from scipy.linalg import lu_factor

        P, _, G, _, A, _ = problem
        H = P + (G.T * w) @ G
        self.n, sign = len(P), np.repeat([1.0, -1.0], [len(P), len(A)])
        self.K = np.block([[H, A.T], [A, np.zeros((len(A), len(A)))]])
        diagonal = H.diagonal().copy()
        diagonal[diagonal <= 0] = 1.0
        A_scale = (A**2 / diagonal).sum(axis=1)  # the diagonal of A H^-1 A', if H were diagonal
        A_scale[A_scale <= 0] = 1.0
        self.scale = 1 / np.sqrt(np.concatenate([diagonal, A_scale]))
        K = self.K * self.scale * self.scale[:, None]
        self.factor = lu_factor(K + _KKT_REGULARIZATION * np.diag(sign), check_finite=False)

    def __call__(self, r: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from scipy.linalg import lu_solve

        rhs = np.concatenate([r, t])
        solution = np.zeros_like(rhs)
        for _ in range(_REFINEMENT_STEPS):
            residual = self.scale * (rhs - self.K @ solution)
            solution += self.scale * lu_solve(self.factor, residual, check_finite=False)
        return solution[: self.n], solution[self.n :]


def _initial_point(problem: QuadraticProgram) -> PrimalDualPoint:
    """The least-squares point, with slacks and multipliers shifted to be positive."""
    G, h = problem.G, problem.h
    x, y = _KKTFactorization(problem, np.ones(len(h)))(G.T @ h - problem.q, problem.b)
    r = h - G @ x
    return PrimalDualPoint(x, _shift_positive(r), _shift_positive(-r), y)


def _shift_positive(v: np.ndarray) -> np.ndarray:
    lowest = float(v.min(initial=np.inf))
    return v if lowest > 0 else v + (1 - lowest) if np.isfinite(lowest) else v


def _objective_value(problem: QuadraticProgram, x: np.ndarray) -> float:
    """The objective."""
    return float(x @ problem.P @ x / 2 + problem.q @ x)


def _duality_gap(problem: QuadraticProgram, x: np.ndarray, z: np.ndarray, y: np.ndarray) -> float:
    """Primal less dual value: x'Px + q'x + h'z + b'y."""
    return float(x @ problem.P @ x + problem.q @ x + problem.h @ z + problem.b @ y)


def _kkt_residuals(
    problem: QuadraticProgram, state: PrimalDualPoint
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Residuals of stationarity, inequalities and equations."""
    P, q, G, h, A, b = problem
    x, s, z, y = state
    return P @ x + q + G.T @ z + A.T @ y, G @ x + s - h, A @ x - b


def _relative_error(problem: QuadraticProgram, state: PrimalDualPoint) -> float:
    """The largest of residuals and complementarity, each relative to the data."""
    scales = [1 + np.abs(part).max(initial=0.0) for part in (problem.q, problem.h, problem.b)]
    parts = _kkt_residuals(problem, state)
    errors = [np.abs(p).max(initial=0.0) / scale for p, scale in zip(parts, scales, strict=True)]
    complementarity = float(state.s @ state.z) / (1 + abs(_objective_value(problem, state.x)))
    return max(*errors, complementarity)


class InfeasibleError(ValueError):
    """No point satisfies all constraints."""


class UnboundedError(ValueError):
    """The objective is unbounded below.

    Attributes
    ----------
    direction : a feasible direction of unbounded decrease
    """

    def __init__(self, message: str, direction: np.ndarray) -> None:
        super().__init__(message)
        self.direction = direction


def _raise_if_unsolvable(problem: QuadraticProgram) -> None:
    """Raise the error that explains why there is no minimum; return if there is one."""
    from scipy.optimize import linprog

    P, q, G, h, A, b = problem
    if linprog(np.zeros(len(q)), G, h, A, b, bounds=(None, None)).status == 2:
        raise InfeasibleError(
            f"no point satisfies all {len(h)} inequalities and {len(b)} equations: they contradict "
            "each other. Leave some out, or pay for their violation (slack variables)."
        )
    no_curvature = np.vstack([A, P])
    descent = linprog(
        q, G, np.zeros(len(h)), no_curvature, np.zeros(len(no_curvature)), bounds=(-1, 1)
    )
    if descent.status == 0 and descent.fun < -1e-7 * max(1.0, float(np.abs(q).max(initial=0.0))):
        raise UnboundedError(
            "the objective is unbounded below along a direction that the constraints allow (see "
            "`direction` of this error): bound it, or give P curvature there.",
            descent.x,
        )


class QuadraticProgramSolution(NamedTuple):
    """The minimum of a quadratic program and its certificate.

    Attributes
    ----------
    x : the minimum
    z, y : multipliers of G x <= h and of A x = b
    value : the objective there
    gap : duality gap, a bound on the excess of the value over the minimum
    certificate : KKT, violation of the optimality conditions
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
    """Minimize x'Px/2 + q'x subject to G x <= h and A x = b.

    Parameters
    ----------
    P : array of shape (n_params, n_params)
        Symmetric, positive semi-definite; it may be singular, or zero (a linear program).
    q : array of shape (n_params,)
    G, h : arrays of shape (n_inequalities, n_params) and (n_inequalities,), optional
        Inequalities.
    A, b : arrays of shape (n_equations, n_params) and (n_equations,), optional
        Equations; they may be linearly dependent.
    tol : float
        Converged when residuals and complementarity are at most this, relative to the data.
    max_iter : int
        Maximum number of iterations; 10 to 30 are usual.

    Returns
    -------
    QuadraticProgramSolution

    Raises
    ------
    InfeasibleError
        If no point satisfies the constraints.
    UnboundedError
        If the objective is unbounded below; the error holds a direction.

    References
    ----------
    S. Mehrotra (1992), "On the implementation of a primal-dual interior point method", SIAM
    Journal on Optimization 2.

    Examples
    --------
    The minimum of x^2 + y^2 with x + y >= 2:

    >>> import numpy as np
    >>> solution = quadratic_program(2 * np.eye(2), np.zeros(2), -np.ones((1, 2)), np.array([-2.0]))
    >>> solution.x.round(6).tolist(), solution.z.round(6).tolist()
    ([1.0, 1.0], [2.0])
    >>> solution.certificate.holds(1e-7)
    True
    """
    problem = _validate_problem(P=P, q=q, G=G, h=h, A=A, b=b)
    scale, scaled = _scale_problem(problem)
    with one_blas_thread():  # on small matrices BLAS threads cost more than they save
        point, report = _run_interior_point(scaled, tol, max_iter)
    if not report["converged_"]:
        _raise_if_unsolvable(problem)
    x, z, y = point.x, point.z * scale.cost / scale.G, point.y * scale.cost / scale.A
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
        new = _mehrotra_step(problem, state)
        diverged = not all(np.abs(part).max(initial=0.0) < _DIVERGED_ITERATE for part in new)
        new = state if diverged else new
        loop.update(
            new,
            objective=_objective_value(problem, new.x),
            change=_relative_error(problem, new),
            stuck=diverged,
        )
    return loop.state, loop.report


class _ProblemScale(NamedTuple):
    """Scale of the objective and of each constraint."""

    cost: float
    G: np.ndarray
    A: np.ndarray


def _scale_problem(problem: QuadraticProgram) -> tuple[_ProblemScale, QuadraticProgram]:
    """The same problem with coefficients of order one."""
    P, q, G, h, A, b = problem
    cost = max(float(np.abs(P).max(initial=0.0)), float(np.abs(q).max(initial=0.0))) or 1.0
    G_norms, A_norms = (np.linalg.norm(M, axis=1) for M in (G, A))
    G_norms[G_norms == 0], A_norms[A_norms == 0] = 1.0, 1.0
    scaled = QuadraticProgram(
        P / cost, q / cost, (G.T / G_norms).T, h / G_norms, (A.T / A_norms).T, b / A_norms
    )
    return _ProblemScale(cost, G_norms, A_norms), scaled


def _validate_problem(*, P: Any, q: Any, G: Any, h: Any, A: Any, b: Any) -> QuadraticProgram:
    """The data as float64 arrays with consistent shapes."""
    n = len(q)
    G, h = (np.zeros((0, n)), np.zeros(0)) if G is None else (G, h)
    A, b = (np.zeros((0, n)), np.zeros(0)) if A is None else (A, b)
    problem = QuadraticProgram(*(np.asarray(part, dtype=np.float64) for part in (P, q, G, h, A, b)))
    shapes = {"P": (n, n), "q": (n,), "G": (len(problem.h), n), "A": (len(problem.b), n)}
    for name, shape in shapes.items():
        if getattr(problem, name).shape != shape:
            given = getattr(problem, name).shape
            raise ValueError(f"{name} has the shape {given}; the other arrays need {shape}")
    lowest = float(np.linalg.eigvalsh(problem.P)[0]) if n else 0.0
    if not np.allclose(problem.P, problem.P.T) or lowest < -1e-8 * max(
        1.0, np.abs(problem.P).max()
    ):
        raise ValueError(
            f"P must be symmetric and positive semi-definite (eigenvalue {lowest:.3g})"
        )
    return problem
