"""Integrals of a density of one variable, wherever its mass lies.

Adaptive quadrature on an infinite interval starts with a few points near zero, and takes a density
that is narrow or far away for zero. So the peaks are looked for first, on a grid of all magnitudes;
quadrature then works piece by piece between peaks, flanks and tails.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np

_GRID_SIZES = (601, 20001)  # of the search for peaks; the second if the first misses mass
_SMALLEST, _LARGEST = 1e-9, 1e15  # magnitudes that the grid covers
_EQUAL_STEPS_FROM = 2000  # points of a grid
_MAX_PEAKS = 12
_DROPS = (0.5, 4.5, 45.0)  # of the log-density from its peak: flank, bulk and tail of a region
_TAIL_GROWTH = 1.5  # log of the ratio of neighboring pieces of a heavy tail
_MASS_TOLERANCE = 1e-6
_GOLDEN = 0.3819660112501051

NO_MASS_MESSAGE = (
    "the density is zero at all points where its mass was looked for: give the ends of the support "
    "near the mass"
)

LogPdf = Callable[[float], float]


class MassOnLine:
    """The regions where a density has its mass, and integrals over them.

    Parameters
    ----------
    log_pdf : callable
        Log-density of a number.
    low, high : float
        Ends of its support.
    breaks : sequence of float, optional
        Points between which the density is smooth; looked for if not given.
    """

    def __init__(
        self,
        log_pdf: LogPdf,
        low: float = -np.inf,
        high: float = np.inf,
        breaks: np.ndarray | None = None,
    ) -> None:
        self.log_pdf, self.low, self.high = log_pdf, low, high
        self.breaks = np.empty(0) if breaks is None else np.unique(breaks)
        if breaks is not None:
            return
        mass = 0.0
        for size in _GRID_SIZES:
            self.breaks = self._find_breaks(search_grid(low, high, size))
            mass = self.integral(lambda _: 1.0)
            if abs(mass - 1) <= _MASS_TOLERANCE:
                return
        if not len(self.breaks):
            raise ValueError(NO_MASS_MESSAGE)
        warn_of_missing_mass(mass)

    def integral(
        self, f: Callable[[float], float], low: float = -np.inf, high: float = np.inf
    ) -> float:
        """Integral of f times the density from low to high."""
        low, high = max(low, self.low), min(high, self.high)
        if not low < high:
            return 0.0
        return integrate_pieces(lambda x: f(x) * self.pdf(x), low, high, self.breaks)

    @property
    def origin(self) -> float:
        """A number near the mass."""
        return float(self.breaks[len(self.breaks) // 2]) if len(self.breaks) else 0.0

    def pdf(self, x: float) -> float:
        """The density at a number."""
        return float(np.exp(self.log_pdf(x)))

    def _find_breaks(self, grid: np.ndarray) -> np.ndarray:
        heights = np.array([self._height(x) for x in grid])
        breaks: list[float] = []
        peaks = find_peaks(heights)
        peaks = sorted(peaks, key=lambda peak: -heights[peak[0]])[:_MAX_PEAKS]
        for first, last in peaks:
            middle = (first + last) // 2
            left, right = grid[max(first - 1, 0)], grid[min(last + 1, len(grid) - 1)]
            breaks += self._region(maximize(self._height, left, grid[middle], right))
        return np.unique(np.clip(breaks, self.low, self.high))

    def _height(self, x: float) -> float:
        """The log-density, -inf outside of the support."""
        value = self.log_pdf(x) if self.low <= x <= self.high else -np.inf
        return -np.inf if np.isnan(value) else min(value, 1e300)

    def _region(self, peak: float) -> list[float]:
        """The peak, and where the density has dropped on both sides."""
        top = self._height(peak)
        points = [peak]
        for side in (-1.0, 1.0):
            flank, bulk, tail = (
                abs(_find_drop(self._height, peak, side, top - drop) - peak) for drop in _DROPS
            )
            far = min(tail, _LARGEST)  # a heavy tail is cut into pieces that grow
            pieces = np.geomspace(bulk, far, max(int(np.log(far / bulk) / _TAIL_GROWTH), 1) + 1)
            points += [flank * side + peak, *(peak + side * pieces)]
        return [x for x in points if np.isfinite(x)]


def warn_of_missing_mass(mass: float) -> None:
    """Warn that a density does not integrate to 1."""
    warnings.warn(
        f"the density integrates to {mass:.6g}, not to 1, where its mass was found: moments and "
        "probabilities are wrong. Give the ends of the support near the mass, or normalize it",
        RuntimeWarning,
        stacklevel=4,
    )


def search_grid(low: float, high: float, size: int) -> np.ndarray:
    """Points of all magnitudes between two ends, finite or not; the ends themselves are left out.

    Examples
    --------
    >>> search_grid(0.0, np.inf, 4).tolist(), search_grid(0.0, 1.0, 5)[[0, -1]].tolist()
    ([1e-09, 0.1, 10000000.0, 1000000000000000.0], [1e-09, 0.999999999])
    """
    if np.isfinite(low) and np.isfinite(high):
        half = np.geomspace(_SMALLEST, 0.5, size // 4 + 1)
        inner = np.linspace(0, 1, size // 2 + 3)[1:-1]
        return low + (high - low) * np.unique(np.concatenate([half, inner, 1 - half]))
    if np.isfinite(low):
        return low + _magnitudes(size)
    if np.isfinite(high):
        return high - _magnitudes(size)[::-1]
    positive = _magnitudes(size // 2)
    return np.concatenate([-positive[::-1], [0.0], positive])


def _magnitudes(size: int) -> np.ndarray:
    """Distances from zero; many of them also in equal steps, where most data are."""
    grid = np.geomspace(_SMALLEST, _LARGEST, size)
    return grid if size < _EQUAL_STEPS_FROM else np.union1d(grid, np.arange(0.5, 2000, 0.5))


def find_peaks(f: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each plateau that is higher than both neighbors and not -inf.

    Examples
    --------
    >>> find_peaks(np.array([1.0, 2.0, 2.0, 5.0, 0.0, 3.0, 3.0]))
    [(3, 3), (5, 6)]
    """
    starts = np.flatnonzero(np.append(True, f[1:] != f[:-1]))
    ends = np.append(starts[1:] - 1, len(f) - 1)
    heights = np.concatenate([[-np.inf], f[starts], [-np.inf]])
    high = (heights[1:-1] > heights[:-2]) & (heights[1:-1] > heights[2:])
    return [(int(a), int(b)) for a, b in zip(starts[high], ends[high], strict=True)]


def maximize(f: LogPdf, left: float, middle: float, right: float) -> float:
    """A maximum between left and right by golden sections, starting from middle."""
    top = f(middle)
    for _ in range(200):
        long_left = middle - left > right - middle
        probe = middle + _GOLDEN * ((left if long_left else right) - middle)
        if probe in (left, middle, right):
            break
        value = f(probe)
        if value > top:
            left, right = (left, middle) if long_left else (middle, right)
            middle, top = probe, value
        elif long_left:
            left = probe
        else:
            right = probe
    return middle


def _find_drop(f: LogPdf, peak: float, side: float, level: float) -> float:
    """The nearest point found on one side of the peak where f is below the level."""
    step = 4 * float(np.spacing(max(abs(peak), 1e-300)))
    step = max(step, 1e-300)
    inside, outside = 0.0, step
    while f(peak + side * outside) >= level:
        inside, outside = outside, outside * (8 if outside < 1e-30 else 2)
        if outside > 10 * _LARGEST:
            return side * np.inf
    for _ in range(40):
        half = (inside + outside) / 2
        inside, outside = (half, outside) if f(peak + side * half) >= level else (inside, half)
    return peak + side * outside


def integrate_pieces(
    f: Callable[[float], float],
    low: float,
    high: float,
    breaks: np.ndarray,
    *,
    absolute: float = 1e-12,
    relative: float = 1e-10,
) -> float:
    """Integral of f from low to high, piece by piece between break points."""
    tol = {"limit": 200, "epsabs": absolute, "epsrel": relative}
    inner = breaks[(breaks > low) & (breaks < high)]
    if not len(inner):
        if np.isfinite(low) or np.isfinite(high) or not len(breaks):
            return _scaled_quad(f, low, high, 1.0 if not len(breaks) else np.ptp(breaks), tol)
        inner = breaks[:1]
    scale = float(np.ptp(breaks)) or max(abs(float(inner[0])), 1.0)
    total = sum(_scaled_quad(f, a, b, scale, tol) for a, b in pairwise(inner.tolist()))
    total += _scaled_quad(f, low, float(inner[0]), scale, tol)
    return total + _scaled_quad(f, float(inner[-1]), high, scale, tol)


def _scaled_quad(
    f: Callable[[float], float], low: float, high: float, scale: float, tol: dict
) -> float:
    """Integral of f; a half-line is measured in units of the scale.

    Poles count as zero, as a single point does. What quadrature says about its accuracy is not
    passed on: whether the mass is 1 tells more.
    """
    from scipy.integrate import quad

    def finite(x: float) -> float:
        value = f(x)
        return value if np.isfinite(value) else 0.0

    tol = {**tol, "full_output": 1}  # no warnings
    if np.isfinite(low) == np.isfinite(high):
        return float(quad(finite, low, high, **tol)[0])
    end, side = (low, 1.0) if np.isfinite(low) else (high, -1.0)
    unit = side * (scale or 1.0)
    return abs(unit) * float(quad(lambda s: finite(end + unit * s), 0, np.inf, **tol)[0])
