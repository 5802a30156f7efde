"""Small pictures in SVG that take their colours and type from the page.

A `Canvas` has scales and collects shapes; classes name what a shape is, the page's style sheet says
how that looks in light and in dark. Pictures are drawn at the width of a phone and set side by side
on a wide screen, so that letters keep their size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.report.html import Html, tag
from tenfold.report.scales import Scale

Ends = tuple[float, float]


def at(number: Any) -> str:
    """A coordinate with one decimal, without idle zeros."""
    text = f"{float(number):.1f}"
    return text.removesuffix(".0")


class Canvas:
    """A picture with a horizontal and a vertical scale, to which shapes are added in order."""

    def __init__(
        self,
        x: Ends,
        y: Ends,
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
        written = {k: at(v) if isinstance(v, numbers) else v for k, v in attributes.items()}
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
            d="".join(f"M{at(x)} {at(y)}h0" for x, y in places),
            class_=f"dots {size} {class_}",
        )

    def box(self, x: Ends, y: Ends, class_: str, tip: str | None = None, **more: Any) -> None:
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
            parts.append(f"{pen}{at(x)} {at(y)}")
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


def key(*entries: tuple[str, str]) -> Html:
    """What the colours mean: pairs of class and words."""
    marks = [tag("span", tag("i", class_=f"swatch {name}"), words) for name, words in entries]
    return tag("div", marks, class_="key")
