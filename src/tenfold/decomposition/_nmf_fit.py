"""The iterations of non-negative factorization over passes of rows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.decomposition._extrapolation import NO_EXTRAPOLATION, Extrapolation
from tenfold.decomposition._nmf_components import Penalties, quadratic_cost, update_components
from tenfold.decomposition._nmf_init import CodeStart, DataSums, starting_codes
from tenfold.decomposition._nmf_steps import (
    CodeStep,
    ComponentProducts,
    FactorSums,
    factor_pass,
    factor_sums,
    residual_pass,
    residual_sums,
)
from tenfold.engine.carried_columns import CarriedColumns
from tenfold.engine.rows import Rows
from tenfold.optim.convergence import until_converged

MAX_CARRIED_BYTES = 2**26  # of all codes; more are found anew in each pass, or are in a file
_MAX_SWEEPS = 6
_WINDOW = 10  # iterations between two looks at the objective, for solvers without a gradient
COLD_STEPS, COLD_TOL = 500, 1e-10  # of codes that are found from zero
FINAL_STEPS = 200


class Problem(NamedTuple):
    """What is minimized, and how."""

    step: CodeStep
    penalties: Penalties
    sparseness: float  # of the components
    weights: Any  # (n, p) of the entries, or None
    tol: float
    max_iter: int


class _FactorState(NamedTuple):
    Ht: np.ndarray  # (p, k) components
    ahead: np.ndarray  # (p, k) components that the next codes are for: beyond Ht, as it moved
    W: np.ndarray  # (n, k), or (0, k) where codes are not kept
    objective: float
    first: float  # violation or error of the first iteration
    last: float  # error at the last look
    extrapolation: Extrapolation


class Factors(NamedTuple):
    """The result of a fit."""

    H: np.ndarray
    W: np.ndarray | None
    cost: float
    usage: np.ndarray
    report: dict[str, Any]


def factorize(
    rows: Rows, problem: Problem, H: np.ndarray, start: CodeStart | np.ndarray, sums: DataSums
) -> Factors:
    """Alternate between codes and components until convergence."""
    k = len(H)
    step = _with_sweeps(problem.step, rows, sums, k)
    carried = keeps_codes(rows, k, step)
    W = first_codes(rows, start, k) if carried else np.empty((0, k), rows.dtype)
    code_step = step if carried else step._replace(solver="anls")
    Ht = np.ascontiguousarray(H.T, np.float64)
    extrapolates = _extrapolates(step, problem)
    extrapolation = Extrapolation() if extrapolates else NO_EXTRAPOLATION
    first = _FactorState(Ht, Ht, W, np.inf, np.nan, np.inf, extrapolation)
    loop = until_converged(first, tol=problem.tol, max_iter=problem.max_iter)
    for state in loop:
        s, W = _pass(rows, (factor_pass, factor_sums), state, code_step, problem.weights)
        Ht, violation = update_components(
            state.ahead, s, step, problem.penalties, problem.sparseness
        )
        objective = _objective(problem, s, state.ahead, Ht, sums)
        if extrapolates and objective > state.objective:
            back = state._replace(ahead=state.Ht, extrapolation=state.extrapolation.shrink())
            loop.update(back, objective=state.objective, change=np.inf)
            continue
        violation += s.violation if carried else 0.0  # codes that are found anew are minima
        update, change = _relative_change(state, loop.n_iter, objective, violation, step)
        update = _advance(update, Ht, step)._replace(W=W, objective=objective)
        loop.update(update, objective=objective, change=change)
    return _finish(rows, problem, loop.state, loop.report)


def exact_step(step: CodeStep) -> CodeStep:
    """The step that finds the minimum: by active sets, or by many sweeps where these do not go."""
    if step.masked or step.sparseness:
        return step._replace(max_steps=COLD_STEPS, ratio=0.0, tol=COLD_TOL)
    return step._replace(solver="anls")


def _with_sweeps(step: CodeStep, rows: Rows, sums: DataSums, k: int) -> CodeStep:
    """Inner sweeps of coordinate descent: as many as the entries of a row are worth."""
    if step.solver != "cd":
        return step
    share = 0.5 * sums.stored / max(rows.n_rows, 1) / k
    return step._replace(max_steps=int(np.clip(1 + share, 2, _MAX_SWEEPS)))


def _extrapolates(step: CodeStep, problem: Problem) -> bool:
    """Whether components are extrapolated: not where they are projected, or by plain gradients."""
    return step.solver != "pg" and not (step.sparseness or problem.sparseness)


def _advance(state: _FactorState, Ht: np.ndarray, step: CodeStep) -> _FactorState:
    """The next components, and those beyond them in the direction of the move."""
    if step.solver == "mu":
        ahead = state.extrapolation.scale_beyond(Ht, state.Ht)
    else:
        ahead = np.maximum(state.extrapolation.beyond(Ht, state.Ht), 0.0)
    return state._replace(Ht=Ht, ahead=ahead, extrapolation=state.extrapolation.grow())


def keeps_codes(rows: Rows, k: int, step: CodeStep) -> bool:
    """Whether codes travel from pass to pass; it depends on the data set and the loss alone.

    Codes of squared errors can be found anew, since there is one minimum to find.
    """
    small = rows.n_rows * k * rows.dtype.itemsize <= MAX_CARRIED_BYTES
    return small or step.beta != 2 or step.masked or step.solver not in ("cd", "anls")


def first_codes(rows: Rows, start: CodeStart | np.ndarray, k: int) -> np.ndarray:
    """Codes before the first pass; in a file that has no name where there are many."""
    if isinstance(start, np.ndarray):
        return start
    if rows.n_rows * k * rows.dtype.itemsize <= MAX_CARRIED_BYTES:
        return rows.each(starting_codes, start)
    with tempfile.TemporaryDirectory() as folder:  # the mapping keeps the file
        return rows.each(starting_codes, start, into=Path(folder) / "codes.npy")


def _pass(
    rows: Rows, functions: tuple[Any, Any], state: _FactorState, step: CodeStep, V: Any
) -> tuple[Any, np.ndarray]:
    """A pass over the rows, with their codes if these are kept."""
    carrying, alone = functions
    H = ComponentProducts.of(state.ahead)
    if not len(state.W):
        return rows.total(alone, H, step, V), state.W
    s, columns = rows.carry(carrying, CarriedColumns.of((state.W,)), H, step, V, durable=True)
    return s, columns.array(0)


def _objective(
    problem: Problem, s: FactorSums, before: np.ndarray, after: np.ndarray, sums: DataSums
) -> float:
    """Objective after the iteration; before the components moved, where only that is known."""
    step, penalties = problem.step, problem.penalties
    if step.beta != 2 or (step.solver == "mu" and step.masked):
        return s.cost + penalties.of(s, before)
    return quadratic_cost(s, after, sums.squares, step.masked) + penalties.of(s, after)


def _relative_change(
    state: _FactorState, done: int, objective: float, violation: float, step: CodeStep
) -> tuple[_FactorState, float]:
    """What `tol` is compared with: violation, or decrease in ten iterations, over the first.

    The decrease is that of the square root, as in scikit-learn.
    """
    if step.solver == "cd" and not step.sparseness:
        first = violation if done == 0 else state.first
        return state._replace(first=first), violation / first if first > 0 else 0.0
    error = float(np.sqrt(2 * max(objective, 0.0)))
    first = error if done == 0 else state.first
    if done == 0 or (done + 1) % _WINDOW:
        last = error if done == 0 else state.last
        return state._replace(first=first, last=last), 0.0 if objective == 0 else np.inf
    change = (state.last - error) / max(first, 1e-300)
    return state._replace(first=first, last=error), max(change, 0.0)


def _finish(rows: Rows, problem: Problem, state: _FactorState, report: dict[str, Any]) -> Factors:
    """Codes for the last components, their divergence, and their usage."""
    step = problem.step
    if step.solver == "cd":
        step = exact_step(step)
    elif step.solver != "anls":
        step = step._replace(max_steps=min(FINAL_STEPS, problem.max_iter), tol=1e-4)
    last = state._replace(ahead=state.Ht)
    s, W = _pass(rows, (residual_pass, residual_sums), last, step, problem.weights)
    H = np.ascontiguousarray(state.Ht.T)
    return Factors(H, W if len(W) else None, s.cost, s.usage, report)
