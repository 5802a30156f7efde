"""What learners of structures share: rows as counts, scores of families, the fitted network."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.special import gammaln
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval
from tenfold.base.save_mixin import SaveMixin
from tenfold.graphical._state_rows import StateRows, open_states, work_context
from tenfold.graphical.bayesian_network import BayesianNetwork
from tenfold.graphical.directed_graph import DirectedGraph
from tenfold.graphical.essential_graph import EssentialGraph

MAX_CELLS = 2**24  # counts that are held at once
SCORES = {"bic", "aic", "log_likelihood", "bdeu", "k2"}

STRUCTURE_CONSTRAINTS: dict[str, Any] = {
    "nodes": [list, tuple, None],
    "pseudo_count": [Interval(Real, 0, None, closed="left")],
    "states": [dict, None],
}

Family = tuple[str, frozenset[str]]


class StructureLearner(SaveMixin, BaseEstimator):
    """Base class: `_search(coded)` returns arcs; the tables are estimated here."""

    _parameter_constraints = STRUCTURE_CONSTRAINTS

    nodes: Any
    pseudo_count: float
    states: Any
    network_: BayesianNetwork

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the structure, and estimate the tables.

        Parameters
        ----------
        X : array, data frame, dict of columns, list of dicts, path, Dask collection, open rows
            The rows, without gaps.
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
            names = None if self.nodes is None else list(self.nodes)
            coded = open_states(X, names, states=self.states, sample_weight=sample_weight)
            check_complete(coded)
            arcs = self._search(coded)
            self.network_ = fit_network(arcs, coded, self.pseudo_count)
        return self

    def _search(self, coded: StateRows) -> list[tuple[str, str]]:
        raise NotImplementedError(f"{type(self).__name__} has to define _search(coded)")

    def essential_graph(self) -> EssentialGraph:
        """The arcs whose direction all equally good networks share, and the edges of the others."""
        check_is_fitted(self, "network_")
        return self.network_.graph_.essential_graph()


def check_complete(coded: StateRows) -> None:
    """Raise an error if values are missing."""
    tables = coded.count_states([(), *((name,) for name in coded.names)])
    for name, table in zip(coded.names, tables[1:], strict=True):
        if not np.isclose(table.sum(), tables[0].sum(), rtol=1e-12):
            raise ValueError(
                f"{name!r} has missing values: structures are learned without any. Fill them in "
                "(BayesianNetwork.impute), or leave such rows out"
            )


def fit_network(
    arcs: list[tuple[str, str]], coded: StateRows, pseudo_count: float
) -> BayesianNetwork:
    """The network of these arcs with tables from counts."""
    net = BayesianNetwork(arcs, nodes=coded.names, pseudo_count=pseudo_count)
    net.graph_ = DirectedGraph.from_arcs(arcs, coded.names)
    return net._fit_states(coded)  # noqa: SLF001 - of this package


class FamilyScores:
    """The terms of a score of a structure, one for each variable and its parents.

    Parameters
    ----------
    coded : StateRows
    score : one of SCORES
    equivalent_sample_size : of BDeu
    """

    def __init__(self, coded: StateRows, score: str, equivalent_sample_size: float) -> None:
        self.coded, self.score, self.size = coded, score, equivalent_sample_size
        self.n = float(coded.count_states([()])[0].sum())
        self.price = {"bic": 0.5 * np.log(max(self.n, 1.0)), "aic": 1.0}.get(score, 0.0)
        self.known: dict[Family, float] = {}

    def __call__(self, variable: str, parents: frozenset[str]) -> float:
        key = variable, parents
        if key not in self.known:
            self.prepare([key])
        return self.known[key]

    def prepare(self, families: Iterable[Family]) -> None:
        """Count families that were not scored before, as many as memory allows in one pass."""
        lot: list[Family] = []
        cells = 0.0
        for key in dict.fromkeys(families):
            if key in self.known:
                continue
            size = float(np.prod([float(len(self.coded.states[v])) for v in (*key[1], key[0])]))
            if size > MAX_CELLS:
                self.known[key] = -np.inf  # more free parameters than any data can speak for
                continue
            if cells + size > MAX_CELLS:
                self._count(lot)
                lot, cells = [], 0.0
            lot.append(key)
            cells += size
        if lot:
            self._count(lot)

    def _count(self, lot: list[Family]) -> None:
        tables = self.coded.count_states([(*sorted(above), variable) for variable, above in lot])
        for key, table in zip(lot, tables, strict=True):
            self.known[key] = self._term(table.reshape(-1, table.shape[-1]))

    def _term(self, table: np.ndarray) -> float:
        """Score of one family from its counts, (states of the parents, states)."""
        q, r = table.shape
        if self.score in {"bdeu", "k2"}:
            cell = self.size / (q * r) if self.score == "bdeu" else 1.0
            totals = table.sum(axis=1)
            used = totals > 0
            rows = gammaln(cell * r) - gammaln(totals[used] + cell * r)
            cells = gammaln(table[used] + cell) - gammaln(cell)
            return float(rows.sum() + cells.sum())
        positive = table[table > 0]
        totals = table.sum(axis=1)
        totals = totals[totals > 0]
        likelihood = (positive * np.log(positive)).sum() - (totals * np.log(totals)).sum()
        return float(likelihood - self.price * q * (r - 1))
