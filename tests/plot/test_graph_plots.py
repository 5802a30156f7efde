"""Pictures of directed graphs."""

import matplotlib.pyplot as plt

from tenfold.graphical.directed_graph import DirectedGraph
from tenfold.plot import directed_graph

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
