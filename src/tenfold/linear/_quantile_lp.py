"""Quantile regression, second stage: the exact minimum by a linear program of the rows near the plane.

Rows far from the plane lie above or below it, whatever happens near the minimum. There their loss
is a straight line, and everywhere that line is no larger than the loss. So with all rows but the
nearest replaced by lines, the least value is a bound from below; if the solution has the full
objective of that value, it is the minimum. Else more rows are taken as they are. (Portnoy and
Koenker, 1997, call the lines globs.) Where more rows than that lie on the plane, lines of any slope
from q - 1 to q touch their loss; the smoothed corners know which slopes balance each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from tenfold.engine.chunk import Chunk
from tenfold.linear._smoothed_pinball import PinballObjective, residuals
from tenfold.optim.convergence import Minimum, until_converged

_ROW_GROWTH = 3  # times as many rows are taken as they are when the last were too few
_INTERIOR_FRACTION = 1 - 1e-9  # share of the bound below which a multiplier is not at its bound
_MIN_RELATIVE_VALUE = 1e-14  # share of the first objective that is as good as zero


class PinballPieces(NamedTuple):
    """Loss of all rows, their lines, and the k rows (with ties) that lie nearest to the plane."""

    loss: float
    lines: float  # loss if all rows were lines
    slope: np.ndarray  # of the lines
    k: int
    numbers: np.ndarray  # of the nearest rows, ascending
    off: np.ndarray  # their residuals

    def merge(self, other: PinballPieces) -> PinballPieces:
        numbers = np.append(self.numbers, other.numbers)
        off = np.append(self.off, other.off)
        kept = _is_nearest(off, self.k)
        loss, lines = self.loss + other.loss, self.lines + other.lines
        return PinballPieces(
            loss, lines, self.slope + other.slope, self.k, numbers[kept], off[kept]
        )


def _is_nearest(off: np.ndarray, k: int) -> np.ndarray:
    """Which of the numbers are at most as large as the k-th smallest."""
    size = np.abs(off)
    if len(off) <= k:
        return np.isfinite(size)
    return size <= np.partition(size, k - 1)[k - 1]


def pinball_pieces(
    chunk: Chunk, w: np.ndarray, b: np.ndarray, q: float, k: int, width: float
) -> PinballPieces:
    """The pieces of a chunk; rows without weight are never near."""
    r, omega = residuals(chunk, w, b), chunk.weights().astype(np.float64)
    lever = omega * _line_slopes(r, q, width)
    pull = lever.astype(chunk.X.dtype, copy=False)
    slope = np.append(pull @ chunk.X, pull.sum(dtype=np.float64))
    loss = float(omega @ (_line_slopes(r, q, 0.0) * r))
    kept = np.flatnonzero(_is_nearest(np.where(omega > 0, r, np.inf), k))
    return PinballPieces(loss, float(lever @ r), slope, k, kept + chunk.first, r[kept])


def _line_slopes(r: np.ndarray, q: float, width: float) -> np.ndarray:
    """Slope of a row's line in the residual: q above the plane, q - 1 below, or in between."""
    return np.where(r > 0, q, q - 1) if width == 0 else q - expit(-r / width)


class BoundedSolution(NamedTuple):
    """A point, its pieces and its objective, and how far that may lie above the minimum."""

    theta: np.ndarray
    width: float  # of the corners that the lines come from
    pieces: PinballPieces
    value: float
    gap: float


def solve_quantile_lp(
    f: PinballObjective, start: np.ndarray, width: float, k: int, method: str, stop: dict[str, Any]
) -> Minimum:
    """The minimum, and as `gap_` of the report how far at most the objective is from the least."""
    first = _evaluate_point(f, start, width, k, -np.inf)
    loop = until_converged((first, first), **stop)
    for here, best in loop:
        there = _solve_reduced_program(f, here, method)
        best = min(best, there, key=lambda each: each.value)
        scale = max(there.value, _MIN_RELATIVE_VALUE * first.value, np.finfo(float).tiny)
        stuck = np.isinf(there.gap) and there.pieces.k == here.pieces.k  # no more rows to take
        change = there.gap / scale
        loop.update((there, best), objective=best.value, change=change, stuck=bool(stuck))
    end = loop.state[0 if loop.converged else 1]
    return Minimum(end.theta, end.value, end.pieces.slope, {**loop.report, "gap_": end.gap})


def _evaluate_point(
    f: PinballObjective, theta: np.ndarray, width: float, k: int, least: float
) -> BoundedSolution:
    """What one pass says of a point, when the objective is known to be at least that."""
    found = f.rows.total(pinball_pieces, *f.parts(theta), f.q, k, width)
    value = found.loss / f.n + f.penalty(theta)
    return BoundedSolution(theta, width, found, value, max(value - least, 0.0))


def _solve_reduced_program(
    f: PinballObjective, here: BoundedSolution, method: str
) -> BoundedSolution:
    """The solution with only the near rows as they are; with more of them, if it has none."""
    k = min(_ROW_GROWTH * here.pieces.k, max(f.rows.n_rows, 1))
    found = QuantileDualProgram.of(f, here).solved(method)
    if found is None:
        return _evaluate_point(f, here.theta, here.width, k, -np.inf)
    theta, least = found
    return _evaluate_point(f, theta, 0.0, k, least / f.n)


class QuantileDualProgram(NamedTuple):
    r"""The dual program: multipliers a of rows and z of coefficients, for a step from theta.

    .. math:: \max_{a, z} r \cdot a + w \cdot z \quad \text{with} \quad X^\top a - z = -g, \;
              \omega (q - 1) \le a \le \omega q, \; |z| \le n \alpha

    g is the slope of the rows that are lines. The multipliers of the equations are the step.
    """

    theta: np.ndarray
    X: Any  # (k, p) sparse, or (k, p + 1) with a column of ones
    r: np.ndarray
    omega: np.ndarray
    q: float
    g: np.ndarray
    lines: float  # loss of the lines
    most: float  # n alpha

    @classmethod
    def of(cls, f: PinballObjective, here: BoundedSolution) -> QuantileDualProgram:
        from scipy import sparse

        s, chunk = here.pieces, f.rows.take(here.pieces.numbers)
        r, omega = s.off, chunk.weights().astype(np.float64)
        lever = omega * _line_slopes(r, f.q, here.width)
        g = s.slope - np.append(lever @ chunk.X, lever.sum())
        lines = s.lines - float(lever @ r)
        X, r, omega = _merge_equal_rows(chunk.X, chunk.y, r, omega)
        X = sparse.csr_array(X).astype(np.float64)
        X = sparse.hstack([X, np.ones((len(r), 1))], format="csr") if f.intercept else X
        g = g if f.intercept else g[:-1]
        return cls(here.theta, X, r, omega, f.q, g, lines, f.n * f.alpha)

    def solved(self, method: str) -> tuple[np.ndarray, float] | None:
        """The new theta and the bound from below; None if lines alone fall without end."""
        from scipy.optimize import linprog

        (k, m), p = self.X.shape, len(self.theta) - 1
        unit, mass, size = self._units()
        bound = self.most / mass
        limits = np.full((k + p, 2), [-bound, bound])
        limits[:k] = np.outer(self.omega / mass, [self.q - 1, self.q])
        cost = -np.append(self.r, self.theta[:-1]) / unit
        A, g = self._equations(size), -self.g / size / mass
        found = linprog(cost, A_eq=A, b_eq=g, bounds=limits, method=method)
        if found.status != 0:
            return None
        theta = self.theta.copy()
        theta[:m] -= found.eqlin.marginals * unit / size
        if self.most > 0:
            theta[:-1][np.abs(found.x[k:]) < _INTERIOR_FRACTION * bound] = 0.0
        return theta, self.lines - found.fun * unit * mass

    def _units(self) -> tuple[float, float, np.ndarray]:
        """Sizes of residuals, weights and columns: solvers have absolute tolerances."""
        squares = np.bincount(self.X.indices, self.X.data**2, self.X.shape[1])
        size = np.sqrt(squares / self.X.shape[0])
        unit = float(np.abs(self.r).max(initial=0.0)) or 1.0
        return unit, float(self.omega.mean()), np.where(size > 0, size, 1.0)

    def _equations(self, size: np.ndarray) -> Any:
        """[X' -I] with rows over the sizes; the constant has no penalty."""
        from scipy import sparse

        (_, m), p = self.X.shape, len(self.theta) - 1
        scaled = sparse.diags_array(1 / size)
        return sparse.hstack([scaled @ self.X.T, -(scaled @ sparse.eye_array(m, p))], format="csc")


def _merge_equal_rows(X: Any, y: np.ndarray, r: np.ndarray, omega: np.ndarray) -> tuple:
    """Equal rows of a dense X as one of their joint weight, in an order of their own."""
    if not isinstance(X, np.ndarray):
        return X, r, omega
    _, first, which = np.unique(
        np.column_stack([y, X]), axis=0, return_index=True, return_inverse=True
    )
    return X[first], r[first], np.bincount(which.ravel(), omega)
