"""Coordinate descent on a quadratic with L1 and L2 penalties, with active-set Newton steps.

Sweeps find the signs of the coefficients soon, and their sizes late if columns are alike. So after
some sweeps `active_set_step` solves for the sizes, with the signs as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.optim.coordinate_descent_numba import descend_to_tolerance

SWEEPS_BEFORE_ACTIVE_SET = 20  # sweeps before a leap
_MAX_ACTIVE_SET_SOLVES = 20  # of one leap
_DIAGONAL_JITTER = 1e-10  # share of the diagonal that keeps dependent columns apart


class PenalizedQuadratic(NamedTuple):
    """1/2 w'Qw - c'w + sum_j l1_j |w_j| + l2_j/2 w_j^2; `positive` if no w_j may be negative."""

    Q: np.ndarray
    c: np.ndarray
    l1: np.ndarray
    l2: np.ndarray
    positive: bool

    def value(self, w: np.ndarray, slope: np.ndarray) -> float:
        """The objective at w, where c - Qw is `slope`."""
        size = self.l1 @ np.abs(w) + 0.5 * self.l2 @ (w * w)
        return float(size - 0.5 * ((self.c + slope) @ w))


class CoordinateDescentResult(NamedTuple):
    """Where coordinate descent stopped.

    Attributes
    ----------
    w : the point
    slope : c - Qw there
    n_iter : sweeps over all coordinates
    violation : largest entry of the shortest subgradient
    """

    w: np.ndarray
    slope: np.ndarray
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
    r"""Minimise a quadratic with an L1 penalty, by cyclic coordinate descent.

    .. math:: \tfrac12 w^\top Q w - c^\top w
              + \sum_j \lambda_j |w_j| + \tfrac{\mu_j}{2} w_j^2

    Parameters
    ----------
    Q : (p, p) array
        Symmetric, positive semi-definite.
    c : (p,) array
        The linear part.
    l1, l2 : (p,) arrays or numbers
        Penalties of each coefficient; 0 where there is none, as for a constant.
    start : (p,) array, optional
        Where to begin; zero by default. Is not changed.
    positive : bool
        Whether the coefficients must not be negative.
    tol : float
        Converged when no entry of the shortest subgradient exceeds this.
    max_iter : int
        Most sweeps.

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
        some = min(SWEEPS_BEFORE_ACTIVE_SET, max_iter - done)
        sweeps, worst = descend_to_tolerance(Q, *problem[2:], w, g, tol, some)
        done += sweeps
        if sweeps < SWEEPS_BEFORE_ACTIVE_SET or worst <= tol or done >= max_iter:
            return CoordinateDescentResult(w, g, done, worst)
        w, g = active_set_step(problem, w, g)


def active_set_step(
    problem: PenalizedQuadratic, w: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The minimum for the signs as they are, where that is lower; else stay.

    On the way there the coefficient that first changes its sign becomes zero; then on from there.
    """
    new, inside = w.copy(), False
    for _ in range(_MAX_ACTIVE_SET_SOLVES):
        used = np.flatnonzero(new)
        if inside or not len(used):
            break
        there = _minimum_for_signs(problem, used, new[used])
        if there is None:
            break
        bound = problem.positive | (problem.l1[used] > 0)
        new[used], inside = step_to_sign_change(new[used], there, bound)
    slope = problem.c - new @ problem.Q
    lower = problem.value(new, slope) < problem.value(w, g)
    return (new, slope) if lower else (w, g)


def _minimum_for_signs(
    problem: PenalizedQuadratic, used: np.ndarray, here: np.ndarray
) -> np.ndarray | None:
    """The minimum over some coefficients if |w_j| went on as a line; None if rounding forbids it.

    The little that is added to the diagonal only shortens the way along dependent columns.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    A = problem.Q[np.ix_(used, used)].astype(np.float64, copy=False)
    A[np.diag_indices(len(used))] += problem.l2[used]
    fall = problem.c[used] - problem.l1[used] * np.sign(here) - A @ here
    A[np.diag_indices(len(used))] += _DIAGONAL_JITTER * A.diagonal().mean()
    try:
        factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return here + cho_solve(factor, fall, check_finite=False)


def step_to_sign_change(
    here: np.ndarray, there: np.ndarray, bound: np.ndarray
) -> tuple[np.ndarray, bool]:
    """As far towards `there` as the first change of a bound sign; whether it got there.

    Examples
    --------
    >>> import numpy as np
    >>> way = step_to_sign_change(
    ...     np.array([1.0, 1.0]), np.array([3.0, -1.0]), np.array([True, True])
    ... )
    >>> way[0].tolist(), way[1]
    ([2.0, 0.0], False)
    """
    crosses = bound & (here * there <= 0)
    share = np.where(crosses, here / np.where(crosses, here - there, 1.0), np.inf)
    first = share.min(initial=np.inf)
    if first == np.inf:
        return there, True
    return np.where(share == first, 0.0, here + first * (there - here)), False
