"""Formulas as outlines of letters: no fonts to load, and the colour of the text around them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tenfold.report.drawing import at
from tenfold.report.html import Html, tag

SIZE = 100  # letters are traced at this size and drawn at SHOWN
SHOWN = 19
LETTERS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}  # matplotlib's codes of a path
CLOSE = 79


@lru_cache
def typeset(formula: str) -> Html:
    """A formula in matplotlib's dialect of TeX as inline SVG; its source is the spoken label."""
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with mpl.rc_context({"mathtext.fontset": "cm", "text.usetex": False}):
        font = FontProperties(size=SIZE)
        points, codes = text_to_path.get_text_path(font, f"${formula}$", ismath=True)
    # text_to_path works at its own FONT_SCALE; outlines are scaled to what the page shows
    scale = SHOWN / text_to_path.FONT_SCALE
    points = np.asarray(points) * [10 * scale, -10 * scale]
    low, high = points.min(axis=0) - 10, points.max(axis=0) + 10
    width, height = high - low
    box = " ".join(at(v) for v in (*low, width, height))
    outline = tag("path", d=_outline(points, np.asarray(codes)), fill="currentColor")
    size = {"width": at(width / 10), "height": at(height / 10)}
    return tag("svg", outline, viewBox=box, role="img", aria_label=formula, **size)


def _outline(points: np.ndarray, codes: np.ndarray) -> str:
    """Points and codes of a matplotlib path in SVG's letters; a letter is not repeated."""
    parts, last = [], 0
    for (x, y), code in zip(points, codes, strict=True):
        place = "" if code == CLOSE else f"{x:.0f} {y:.0f}"
        parts.append(f"{LETTERS[code]}{place}" if code != last else f" {place}")
        last = code
    return "".join(parts)
