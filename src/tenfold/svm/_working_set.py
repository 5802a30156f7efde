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
from tenfold.svm._smo_numba import run_steps

_SHRINK_STEPS = 1000  # after which variables that stay at their bounds are left out for a while


def solve_working_set(
    K: np.ndarray, problem: DualProblem, beta: np.ndarray, F: np.ndarray, tol: float, max_steps: int
) -> tuple[int, float]:
    """Minimize over `beta` in place; `F` = K beta follows.

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
    steps, least curvature of a pair that was moved
    """
    m, n = len(beta), len(F)
    flat, diagonal, change = K.reshape(-1), K.diagonal()[problem.row], np.zeros(n)
    n_groups = int(problem.group.max(initial=0)) + 1
    f, everything = problem.gradient(F), (problem.row, diagonal, *problem[2:5])
    active, steps, least_curvature = None, 0, np.inf
    while steps < max_steps:
        part = everything if active is None else tuple(a[active] for a in everything)
        b, g = (beta, f) if active is None else (beta[active], f[active])
        most = min(m, _SHRINK_STEPS, max_steps - steps)
        done, converged, least = run_steps(flat, n, *part, n_groups, b, g, change, tol, most)
        steps, least_curvature = steps + done, min(least_curvature, least)
        if active is not None:
            beta[active] = b
        if converged and active is None:
            break
        if converged:  # on a part of the variables: look at all of them again
            f, active = problem.gradient(F + _product(K, change)), None
        else:
            kept = _is_unsettled(b, g, *part[2:], n_groups)
            if active is not None:
                f[active] = g
            active = np.flatnonzero(kept) if active is None else active[kept]
    F += _product(K, change)
    return steps, least_curvature


def _product(K: np.ndarray, change: np.ndarray) -> np.ndarray:
    """K times a vector of which many entries are zero; K is symmetric."""
    used = np.flatnonzero(change)
    return change[used] @ K[used]


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
