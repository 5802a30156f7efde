"""Questions to a Bayesian network: distributions, most probable states, interventions, draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.graphical._elimination import (
    eliminate,
    enumerate_states,
    maximize,
    sum_out_others,
)
from tenfold.graphical._junction_tree import JunctionTree, build_junction_tree
from tenfold.graphical._junction_tree_numba import marginal_rows
from tenfold.graphical._network_draws import (
    Evidence,
    draw_ancestral,
    draw_gibbs,
    draw_rejection,
    draw_weighted,
)
from tenfold.graphical.belief_propagation import propagate_beliefs
from tenfold.graphical.directed_graph import DirectedGraph
from tenfold.graphical.factors import Factor

_QUERY_METHODS = ("auto", "elimination", "enumeration", "junction_tree", "belief_propagation")
_IMPOSSIBLE = "the evidence has probability zero: no distribution is left"


class NetworkQueries:
    """Inference with known tables."""

    nodes: Any
    graph_: DirectedGraph
    states_: dict[str, tuple[Any, ...]]
    tables_: dict[str, np.ndarray]

    def _order(self) -> list[str]:
        """Variables in the order of the columns of arrays."""
        return list(self.nodes) if self.nodes else self.graph_.nodes

    def _families(self) -> dict[str, tuple[str, ...]]:
        """Each variable with its parents before it."""
        return {v: (*above, v) for v, above in self.graph_.parents.items()}

    def _sizes(self) -> dict[str, int]:
        return {v: len(self.states_[v]) for v in self.graph_.nodes}

    def junction_tree(self, together: str | Iterable[str] = ()) -> JunctionTree:
        """The junction tree of the network: its cliques, separators and their order.

        Parameters
        ----------
        together : variable or variables, optional
            They share the first clique.
        """
        check_is_fitted(self, "tables_")
        root = (together,) if isinstance(together, str) else tuple(together)
        sizes = self._sizes()
        self._check_names(root)
        kept = getattr(self, "_compiled", None)
        if kept is None or kept[0] != (self.graph_, sizes):
            kept = self._compiled = ((self.graph_, sizes), {})
        if root not in kept[1]:
            try:
                kept[1][root] = build_junction_tree(self._families(), sizes, root=root)
            except MemoryError as problem:
                kept[1][root] = problem
        if isinstance(kept[1][root], MemoryError):
            raise kept[1][root]
        return kept[1][root]

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.states_:
                raise ValueError(f"{name!r} is none of the variables {list(self.states_)[:10]}")

    def factors(self, evidence: Mapping[str, Any] | None = None) -> list[Factor]:
        """The tables as factors, with known variables fixed.

        Parameters
        ----------
        evidence : dict, optional
            State of each known variable; an array of likelihoods of its states is soft evidence.
        """
        check_is_fitted(self, "tables_")
        return self._factors(self._evidence(evidence), self.graph_.nodes)

    def _factors(self, known: Evidence, nodes: Iterable[str]) -> list[Factor]:
        chosen = set(nodes)
        families = {v: f for v, f in self._families().items() if v in chosen}
        tables = [Factor(family, self.tables_[v]) for v, family in families.items()]
        likelihoods = [Factor((name,), values) for name, values in known.soft.items()]
        return [factor.select(known.hard) for factor in tables] + likelihoods

    def _evidence(self, evidence: Mapping[str, Any] | None) -> Evidence:
        """Numbers of known states, and likelihoods of the states of others."""
        known = Evidence({}, {})
        if evidence is not None and not isinstance(evidence, Mapping):
            raise TypeError(f"evidence={evidence!r}: give a dictionary, variable -> state")
        self._check_names(evidence or ())
        for name, value in (evidence or {}).items():
            states = self.states_[name]
            if isinstance(value, np.ndarray | list) and np.ndim(value):
                likelihood = np.asarray(value, np.float64)
                right = likelihood.shape == (len(states),) and np.isfinite(likelihood).all()
                if not right or (likelihood < 0).any():
                    raise ValueError(
                        f"soft evidence about {name!r} must be {len(states)} likelihoods, one for "
                        f"each of {list(states)[:8]}, not negative"
                    )
                known.soft[name] = likelihood
            elif value in states:
                known.hard[name] = states.index(value)
            else:
                raise ValueError(f"{name}={value!r} is none of its states {list(states)[:8]}")
        return known

    def query(
        self,
        variables: str | list[str],
        evidence: Mapping[str, Any] | None = None,
        *,
        method: str = "auto",
    ) -> Factor:
        """Distribution of some variables given others.

        Parameters
        ----------
        variables : str or list of str
            The variables.
        evidence : dict, optional
            State of each known variable, or likelihoods of its states (soft evidence).
        method : {"auto", "elimination", "enumeration", "junction_tree", "belief_propagation"}
            Elimination, enumeration and junction trees are exact and equal; "auto" asks the
            junction tree about one variable, and eliminates where there are several or the tree
            would be too wide. Belief propagation is exact on trees, and takes one variable.
        """
        check_is_fitted(self, "tables_")
        targets = (variables,) if isinstance(variables, str) else tuple(variables)
        self._check_names(targets)
        known = self._evidence(evidence)
        wrong = [v for v in targets if v in known.hard]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is known already")
        if not targets or len(set(targets)) < len(targets):
            raise ValueError("name each variable to ask for once")
        return self._answer(targets, known, method)._replace(
            states=tuple(self.states_[v] for v in targets)
        )

    def _answer(self, targets: tuple[str, ...], known: Evidence, method: str) -> Factor:
        if method not in _QUERY_METHODS:
            raise ValueError(f"method={method!r}: give one of {_QUERY_METHODS}")
        if method == "belief_propagation":
            if len(targets) > 1:
                raise ValueError("belief propagation answers about one variable, not several")
            factors = [f for f in self._factors(known, self.graph_.nodes) if f.variables]
            return Factor(targets, propagate_beliefs(factors).beliefs[next(iter(targets))])
        if method == "enumeration":
            return enumerate_states(self._factors(known, self.graph_.nodes), targets).normalize()
        if method == "junction_tree" or (method == "auto" and len(targets) == 1):
            try:
                return self._ask_tree(targets, known)
            except MemoryError:
                if method == "junction_tree":
                    raise
        # the tables of descendants of nobody here sum to one
        relevant = self.graph_.ancestors([*targets, *known.hard, *known.soft])
        return eliminate(self._factors(known, relevant), targets).normalize()

    def _ask_tree(self, targets: tuple[str, ...], known: Evidence) -> Factor:
        """The answer of a junction tree; several variables together are one more variable."""
        if len(targets) == 1:
            return Factor(targets, self._tree_marginals(known)[targets[0]])
        tree = self.junction_tree(targets)
        hard = dict(known.hard)
        scopes = [
            Factor(scope, np.ones([self._sizes()[v] for v in scope])) for scope in tree.scopes
        ]
        cells = np.split(tree.potentials(self.tables_, known.soft), tree.arrays.cell_start[1:-1])
        cliques = [
            Factor(f.variables, part.reshape(f.table.shape)).select(hard)
            for f, part in zip(scopes, cells, strict=True)
        ]
        for c in range(len(cliques) - 1, 0, -1):  # messages up to the first clique
            parent = int(tree.arrays.parent[c])
            above = max(parent, 0)  # another part of the graph sends a number
            kept = set(cliques[above].variables) if parent >= 0 else set()
            message = cliques[c].sum_out(set(cliques[c].variables) - kept)
            order = cliques[above].variables
            cliques[above] = cliques[above].multiply(message).reorder(order)
        top = cliques[0]
        return top.sum_out(set(top.variables) - set(targets)).reorder(targets).normalize()

    def _tree_marginals(self, known: Evidence) -> dict[str, np.ndarray]:
        tree = self.junction_tree()
        states = np.full((len(tree.names), 1), -1, np.int16)
        for name, state in known.hard.items():
            states[tree.names.index(name)] = state
        potentials = tree.potentials(self.tables_, known.soft)
        found = marginal_rows(tuple(tree.arrays), potentials, states)[0]
        if np.isnan(found).any():
            raise ValueError(_IMPOSSIBLE)
        parts = np.split(found, tree.arrays.state_start[1:-1])
        return dict(zip(tree.names, parts, strict=True))

    def marginals(self, evidence: Mapping[str, Any] | None = None) -> dict[str, np.ndarray]:
        """Distribution of every unknown variable, by one junction tree.

        Parameters
        ----------
        evidence : dict, optional
            As for `query`.
        """
        check_is_fitted(self, "tables_")
        known = self._evidence(evidence)
        return {v: p for v, p in self._tree_marginals(known).items() if v not in known.hard}

    def log_evidence(self, evidence: Mapping[str, Any]) -> float:
        """Log-probability of what is known.

        Parameters
        ----------
        evidence : dict
            As for `query`.
        """
        check_is_fitted(self, "tables_")
        known = self._evidence(evidence)
        relevant = self.graph_.ancestors([*known.hard, *known.soft])
        with np.errstate(divide="ignore"):
            return float(np.log(eliminate(self._factors(known, relevant), ()).table))

    def most_probable(
        self, evidence: Mapping[str, Any] | None = None, variables: str | list[str] | None = None
    ) -> dict[str, Any]:
        """The most probable states together (MAP).

        Parameters
        ----------
        evidence : dict, optional
            As for `query`.
        variables : str or list of str, optional
            Only these; all others are summed out. By default all that are unknown.
        """
        check_is_fitted(self, "tables_")
        known = self._evidence(evidence)
        chosen = [v for v in self.graph_.nodes if v not in known.hard]
        factors = self._factors(known, self.graph_.nodes)
        if variables is not None:
            chosen = [variables] if isinstance(variables, str) else list(variables)
            self._check_names(chosen)
            if any(v in known.hard for v in chosen):
                raise ValueError("the variables to ask for must not be known already")
            factors = sum_out_others(factors, set(chosen))
        best = maximize(factors)
        return {v: self.states_[v][best[v]] for v in chosen}

    def sample(
        self,
        n_samples: int = 1,
        *,
        evidence: Mapping[str, Any] | None = None,
        method: str | None = None,
        burn_in: int = 200,
        random_state: Any = None,
    ) -> dict[str, np.ndarray]:
        """Draw rows, as columns of states.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        evidence : dict, optional
            Known states or likelihoods of states, for the methods below.
        method : {"ancestral", "rejection", "gibbs"}, optional
            Parents before children, without evidence; the same, until enough rows agree with the
            evidence; or one variable after the other given its Markov blanket, a chain for each
            row. By default ancestral without evidence, else rejection.
        burn_in : int
            Rounds of Gibbs sampling.
        random_state : int or None
            Seed.
        """
        check_is_fitted(self, "tables_")
        if n_samples < 0:
            raise ValueError(f"n_samples={n_samples}: give the number of rows")
        n_samples = int(n_samples)
        known = self._evidence(evidence)
        empty = not (known.hard or known.soft)
        method = method or ("ancestral" if empty else "rejection")
        if method == "ancestral" and not empty:
            raise ValueError("with evidence, draw by method='rejection' or 'gibbs'")
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        if method == "ancestral":
            rows = draw_ancestral(self.graph_, self.tables_, n_samples, seed)
        elif method == "rejection":
            rows = draw_rejection(self.graph_, self.tables_, n_samples, known, seed)
        elif method == "gibbs":
            rng = np.random.default_rng(seed)
            rows = draw_gibbs(self.graph_, self.tables_, n_samples, known, rng, burn_in)
        else:
            raise ValueError(f"method={method!r}: give 'ancestral', 'rejection' or 'gibbs'")
        return {v: state_array(self.states_[v])[rows[v]] for v in self.graph_.nodes}

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
            Known states, or likelihoods of states.
        n_samples : int
            Number of weighted rows.
        random_state : int or None
            Seed.
        """
        check_is_fitted(self, "tables_")
        self._check_names([variable])
        known = self._evidence(evidence)
        rng = np.random.default_rng(int(check_random_state(random_state).randint(2**31 - 1)))
        rows, weight = draw_weighted(self.graph_, self.tables_, n_samples, known, rng)
        sums = np.bincount(rows[variable], weight, minlength=len(self.states_[variable]))
        if not sums.sum() > 0:
            raise ValueError("no draw agrees with the evidence: raise n_samples, or use `query`")
        return sums / sums.sum()


def state_array(states: tuple[Any, ...]) -> np.ndarray:
    """States as an array: of numbers or text where all are, otherwise of objects."""
    kinds = {type(state) for state in states}
    if kinds <= {int} or kinds <= {bool} or kinds <= {float, int} or kinds <= {str}:
        return np.array(states)
    array = np.empty(len(states), dtype=object)
    array[:] = states
    return array
