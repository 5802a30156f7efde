"""Directed graphs: d-separation by the paths themselves."""

from itertools import combinations, product

import numpy as np
import pytest

from tenfold import BayesianNetwork
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


def all_joint_tables(names, rng):
    """Every graph along an order of the nodes, and its joint table with random binary tables."""
    pairs = list(combinations(names, 2))
    graphs, tables = [], []
    for present in product((0, 1), repeat=len(pairs)):
        arcs = [pair for pair, there in zip(pairs, present, strict=True) if there]
        graph = DirectedGraph.from_arcs(arcs, names)
        joint = np.ones((2,) * len(names))
        for at, name in enumerate(names):
            above = [names.index(p) for p in graph.parents[name]]
            shape = [2 if i in above or i == at else 1 for i in range(len(names))]
            p = rng.uniform(0.05, 0.95, [2 if i in above else 1 for i in range(len(names))])
            joint = joint * np.concatenate([p, 1 - p], axis=at).reshape(shape)
        graphs.append(graph)
        tables.append(joint)
    return graphs, np.array(tables)


def test_all_triples_of_all_graphs_of_five_nodes_are_independent_exactly_if_separated():
    """All graphs of five nodes but for their names; dependence is a property of random tables."""
    names = "abcde"
    draws = [all_joint_tables(names, np.random.default_rng(seed)) for seed in range(3)]
    graphs, joint = draws[0][0], np.concatenate([tables for _, tables in draws])
    assert len(graphs) == 1024
    for a, b in combinations(range(5), 2):
        rest = [i for i in range(5) if i not in (a, b)]
        for size in range(4):
            for given in combinations(rest, size):
                gone = tuple(1 + i for i in rest if i not in given)
                p = joint.sum(axis=gone, keepdims=True)
                pa, pb = p.sum(axis=1 + b, keepdims=True), p.sum(axis=1 + a, keepdims=True)
                pz = pa.sum(axis=1 + a, keepdims=True)
                information = (p * np.log(p * pz / (pa * pb))).reshape(3, 1024, -1).sum(axis=2)
                known = [names[i] for i in given]
                separated = [g.is_separated(names[a], names[b], known) for g in graphs]
                np.testing.assert_array_equal(information.max(axis=0) < 1e-12, separated)


def test_separators_are_minimal():
    for graph in all_graphs_of_four():
        for a, b in combinations("abcd", 2):
            separator = graph.minimal_separator(a, b)
            assert graph.minimal_separator(b, a) is None or separator is not None
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


def test_separators_of_sets_with_fixed_and_forbidden_nodes():
    rng = np.random.default_rng(0)
    names = "abcdefg"
    for _ in range(200):
        arcs = [pair for pair in combinations(names, 2) if rng.random() < 0.35]
        graph = DirectedGraph.from_arcs(arcs, names)
        one, two, kept = ({str(n)} for n in rng.permutation(list(names))[:3])
        banned = {n for n in names if rng.random() < 0.2}
        banned -= one | two | kept
        found = graph.minimal_separator(one, two, include=kept, exclude=banned)
        rest = set(names) - one - two - kept - banned
        options = [
            kept | set(more)
            for size in range(len(rest) + 1)
            for more in combinations(sorted(rest), size)
            if graph.is_separated(one, two, kept | set(more))
        ]
        assert (found is None) == (not options)
        if found is not None:
            assert found >= kept
            assert not found & banned
            assert found in options
            assert not any(option < found for option in options)


def test_networks_are_written_as_text():
    graph = DirectedGraph.from_arcs("a -> b -> c; d -> c; e")
    assert graph.parents == {"a": (), "d": (), "e": (), "b": ("a",), "c": ("b", "d")}
    assert ("a", "c", ("b",)) in graph.independences(1)
    with pytest.raises(ValueError, match="no path of arcs"):
        DirectedGraph.from_arcs("a -> -> b")
    with pytest.raises(ValueError, match="no arc"):
        DirectedGraph.from_arcs(["ab"])


def all_directed_graphs(names):
    """All graphs without cycles."""
    pairs = list(combinations(names, 2))
    for choice in product((0, 1, 2), repeat=len(pairs)):
        arcs = [p if k == 1 else p[::-1] for p, k in zip(pairs, choice, strict=True) if k]
        try:
            yield DirectedGraph.from_arcs(arcs, names)
        except ValueError:
            continue


def test_essential_graphs_are_what_all_equivalent_graphs_share():
    classes = {}
    graphs = list(all_directed_graphs("abcd"))
    assert len(graphs) == 543
    for graph in graphs:
        key = tuple(graph.independences())
        key = tuple(sorted((*sorted(t[:2]), tuple(sorted(t[2]))) for t in key))
        classes.setdefault(key, []).append(graph)
    assert len(classes) == 185  # of four nodes
    for members in classes.values():
        shared = set.intersection(*(set(g.arcs) for g in members))
        for graph in members:
            found = graph.essential_graph()
            assert set(found.arcs) == shared
            edges = {frozenset(arc) for arc in graph.arcs} - {frozenset(arc) for arc in shared}
            assert {frozenset(edge) for edge in found.edges} == edges
            again = found.to_directed_graph()
            assert set(again.arcs) in [set(g.arcs) for g in members]


def test_a_graph_is_given_by_parents_or_by_arcs():
    graph = DirectedGraph.of({"rain": [], "sprinkler": [], "wet": ["rain", "sprinkler"]})
    for same in ("rain -> wet; sprinkler -> wet", [("rain", "wet"), ("sprinkler", "wet")]):
        assert DirectedGraph.of(same).parents["wet"] == graph.parents["wet"]
        assert set(DirectedGraph.of(same).nodes) == set(graph.nodes)
    with pytest.raises(ValueError, match="1 is no arc"):
        DirectedGraph.of([1])


def test_a_text_is_one_node():
    graph = DirectedGraph.of({"wet": "rain", "slip": "wet"})
    assert graph.parents == {"rain": (), "wet": ("rain",), "slip": ("wet",)}
    assert graph.ancestors("slip") == {"rain", "wet", "slip"}
    assert graph.descendants("wet") == {"wet", "slip"}
    assert graph.without_arcs_into("wet").parents["wet"] == ()


def test_arcs_may_be_a_dictionary_of_parents():
    rows = {"a": [0, 1, 0, 1], "b": [0, 1, 1, 1], "c": [1, 0, 1, 1]}
    by_parents = BayesianNetwork({"c": ["a", "b"], "b": "a"}, pseudo_count=1.0).fit(rows)
    by_arcs = BayesianNetwork("a -> c; b -> c; a -> b", pseudo_count=1.0).fit(rows)
    assert by_parents.factorization() == by_arcs.factorization() == "p(a) p(b | a) p(c | a, b)"
    assert by_parents.query("c", {"b": 1}).to_dict() == by_arcs.query("c", {"b": 1}).to_dict()
