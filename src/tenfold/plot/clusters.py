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

_MAX_LEAF_LABELS = 40  # leaves that have room for a name
_CRITERION_LABELS = {"knee": "cost", "silhouette": "mean silhouette", "gap": "gap"}


def dendrogram(
    tree: Any,
    *,
    height: float | None = None,
    n_clusters: int | None = None,
    names: Any = None,
    ax: Any = None,
) -> Any:
    """The tree of a hierarchical clustering; a cut colours the clusters below it.

    Leaves are rows, the height of a bar is the distance at which two clusters join. Where heights
    fall (centroid and median linkage), a bar lies below those that it joins. [004, 6.3]

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
        Where to draw.

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
    ax.set(xlim=(-0.7, n - 0.3), ylabel="distance at which clusters join")
    ax.set_ylim(bottom=min(0, Z[:, 2].min()))
    if n > _MAX_LEAF_LABELS:
        ax.set(xticks=[], xlabel=f"{n:,} rows")
        return ax
    ax.set_xticks(range(n), [str(i if names is None else names[i]) for i in order])
    if names is not None:
        ax.tick_params(axis="x", rotation=90)
    return ax


def dendrogram_layout(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows from left to right, and the place (x, y) of each row and each join."""
    n = len(Z) + 1
    order, waiting = [], [2 * n - 2]
    while waiting:
        node = waiting.pop()
        if node < n:
            order.append(node)
        else:
            waiting += [int(Z[node - n, 1]), int(Z[node - n, 0])]
    x, y = np.zeros(2 * n - 1), np.zeros(2 * n - 1)
    x[order] = np.arange(n)
    for t, (a, b, top, _) in enumerate(Z, n):
        x[t], y[t] = (x[int(a)] + x[int(b)]) / 2, top
    return np.array(order), x, y


def cut_height(Z: np.ndarray, n_clusters: int) -> float:
    """A height that cuts a tree into so many clusters, in the middle of where it may lie."""
    heights = np.concatenate([[0.0], np.sort(subtree_heights(Z[:, :2].astype(np.int64), Z[:, 2]))])
    at = len(heights) - n_clusters
    above = heights[at + 1] if n_clusters > 1 else 1.1 * heights[-1]
    return float((heights[at] + above) / 2)


def _merge_colors(Z: np.ndarray, order: np.ndarray, height: float | None) -> list[str]:
    """A colour for each cluster below the cut, from left to right; ink above it."""
    if height is None:
        return [palette_color(0)] * len(Z)
    labels = cut_tree(Z, height=height)
    _, first = np.unique(labels[order], return_index=True)
    rank = np.argsort(np.argsort(first))  # of the cluster, from left to right
    below = subtree_heights(Z[:, :2].astype(np.int64), Z[:, 2]) < height
    member = np.concatenate([np.arange(len(labels)), np.zeros(len(Z), np.int64)])
    for t, (a, *_) in enumerate(Z, len(labels)):
        member[t] = member[int(a)]
    tint = [palette_color(int(rank[labels[row]])) for row in member[len(labels) :]]
    return [shade if low else TEXT_COLOR for shade, low in zip(tint, below, strict=True)]


def elbow(choice: Any, *, ax: Any = None) -> Any:
    """What a rule says of each number of clusters, with the number that it chooses marked.

    Parameters
    ----------
    choice : Choice
        What `choose_k` has found.
    ax : Axes, optional
        Where to draw.

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
    """The silhouette of every row, cluster by cluster: 1 is well inside, below 0 is elsewhere.

    Parameters
    ----------
    X : (n, p) array
        The rows (some thousands: all pairs are compared).
    labels : (n,) array
        The cluster of each row.
    metric : str or callable
        Distance, as scikit-learn takes it.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
    """
    from sklearn.metrics import silhouette_samples

    ax = get_axes(ax)
    values = np.asarray(silhouette_samples(X, labels, metric=metric), np.float64)
    bottom, ticks = 0, []
    kinds = np.unique(labels)
    gap = max(len(values) // 40, 1)
    for j, label in enumerate(kinds):
        mine = np.sort(values[np.asarray(labels) == label])
        ax.fill_betweenx(
            np.arange(bottom, bottom + len(mine)), 0, mine, color=palette_color(j), lw=0
        )
        ticks.append(bottom + len(mine) / 2)
        bottom += len(mine) + gap
    mean = float(values.mean())
    ax.axvline(mean, color=TEXT_COLOR, lw=1, ls="--")
    ax.annotate(
        f"mean {format_number(mean, '.2f')}", (mean, bottom), (4, 0), textcoords="offset points"
    )
    style_axes(ax, grid=False)
    ax.set_yticks(ticks, [str(label) for label in kinds])
    ax.set(xlabel="silhouette", ylabel="cluster")
    return ax


def cluster_scatter(X: Any, labels: Any, centers: Any = None, *, ax: Any = None) -> Any:
    """Rows of two columns in the colours of their clusters, with the centres.

    Parameters
    ----------
    X : (n, 2) array
        The rows.
    labels : (n,) array
        The cluster of each row.
    centres : (k, 2) array, optional
        Means or medoids.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
    """
    X, labels = np.asarray(X), np.asarray(labels)
    if X.shape[1] != 2:
        raise ValueError(f"rows are drawn in two columns, not {X.shape[1]}: project them first")
    ax = get_axes(ax)
    for j, label in enumerate(np.unique(labels)):
        mine = X[labels == label]
        look = {
            "color": palette_color(j),
            "marker": palette_marker(j),
            "s": 18,
            "alpha": 0.75,
            "lw": 0,
        }
        ax.scatter(*mine.T, label=str(label), **look)
    if centers is not None:
        ax.scatter(
            *np.asarray(centers).T, marker="X", s=130, color=TEXT_COLOR, ec="white", label="centre"
        )
    style_axes(ax)
    legend_outside(ax, title="cluster")
    return ax
