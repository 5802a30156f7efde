"""Bayesian networks of numbers, and of numbers below discrete variables."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.save_mixin import SaveMixin
from tenfold.engine.arrays import ArraySource
from tenfold.engine.context import current_engine
from tenfold.engine.rows import Rows
from tenfold.graphical._gaussian_family_moments import (
    FamilyColumns,
    NetworkMoments,
    network_moments,
    regress,
)
from tenfold.graphical._gaussian_inference import GaussianAnswer, LinearGaussian
from tenfold.graphical._gaussian_queries import GaussianQueries
from tenfold.graphical._state_rows import check_states, check_weight, work_context
from tenfold.graphical._table_columns import find_states, read_columns
from tenfold.graphical.directed_graph import DirectedGraph
from tenfold.io.opener import has_names, is_rows_like
from tenfold.io.opener import open as open_rows


class LinearGaussianBayesianNetwork(GaussianQueries, SaveMixin, BaseEstimator):
    r"""Bayesian network of numbers that are linear in their parents, up to Gaussian noise.

    .. math:: p(x_v \mid \mathrm{pa}(v)) = \mathcal{N}\Bigl(x_v \Bigm| b_v + \sum_u w_{vu} x_u,
              \; \sigma_v^2\Bigr)

    All numbers together are one Gaussian. Discrete variables may stand above numbers: each of their
    states has an intercept, weights and a variance of its own, and the joint distribution is a
    mixture of as many Gaussians as they have combinations of states. A number above a discrete
    variable is refused: exact inference is not possible there. Learned in one pass from moments,
    which merge.

    Parameters
    ----------
    arcs : list of pairs (from, to), str or dict
        The structure; as text, ``"a -> b -> c; d -> c"``; as a dictionary, the parents of each
        variable, ``{"c": ["b", "d"], "b": ["a"]}``.
    nodes : list of str, optional
        Variables; needed for those without arcs.
    discrete : list of str, optional
        Discrete variables; by default columns of text or truth values, and those in `states`.
    states : dict, optional
        States of discrete variables; by default those that occur.
    pseudo_count : float
        Added to each count of a discrete table.
    min_variance : float
        Smallest variance.

    Attributes
    ----------
    graph_ : DirectedGraph
    states_ : dict, discrete variable -> tuple of states
    tables_ : dict, discrete variable -> array of conditional probabilities
    gaussians_ : dict, variable -> LinearGaussian
        Intercept, coef and variance, with an axis for each discrete parent.
    statistic_ : NetworkMoments

    See Also
    --------
    BayesianNetwork : discrete variables.

    References
    ----------
    S. L. Lauritzen and N. Wermuth (1989), Graphical models for associations between variables, some
    of which are qualitative and some quantitative.

    Examples
    --------
    >>> from tenfold import LinearGaussianBayesianNetwork
    >>> rows = {"a": [0.0, 1.0, 2.0, 3.0], "b": [0.1, 1.9, 4.1, 5.9]}
    >>> net = LinearGaussianBayesianNetwork("a -> b").fit(rows)
    >>> net.query("a", {"b": 4.0}).mean.round(1).tolist()
    [2.0]
    """

    _parameter_constraints: dict[str, Any] = {
        "arcs": [list, tuple, str, dict],
        "nodes": [list, tuple, None],
        "discrete": [list, tuple, None],
        "states": [dict, None],
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
        "min_variance": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        arcs: Any = (),
        *,
        nodes: Any = None,
        discrete: Any = None,
        states: dict[str, Any] | None = None,
        pseudo_count: float = 0.0,
        min_variance: float = 1e-12,
    ) -> None:
        self.arcs = arcs
        self.nodes = nodes
        self.discrete = discrete
        self.states = states
        self.pseudo_count = pseudo_count
        self.min_variance = min_variance

    @classmethod
    def from_parameters(
        cls,
        parents: Mapping[str, Any],
        gaussians: Mapping[str, Any],
        tables: Mapping[str, Any] | None = None,
        states: Mapping[str, Any] | None = None,
    ) -> Self:
        """The network of given parameters.

        Parameters
        ----------
        parents : dict, variable -> list of parents
            The structure.
        gaussians : dict, variable -> (intercept, coef, variance)
            With an axis for each discrete parent first; coef has one more axis, for the parents
            that are numbers.
        tables : dict, discrete variable -> array, optional
            As in `BayesianNetwork.from_tables`.
        states : dict, discrete variable -> list, optional
            Names of the states; by default 0, 1, ...
        """
        graph = DirectedGraph.of(parents)
        arrays = {v: np.array(t, np.float64) for v, t in (tables or {}).items()}
        given = states or {}
        net = cls(graph.arcs, nodes=graph.nodes, discrete=list(arrays), states=dict(given) or None)
        net.graph_ = graph
        net.states_ = {v: tuple(given.get(v, range(t.shape[-1]))) for v, t in arrays.items()}
        check_states(net.states_)
        net.tables_ = arrays
        net._check_kinds(set(arrays))
        net.gaussians_ = {}
        for v in graph.nodes:
            if v in arrays:
                continue
            if v not in gaussians:
                raise ValueError(f"there are no parameters for {v!r}")
            net.gaussians_[v] = net._check_gaussian(v, gaussians[v])
        return net

    def _check_gaussian(self, name: str, given: Any) -> LinearGaussian:
        above = self.graph_.parents[name]
        shape = tuple(len(self.states_[u]) for u in above if u in self.states_)
        numbers = sum(u not in self.states_ for u in above)
        intercept, coef, variance = (np.asarray(part, np.float64) for part in given)
        coef = np.zeros((*shape, 0)) if not numbers else coef.reshape(*shape, numbers)
        node = LinearGaussian(
            np.broadcast_to(intercept, shape), coef, np.broadcast_to(variance, shape)
        )
        if not all(np.isfinite(part).all() for part in node) or (node.variance < 0).any():
            raise ValueError(
                f"the parameters of {name!r} must be finite, the variance not negative"
            )
        return node

    def _check_kinds(self, discrete: set[str]) -> None:
        """Refuse numbers above discrete variables."""
        for v in discrete:
            if v not in self.graph_.parents:
                raise ValueError(f"{v!r} is none of the variables {self.graph_.nodes[:10]}")
            wrong = [u for u in self.graph_.parents[v] if u not in discrete]
            if wrong:
                raise ValueError(
                    f"the discrete variable {v!r} has the parent {wrong[0]!r}, a number: exact "
                    "inference is not possible in such a network. Turn the arc round, or cut "
                    f"{wrong[0]!r} into intervals and use BayesianNetwork"
                )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate all parameters by maximum likelihood, in one pass.

        Parameters
        ----------
        X : array, data frame, dict of columns, list of dicts, or open rows of numbers
            The rows; columns of an array are in the order of `nodes` (or of the graph). A row
            counts in each family that it knows completely.
        y : None
            Not used.
        sample_weight : array, optional
            Weight of each row.

        Returns
        -------
        self
        """
        self._validate_params()
        self.graph_ = DirectedGraph.from_arcs(self.arcs, self.nodes or ())
        with work_context(self):
            rows = self._open(X, sample_weight)
            self._check_kinds(set(self.states_))
            statistic = rows.total(network_moments, self._columns())
        self._set_statistic(statistic)
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
        if not hasattr(self, "statistic_"):
            return self.fit(X, y, sample_weight)
        more: Any = (
            cast("Any", clone(self)).set_params(states=dict(self.states_)).fit(X, y, sample_weight)
        )
        self._set_statistic(self.statistic_.merge(more.statistic_))
        return self

    def merge(self, other: Self) -> Self:
        """The network of the rows of both; their states must be the same.

        Parameters
        ----------
        other : fitted network with the same structure
            It is left as it is.
        """
        for net in (self, other):
            check_is_fitted(net, "statistic_")
        if self.graph_ != other.graph_ or self.states_ != other.states_:
            raise ValueError(
                "networks that are merged must have the same arcs and states: give `states`"
            )
        merged: Any = clone(self)
        merged.graph_, merged.states_ = self.graph_, self.states_
        merged._set_statistic(self.statistic_.merge(other.statistic_))  # noqa: SLF001
        return merged

    def _open(self, X: Any, weight: Any) -> Rows:
        """Rows of numbers, states as their numbers; sets `states_`."""
        names, given = self._names(), dict(self.states or {})
        if is_rows_like(X):
            rows = open_rows(X, weight=weight, columns=names if _is_named(X) else None)
            wrong = [*given, *(self.discrete or ())]
            if wrong:
                raise ValueError(
                    f"{wrong[0]!r} is discrete: rows elsewhere may hold numbers only. Load the "
                    "table, or fit on its parts and merge"
                )
            self.states_ = {}
            return Rows(rows.source, engine=rows.engine, allow_nan=True)
        columns = read_columns(X, names)
        absent = [v for v in names if v not in columns]
        if absent:
            raise ValueError(f"there is no column for the variable {absent[0]!r}")
        chosen = set(self.discrete or ()) | set(given)
        if self.discrete is None:
            chosen |= {v for v in names if columns[v].dtype.kind not in "iuf"}
        self.states_ = {
            v: tuple(given[v]) if v in given else find_states(columns[v])
            for v in self.graph_.nodes
            if v in chosen
        }
        check_states(self.states_)
        table = np.column_stack([self._column(v, columns[v]) for v in names])
        w = check_weight(weight, len(table))
        return Rows(ArraySource(table, w=w), engine=current_engine(), allow_nan=True)

    def _columns(self) -> tuple[FamilyColumns, ...]:
        place = {v: at for at, v in enumerate(self._names())}
        families = []
        for v, above in self.graph_.parents.items():
            family = (*above, v)
            discrete = tuple(u for u in family if u in self.states_)
            numbers = tuple(u for u in family if u not in self.states_)
            families.append(
                FamilyColumns(
                    tuple(place[u] for u in discrete),
                    tuple(len(self.states_[u]) for u in discrete),
                    tuple(place[u] for u in numbers),
                )
            )
        return tuple(families)

    def _set_statistic(self, statistic: NetworkMoments) -> None:
        self.statistic_ = statistic
        counts, groups = iter(statistic.counts), iter(statistic.groups)
        self.tables_, self.gaussians_ = {}, {}
        for (v, above), family in zip(self.graph_.parents.items(), self._columns(), strict=True):
            if v in self.states_:
                filled = next(counts) + float(self.pseudo_count)
                total = filled.sum(axis=-1, keepdims=True)
                equal = 1 / filled.shape[-1]
                self.tables_[v] = np.where(total > 0, filled / np.where(total > 0, total, 1), equal)
                continue
            moments = next(groups)
            if not moments.n.sum() > 0:
                known = ", ".join((v, *above))
                raise ValueError(f"no row knows all of {known}: nothing to learn from")
            self.gaussians_[v] = regress(moments, family.sizes, self.min_variance)


def _is_named(X: Any) -> bool:
    return not isinstance(X, Rows) and has_names(X)


__all__ = ["GaussianAnswer", "LinearGaussianBayesianNetwork"]
