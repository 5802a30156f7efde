r"""Minimization over a few variables of a dual problem.

.. math:: \min_\beta \tfrac12 \beta^\top K \beta + \ell^\top \beta, \quad
          L \le \beta \le U, \quad \textstyle\sum_{t \in g} \beta_t \text{ fixed for each group } g

A step moves a pair of one group: i with the smallest gradient among the variables that may rise,
and j that gains most by second order (Fan, Chen and Lin 2005). Several variables may share a row of
K (support vector regression has two for each row).
"""

from __future__ import annotations

import numpy as np

from tenfold.svm._dual_problem import DualProblem
from tenfold.svm._smo_numba import LANES, run_steps

_SHRINK_STEPS = 1000  # after which variables that stay at their bounds are left out for a while


def solve_working_set(
    K: np.ndarray, problem: DualProblem, beta: np.ndarray, F: np.ndarray, tol: float, max_steps: int
) -> tuple[np.ndarray, int, float]:
    """Minimize over `beta` in place.

    Parameters
    ----------
    K : (n, n) float64 array
        Kernel values.
    problem : DualProblem
        Rows, linear term, bounds and groups of the variables.
    beta : (m,) array
        Variables, feasible.
    F : (n,) array
        K beta, up to what other variables add.
    tol : float
        Largest violation at which to stop.
    max_steps : int
        Most steps.

    Returns
    -------
    (n,) change of the sum of the variables of each row, steps, least curvature of a pair that moved
    """
    m, change, steps, least_curvature = len(beta), np.zeros(len(F)), 0, np.inf
    n_groups = int(problem.group.max(initial=0)) + 1
    f, active = problem.gradient(F), np.arange(m)
    while steps < max_steps:
        b, g = beta[active], f[active]
        most = min(m, _SHRINK_STEPS, max_steps - steps)
        done, converged, least = _run_steps(K, problem, active, b, g, change, tol, most)
        steps, least_curvature = steps + done, min(least_curvature, least)
        beta[active] = b
        if converged and len(active) == m:
            break
        if converged:  # on a part of the variables: look at all of them again
            f, active = problem.gradient(F + sparse_product(K, change)), np.arange(m)
        else:
            f[active] = g
            bounds = (part[active] for part in (problem.lower, problem.upper, problem.group))
            active = active[_is_unsettled(b, g, *bounds, n_groups)]
    return change, steps, least_curvature


def _run_steps(
    K: np.ndarray,
    problem: DualProblem,
    active: np.ndarray,
    beta: np.ndarray,
    f: np.ndarray,
    change: np.ndarray,
    tol: float,
    most: int,
) -> tuple[int, bool, float]:
    """Steps of the active variables, whose values and gradients are changed in place."""
    group, own = problem.group[active], problem.row[active]
    n_second = int(np.count_nonzero(group))
    counts = np.array([len(own) - n_second, n_second])
    sizes = -(-counts // LANES) * LANES
    n_own, places = 0, slice(len(own))
    if n_second:
        places = np.concatenate([np.arange(counts[0]), sizes[0] + np.arange(counts[1])])
        places[np.argsort(group, kind="stable")] = places.copy()
    elif own[-1] == len(own) - 1 and (own == np.arange(len(own))).all():
        n_own = len(own)
    m = int(sizes.sum())
    row, table = np.zeros(m, own.dtype), np.zeros((10, m))
    row[places] = own
    for line, values in enumerate(
        (K.diagonal()[own], problem.lower[active], problem.upper[active], beta, f)
    ):
        table[line, places] = values
    diagonal, lower, upper, b, g, work = *table[:5], table[5:]
    scale = float(np.abs(diagonal).max()) or 1.0
    lane, gains = np.zeros(LANES), np.zeros(m + LANES, np.float32)
    done, converged, least = run_steps(
        K.reshape(-1), len(K), row, n_own, sizes[0], diagonal, scale, lower, upper, b, g,
        work, lane, gains, change, tol, most,
    )  # fmt: skip
    beta[:], f[:] = b[places], g[places]
    return done, converged, least


def sparse_product(K: np.ndarray, change: np.ndarray) -> np.ndarray:
    """K times a vector of which many entries may be zero; K is symmetric."""
    used = np.flatnonzero(change)
    return change[used] @ K[used] if 4 * len(used) < len(change) else change @ K


def _is_unsettled(
    beta: np.ndarray,
    f: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    group: np.ndarray,
    n_groups: int,
) -> np.ndarray:
    """Variables that are free, or at a bound from which a pair could move them."""
    keep = np.ones(len(beta), bool)
    rises, falls = beta < upper, beta > lower
    for number in range(n_groups):
        own = group == number
        low = f[own & rises].min(initial=np.inf)
        high = f[own & falls].max(initial=-np.inf)
        keep &= ~(own & ((~falls & (f > high)) | (~rises & (f < low))))
    return keep


def smallest(values: np.ndarray, k: int) -> np.ndarray:
    """Places of the k smallest values, in ascending order."""
    if k < len(values):
        near = np.sort(np.argpartition(values, k)[:k])
        return near[np.argsort(values[near], kind="stable")]
    return np.argsort(values, kind="stable")
