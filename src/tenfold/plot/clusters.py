"""Dendrogram, number of clusters, silhouettes and cluster scatter plots."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.cluster.dendrogram import cut_tree, subtree_heights
from tenfold.plot.style import (
    MUTED_COLOR,
    TEXT_COLOR,
    format_number,
    get_axes,
    legend_outside,
    palette_color,
    palette_marker,
    style_axes,
)

_MAX_LEAF_LABELS = 40  # leaves with a label
_CRITERION_LABELS = {"knee": "cost", "silhouette": "mean silhouette", "gap": "gap"}


def dendrogram(
    tree: Any,
    *,
    height: float | None = None,
    n_clusters: int | None = None,
    names: Any = None,
    ax: Any = None,
) -> Any:
    """Dendrogram of a hierarchical clustering; a cut colors the clusters below it.

    Leaves are rows; the height of a bar is the distance at which two clusters merge. Inversions
    (centroid and median linkage) put a bar below those that it merges.

    Parameters
    ----------
    tree : fitted AgglomerativeClustering or (n - 1, 4) array
        The model, or its `linkage_`.
    height : float, optional
        Where to cut; a dashed line shows it.
    n_clusters : int, optional
        Cut to this number of clusters instead.
    names : sequence of str, optional
        Names of the rows; at most 40 rows are named.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.cluster.dendrogram import linkage_matrix
    >>> Z = linkage_matrix(np.array([[0.0], [1.0], [3.0], [7.0]]), "single")
    >>> ax = dendrogram(Z, height=3.0)
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['3', '2', '0', '1']
    """
    Z = np.asarray(getattr(tree, "linkage_", tree))
    n = len(Z) + 1
    ax = get_axes(ax, (7.2, 4.2))
    order, x, y = dendrogram_layout(Z)
    height = cut_height(Z, n_clusters) if n_clusters is not None else height
    tints = _merge_colors(Z, order, height)
    for t, (a, b, top, _) in enumerate(Z):
        a, b = int(a), int(b)
        ax.plot([x[a], x[a], x[b], x[b]], [y[a], top, top, y[b]], color=tints[t], lw=1.4)
    if height is not None:
        ax.axhline(height, color=TEXT_COLOR, lw=1, ls="--")
    style_axes(ax, grid=False)
    ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    ax.set(xlim=(-0.7, n - 0.3), ylabel="merge distance")
    ax.set_ylim(bottom=min(0, Z[:, 2].min()))
    if n > _MAX_LEAF_LABELS:
        ax.set(xticks=[], xlabel=f"{n:,} rows")
        return ax
    ax.set_xticks(range(n), [str(i if names is None else names[i]) for i in order])
    if names is not None:
        ax.tick_params(axis="x", rotation=90)
    return ax


def dendrogram_layout(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows from left to right, and the position (x, y) of each row and each merge."""
    n = len(Z) + 1
    order, stack = [], [2 * n - 2]
    while stack:
        node = stack.pop()
        if node < n:
            order.append(node)
        else:
            stack += [int(Z[node - n, 1]), int(Z[node - n, 0])]
    x, y = np.zeros(2 * n - 1), np.zeros(2 * n - 1)
    x[order] = np.arange(n)
    for t, (a, b, top, _) in enumerate(Z, n):
        x[t], y[t] = (x[int(a)] + x[int(b)]) / 2, top
    return np.array(order), x, y


def cut_height(Z: np.ndarray, n_clusters: int) -> float:
    """A height that cuts a dendrogram into `n_clusters`: the middle of the possible range."""
    heights = np.concatenate([[0.0], np.sort(subtree_heights(Z[:, :2].astype(np.int64), Z[:, 2]))])
    index = len(heights) - n_clusters
    next_height = heights[index + 1] if n_clusters > 1 else 1.1 * heights[-1]
    return float((heights[index] + next_height) / 2)


def _merge_colors(Z: np.ndarray, order: np.ndarray, height: float | None) -> list[str]:
    """A color for each cluster below the cut, from left to right; text color above it."""
    if height is None:
        return [palette_color(0)] * len(Z)
    labels = cut_tree(Z, height=height)
    _, first = np.unique(labels[order], return_index=True)
    rank = np.argsort(np.argsort(first))  # of the cluster, from left to right
    below = subtree_heights(Z[:, :2].astype(np.int64), Z[:, 2]) < height
    member = np.concatenate([np.arange(len(labels)), np.zeros(len(Z), np.int64)])
    for t, (a, *_) in enumerate(Z, len(labels)):
        member[t] = member[int(a)]
    colors = [palette_color(int(rank[labels[row]])) for row in member[len(labels) :]]
    return [color if low else TEXT_COLOR for color, low in zip(colors, below, strict=True)]


def elbow(choice: Any, *, ax: Any = None) -> Any:
    """Criterion for each number of clusters, with the selected number marked.

    Parameters
    ----------
    choice : Choice
        Result of `choose_k`.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes
    """
    ax = get_axes(ax)
    ax.plot(choice.ks, choice.values, color=palette_color(0), marker="o", ms=5)
    if choice.errors.any():
        ax.errorbar(
            choice.ks, choice.values, choice.errors, color=palette_color(0), lw=0, elinewidth=1.2
        )
    best = int((choice.ks == choice.best).argmax())
    if choice.by == "knee":
        ends = [0, len(choice.ks) - 1]
        ax.plot(choice.ks[ends], choice.values[ends], color=MUTED_COLOR, lw=1.2, ls="--")
    point = (choice.best, choice.values[best])
    ax.plot(*point, marker="o", ms=13, mfc="none", mec=palette_color(1), mew=2)
    above = {"xytext": (-4, 16), "textcoords": "offset points"}
    ax.annotate(f"K = {choice.best}", point, color=palette_color(1), size=11, **above)
    style_axes(ax)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="number of clusters K", ylabel=_CRITERION_LABELS.get(choice.by, choice.by))
    ax.margins(y=0.15)
    return ax


def silhouettes(X: Any, labels: Any, *, metric: Any = "euclidean", ax: Any = None) -> Any:
    """The silhouette of every row, grouped by cluster; below 0 another cluster is nearer.

    Parameters
    ----------
    X : (n, p) array
        The rows (a few thousand: all pairs are compared).
    labels : (n,) array
        The cluster of each row.
    metric : str or callable
        Distance, as scikit-learn takes it.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes
    """
    from sklearn.metrics import silhouette_samples

    ax = get_axes(ax)
    values = np.asarray(silhouette_samples(X, labels, metric=metric), np.float64)
    bottom, ticks = 0, []
    clusters = np.unique(labels)
    gap = max(len(values) // 40, 1)
    for j, label in enumerate(clusters):
        members = np.sort(values[np.asarray(labels) == label])
        ax.fill_betweenx(
            np.arange(bottom, bottom + len(members)), 0, members, color=palette_color(j), lw=0
        )
        ticks.append(bottom + len(members) / 2)
        bottom += len(members) + gap
    mean = float(values.mean())
    ax.axvline(mean, color=TEXT_COLOR, lw=1, ls="--")
    ax.annotate(
        f"mean {format_number(mean, '.2f')}", (mean, bottom), (4, 0), textcoords="offset points"
    )
    style_axes(ax, grid=False)
    ax.set_yticks(ticks, [str(label) for label in clusters])
    ax.set(xlabel="silhouette", ylabel="cluster")
    return ax


def cluster_scatter(X: Any, labels: Any, centers: Any = None, *, ax: Any = None) -> Any:
    """Scatter plot of two columns in the colors of the clusters, with the centers.

    Parameters
    ----------
    X : (n, 2) array
        The rows.
    labels : (n,) array
        The cluster of each row.
    centers : (k, 2) array, optional
        Means or medoids.
    ax : Axes, optional
        Axes to draw into; a new figure by default.

    Returns
    -------
    Axes
    """
    X, labels = np.asarray(X), np.asarray(labels)
    if X.shape[1] != 2:
        raise ValueError(f"the plot needs two columns, not {X.shape[1]}: project them first")
    ax = get_axes(ax)
    for j, label in enumerate(np.unique(labels)):
        members = X[labels == label]
        style = {
            "color": palette_color(j),
            "marker": palette_marker(j),
            "s": 18,
            "alpha": 0.75,
            "lw": 0,
        }
        ax.scatter(*members.T, label=str(label), **style)
    if centers is not None:
        ax.scatter(
            *np.asarray(centers).T, marker="X", s=130, color=TEXT_COLOR, ec="white", label="center"
        )
    style_axes(ax)
    legend_outside(ax, title="cluster")
    return ax
