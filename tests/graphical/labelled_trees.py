"""All trees over a few nodes, for tests that try every one."""

from itertools import combinations


def all_trees(names):
    """All labelled trees, as sets of edges."""
    for edges in combinations(list(combinations(names, 2)), len(names) - 1):
        parent = {name: name for name in names}

        def find(name, parent=parent):
            return name if parent[name] == name else find(parent[name])

        joined = True
        for a, b in edges:
            joined &= find(a) != find(b)
            parent[find(a)] = find(b)
        if joined:
            yield edges


def orient(edges, root):
    arcs, agenda, waiting = [], [root], set(edges)
    while agenda:
        node = agenda.pop()
        for edge in sorted(edge for edge in waiting if node in edge):
            waiting.discard(edge)
            other = edge[0] if edge[1] == node else edge[1]
            arcs.append((node, other))
            agenda.append(other)
    return arcs
