"""Coordinate descent on a quadratic with L1 and L2 penalties, with active-set Newton steps.

Sweeps find the signs of the coefficients early, but converge slowly if columns are correlated. So
after some sweeps `active_set_step` solves for the nonzero coefficients with their signs fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.optim.coordinate_descent_numba import descend_to_tolerance

SWEEPS_BEFORE_ACTIVE_SET = 20  # sweeps; chosen on the lasso benchmarks, not swept
_MAX_ACTIVE_SET_SOLVES = 20  # per active-set step
_DIAGONAL_JITTER = 1e-10  # share of the mean diagonal, for dependent columns


class PenalizedQuadratic(NamedTuple):
    """1/2 w'Qw - c'w + sum_j l1_j |w_j| + l2_j/2 w_j^2; `positive` if no w_j may be negative."""

    Q: np.ndarray
    c: np.ndarray
    l1: np.ndarray
    l2: np.ndarray
    positive: bool

    def value(self, w: np.ndarray, negative_gradient: np.ndarray) -> float:
        """The objective at w, where `negative_gradient` is c - Qw."""
        size = self.l1 @ np.abs(w) + 0.5 * self.l2 @ (w * w)
        return float(size - 0.5 * ((self.c + negative_gradient) @ w))


class CoordinateDescentResult(NamedTuple):
    """Result of coordinate descent.

    Attributes
    ----------
    w : the point
    negative_gradient : c - Qw there, of the smooth part without l2
    n_iter : sweeps over all coordinates
    violation : largest entry of the shortest subgradient
    """

    w: np.ndarray
    negative_gradient: np.ndarray
    n_iter: int
    violation: float


def coordinate_descent(
    Q: np.ndarray,
    c: np.ndarray,
    l1: np.ndarray | float,
    l2: np.ndarray | float,
    w0: np.ndarray | None = None,
    positive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> CoordinateDescentResult:
    r"""Minimize a quadratic with an L1 penalty, by cyclic coordinate descent.

    .. math:: \tfrac12 w^\top Q w - c^\top w
              + \sum_j \lambda_j |w_j| + \tfrac{\mu_j}{2} w_j^2

    Parameters
    ----------
    Q : array of shape (n_features, n_features)
        Symmetric, positive semi-definite.
    c : array of shape (n_features,)
        The linear part.
    l1, l2 : arrays of shape (n_features,) or numbers
        Penalties of each coefficient; 0 for none, as for an intercept.
    w0 : array of shape (n_features,), optional
        Initial coefficients, zero by default; not modified.
    positive : bool
        Whether the coefficients must not be negative.
    tol : float
        Converged when no entry of the shortest subgradient exceeds this in absolute value.
    max_iter : int
        Maximum number of sweeps.

    Returns
    -------
    Descent

    Examples
    --------
    >>> import numpy as np
    >>> coordinate_descent(np.eye(2), np.array([3.0, 0.5]), 1.0, 0.0).w.tolist()
    [2.0, 0.0]
    """
    Q, c = np.ascontiguousarray(Q, np.float64), np.asarray(c, np.float64)
    penalties = [np.broadcast_to(np.asarray(a, np.float64), len(c)).copy() for a in (l1, l2)]
    problem = PenalizedQuadratic(Q, c, penalties[0], penalties[1], positive)
    w = np.zeros(len(c)) if w0 is None else np.array(w0, np.float64)
    g = c - Q @ w
    done = 0
    while True:
        batch = min(SWEEPS_BEFORE_ACTIVE_SET, max_iter - done)
        sweeps, violation = descend_to_tolerance(Q, *problem[2:], w, g, tol, batch)
        done += sweeps
        if sweeps < SWEEPS_BEFORE_ACTIVE_SET or violation <= tol or done >= max_iter:
            return CoordinateDescentResult(w, g, done, violation)
        w, g = active_set_step(problem, w, g)


def active_set_step(
    problem: PenalizedQuadratic, w: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize over the nonzero coefficients with their signs fixed; keep w if that is no better.

    The step ends at the first sign change, that coefficient becomes zero, and the solve is repeated
    with the others.
    """
    new, reached = w.copy(), False
    for _ in range(_MAX_ACTIVE_SET_SOLVES):
        active = np.flatnonzero(new)
        if reached or not len(active):
            break
        target = _minimum_for_signs(problem, active, new[active])
        if target is None:
            break
        bound = problem.positive | (problem.l1[active] > 0)
        new[active], reached = step_to_sign_change(new[active], target, bound)
    negative_gradient = problem.c - new @ problem.Q
    lower = problem.value(new, negative_gradient) < problem.value(w, g)
    return (new, negative_gradient) if lower else (w, g)


def _minimum_for_signs(
    problem: PenalizedQuadratic, active: np.ndarray, current: np.ndarray
) -> np.ndarray | None:
    """The minimum over the active coefficients with |w_j| linear; None if Cholesky fails.

    The jitter on the diagonal only shortens the step along dependent columns.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    A = problem.Q[np.ix_(active, active)].astype(np.float64, copy=False)
    A[np.diag_indices(len(active))] += problem.l2[active]
    residual = problem.c[active] - problem.l1[active] * np.sign(current) - A @ current
    A[np.diag_indices(len(active))] += _DIAGONAL_JITTER * A.diagonal().mean()
    try:
        factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return current + cho_solve(factor, residual, check_finite=False)


def step_to_sign_change(
    current: np.ndarray, target: np.ndarray, bound: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Move from `current` to `target`, but only to the first change of a bound sign.

    Returns the new point, and whether it is the target.

    Examples
    --------
    >>> import numpy as np
    >>> point, reached = step_to_sign_change(
    ...     np.array([1.0, 1.0]), np.array([3.0, -1.0]), np.array([True, True])
    ... )
    >>> point.tolist(), reached
    ([2.0, 0.0], False)
    """
    crosses = bound & (current * target <= 0)
    share = np.where(crosses, current / np.where(crosses, current - target, 1.0), np.inf)
    first = share.min(initial=np.inf)
    if first == np.inf:
        return target, True
    return np.where(share == first, 0.0, current + first * (target - current)), False
