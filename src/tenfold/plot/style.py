"""The shared style of all plots: palette, axes, legends, number format."""

from __future__ import annotations

from typing import Any

import numpy as np

# Palette of Okabe and Ito (2008), safe for color-blind readers; yellow, too pale for lines, last
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
TEXT_COLOR = "#333333"
MUTED_COLOR = "#BBBBBB"


def palette_color(index: int) -> str:
    """Color of a class or line, by index; repeats after eight."""
    return COLORS[index % len(COLORS)]


def palette_marker(index: int) -> str:
    """Marker of a class, by index: another one when `palette_color` begins again."""
    return _MARKERS[(index + index // len(COLORS)) % len(_MARKERS)]


def get_axes(ax: Any, size: tuple[float, float] = (6.4, 4.4)) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def get_panels(ax: Any, rows: int, columns: int, size: float = 3.2, **shared: Any) -> np.ndarray:
    """An array of rows x columns axes: the given ones, or those of a new figure."""
    if ax is not None:
        given = np.array(ax, dtype=object).ravel()
        if len(given) < rows * columns:
            raise ValueError(f"{rows * columns} panels need as many axes, not {len(given)}")
        return given[: rows * columns].reshape(rows, columns)
    from matplotlib import pyplot as plt

    figure = (columns * size, rows * size)
    return plt.subplots(
        rows, columns, figsize=figure, layout="constrained", squeeze=False, **shared
    )[1]


def style_axes(ax: Any, *, grid: bool = True) -> None:
    """Remove the box, mute spines and ticks, and put a light grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED_COLOR)
    ax.tick_params(color=MUTED_COLOR, labelcolor=TEXT_COLOR)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(color="#E6E6E6", linewidth=0.8)


def legend_outside(ax: Any, **options: Any) -> None:
    """A legend to the right of the axes."""
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, **options)


def format_number(x: float, spec: str = ".3g") -> str:
    """A number with a true minus sign."""
    return format(float(x), spec).replace("-", "\N{MINUS SIGN}")


def get_axes_pair(ax: Any, shape: tuple[int, int], size: tuple[float, float], **ratios: Any) -> Any:
    """Two axes: of a new figure, the two given, or the one given and None."""
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(
            *shape, figsize=size, layout="constrained", sharex="col", gridspec_kw=ratios
        )[1]
    given = np.array(ax, dtype=object).ravel()
    return given[:2] if len(given) > 1 else (given[0], None)
