"""A dendrogram that is cut by hand: one self-contained HTML page with a slider for the height."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tenfold.cluster.dendrogram import cut_tree, subtree_heights
from tenfold.plot.clusters import cut_height, dendrogram_layout
from tenfold.report.format import format_count
from tenfold.report.pages import Section, read_asset, render_page, write_page
from tenfold.report.summary import Emphasis
from tenfold.report.svg import Chart

_MAX_LEAVES = 400  # leaves that are drawn; below them subtrees are leaves
_MAX_NAMES = 60  # leaves with a name
_LISTED_CUTS = 12  # numbers of clusters in the table
_LISTED_SIZES = 12  # sizes of clusters that are listed for each
_COLORS = 8  # classes c0 to c7 of the style sheet


class DendrogramCut(NamedTuple):
    """A number of clusters, the heights that give it, and the sizes of the clusters."""

    n_clusters: int
    low: float
    high: float
    sizes: str


def write_dendrogram(
    tree: Any,
    path: str | os.PathLike[str],
    *,
    names: Any = None,
    n_clusters: int = 2,
    title: str = "Dendrogram",
) -> Path:
    """Write a page with a dendrogram and a slider for the height of its cut.

    The clusters below the cut are colored, numbered and listed with their sizes as the slider, or
    the line itself, is moved; the call of `cut` that gives the same labels is shown. The page is
    one file, makes no network requests, and without JavaScript shows one cut and a table of them.

    Parameters
    ----------
    tree : fitted AgglomerativeClustering or (n - 1, 4) array
        The model, or its `linkage_`.
    path : path
        Of the page, such as ``tree.html``.
    names : sequence of str, optional
        Names of the rows; by default their numbers.
    n_clusters : int
        Number of clusters at first.
    title : str
        Title of the page.

    Returns
    -------
    Path
        Path of the page.

    See Also
    --------
    render_dendrogram : The page as a string.
    tenfold.plot.dendrogram : A picture.
    """
    page = render_dendrogram(tree, names=names, n_clusters=n_clusters, title=title)
    return write_page(path, page)


def render_dendrogram(
    tree: Any, *, names: Any = None, n_clusters: int = 2, title: str = "Dendrogram"
) -> str:
    """The page of `write_dendrogram` as HTML.

    Parameters
    ----------
    tree : fitted AgglomerativeClustering or (n - 1, 4) array
        The model, or its `linkage_`.
    names : sequence of str, optional
        Names of the rows; by default their numbers.
    n_clusters : int
        Number of clusters at first.
    title : str
        Title of the page.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import AgglomerativeClustering
    >>> model = AgglomerativeClustering(linkage="single").fit([[0.0], [1.0], [3.0], [7.0]])
    >>> page = render_dendrogram(model, names=["ash", "elm", "oak", "yew"])
    >>> 'type="range"' in page, "https:" in page
    (True, False)
    """
    Z = np.asarray(getattr(tree, "linkage_", tree), np.float64)
    n = len(Z) + 1
    if names is not None and len(names) != n:
        raise ValueError(f"the tree has {n} rows, but there are {len(names)} names")
    if not 1 <= n_clusters <= n:
        raise ValueError(f"n_clusters={n_clusters} must lie between 1 and {n}, the rows")
    top = _TopOfTree(Z, [str(i) for i in range(n)] if names is None else [str(s) for s in names])
    start = cut_height(Z, n_clusters)
    return render_page(
        "dendrogram.html.j2",
        title,
        [Section("tree", "Tree", "dendrogram"), Section("cuts", "All cuts", "dendrogram_cuts")],
        title=title,
        headline=Emphasis("", format_count(n), f" rows, cut into {n_clusters} clusters"),
        chart=_draw(top, start),
        tree_data=_as_json(top, start),
        tree_script=Markup(read_asset("dendrogram.js")),  # noqa: S704 - our own file
        top_height=1.05 * float(top.heights.max()),
        start_height=start,
        cuts=_list_cuts(Z),
    )


class _TopOfTree:
    """The last merges of a tree; what they merge at first are its leaves, single rows or subtrees.

    Attributes
    ----------
    Z : (m - 1, 4) merges, leaves are 0 to m - 1
    labels : name or size of each leaf
    sizes : rows of each leaf
    heights : the greatest height in the subtree of each merge
    """

    def __init__(self, Z: np.ndarray, names: list[str]) -> None:
        n = len(Z) + 1
        m = min(n, _MAX_LEAVES)
        first = n - m  # merges that are left out
        effective = subtree_heights(Z[:, :2].astype(np.int64), Z[:, 2])
        kept = Z[first:]
        used = kept[:, :2].astype(np.int64)
        leaves = np.sort(used[used < n + first].ravel())
        number = {int(node): i for i, node in enumerate(leaves)}
        number |= {n + first + t: m + t for t in range(m - 1)}
        self.Z = kept.copy()
        self.Z[:, :2] = [[number[int(a)], number[int(b)]] for a, b in used]
        sizes = np.concatenate([np.ones(n), Z[:, 3]])
        self.sizes = sizes[leaves].astype(int)
        self.labels = [
            names[node] if node < n else f"({format_count(int(sizes[node]))} rows)"
            for node in leaves
        ]
        self.heights = effective[first:]


def _draw(top: _TopOfTree, start: float) -> Markup:
    """The tree, colored by its first cut; merges carry their number."""
    m = len(top.labels)
    order, x, y = dendrogram_layout(top.Z)
    named = m <= _MAX_NAMES
    bottom = 30 + (min(6 * max(map(len, top.labels)), 110) if named else 0)
    limits = (0.0, 1.05 * float(top.heights.max()) or 1.0)
    size, margins = (980, 420 + bottom), (22, 12, bottom, 52)
    chart = Chart((-0.7, m - 0.3), limits, size=size, margins=margins)
    chart.axes(y_label="merge distance", ticks=(0, 6))
    colors = _merge_classes(top, order, start)
    for t, (a, b, height, _) in enumerate(top.Z):
        left, right = sorted((int(a), int(b)), key=lambda node: x[node])
        points = [x[left], x[left], x[right], x[right]], [y[left], height, height, y[right]]
        chart.add("path", d=_steps(chart, *points), class_=f"branch {colors[t]}", data_merge=str(t))
    if named:
        for place, leaf in enumerate(order):
            px, py = float(chart.x(place)), chart.y.start + 8
            turn = f"rotate(-60 {px:.1f} {py:.1f})"
            chart.text(px, py, top.labels[leaf][:18], class_="tick end", transform=turn)
    at = chart.y(start)
    chart.add("line", x1=chart.x.start, x2=chart.x.end, y1=at, y2=at, class_="cut", id="cut-line")
    label = f"Dendrogram of {m} leaves; the table below lists its cuts."
    return chart.render(label, "dendrogram")


def _steps(chart: Chart, xs: list[float], ys: list[float]) -> str:
    pairs = zip(chart.x(xs), chart.y(ys), strict=True)
    return "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in pairs)


def _merge_classes(top: _TopOfTree, order: np.ndarray, height: float) -> list[str]:
    """Class of each merge: the color of its cluster, counted from the left, or "above"."""
    labels = cut_tree(top.Z, height=height)
    _, first = np.unique(labels[order], return_index=True)
    rank = np.argsort(np.argsort(first))
    member = list(range(len(labels)))
    for a, *_ in top.Z:
        member.append(member[int(a)])
    colors = [f"c{rank[labels[leaf]] % _COLORS}" for leaf in member[len(labels) :]]
    below = top.heights < height
    return [color if low else "above" for color, low in zip(colors, below, strict=True)]


def _as_json(top: _TopOfTree, start: float) -> Markup:
    """What the script needs; "<" is written so that no text can end the script."""
    order, _, _ = dendrogram_layout(top.Z)
    data = {
        "children": top.Z[:, :2].astype(int).tolist(),
        "heights": [float(h) for h in top.heights],
        "order": order.tolist(),
        "labels": top.labels,
        "sizes": top.sizes.tolist(),
        "start": start,
        "colors": _COLORS,
    }
    return Markup(json.dumps(data, allow_nan=False).replace("<", "\\u003c"))  # noqa: S704 - escaped


def _list_cuts(Z: np.ndarray) -> list[DendrogramCut]:
    """The first cuts from above: their number of clusters, heights and sizes."""
    heights = np.sort(subtree_heights(Z[:, :2].astype(np.int64), Z[:, 2]))[::-1]
    cuts = []
    for k in range(2, min(_LISTED_CUTS, len(Z)) + 1):
        low, high = heights[k - 1], heights[k - 2]
        if high > low:
            sizes = np.sort(np.bincount(cut_tree(Z, height=(low + high) / 2)))[::-1]
            shown = ", ".join(format_count(int(s)) for s in sizes[:_LISTED_SIZES])
            cuts.append(DendrogramCut(k, float(low), float(high), shown))
    return cuts
