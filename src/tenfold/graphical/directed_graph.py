"""Directed acyclic graphs: order, ancestors, d-separation, moral graph, separators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class DirectedGraph(NamedTuple):
    """A directed acyclic graph.

    Attributes
    ----------
    parents : node -> its parents; nodes in an order in which parents come first

    Examples
    --------
    A collider: two causes are independent until their effect, or what follows from it, is known.

    >>> graph = DirectedGraph.of({"rain": [], "sprinkler": [], "wet": ["rain", "sprinkler"]})
    >>> graph.is_separated("rain", "sprinkler"), graph.is_separated("rain", "sprinkler", ["wet"])
    (True, False)
    """

    parents: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, parents: Mapping[str, Iterable[str]]) -> DirectedGraph:
        """The graph of these parents; nodes without an entry have none."""
        given = {node: tuple(above) for node, above in parents.items()}
        for above in list(given.values()):
            for node in above:
                given.setdefault(node, ())
        for node, above in given.items():
            if len(set(above)) < len(above) or node in above:
                raise ValueError(f"the parents of {node!r}, {list(above)}, repeat or hold itself")
        return cls(_sort_topologically(given))

    @classmethod
    def from_arcs(cls, arcs: Iterable[tuple[str, str]], nodes: Iterable[str] = ()) -> DirectedGraph:
        """The graph of arcs (from, to), and of further nodes."""
        parents: dict[str, list[str]] = {node: [] for node in nodes}
        for tail, head in arcs:
            parents.setdefault(tail, [])
            parents.setdefault(head, []).append(tail)
        return cls.of(parents)

    @property
    def nodes(self) -> list[str]:
        """Nodes; parents come before children."""
        return list(self.parents)

    @property
    def arcs(self) -> list[tuple[str, str]]:
        """Pairs (from, to)."""
        return [(parent, node) for node, above in self.parents.items() for parent in above]

    @property
    def children(self) -> dict[str, tuple[str, ...]]:
        """Node -> its children."""
        below: dict[str, list[str]] = {node: [] for node in self.parents}
        for tail, head in self.arcs:
            below[tail].append(head)
        return {node: tuple(found) for node, found in below.items()}

    def ancestors(self, nodes: Iterable[str]) -> set[str]:
        """Some nodes, and all from which they can be reached."""
        return _reach(self._check(nodes), self.parents)

    def descendants(self, nodes: Iterable[str]) -> set[str]:
        """Some nodes, and all that can be reached from them."""
        return _reach(self._check(nodes), self.children)

    def markov_blanket(self, node: str) -> set[str]:
        """Parents, children and their other parents: what makes a node independent of the rest."""
        self._check([node])
        below = self.children[node]
        return {*self.parents[node], *below, *(p for c in below for p in self.parents[c])} - {node}

    def is_separated(
        self, first: str | Iterable[str], second: str | Iterable[str], given: Iterable[str] = ()
    ) -> bool:
        """Whether two sets of nodes are d-separated, hence independent, given a third.

        Parameters
        ----------
        first, second : node or nodes
            The two sets.
        given : nodes
            What is known.
        """
        one, two, known = _as_set(first), _as_set(second), set(given)
        self._check(one | two | known)
        if one & two or (one | two) & known:
            raise ValueError("the three sets must not share nodes")
        return not (self._active_nodes(one, known) & two)

    def _active_nodes(self, sources: set[str], known: set[str]) -> set[str]:
        """Nodes that an active path reaches: Shachter's rules for the ball."""
        opened = self.ancestors(known)  # colliders with a known descendant
        children, visited, reached = self.children, set(), set()
        agenda = [(node, "up") for node in sources]  # arrived from a child
        while agenda:
            node, direction = agenda.pop()
            if (node, direction) in visited:
                continue
            visited.add((node, direction))
            if node not in known:
                reached.add(node)
            if direction == "up" and node not in known:
                agenda += [(parent, "up") for parent in self.parents[node]]
                agenda += [(child, "down") for child in children[node]]
            elif direction == "down":
                if node not in known:
                    agenda += [(child, "down") for child in children[node]]
                if node in opened:
                    agenda += [(parent, "up") for parent in self.parents[node]]
        return reached

    def minimal_separator(self, first: str, second: str) -> set[str] | None:
        """A set that separates two nodes and of which no node can be spared; None for neighbors.

        Parameters
        ----------
        first, second : node
            The two nodes.
        """
        self._check([first, second])
        if first in self.parents[second] or second in self.parents[first]:
            return None
        separator = self.ancestors([first, second]) - {first, second}
        for node in sorted(separator):
            if self.is_separated(first, second, separator - {node}):
                separator = separator - {node}
        return separator

    def moral_graph(self) -> dict[str, set[str]]:
        """Neighbours of each node when arcs lose their heads and parents of a child are joined."""
        neighbors: dict[str, set[str]] = {node: set() for node in self.parents}
        for node, above in self.parents.items():
            family = (node, *above)
            for a in family:
                neighbors[a].update(b for b in family if b != a)
        return neighbors

    def without_arcs_into(self, nodes: Iterable[str]) -> DirectedGraph:
        """The graph after an intervention: nobody causes these nodes any more."""
        cut = set(self._check(nodes))
        return DirectedGraph.of({n: () if n in cut else p for n, p in self.parents.items()})

    def _check(self, nodes: Iterable[str]) -> list[str]:
        nodes = list(nodes)
        strange = [node for node in nodes if node not in self.parents]
        if strange:
            raise ValueError(f"{strange[0]!r} is none of the nodes {self.nodes[:10]}")
        return nodes


def _as_set(nodes: str | Iterable[str]) -> set[str]:
    return {nodes} if isinstance(nodes, str) else set(nodes)


def _reach(start: Iterable[str], links: Mapping[str, Iterable[str]]) -> set[str]:
    found, agenda = set(), list(start)
    while agenda:
        node = agenda.pop()
        if node not in found:
            found.add(node)
            agenda.extend(links[node])
    return found


def _sort_topologically(parents: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Nodes in an order in which parents come first; otherwise in the given order."""
    ordered: dict[str, tuple[str, ...]] = {}
    waiting = dict(parents)
    while waiting:
        ready = [n for n, above in waiting.items() if all(p in ordered for p in above)]
        if not ready:
            raise ValueError(
                f"the arcs among {', '.join(sorted(waiting)[:6])} form a cycle: a Bayesian network "
                "has none"
            )
        for node in ready:
            ordered[node] = waiting.pop(node)
    return ordered
