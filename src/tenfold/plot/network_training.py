"""Pictures of how a network learns: rates that were tried, slopes by layer, the loss around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.plot.style import INK, axes, clean, colour, legend_beside, number


def rate_search(found: Any, *, ax: Any = None) -> Any:
    """The loss as the learning rate grew, with the rate to take marked.

    Parameters
    ----------
    found : RateSearch
        What `tenfold.neural.find_rate` has found.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    ax.plot(found.rates, found.losses, color=colour(0), lw=2)
    ax.set_xscale("log")
    ax.axvline(found.best, color=colour(1), lw=1.2, ls="--")
    at = np.interp(np.log(found.best), np.log(found.rates), found.losses)
    text = {"xytext": (6, 6), "textcoords": "offset points", "color": colour(1)}
    ax.annotate(f"take {number(found.best, '.2g')}", (found.best, at), **text)
    clean(ax)
    ax.set(xlabel="learning rate", ylabel="loss before the step")
    return ax


def layer_slopes(reports: Any, *, ax: Any = None) -> Any:
    """The length of the slope in what each layer gives, from the first layer to the last.

    Parameters
    ----------
    reports : GradientReport or dict of them
        What `tenfold.neural.gradient_report` has measured, by name.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
    """
    ax = axes(ax)
    several = isinstance(reports, dict)
    for i, (name, report) in enumerate((reports if several else {"": reports}).items()):
        slopes = [each.slope for each in report.layers]
        look = {"color": colour(i), "marker": "o", "ms": 4, "lw": 1.8}
        ax.plot(range(1, len(slopes) + 1), slopes, label=name or None, **look)
    ax.set_yscale("log")
    clean(ax)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="layer", ylabel="length of the slope, per row")
    if several:
        legend_beside(ax)
    return ax


def loss_surface(found: Any, *, ax: Any = None) -> Any:
    """The loss on a plane through the parameters, with the network in the middle.

    Parameters
    ----------
    found : Surface
        What `tenfold.neural.loss_surface` has measured.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
    """
    ax = axes(ax, (5.4, 4.4))
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import NullLocator

    low, high = found.loss.min(), found.loss.max()
    logs = 0 < low < high
    steps = np.geomspace(low, high, 16) if logs else 16
    look = {"cmap": "viridis_r", "norm": LogNorm(low, high) if logs else None}
    filled = ax.contourf(found.b, found.a, np.clip(found.loss, low, high), steps, **look)
    ax.contour(found.b, found.a, found.loss, steps, colors="white", linewidths=0.4)
    ax.plot(0, 0, "o", color=INK, ms=6, mec="white")
    bar = ax.figure.colorbar(filled, ax=ax, label="mean loss")
    ticks = [low, np.sqrt(low * high), high] if logs else [low, high]
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.set_ticks(ticks, labels=[number(tick, ".2g") for tick in ticks])
    clean(ax, grid=False)
    ax.locator_params(nbins=5)
    ax.set(xlabel="along the second direction", ylabel="along the first direction")
    return ax
