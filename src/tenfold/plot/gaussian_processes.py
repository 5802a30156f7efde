"""Pictures of Gaussian processes: bands, samples, the surface of an evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.plot.style import TEXT_COLOR, get_axes, palette_color


def prediction_band(
    model: Any,
    X: Any,
    *,
    y: Any = None,
    n_samples: int = 0,
    width: float = 1.96,
    points: int = 300,
    ax: Any = None,
) -> Any:
    """Mean and band of a regression over one column, with samples and rows on request.

    Parameters
    ----------
    model : a model with ``predict(X, return_std=True)``
        Fitted to one column; an unfitted `GaussianProcessRegressor` shows its prior.
    X : (n_samples, 1) array
        Rows, which give the range of the picture.
    y : (n_samples,) array, optional
        Their targets, drawn as points.
    n_samples : int
        Functions drawn from the process, for models with `sample_y`.
    width : float
        Half of the band in standard deviations.
    points : int
        Points of the curves.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianProcessRegressor
    >>> from tenfold.plot import prediction_band
    >>> X = np.arange(5.0)[:, None]
    >>> model = GaussianProcessRegressor(optimizer=None).fit(X, np.sin(X[:, 0]))
    >>> ax = prediction_band(model, X, y=np.sin(X[:, 0]), n_samples=2)
    >>> len(ax.lines)
    4
    """
    ax = get_axes(ax)
    x = np.asarray(X, np.float64).reshape(len(X), -1)[:, 0]
    margin = 0.05 * (x.max() - x.min())
    grid = np.linspace(x.min() - margin, x.max() + margin, points)
    mean, std = model.predict(grid[:, None], return_std=True)
    band = ax.fill_between(grid, mean - width * std, mean + width * std, color=palette_color(0))
    band.set_alpha(0.2)
    if n_samples:
        for draw in model.sample_y(grid[:, None], n_samples).T:
            ax.plot(grid, draw, color=palette_color(1), lw=0.8, alpha=0.7)
    ax.plot(grid, mean, color=palette_color(0), lw=2)
    if y is not None:
        ax.plot(x, y, "o", ms=4, color=TEXT_COLOR)
    ax.set(xlabel="x", ylabel="y", xlim=(grid[0], grid[-1]))
    return ax


def evidence_surface(
    model: Any,
    *,
    parameters: tuple[int, int] = (0, 1),
    span: float = 2.5,
    points: int = 30,
    ax: Any = None,
) -> Any:
    """The evidence of a Gaussian process over two of its hyperparameters, on logarithmic axes.

    The others stay at their fitted values; a cross marks the fit.

    Parameters
    ----------
    model : a fitted model with `log_marginal_likelihood` and `kernel_`
        The process.
    parameters : pair of int
        Places of the two in `kernel_.theta`.
    span : float
        Half of the width of the picture, in units of the natural logarithm.
    points : int
        Values of each hyperparameter.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianProcessRegressor
    >>> from tenfold.plot import evidence_surface
    >>> X = np.arange(8.0)[:, None]
    >>> model = GaussianProcessRegressor(alpha=0.1, optimizer=None).fit(X, np.sin(X[:, 0]))
    >>> ax = evidence_surface(model, points=5)
    >>> ax.get_xscale(), ax.get_yscale()
    ('log', 'log')
    """
    ax = get_axes(ax)
    theta, names = model.kernel_.theta, _theta_names(model.kernel_)
    steps = np.linspace(-span, span, points)
    first, second = (theta[place] + steps for place in parameters)
    values = np.empty((points, points))
    for i, b in enumerate(second):
        for j, a in enumerate(first):
            moved = theta.copy()
            moved[list(parameters)] = a, b
            values[i, j] = model.log_marginal_likelihood(moved)
    best = values.max()
    levels = best - np.array([200.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5])
    lines = ax.contour(np.exp(first), np.exp(second), values, levels=levels, cmap="viridis")
    ax.clabel(lines, fmt=lambda level: f"−{best - level:g}", fontsize=7)
    ax.plot(*np.exp(theta[list(parameters)]), "x", ms=9, mew=2, color=palette_color(1))
    ax.set(xscale="log", yscale="log", xlabel=names[parameters[0]], ylabel=names[parameters[1]])
    return ax


def _theta_names(kernel: Any) -> list[str]:
    """The name of each entry of theta."""
    free = [each for each in kernel.hyperparameters if not each.fixed]
    return [
        each.name.split("__")[-1].replace("_", " ") + (f" {i}" if each.n_elements > 1 else "")
        for each in free
        for i in range(each.n_elements)
    ]
