"""Pictures of directed graphs."""

import matplotlib.pyplot as plt
import numpy as np

from tenfold.graphical.directed_graph import DirectedGraph
from tenfold.plot import directed_graph
from tenfold.plot.graphs import curve_arcs

GRAPH = DirectedGraph.of({"a": [], "c": [], "b": ["a", "c"], "d": ["b"]})


def test_known_nodes_are_shaded():
    ax = directed_graph(GRAPH, known=["b"], separate=("a", "c"))
    names = [text.get_text() for text in ax.texts if text.get_text()]
    assert sorted(names) == ["a", "b", "c", "d"]
    shades = [points.get_facecolor()[0, 0] for points in ax.collections]
    assert sorted(shades) == [0.75, 1, 1, 1]
    assert ax.get_title() == "a and c depend on each other given b"
    plt.close(ax.figure)


def test_the_title_follows_what_is_known():
    assert directed_graph(GRAPH, separate=("a", "c")).get_title() == "a and c are independent"
    plt.close("all")


def test_parents_stand_above_children():
    ax = directed_graph(GRAPH)
    heights = {t.get_text(): t.get_position()[1] for t in ax.texts if t.get_text()}
    assert all(heights[tail] > heights[head] for tail, head in GRAPH.arcs)
    plt.close(ax.figure)


def test_arcs_pass_the_nodes_between():
    parents = {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["a", "b", "c"], "e": ["a", "d"]}
    ax = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")[1][1]
    graph = DirectedGraph.of(parents)
    directed_graph(graph, ax=ax)
    ax.figure.canvas.draw()
    radius = 15 * ax.figure.dpi / 72
    centers = {t.get_text(): ax.transData.transform(t.get_position()) for t in ax.texts}
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == len(graph.arcs)
    for (tail, head), arrow in zip(graph.arcs, arrows, strict=True):
        curve = arrow.arrow_patch.get_path().interpolated(50).vertices
        for node in set(parents) - {tail, head}:
            assert np.linalg.norm(curve - centers[node], axis=1).min() > radius, (tail, head, node)
    plt.close(ax.figure)


def test_arcs_are_straight_where_nothing_is_in_the_way():
    points = {"a": (0.0, 100.0), "b": (0.0, 50.0), "c": (0.0, 0.0), "d": (200.0, 0.0)}
    curvatures = curve_arcs([("a", "b"), ("a", "c"), ("a", "d")], points)
    assert curvatures["a", "b"] == curvatures["a", "d"] == 0
    assert curvatures["a", "c"] != 0


def test_a_graph_takes_all_of_its_figure():
    fig, ax = plt.subplots(layout="constrained")
    directed_graph(GRAPH, ax=ax)
    fig.canvas.draw()
    assert ax.get_position().height > 0.9
    plt.close(fig)
