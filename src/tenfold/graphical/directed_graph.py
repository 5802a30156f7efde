"""Directed acyclic graphs: order, ancestors, d-separation, moral graph, separators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from tenfold.graphical.essential_graph import EssentialGraph


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
    def of(
        cls, parents: Mapping[str, str | Iterable[str]] | str | Iterable[tuple[str, str]]
    ) -> DirectedGraph:
        """The graph of these parents; nodes without an entry have none.

        Parameters
        ----------
        parents : dict, node -> its parents
            Or arcs, as `from_arcs` takes them: ``"a -> b -> c; d -> c"``, or pairs (from, to).

        Examples
        --------
        >>> DirectedGraph.of("rain -> wet; sprinkler -> wet").arcs
        [('rain', 'wet'), ('sprinkler', 'wet')]
        """
        if not isinstance(parents, Mapping):
            return cls.from_arcs(parents)
        given: dict[str, tuple[str, ...]] = {
            node: tuple(_as_list(above))
            for node, above in cast("Mapping[str, Iterable[str]]", parents).items()
        }
        for above in list(given.values()):
            for node in above:
                given.setdefault(node, ())
        wrong = [node for node in given if not isinstance(node, str)]
        if wrong:
            raise ValueError(f"nodes are named by text: write {str(wrong[0])!r}, not {wrong[0]!r}")
        for node, above in given.items():
            if len(set(above)) < len(above) or node in above:
                raise ValueError(f"the parents of {node!r}, {list(above)}, repeat or hold itself")
        return cls(_sort_topologically(given))

    @classmethod
    def from_arcs(
        cls,
        arcs: Mapping[str, str | Iterable[str]] | str | Iterable[tuple[str, str]],
        nodes: Iterable[str] = (),
    ) -> DirectedGraph:
        """The graph of arcs (from, to), and of further nodes.

        Parameters
        ----------
        arcs : pairs, str or dict
            As text, paths that are separated by semicolons: ``"a -> b -> c; d -> c"``. A dictionary
            holds the parents of nodes, as `of` takes it.
        nodes : nodes
            Nodes without arcs, or an order of all.

        Examples
        --------
        >>> DirectedGraph.from_arcs("a -> b -> c; d -> c").parents["c"]
        ('b', 'd')
        """
        parents: dict[str, list[str]] = {node: [] for node in nodes}
        if isinstance(arcs, Mapping):
            given = cast("Mapping[str, str | Iterable[str]]", arcs)
            return cls.of({**parents, **given})
        if isinstance(arcs, str):
            arcs, named = _parse_arcs(arcs)
            for node in named:
                parents.setdefault(node, [])
        for arc in arcs:
            if isinstance(arc, str) or not hasattr(arc, "__len__") or len(arc) != 2:
                raise ValueError(f"{arc!r} is no arc: give pairs (from, to)")
            tail, head = arc
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

    def ancestors(self, nodes: str | Iterable[str]) -> set[str]:
        """Some nodes, and all from which they can be reached."""
        return _reach(self._check(nodes), self.parents)

    def descendants(self, nodes: str | Iterable[str]) -> set[str]:
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
        one, two, known = _as_set(first), _as_set(second), _as_set(given)
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

    def minimal_separator(
        self,
        first: str | Iterable[str],
        second: str | Iterable[str],
        *,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> set[str] | None:
        """A set that separates two sets of nodes and of which no node can be spared.

        Two closures of the moral graph of the ancestors find it in linear time [1]_.

        Parameters
        ----------
        first, second : node or nodes
            The two sets.
        include, exclude : nodes
            Nodes that must, or must not, be in the separator.

        Returns
        -------
        set, or None if nothing separates them

        References
        ----------
        .. [1] B. van der Zander and M. Liskiewicz (2020), Finding minimal d-separators in linear
           time and applications.
        """
        one, two = _as_set(first), _as_set(second)
        fixed, banned = _as_set(include), _as_set(exclude)
        self._check(one | two | fixed | banned)
        if one & two or fixed & (one | two | banned) or not one or not two:
            raise ValueError("the sets must not share nodes, and the first two must not be empty")
        relevant = self.ancestors(one | two | fixed)
        separator = relevant - one - two - banned
        if not self.is_separated(one, two, separator):
            return None
        moral = self.moral_graph(relevant)
        separator = fixed | (separator & _boundary(moral, one, separator))
        return fixed | (separator & _boundary(moral, two, separator))

    def independences(self, max_given: int | None = None) -> list[tuple[str, str, tuple[str, ...]]]:
        """All triples (a, b, given) of two nodes that are separated by a set of others.

        Parameters
        ----------
        max_given : int, optional
            Most nodes of the third set; by default all others.
        """
        found = []
        for a, b in combinations(self.nodes, 2):
            rest = [node for node in self.nodes if node not in (a, b)]
            most = len(rest) if max_given is None else min(max_given, len(rest))
            sets = chain.from_iterable(combinations(rest, size) for size in range(most + 1))
            found += [(a, b, given) for given in sets if self.is_separated(a, b, given)]
        return found

    def moral_graph(self, nodes: Iterable[str] | None = None) -> dict[str, set[str]]:
        """Neighbors of each node when arcs lose their heads and parents of a child are joined.

        Parameters
        ----------
        nodes : nodes, optional
            Only these, which must hold the parents of each; by default all.
        """
        kept = self.parents if nodes is None else set(self._check(nodes))
        neighbors: dict[str, set[str]] = {node: set() for node in self.parents if node in kept}
        for node, above in self.parents.items():
            if node not in kept:
                continue
            family = (node, *above)
            for a in family:
                neighbors[a].update(b for b in family if b != a)
        return neighbors

    def essential_graph(self) -> EssentialGraph:
        """Its edges, with arcs where all graphs of the same independences have the same arc."""
        from tenfold.graphical.essential_graph import essential_graph

        return essential_graph(self)

    def without_arcs_into(self, nodes: str | Iterable[str]) -> DirectedGraph:
        """The graph after an intervention: nobody causes these nodes any more."""
        cut = set(self._check(nodes))
        return DirectedGraph.of({n: () if n in cut else p for n, p in self.parents.items()})

    def _check(self, nodes: str | Iterable[str]) -> list[str]:
        nodes = _as_list(nodes)
        strange = [node for node in nodes if node not in self.parents]
        if strange:
            raise ValueError(f"{strange[0]!r} is none of the nodes {self.nodes[:10]}")
        return nodes


def _parse_arcs(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Arcs and nodes of paths such as a -> b -> c, separated by semicolons or lines."""
    arcs: list[tuple[str, str]] = []
    named: list[str] = []
    for path in text.replace("\n", ";").split(";"):
        nodes = [node.strip() for node in path.split("->")]
        if nodes == [""]:
            continue
        if not all(nodes):
            raise ValueError(f"{path.strip()!r} is no path of arcs: write a -> b -> c; d -> c")
        named += nodes
        arcs += pairwise(nodes)
    return list(dict.fromkeys(arcs)), named


def _as_list(nodes: str | Iterable[str]) -> list[str]:
    """Nodes; a text is one of them."""
    return [nodes] if isinstance(nodes, str) else list(nodes)


def _as_set(nodes: str | Iterable[str]) -> set[str]:
    return set(_as_list(nodes))


def _boundary(neighbors: Mapping[str, set[str]], start: set[str], walls: set[str]) -> set[str]:
    """Nodes of a wall that paths from the start run into."""
    touched, seen, agenda = set[str](), set(start), list(start)
    while agenda:
        for node in neighbors[agenda.pop()]:
            if node in walls:
                touched.add(node)
            elif node not in seen:
                seen.add(node)
                agenda.append(node)
    return touched


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
