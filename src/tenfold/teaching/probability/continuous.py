"""Densities of one or two random variables, by numerical integration."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from tenfold.distributions._mass_on_line import (
    NO_MASS_MESSAGE,
    MassOnLine,
    find_peaks,
    integrate_pieces,
    search_grid,
    warn_of_missing_mass,
)
from tenfold.distributions.finite import RandomVariable

_PEAK_GRID_POINTS = 4001  # points of the grid that is searched for modes
_PEAK_SEARCH_DEVIATIONS = 10.0  # standard deviations about the mean that are searched
_PEAK_TIE_TOLERANCE = 1e-9  # relative difference of two maxima that counts as a tie
_MASS_TOLERANCE = 1e-4  # of the mass of a density of two variables that is taken for 1
_PEAK_GRID_SIDE = 201  # points along each axis of the grid of a search for two-dimensional peaks
_LARGEST_COORDINATE = 1e6  # that this grid reaches
_SIMPLEX_STARTS = 5
_NEGLIGIBLE_DROP = 30.0  # of the log-density: lower peaks are left out
_MAX_DOUBLINGS = 120
_BORDER_POINTS = 33


class ContinuousDistribution(RandomVariable):
    r"""A random variable with a density.

    .. math:: F(x) = \int_{-\infty}^x f(t)\,dt, \qquad E\,g(X) = \int g(x) f(x)\,dx

    Parameters
    ----------
    pdf : callable
        The density.
    low, high : float
        Ends of its support.
    log_pdf : callable, optional
        The log-density, which does not underflow: a narrow density far from zero is found by it.
    breaks : sequence of float, optional
        Where the mass lies: peaks and flanks. By default they are searched for, and a warning says
        so if the density does not integrate to 1 there.

    Examples
    --------
    >>> from tenfold.distributions import Gamma
    >>> gamma = ContinuousDistribution.of(Gamma(3.0, 2.0))
    >>> (
    ...     round(gamma.mean, 6),
    ...     round(gamma.skewness(raw=True), 6),
    ...     [round(m, 4) for m in gamma.modes()],
    ... )
    (1.5, 0.75, [1.0])
    >>> round(gamma.cdf(1.5), 4)
    0.5768
    """

    def __init__(
        self,
        pdf: Callable[[float], float],
        low: float = -np.inf,
        high: float = np.inf,
        *,
        log_pdf: Callable[[float], float] | None = None,
        breaks: Any = None,
    ) -> None:
        self.pdf, self.low, self.high = pdf, float(low), float(high)
        self._log_pdf = log_pdf or (lambda x: _safe_log(pdf(x)))
        self._breaks = breaks

    @cached_property
    def _mass(self) -> MassOnLine:
        """The regions of the mass."""
        return MassOnLine(self._log_pdf, self.low, self.high, self._breaks)

    @classmethod
    def of(cls, density: Any) -> ContinuousDistribution:
        """From a distribution of one column; the support is that of scipy.stats."""
        low, high = (
            density.to_scipy().support() if hasattr(density, "to_scipy") else (-np.inf, np.inf)
        )

        def log_pdf(x: float) -> float:
            return float(density.log_density([x])[0])

        return cls(lambda x: float(np.exp(log_pdf(x))), low, high, log_pdf=log_pdf)

    def probability(self, low: float, high: float) -> float:
        """Probability of an interval."""
        return self._mass.integral(lambda _: 1.0, low, high)

    def cdf(self, x: float) -> float:
        """Probability of the numbers up to x."""
        return self.probability(-np.inf, x)

    def expectation(self, f: Callable[[float], float]) -> float:
        """Mean of f, a function of one number."""
        return self._mass.integral(f)

    @property
    def mean(self) -> float:
        origin = self._mass.origin  # near the mass: far from zero, x itself would lose digits
        return origin + self.expectation(lambda x: x - origin)

    def modes(self, *, local: bool = False) -> list[float]:
        """The global modes; `local`: all local maxima. A plateau counts by its middle."""
        low = max(self.low, self.mean - _PEAK_SEARCH_DEVIATIONS * self.standard_deviation)
        high = min(self.high, self.mean + _PEAK_SEARCH_DEVIATIONS * self.standard_deviation)
        x = np.linspace(low, high, _PEAK_GRID_POINTS)
        f = np.array([self.pdf(point) for point in x])
        peaks = [self._peak(x, first, last) for first, last in find_peaks(f)]
        heights = np.array([self.pdf(peak) for peak in peaks])
        return [
            m
            for m, h in zip(peaks, heights, strict=True)
            if local or h >= heights.max() * (1 - _PEAK_TIE_TOLERANCE)
        ]

    def _peak(self, x: np.ndarray, first: int, last: int) -> float:
        """The maximum of the density near points first to last of a grid."""
        from scipy.optimize import minimize_scalar

        if last > first:
            return float((x[first] + x[last]) / 2)
        ends = x[max(first - 1, 0)], x[min(last + 1, len(x) - 1)]
        options = {"xatol": 1e-10 * (1 + abs(x[first]))}
        result = minimize_scalar(
            lambda t: -self.pdf(t), bounds=ends, method="bounded", options=options
        )
        return float(result.x) if self.pdf(result.x) >= self.pdf(x[first]) else float(x[first])


def _safe_log(value: float) -> float:
    return float(np.log(value)) if value > 0 else -np.inf


class JointDensity:
    r"""A density of two random variables: marginals, conditionals, independence.

    .. math:: f(x) = \int f(x, y)\,dy, \qquad f(x \mid y) = f(x, y) / f(y)

    Parameters
    ----------
    pdf : callable
        Density of (x, y).
    x, y : (low, high)
        Ends of the support of each.

    Examples
    --------
    Two independent waiting times have exponential marginals:

    >>> both = JointDensity(lambda x, y: 4 * np.exp(-2 * (x + y)), (0, np.inf), (0, np.inf))
    >>> round(both.marginal("x").pdf(0.5), 6), both.independent()
    (0.735759, True)
    """

    def __init__(
        self,
        pdf: Callable[[float, float], float],
        x: tuple[float, float] = (-np.inf, np.inf),
        y: tuple[float, float] = (-np.inf, np.inf),
    ) -> None:
        self.pdf, self.ends = pdf, {"x": x, "y": y}

    @cached_property
    def _box(self) -> MassBox:
        """Where the mass lies; a warning if it is not 1 there."""
        box = MassBox(self.pdf, (self.ends["x"], self.ends["y"]))
        mass = self._integral(lambda _x, _y: 1.0, box, absolute=1e-6, relative=1e-6)
        if abs(mass - 1) > _MASS_TOLERANCE:
            warn_of_missing_mass(mass)
        return box

    def _integral(self, f: Callable, box: MassBox, **tol: float) -> float:
        x_breaks, y_breaks = box.breaks

        def inner(x: float) -> float:
            return integrate_pieces(
                lambda y: f(x, y) * self.pdf(x, y), *self.ends["y"], y_breaks, **tol
            )

        return integrate_pieces(inner, *self.ends["x"], x_breaks, **tol)

    def marginal(self, name: str) -> ContinuousDistribution:
        """Marginal density of "x" or "y"."""
        own, other = ("x", "y") if name == "x" else ("y", "x")
        low, high = self.ends[own]
        breaks = dict(zip("xy", self._box.breaks, strict=True))

        def pdf(t: float) -> float:
            if not low <= t <= high:
                return 0.0
            return integrate_pieces(
                lambda s: self._at(name, t, s), *self.ends[other], breaks[other]
            )

        return ContinuousDistribution(pdf, low, high, breaks=breaks[own])

    def _at(self, name: str, t: float, s: float) -> float:
        return self.pdf(t, s) if name == "x" else self.pdf(s, t)

    def given(self, name: str, value: float) -> ContinuousDistribution:
        """Conditional density of the other variable, given that `name` has this value."""
        height = self.marginal(name).pdf(value)
        if not height > 0:
            raise ValueError(f"{name} = {value} has density zero: nothing can be conditioned on it")
        other = "y" if name == "x" else "x"
        breaks = dict(zip("xy", self._box.breaks, strict=True))
        return ContinuousDistribution(
            lambda s: self._at(name, value, s) / height, *self.ends[other], breaks=breaks[other]
        )

    def expectation(self, f: Callable[[float, float], float]) -> float:
        """Mean of f(x, y)."""
        return self._integral(f, self._box)

    def independent(self, points: int = 7, tol: float = 1e-6) -> bool:
        """Whether the density is the product of its marginals, on a grid where the mass lies."""
        X, Y = self.marginal("x"), self.marginal("y")
        x, y = (np.linspace(a, b, points + 2)[1:-1] for a, b in self._box.bulk)
        joint = np.array([[self.pdf(s, t) for t in y] for s in x])
        product = np.multiply.outer([X.pdf(s) for s in x], [Y.pdf(t) for t in y])
        return bool(np.abs(joint - product).max() <= tol * max(joint.max(), product.max()))


def conditional_dependence(
    pdf: Callable[[float, float, float], float],
    x: tuple[float, float],
    y: tuple[float, float],
    given: tuple[float, float],
    points: int = 9,
) -> float:
    r"""How far two random variables with a joint density are from independence given a third.

    X and Y are independent given Z where :math:`f(x, y \mid z) = f(x \mid z) f(y \mid z)`, that is

    .. math:: f(x, y, z) \, f(x', y', z) = f(x, y', z) \, f(x', y, z)
              \qquad \text{for all } x, x', y, y', z,

    which needs no integral. The result is the largest difference of both sides on a grid, over the
    square of the largest density with the same z: zero up to rounding for independent variables.

    Parameters
    ----------
    pdf : callable
        Density of (x, y, z); a constant factor does not matter.
    x, y, given : (low, high)
        Ranges of x, y and z in which most of the mass lies.
    points : int
        Points of the grid along each axis.

    See Also
    --------
    JointTable.independent : The same of finitely many outcomes.
    JointDensity.independent : Without a third variable.

    Examples
    --------
    Two measurements of one quantity are dependent, and independent given the quantity:

    >>> import numpy as np
    >>> def density(x, y, z):
    ...     return np.exp(-((x - z) ** 2 + (y - z) ** 2 + z**2) / 2)
    >>> conditional_dependence(density, (-3, 3), (-3, 3), (-3, 3)) < 1e-12
    True
    """
    sides = (np.linspace(low, high, points + 2)[1:-1] for low, high in (x, y, given))
    xs, ys, zs = sides
    largest = 0.0
    for z in zs:
        f = np.array([[pdf(s, t, z) for t in ys] for s in xs], np.float64)
        if not f.max() > 0:
            continue
        f /= f.max()
        crossed = np.einsum("il,kj->ijkl", f, f)  # f(x, y') f(x', y)
        largest = max(largest, float(np.abs(np.einsum("ij,kl->ijkl", f, f) - crossed).max()))
    return largest


class MassBox:
    """A box with the mass of a density of two variables.

    Parameters
    ----------
    pdf : callable
        Density of (x, y).
    ends : pair of (low, high)
        Ends of the support of x and of y.

    Attributes
    ----------
    bulk : pair of (low, high), where the density is above 1 % of its peak
    breaks : pair of arrays, points between which the density is integrated along each axis
    """

    def __init__(self, pdf: Callable[[float, float], float], ends: Any) -> None:
        self.pdf, self.ends = pdf, ends
        peaks = self._find_peaks()
        if not peaks:
            raise ValueError(NO_MASS_MESSAGE)
        self.top = max(self._height(peak) for peak in peaks)
        self.bulk, tail = self._grow(peaks, 1e-2), self._grow(peaks, 1e-14)
        self.breaks = [
            np.unique(np.concatenate([self.bulk[axis], tail[axis], [peaks[0][axis]]]))
            for axis in range(2)
        ]

    def _find_peaks(self) -> list[np.ndarray]:
        """The highest points of a grid of all magnitudes, improved by a simplex search."""
        from scipy.optimize import minimize

        x, y = (search_grid(low, high, _PEAK_GRID_SIDE) for low, high in self.ends)
        x, y = (side[np.abs(side) <= _LARGEST_COORDINATE] for side in (x, y))
        f = np.array([[self.pdf(s, t) for t in y] for s in x])
        best = np.argsort(f, axis=None)[::-1][:_SIMPLEX_STARTS]
        starts = [(i, j) for i, j in zip(*np.unravel_index(best, f.shape), strict=True) if f[i, j]]
        peaks: list[np.ndarray] = []
        for i, j in starts:
            options = {"xatol": 1e-9, "fatol": 1e-9, "maxiter": 400}
            found = minimize(
                lambda p: -self._height(p), (x[i], y[j]), method="Nelder-Mead", options=options
            )
            peaks.append(found.x)
        peaks.sort(key=self._height, reverse=True)
        return [p for p in peaks if self._height(p) > self._height(peaks[0]) - _NEGLIGIBLE_DROP]

    def _height(self, point: Any) -> float:
        """Log-density, -inf outside of the support."""
        inside = all(a <= p <= b for p, (a, b) in zip(point, self.ends, strict=True))
        return _safe_log(self.pdf(*point)) if inside else -np.inf

    def _grow(self, peaks: list[np.ndarray], share: float) -> list[tuple[float, float]]:
        """The box about the peaks with less than this share of the peak on its border."""
        level = np.log(share) + self.top
        low, high = np.min(peaks, axis=0), np.max(peaks, axis=0)
        step = np.full((2, 2), 1e-6) * np.maximum(1e-3, np.abs([low, high]))
        for _ in range(_MAX_DOUBLINGS):
            border = self._border(low, high)
            if not (border >= level).any():
                break
            step[border >= level] *= 2
            low = np.maximum(
                low - np.where(border[0] >= level, step[0], 0), [e[0] for e in self.ends]
            )
            high = np.minimum(
                high + np.where(border[1] >= level, step[1], 0), [e[1] for e in self.ends]
            )
        return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]

    def _border(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Largest log-density on each side of a box, (2, 2); -inf at an end of the support."""
        sides = np.full((2, 2), -np.inf)
        for axis in range(2):
            along = np.linspace(low[1 - axis], high[1 - axis], _BORDER_POINTS)
            for end, position in enumerate((low[axis], high[axis])):
                if position != self.ends[axis][end]:
                    points = np.full((len(along), 2), position)
                    points[:, 1 - axis] = along
                    sides[end, axis] = max(self._height(point) for point in points)
        return sides
