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

_ELLIPSE_SD = (
    1.0,
    2.0,
)  # standard deviations of the ellipses, which hold 39 % and 86 % of a component


def mixture(model: Any, X: Any, *, ax: Any = None) -> Any:
    """Rows colored by their responsibilities, and the components as ellipses.

    Colors are mixed by the responsibilities. The ellipses lie one and two standard deviations from
    the mean and hold 39 % and 86 % of their component.

    Parameters
    ----------
    model : GaussianMixture
        Fitted to two columns.
    X : (n, 2) array
        Rows.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

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
    """EM for Gaussians, iteration by iteration, and its log-likelihood.

    A panel shows the components after a number of iterations, with rows colored by their
    responsibilities. The last panel shows the mean log-likelihood of every iteration.

    Parameters
    ----------
    X : (n, 2) array
        Rows.
    initial : GaussianParameters
        Initial weights, means and covariances.
    iterations : tuple of int
        Iterations to show.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Shape of the covariances.
    ax : array of Axes, optional
        Axes to draw into: one per iteration shown, and one for the likelihood.

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
    >>> row = em_steps(X, start, iterations=(0, 3), covariance_type="full")
    >>> [axis.get_title() for axis in row]
    ['initial', 'after 3 iterations', 'mean log-likelihood']
    """
    X, shown = _validate_two_columns(X), sorted(set(iterations))
    columns = min(len(shown) + 1, 3)
    lines = -(-(len(shown) + 1) // columns)
    given = None if ax is None else np.ravel(ax)
    row = get_panels(given, lines, columns, 3.4).ravel()[: lines * columns]
    g, log_likelihoods = initial, []
    for step in range(shown[-1] + 1):
        R, log_likelihood = e_step(X, g, covariance_type)
        log_likelihoods.append(float(log_likelihood.mean()))
        if step in shown:
            axis = row[shown.index(step)]
            _draw_mixture(axis, X, R, g, covariance_type)
            _set_window(axis, X)
            axis.set_title("initial" if step == 0 else f"after {step} iteration{'s' * (step > 1)}")
        g = m_step(X, R, g, covariance_type, reg_covar=1e-6)
    _draw_log_likelihood(row[len(shown)], log_likelihoods, shown)
    for spare in row[len(shown) + 1 :]:
        spare.set_visible(False)
    return row[: len(shown) + 1]


def _validate_two_columns(X: Any) -> np.ndarray:
    """Rows of two columns."""
    X = np.asarray(X, np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"the plot needs two columns, not {X.shape[1:]}: choose or project them")
    return X


def _set_window(ax: Any, X: np.ndarray) -> None:
    """The same limits for all panels: the range of the rows, with a margin."""
    margin = 0.08 * np.ptp(X, axis=0)
    (left, low), (right, high) = X.min(axis=0) - margin, X.max(axis=0) + margin
    ax.set_aspect("equal", adjustable="box")
    ax.set(xlim=(left, right), ylim=(low, high))


def _draw_mixture(ax: Any, X: np.ndarray, R: np.ndarray, g: GaussianParameters, kind: str) -> None:
    """Rows colored by responsibilities, ellipses and means."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Ellipse

    palette = np.array([to_rgb(palette_color(k)) for k in range(R.shape[1])])
    ax.scatter(*X.T, c=np.clip(R @ palette, 0, 1), s=14, linewidths=0, alpha=0.75, zorder=1)
    for k, matrix in enumerate(full_covariances(g.covariances, kind, *g.means.shape)):
        variances, eigenvectors = np.linalg.eigh(matrix)
        angle = float(np.degrees(np.arctan2(eigenvectors[1, 1], eigenvectors[0, 1])))
        for deviations in _ELLIPSE_SD:
            height, width = 2 * deviations * np.sqrt(variances)
            style = {"fill": False, "edgecolor": palette_color(k), "linewidth": 1.8, "zorder": 2}
            ax.add_patch(Ellipse(g.means[k], width, height, angle=angle, **style))
    ax.scatter(
        *g.means.T, c=palette, s=70, marker="X", edgecolors=TEXT_COLOR, linewidths=1, zorder=3
    )
    ax.set_aspect("equal", adjustable="datalim")
    style_axes(ax)


def _draw_log_likelihood(ax: Any, log_likelihoods: list[float], shown: list[int]) -> None:
    """The log-likelihood of every iteration, with the shown ones marked."""
    ax.plot(range(len(log_likelihoods)), log_likelihoods, color=TEXT_COLOR, linewidth=1.6)
    ax.scatter(
        shown, [log_likelihoods[step] for step in shown], color=palette_color(1), s=30, zorder=3
    )
    ax.set(title="mean log-likelihood", xlabel="iteration")
    last = (len(log_likelihoods) - 1, log_likelihoods[-1])
    text = {"xytext": (0, -14), "textcoords": "offset points", "ha": "right", "color": TEXT_COLOR}
    ax.annotate(format_number(last[1], ".2f"), last, **text)
    style_axes(ax)
