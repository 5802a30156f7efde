"""Quantile regression, second stage: the exact minimum by a linear program of few rows.

Rows far from the plane stay on their side of it near the minimum. There their loss is linear, and
everywhere else the loss is at least that linear function. So with all rows but the nearest replaced
by linear functions, the minimum of the program is a lower bound; if its solution has the full
objective of that value, it is the minimum. Else more rows enter with their true loss. (Portnoy and
Koenker, 1997, call the linear parts globs.) Where more rows than that lie on the plane, any slope
from q - 1 to q is a subgradient of their loss; the smoothed loss gives slopes that balance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from tenfold.engine.chunk import Chunk
from tenfold.linear._smoothed_pinball import PinballObjective, residuals
from tenfold.optim.convergence import Minimum, until_converged

_ROW_GROWTH = 3  # factor on the rows with their true loss when they were too few
_INTERIOR_FRACTION = 1 - 1e-9  # of its bound: a smaller multiplier is not at its bound
_MIN_RELATIVE_VALUE = 1e-14  # of the first objective: smaller values count as zero


class PinballPieces(NamedTuple):
    """Loss of all rows, its linearization, and the k rows (with ties) nearest to the plane.

    Attributes
    ----------
    loss : pinball loss
    linear : value of the linearized loss of all rows
    gradient : (p + 1,) its gradient, with opposite sign
    k : how many rows to keep
    numbers : numbers of the nearest rows, ascending
    residuals : their residuals
    """

    loss: float
    linear: float
    gradient: np.ndarray
    k: int
    numbers: np.ndarray
    residuals: np.ndarray

    def merge(self, other: PinballPieces) -> PinballPieces:
        numbers = np.append(self.numbers, other.numbers)
        r = np.append(self.residuals, other.residuals)
        near = _is_nearest(r, self.k)
        loss, linear = self.loss + other.loss, self.linear + other.linear
        gradient = self.gradient + other.gradient
        return PinballPieces(loss, linear, gradient, self.k, numbers[near], r[near])


def _is_nearest(r: np.ndarray, k: int) -> np.ndarray:
    """Which absolute values are at most the k-th smallest."""
    size = np.abs(r)
    if len(r) <= k:
        return np.isfinite(size)
    return size <= np.partition(size, k - 1)[k - 1]


def pinball_pieces(
    chunk: Chunk, w: np.ndarray, b: np.ndarray, q: float, k: int, width: float
) -> PinballPieces:
    """The pieces of a chunk; rows without weight are never among the nearest."""
    r, weights = residuals(chunk, w, b), chunk.weights().astype(np.float64)
    slopes = weights * _line_slopes(r, q, width)
    row_slopes = slopes.astype(chunk.X.dtype, copy=False)
    gradient = np.append(row_slopes @ chunk.X, row_slopes.sum(dtype=np.float64))
    loss = float(weights @ (_line_slopes(r, q, 0.0) * r))
    near = np.flatnonzero(_is_nearest(np.where(weights > 0, r, np.inf), k))
    return PinballPieces(loss, float(slopes @ r), gradient, k, near + chunk.first, r[near])


def _line_slopes(r: np.ndarray, q: float, width: float) -> np.ndarray:
    """Slope of each row's linear function in the residual: q above the plane, q - 1 below.

    With a width, the derivative of the smoothed loss, in between.
    """
    return np.where(r > 0, q, q - 1) if width == 0 else q - expit(-r / width)


class BoundedSolution(NamedTuple):
    """A point, its pieces and its objective, and the gap to a lower bound of the minimum."""

    theta: np.ndarray
    width: float  # smoothing width from which the slopes come
    pieces: PinballPieces
    value: float
    gap: float


def solve_quantile_lp(
    f: PinballObjective,
    start: np.ndarray,
    width: float,
    k: int,
    method: dict[str, Any],
    stop: dict[str, Any],
) -> Minimum:
    """The minimum, with the gap between objective and lower bound as `gap_` of the report.

    `method` has the arguments `method` and `options` of `scipy.optimize.linprog`.
    """
    first = _evaluate_point(f, start, width, k, -np.inf)
    loop = until_converged((first, first), **stop)
    for point, best in loop:
        following = _solve_reduced_program(f, point, method)
        best = min(best, following, key=lambda p: p.value)
        scale = max(following.value, _MIN_RELATIVE_VALUE * first.value, np.finfo(float).tiny)
        all_rows = following.pieces.k == point.pieces.k
        stuck = bool(np.isinf(following.gap) and all_rows)
        change = following.gap / scale
        loop.update((following, best), objective=best.value, change=change, stuck=stuck)
    end = loop.state[0 if loop.converged else 1]
    return Minimum(end.theta, end.value, end.pieces.gradient, {**loop.report, "gap_": end.gap})


def _evaluate_point(
    f: PinballObjective, theta: np.ndarray, width: float, k: int, lower_bound: float
) -> BoundedSolution:
    """Objective and pieces of a point, from one pass."""
    pieces = f.rows.total(pinball_pieces, *f.split_parameters(theta), f.q, k, width)
    value = pieces.loss / f.n + f.penalty(theta)
    return BoundedSolution(theta, width, pieces, value, max(value - lower_bound, 0.0))


def _solve_reduced_program(
    f: PinballObjective, point: BoundedSolution, method: dict[str, Any]
) -> BoundedSolution:
    """The solution with the true loss of the near rows alone; more rows, if it is unbounded."""
    k = min(_ROW_GROWTH * point.pieces.k, max(f.rows.n_rows, 1))
    solution = QuantileDualProgram.of(f, point).solve(method)
    if solution is None:
        return _evaluate_point(f, point.theta, point.width, k, -np.inf)
    theta, bound = solution
    return _evaluate_point(f, theta, 0.0, k, bound / f.n)


class QuantileDualProgram(NamedTuple):
    r"""The dual program: multipliers a of rows and z of coefficients, for a step from theta.

    .. math:: \max_{a, z} r \cdot a + w \cdot z \quad \text{with} \quad X^\top a - z = -g, \;
              \omega (q - 1) \le a \le \omega q, \; |z| \le n \alpha

    g is the gradient of the linearized rows. The multipliers of the equations are the step.

    Attributes
    ----------
    theta : the current point
    X : (k, p) sparse near rows, or (k, p + 1) with a column of ones
    r, weights : (k,) their residuals and weights
    q : the quantile
    g, linear : gradient and value of the linearized rows
    max_multiplier : n alpha
    """

    theta: np.ndarray
    X: Any
    r: np.ndarray
    weights: np.ndarray
    q: float
    g: np.ndarray
    linear: float
    max_multiplier: float

    @classmethod
    def of(cls, f: PinballObjective, point: BoundedSolution) -> QuantileDualProgram:
        from scipy import sparse

        s, chunk = point.pieces, f.rows.take(point.pieces.numbers)
        r, weights = s.residuals, chunk.weights().astype(np.float64)
        slopes = weights * _line_slopes(r, f.q, point.width)
        g = s.gradient - np.append(slopes @ chunk.X, slopes.sum())
        linear = s.linear - float(slopes @ r)
        X, r, weights = _merge_equal_rows(chunk.X, chunk.y, r, weights)
        X = sparse.csr_array(X).astype(np.float64)
        X = sparse.hstack([X, np.ones((len(r), 1))], format="csr") if f.intercept else X
        g = g if f.intercept else g[:-1]
        return cls(point.theta, X, r, weights, f.q, g, linear, f.n * f.alpha)

    def solve(self, method: dict[str, Any]) -> tuple[np.ndarray, float] | None:
        """The new theta and the lower bound; None if the program has no solution."""
        from scipy.optimize import linprog

        (k, m), p = self.X.shape, len(self.theta) - 1
        residual_unit, weight_unit, column_rms = self._units()
        bound = self.max_multiplier / weight_unit
        bounds = np.full((k + p, 2), [-bound, bound])
        bounds[:k] = np.outer(self.weights / weight_unit, [self.q - 1, self.q])
        cost = -np.append(self.r, self.theta[:-1]) / residual_unit
        A, g = self._equations(column_rms), -self.g / column_rms / weight_unit
        result = linprog(cost, A_eq=A, b_eq=g, bounds=bounds, **method)
        if result.status != 0:
            return None
        theta = self.theta.copy()
        theta[:m] -= result.eqlin.marginals * residual_unit / column_rms
        if self.max_multiplier > 0:
            theta[:-1][np.abs(result.x[k:]) < _INTERIOR_FRACTION * bound] = 0.0
        return theta, self.linear - result.fun * residual_unit * weight_unit

    def _units(self) -> tuple[float, float, np.ndarray]:
        """Units of residuals, weights and columns: solvers have absolute tolerances."""
        squares = np.bincount(self.X.indices, self.X.data**2, self.X.shape[1])
        rms = np.sqrt(squares / self.X.shape[0])
        largest = float(np.abs(self.r).max(initial=0.0)) or 1.0
        return largest, float(self.weights.mean()), np.where(rms > 0, rms, 1.0)

    def _equations(self, column_rms: np.ndarray) -> Any:
        """[X' -I] with rows divided by the units of the columns; the intercept has no penalty."""
        from scipy import sparse

        (_, m), p = self.X.shape, len(self.theta) - 1
        scale = sparse.diags_array(1 / column_rms)
        return sparse.hstack([scale @ self.X.T, -(scale @ sparse.eye_array(m, p))], format="csc")


def _merge_equal_rows(X: Any, y: np.ndarray, r: np.ndarray, weights: np.ndarray) -> tuple:
    """Equal rows of a dense X as one row with the sum of their weights, sorted."""
    if not isinstance(X, np.ndarray):
        return X, r, weights
    _, first, inverse = np.unique(
        np.column_stack([y, X]), axis=0, return_index=True, return_inverse=True
    )
    return X[first], r[first], np.bincount(inverse.ravel(), weights)
