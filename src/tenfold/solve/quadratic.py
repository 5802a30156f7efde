r"""Quadratic programs: the minimum, its multipliers, and the proof that it is one.

.. math:: \min_x \tfrac12 x^\top P x + q^\top x \quad\text{subject to}\quad G x \le h,\; A x = b

with P positive semi-definite, dense, for some hundred variables [003, 4.6; 004, 5.4]. The method is
in `interior.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.rows.blas import one_blas_thread
from tenfold.solve.infeasible import why_not
from tenfold.solve.interior import Problem, State, error, gap, mehrotra_step, starting_point, value
from tenfold.solve.loop import until_still
from tenfold.solve.optimality import KKT, kkt

FAR = 1e14  # iterates of a problem without solution run away


class Solution(NamedTuple):
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
) -> Solution:
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
    problem = checked(P=P, q=q, G=G, h=h, A=A, b=b)
    units, scaled = in_units(problem)
    with one_blas_thread():  # small matrices: threads cost more than they bring
        state, report = solved(scaled, tol, max_iter)
    if not report["converged_"]:
        why_not(problem)
    x, z, y = state.x, state.z * units.cost / units.G, state.y * units.cost / units.A
    certificate = kkt(
        problem.P @ x + problem.q,
        inequalities=(problem.G @ x - problem.h, problem.G, z),
        equalities=(problem.A @ x - problem.b, problem.A, y),
    )
    return Solution(x, z, y, value(problem, x), gap(problem, x, z, y), certificate, report)


def solved(problem: Problem, tol: float, max_iter: int) -> tuple[State, dict[str, Any]]:
    """The last state of the interior-point method, and the report of its loop."""
    loop = until_still(starting_point(problem), tol=tol, max_iter=max_iter)
    for state in loop:
        there = mehrotra_step(problem, state)
        lost = not all(np.abs(part).max(initial=0.0) < FAR for part in there)
        there = state if lost else there
        loop.tell(
            there, objective=value(problem, there.x), change=error(problem, there), stuck=lost
        )
    return loop.state, loop.report


class Units(NamedTuple):
    """What the objective and each constraint is measured in."""

    cost: float
    G: np.ndarray
    A: np.ndarray


def in_units(problem: Problem) -> tuple[Units, Problem]:
    """The same problem with numbers of the order one."""
    P, q, G, h, A, b = problem
    cost = max(float(np.abs(P).max(initial=0.0)), float(np.abs(q).max(initial=0.0))) or 1.0
    G_size, A_size = (np.linalg.norm(M, axis=1) for M in (G, A))
    G_size[G_size == 0], A_size[A_size == 0] = 1.0, 1.0
    scaled = Problem(P / cost, q / cost, (G.T / G_size).T, h / G_size, (A.T / A_size).T, b / A_size)
    return Units(cost, G_size, A_size), scaled


def checked(*, P: Any, q: Any, G: Any, h: Any, A: Any, b: Any) -> Problem:
    """The data as arrays that fit each other."""
    n = len(q)
    G, h = (np.zeros((0, n)), np.zeros(0)) if G is None else (G, h)
    A, b = (np.zeros((0, n)), np.zeros(0)) if A is None else (A, b)
    problem = Problem(*(np.asarray(part, dtype=np.float64) for part in (P, q, G, h, A, b)))
    shapes = {"P": (n, n), "q": (n,), "G": (len(problem.h), n), "A": (len(problem.b), n)}
    for name, shape in shapes.items():
        if getattr(problem, name).shape != shape:
            given = getattr(problem, name).shape
            raise ValueError(f"{name} has the shape {given}, and {shape} would fit the others")
    low = float(np.linalg.eigvalsh(problem.P)[0]) if n else 0.0
    if not np.allclose(problem.P, problem.P.T) or low < -1e-8 * max(1.0, np.abs(problem.P).max()):
        raise ValueError(f"P must be symmetric and positive semi-definite (eigenvalue {low:.3g})")
    return problem
