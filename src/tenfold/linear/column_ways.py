"""L1 penalties on sparse rows: coordinate descent along the columns that matter.

Rows of text have very many columns and few entries. A round takes the slope of all parameters (one
pass), then descends along those that are not zero or should not be until they are at rest. Columns
are needed, so the rows are gathered in memory, which sparse rows fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.linear.column_leaves import sweep
from tenfold.linear.objective import Objective, row_weights
from tenfold.linear.sparse_ways import l1_of, violations
from tenfold.solve.lbfgs import Minimum
from tenfold.solve.loop import until_still

INNER = 0.1  # columns at work are brought to rest so much more precisely than the slope was small
SWEEPS = 20  # before the exponentials are made afresh and the other columns looked at


class Columns(NamedTuple):
    """The columns of [X 1] with what is needed beside them."""

    heads: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    largest: np.ndarray  # (p + 1,) largest entry of each column, without sign
    own: np.ndarray  # (n,) the parameter row of each row's class; -1 for the reference class
    weight: np.ndarray


def columns_of(f: Objective) -> Columns:
    """The rows of an objective, turned into columns."""
    from scipy import sparse

    whole = f.rows.gather()
    ones = sparse.csc_array(np.ones((whole.rows, 1)))
    X = sparse.hstack([whole.X.astype(np.float64), ones], format="csc")
    largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
    own = np.where(whole.y == 1, 0, -1) if f.shape[0] == 1 else whole.y
    w = row_weights(whole, f.cost)
    weight = np.ones(whole.rows) if w is None else w.astype(np.float64)
    return Columns(X.indptr, X.indices, X.data, largest, own, weight)


def l1_columns_minimum(
    f: Objective, l1: np.ndarray, start: np.ndarray, *, tol: float, max_iter: int
) -> Minimum:
    """As `sparse_ways.l1_minimum`, for cross-entropy on sparse rows."""
    columns = columns_of(f)
    weight = np.tile(l1, f.shape[0])
    loop = until_still((start, *f.slope(start)), tol=tol, max_iter=max_iter)
    for x, _, slope in loop:
        wrong = violations(x, slope, weight)
        theta = x.reshape(f.shape).copy()
        work = np.argwhere((theta != 0) | (wrong.reshape(f.shape) > 0))
        if not f.intercept:
            work = work[work[:, 1] < f.shape[1] - 1]
        settle(f, columns, work, theta, l1, INNER * wrong.max(initial=0.0))
        x = theta.ravel()
        value, slope = f.slope(x)
        change = violations(x, slope, weight).max(initial=0.0)
        loop.tell((x, value, slope), objective=value + l1_of(weight, x), change=change)
    x, value, slope = loop.state
    return Minimum(x, value + l1_of(weight, x), slope, loop.report)


def settle(
    f: Objective, columns: Columns, work: np.ndarray, theta: np.ndarray, l1: np.ndarray, tol: float
) -> None:
    """Sweep over the parameters at work until all are at rest; changes theta."""
    E, S = exponentials(columns, theta)
    for _ in range(SWEEPS):
        worst = sweep(*columns[:4], work, theta, E, S, *columns[4:], l1, f.ridge, f.n)
        if worst <= tol:
            break


def exponentials(columns: Columns, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exponentials of the scores, less the largest of their row, and their sums."""
    from scipy import sparse

    n = len(columns.own)
    X = sparse.csc_array((columns.values, columns.rows, columns.heads), shape=(n, len(theta[0])))
    Z = np.ascontiguousarray((X @ theta.T).T)
    top = Z.max(axis=0)
    reference = 0.0
    if len(theta) == 1:
        top = np.maximum(top, 0.0)
        reference = np.exp(-top)
    E = np.exp(Z - top)
    return E, E.sum(axis=0) + reference
