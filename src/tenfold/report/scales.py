"""From values to places on a picture, and the round numbers beside its axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.report.numbers import MINUS


@dataclass(frozen=True)
class Scale:
    """A line from values low..high to pixels start..end, by logarithm if asked."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: Any) -> Any:
        low, high, value = self.low, self.high, np.asarray(value, float)
        if self.log:
            low, high, value = np.log10(low), np.log10(high), np.log10(np.maximum(value, 1e-300))
        share = (value - low) / ((high - low) or 1.0)
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Round values within the scale, and their labels."""
        if self.log:
            return [(tick, brief(tick)) for tick in log_ticks(self.low, self.high)]
        values = round_ticks(self.low, self.high, about)
        step = values[1] - values[0] if len(values) > 1 else 1.0
        return [(tick, tick_label(tick, step)) for tick in values]


def round_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten between low and high.

    Examples
    --------
    >>> round_ticks(0.0, 1.0), round_ticks(3, 47, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [20.0, 40.0])
    """
    if not high > low:
        return [float(low)]
    raw = (high - low) / max(about, 1)
    power = 10.0 ** np.floor(np.log10(raw))
    step = power * next(m for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(np.round(k * step, 12)) + 0.0 for k in np.arange(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; powers alone when the range is wide."""
    wide = np.log10(high / low) > 3
    parts = (1,) if wide else (1, 2, 5)
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    return [float(m * p) for p in powers for m in parts if low * 0.999 <= m * p <= high * 1.001]


def tick_label(value: float, step: float) -> str:
    """A label with as many places as its step needs."""
    if max(abs(value), step) >= 10_000 or 0 < abs(step) < 1e-4:
        return brief(value)
    places = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    places += f"{step:.12g}".rstrip("0").endswith("25") and places < 3 and step < 1
    text = f"{value:.{places}f}" if step < 1 else f"{value:.10g}"
    return text.replace("-", MINUS)


def brief(value: float) -> str:
    """A number in a few characters: 12k, 3.4M.

    Examples
    --------
    >>> brief(12_000), brief(3_400_000), brief(0.02)
    ('12k', '3.4M', '0.02')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}".replace("-", MINUS)
    return f"{value:.4g}".replace("-", MINUS)


def padded(values: Any, share: float = 0.05) -> tuple[float, float]:
    """Least and largest value, a little apart from the edge."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = share * (high - low) if high > low else 0.5 * abs(high) or 0.5
    return low - room, high + room
