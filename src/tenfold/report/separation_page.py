"""Separation in a directed graph as one self-contained page: nodes are shaded by a click."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from tenfold.plot.graphs import describe_separation, place_nodes
from tenfold.report.pages import Section, read_asset, render_page, write_page
from tenfold.report.summary import Emphasis

_STEP_X, _STEP_Y, _RADIUS, _MARGIN = 130, 110, 26, 50
_MAX_LISTED = 60  # independences in the table
_MAX_NODES_LISTED = 9  # of graphs whose independences are listed


class DrawnNode(NamedTuple):
    """A node and its place in the drawing."""

    name: str
    x: float
    y: float
    is_known: bool


class DrawnArc(NamedTuple):
    """An arc and its line in the drawing, from rim to rim."""

    tail: str
    head: str
    x1: float
    y1: float
    x2: float
    y2: float


class Independence(NamedTuple):
    """Two nodes that are independent given others, in words."""

    pair: str
    given: str


def write_separation(
    graph: Any,
    path: str | os.PathLike[str],
    *,
    separate: tuple[str, str] | None = None,
    known: Iterable[str] = (),
    title: str = "Separation",
) -> Path:
    """Write a page with a graph whose nodes are shaded by a click.

    The page says whether two nodes are independent given the shaded ones, and shows a path that
    joins them if they are not. It is one file, makes no network requests, and without JavaScript
    shows the first question and a list of all independences.

    Parameters
    ----------
    graph : DirectedGraph or fitted BayesianNetwork
        The graph.
    path : path
        Of the page, such as ``graph.html``.
    separate : pair of nodes, optional
        The two nodes at first; by default the first and the last.
    known : nodes
        Shaded at first.
    title : str
        Title of the page.

    Returns
    -------
    Path
        Path of the page.

    See Also
    --------
    render_separation : The page as a string.
    tenfold.plot.directed_graph : A picture.
    """
    page = render_separation(graph, separate=separate, known=known, title=title)
    return write_page(path, page)


def render_separation(
    graph: Any,
    *,
    separate: tuple[str, str] | None = None,
    known: Iterable[str] = (),
    title: str = "Separation",
) -> str:
    """The page of `write_separation` as HTML.

    Parameters
    ----------
    graph : DirectedGraph or fitted BayesianNetwork
        The graph.
    separate : pair of nodes, optional
        The two nodes at first; by default the first and the last.
    known : nodes
        Shaded at first.
    title : str
        Title of the page.

    Examples
    --------
    >>> from tenfold.graphical import DirectedGraph
    >>> page = render_separation(DirectedGraph.from_arcs("rain -> wet; sprinkler -> wet"))
    >>> "rain and wet depend on each other" in page, "https:" in page
    (True, False)
    """
    graph = getattr(graph, "graph_", graph)
    if len(graph.nodes) < 2:
        raise ValueError("a graph of one node has nothing to separate")
    first, second = separate or (graph.nodes[0], graph.nodes[-1])
    shaded = list(known)
    nodes, arcs, size = _draw(graph, shaded)
    data = {"parents": {v: list(p) for v, p in graph.parents.items()}}
    return render_page(
        "separation.html.j2",
        title,
        [
            Section("graph", "Graph", "separation"),
            Section("independences", "All independences", "independences"),
        ],
        title=title,
        headline=Emphasis("", describe_separation(graph, (first, second), shaded), ""),
        nodes=nodes,
        arcs=arcs,
        size=size,
        radius=_RADIUS,
        chosen=(first, second),
        graph_data=Markup(json.dumps(data).replace("<", "\\u003c")),  # noqa: S704 - escaped
        graph_script=Markup(read_asset("separation.js")),  # noqa: S704 - our own file
        independences=_list_independences(graph),
        n_nodes=len(graph.nodes),
    )


def _draw(
    graph: Any, known: list[str]
) -> tuple[list[DrawnNode], list[DrawnArc], tuple[float, float]]:
    """Nodes and arcs in the units of the drawing, and its size."""
    places = place_nodes(graph)
    left = min(x for x, _ in places.values())
    top = max(y for _, y in places.values())
    at = {
        v: (_MARGIN + (x - left) * _STEP_X, _MARGIN + (top - y) * _STEP_Y)
        for v, (x, y) in places.items()
    }
    nodes = [DrawnNode(v, x, y, v in known) for v, (x, y) in at.items()]
    arcs = []
    for tail, head in graph.arcs:
        (x1, y1), (x2, y2) = at[tail], at[head]
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1e-9)
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        rim, tip = _RADIUS, _RADIUS + 7
        line = (x1 + ux * rim, y1 + uy * rim, x2 - ux * tip, y2 - uy * tip)
        arcs.append(DrawnArc(tail, head, *line))
    width = max(x for x, _ in at.values()) + _MARGIN
    height = max(y for _, y in at.values()) + _MARGIN
    return nodes, arcs, (width, height)


def _list_independences(graph: Any) -> list[Independence]:
    """Independences with the smallest sets, the first of them."""
    if len(graph.nodes) > _MAX_NODES_LISTED:
        return []
    found = sorted(graph.independences(), key=lambda triple: len(triple[2]))
    return [
        Independence(f"{a}, {b}", ", ".join(given) or "nothing")
        for a, b, given in found[:_MAX_LISTED]
    ]
