"""Balls of norms and the contours of a loss: why L1 gives zeros and L2 does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.plot.style import INK, clean, colour, panels

CURVATURE = np.array([[1.0, 0.55], [0.55, 0.9]])

NAMES = {1.0: "$L_1$  (lasso)", 2.0: "$L_2$  (ridge)"}


def balls(
    norms: Any = (1, 2),
    *,
    minimum: tuple[float, float] = (0.35, 1.55),
    curvature: np.ndarray = CURVATURE,
    radius: float = 1.0,
    ax: Any = None,
) -> np.ndarray:
    r"""The ball :math:`\sum_i |w_i|^h \le r^h` and the ellipses of a squared loss, for each h.

    Where the smallest ellipse touches the ball is the penalised solution. A ball with corners
    (h at most 1) is often touched in one: some weights are exactly zero. [003, unit 2; 004, 2.7]

    Parameters
    ----------
    norms : list of float
        Exponents h, a panel each.
    minimum : pair of float
        Weights of least loss without a penalty.
    curvature : (2, 2) array
        Second derivative of the loss.
    radius : float
        Radius r of the balls.
    ax : array of Axes, optional
        Where to draw, one for each norm.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> from tenfold import plot
    >>> len(plot.balls((0.5, 1, 2, 4)))
    4
    """
    row = panels(ax, 1, len(norms), 3.3, sharey=True)[0]
    for axis, h in zip(row, norms, strict=True):
        _one(axis, h, np.asarray(minimum, float), curvature, radius)
    row[0].set_ylabel("$w_2$", rotation=0, labelpad=12)
    return row


def _one(ax: Any, h: float, centre: np.ndarray, H: np.ndarray, radius: float) -> None:
    edge = ball_edge(h, radius)
    level = loss(edge, centre, H)
    touch = edge[level.argmin()]
    low, high = -1.3 * radius, max(radius, np.abs(centre).max()) + 0.8 * radius
    line = np.linspace(low, high, 400)
    grid = np.stack(np.meshgrid(line, line), axis=-1)
    levels = level.min() * np.array([0.15, 0.5, 1.9, 3.1])
    Z = loss(grid, centre, H)
    ax.contour(line, line, Z, levels=levels, colors=colour(1), linewidths=1, alpha=0.55)
    ax.contour(line, line, Z, levels=[level.min()], colors=colour(1), linewidths=2)
    ax.fill(*edge.T, facecolor=colour(5), alpha=0.35)
    ax.plot(*edge.T, color=colour(0), lw=2, label="ball")
    ax.plot(*centre, "+", color=colour(1), ms=10, mew=2, label="least loss")
    ax.plot(*touch, "o", color=INK, ms=7, label="solution")
    where = "solution ({:.2f}, {:.2f})".format(*(touch + 0.0))
    ax.text(0.98, 0.03, where, transform=ax.transAxes, ha="right", color=INK)
    for draw in (ax.axhline, ax.axvline):
        draw(0, color=INK, lw=0.8, zorder=1)
    name = NAMES.get(float(h), f"$h = {h:g}$")
    ax.set(aspect="equal", xlim=(low, high), ylim=(low, high), title=name, xlabel="$w_1$")
    clean(ax, grid=False)


def ball_edge(h: float, radius: float) -> np.ndarray:
    """Points on the edge of a ball, its four corners among them, (1601, 2).

    Examples
    --------
    >>> bool((abs(abs(ball_edge(1, 2.0)).sum(axis=1) - 2.0) < 1e-12).all())
    True
    """
    turn = np.linspace(0, 2 * np.pi, 1601)  # a multiple of four steps: the corners are hit
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    circle[np.abs(circle) < 1e-12] = 0.0
    return radius * np.sign(circle) * np.abs(circle) ** (2 / h)


def loss(w: np.ndarray, centre: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Half the squared distance to the centre, measured by H."""
    d = w - centre
    return 0.5 * np.einsum("...i,ij,...j->...", d, H, d)
