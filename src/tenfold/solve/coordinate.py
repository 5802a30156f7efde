"""Coordinate descent: one coefficient at a time, each to its own minimum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.solve.coordinate_leaves import descend


class Descent(NamedTuple):
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
    start: np.ndarray | None = None,
    positive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Descent:
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
    p = len(c)
    Q = np.ascontiguousarray(Q, np.float64)
    w = np.zeros(p) if start is None else np.array(start, np.float64)
    g = c - Q @ w
    l1, l2 = (np.ascontiguousarray(np.broadcast_to(float_(a), p)) for a in (l1, l2))
    done, worst = descend(Q, l1, l2, positive, w, g, tol, max_iter)
    return Descent(w, g, done, worst)


def float_(a: np.ndarray | float) -> np.ndarray:
    """Numbers as float64."""
    return np.asarray(a, np.float64)
