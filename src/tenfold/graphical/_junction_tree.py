"""Junction trees: cliques of a triangulated graph, and passes over them for rows of a table."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tenfold.engine.memory import check_memory
from tenfold.graphical._elimination import MAX_TABLE_BYTES, SUBSTITUTE, elimination_order
from tenfold.graphical._junction_tree_numba import JunctionArrays
from tenfold.graphical._state_rows import strides_of

_BYTES_PER_CELL = 40  # a potential, a working value, and places in separators and families

Families = dict[str, tuple[str, ...]]  # variable -> its parents and itself


class JunctionTree(NamedTuple):
    """A junction tree of the families of a network.

    Attributes
    ----------
    names : variables
    scopes : variables of each clique
    separators : variables that each clique shares with its parent
    arrays : the tree for compiled passes
    """

    names: list[str]
    scopes: list[tuple[str, ...]]
    separators: list[tuple[str, ...]]
    arrays: JunctionArrays

    def potentials(
        self, tables: dict[str, np.ndarray], soft: dict[str, np.ndarray] | None = None
    ) -> np.ndarray:
        """Products of the tables in each clique, one clique after the other.

        Parameters
        ----------
        tables : dict, variable -> array
            Its conditional probabilities.
        soft : dict, optional
            Likelihoods of the states of some variables.
        """
        tree = self.arrays
        flat = np.ones(tree.cell_start[-1])
        for v, name in enumerate(self.names):
            c = tree.family_clique[v]
            start = tree.family_map_start[v]
            cells = slice(tree.cell_start[c], tree.cell_start[c + 1])
            places = tree.family_map[start : start + tree.cell_start[c + 1] - tree.cell_start[c]]
            table = tables[name]
            if soft and name in soft:
                table = table * soft[name]
            flat[cells] *= table.reshape(-1)[places]
        return flat

    def split_tables(self, cells: np.ndarray, tables: dict[str, np.ndarray]) -> dict:
        """Cells of all families as a table for each variable, shaped like these."""
        start = self.arrays.table_start
        return {
            name: cells[start[v] : start[v + 1]].reshape(tables[name].shape)
            for v, name in enumerate(self.names)
        }


def build_junction_tree(
    families: Families, sizes: dict[str, int], *, root: tuple[str, ...] = ()
) -> JunctionTree:
    """The junction tree of a network, from an elimination order of least fill.

    Parameters
    ----------
    families : dict, variable -> its parents and itself
    sizes : dict, variable -> number of states
    root : variables, optional
        They share the first clique, which is a root.
    """
    names = list(families)
    scopes = _find_cliques([*families.values(), *([root] if root else [])], sizes)
    _check_size(scopes, sizes)
    tops = [n for n, scope in enumerate(scopes) if set(root) <= set(scope)]
    first = min(tops, key=lambda n: (_n_cells(scopes[n], sizes), n))
    order, parent = _span_cliques(scopes, first)
    place = {old: new for new, old in enumerate(order)}
    scopes = [scopes[old] for old in order]
    parents = np.array([place[parent[old]] if parent[old] >= 0 else -1 for old in order])
    shared = [
        tuple(v for v in scope if p >= 0 and v in set(scopes[p]))
        for scope, p in zip(scopes, parents.tolist(), strict=True)
    ]
    arrays = _flatten(names, families, sizes, scopes, parents, shared)
    return JunctionTree(names, scopes, shared, arrays)


def _n_cells(scope: tuple[str, ...], sizes: dict[str, int]) -> int:
    return int(np.prod([sizes[v] for v in scope]))


def _find_cliques(scopes: list[tuple[str, ...]], sizes: dict[str, int]) -> list[tuple[str, ...]]:
    """Largest sets of variables that stand together when variables are eliminated."""
    neighbors: dict[str, set[str]] = {v: set() for v in sizes}
    for scope in scopes:
        for a, b in combinations(scope, 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
    found: list[set[str]] = []
    holders: dict[str, list[int]] = {v: [] for v in sizes}
    for variable in elimination_order(scopes, sizes, set()):
        scope = {variable} | neighbors[variable]
        for a, b in combinations(sorted(neighbors[variable]), 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
        for v in neighbors.pop(variable):
            neighbors[v].discard(variable)
        if not any(scope <= found[at] for at in holders[variable]):
            for v in scope:
                holders[v].append(len(found))
            found.append(scope)
    position = {v: at for at, v in enumerate(sizes)}
    return [tuple(sorted(scope, key=position.__getitem__)) for scope in found]


def _check_size(scopes: list[tuple[str, ...]], sizes: dict[str, int]) -> None:
    cells = [float(np.prod([float(sizes[v]) for v in scope])) for scope in scopes]
    widest = scopes[int(np.argmax(cells))]
    shown = ", ".join(widest[:6]) + (", ..." if len(widest) > 6 else "")
    needed = _BYTES_PER_CELL * sum(cells)
    work = (
        f"the junction tree needs {needed:.3g} bytes: its largest clique joins {len(widest)} "
        f"variables ({shown}) in a table of {max(cells):.3g} entries"
    )
    if needed > MAX_TABLE_BYTES:
        raise MemoryError(f"{work}: {SUBSTITUTE}")
    check_memory(needed, work, SUBSTITUTE)


def _span_cliques(scopes: list[tuple[str, ...]], first: int) -> tuple[list[int], dict[int, int]]:
    """Cliques from the first on, parents before children, along the largest separators."""
    links = _link_cliques(scopes)
    order: list[int] = []
    parent: dict[int, int] = {}
    for start in [first, *range(len(scopes))]:
        agenda = [] if start in parent else [start]
        parent.setdefault(start, -1)
        while agenda:
            a = agenda.pop()
            order.append(a)
            new = [b for b in links[a] if b not in parent]
            parent.update(dict.fromkeys(new, a))
            agenda += new
    return order, parent


def _link_cliques(scopes: list[tuple[str, ...]]) -> dict[int, list[int]]:
    """Neighbors in a spanning tree of the most shared variables (Kruskal)."""
    holders: dict[str, list[int]] = {}
    for number, scope in enumerate(scopes):
        for v in scope:
            holders.setdefault(v, []).append(number)
    shared = Counter(pair for numbers in holders.values() for pair in combinations(numbers, 2))
    links: dict[int, list[int]] = {number: [] for number in range(len(scopes))}
    group = list(range(len(scopes)))

    def find(a: int) -> int:
        while group[a] != a:
            group[a] = group[group[a]]
            a = group[a]
        return a

    for a, b in sorted(shared, key=lambda pair: (-shared[pair], pair)):
        if find(a) != find(b):
            group[find(a)] = find(b)
            links[a].append(b)
            links[b].append(a)
    return links


def project_cells(
    scope: tuple[str, ...], onto: tuple[str, ...], sizes: dict[str, int]
) -> np.ndarray:
    """For each cell of a table of some variables, its cell in a table of fewer of them."""
    steps = dict(zip(onto, strides_of(tuple(sizes[v] for v in onto)), strict=True))
    places = np.zeros([sizes[v] for v in scope], np.int64)
    for axis, v in enumerate(scope):
        if v in steps:
            shape = [1] * len(scope)
            shape[axis] = sizes[v]
            places += (np.arange(sizes[v]) * steps[v]).reshape(shape)
    return places.reshape(-1)


def _flatten(
    names: list[str],
    families: Families,
    sizes: dict[str, int],
    scopes: list[tuple[str, ...]],
    parents: np.ndarray,
    shared: list[tuple[str, ...]],
) -> JunctionArrays:
    """The tree in arrays; see `JunctionArrays`."""
    number = {name: at for at, name in enumerate(names)}
    cells = [_n_cells(scope, sizes) for scope in scopes]
    down = [
        project_cells(scopes[p], sep, sizes) if p >= 0 else np.empty(0, np.int64)
        for p, sep in zip(parents.tolist(), shared, strict=True)
    ]
    children = [[c for c, p in enumerate(parents.tolist()) if p == at] for at in range(len(scopes))]
    holder = {v: set[int]() for v in names}
    for at, scope in enumerate(scopes):
        for v in scope:
            holder[v].add(at)
    small = lambda found: min(found, key=lambda c: (cells[c], c))  # noqa: E731
    family = [small(set.intersection(*(holder[u] for u in families[v]))) for v in names]
    maps = [
        project_cells(scopes[c], families[v], sizes) for v, c in zip(names, family, strict=True)
    ]
    above = zip(scopes, shared, strict=True)
    return JunctionArrays(
        np.array([sizes[v] for v in names], np.int64),
        _starts([len(scope) for scope in scopes]),
        np.array([number[v] for scope in scopes for v in scope], np.int64),
        np.array([s for c in scopes for s in strides_of(tuple(sizes[v] for v in c))], np.int64),
        _starts(cells),
        np.asarray(parents, np.int64),
        _starts([len(below) for below in children]),
        np.array([c for below in children for c in below], np.int64),
        _join([project_cells(scope, sep, sizes) for scope, sep in above]),
        _starts(
            [_n_cells(sep, sizes) if p >= 0 else 0 for sep, p in zip(shared, parents, strict=True)]
        ),
        _starts([len(part) for part in down]),
        _join(down),
        np.array(family, np.int64),
        _starts([len(part) for part in maps]),
        _join(maps),
        _starts([_n_cells(families[v], sizes) for v in names]),
        np.array([small(holder[v]) for v in names], np.int64),
        _starts([sizes[v] for v in names]),
    )


def _starts(lengths: list[int]) -> np.ndarray:
    return np.cumsum([0, *lengths]).astype(np.int64)


def _join(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([*parts, np.empty(0, np.int64)]).astype(np.int32)
