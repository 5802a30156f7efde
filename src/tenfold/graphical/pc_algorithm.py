"""The PC algorithm: structure from tests of conditional independence."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.save_mixin import SaveMixin
from tenfold.engine.arrays import ArraySource
from tenfold.engine.context import current_engine
from tenfold.engine.rows import Rows
from tenfold.graphical._independence_tests import (
    CorrelationTest,
    CountTest,
    OwnTest,
    Triple,
    chunk_moments,
)
from tenfold.graphical._state_rows import check_weight, open_states, work_context
from tenfold.graphical._structure_base import check_complete, fit_network
from tenfold.graphical._table_columns import read_columns
from tenfold.graphical.bayesian_network import BayesianNetwork
from tenfold.graphical.essential_graph import orient_edges
from tenfold.io.opener import is_rows_like
from tenfold.io.opener import open as open_rows


class PC(SaveMixin, BaseEstimator):
    r"""Structure by tests of conditional independence.

    Begins with all edges and removes one when a test finds its ends independent given some of
    their neighbors: sets of none, then of one, then of two. The stable version [2]_ decides a size
    of set from the edges at its beginning, so that the order of the columns does not matter. Two
    ends of a path a - b - c that were separated without b make b a collider; Meek's rules direct
    what else follows.

    Parameters
    ----------
    alpha : float
        Level of the tests: an edge stays if every p-value is at most this.
    test : {"chi_square", "g_square", "fisher_z"} or callable
        Test of counts, likelihood ratio of counts, partial correlations of numbers; or a function
        (a, b, given) that returns a p-value.
    max_given : int, optional
        Most variables that are given in a test.
    nodes : list of str, optional
        Variables; by default all columns, those of arrays as x0, x1, ...
    pseudo_count : float
        Of the tables of the network.
    states : dict, optional
        States of variables; by default those that occur.

    Attributes
    ----------
    essential_graph_ : EssentialGraph
        Arcs whose direction is settled, and edges whose is not.
    separators_ : dict, pair of variables -> tuple
        What made two variables independent.
    p_values_ : dict, pair of variables -> float
        The largest p-value of each pair.
    n_tests_ : int
    network_ : BayesianNetwork or None
        A network with these independences, fitted to the rows; None if the rows are numbers, if
        the test is a function and X is None, or if the directions found contradict each other.

    See Also
    --------
    HillClimbing : by a score.

    References
    ----------
    .. [1] P. Spirtes, C. Glymour and R. Scheines (2000), Causation, prediction, and search.
    .. [2] D. Colombo and M. H. Maathuis (2014), Order-independent constraint-based causal structure
       learning.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PC
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(0, 2, (2, 500))
    >>> found = PC().fit({"a": a, "b": b, "c": a + b}).essential_graph_
    >>> found.arcs, found.edges
    ((('a', 'c'), ('b', 'c')), ())
    """

    _parameter_constraints: dict[str, Any] = {
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "test": [StrOptions({"chi_square", "g_square", "fisher_z"}), callable],
        "max_given": [Interval(Integral, 0, None, closed="left"), None],
        "nodes": [list, tuple, None],
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
        "states": [dict, None],
    }

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        test: Any = "chi_square",
        max_given: int | None = None,
        nodes: Any = None,
        pseudo_count: float = 0.0,
        states: dict[str, Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.test = test
        self.max_given = max_given
        self.nodes = nodes
        self.pseudo_count = pseudo_count
        self.states = states

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the structure; estimate tables where the variables are discrete.

        Parameters
        ----------
        X : array, data frame, dict of columns, list of dicts, path, Dask collection, open rows
            The rows, without gaps. May be None if the test is a function and `nodes` are given.
        y : None
            Not used.
        sample_weight : array, optional
            Weight of each row.

        Returns
        -------
        self
        """
        self._validate_params()
        with work_context(self):
            names, test, coded = self._prepare(X, sample_weight)
            edges = self._find_skeleton(names, test)
            colliders = self._find_colliders(names, edges)
            self.essential_graph_ = orient_edges(names, edges, colliders)
            graph = self.essential_graph_.to_directed_graph()
            self.network_: BayesianNetwork | None = None
            if coded is not None and graph is not None:
                self.network_ = fit_network(graph.arcs, coded, self.pseudo_count)
        return self

    def _prepare(self, X: Any, weight: Any) -> tuple[list[str], Any, Any]:
        """Names, the test, and rows of states if there are any."""
        names = None if self.nodes is None else list(self.nodes)
        if self.test == "fisher_z":
            found, rows = _open_numbers(X, names, weight)
            return found, CorrelationTest(found, rows.total(chunk_moments)), None
        if X is None:
            if names is None or not callable(self.test):
                raise ValueError("without rows, give nodes and a function as test")
            return names, OwnTest(cast("Any", self.test)), None
        coded = open_states(X, names, states=self.states, sample_weight=weight)
        check_complete(coded)
        test = (
            OwnTest(cast("Any", self.test)) if callable(self.test) else CountTest(coded, self.test)
        )
        return coded.names, test, coded

    def _find_skeleton(self, names: list[str], test: Any) -> list[tuple[str, str]]:
        """Edges that no set of neighbors separates."""
        edges = list(combinations(names, 2))
        self.separators_: dict[tuple[str, str], tuple[str, ...]] = {}
        self.p_values_ = dict.fromkeys(edges, 0.0)
        self.n_tests_, size = 0, 0
        most = len(names) - 2 if self.max_given is None else self.max_given
        while size <= most:
            around = {v: [b if a == v else a for a, b in edges if v in (a, b)] for v in names}
            triples = [triple for edge in edges for triple in _sets_around(edge, around, size)]
            if not triples:
                break
            for (a, b, given), p in zip(triples, test.p_values(triples), strict=True):
                self.n_tests_ += 1
                if p > max(self.alpha, self.p_values_[a, b]):
                    self.separators_[a, b] = given
                self.p_values_[a, b] = max(self.p_values_[a, b], p)
            edges = [edge for edge in edges if edge not in self.separators_]
            size += 1
        return edges

    def _find_colliders(
        self, names: list[str], edges: list[tuple[str, str]]
    ) -> list[tuple[str, str, str]]:
        """Paths a - b - c whose ends were separated without b; the surest come first."""
        joined = {frozenset(edge) for edge in edges}
        found = [
            (a, b, c)
            for (a, c), given in self.separators_.items()
            for b in names
            if {frozenset((a, b)), frozenset((b, c))} <= joined and b not in given
        ]
        return sorted(found, key=lambda t: (-self.p_values_[t[0], t[2]], t))


def _sets_around(edge: tuple[str, str], around: dict[str, list[str]], size: int) -> list[Triple]:
    """Tests of an edge given sets of neighbors of either end; none twice."""
    a, b = edge
    sides = ([v for v in around[a] if v != b], [v for v in around[b] if v != a])
    sets = dict.fromkeys(given for side in sides for given in combinations(side, size))
    return [(a, b, given) for given in sets]


def _open_numbers(X: Any, names: list[str] | None, weight: Any) -> tuple[list[str], Rows]:
    """Rows of numbers, and the names of their columns."""
    if is_rows_like(X):
        rows = open_rows(X, weight=weight)
        found = list(rows.names) if rows.names else [f"x{j}" for j in range(rows.n_features)]
        return names or found, rows
    columns = read_columns(X, names)
    names = list(columns) if names is None else names
    try:
        table = np.column_stack([np.asarray(columns[name], np.float64) for name in names])
    except (TypeError, ValueError):
        text = [n for n in names if columns[n].dtype.kind not in "iufb"]
        shown = text[0] if text else names[0]
        raise ValueError(f"the column {shown!r} holds no numbers: choose another test") from None
    w = check_weight(weight, len(table))
    return names, Rows(ArraySource(table, w=w), engine=current_engine())
