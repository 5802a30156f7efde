"""L1-penalized cross-entropy on sparse rows by coordinate descent along their columns.

Rows of text have very many columns and few entries. An iteration takes the gradient of all
parameters, then descends along those that are not zero or violate their optimality condition. This
needs columns, so the sparse rows are gathered in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.linear._loss_gradients import row_weights
from tenfold.linear._objective import LinearObjective
from tenfold.linear._prox_newton import kkt_violations, weighted_l1_norm
from tenfold.linear._sparse_coordinate_descent_numba import column_products, sweep_columns
from tenfold.linear._thresholds import MIN_SPARSE_WORKING_SET
from tenfold.optim.convergence import Minimum, until_converged

_INNER_TOL_FACTOR = 0.1  # tolerance of a working set, relative to the largest violation
_MAX_SWEEPS = 20  # over a working set, before exponentials are recomputed and columns may enter


class CrossEntropyColumns(NamedTuple):
    """The columns of [X 1] in compressed form, the classes and the weights.

    Attributes
    ----------
    starts, rows, values : column j is values[starts[j]:starts[j + 1]] at `rows`
    largest : (p + 1,) largest absolute entry of each column
    label : (n,) row of parameters of each row's class; -1 for the reference class
    weight : (n,) weights of the rows
    """

    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    largest: np.ndarray
    label: np.ndarray
    weight: np.ndarray


def minimize_l1_cross_entropy(
    f: LinearObjective, l1: np.ndarray, start: np.ndarray, *, tol: float, max_iter: int
) -> Minimum:
    """As `tenfold.linear._prox_newton.minimize_l1`, for cross-entropy on sparse rows."""
    columns = _gather_columns(f)
    weight = np.tile(l1, f.shape[0])
    loop = until_converged(
        (start, *_smooth_gradient(f, columns, start)), tol=tol, max_iter=max_iter
    )
    for x, _, gradient in loop:
        violation = kkt_violations(x, gradient, weight)
        theta = x.reshape(f.shape).copy()
        selected = _select_working_set(x, violation, f)
        inner_tol = _INNER_TOL_FACTOR * violation.max(initial=0.0)
        _solve_working_set(f, columns, selected, theta, l1, inner_tol)
        x = theta.ravel()
        value, gradient = _smooth_gradient(f, columns, x)
        change = kkt_violations(x, gradient, weight).max(initial=0.0)
        objective = value + weighted_l1_norm(weight, x)
        loop.update((x, value, gradient), objective=objective, change=change)
    x, value, gradient = loop.state
    return Minimum(x, value + weighted_l1_norm(weight, x), gradient, loop.report)


def _gather_columns(f: LinearObjective) -> CrossEntropyColumns:
    """The rows of an objective as columns, in memory."""
    from scipy import sparse

    chunk = f.rows.gather()
    ones = sparse.csc_array(np.ones((chunk.rows, 1)))
    X: Any = sparse.hstack([chunk.X.astype(np.float64), ones], format="csc")
    largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
    label = np.where(chunk.y == 1, 0, -1) if f.shape[0] == 1 else chunk.y
    w = row_weights(chunk, f.class_weight)
    weight = np.ones(chunk.rows) if w is None else w.astype(np.float64)
    return CrossEntropyColumns(X.indptr, X.indices, X.data, largest, label, weight)


def _select_working_set(x: np.ndarray, violation: np.ndarray, f: LinearObjective) -> np.ndarray:
    """(class, column) of the parameters that are not zero, and that violate optimality most."""
    selected = x != 0
    entering = np.flatnonzero((violation > 0) & ~selected)
    most = max(2 * int(selected.sum()), MIN_SPARSE_WORKING_SET)
    selected[entering[np.argsort(-violation[entering], kind="stable")[:most]]] = True
    selected = selected.reshape(f.shape)
    selected[:, -1] = f.intercept
    return np.argwhere(selected)


def _solve_working_set(
    f: LinearObjective,
    columns: CrossEntropyColumns,
    selected: np.ndarray,
    theta: np.ndarray,
    l1: np.ndarray,
    tol: float,
) -> None:
    """Sweep over the selected parameters until none violates optimality; changes theta."""
    E, S, _ = _shifted_exponentials(_column_scores(columns, theta))
    for _ in range(_MAX_SWEEPS):
        active = np.ones(len(selected), np.bool_)
        worst = sweep_columns(
            *columns[:4], selected, active, theta, E, S, *columns[4:], l1, f.ridge, f.n
        )
        if worst <= tol:
            break
        selected = selected[active]


def _smooth_gradient(
    f: LinearObjective, columns: CrossEntropyColumns, x: np.ndarray
) -> tuple[float, np.ndarray]:
    """Value and gradient of the smooth part."""
    theta, rows = x.reshape(f.shape), np.arange(len(columns.label))
    Z = _column_scores(columns, theta)
    E, S, top = _shifted_exponentials(Z)
    has_row = columns.label >= 0
    label_scores = np.where(has_row, Z[columns.label, rows], 0.0)
    value = float(columns.weight @ (top + np.log(S) - label_scores)) / f.n
    R = E / S
    R[columns.label[has_row], rows[has_row]] -= 1.0
    R *= columns.weight / f.n
    gradient = column_products(*columns[:3], np.ascontiguousarray(R.T)).T + f.ridge * theta
    if not f.intercept:
        gradient[:, -1] = 0.0
    return value + 0.5 * float((f.ridge * theta**2).sum()), gradient.ravel()


def _column_scores(columns: CrossEntropyColumns, theta: np.ndarray) -> np.ndarray:
    """Scores (m, n)."""
    from scipy import sparse

    shape = len(columns.label), len(theta[0])
    X = sparse.csc_array((columns.values, columns.rows, columns.starts), shape=shape)
    return np.ascontiguousarray((X @ theta.T).T)


def _shifted_exponentials(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exponentials of the scores less the largest of their row, their sums, and the largest.

    A single row of scores has a reference class whose score is 0.
    """
    top = np.maximum(Z[0], 0.0) if len(Z) == 1 else Z.max(axis=0)
    E = np.exp(Z - top)
    return E, E.sum(axis=0) + (np.exp(-top) if len(Z) == 1 else 0.0), top
