r"""The joint multiclass SVM of Crammer and Singer, by coordinate descent on its dual.

.. math:: \min_w \tfrac12 \sum_m \lVert w_m \rVert^2
          + \sum_i c_i \max_m \big(1 - [m = y_i] + w_m \cdot x_i - w_{y_i} \cdot x_i\big)

The dual has a multiplier for each row and class, :math:`w_m = \sum_i \alpha_i^m x_i`, with
:math:`\sum_m \alpha_i^m = 0` and :math:`\alpha_i^m \le c_i [m = y_i]`. A sweep minimizes over the
multipliers of each row in turn, exactly. All rows are gathered in memory.

References
----------
* K. Crammer, Y. Singer (2001). On the algorithmic implementation of multiclass kernel-based vector
  machines. Journal of Machine Learning Research 2.
* S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin (2008). A sequential dual
  method for large scale multi-class linear SVMs. KDD.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.engine.rows import Rows
from tenfold.linear.svm._dual_numba import sweep_joint_multipliers
from tenfold.linear.svm._objective import SVMSolution
from tenfold.optim.convergence import until_converged


def crammer_singer(
    rows: Rows, cost: np.ndarray, constant: float, seed: int, *, gap: float, max_iter: int
) -> SVMSolution:
    """Sweep over the rows until the duality gap is at most `gap` times the objective.

    Parameters
    ----------
    rows : Rows
        The rows, with class numbers.
    cost : (n_classes,) array
        Weight of the losses of each class.
    constant : float
        Constant feature whose coefficients, times it, are the intercepts; 0 for none.
    seed : int
        Of the orders of rows.
    gap, max_iter : float, int
        Stopping rule.
    """
    gathered = rows.gather()
    X: Any = gathered.X
    y, w = gathered.y, gathered.w
    c = cost[y] if w is None else cost[y] * w
    k, n = len(cost), len(y)
    flat: tuple = (X.data, X.indices, X.indptr) if rows.sparse else (X,)
    squares = X.power(2).sum(axis=1) if rows.sparse else np.einsum("ij,ij->i", X, X)
    norms = np.asarray(squares, np.float64).ravel() + constant**2
    start = np.zeros((k, X.shape[1])), np.zeros(k), np.zeros((n, k))
    loop = until_converged(start, tol=gap, max_iter=max_iter)
    primal = distance = np.inf
    for W, v, alpha in loop:
        order = np.random.default_rng([seed, loop.n_iter]).permutation(n)
        sweep_joint_multipliers(flat, order, y, c, norms, float(constant), W, v, alpha)
        primal, dual = _objectives(X, y, c, constant, W, v, alpha)
        distance = max(primal - dual, 0.0)
        loop.update((W, v, alpha), objective=-dual, change=distance / max(primal, 1e-300))
    W, v, _ = loop.state
    T = np.column_stack([W, constant * v])
    return SVMSolution(T, None, np.array([primal]), np.array([distance]), loop.report)


def _objectives(
    X: Any,
    y: np.ndarray,
    c: np.ndarray,
    constant: float,
    W: np.ndarray,
    v: np.ndarray,
    alpha: np.ndarray,
) -> tuple[float, float]:
    """Objectives of the primal and of the dual."""
    rows = np.arange(len(y))
    Z = X @ W.T + constant * v + 1.0
    Z[rows, y] -= 1.0
    losses = Z.max(axis=1) - Z[rows, y]
    half_norm = 0.5 * float((W * W).sum() + v @ v)
    gain = alpha[rows, y].sum() - alpha.sum()
    return half_norm + float(c @ losses), gain - half_norm
