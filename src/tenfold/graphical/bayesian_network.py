"""Bayesian networks of discrete variables."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.save_mixin import SaveMixin
from tenfold.engine.memory import check_memory
from tenfold.graphical._elimination import enumerate_states
from tenfold.graphical._network_em import learn_by_em
from tenfold.graphical._row_queries import RowQueries
from tenfold.graphical._state_rows import StateRows, check_states, open_states, work_context
from tenfold.graphical._table_columns import sort_states
from tenfold.graphical.directed_graph import DirectedGraph
from tenfold.graphical.factors import Factor


class BayesianNetwork(RowQueries, SaveMixin, BaseEstimator):
    r"""Bayesian network of discrete variables.

    .. math:: p(x_1, \dots, x_d) = \prod_v p(x_v \mid x_{\mathrm{pa}(v)})

    The tables are given (`from_tables`) or learned from rows: shares of counts, which is maximum
    likelihood, or posterior means under Dirichlet priors (`pseudo_count`). Counts are whole numbers
    and merge exactly.

    Rows with gaps count where a family is complete, or by expectation-maximization
    (``missing="em"``), which also learns variables that are never seen.

    Parameters
    ----------
    arcs : list of pairs (from, to), str or dict
        The structure; as text, ``"a -> b -> c; d -> c"``; as a dictionary, the parents of each
        variable, ``{"c": ["b", "d"], "b": ["a"]}``.
    nodes : list of str, optional
        Variables; needed for those without arcs.
    pseudo_count : float or dict
        Added to each count of a table; a dictionary names variables and their numbers, or arrays
        that fit their tables. 1 is the prior of K2.
    equivalent_sample_size : float, optional
        Pseudo-counts that together are so many rows for each table (BDeu), in addition.
    states : dict, optional
        States of variables, in order; by default those that occur. Hidden variables need them.
    missing : {"available", "em"}
        Of gaps: count each family where it is complete; or expectation-maximization, which uses all
        that is known and climbs the likelihood.
    max_iter : int
        Most iterations of EM.
    tol : float
        EM ends when an iteration raises the log-likelihood by at most this share of it.
    n_init : int
        Starts of EM, of which the best is kept.
    random_state : int or None
        Seed of the starts.

    Attributes
    ----------
    graph_ : DirectedGraph
    states_ : dict, variable -> tuple of states
    tables_ : dict, variable -> array
        Axes: the parents of the variable, in the order of `graph_.parents`, then itself; the last
        axis sums to one.
    family_counts_ : dict, variable -> array of counts of the same shape
        Under EM, expected ones.
    log_likelihood_, n_iter_, converged_, history_
        Of EM: the last log-likelihood, iterations, whether they converged, minus the log-likelihood
        (minus the log prior, with pseudo-counts) before each.

    See Also
    --------
    tenfold.graphical.DirectedGraph : separation in graphs.
    tenfold.graphical.propagate_beliefs : belief propagation with visible messages.

    References
    ----------
    D. Koller and N. Friedman (2009), Probabilistic graphical models.

    S. L. Lauritzen (1995), The EM algorithm for graphical association models with missing data.

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
        "arcs": [list, tuple, str, dict],
        "nodes": [list, tuple, None],
        "pseudo_count": [Interval(Real, 0, None, closed="left"), dict],
        "equivalent_sample_size": [Interval(Real, 0, None, closed="neither"), None],
        "states": [dict, None],
        "missing": [StrOptions({"available", "em"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        arcs: Any = (),
        *,
        nodes: Any = None,
        pseudo_count: Any = 0.0,
        equivalent_sample_size: float | None = None,
        states: dict[str, Any] | None = None,
        missing: str = "available",
        max_iter: int = 200,
        tol: float = 1e-6,
        n_init: int = 1,
        random_state: Any = None,
    ) -> None:
        self.arcs = arcs
        self.nodes = nodes
        self.pseudo_count = pseudo_count
        self.equivalent_sample_size = equivalent_sample_size
        self.states = states
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

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
        unknown = [name for name in graph.nodes if name not in tables]
        if unknown:
            raise ValueError(f"there is no table for {unknown[0]!r}")
        net = cls(graph.arcs, nodes=graph.nodes, states=None if states is None else dict(states))
        net.graph_ = graph
        arrays = {name: np.array(tables[name], np.float64) for name in graph.nodes}
        flat = [name for name, table in arrays.items() if table.ndim == 0]
        if flat:
            raise ValueError(f"the table of {flat[0]!r} is a number: give a probability per state")
        given = states or {}
        net.states_ = {
            name: tuple(given.get(name, range(arrays[name].shape[-1]))) for name in graph.nodes
        }
        check_states(net.states_)
        for name, table in arrays.items():
            _check_table(name, table, [len(net.states_[v]) for v in (*graph.parents[name], name)])
        net.tables_ = arrays
        return net

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the tables from rows.

        Parameters
        ----------
        X : array, data frame, dict of columns, list of dicts, path, Dask collection, open rows
            The rows; columns of an array are in the order of `nodes` (or of the graph). None and
            NaN are missing.
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
        if not self.graph_.nodes:
            raise ValueError("the network has no variables: give arcs, or nodes")
        hidden = self.missing == "em"
        with work_context(self):
            coded = open_states(
                X, self._order(), states=self.states, sample_weight=sample_weight, absent=hidden
            )
            return self._fit_states(coded)

    def _fit_states(self, coded: StateRows) -> Self:
        """Estimate the tables from rows whose states are numbered."""
        self.states_ = {v: coded.states[v] for v in self.graph_.nodes}
        if self.missing == "em":
            learn_by_em(self, coded)
        else:
            self._set_counts(self._count(coded))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; states that were not there before are added.

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
        more: Any = cast("Any", clone(self)).fit(X, y, sample_weight)
        vars(self).update(vars(self.merge(more)))
        return self

    def merge(self, other: Self) -> Self:
        """The network of the rows of both; it has the states of both.

        Parameters
        ----------
        other : fitted network with the same structure
            It is left as it is.
        """
        for net in (self, other):
            check_is_fitted(net, "family_counts_")
            if net.missing == "em":
                raise ValueError(
                    "EM needs all rows in each iteration: give them to one fit (files and Dask "
                    "collections need not fit into memory), or choose missing='available'"
                )
        if self.graph_ != other.graph_:
            raise ValueError("networks that are merged must have the same arcs")
        merged: Any = clone(self)
        merged.graph_ = self.graph_
        merged.states_ = {
            v: a if (a := self.states_[v]) == (b := other.states_[v]) else _join_states(v, a, b)
            for v in self.graph_.nodes
        }
        parts = [net._spread_counts(merged.states_) for net in (self, other)]  # noqa: SLF001
        merged._set_counts({v: parts[0][v] + parts[1][v] for v in self.graph_.nodes})  # noqa: SLF001
        return merged

    def _spread_counts(self, states: dict[str, tuple[Any, ...]]) -> dict[str, np.ndarray]:
        """The counts among more states."""
        spread = {}
        for v, family in self._families().items():
            places = [[states[u].index(s) for s in self.states_[u]] for u in family]
            table = np.zeros([len(states[u]) for u in family], self.family_counts_[v].dtype)
            table[np.ix_(*places)] = self.family_counts_[v]
            spread[v] = table
        return spread

    def _count(self, coded: StateRows) -> dict[str, np.ndarray]:
        """Counts of families; a row counts where all of a family is known."""
        families = self._families()
        cells = sum(float(np.prod([len(self.states_[u]) for u in f])) for f in families.values())
        check_memory(
            16 * cells,
            f"the tables of {len(families)} variables and their parents, {cells:.3g} entries,",
            "take fewer parents or states",
        )
        return dict(zip(families, coded.count_states(list(families.values())), strict=True))

    def _set_counts(self, counts: dict[str, np.ndarray]) -> None:
        self.family_counts_ = counts
        self.tables_ = self._tables_of(counts)

    def _tables_of(self, counts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Shares of counts and pseudo-counts."""
        tables = {}
        for name, table in counts.items():
            filled = table + self._pseudo_counts(name, table.shape)
            total = filled.sum(axis=-1, keepdims=True)
            equal = 1 / table.shape[-1]  # after parents that never occurred
            tables[name] = np.where(total > 0, filled / np.where(total > 0, total, 1), equal)
        return tables

    def _pseudo_counts(self, name: str, shape: tuple[int, ...]) -> Any:
        """What is added to each count of a table."""
        given = self.pseudo_count
        added = np.asarray(given.get(name, 0.0) if isinstance(given, dict) else given, np.float64)
        if (added.ndim and added.shape != shape) or not (added >= 0).all():
            raise ValueError(
                f"pseudo_count of {name!r} must be a number, or an array of shape {shape}, not "
                "negative"
            )
        if self.equivalent_sample_size is not None:
            added = added + self.equivalent_sample_size / np.prod(shape)
        return added

    def factorization(self) -> str:
        """The joint distribution as a product."""
        check_is_fitted(self, "graph_")
        parts = (f"{v} | {', '.join(p)}" if p else v for v, p in self.graph_.parents.items())
        return " ".join(f"p({part})" for part in parts)

    def n_parameters(self) -> int:
        """Free entries of all tables; the full joint table has one less than its states."""
        check_is_fitted(self, "tables_")
        return sum(t.size // t.shape[-1] * (t.shape[-1] - 1) for t in self.tables_.values())

    def do(self, settings: Mapping[str, Any] | None = None, /, **more: Any) -> Self:
        """The network after an intervention that sets variables, whatever their causes.

        Parameters
        ----------
        settings : dict, optional
            State of each variable that is set.
        **more : the same by name
        """
        check_is_fitted(self, "tables_")
        known = self._evidence({**(settings or {}), **more})
        if known.soft:
            raise ValueError("an intervention sets states, not likelihoods")
        tables = dict(self.tables_)
        for name, state in known.hard.items():
            tables[name] = np.eye(len(self.states_[name]))[state]
        graph = self.graph_.without_arcs_into(known.hard)
        return type(self).from_tables(graph.parents, tables, self.states_)

    def joint_table(self) -> Factor:
        """The full joint distribution; its size is the product of all numbers of states."""
        return enumerate_states(self.factors(), tuple(self.graph_.nodes))


def _join_states(name: str, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    joint = sort_states({*a, *b})
    check_states({name: joint})
    return joint


def _check_table(name: str, table: np.ndarray, shape: list[int]) -> None:
    if list(table.shape) != shape:
        raise ValueError(
            f"the table of {name!r} has shape {table.shape}; its parents and itself have {shape} "
            "states"
        )
    if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1):
        raise ValueError(
            f"the table of {name!r} must not be negative, and must sum to one over its last axis"
        )
