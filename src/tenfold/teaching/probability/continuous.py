"""Densities of one or two random variables, by numerical integration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.distributions.finite import RandomVariable

_PEAK_GRID_POINTS = 4001  # points of the grid that is searched for modes
_PEAK_SEARCH_DEVIATIONS = 10.0  # standard deviations about the mean that are searched
_PEAK_TIE_TOLERANCE = 1e-9  # relative difference of two maxima that counts as a tie


def _integrate(f: Callable[[float], float], low: float, high: float) -> float:
    """Integral of f, by adaptive quadrature."""
    from scipy.integrate import quad

    return float(quad(f, low, high, limit=200, epsabs=1e-12, epsrel=1e-10)[0])


class ContinuousDistribution(RandomVariable):
    r"""A random variable with a density.

    .. math:: F(x) = \int_{-\infty}^x f(t)\,dt, \qquad E\,g(X) = \int g(x) f(x)\,dx

    Parameters
    ----------
    pdf : callable
        The density.
    low, high : float
        Ends of its support.

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
        self, pdf: Callable[[float], float], low: float = -np.inf, high: float = np.inf
    ) -> None:
        self.pdf, self.low, self.high = pdf, float(low), float(high)

    @classmethod
    def of(cls, density: Any) -> ContinuousDistribution:
        """From a distribution of one column; the support is that of scipy.stats."""
        low, high = (
            density.to_scipy().support() if hasattr(density, "to_scipy") else (-np.inf, np.inf)
        )
        return cls(lambda x: float(np.exp(density.log_density([x])[0])), low, high)

    def probability(self, low: float, high: float) -> float:
        """Probability of an interval."""
        low, high = max(low, self.low), min(high, self.high)
        return _integrate(self.pdf, low, high) if low < high else 0.0

    def cdf(self, x: float) -> float:
        """Probability of the numbers up to x."""
        return self.probability(-np.inf, x)

    def expectation(self, f: Callable[[float], float]) -> float:
        """Mean of f, a function of one number."""
        return _integrate(lambda x: f(x) * self.pdf(x), self.low, self.high)

    def modes(self, *, local: bool = False) -> list[float]:
        """The global modes; `local`: all local maxima. A plateau counts by its middle."""
        low = max(self.low, self.mean - _PEAK_SEARCH_DEVIATIONS * self.standard_deviation)
        high = min(self.high, self.mean + _PEAK_SEARCH_DEVIATIONS * self.standard_deviation)
        x = np.linspace(low, high, _PEAK_GRID_POINTS)
        f = np.array([self.pdf(point) for point in x])
        peaks = [self._peak(x, first, last) for first, last in _find_peaks(f)]
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


def _find_peaks(f: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each plateau that is higher than both neighbors."""
    starts = np.flatnonzero(np.append(True, f[1:] != f[:-1]))
    ends = np.append(starts[1:] - 1, len(f) - 1)
    heights = np.concatenate([[-np.inf], f[starts], [-np.inf]])
    high = (heights[1:-1] > heights[:-2]) & (heights[1:-1] > heights[2:])
    return [(int(a), int(b)) for a, b in zip(starts[high], ends[high], strict=True)]


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

    def marginal(self, name: str) -> ContinuousDistribution:
        """Marginal density of "x" or "y"."""
        other = "y" if name == "x" else "x"

        low, high = self.ends[name]

        def pdf(t: float) -> float:
            if not low <= t <= high:
                return 0.0
            return _integrate(lambda s: self._at(name, t, s), *self.ends[other])

        return ContinuousDistribution(pdf, *self.ends[name])

    def _at(self, name: str, t: float, s: float) -> float:
        return self.pdf(t, s) if name == "x" else self.pdf(s, t)

    def given(self, name: str, value: float) -> ContinuousDistribution:
        """Conditional density of the other variable, given that `name` has this value."""
        height = self.marginal(name).pdf(value)
        if not height > 0:
            raise ValueError(f"{name} = {value} has density zero: nothing can be conditioned on it")
        other = "y" if name == "x" else "x"
        return ContinuousDistribution(
            lambda s: self._at(name, value, s) / height, *self.ends[other]
        )

    def expectation(self, f: Callable[[float, float], float]) -> float:
        """Mean of f(x, y)."""
        (a, b), (c, d) = self.ends["x"], self.ends["y"]
        return _integrate(lambda x: _integrate(lambda y: f(x, y) * self.pdf(x, y), c, d), a, b)

    def independent(self, points: int = 7, tol: float = 1e-6) -> bool:
        """Whether the density is the product of its marginals, on a grid of points."""
        X, Y = self.marginal("x"), self.marginal("y")
        x, y = (_interval_points(*self.ends[name], points) for name in "xy")
        joint = np.array([[self.pdf(s, t) for t in y] for s in x])
        product = np.multiply.outer([X.pdf(s) for s in x], [Y.pdf(t) for t in y])
        return bool(np.abs(joint - product).max() <= tol * max(joint.max(), product.max()))


def _interval_points(low: float, high: float, n: int) -> np.ndarray:
    """Points spread over an interval, finite or not."""
    u = (np.arange(n) + 0.5) / n
    if np.isfinite(low) and np.isfinite(high):
        return low + u * (high - low)
    if np.isfinite(low) or np.isfinite(high):
        return low - np.log1p(-u) if np.isfinite(low) else high + np.log1p(-u)
    return np.log(u) - np.log1p(-u)
