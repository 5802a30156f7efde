"""Pictures of maps: points with labels, and how well their distances fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.plot.style import MUTED_COLOR, get_axes, palette_color, style_axes

_MAX_PAIRS = 20_000  # points of a Shepard diagram


def embedding_scatter(points: Any, labels: Any = None, *, names: Any = None, ax: Any = None) -> Any:
    """The points of a map in the plane, colored by label, with a name beside each if given.

    Parameters
    ----------
    points : (n, 2) array
        The map, such as `embedding_`.
    labels : (n,) array, optional
        A label of each point; those of eight colors are told apart, -1 is gray.
    names : sequence of n str, optional
        What to write beside the points.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold.plot import embedding_scatter
    >>> ax = embedding_scatter([[0.0, 0.0], [1.0, 1.0]], ["a", "b"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    Y = np.asarray(points, np.float64)
    if Y.ndim != 2 or Y.shape[1] != 2:
        raise ValueError(f"a map in the plane has two columns, not shape {Y.shape}")
    ax = get_axes(ax, (5.6, 5.2))
    size = float(np.clip(4000 / max(len(Y), 1), 3, 36))
    if labels is None:
        ax.scatter(*Y.T, s=size, color=palette_color(0), linewidths=0)
    else:
        labels = np.asarray(labels)
        for k, label in enumerate(np.unique(labels)):
            color = MUTED_COLOR if label == -1 else palette_color(k)
            ax.scatter(*Y[labels == label].T, s=size, color=color, linewidths=0, label=str(label))
        ax.legend(frameon=False, markerscale=2, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for place, name in zip(Y, names if names is not None else [], strict=False):
        ax.annotate(str(name), place, xytext=(3, 2), textcoords="offset points", fontsize=7)
    style_axes(ax, grid=False)
    ax.set(xticks=[], yticks=[], aspect="equal")
    return ax


def shepard_diagram(
    dissimilarities: Any, points: Any, *, disparities: Any = None, ax: Any = None
) -> Any:
    """Distances in a map over the dissimilarities of the rows, a dot for each pair.

    Dots of a perfect metric map lie on the line, those of a perfect non-metric one on a curve that
    never falls.

    Parameters
    ----------
    dissimilarities : (n, n) array
        What the distances should be, such as `MDS.dissimilarity_matrix_`.
    points : (n, k) array
        The map.
    disparities : pair of (n_pairs,) arrays, optional
        `ordered_dissimilarities_` and `disparities_` of a non-metric `MDS`, drawn as a line.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.plot import shepard_diagram
    >>> shepard_diagram(np.array([[0.0, 1.0], [1.0, 0.0]]), [[0.0], [1.0]]).get_ylabel()
    'distance in the map'
    """
    D, Y = np.asarray(dissimilarities, np.float64), np.asarray(points, np.float64)
    i, j = np.triu_indices(len(Y), 1)
    if len(i) > _MAX_PAIRS:
        some = np.sort(np.random.default_rng(0).choice(len(i), _MAX_PAIRS, replace=False))
        i, j = i[some], j[some]
    gaps = np.linalg.norm(Y[i] - Y[j], axis=1)
    ax = get_axes(ax, (4.8, 4.4))
    ax.scatter(D[i, j], gaps, s=5, alpha=0.35, color=palette_color(0), linewidths=0)
    if disparities is None:
        top = np.nanmax(D[i, j], initial=0.0)
        ax.plot([0, top], [0, top], color=palette_color(1), lw=1.2)
    else:
        ax.plot(*disparities, color=palette_color(1), lw=1.4)
    ax.set(xlabel="dissimilarity", ylabel="distance in the map")
    style_axes(ax)
    return ax
