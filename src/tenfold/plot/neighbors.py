"""Pictures of nearest neighbors in the plane: Voronoi cells, and the vote for one point."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.plot.style import (
    MUTED_COLOR,
    TEXT_COLOR,
    get_axes,
    legend_outside,
    palette_color,
    palette_marker,
)

_MARGIN = 0.12  # of the range, around the points
_TINT = 0.22  # strength of the color of a cell


def voronoi_cells(X: Any, y: Any = None, *, show_rows: bool = True, ax: Any = None) -> Any:
    """Cells of points that have the same nearest row; those of one label make its region.

    The classifier of the nearest neighbor gives every point of a cell the label of its row. So its
    boundary, drawn bold, runs along edges between cells of different labels.

    Parameters
    ----------
    X : (n, 2) array
        The rows, all different.
    y : (n,) array, optional
        Their labels.
    show_rows : bool
        Whether the rows themselves are drawn.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold.plot import voronoi_cells
    >>> ax = voronoi_cells([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0, 1, 1])
    >>> len(ax.patches)
    3
    """
    from scipy.spatial import Voronoi

    X = _plane(X)
    if len(np.unique(X, axis=0)) < len(X):
        raise ValueError("two rows are equal, so that none of them has a cell of its own")
    classes, codes = np.unique(
        np.zeros(len(X)) if y is None else np.asarray(y), return_inverse=True
    )
    ax = get_axes(ax)
    low, high = X.min(axis=0), X.max(axis=0)
    more = _MARGIN * np.where(high > low, high - low, 1.0)
    low, high = low - more, high + more
    mirrored = [X]  # in the four sides, so that every cell of a row ends at the box
    for side in (low, high):
        for axis in (0, 1):
            other = X.copy()
            other[:, axis] = 2 * side[axis] - X[:, axis]
            mirrored.append(other)
    cells = Voronoi(np.concatenate(mirrored))
    for row, code in enumerate(codes):
        corners = cells.vertices[cells.regions[cells.point_region[row]]]
        color = palette_color(code) if y is not None else "white"
        ax.fill(*corners.T, facecolor=color, alpha=_TINT, edgecolor=MUTED_COLOR, lw=0.0)
    _draw_edges(ax, cells, codes)
    if show_rows:
        _draw_rows(ax, X, codes, classes if y is not None else None)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return ax


def _draw_edges(ax: Any, cells: Any, codes: np.ndarray) -> None:
    """Edges between cells of rows, bold where the labels differ."""
    n = len(codes)
    for (a, b), ends in zip(cells.ridge_points, cells.ridge_vertices, strict=True):
        if a < n and b < n and -1 not in ends:
            border = codes[a] != codes[b]
            color, width = (TEXT_COLOR, 1.8) if border else (MUTED_COLOR, 0.8)
            ax.plot(*cells.vertices[ends].T, color=color, lw=width, zorder=2)


def _draw_rows(ax: Any, X: np.ndarray, codes: np.ndarray, classes: Any) -> None:
    for code in np.unique(codes):
        ax.scatter(
            *X[codes == code].T,
            s=28,
            marker=palette_marker(code),
            color=palette_color(code),
            edgecolor="white",
            lw=0.6,
            zorder=3,
            label=None if classes is None else str(classes[code]),
        )
    if classes is not None:
        legend_outside(ax)


def neighbor_votes(model: Any, x: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """The vote of the nearest neighbors of one point: lines to them, a circle, and the count.

    Parameters
    ----------
    model : fitted KNeighborsClassifier
        The classifier, with Euclidean distances.
    x : (2,) array
        The point.
    X, y : (n, 2) and (n,) arrays
        The rows of the fit, and their labels.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KNeighborsClassifier
    >>> from tenfold.plot import neighbor_votes
    >>> X, y = np.array([[0.0, 0], [1, 0], [0, 1], [3, 3]]), np.array(["a", "b", "b", "a"])
    >>> ax = neighbor_votes(KNeighborsClassifier(3).fit(X, y), [0.4, 0.4], X, y)
    >>> ax.get_title()
    '2 of 3 neighbors: b'
    """
    check_is_fitted(model)
    X, y, x = _plane(X), np.asarray(y), np.asarray(x, np.float64)
    distances, numbers = model.kneighbors(x[None])
    ax = get_axes(ax)
    for number in numbers[0]:
        code = int(np.searchsorted(model.classes_, y[number]))
        ax.plot(*np.stack([x, X[number]]).T, color=palette_color(code), lw=1.2, zorder=1)
    from matplotlib.patches import Circle

    ax.add_patch(Circle(x, distances[0, -1], fill=False, color=TEXT_COLOR, ls="--", lw=1.0))
    _draw_rows(ax, X, np.searchsorted(model.classes_, y), model.classes_)
    ax.scatter(*x, marker="*", s=160, color=TEXT_COLOR, zorder=4)
    winner = model.predict(x[None])[0]
    agree = int((y[numbers[0]] == winner).sum())
    ax.set_title(f"{agree} of {numbers.shape[1]} neighbors: {winner}")
    ax.set_aspect("equal")
    return ax


def _plane(X: Any) -> np.ndarray:
    X = np.asarray(X, np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"the plot needs two columns, but X has shape {X.shape}")
    return X
