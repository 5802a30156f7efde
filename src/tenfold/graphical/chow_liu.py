"""The most likely tree of discrete variables."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from tenfold.graphical._state_rows import StateRows
from tenfold.graphical._structure_base import MAX_CELLS, STRUCTURE_CONSTRAINTS, StructureLearner
from tenfold.stats.dependence import maximum_spanning_tree, mutual_information


class ChowLiu(StructureLearner):
    r"""The most likely Bayesian network among all trees.

    The likelihood of a tree is the sum of the mutual informations of its edges, up to a constant,
    so the best tree is a spanning tree of largest sum [1]_. All pairs are counted in one pass.

    Parameters
    ----------
    nodes : list of str, optional
        Variables; by default all columns, those of arrays as x0, x1, ...
    root : str, optional
        Variable from which all arcs lead away; by default the first.
    pseudo_count : float
        Of the tables of the network.
    states : dict, optional
        States of variables; by default those that occur.

    Attributes
    ----------
    network_ : BayesianNetwork
    edges_ : list of (parent, child, mutual information)

    See Also
    --------
    TANClassifier : a tree of features within each class.
    HillClimbing : more than one parent.

    References
    ----------
    .. [1] C. K. Chow and C. N. Liu (1968), Approximating discrete probability distributions with
       dependence trees.

    Examples
    --------
    >>> from tenfold import ChowLiu
    >>> rows = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1]}
    >>> [edge[:2] for edge in ChowLiu().fit(rows).edges_]
    [('a', 'b'), ('a', 'c')]
    """

    _parameter_constraints: dict[str, Any] = {
        **STRUCTURE_CONSTRAINTS,
        "root": [str, None],
    }

    def __init__(
        self,
        *,
        nodes: Any = None,
        root: str | None = None,
        pseudo_count: float = 0.0,
        states: dict[str, Any] | None = None,
    ) -> None:
        self.nodes = nodes
        self.root = root
        self.pseudo_count = pseudo_count
        self.states = states

    def _search(self, coded: StateRows) -> list[tuple[str, str]]:
        names = coded.names
        if self.root is not None and self.root not in names:
            raise ValueError(f"root={self.root!r} is none of the variables {names[:10]}")
        weights = pair_information(coded)
        root = 0 if self.root is None else names.index(self.root)
        arcs = maximum_spanning_tree(weights, root)
        self.edges_ = [(names[a], names[b], float(weights[a, b])) for a, b in arcs]
        return [(names[a], names[b]) for a, b in arcs]


def pair_information(coded: StateRows) -> np.ndarray:
    """Mutual information of all pairs of variables, (p, p); in passes of bounded memory."""
    names, sizes = coded.names, [len(coded.states[v]) for v in coded.names]
    found = np.zeros((len(names), len(names)))
    lot: list[tuple[int, int]] = []
    cells = 0
    pairs = list(combinations(range(len(names)), 2))
    for at, (a, b) in enumerate(pairs):
        lot.append((a, b))
        cells += sizes[a] * sizes[b]
        if cells > MAX_CELLS or at == len(pairs) - 1:
            tables = coded.count_states([(names[i], names[j]) for i, j in lot])
            for (i, j), table in zip(lot, tables, strict=True):
                found[i, j] = found[j, i] = mutual_information(table)
            lot, cells = [], 0
    return found
