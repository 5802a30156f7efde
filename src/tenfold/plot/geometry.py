"""Geometry of linear models: norm balls and loss contours; least squares as a projection."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.inspection.leverage import hat_matrix
from tenfold.plot.style import TEXT_COLOR, get_panels, palette_color, style_axes

_DEFAULT_HESSIAN = np.array([[1.0, 0.55], [0.55, 0.9]])

_NORM_TITLES = {1.0: "$L_1$  (lasso)", 2.0: "$L_2$  (ridge)"}


def norm_balls(
    norms: Any = (1, 2),
    *,
    minimum: tuple[float, float] = (0.35, 1.55),
    curvature: np.ndarray = _DEFAULT_HESSIAN,
    radius: float = 1.0,
    ax: Any = None,
) -> np.ndarray:
    r"""The ball :math:`\sum_i |w_i|^h \le r^h` and the ellipses of a squared loss, for each h.

    The penalized solution is where the smallest ellipse touches the ball. A ball with corners
    (h at most 1) is often touched at one, so that some weights are exactly zero.

    Parameters
    ----------
    norms : list of float
        Exponents h, a panel each.
    minimum : pair of float
        Weights of least loss without a penalty.
    curvature : (2, 2) array
        Hessian of the loss.
    radius : float
        Radius r of the balls.
    ax : array of Axes, optional
        Axes to draw into, one for each norm.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> from tenfold import plot
    >>> len(plot.norm_balls((0.5, 1, 2, 4)))
    4
    """
    row = get_panels(ax, 1, len(norms), 3.3, sharey=True)[0]
    for axis, h in zip(row, norms, strict=True):
        _draw_ball(axis, h, np.asarray(minimum, float), curvature, radius)
    row[0].set_ylabel("$w_2$", rotation=0, labelpad=12)
    return row


def _draw_ball(ax: Any, h: float, center: np.ndarray, H: np.ndarray, radius: float) -> None:
    edge = ball_edge(h, radius)
    level = _quadratic_loss(edge, center, H)
    touch = edge[level.argmin()]
    low, high = -1.3 * radius, max(radius, np.abs(center).max()) + 0.8 * radius
    line = np.linspace(low, high, 400)
    grid = np.stack(np.meshgrid(line, line), axis=-1)
    levels = level.min() * np.array([0.15, 0.5, 1.9, 3.1])
    Z = _quadratic_loss(grid, center, H)
    ax.contour(line, line, Z, levels=levels, colors=palette_color(1), linewidths=1, alpha=0.55)
    ax.contour(line, line, Z, levels=[level.min()], colors=palette_color(1), linewidths=2)
    ax.fill(*edge.T, facecolor=palette_color(5), alpha=0.35)
    ax.plot(*edge.T, color=palette_color(0), lw=2, label="ball")
    ax.plot(*center, "+", color=palette_color(1), ms=10, mew=2, label="least loss")
    ax.plot(*touch, "o", color=TEXT_COLOR, ms=7, label="solution")
    where = "solution ({:.2f}, {:.2f})".format(*(touch + 0.0))
    ax.text(0.98, 0.03, where, transform=ax.transAxes, ha="right", color=TEXT_COLOR)
    for draw in (ax.axhline, ax.axvline):
        draw(0, color=TEXT_COLOR, lw=0.8, zorder=1)
    name = _NORM_TITLES.get(float(h), f"$h = {h:g}$")
    ax.set(aspect="equal", xlim=(low, high), ylim=(low, high), title=name, xlabel="$w_1$")
    style_axes(ax, grid=False)


def ball_edge(h: float, radius: float) -> np.ndarray:
    """Points on the boundary of a norm ball, including its four corners, (1601, 2).

    Examples
    --------
    >>> bool((abs(abs(ball_edge(1, 2.0)).sum(axis=1) - 2.0) < 1e-12).all())
    True
    """
    angle = np.linspace(0, 2 * np.pi, 1601)  # a multiple of four steps: the corners are hit
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    circle[np.abs(circle) < 1e-12] = 0.0
    return radius * np.sign(circle) * np.abs(circle) ** (2 / h)


def _quadratic_loss(w: np.ndarray, center: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The quadratic loss with the Hessian H and its minimum at the center."""
    d = w - center
    return 0.5 * np.einsum("...i,ij,...j->...", d, H, d)


_LABEL_OFFSET = np.array([0.025, 0.0, 0.02])  # of names, in units of the norm of y


def least_squares_projection(X: Any, y: Any, *, ax: Any = None) -> Any:
    """The target y, its projection onto the span of two columns, and the orthogonal residual.

    With three rows each column is a vector in space. The predictions of two columns form a plane,
    drawn horizontally, and least squares takes the point of it that is nearest to y.

    Parameters
    ----------
    X : (3, 2) array
        Two columns of three rows.
    y : (3,) array
        Target.
    ax : three-dimensional Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold import plot
    >>> plot.least_squares_projection([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 2.0, 4.0]).name
    '3d'
    """
    X, y = np.asarray(X, float), np.asarray(y, float)
    if X.shape != (3, 2) or y.shape != (3,):
        raise ValueError(f"the plot is of 3 rows and 2 columns, not {X.shape} and {y.shape}")
    if ax is None:
        from matplotlib import pyplot as plt

        ax = plt.figure(figsize=(6.4, 4.2), layout="constrained").add_subplot(projection="3d")
    fitted = hat_matrix(X, intercept=False) @ y
    rotation, offset = _rotate_plane_flat(X, y), _LABEL_OFFSET * np.linalg.norm(y)
    tips = {"$x_1$": X[:, 0], "$x_2$": X[:, 1], "$y$": y, "$\\hat y = H y$": fitted}
    hues = [TEXT_COLOR, TEXT_COLOR, palette_color(1), palette_color(0)]
    for (name, tip), hue in zip(tips.items(), hues, strict=True):
        line = np.column_stack([np.zeros(3), rotation @ tip])
        ax.plot(*line, color=hue, lw=2.4, marker="o", ms=5, markevery=[1], label=name)
        ax.text(*(rotation @ tip + offset), name, color=hue, fontsize=14)
    residual = rotation @ np.column_stack([fitted, y])
    ax.plot(*residual, "--", color=palette_color(1), lw=1.8, label="residual")
    ax.text(*(residual.mean(axis=1) + offset), "$y - \\hat y$", color=palette_color(1), fontsize=12)
    _draw_plane(ax, rotation @ np.column_stack([np.zeros(3), X, fitted]))
    ax.view_init(elev=24, azim=-64)
    sides = [high - low for low, high in (ax.get_xlim(), ax.get_ylim(), ax.get_zlim())]
    ax.set_box_aspect(sides, zoom=1.4)
    ax.set_axis_off()
    return ax


def _rotate_plane_flat(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The rotation that makes the plane of the columns horizontal, with y above it, (3, 3)."""
    Q = np.linalg.qr(X, mode="complete")[0]
    flips = np.where([Q[:, 0] @ X[:, 0] < 0, Q[:, 1] @ X[:, 1] < 0, Q[:, 2] @ y < 0], -1.0, 1.0)
    return (Q * flips).T


def _draw_plane(ax: Any, points: np.ndarray) -> None:
    """The plane of the columns, large enough for all points in it."""
    margin = 0.2 * np.abs(points[:2]).max()
    (x0, y0), (x1, y1) = points[:2].min(axis=1) - margin, points[:2].max(axis=1) + margin
    x, y = np.meshgrid([x0, x1], [y0, y1])
    plane = ax.plot_surface(x, y, 0 * x, color=palette_color(5), alpha=0.3, linewidth=0, zorder=0)
    plane.set_clip_on(False)  # the clip box of a 3d plot is narrower than the figure
