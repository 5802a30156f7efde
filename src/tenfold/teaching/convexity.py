r"""Numerical tests of convexity: chords below the graph, and indefinite Hessians.

.. math:: f((1-t)\,x + t\,y) \le (1-t) f(x) + t f(y) \quad\text{for all } x, y, 0 \le t \le 1

A chord below the graph disproves convexity; finding none proves nothing. The rules of
`tenfold.teaching.convex_calculus` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.optim.convergence import ValueAndGradient

_ROUNDING_RATIO = 1e-10  # of the values on a chord: a smaller excess is rounding
_DIFFERENCE_STEP = 6e-6  # cube root of the precision, optimal for central differences


class Chord(NamedTuple):
    """A chord that runs below the graph at (1-t) x + t y, by `excess`."""

    x: np.ndarray
    y: np.ndarray
    t: float
    excess: float

    @property
    def middle(self) -> np.ndarray:
        """The point where the graph lies above the chord."""
        return (1 - self.t) * self.x + self.t * self.y


class NegativeCurvature(NamedTuple):
    """A point with negative curvature along a direction."""

    x: np.ndarray
    direction: np.ndarray
    curvature: float


PointSampler = Callable[[np.random.Generator], np.ndarray] | tuple | np.ndarray


def convexity_violation(
    f: Callable[[np.ndarray], float], points: PointSampler, *, n: int = 2000, seed: int = 0
) -> Chord | None:
    """Search for a chord that disproves convexity; the worst of `n`, or None.

    Parameters
    ----------
    f : callable
        A function of a flat point.
    points : callable, (low, high), or array (m, d)
        End points of chords: drawn by `points(rng)`, uniformly from a box, or from these rows.
    n : int
        Number of chords; half of them short, which detect local curvature.
    seed : int
        Seed of the draws.

    Returns
    -------
    Chord or None

    Examples
    --------
    >>> import numpy as np
    >>> box = (np.array([-3.0]), np.array([3.0]))
    >>> convexity_violation(lambda x: float(x[0] ** 2), box) is None
    True
    >>> chord = convexity_violation(lambda x: float(x[0] ** 3), box)
    >>> bool(chord.middle[0] ** 3 > (1 - chord.t) * chord.x[0] ** 3 + chord.t * chord.y[0] ** 3)
    True
    """
    chords = (_test_chord(f, *ends) for ends in _chord_ends(points, n, np.random.default_rng(seed)))
    return max((c for c in chords if c is not None), key=lambda c: c.excess, default=None)


def _chord_ends(
    points: PointSampler, n: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    draw = _make_sampler(points)
    for number in range(n):
        x, y = draw(rng), draw(rng)
        y = y if number % 2 else x + 10 ** rng.uniform(-3, 0) * (y - x)
        yield x, y, 0.5 if number % 4 < 2 else rng.uniform()


def _make_sampler(points: PointSampler) -> Callable[[np.random.Generator], np.ndarray]:
    if callable(points):
        return points
    if isinstance(points, tuple):
        low, high = (np.asarray(end, np.float64) for end in points)
        return lambda rng: rng.uniform(low, high)
    rows = np.asarray(points, np.float64)
    return lambda rng: rows[rng.integers(len(rows))]


def _test_chord(
    f: Callable[[np.ndarray], float], x: np.ndarray, y: np.ndarray, t: float
) -> Chord | None:
    left, right, middle = float(f(x)), float(f(y)), float(f((1 - t) * x + t * y))
    excess = middle - ((1 - t) * left + t * right)
    noise = _ROUNDING_RATIO * max(abs(left), abs(right), abs(middle))
    return Chord(x, y, t, excess) if excess > noise else None


def finite_difference_hessian(f: ValueAndGradient, x: np.ndarray) -> np.ndarray:
    """The Hessian at a point, by central differences of the gradient.

    Parameters
    ----------
    f : callable
        Returns (value, gradient).
    x : array of shape (n_params,)

    Returns
    -------
    array of shape (n_params, n_params), symmetric

    Examples
    --------
    >>> import numpy as np
    >>> f = lambda v: (v[0] ** 2 * v[1], np.array([2 * v[0] * v[1], v[0] ** 2]))
    >>> finite_difference_hessian(f, np.array([1.0, 2.0])).round(6).tolist()
    [[4.0, 2.0], [2.0, 0.0]]
    """
    x = np.asarray(x, np.float64)
    step = _DIFFERENCE_STEP * np.maximum(1.0, np.abs(x))
    columns = [(f(x + e)[1] - f(x - e)[1]) / (2 * e.max()) for e in np.diag(step)]
    H = np.array(columns)
    return (H + H.T) / 2


def hessian_violation(
    f: Callable[[np.ndarray], Any],
    points: PointSampler,
    *,
    second: Callable[[np.ndarray], np.ndarray] | None = None,
    n: int = 100,
    seed: int = 0,
    tol: float = 1e-6,
) -> NegativeCurvature | None:
    """Search for a point whose Hessian is not positive semi-definite; the worst of `n`, or None.

    Parameters
    ----------
    f : callable
        Returns (value, gradient); not called if `second` is given.
    points : callable, (low, high), or array (m, d)
        Points to test, as in `convexity_violation`.
    second : callable, optional
        The Hessian; by central differences if not given.
    n : int
        Points.
    seed : int
        Seed of the draws.
    tol : float
        Eigenvalues above -tol times the largest count as rounding.

    Returns
    -------
    NegativeCurvature or None

    Examples
    --------
    >>> import numpy as np
    >>> saddle = lambda v: (v[0] * v[1], v[::-1])
    >>> found = hessian_violation(saddle, (-np.ones(2), np.ones(2)))
    >>> round(found.curvature, 6), abs(found.direction.round(3)).tolist()
    (-1.0, [0.707, 0.707])
    """
    draw, rng = _make_sampler(points), np.random.default_rng(seed)
    worst = None
    for _ in range(n):
        x = draw(rng)
        values, vectors = np.linalg.eigh(
            finite_difference_hessian(f, x) if second is None else second(x)
        )
        lowest = float(values[0])
        if lowest < -tol * max(1.0, values[-1]) and (worst is None or lowest < worst.curvature):
            worst = NegativeCurvature(x, vectors[:, 0], lowest)
    return worst
