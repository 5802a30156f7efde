"""Graphs with arcs and edges: what all Bayesian networks with the same independences share."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from tenfold.graphical.directed_graph import DirectedGraph

Arc = tuple[str, str]


class EssentialGraph(NamedTuple):
    """Nodes, arcs whose direction is settled, and edges whose direction is not.

    Two directed graphs have the same independences exactly if they have the same edges and the same
    colliders whose parents are not joined; arcs that point the same way in all of them are settled.

    Attributes
    ----------
    nodes : all nodes
    arcs : pairs (from, to), sorted
    edges : pairs in the order of the nodes, sorted

    Examples
    --------
    >>> from tenfold.graphical import DirectedGraph
    >>> graph = DirectedGraph.from_arcs("a -> c; b -> c; c -> d; d -> e").essential_graph()
    >>> graph.arcs, graph.edges
    ((('a', 'c'), ('b', 'c'), ('c', 'd'), ('d', 'e')), ())
    """

    nodes: tuple[str, ...]
    arcs: tuple[Arc, ...]
    edges: tuple[Arc, ...]

    def to_directed_graph(self) -> DirectedGraph | None:
        """A directed graph with these arcs and no new colliders; None if there is none.

        The algorithm of Dor and Tarsi: nodes without outgoing arcs, whose neighbors are joined to
        all others around them, come last.
        """
        arcs = set(self.arcs)
        links = _Links(self.nodes, arcs, {frozenset(edge) for edge in self.edges})
        left = list(self.nodes)
        found = set(arcs)
        while left:
            sink = next((n for n in reversed(left) if _is_sink(n, links)), None)
            if sink is None:
                return None
            for other in links.neighbors(sink):
                found.add((other, sink))
            links.remove(sink)
            left.remove(sink)
        return DirectedGraph.from_arcs(sorted(found), self.nodes)


class _Links:
    """Arcs and edges that change while they are directed."""

    def __init__(self, nodes: Iterable[str], arcs: set[Arc], edges: set[frozenset]) -> None:
        self.nodes, self.arcs, self.edges = list(nodes), set(arcs), set(edges)

    def neighbors(self, node: str) -> list[str]:
        """Neighbors by an edge."""
        return [n for n in self.nodes if frozenset((node, n)) in self.edges]

    def is_linked(self, a: str, b: str) -> bool:
        """Whether an arc or an edge joins two nodes."""
        return frozenset((a, b)) in self.edges or (a, b) in self.arcs or (b, a) in self.arcs

    def direct(self, tail: str, head: str) -> None:
        """Make an edge an arc."""
        self.edges.discard(frozenset((tail, head)))
        self.arcs.add((tail, head))

    def remove(self, node: str) -> None:
        """Take a node away."""
        self.arcs = {arc for arc in self.arcs if node not in arc}
        self.edges = {edge for edge in self.edges if node not in edge}
        self.nodes.remove(node)


def _is_sink(node: str, links: _Links) -> bool:
    if any(tail == node for tail, _ in links.arcs):
        return False
    free = links.neighbors(node)
    around = [n for n in links.nodes if n != node and links.is_linked(n, node)]
    return all(a == b or links.is_linked(a, b) for a in free for b in around)


def orient_edges(
    nodes: Iterable[str], edges: Iterable[Arc], colliders: Iterable[tuple[str, str, str]]
) -> EssentialGraph:
    """Direct edges into colliders, then all that follows from them by the rules of Meek.

    Parameters
    ----------
    nodes, edges
        The graph without directions.
    colliders : triples (a, b, c)
        a -> b <- c, where a and c are not joined. Where two of them disagree about an edge, the
        first one counts.
    """
    nodes = tuple(nodes)
    links = _Links(nodes, set(), {frozenset(edge) for edge in edges})
    for a, b, c in colliders:
        for tail in (a, c):
            if (b, tail) not in links.arcs:
                links.direct(tail, b)
    while _apply_meek_rules(links):
        pass
    place = {node: at for at, node in enumerate(nodes)}
    free = {tuple(sorted(edge, key=place.__getitem__)) for edge in links.edges}
    return EssentialGraph(nodes, tuple(sorted(links.arcs)), tuple(sorted(free)))


def _apply_meek_rules(links: _Links) -> bool:
    """Direct one edge that cannot point the other way; whether there was one."""
    for a in links.nodes:
        for b in links.neighbors(a):
            if _must_point(links, a, b):
                links.direct(a, b)
                return True
    return False


def _must_point(links: _Links, a: str, b: str) -> bool:
    """Whether b -> a would make a new collider or a cycle."""
    into_a = [n for n in links.nodes if (n, a) in links.arcs]
    into_b = [n for n in links.nodes if (n, b) in links.arcs]
    if any(not links.is_linked(n, b) for n in into_a):  # rule 1
        return True
    if any((a, n) in links.arcs for n in into_b):  # rule 2
        return True
    sides = [n for n in links.neighbors(a) if n in into_b]
    if any(not links.is_linked(m, n) for m, n in combinations(sides, 2)):  # rule 3
        return True
    return any(  # rule 4: a - m, m -> n -> b, m and b not joined
        (m, n) in links.arcs and not links.is_linked(m, b) and links.is_linked(a, n)
        for n in into_b
        for m in links.neighbors(a)
    )


def essential_graph(graph: DirectedGraph) -> EssentialGraph:
    """The essential graph of a directed one: its edges, and directions that are the same in all."""
    neighbors = {frozenset(arc) for arc in graph.arcs}
    colliders = [
        (a, node, c)
        for node, above in graph.parents.items()
        for a, c in combinations(above, 2)
        if frozenset((a, c)) not in neighbors
    ]
    return orient_edges(graph.nodes, graph.arcs, colliders)
