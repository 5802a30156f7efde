"""Questions to a Bayesian network: distributions, most probable states, rows with gaps, draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.graphical._elimination import build_junction_tree, eliminate, enumerate_states
from tenfold.graphical._network_draws import (
    draw_ancestral,
    draw_gibbs,
    draw_rejection,
    weigh_likelihood,
)
from tenfold.graphical._table_columns import encode_column, read_columns
from tenfold.graphical.belief_propagation import propagate_beliefs
from tenfold.graphical.directed_graph import DirectedGraph
from tenfold.graphical.factors import Factor

_QUERY_METHODS = ("elimination", "enumeration", "junction_tree", "belief_propagation")


class NetworkQueries:
    """Inference with known tables."""

    nodes: Any
    graph_: DirectedGraph
    states_: dict[str, tuple[Any, ...]]
    tables_: dict[str, np.ndarray]

    def _order(self) -> list[str]:
        """Variables in the order of the columns of arrays."""
        return list(self.nodes) if self.nodes else self.graph_.nodes

    def factors(self, evidence: Mapping[str, Any] | None = None) -> list[Factor]:
        """The tables as factors, with known variables fixed.

        Parameters
        ----------
        evidence : dict, optional
            State of each known variable; an array of likelihoods of its states is soft evidence.
        """
        check_is_fitted(self, "tables_")
        hard, soft = self._evidence(evidence)
        tables = [Factor((*p, v), self.tables_[v]) for v, p in self.graph_.parents.items()]
        likelihoods = [Factor((name,), values) for name, values in soft.items()]
        return [factor.select(hard) for factor in tables] + likelihoods

    def _evidence(
        self, evidence: Mapping[str, Any] | None
    ) -> tuple[dict[str, int], dict[str, np.ndarray]]:
        """Numbers of known states, and likelihoods of the states of others."""
        hard: dict[str, int] = {}
        soft: dict[str, np.ndarray] = {}
        for name, value in (evidence or {}).items():
            if name not in self.states_:
                raise ValueError(f"{name!r} is none of the variables {list(self.states_)[:10]}")
            states = self.states_[name]
            if isinstance(value, np.ndarray | list):
                soft[name] = np.asarray(value, np.float64)
                if soft[name].shape != (len(states),) or (soft[name] < 0).any():
                    raise ValueError(
                        f"soft evidence about {name!r} must be {len(states)} likelihoods"
                    )
            elif value in states:
                hard[name] = states.index(value)
            else:
                raise ValueError(f"{name}={value!r} is none of its states {list(states)[:8]}")
        return hard, soft

    def query(
        self,
        variables: str | list[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        method: str = "elimination",
    ) -> Factor:
        """Distribution of some variables given others.

        Parameters
        ----------
        variables : str or list of str
            The variables.
        evidence : dict, optional
            State of each known variable, or likelihoods of its states (soft evidence).
        method : {"elimination", "enumeration", "junction_tree", "belief_propagation"}
            The first three are exact and equal; belief propagation is exact on trees, and takes one
            variable.
        """
        targets = (variables,) if isinstance(variables, str) else tuple(variables)
        factors = self.factors(evidence)
        free = {v for factor in factors for v in factor.variables}
        strange = [v for v in targets if v not in free]
        if strange:
            raise ValueError(f"{strange[0]!r} is known already, or no variable of the network")
        if method == "elimination":
            found = eliminate(factors, targets)
        elif method == "enumeration":
            found = enumerate_states(factors, targets)
        elif method == "junction_tree":
            found = build_junction_tree(factors, targets).marginal(targets)
        elif method == "belief_propagation" and len(targets) == 1:
            factors = [factor for factor in factors if factor.variables]
            found = Factor(targets, propagate_beliefs(factors).beliefs[targets[0]])
        else:
            raise ValueError(f"method={method!r}: give one of {_QUERY_METHODS}, the last for one")
        return found.normalize()._replace(states=tuple(self.states_[v] for v in targets))

    def marginals(self, evidence: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
        """Distribution of every unknown variable, by one junction tree.

        Parameters
        ----------
        evidence : dict, optional
            As for `query`.
        """
        factors = self.factors(evidence)
        tree = build_junction_tree(factors)
        free = dict.fromkeys(v for factor in factors for v in factor.variables)
        return {v: tree.marginal((v,)).normalize().table for v in free}

    def log_evidence(self, evidence: Mapping[str, Any]) -> float:
        """Log-probability of what is known.

        Parameters
        ----------
        evidence : dict
            As for `query`.
        """
        with np.errstate(divide="ignore"):
            return float(np.log(eliminate(self.factors(evidence), ()).table))

    def most_probable(
        self, evidence: Mapping[str, Any] | None = None, variables: list[str] | None = None
    ) -> dict[str, Any]:
        """The most probable states together (MAP).

        Parameters
        ----------
        evidence : dict, optional
            As for `query`.
        variables : list of str, optional
            Only these; all others are summed out. By default all that are unknown.
        """
        factors = self.factors(evidence)
        free = list(dict.fromkeys(v for factor in factors for v in factor.variables))
        chosen = list(free if variables is None else variables)
        if len(chosen) < len(free):
            summed = eliminate(factors, tuple(chosen))
            factors = [summed]
        found: dict[str, Any] = {}
        for variable in chosen:
            best = eliminate(factors, (variable,), largest=True).table
            state = int(best.argmax())
            if not best[state] > 0:
                raise ValueError("the evidence has probability zero: no state is possible")
            found[variable] = self.states_[variable][state]
            factors = [factor.select({variable: state}) for factor in factors]
        return found

    def log_prob(self, X: Any) -> np.ndarray:
        """Log-probability of each row; missing values are summed out.

        Parameters
        ----------
        X : as for `fit`
            The rows; None or NaN is missing.
        """
        rows = self._encode_rows(X)
        patterns: dict[tuple[int, ...], float] = {}
        scores = np.empty(len(rows))
        for at, row in enumerate(map(tuple, rows.tolist())):
            if row not in patterns:
                patterns[row] = self.log_evidence(self._known(row))
            scores[at] = patterns[row]
        return scores

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-probability of the rows.

        Parameters
        ----------
        X, y : as for `fit`
            The rows.
        """
        return float(self.log_prob(X).mean())

    def predict_proba(self, X: Any, variable: str) -> np.ndarray:
        """Distribution of a variable in each row, given what the row knows of the others.

        Parameters
        ----------
        X : as for `fit`
            The rows; a column of the variable itself is not looked at.
        variable : str
            The variable.
        """
        rows = self._encode_rows(X, optional=variable)
        rows[:, self.graph_.nodes.index(variable)] = -1
        patterns: dict[tuple[int, ...], np.ndarray] = {}
        for row in map(tuple, rows.tolist()):
            if row not in patterns:
                patterns[row] = self.query(variable, self._known(row)).table
        return np.array([patterns[tuple(row)] for row in rows.tolist()])

    def impute(self, X: Any) -> list[dict[str, Any]]:
        """Rows with missing values replaced by their most probable states together.

        Parameters
        ----------
        X : as for `fit`
            The rows.
        """
        filled = []
        for row in map(tuple, self._encode_rows(X).tolist()):
            known = self._known(row)
            guess = self.most_probable(known) if len(known) < len(row) else {}
            filled.append({v: known.get(v, guess.get(v)) for v in self.graph_.nodes})
        return filled

    def _encode_rows(self, X: Any, optional: str | None = None) -> np.ndarray:
        check_is_fitted(self, "tables_")
        columns = read_columns(X, self._order())
        length = len(next(iter(columns.values()), []))
        if optional is not None:
            columns.setdefault(optional, [None] * length)
        return np.column_stack(
            [
                encode_column(v, columns.get(v, [None] * length), self.states_[v])
                for v in self.graph_.nodes
            ]
        )

    def _known(self, row: tuple[int, ...]) -> dict[str, Any]:
        pairs = zip(self.graph_.nodes, row, strict=True)
        return {v: self.states_[v][state] for v, state in pairs if state >= 0}

    def sample(
        self,
        n_samples: int = 1,
        *,
        evidence: Mapping[str, Any] | None = None,
        method: str = "ancestral",
        random_state: Any = None,
    ) -> dict[str, np.ndarray]:
        """Draw rows, as columns of states.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        evidence : dict, optional
            Known states, for the methods below.
        method : {"ancestral", "rejection", "gibbs"}
            Parents before children, without evidence; the same, until enough rows agree with the
            evidence; or one variable after the other given its Markov blanket.
        random_state : int or None
            Seed.
        """
        check_is_fitted(self, "tables_")
        hard, soft = self._evidence(evidence)
        if soft:
            raise ValueError("samples take states as evidence, not likelihoods")
        if method == "ancestral" and hard:
            raise ValueError("with evidence, draw by method='rejection' or 'gibbs'")
        rng = np.random.default_rng(random_state)
        if method == "ancestral":
            rows = draw_ancestral(self.graph_, self.tables_, n_samples, rng)
        elif method == "rejection":
            rows = draw_rejection(self.graph_, self.tables_, n_samples, hard, rng)
        elif method == "gibbs":
            rows = draw_gibbs(self.graph_, self.tables_, n_samples, hard, rng)
        else:
            raise ValueError(f"method={method!r}: give 'ancestral', 'rejection' or 'gibbs'")
        return {v: np.array(self.states_[v], dtype=object)[rows[v]] for v in self.graph_.nodes}

    def estimate(
        self,
        variable: str,
        evidence: Mapping[str, Any] | None = None,
        *,
        n_samples: int = 10_000,
        random_state: Any = None,
    ) -> np.ndarray:
        """Distribution of a variable given others, by likelihood weighting.

        Parameters
        ----------
        variable : str
            The variable.
        evidence : dict, optional
            Known states.
        n_samples : int
            Number of weighted rows.
        random_state : int or None
            Seed.
        """
        check_is_fitted(self, "tables_")
        hard, _ = self._evidence(evidence)
        rng = np.random.default_rng(random_state)
        rows, weight = weigh_likelihood(self.graph_, self.tables_, n_samples, hard, rng)
        sums = np.bincount(rows[variable], weight, minlength=len(self.states_[variable]))
        if not sums.sum() > 0:
            raise ValueError("no draw agrees with the evidence: raise n_samples, or use `query`")
        return sums / sums.sum()
