"""Newton's method and L-BFGS for smooth linear objectives.

Newton's method takes few iterations and makes a Hessian of all parameters; L-BFGS takes more and
makes none. On many rows L-BFGS starts from the minimum on a sample, preconditioned by the Hessian
there: a few thousand rows determine both well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.engine.second_moments import second_moments
from tenfold.linear._mapped_rows import ClassWeights, MappedRows
from tenfold.linear._objective import LinearObjective
from tenfold.linear._thresholds import (
    GRAM_MAX_COLUMNS,
    MAX_SAMPLE_ROWS,
    MIN_SAMPLE_ROWS,
    NEWTON_MAX_ENTRIES,
    NEWTON_MAX_PARAMETERS,
    SAMPLE_DIVISOR,
    SAMPLE_ROWS_PER_PARAMETER,
)
from tenfold.optim.convergence import Minimum
from tenfold.optim.newton_methods import newton, newton_cg
from tenfold.optim.quasi_newton import lbfgs
from tenfold.stats.moments import Moments

SMOOTH_SOLVERS = ("auto", "lbfgs", "newton-cholesky", "newton-cg")
_WARM_START_TOL_FACTOR = 0.3  # of the largest gradient entry at a warm start: its tolerance
_WARM_START_CONVERGED = (
    1e-3  # of the tolerance: a warm start with a smaller gradient is at the minimum
)
_SMALL_SOFTMAX_TOL_FACTOR = (
    0.5  # softmax is flat: small gradients still hide gains in the objective
)


def minimize_smooth(
    f: LinearObjective, start: np.ndarray, *, solver: str = "auto", tol: float, max_iter: int
) -> Minimum:
    """The minimum of a smooth objective.

    Parameters
    ----------
    f : LinearObjective
        Mean loss with its L2 penalty.
    start : array
        Initial parameters, flat.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cg"}
        The method.
    tol : float
        Converged when no entry of the gradient exceeds this.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    Minimum
    """
    eps = float(np.finfo(f.rows.dtype).eps)
    settings = {"tol": _path_tolerance(f, start, tol), "max_iter": max_iter, "precision": eps}
    sample = _sample_size(f, len(start))
    if solver == "auto" and sample and max_iter > 1:
        return _lbfgs_from_sample(f, start, sample, **settings)
    if solver == "newton-cholesky" or (solver == "auto" and _prefers_newton(f, len(start))):
        return newton(f.value_gradient_hessian, start, **settings)
    if solver == "newton-cg":
        return newton_cg(f.value_and_gradient, f.hessian_product, start, **settings)
    if f.shape[1] > min(GRAM_MAX_COLUMNS, f.n_rows):
        return lbfgs(f.value_and_gradient, start, **settings)
    weights = f.class_weight
    s = second_moments(f.rows if weights is None else MappedRows(f.rows, ClassWeights(weights)))
    settings |= {"noise": max_mean_to_deviation(s), "precondition": gram_preconditioner(f, s)}
    settings["tol"] *= _SMALL_SOFTMAX_TOL_FACTOR if f.shape[0] > 1 and f.is_small else 1
    minimum = lbfgs(f.value_and_gradient, start, **settings)
    minimum.report["converged_"] |= bool(np.abs(minimum.gradient).max() <= tol)
    return minimum


def _sample_size(f: LinearObjective, size: int) -> int:
    """Rows of the sample that L-BFGS starts from; 0 where a sample does not pay."""
    sample = f.rows.n_rows // SAMPLE_DIVISOR
    narrow = size <= NEWTON_MAX_PARAMETERS and f.shape[0] == 1
    enough = sample >= max(MIN_SAMPLE_ROWS, SAMPLE_ROWS_PER_PARAMETER * size)
    return min(sample, MAX_SAMPLE_ROWS) if narrow and enough else 0


def _prefers_newton(f: LinearObjective, size: int) -> bool:
    """Whether few iterations with a Hessian are faster than many without."""
    return size <= NEWTON_MAX_PARAMETERS and size * f.n_rows <= NEWTON_MAX_ENTRIES


def _path_tolerance(f: LinearObjective, start: np.ndarray, tol: float) -> float:
    """The tolerance; tighter along a path, where a warm start may satisfy it without a step."""
    if not (f.rows.context.is_path and start.any()):
        return tol
    largest = float(np.abs(f.value_and_gradient(start)[1]).max())
    return (
        min(tol, _WARM_START_TOL_FACTOR * largest) if largest > _WARM_START_CONVERGED * tol else tol
    )


def max_mean_to_deviation(s: Moments) -> float:
    """Largest |mean| / deviation of a column, at least 1: the digits that scores lose to it."""
    deviation = np.sqrt(np.maximum(s.scatter.diagonal(), 0.0) / s.n)
    varies = deviation > 0
    return float((np.abs(s.mean[varies]) / deviation[varies]).max(initial=1.0))


def _lbfgs_from_sample(f: LinearObjective, start: np.ndarray, k: int, **settings: Any) -> Minimum:
    """L-BFGS from the minimum on a sample of the rows, preconditioned by the Hessian there."""
    warm = start.any()  # the minimum of a similar fit: better than that of a sample
    sample = f.on_sample(k // 4 if warm else k, seed=0)
    x = start
    if not warm:
        tol = max(settings["tol"], 1e-3)
        x = newton(sample.value_gradient_hessian, start, tol=tol, max_iter=100).x
    H = sample.value_gradient_hessian(x)[2]
    del sample  # many fits may run at once
    H[np.diag_indices(len(H))] += 1e-10 * H.trace() / len(H)  # dependent columns
    return lbfgs(f.value_and_gradient, x, precondition=inverse_product(H), **settings)


def inverse_product(A: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Multiplication by the inverse of a positive definite matrix, from one Cholesky factor."""
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor(A, lower=True, check_finite=False)
    return lambda v: cho_solve(factor, v, check_finite=False)


def gram_preconditioner(f: LinearObjective, s: Moments) -> Callable[[np.ndarray], np.ndarray]:
    """Multiplication by the inverse of about the Hessian at zero.

    That is ((I - 11'/m) / m) (x) E[xx'] + ridge without the rank-one term: it removes the scales
    and correlations of the columns, which slow L-BFGS down.
    """
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
    multiply = inverse_product(M)
    return lambda v: multiply(v.reshape(m, q).T).T.ravel()
