"""Charts and formulas as inline SVG; the style sheet of the page sets colors and fonts.

A `Chart` has a horizontal and a vertical scale and collects shapes. CSS classes name what a shape
is, so that one drawing serves the light and the dark theme. Charts are drawn at the width of a
phone and set side by side on a wide screen, so that text keeps its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from tenfold.report.format import MINUS

Limits = tuple[float, float]
_SMALLEST_STEP = 1e-290  # of ticks: powers of ten beside it are not exact
_SPARKLINE_SIZE = (116, 28)  # pixels
_FONT_SIZE = 100  # glyphs are traced at this size and drawn at _FORMULA_SIZE
_FORMULA_SIZE = 19  # pixels
_PATH_LETTERS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}  # matplotlib's path codes
_CLOSE_CODE = 79


def element(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An SVG element; text and attributes are escaped, attributes that are None left out.

    `class_` and `aria_label` become class and aria-label.

    Examples
    --------
    >>> print(element("text", "a < b", class_="tick"))
    <text class="tick">a &lt; b</text>
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{pairs}>{''.join(map(escape, children))}</{name}>")  # noqa: S704


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic map from values low..high to pixels start..end."""

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

    def ticks(self, target_count: int = 5) -> list[tuple[float, str]]:
        """Round values within the scale, and their labels."""
        if self.log:
            return [(tick, format_brief(tick)) for tick in log_ticks(self.low, self.high)]
        values = round_ticks(self.low, self.high, target_count)
        step = values[1] - values[0] if len(values) > 1 else 1.0
        return [(tick, tick_label(tick, step)) for tick in values]


def round_ticks(low: float, high: float, target_count: int = 5) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten between low and high.

    Examples
    --------
    >>> round_ticks(0.0, 1.0), round_ticks(3, 47, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [20.0, 40.0])
    """
    if not high > low:
        return [float(low)]
    raw = (high - low) / max(target_count, 1)
    if not _SMALLEST_STEP < raw < np.inf:
        return [float(low), float(high)]
    power = 10.0 ** np.floor(np.log10(raw))
    step = power * next(m for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    decimals = max(12, 3 - int(np.floor(np.log10(step))))
    return [float(np.round(k * step, decimals)) + 0.0 for k in np.arange(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; powers alone if the range exceeds three decades."""
    multiples = (1,) if np.log10(high / low) > 3 else (1, 2, 5)
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    return [float(m * p) for p in powers for m in multiples if low * 0.999 <= m * p <= high * 1.001]


def tick_label(value: float, step: float) -> str:
    """A label with as many decimals as its step needs."""
    if max(abs(value), step) >= 10_000 or not step >= 1e-4:
        return format_brief(value)
    decimals = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    decimals += f"{step:.12g}".rstrip("0").endswith("25") and decimals < 3 and step < 1
    text = f"{value:.{decimals}f}" if step < 1 else f"{value:.10g}"
    return text.replace("-", MINUS)


def format_brief(value: float) -> str:
    """A number in a few characters: 12k, 3.4M.

    Examples
    --------
    >>> format_brief(12_000), format_brief(3_400_000), format_brief(0.02)
    ('12k', '3.4M', '0.02')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}".replace("-", MINUS)
    return f"{value:.4g}".replace("-", MINUS)


def pad_limits(values: Any, share: float = 0.05) -> Limits:
    """Smallest and largest finite value, with a margin of some share of the range."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = share * (high - low) if high > low else 0.5 * abs(high) or 0.5
    return low - margin, high + margin


def format_coordinate(number: Any) -> str:
    """A coordinate with at most one decimal."""
    return f"{float(number):.1f}".removesuffix(".0")


class Chart:
    """An SVG drawing with a horizontal and a vertical scale, to which shapes are added in order."""

    def __init__(
        self,
        x: Limits,
        y: Limits,
        *,
        size: tuple[int, int] = (360, 260),
        margins: tuple[int, int, int, int] = (26, 12, 40, 44),  # top, right, bottom, left
        log: bool = False,
    ) -> None:
        top, right, bottom, left = margins
        self.width, self.height = size
        self.x = Scale(*x, left, self.width - right, log)
        self.y = Scale(*y, self.height - bottom, top)
        self.shapes: list[Markup] = []

    def add(self, name: str, *children: Any, **attributes: Any) -> None:
        """Add a shape above the others; numbers become coordinates."""
        texts = {
            key: format_coordinate(value) if isinstance(value, int | float | np.number) else value
            for key, value in attributes.items()
        }
        self.shapes.append(element(name, *children, **texts))

    def text(self, x: float, y: float, text: str, **attributes: Any) -> None:
        """Text at a pixel."""
        self.add("text", text, x=x, y=y, **attributes)

    def axes(
        self, x_label: str = "", y_label: str = "", *, ticks: tuple[int, int] = (5, 5)
    ) -> Chart:
        """Grid lines with tick labels, and the labels of both axes."""
        for value, label in self.y.ticks(ticks[1]) if ticks[1] else []:
            y = self.y(value)
            self.add("line", x1=self.x.start, x2=self.x.end, y1=y, y2=y, class_="grid")
            self.text(self.x.start - 7, y + 3.5, label, class_="tick end")
        for value, label in self.x.ticks(ticks[0]) if ticks[0] else []:
            self.text(self.x(value), self.y.start + 16, label, class_="tick mid")
        self.add(
            "line", x1=self.x.start, x2=self.x.end, y1=self.y.start, y2=self.y.start, class_="axis"
        )
        if y_label:
            self.text(2, 12, y_label, class_="name")
        if x_label:
            center = (self.x.start + self.x.end) / 2
            self.text(center, self.height - 5, x_label, class_="name mid")
        return self

    def vertical_line(self, value: float, class_: str) -> None:
        """A line across the height of the chart."""
        x = self.x(value)
        self.add("line", x1=x, x2=x, y1=self.y.start, y2=self.y.end, class_=class_)

    def error_bar(self, x: float, low: float, high: float, class_: str) -> None:
        """A vertical line between two values."""
        x = self.x(x)
        self.add("line", x1=x, x2=x, y1=self.y(low), y2=self.y(high), class_=class_)

    def line(self, xs: Any, ys: Any, class_: str) -> None:
        """A line through points, interrupted at missing values."""
        self.add("path", d=_path(self.x(xs), self.y(ys)), class_=f"line {class_}")

    def band(self, xs: Any, low: Any, high: Any, class_: str) -> None:
        """The area between two lines."""
        x = self.x(xs)
        upper = _path(x, self.y(high))
        lower = _path(x[::-1], self.y(np.asarray(low)[::-1]))
        self.add("path", d=f"{upper}L{lower[1:]}Z", class_=f"area {class_}")

    def points(self, xs: Any, ys: Any, class_: str) -> None:
        """A scatter of points in one path; the fewer, the larger."""
        n = np.size(xs)
        size = "few" if n <= 300 else "some" if n <= 900 else "fine"
        pairs = zip(np.atleast_1d(self.x(xs)), np.atleast_1d(self.y(ys)), strict=True)
        path = "".join(f"M{format_coordinate(x)} {format_coordinate(y)}h0" for x, y in pairs)
        self.add("path", d=path, class_=f"dots {size} {class_}")

    def rectangle(self, x: Limits, y: Limits, class_: str, tip: str | None = None) -> None:
        """A rectangle between values."""
        left, right = sorted(float(v) for v in self.x(x))
        top, bottom = sorted(float(v) for v in self.y(y))
        size = {"x": left, "y": top, "width": max(right - left, 0.5), "height": bottom - top}
        self.add("rect", **size, class_=class_, data_tip=tip)

    def histogram(self, counts: Any, edges: Any, class_: str, tips: list[str]) -> None:
        """Bars over bins."""
        for n, left, right, tip in zip(counts, edges[:-1], edges[1:], tips, strict=True):
            self.rectangle((left + 0.06 * (right - left), right), (0, n), class_, tip)

    def marker(self, x: float, y: float, class_: str, tip: str | None = None, r: float = 4) -> None:
        """A circle with a tooltip."""
        self.add("circle", cx=self.x(x), cy=self.y(y), r=r, class_=class_, data_tip=tip)

    def render(self, label: str, class_: str = "") -> Markup:
        """The drawing; `label` is read by screen readers."""
        box = f"0 0 {self.width} {self.height}"
        classes = f"chart {class_}".strip()
        return element(
            "svg", *self.shapes, viewBox=box, class_=classes, role="img", aria_label=label
        )


def _path(xs: np.ndarray, ys: np.ndarray) -> str:
    command, parts = "M", []
    finite = np.isfinite(xs) & np.isfinite(ys)
    for x, y, is_finite in zip(xs, ys, finite, strict=True):
        if is_finite:
            parts.append(f"{command}{format_coordinate(x)} {format_coordinate(y)}")
        command = "L" if is_finite else "M"
    return "".join(parts)


def draw_sparkline(heights: np.ndarray | None) -> Markup | None:
    """Bars of these heights in one line of text; None if there is nothing to draw."""
    if heights is None or not heights.size or not heights.max():
        return None
    width, height = _SPARKLINE_SIZE
    step = width / max(len(heights), 6)
    scaled = np.maximum(height * heights / heights.max(), 0.6 * (heights > 0))
    bars = [
        element(
            "rect",
            x=format_coordinate(i * step),
            y=format_coordinate(height - h),
            width=format_coordinate(max(step - 1.2, 0.8)),
            height=format_coordinate(h),
            rx="1",
        )
        for i, h in enumerate(scaled)
    ]
    box = f"0 0 {width} {height}"
    return element("svg", *bars, viewBox=box, class_="spark", aria_hidden="true")


def draw_whisker(mean: float, low: float, high: float, limits: Limits, class_: str) -> Markup:
    """A mean with its interval, on limits that all rows of a table share."""

    def percent(value: float) -> str:
        share = (value - limits[0]) / (limits[1] - limits[0])
        return f"{float(np.clip(100 * share, 0, 100)):.1f}%"

    shapes = [element("line", x1="0", x2="100%", y1="11", y2="11", class_="rail")]
    if high < limits[0]:
        shapes.append(element("text", "‹ far below", x="2", y="15", class_="tick"))
    else:
        ends = {"x1": percent(low), "x2": percent(high)}
        shapes.append(element("line", **ends, y1="11", y2="11", class_="span"))
        shapes.append(element("circle", cx=percent(mean), cy="11", r="5"))
    return element("svg", *shapes, class_=f"whisker {class_}", aria_hidden="true")


@lru_cache
def render_formula(formula: str) -> Markup:
    """A formula in matplotlib's subset of TeX as glyph outlines: no font has to be loaded.

    The source of the formula is its label for screen readers.
    """
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with mpl.rc_context({"mathtext.fontset": "cm", "text.usetex": False}):
        font = FontProperties(size=_FONT_SIZE)
        points, codes = text_to_path.get_text_path(font, f"${formula}$", ismath=True)
    scale = _FORMULA_SIZE / text_to_path.FONT_SCALE
    points = np.asarray(points) * [10 * scale, -10 * scale]
    low, high = points.min(axis=0) - 10, points.max(axis=0) + 10
    width, height = high - low
    box = " ".join(format_coordinate(v) for v in (*low, width, height))
    outline = element("path", d=_outline(points, np.asarray(codes)), fill="currentColor")
    size = {"width": format_coordinate(width / 10), "height": format_coordinate(height / 10)}
    return element("svg", outline, viewBox=box, role="img", aria_label=formula, **size)


def _outline(points: np.ndarray, codes: np.ndarray) -> str:
    """Points and codes of a matplotlib path as an SVG path; a letter is not repeated."""
    parts, last = [], 0
    for (x, y), code in zip(points, codes, strict=True):
        point = "" if code == _CLOSE_CODE else f"{x:.0f} {y:.0f}"
        parts.append(f"{_PATH_LETTERS[code]}{point}" if code != last else f" {point}")
        last = code
    return "".join(parts)
