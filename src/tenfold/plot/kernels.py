"""Pictures of kernels: their values around a point of the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.plot.decision_regions import EvaluationGrid
from tenfold.plot.style import TEXT_COLOR, get_axes


def kernel_contours(
    kernel: Any,
    center: Any = (0.0, 0.0),
    *,
    reach: float = 3.0,
    levels: Any = 8,
    resolution: int = 120,
    ax: Any = None,
) -> Any:
    """Contours of k(x, center) over the plane.

    Those of RBF are circles, the tighter the larger gamma; those of a dot product are lines.

    Parameters
    ----------
    kernel : callable
        `kernel(X, Z)`, the matrix of values; any object of `tenfold.kernel`.
    center : (2,) array
        The other point.
    reach : float
        Half the side of the square that is shown.
    levels : int or array
        Number of contours, or their values.
    resolution : int
        Points of the grid along each side.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold.kernel import RBF
    >>> from tenfold.plot import kernel_contours
    >>> kernel_contours(RBF(1.0), levels=[0.1, 0.5, 0.9]).get_xlim()
    (np.float64(-3.0), np.float64(3.0))
    """
    center = np.asarray(center, np.float64)
    ax = get_axes(ax, (4.4, 4.0))
    grid = EvaluationGrid(*(np.linspace(c - reach, c + reach, resolution) for c in center))
    values = grid.of(lambda X: np.asarray(kernel(X, center[None]))[:, 0])
    ax.imshow(values, extent=grid.extent, origin="lower", cmap="Blues", alpha=0.6, aspect="equal")
    lines = ax.contour(grid.x, grid.y, values, levels=levels, colors=TEXT_COLOR, linewidths=0.9)
    ax.clabel(lines, fontsize=7, fmt="%.2g")
    ax.scatter(*center, marker="+", color=TEXT_COLOR, s=60)
    return ax
