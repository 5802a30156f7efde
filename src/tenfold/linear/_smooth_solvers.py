"""Newton's method and L-BFGS for smooth linear objectives, started from the minimum on a sample of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.engine.second_moments import second_moments
from tenfold.linear._objective import LinearObjective
from tenfold.optim.convergence import Minimum
from tenfold.optim.newton_methods import newton, newton_cg
from tenfold.optim.quasi_newton import lbfgs
from tenfold.stats.moments import Moments

SMOOTH_SOLVERS = ("auto", "lbfgs", "newton-cholesky", "newton-cg")
_NEWTON_MAX_ENTRIES = (
    100_000  # rows x parameters up to which few costly rounds beat many cheap ones
)
_NEWTON_MAX_PARAMETERS = 256  # parameters up to which Newton's Hessian is made
GRAM_MAX_COLUMNS = 2000  # columns up to which L-BFGS is told how they correlate
SAMPLE_DIVISOR = 16  # a sample is so much smaller than the data, where it pays
MIN_SAMPLE_ROWS, _MAX_SAMPLE_ROWS = 2_500, 20_000  # rows; more of them cost more than they save
_WARM_START_TOL_FACTOR, _WARM_START_CONVERGED = (
    0.3,
    1e-3,
)  # how much flatter a warm start ends, unless it is this flat already
_SOFTMAX_TOL_FACTOR = (
    0.5  # of the tolerance, for softmax on one chunk: small slopes hide gains, rounds are cheap
)
_SAMPLE_ROWS_PER_PARAMETER = 20  # rows of a sample that knows the curvature well enough


def minimize_smooth(
    f: LinearObjective, start: np.ndarray, *, solver: str = "auto", tol: float, max_iter: int
) -> Minimum:
    """The minimum of a smooth objective.

    Parameters
    ----------
    f : Objective
        Mean loss with its square penalty.
    start : array
        Where to begin, flat.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg"}
        The way there.
    tol : float
        Converged when no entry of the gradient exceeds this.
    max_iter : int
        Most rounds.

    Returns
    -------
    Minimum
    """
    eps = float(np.finfo(f.rows.dtype).eps)
    settings = {"tol": _path_tolerance(f, start, tol), "max_iter": max_iter}
    size = len(start)
    few_rows = size <= _NEWTON_MAX_PARAMETERS and size * f.rows.n_rows <= _NEWTON_MAX_ENTRIES
    narrow = size <= _NEWTON_MAX_PARAMETERS and f.shape[0] == 1
    least = max(MIN_SAMPLE_ROWS, _SAMPLE_ROWS_PER_PARAMETER * size)
    sample = f.rows.n_rows // SAMPLE_DIVISOR
    if solver == "auto" and narrow and sample >= least and max_iter > 1:
        return _lbfgs_from_sample(
            f, start, min(sample, _MAX_SAMPLE_ROWS), precision=eps, **settings
        )
    by_newton = few_rows or (narrow and f.rows.sparse)
    if solver == "newton-cholesky" or (solver == "auto" and by_newton):
        return newton(f.curve, start, precision=eps, **settings)
    if solver == "newton-cg":
        return newton_cg(f.slope, f.bent, start, precision=eps, **settings)
    if f.rows.sparse or f.shape[1] > min(GRAM_MAX_COLUMNS, f.rows.n_rows):
        return lbfgs(f.slope, start, precision=eps, **settings)
    s = second_moments(f.rows)
    settings |= {"precision": eps, "noise": _max_mean_to_deviation(s)}
    settings["tol"] *= (
        _SOFTMAX_TOL_FACTOR if f.shape[0] > 1 and f.rows.n_rows <= f.rows.source.grid else 1
    )
    found = lbfgs(f.slope, start, precondition=_gram_preconditioner(f, s), **settings)
    found.report["converged_"] |= bool(np.abs(found.slope).max() <= tol)
    return found


def _path_tolerance(f: LinearObjective, start: np.ndarray, tol: float) -> float:
    """The tolerance; along a path finer: the end of the last fit may lie within it, or nearly."""
    if not (f.rows.along_a_path and start.any()):
        return tol
    steepest = float(np.abs(f.slope(start)[1]).max())
    return (
        min(tol, _WARM_START_TOL_FACTOR * steepest)
        if steepest > _WARM_START_CONVERGED * tol
        else tol
    )


def _max_mean_to_deviation(s: Moments) -> float:
    """How many deviations the farthest column lies from zero, at least 1: scores lose as much."""
    deviation = np.sqrt(np.maximum(s.scatter.diagonal(), 0.0) / s.n)
    varies = deviation > 0
    return float((np.abs(s.mean[varies]) / deviation[varies]).max(initial=1.0))


def _lbfgs_from_sample(f: LinearObjective, start: np.ndarray, k: int, **settings: Any) -> Minimum:
    """L-BFGS from the minimum on a sample of the rows, told how the objective bends there."""
    from scipy.linalg import cho_factor, cho_solve

    warm = start.any()  # the end of a fit to about these rows: better than that of a sample
    part = f.on_sample(k // 4 if warm else k, seed=0)
    x = start
    if not warm:
        x = newton(part.curve, start, tol=max(settings["tol"], 1e-3), max_iter=100).x
    H = part.curve(x)[2]
    del part  # many fits may walk at once
    H[np.diag_indices(len(H))] += 1e-10 * H.trace() / len(H)  # dependent columns
    factor = cho_factor(H, lower=True, check_finite=False)
    solve = lambda v: cho_solve(factor, v, check_finite=False)  # noqa: E731
    return lbfgs(f.slope, x, precondition=solve, **settings)


def _gram_preconditioner(f: LinearObjective, s: Moments) -> Callable[[np.ndarray], np.ndarray]:
    """Multiply by the inverse of about the Hessian at zero, ((I - 11'/m) / m) (x) E[xx'] + ridge.

    It knows how the columns are scaled and correlated, which is what slows L-BFGS down.
    """
    from scipy.linalg import cho_factor, cho_solve

    m, q = f.shape
    mean = np.append(s.mean, 1.0)
    M = np.multiply.outer(mean, mean)
    M[:-1, :-1] += s.scatter / s.n
    M *= 0.25 if m == 1 else 1 / m
    M[np.diag_indices(q)] += f.ridge
    if not f.intercept:
        M[-1, :] = M[:, -1] = 0.0
        M[-1, -1] = 1.0
    M[np.diag_indices(q)] += 1e-10 * M.trace() / q  # dependent columns
    factor = cho_factor(M, lower=True, check_finite=False)
    return lambda v: cho_solve(factor, v.reshape(m, q).T, check_finite=False).T.ravel()
