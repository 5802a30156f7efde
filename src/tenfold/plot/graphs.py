"""Pictures of directed graphs, with known nodes shaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tenfold.plot.style import MUTED_COLOR, TEXT_COLOR, get_axes, palette_color

_MARGIN = 0.25  # on each side, as a share of the width of all nodes
_CLEARANCE = 19.0  # points from the center of a node, whose radius is 15, to arcs that pass it
_CURVATURES = (0.0, *(side * k / 10 for k in range(1, 8) for side in (1, -1)))  # gentle ones first


def directed_graph(
    graph: Any,
    *,
    known: Iterable[str] = (),
    separate: tuple[str, str] | None = None,
    positions: dict[str, tuple[float, float]] | None = None,
    ax: Any = None,
) -> Any:
    """A directed acyclic graph; what is known is shaded.

    Parameters
    ----------
    graph : DirectedGraph or BayesianNetwork
        The graph.
    known : nodes
        Shaded nodes.
    separate : pair of nodes, optional
        The title says whether these two are independent given the shaded ones.
    positions : dict, optional
        Coordinates of nodes; by default parents stand above children.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tenfold.graphical import DirectedGraph
    >>> from tenfold.plot import directed_graph
    >>> graph = DirectedGraph.of({"a": [], "b": [], "c": ["a", "b"]})
    >>> directed_graph(graph, known=["c"], separate=("a", "b")).get_title()
    'a and b depend on each other given c'
    """
    graph = getattr(graph, "graph_", graph)
    known, ax = list(known), get_axes(ax)
    places = place_nodes(graph) if positions is None else positions
    curvatures = curve_arcs(graph.arcs, points_on_paper(places, ax))
    for (tail, head), curvature in curvatures.items():
        ax.annotate(
            "",
            xy=places[head],
            xytext=places[tail],
            arrowprops={
                "arrowstyle": "-|>", "color": MUTED_COLOR, "shrinkA": 16, "shrinkB": 16,
                "connectionstyle": f"arc3,rad={curvature}",
            },
        )  # fmt: skip
    for node, place in places.items():
        color = palette_color(0) if separate and node in separate else TEXT_COLOR
        ax.scatter(
            *place,
            s=900,
            zorder=2,
            facecolors="0.75" if node in known else "white",
            edgecolors=color,
            linewidths=2 if separate and node in separate else 1,
        )
        ax.text(*place, str(node), ha="center", va="center", zorder=3, color=TEXT_COLOR, fontsize=8)
    if separate is not None:
        ax.set_title(describe_separation(graph, separate, known))
    ax.margins(_MARGIN)
    ax.autoscale_view()  # now: a layout asks where the names are before it is drawn
    ax.set_axis_off()
    return ax


def describe_separation(graph: Any, pair: tuple[str, str], known: list[str]) -> str:
    """Whether two nodes are independent given others, in words."""
    given = f" given {', '.join(known)}" if known else ""
    if graph.is_separated(pair[0], pair[1], known):
        return f"{pair[0]} and {pair[1]} are independent{given}"
    return f"{pair[0]} and {pair[1]} depend on each other{given}"


def place_nodes(graph: Any) -> dict[str, tuple[float, float]]:
    """Levels by the longest path from above; within a level as their parents stand."""
    level: dict[str, int] = {}
    for node, above in graph.parents.items():
        level[node] = 1 + max((level[p] for p in above), default=-1)
    places: dict[str, tuple[float, float]] = {}
    for depth in range(max(level.values(), default=-1) + 1):
        nodes = [node for node in graph.nodes if level[node] == depth]
        means = {
            n: sum(places[p][0] for p in graph.parents[n]) / max(len(graph.parents[n]), 1)
            for n in nodes
        }
        nodes.sort(key=lambda n: means[n])
        for at, node in enumerate(nodes):
            # A little to the side, so that arcs over two levels pass nodes between them.
            shift = 0.15 * (depth % 2)
            places[node] = (at - (len(nodes) - 1) / 2 + shift, -float(depth))
    return places


def points_on_paper(
    places: dict[str, tuple[float, float]], ax: Any
) -> dict[str, tuple[float, float]]:
    """Where nodes will be in the axes, in points."""
    if not places:
        return {}
    xy = np.array(list(places.values()), float)
    span = np.ptp(xy, axis=0)
    figure = ax.figure.canvas.figure
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()  # only then the axes are where they will be
    box = ax.get_window_extent()
    size = np.array([box.width, box.height]) * 72 / figure.dpi
    scale = size / np.where(span > 0, span * (1 + 2 * _MARGIN), 1.0)
    return {node: (float(x), float(y)) for node, (x, y) in zip(places, xy * scale, strict=True)}


def curve_arcs(
    arcs: Iterable[tuple[str, str]], points: dict[str, tuple[float, float]]
) -> dict[tuple[str, str], float]:
    """How much each arc is curved, to pass the nodes that it has nothing to do with.

    0 is straight; a curvature is the height of the control point, as a share of the length. The
    least that passes all nodes, or the one that keeps farthest away.
    """
    curvatures = {}
    t = np.linspace(0, 1, 33)[:, None]
    for tail, head in arcs:
        a, b = np.array(points[tail]), np.array(points[head])
        others = np.array([xy for node, xy in points.items() if node not in (tail, head)])
        across = np.array([b[1] - a[1], a[0] - b[0]])
        best, room = 0.0, -1.0
        for curvature in _CURVATURES:
            control = (a + b) / 2 + curvature * across
            curve = (1 - t) ** 2 * a + 2 * t * (1 - t) * control + t**2 * b
            away = np.linalg.norm(curve[:, None] - others, axis=2) if len(others) else [np.inf]
            if room < _CLEARANCE and np.min(away) > room:
                best, room = curvature, float(np.min(away))
        curvatures[tail, head] = best
    return curvatures
