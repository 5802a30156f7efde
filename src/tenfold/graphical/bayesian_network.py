"""Bayesian networks of discrete variables."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.graphical._elimination import enumerate_states
from tenfold.graphical._network_queries import NetworkQueries
from tenfold.graphical._table_columns import encode_column, find_states, read_columns
from tenfold.graphical.directed_graph import DirectedGraph
from tenfold.graphical.factors import Factor


class BayesianNetwork(NetworkQueries, BaseEstimator):
    r"""Bayesian network of discrete variables.

    .. math:: p(x_1, \dots, x_d) = \prod_v p(x_v \mid x_{\mathrm{pa}(v)})

    The tables are given (`from_tables`) or learned from rows: shares of counts, which is maximum
    likelihood, or posterior means under Dirichlet priors (`pseudo_count`). Counts are whole numbers
    and merge exactly.

    Parameters
    ----------
    arcs : list of pairs (from, to)
        The structure.
    nodes : list of str, optional
        Variables; needed for those without arcs.
    pseudo_count : float
        Added to each count.
    states : dict, optional
        States of variables, in order; by default those that occur.

    Attributes
    ----------
    graph_ : DirectedGraph
    states_ : dict, variable -> tuple of states
    tables_ : dict, variable -> array
        Axes: the parents of the variable, in the order of `graph_.parents`, then itself; the last
        axis sums to one.
    family_counts_ : dict, variable -> array of counts of the same shape

    See Also
    --------
    tenfold.graphical.DirectedGraph : separation in graphs.
    tenfold.graphical.propagate_beliefs : belief propagation with visible messages.

    References
    ----------
    D. Koller and N. Friedman (2009), Probabilistic graphical models.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BayesianNetwork
    >>> net = BayesianNetwork.from_tables(
    ...     {"rain": [], "sprinkler": ["rain"], "wet": ["sprinkler", "rain"]},
    ...     {
    ...         "rain": [0.8, 0.2],
    ...         "sprinkler": [[0.6, 0.4], [0.99, 0.01]],
    ...         "wet": [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]],
    ...     },
    ... )
    >>> net.factorization()
    'p(rain) p(sprinkler | rain) p(wet | sprinkler, rain)'
    >>> net.query("rain", {"wet": 1}).table.round(4).tolist()
    [0.6423, 0.3577]
    """

    _parameter_constraints: dict[str, Any] = {
        "arcs": [list, tuple],
        "nodes": [list, tuple, None],
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
        "states": [dict, None],
    }

    def __init__(
        self,
        arcs: Any = (),
        *,
        nodes: Any = None,
        pseudo_count: float = 0.0,
        states: dict[str, Any] | None = None,
    ) -> None:
        self.arcs = arcs
        self.nodes = nodes
        self.pseudo_count = pseudo_count
        self.states = states

    @classmethod
    def from_tables(
        cls,
        parents: Mapping[str, Any],
        tables: Mapping[str, Any],
        states: Mapping[str, Any] | None = None,
    ) -> Self:
        """The network of given tables.

        Parameters
        ----------
        parents : dict, variable -> list of parents
            The structure.
        tables : dict, variable -> array
            Conditional probabilities: an axis for each parent, in their order, then one for the
            variable itself, which sums to one.
        states : dict, variable -> list of states, optional
            Names of the states; by default 0, 1, ...
        """
        graph = DirectedGraph.of(parents)
        net = cls(graph.arcs, nodes=graph.nodes, states=None if states is None else dict(states))
        net.graph_ = graph
        arrays = {name: np.asarray(tables[name], np.float64) for name in graph.nodes}
        given = states or {}
        net.states_ = {
            name: tuple(given.get(name, range(arrays[name].shape[-1]))) for name in graph.nodes
        }
        for name, table in arrays.items():
            _check_table(name, table, [len(net.states_[v]) for v in (*graph.parents[name], name)])
        net.tables_ = arrays
        return net

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the tables from rows.

        Parameters
        ----------
        X : data frame, dict of columns, list of dicts, or array
            The rows; columns of an array are in the order of `nodes` (or of the graph).
        y : None
            Not used.
        sample_weight : array of int or float, optional
            Weight of each row.

        Returns
        -------
        self
        """
        self._validate_params()
        self.graph_ = DirectedGraph.from_arcs(self.arcs, self.nodes or ())
        columns = read_columns(X, self._order())
        self._learn(columns, sample_weight, reset=True)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; their states must be those of the first, or given by `states`.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
            More rows.

        Returns
        -------
        self
        """
        if not hasattr(self, "family_counts_"):
            return self.fit(X, y, sample_weight)
        self._learn(read_columns(X, self._order()), sample_weight, reset=False)
        return self

    def merge(self, other: Self) -> Self:
        """The network of the rows of both; their states must be the same.

        Parameters
        ----------
        other : fitted network with the same structure
            It is left as it is.
        """
        for net in (self, other):
            check_is_fitted(net, "family_counts_")
        if self.graph_ != other.graph_ or self.states_ != other.states_:
            raise ValueError(
                "networks that are merged must have the same arcs and states: give `states`"
            )
        merged = type(self)(**self.get_params())
        merged.graph_, merged.states_ = self.graph_, self.states_
        counts = {v: table + other.family_counts_[v] for v, table in self.family_counts_.items()}
        merged._set_counts(counts)  # noqa: SLF001 - of the same class
        return merged

    def _learn(self, columns: dict[str, list[Any]], weight: Any, *, reset: bool) -> None:
        missing = [name for name in self.graph_.nodes if name not in columns]
        if missing:
            raise ValueError(f"there is no column for the variable {missing[0]!r}")
        if reset:
            given = self.states or {}
            self.states_ = {
                name: tuple(given[name]) if name in given else find_states(columns[name])
                for name in self.graph_.nodes
            }
        codes = {n: encode_column(n, columns[n], self.states_[n]) for n in self.graph_.nodes}
        counts = self._count(codes, weight)
        if not reset:
            counts = {name: counts[name] + self.family_counts_[name] for name in counts}
        self._set_counts(counts)

    def _count(self, codes: dict[str, np.ndarray], weight: Any) -> dict[str, np.ndarray]:
        """Counts of families; a row counts where all of a family is known."""
        counts = {}
        for name, above in self.graph_.parents.items():
            family = (*above, name)
            shape = [len(self.states_[v]) for v in family]
            known = np.all([codes[v] >= 0 for v in family], axis=0)
            cells = np.ravel_multi_index([codes[v][known] for v in family], shape)
            w = None if weight is None else np.asarray(weight)[known]
            found = np.bincount(cells, w, minlength=int(np.prod(shape)))
            counts[name] = found.reshape(shape)
        return counts

    def _set_counts(self, counts: dict[str, np.ndarray]) -> None:
        self.family_counts_ = counts
        self.tables_ = {}
        for name, table in counts.items():
            filled = table + float(self.pseudo_count)
            total = filled.sum(axis=-1, keepdims=True)
            equal = 1 / table.shape[-1]  # after parents that never occurred
            self.tables_[name] = np.where(total > 0, filled / np.where(total > 0, total, 1), equal)

    def factorization(self) -> str:
        """The joint distribution as a product."""
        check_is_fitted(self, "graph_")
        parts = (f"{v} | {', '.join(p)}" if p else v for v, p in self.graph_.parents.items())
        return " ".join(f"p({part})" for part in parts)

    def n_parameters(self) -> int:
        """Free entries of all tables; the full joint table has one less than its states."""
        check_is_fitted(self, "tables_")
        return sum(t.size // t.shape[-1] * (t.shape[-1] - 1) for t in self.tables_.values())

    def do(self, **settings: Any) -> Self:
        """The network after an intervention that sets variables, whatever their causes.

        Parameters
        ----------
        **settings : state of each variable that is set
        """
        hard, soft = self._evidence(settings)
        if soft:
            raise ValueError("an intervention sets states, not likelihoods")
        tables = dict(self.tables_)
        for name, state in hard.items():
            tables[name] = np.eye(len(self.states_[name]))[state]
        graph = self.graph_.without_arcs_into(hard)
        return type(self).from_tables(graph.parents, tables, self.states_)

    def joint_table(self) -> Factor:
        """The full joint distribution; its size is the product of all numbers of states."""
        return enumerate_states(self.factors(), tuple(self.graph_.nodes))


def _check_table(name: str, table: np.ndarray, shape: list[int]) -> None:
    if list(table.shape) != shape:
        raise ValueError(
            f"the table of {name!r} has shape {table.shape}; its parents and itself have {shape} "
            "states"
        )
    if (table < 0).any() or not np.allclose(table.sum(axis=-1), 1):
        raise ValueError(
            f"the table of {name!r} must not be negative, and must sum to one over its last axis"
        )
