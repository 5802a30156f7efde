"""Charts and formulas as inline SVG, styled by the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np

from tenfold.report.format import MINUS

VOID = {"br", "hr", "img", "input", "meta", "link", "wbr"}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def joined(*children: Any) -> Html:
    """Children one after the other; None is nothing, lists are walked, plain text is escaped."""
    return Html("".join(_markup(child) for child in children))


def _markup(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, Iterable) and not isinstance(child, str | bytes):
        return joined(*child)
    return escape(str(child), quote=False)


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; `class_` and `aria_label` become class and aria-label, None is left out.

    Examples
    --------
    >>> print(tag("p", "a < b", class_="lead"))
    <p class="lead">a &lt; b</p>
    """
    pairs = "".join(_pair(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Html(f"<{name}{pairs}>")
    return Html(f"<{name}{pairs}>{joined(*children)}</{name}>")


def breakable(name: str) -> Html:
    """A name that may go on in the next line after an underscore.

    Examples
    --------
    >>> print(breakable("total_rent"))
    total_<wbr>rent
    """
    first, *others = name.split("_")
    return joined(first, [joined("_", tag("wbr"), part) for part in others])


def _pair(key: str, value: Any) -> str:
    return f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'


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
            return [(tick, format_brief(tick)) for tick in log_ticks(self.low, self.high)]
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
        return format_brief(value)
    places = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    places += f"{step:.12g}".rstrip("0").endswith("25") and places < 3 and step < 1
    text = f"{value:.{places}f}" if step < 1 else f"{value:.10g}"
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


def pad_limits(values: Any, share: float = 0.05) -> tuple[float, float]:
    """Least and largest value, a little apart from the edge."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = share * (high - low) if high > low else 0.5 * abs(high) or 0.5
    return low - room, high + room


Limits = tuple[float, float]


def format_coordinate(number: Any) -> str:
    """A coordinate with one decimal, without idle zeros."""
    text = f"{float(number):.1f}"
    return text.removesuffix(".0")


class Canvas:
    """A picture with a horizontal and a vertical scale, to which shapes are added in order."""

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
        self.margins = margins
        self.x = Scale(*x, left, self.width - right, log)
        self.y = Scale(*y, self.height - bottom, top)
        self.shapes: list[Html] = []

    def add(self, name: str, *children: Any, **attributes: Any) -> None:
        """Put one shape above the others; numbers become coordinates."""
        numbers = (int, float, np.number)
        written = {
            k: format_coordinate(v) if isinstance(v, numbers) else v for k, v in attributes.items()
        }
        self.shapes.append(tag(name, *children, **written))

    def text(self, x: float, y: float, words: str, **attributes: Any) -> None:
        """Words at a pixel."""
        self.add("text", words, x=x, y=y, **attributes)

    def axes(self, across: str = "", up: str = "", *, ticks: tuple[int, int] = (5, 5)) -> Canvas:
        """Faint lines with numbers, the names of both axes: below, and above the vertical one."""
        for value, label in self.y.ticks(ticks[1]) if ticks[1] else []:
            y = self.y(value)
            self.add("line", x1=self.x.start, x2=self.x.end, y1=y, y2=y, class_="grid")
            self.text(self.x.start - 7, y + 3.5, label, class_="tick end")
        for value, label in self.x.ticks(ticks[0]) if ticks[0] else []:
            self.text(self.x(value), self.y.start + 16, label, class_="tick mid")
        self.add(
            "line", x1=self.x.start, x2=self.x.end, y1=self.y.start, y2=self.y.start, class_="axis"
        )
        self.names(across, up)
        return self

    def upright(self, value: float, look: str) -> None:
        """A line from top to bottom."""
        x = self.x(value)
        self.add("line", x1=x, x2=x, y1=self.y.start, y2=self.y.end, class_=look)

    def names(self, across: str, up: str) -> None:
        """What the axes mean."""
        if up:
            self.text(2, 12, up, class_="name")
        if across:
            self.text((self.x.start + self.x.end) / 2, self.height - 5, across, class_="name mid")

    def line(self, xs: Any, ys: Any, class_: str) -> None:
        """A line through points; where a value is missing it is broken."""
        self.add("path", d=_through(self.x(xs), self.y(ys)), class_=f"line {class_}")

    def band(self, xs: Any, low: Any, high: Any, class_: str) -> None:
        """The space between two lines."""
        across = self.x(xs)
        there = _through(across, self.y(high))
        back = _through(across[::-1], self.y(np.asarray(low)[::-1]))
        self.add("path", d=f"{there}L{back[1:]}Z", class_=f"area {class_}")

    def dots(self, xs: Any, ys: Any, class_: str) -> None:
        """Points, all in one path: short to write and quick to draw; the fewer, the larger."""
        count = np.size(xs)
        size = "few" if count <= 300 else "some" if count <= 900 else "fine"
        places = zip(np.atleast_1d(self.x(xs)), np.atleast_1d(self.y(ys)), strict=True)
        self.add(
            "path",
            d="".join(f"M{format_coordinate(x)} {format_coordinate(y)}h0" for x, y in places),
            class_=f"dots {size} {class_}",
        )

    def box(self, x: Limits, y: Limits, class_: str, tip: str | None = None, **more: Any) -> None:
        """A rectangle between values."""
        left, right = sorted(float(v) for v in self.x(x))
        top, bottom = sorted(float(v) for v in self.y(y))
        size = {"x": left, "y": top, "width": max(right - left, 0.5), "height": bottom - top}
        self.add("rect", **size, class_=class_, data_tip=tip, **more)

    def point(self, x: float, y: float, class_: str, tip: str | None = None, r: float = 4) -> None:
        """One round mark that tells something when pointed at."""
        self.add("circle", cx=self.x(x), cy=self.y(y), r=r, class_=class_, data_tip=tip)

    def drawn(self, label: str, class_: str = "") -> Html:
        """The picture; `label` says it to those who cannot see it."""
        box = f"0 0 {self.width} {self.height}"
        named = f"chart {class_}".strip()
        return tag("svg", self.shapes, viewBox=box, class_=named, role="img", aria_label=label)


def _through(xs: np.ndarray, ys: np.ndarray) -> str:
    known, pen, parts = np.isfinite(xs) & np.isfinite(ys), "M", []
    for x, y, there in zip(xs, ys, known, strict=True):
        if there:
            parts.append(f"{pen}{format_coordinate(x)} {format_coordinate(y)}")
        pen = "L" if there else "M"
    return "".join(parts)


def figure(picture: Any, title: str, caption: Any, *, class_: str = "") -> Html:
    """A picture with its title above and, below, what to see in it."""
    return tag(
        "figure",
        tag("h4", title),
        picture,
        tag("figcaption", caption),
        class_=class_ or None,
    )


def draw_legend(*entries: tuple[str, str]) -> Html:
    """What the colours mean: pairs of class and words."""
    marks = [tag("span", tag("i", class_=f"swatch {name}"), words) for name, words in entries]
    return tag("div", marks, class_="key")


_FONT_SIZE = 100  # letters are traced at this size and drawn at SHOWN
_SHOWN_SIZE = 19
_PATH_LETTERS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}  # matplotlib's codes of a path
_CLOSE_CODE = 79


@lru_cache
def render_formula(formula: str) -> Html:
    """A formula in matplotlib's dialect of TeX as inline SVG; its source is the spoken label."""
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with mpl.rc_context({"mathtext.fontset": "cm", "text.usetex": False}):
        font = FontProperties(size=_FONT_SIZE)
        points, codes = text_to_path.get_text_path(font, f"${formula}$", ismath=True)
    # text_to_path works at its own FONT_SCALE; outlines are scaled to what the page shows
    scale = _SHOWN_SIZE / text_to_path.FONT_SCALE
    points = np.asarray(points) * [10 * scale, -10 * scale]
    low, high = points.min(axis=0) - 10, points.max(axis=0) + 10
    width, height = high - low
    box = " ".join(format_coordinate(v) for v in (*low, width, height))
    outline = tag("path", d=_outline(points, np.asarray(codes)), fill="currentColor")
    size = {"width": format_coordinate(width / 10), "height": format_coordinate(height / 10)}
    return tag("svg", outline, viewBox=box, role="img", aria_label=formula, **size)


def _outline(points: np.ndarray, codes: np.ndarray) -> str:
    """Points and codes of a matplotlib path in SVG's letters; a letter is not repeated."""
    parts, last = [], 0
    for (x, y), code in zip(points, codes, strict=True):
        place = "" if code == _CLOSE_CODE else f"{x:.0f} {y:.0f}"
        parts.append(f"{_PATH_LETTERS[code]}{place}" if code != last else f" {place}")
        last = code
    return "".join(parts)
