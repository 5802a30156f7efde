"""Directed graphs: d-separation by the paths themselves."""

from itertools import combinations, product

import numpy as np
import pytest

from tenfold.graphical.directed_graph import DirectedGraph


def paths(graph, a, b):
    """All undirected paths without repetition."""
    neighbours = {n: set() for n in graph.nodes}
    for tail, head in graph.arcs:
        neighbours[tail].add(head)
        neighbours[head].add(tail)
    agenda = [[a]]
    while agenda:
        path = agenda.pop()
        if path[-1] == b:
            yield path
            continue
        agenda += [[*path, n] for n in neighbours[path[-1]] if n not in path]


def is_blocked(graph, path, given):
    """The three cases: chain and fork are blocked by what is known, a collider by what is not."""
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        collider = before in graph.parents[node] and after in graph.parents[node]
        if collider and not (graph.descendants([node]) & set(given)):
            return True
        if not collider and node in given:
            return True
    return False


def by_paths(graph, a, b, given):
    return all(is_blocked(graph, path, given) for path in paths(graph, a, b))


def test_three_cases():
    chain = DirectedGraph.of({"a": [], "b": ["a"], "c": ["b"]})
    fork = DirectedGraph.of({"b": [], "a": ["b"], "c": ["b"]})
    collider = DirectedGraph.of({"a": [], "c": [], "b": ["a", "c"], "d": ["b"]})
    for graph in (chain, fork):
        assert not graph.is_separated("a", "c")
        assert graph.is_separated("a", "c", ["b"])
    assert collider.is_separated("a", "c")
    assert not collider.is_separated("a", "c", ["b"])
    assert not collider.is_separated("a", "c", ["d"])  # a descendant of the collider


def all_graphs_of_four():
    names = "abcd"
    pairs = list(combinations(names, 2))
    for present in product((0, 1), repeat=len(pairs)):
        arcs = [pair for pair, there in zip(pairs, present, strict=True) if there]
        yield DirectedGraph.from_arcs(arcs, names)


def test_all_triples_of_all_graphs_of_four_nodes():
    for graph in all_graphs_of_four():
        for a, b in combinations("abcd", 2):
            rest = [n for n in "abcd" if n not in (a, b)]
            for size in range(3):
                for given in combinations(rest, size):
                    expected = by_paths(graph, a, b, given)
                    assert graph.is_separated(a, b, given) == expected
                    assert graph.is_separated(b, a, given) == expected


def test_random_graphs_of_five_nodes():
    rng = np.random.default_rng(0)
    names = "abcde"
    for _ in range(150):
        arcs = [pair for pair in combinations(names, 2) if rng.random() < 0.5]
        graph = DirectedGraph.from_arcs(arcs, names)
        for a, b in combinations(names, 2):
            given = [n for n in names if n not in (a, b) and rng.random() < 0.5]
            assert graph.is_separated(a, b, given) == by_paths(graph, a, b, given)


def test_separators_are_minimal():
    for graph in all_graphs_of_four():
        for a, b in combinations("abcd", 2):
            separator = graph.minimal_separator(a, b)
            if separator is None:
                assert (a, b) in graph.arcs
                continue
            assert graph.is_separated(a, b, separator)
            for node in separator:
                assert not graph.is_separated(a, b, separator - {node})


def test_a_markov_blanket_separates_from_the_rest():
    graph = DirectedGraph.of(
        {"a": [], "b": [], "c": ["a", "b"], "d": ["c"], "e": ["c", "f"], "f": [], "g": ["e"]}
    )
    blanket = graph.markov_blanket("c")
    assert blanket == {"a", "b", "d", "e", "f"}
    assert graph.is_separated("c", "g", blanket)
    assert graph.moral_graph()["c"] == {"a", "b", "d", "e", "f"}
    assert "b" in graph.moral_graph()["a"]


def test_bad_graphs_and_nodes_are_named():
    with pytest.raises(ValueError, match="cycle"):
        DirectedGraph.of({"a": ["b"], "b": ["a"]})
    with pytest.raises(ValueError, match="'z' is none of the nodes"):
        DirectedGraph.of({"a": []}).is_separated("a", "z")
    with pytest.raises(ValueError, match="share"):
        DirectedGraph.of({"a": [], "b": []}).is_separated("a", "b", ["a"])
    with pytest.raises(ValueError, match="itself"):
        DirectedGraph.of({"a": ["a"]})
