"""L1-penalized cross-entropy on sparse rows by coordinate descent along their columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold.linear._loss_gradients import row_weights
from tenfold.linear._objective import LinearObjective
from tenfold.linear._prox_newton import kkt_violations, weighted_l1_norm
from tenfold.optim.convergence import Minimum, until_converged

_MAX_SERIES_STEP = 5e-3  # exp(v) to full precision by six terms of its series


@njit(cache=True, nogil=True)
def _column_products(heads, rows, values, R):  # noqa: ANN001, ANN202
    """Every column times R (n, m): (columns, m)."""
    out = np.zeros((len(heads) - 1, R.shape[1]))
    for j in range(len(out)):
        for at in range(heads[j], heads[j + 1]):
            for c in range(R.shape[1]):
                out[j, c] += values[at] * R[rows[at], c]
    return out


@njit(cache=True, nogil=True)
def _sweep(heads, rows, values, largest, work, awake, theta, E, S, own, w, l1, ridge, n):  # noqa: ANN001, ANN202
    """A step along every (class, column) of `work`; changes awake, theta, E and S.

    Columns are values[heads[j]:heads[j + 1]] at `rows`, the last one the constant. E (m, rows) are
    exponentials of scores, S their sums (with the reference class, if there is one), own the class
    of each row. Those that are zero and should be are no longer awake. Gives the largest violation
    that was met.
    """
    worst = 0.0
    for a in range(len(work)):
        c, j = work[a, 0], work[a, 1]
        slope = bend = 0.0
        for at in range(heads[j], heads[j + 1]):
            i = rows[at]
            p = E[c, i] / S[i]
            xw = values[at] * w[i]
            slope += xw * (p - (1.0 if own[i] == c else 0.0))
            bend += xw * values[at] * p * (1.0 - p)
        old = theta[c, j]
        slope = slope / n + ridge[j] * old
        bend = bend / n + ridge[j]
        wrong = _kkt_violation(old, slope, l1[j])
        worst = max(worst, abs(wrong))
        awake[a] = old != 0.0 or wrong != 0.0
        if wrong == 0.0 or largest[j] == 0.0:
            continue
        theta[c, j] = _bounded_step(old, wrong, bend, largest[j])
        step = theta[c, j] - old
        short = abs(step) * largest[j] < _MAX_SERIES_STEP
        for at in range(heads[j], heads[j + 1]):
            i = rows[at]
            v = step * values[at]
            more = E[c, i] * (_expm1_series(v) if short else np.exp(v) - 1.0)
            S[i] += more
            E[c, i] += more
    return worst


@njit(cache=True, nogil=True)
def _expm1_series(v):  # noqa: ANN001, ANN202
    """exp(v) - 1 for a small v: most steps are, and exponentials are what a sweep costs."""
    return v * (1.0 + v / 2 * (1.0 + v / 3 * (1.0 + v / 4 * (1.0 + v / 5))))


@njit(cache=True, nogil=True)
def _kkt_violation(x, slope, l1):  # noqa: ANN001, ANN202
    """The shortest subgradient."""
    if x > 0.0:
        return slope + l1
    if x < 0.0:
        return slope - l1
    if slope > l1:
        return slope - l1
    if slope < -l1:
        return slope + l1
    return 0.0


@njit(cache=True, nogil=True)
def _bounded_step(old, wrong, bend, M):  # noqa: ANN001, ANN202
    """Where the bound is least; a coefficient stops at zero before it changes its sign."""
    length = np.log1p(M * abs(wrong) / max(bend, 1e-300)) / M
    length = min(length, 10.0 / M)  # no row's odds change by more than e^10 at once
    new = old - length if wrong > 0.0 else old + length
    return 0.0 if new * old < 0.0 else new


_INNER_TOL_FACTOR = (
    0.1  # columns at work are brought to rest so much more precisely than the slope was small
)
_MAX_SWEEPS = 20  # before the exponentials are made afresh and the other columns looked at
_MIN_WORKING_SET = 2000  # parameters that may come to work at once


class CrossEntropyColumns(NamedTuple):
    """The columns of [X 1] with what is needed beside them."""

    heads: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    largest: np.ndarray  # (p + 1,) largest entry of each column, without sign
    own: np.ndarray  # (n,) the parameter row of each row's class; -1 for the reference class
    weight: np.ndarray


def _gather_columns(f: LinearObjective) -> CrossEntropyColumns:
    """The rows of an objective, turned into columns."""
    from scipy import sparse

    whole = f.rows.gather()
    ones = sparse.csc_array(np.ones((whole.rows, 1)))
    X: Any = sparse.hstack([whole.X.astype(np.float64), ones], format="csc")
    largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
    own = np.where(whole.y == 1, 0, -1) if f.shape[0] == 1 else whole.y
    w = row_weights(whole, f.cost)
    weight = np.ones(whole.rows) if w is None else w.astype(np.float64)
    return CrossEntropyColumns(X.indptr, X.indices, X.data, largest, own, weight)


def minimize_l1_cross_entropy(
    f: LinearObjective, l1: np.ndarray, start: np.ndarray, *, tol: float, max_iter: int
) -> Minimum:
    """As `sparse_ways.l1_minimum`, for cross-entropy on sparse rows."""
    columns = _gather_columns(f)
    weight = np.tile(l1, f.shape[0])
    loop = until_converged(
        (start, *_smooth_gradient(f, columns, start)), tol=tol, max_iter=max_iter
    )
    for x, _, slope in loop:
        wrong = kkt_violations(x, slope, weight)
        theta = x.reshape(f.shape).copy()
        work = _select_working_set(x, wrong, f)
        _solve_working_set(f, columns, work, theta, l1, _INNER_TOL_FACTOR * wrong.max(initial=0.0))
        x = theta.ravel()
        value, slope = _smooth_gradient(f, columns, x)
        change = kkt_violations(x, slope, weight).max(initial=0.0)
        loop.update((x, value, slope), objective=value + weighted_l1_norm(weight, x), change=change)
    x, value, slope = loop.state
    return Minimum(x, value + weighted_l1_norm(weight, x), slope, loop.report)


def _select_working_set(x: np.ndarray, wrong: np.ndarray, f: LinearObjective) -> np.ndarray:
    """(class, column) of the parameters that are not zero or should not be, the worst of these."""
    chosen = x != 0
    coming = np.flatnonzero((wrong > 0) & ~chosen)
    room = max(2 * int(chosen.sum()), _MIN_WORKING_SET)
    chosen[coming[np.argsort(-wrong[coming], kind="stable")[:room]]] = True
    chosen = chosen.reshape(f.shape)
    chosen[:, -1] = f.intercept
    return np.argwhere(chosen)


def _solve_working_set(
    f: LinearObjective,
    columns: CrossEntropyColumns,
    work: np.ndarray,
    theta: np.ndarray,
    l1: np.ndarray,
    tol: float,
) -> None:
    """Sweep over the parameters at work until all are at rest; changes theta."""
    E, S, _ = _shifted_exponentials(_column_scores(columns, theta))
    for _ in range(_MAX_SWEEPS):
        awake = np.ones(len(work), np.bool_)
        worst = _sweep(*columns[:4], work, awake, theta, E, S, *columns[4:], l1, f.ridge, f.n)
        if worst <= tol:
            break
        work = work[awake]


def _smooth_gradient(
    f: LinearObjective, columns: CrossEntropyColumns, x: np.ndarray
) -> tuple[float, np.ndarray]:
    """The smooth value and its slope, from the columns."""
    theta, rows = x.reshape(f.shape), np.arange(len(columns.own))
    Z = _column_scores(columns, theta)
    E, S, top = _shifted_exponentials(Z)
    known = columns.own >= 0
    right = np.where(known, Z[columns.own, rows], 0.0)
    value = float(columns.weight @ (top + np.log(S) - right)) / f.n
    R = E / S
    R[columns.own[known], rows[known]] -= 1.0
    R *= columns.weight / f.n
    slope = _column_products(*columns[:3], np.ascontiguousarray(R.T)).T + f.ridge * theta
    if not f.intercept:
        slope[:, -1] = 0.0
    return value + 0.5 * float((f.ridge * theta**2).sum()), slope.ravel()


def _column_scores(columns: CrossEntropyColumns, theta: np.ndarray) -> np.ndarray:
    """Scores (m, n)."""
    from scipy import sparse

    n = len(columns.own)
    X = sparse.csc_array((columns.values, columns.rows, columns.heads), shape=(n, len(theta[0])))
    return np.ascontiguousarray((X @ theta.T).T)


def _shifted_exponentials(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exponentials of the scores less the largest of their row, their sums, and the largest.

    A single row of scores stands beside a reference class whose score is 0.
    """
    top = np.maximum(Z[0], 0.0) if len(Z) == 1 else Z.max(axis=0)
    E = np.exp(Z - top)
    return E, E.sum(axis=0) + (np.exp(-top) if len(Z) == 1 else 0.0), top
