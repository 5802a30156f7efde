"""Gaussian mixtures as ellipses with responsibilities, and EM iteration by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.mixture._covariance_types import full_covariances
from tenfold.mixture._gaussian import GaussianParameters
from tenfold.plot.style import (
    TEXT_COLOR,
    format_number,
    get_axes,
    get_panels,
    palette_color,
    style_axes,
)
from tenfold.teaching.em_steps import e_step, m_step

_ELLIPSE_SD = (1.0, 2.0)  # of the ellipses: they hold 39 % and 86 % of a component


def mixture(model: Any, X: Any, *, ax: Any = None) -> Any:
    """Rows in the mixed colours of their components, and the components as ellipses.

    A row between two components has a colour between theirs. The ellipses lie one and two standard
    deviations from the mean and hold 39 % and 86 % of their component. [000, 4.2.1; 002, ch. 8]

    Parameters
    ----------
    model : GaussianMixture
        Fitted to two columns.
    X : (n, 2) array
        Rows.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mixture.gaussian_mixture import GaussianMixture
    >>> from tenfold.plot.mixtures import mixture
    >>> X = np.array([[1.0, 2], [1, 4], [1.5, 0], [10, 2], [10, 4], [9.5, 0]])
    >>> ax = mixture(GaussianMixture(2, random_state=0).fit(X), X)
    >>> len(ax.patches), ax.get_xlabel()
    (4, '$x_1$')
    """
    X = _validate_two_columns(X)
    ax = get_axes(ax)
    g = GaussianParameters(
        *(np.asarray(a) for a in (model.weights_, model.means_, model.covariances_))
    )
    _draw_mixture(ax, X, model.predict_proba(X), g, model.covariance_type)
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    return ax


def em_steps(
    X: Any,
    initial: GaussianParameters,
    *,
    iterations: tuple[int, ...] = (0, 1, 2, 5, 20),
    covariance_type: str = "full",
    ax: Any = None,
) -> np.ndarray:
    """EM for Gaussians step by step, and the log-likelihood that never falls.

    A panel shows the components after so many rounds, and rows in the colours of their
    responsibilities. The last panel shows the mean log-likelihood of every round. [002, 8.4]

    Parameters
    ----------
    X : (n, 2) array
        Rows.
    start : Gaussians
        Weights, means and covariances to begin with.
    rounds : tuple of int
        After how many rounds to look.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Shape of the covariances.
    ax : array of Axes, optional
        Where to draw: one for each look, and one for the likelihood.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.mixture._gaussian import GaussianParameters
    >>> from tenfold.plot.mixtures import em_steps
    >>> X = np.array([[1.0, 2], [1, 4], [2, 0], [10, 2], [10, 4], [9, 0]])
    >>> start = GaussianParameters(np.array([0.5, 0.5]), X[:2], np.stack([np.eye(2)] * 2) * 9)
    >>> row = em_steps(X, start, rounds=(0, 3), covariance_type="full")
    >>> [axis.get_title() for axis in row]
    ['start', 'after 3 rounds', 'mean log-likelihood']
    """
    X, looks = _validate_two_columns(X), sorted(set(iterations))
    columns = min(len(looks) + 1, 3)
    lines = -(-(len(looks) + 1) // columns)
    given = None if ax is None else np.ravel(ax)
    row = get_panels(given, lines, columns, 3.4).ravel()[: lines * columns]
    g, heights = initial, []
    for step in range(looks[-1] + 1):
        R, height = e_step(X, g, covariance_type)
        heights.append(float(height.mean()))
        if step in looks:
            axis = row[looks.index(step)]
            _draw_mixture(axis, X, R, g, covariance_type)
            _set_window(axis, X)
            axis.set_title("start" if step == 0 else f"after {step} round{'s' * (step > 1)}")
        g = m_step(X, R, g, covariance_type, reg_covar=1e-6)
    _draw_log_likelihood(row[len(looks)], heights, looks)
    for spare in row[len(looks) + 1 :]:
        spare.set_visible(False)
    return row[: len(looks) + 1]


def _validate_two_columns(X: Any) -> np.ndarray:
    """Rows of two columns."""
    X = np.asarray(X, np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"a picture needs two columns, not {X.shape[1:]}: choose or project them")
    return X


def _set_window(ax: Any, X: np.ndarray) -> None:
    """The same window for all panels: the rows and a little more."""
    margin = 0.08 * np.ptp(X, axis=0)
    (left, low), (right, high) = X.min(axis=0) - margin, X.max(axis=0) + margin
    ax.set_aspect("equal", adjustable="box")
    ax.set(xlim=(left, right), ylim=(low, high))


def _draw_mixture(ax: Any, X: np.ndarray, R: np.ndarray, g: GaussianParameters, kind: str) -> None:
    """Rows in mixed colours, ellipses and means."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Ellipse

    palette = np.array([to_rgb(palette_color(k)) for k in range(R.shape[1])])
    ax.scatter(*X.T, c=np.clip(R @ palette, 0, 1), s=14, linewidths=0, alpha=0.75, zorder=1)
    for k, matrix in enumerate(full_covariances(g.covariances, kind, *g.means.shape)):
        variances, turns = np.linalg.eigh(matrix)
        angle = float(np.degrees(np.arctan2(turns[1, 1], turns[0, 1])))
        for deviations in _ELLIPSE_SD:
            height, width = 2 * deviations * np.sqrt(variances)
            look = {"fill": False, "edgecolor": palette_color(k), "linewidth": 1.8, "zorder": 2}
            ax.add_patch(Ellipse(g.means[k], width, height, angle=angle, **look))
    ax.scatter(
        *g.means.T, c=palette, s=70, marker="X", edgecolors=TEXT_COLOR, linewidths=1, zorder=3
    )
    ax.set_aspect("equal", adjustable="datalim")
    style_axes(ax)


def _draw_log_likelihood(ax: Any, heights: list[float], looks: list[int]) -> None:
    """The log-likelihood of every round, with the looks marked."""
    ax.plot(range(len(heights)), heights, color=TEXT_COLOR, linewidth=1.6)
    ax.scatter(looks, [heights[step] for step in looks], color=palette_color(1), s=30, zorder=3)
    ax.set(title="mean log-likelihood", xlabel="rounds")
    ax.annotate(format_number(heights[-1], ".2f"), (len(heights) - 1, heights[-1]), xytext=(0, -14),
                textcoords="offset points", ha="right", color=TEXT_COLOR)  # fmt: skip
    style_axes(ax)
