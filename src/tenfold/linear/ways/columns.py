"""L1 penalties on sparse rows: coordinate descent along the columns that matter.

Rows of text have very many columns and few entries. A round takes the slope of all parameters, then
descends along those that are not zero or should not be until they are at rest. Columns are needed,
so the rows are gathered in memory, which sparse rows fit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.ways.column_leaves import column_products, sweep
from tenfold.linear.ways.objective import Objective
from tenfold.linear.ways.slopes import row_weights
from tenfold.linear.ways.working_sets import l1_of, violations
from tenfold.solve.lbfgs import Minimum
from tenfold.solve.loop import until_still

INNER = 0.1  # columns at work are brought to rest so much more precisely than the slope was small
SWEEPS = 20  # before the exponentials are made afresh and the other columns looked at
FEWEST = 2000  # parameters that may come to work at once


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
    X: Any = sparse.hstack([whole.X.astype(np.float64), ones], format="csc")
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
    loop = until_still((start, *slope_of(f, columns, start)), tol=tol, max_iter=max_iter)
    for x, _, slope in loop:
        wrong = violations(x, slope, weight)
        theta = x.reshape(f.shape).copy()
        work = at_work(x, wrong, f)
        settle(f, columns, work, theta, l1, INNER * wrong.max(initial=0.0))
        x = theta.ravel()
        value, slope = slope_of(f, columns, x)
        change = violations(x, slope, weight).max(initial=0.0)
        loop.tell((x, value, slope), objective=value + l1_of(weight, x), change=change)
    x, value, slope = loop.state
    return Minimum(x, value + l1_of(weight, x), slope, loop.report)


def at_work(x: np.ndarray, wrong: np.ndarray, f: Objective) -> np.ndarray:
    """(class, column) of the parameters that are not zero or should not be, the worst of these."""
    chosen = x != 0
    coming = np.flatnonzero((wrong > 0) & ~chosen)
    room = max(2 * int(chosen.sum()), FEWEST)
    chosen[coming[np.argsort(-wrong[coming], kind="stable")[:room]]] = True
    chosen = chosen.reshape(f.shape)
    chosen[:, -1] = f.intercept
    return np.argwhere(chosen)


def settle(
    f: Objective, columns: Columns, work: np.ndarray, theta: np.ndarray, l1: np.ndarray, tol: float
) -> None:
    """Sweep over the parameters at work until all are at rest; changes theta."""
    E, S, _ = exponentials(scores_of(columns, theta))
    for _ in range(SWEEPS):
        awake = np.ones(len(work), np.bool_)
        worst = sweep(*columns[:4], work, awake, theta, E, S, *columns[4:], l1, f.ridge, f.n)
        if worst <= tol:
            break
        work = work[awake]


def slope_of(f: Objective, columns: Columns, x: np.ndarray) -> tuple[float, np.ndarray]:
    """The smooth value and its slope, from the columns."""
    theta, rows = x.reshape(f.shape), np.arange(len(columns.own))
    Z = scores_of(columns, theta)
    E, S, top = exponentials(Z)
    known = columns.own >= 0
    right = np.where(known, Z[columns.own, rows], 0.0)
    value = float(columns.weight @ (top + np.log(S) - right)) / f.n
    R = E / S
    R[columns.own[known], rows[known]] -= 1.0
    R *= columns.weight / f.n
    slope = column_products(*columns[:3], np.ascontiguousarray(R.T)).T + f.ridge * theta
    if not f.intercept:
        slope[:, -1] = 0.0
    return value + 0.5 * float((f.ridge * theta**2).sum()), slope.ravel()


def scores_of(columns: Columns, theta: np.ndarray) -> np.ndarray:
    """Scores (m, n)."""
    from scipy import sparse

    n = len(columns.own)
    X = sparse.csc_array((columns.values, columns.rows, columns.heads), shape=(n, len(theta[0])))
    return np.ascontiguousarray((X @ theta.T).T)


def exponentials(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exponentials of the scores less the largest of their row, their sums, and the largest.

    A single row of scores stands beside a reference class whose score is 0.
    """
    top = np.maximum(Z[0], 0.0) if len(Z) == 1 else Z.max(axis=0)
    E = np.exp(Z - top)
    return E, E.sum(axis=0) + (np.exp(-top) if len(Z) == 1 else 0.0), top
