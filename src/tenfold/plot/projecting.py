"""Least squares as a projection, for three rows: a picture in three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.linear.reading.projection import hat_matrix
from tenfold.plot.style import INK, colour

ASIDE = np.array([0.025, 0.0, 0.02])  # where names stand, in lengths of y


def projection(X: Any, y: Any, *, ax: Any = None) -> Any:
    """The target y, its projection on the plane of two columns, and the residual upright on it.

    With three rows each column is an arrow in space. All that two columns can predict is a plane,
    laid flat here, and least squares takes the point of it that is nearest to y. [004, 2.6]

    Parameters
    ----------
    X : (3, 2) array
        Two columns of three rows.
    y : (3,) array
        Target.
    ax : three-dimensional Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold import plot
    >>> plot.projection([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 2.0, 4.0]).name
    '3d'
    """
    X, y = np.asarray(X, float), np.asarray(y, float)
    if X.shape != (3, 2) or y.shape != (3,):
        raise ValueError(f"the picture is of 3 rows and 2 columns, not {X.shape} and {y.shape}")
    if ax is None:
        from matplotlib import pyplot as plt

        ax = plt.figure(figsize=(6.4, 4.2), layout="constrained").add_subplot(projection="3d")
    fitted = hat_matrix(X, intercept=False) @ y
    turn, aside = upright(X, y), ASIDE * np.linalg.norm(y)
    tips = {"$x_1$": X[:, 0], "$x_2$": X[:, 1], "$y$": y, "$\\hat y = H y$": fitted}
    hues = [INK, INK, colour(1), colour(0)]
    for (name, tip), hue in zip(tips.items(), hues, strict=True):
        line = np.column_stack([np.zeros(3), turn @ tip])
        ax.plot(*line, color=hue, lw=2.4, marker="o", ms=5, markevery=[1], label=name)
        ax.text(*(turn @ tip + aside), name, color=hue, fontsize=14)
    residual = turn @ np.column_stack([fitted, y])
    ax.plot(*residual, "--", color=colour(1), lw=1.8, label="residual")
    ax.text(*(residual.mean(axis=1) + aside), "$y - \\hat y$", color=colour(1), fontsize=12)
    _plane(ax, turn @ np.column_stack([np.zeros(3), X, fitted]))
    ax.view_init(elev=24, azim=-64)
    sides = [high - low for low, high in (ax.get_xlim(), ax.get_ylim(), ax.get_zlim())]
    ax.set_box_aspect(sides, zoom=1.4)
    ax.set_axis_off()
    return ax


def upright(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The turn of space that lays the plane of the columns flat, with y above it, (3, 3)."""
    Q = np.linalg.qr(X, mode="complete")[0]
    flips = np.where([Q[:, 0] @ X[:, 0] < 0, Q[:, 1] @ X[:, 1] < 0, Q[:, 2] @ y < 0], -1.0, 1.0)
    return (Q * flips).T


def _plane(ax: Any, points: np.ndarray) -> None:
    """The plane of the columns, wide enough for all that lies in it."""
    room = 0.2 * np.abs(points[:2]).max()
    (x0, y0), (x1, y1) = points[:2].min(axis=1) - room, points[:2].max(axis=1) + room
    x, y = np.meshgrid([x0, x1], [y0, y1])
    plane = ax.plot_surface(x, y, 0 * x, color=colour(5), alpha=0.3, linewidth=0, zorder=0)
    plane.set_clip_on(False)  # the square around a picture in space is narrower than the figure
