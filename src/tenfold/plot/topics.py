"""Pictures of topics: clouds and bars of their words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenfold.plot.style import TEXT_COLOR, get_axes, get_panels, palette_color, style_axes
from tenfold.topics.word_lists import topic_weights, word_names

_LARGEST, _SMALLEST = 30.0, 5.0  # points
_STEPS = 1500  # places of the spiral that are tried for a word
_MARGIN = 1.5  # points around a word


def word_cloud(
    model: Any,
    names: Any,
    topic: int = 0,
    *,
    n: int = 40,
    ax: Any = None,
) -> Any:
    """The words of a topic, larger the more probable, close together.

    The area of a word is proportional to its weight. The most probable word stands in the middle,
    the others along a spiral in the first place that is free; words that find none are left out.

    Parameters
    ----------
    model : fitted model, or (n_topics, n_words) array
        The topics.
    names : fitted `WordCounts`, or list of str
        The words of the columns.
    topic : int
        Number of the topic.
    n : int
        Most words.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold.plot import word_cloud
    >>> ax = word_cloud([[5.0, 2.0, 1.0]], ["cat", "dog", "pet"])
    >>> [text.get_text() for text in ax.texts]
    ['cat', 'dog', 'pet']
    """
    ax = get_axes(ax)
    ax.set_axis_off()
    weights, words = topic_weights(model)[topic], word_names(names)
    order = np.argsort(-weights, kind="stable")[:n]
    order = order[weights[order] > 0]
    figure = ax.figure
    figure.canvas.draw()  # the size of the axes is settled by the layout
    frame, renderer = ax.get_window_extent(), figure.canvas.get_renderer()
    inverse, taken = ax.transAxes.inverted(), []
    for rank, column in enumerate(order):
        size = max(_LARGEST * math.sqrt(weights[column] / weights[order[0]]), _SMALLEST)
        text = ax.text(
            0.5,
            0.5,
            str(words[column]),
            transform=ax.transAxes,
            ha="center",
            va="center",
            fontsize=size,
            color=palette_color(rank % 6) if rank else TEXT_COLOR,
        )
        box = text.get_window_extent(renderer)
        place = _find_place(box.width, box.height, frame, taken, _MARGIN * figure.dpi / 72)
        if place is None:
            text.remove()
            continue
        taken.append((*place, box.width, box.height))
        text.set_position(inverse.transform(place))
    return ax


def _find_place(
    width: float, height: float, frame: Any, taken: list[tuple[float, ...]], margin: float
) -> tuple[float, float] | None:
    """The first place along a spiral where a box lies in the frame and meets no other."""
    middle_x, middle_y = (frame.x0 + frame.x1) / 2, (frame.y0 + frame.y1) / 2
    stretch = frame.width / max(frame.height, 1.0)
    for step in range(_STEPS):
        angle = 0.35 * math.sqrt(step) * 3
        radius = 0.6 * frame.height * step / _STEPS
        x = middle_x + stretch * radius * math.cos(angle)
        y = middle_y + radius * math.sin(angle)
        inside = (
            abs(x - middle_x) + width / 2 <= frame.width / 2
            and abs(y - middle_y) + height / 2 <= frame.height / 2
        )
        if inside and all(
            abs(x - a) >= (width + w) / 2 + margin or abs(y - b) >= (height + h) / 2 + margin / 2
            for a, b, w, h in taken
        ):
            return x, y
    return None


def topic_words(model: Any, names: Any, *, n: int = 8, columns: int = 4, ax: Any = None) -> Any:
    """The most probable words of all topics, as bars.

    Parameters
    ----------
    model : fitted model, or (n_topics, n_words) array
        The topics.
    names : fitted `WordCounts`, or list of str
        The words of the columns.
    n : int
        Words for each topic.
    columns : int
        Topics beside each other.
    ax : array of Axes, optional
        Where to draw.

    Returns
    -------
    array of Axes, one for each topic

    Examples
    --------
    >>> from tenfold.plot import topic_words
    >>> axes = topic_words([[5.0, 2.0, 1.0], [0.0, 1.0, 9.0]], ["cat", "dog", "pet"], n=2)
    >>> [label.get_text() for label in axes[1].get_yticklabels()]
    ['pet', 'dog']
    """
    weights, words = topic_weights(model), word_names(names)
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    columns = min(columns, len(weights))
    panels = get_panels(ax, -(-len(weights) // columns), columns, 2.4).ravel()
    for panel in panels[len(weights) :]:
        panel.set_axis_off()
    axes = panels[: len(weights)]
    for k, (ax, row) in enumerate(zip(axes, weights, strict=True)):  # noqa: PLR1704
        order = np.argsort(-row, kind="stable")[:n]
        style_axes(ax, grid=False)
        ax.barh(np.arange(len(order)), row[order], color=palette_color(0))
        ax.set_yticks(np.arange(len(order)), [str(word) for word in words[order]], fontsize=8)
        ax.invert_yaxis()
        ax.set_title(f"topic {k}", fontsize=9)
        ax.tick_params(axis="x", labelsize=7)
    return axes
