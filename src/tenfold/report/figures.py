"""Figures as data for the templates: a chart, bars or a table, with title and caption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from tenfold.report.format import format_rounded, format_value
from tenfold.report.svg import Limits


class Bar(NamedTuple):
    """A horizontal bar with a label; positions are percentages of the width.

    Attributes
    ----------
    label, text : on the left and on the right of the bar
    left, width : where the bar lies
    color : class of the style sheet
    tip : tooltip
    interval : left end and width of a thin line over the bar, or None
    zero : position of the zero line, or None
    """

    label: str
    text: str
    left: float
    width: float
    color: str = "main"
    tip: str | None = None
    interval: tuple[float, float] | None = None
    zero: float | None = None


class MatrixCell(NamedTuple):
    """A cell of a confusion matrix: its count as text, share of its row, tooltip and CSS colors."""

    text: str
    share: str
    tip: str
    style: str


class Figure(NamedTuple):
    """A figure of the page.

    Attributes
    ----------
    title, caption : the known name of the figure, and what it shows in a plain sentence
    charts : SVG drawings
    legend : pairs of a CSS class and a label
    bars : horizontal bars
    matrix : rows of a confusion matrix, each a label and its cells
    """

    title: str
    caption: str
    charts: Sequence[Markup] = ()
    legend: Sequence[tuple[str, str]] = ()
    bars: Sequence[Bar] = ()
    matrix: Sequence[tuple[str, Sequence[MatrixCell]]] = ()


def share_bar(label: str, share: float, text: str, largest: float = 1.0) -> Bar:
    """A bar from zero."""
    return Bar(label, text, 0.0, 100 * share / largest)


def signed_bars(values: Sequence[tuple[str, float]]) -> list[Bar]:
    """Bars to the right of zero, or to the left, on one scale."""
    low, high = _limits_with_zero([value for _, value in values])
    scale = max(-low, high)
    return [_signed_bar(label, value, (low, high), scale) for label, value in values]


def _signed_bar(label: str, value: float, limits: Limits, scale: float) -> Bar:
    low, high = limits
    zero, end = (100 * (v - low) / (high - low) for v in (0.0, value))
    return Bar(
        label,
        format_rounded(value, 2, scale=scale),
        min(zero, end),
        abs(end - zero),
        "c1" if value < 0 else "c0",
        f"{label}: {format_value(value, scale=scale)}",
        zero=zero,
    )


def _limits_with_zero(values: Sequence[float]) -> Limits:
    low = min([0.0, *values])
    return low, max([0.0, *values, low + 1e-12])


def count_bins(
    values: np.ndarray, n_bins: int, limits: Limits | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Counts and edges of a histogram; fewer bins if the range cannot hold so many.

    Examples
    --------
    >>> count_bins(np.array([1e16, 1e16 + 2]), 40)[0].sum()
    np.int64(2)
    """
    low, high = limits if limits is not None else (float(values.min()), float(values.max()))
    while n_bins > 1 and 0 < high - low < np.inf:
        try:
            return np.histogram(values, n_bins, (low, high))
        except ValueError:  # its edges would not be different numbers
            n_bins //= 2
    return np.array([len(values)]), np.array([low, np.nextafter(high, np.inf)])


def thin_indices(n: int, most: int) -> np.ndarray:
    """At most so many of n indices, evenly spaced, first and last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))
