"""Questions to a network of numbers and discrete variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self, cast

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.graphical._gaussian_inference import (
    GaussianAnswer,
    GaussianComponents,
    LinearGaussian,
    answer_numbers,
    expand_components,
    expect_numbers,
    normalize_scores,
    weigh_components,
)
from tenfold.graphical._network_queries import state_array
from tenfold.graphical._table_columns import encode_column, read_columns
from tenfold.graphical.directed_graph import DirectedGraph
from tenfold.graphical.factors import Factor


class GaussianQueries:
    """Inference with known parameters."""

    nodes: Any
    graph_: DirectedGraph
    states_: dict[str, tuple[Any, ...]]
    tables_: dict[str, np.ndarray]
    gaussians_: dict[str, LinearGaussian]

    def _names(self) -> list[str]:
        return list(self.nodes) if self.nodes else self.graph_.nodes

    def _column(self, name: str, values: np.ndarray) -> np.ndarray:
        if name in self.states_:
            return encode_column(name, values, self.states_[name]).astype(np.float64)
        try:
            column = np.array([np.nan if v is None else v for v in values.tolist()], np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"the column {name!r} holds something that is no number: name it in `discrete`"
            ) from None
        if np.isinf(column).any():
            raise ValueError(f"row {int(np.argmax(np.isinf(column)))}: {name} is infinite")
        return column

    def factorization(self) -> str:
        """The joint distribution as a product."""
        check_is_fitted(self, "gaussians_")
        parts = (f"{v} | {', '.join(p)}" if p else v for v, p in self.graph_.parents.items())
        return " ".join(f"p({part})" for part in parts)

    def n_parameters(self) -> int:
        """Free parameters: entries of tables; intercepts, weights and variances of numbers."""
        check_is_fitted(self, "gaussians_")
        tables = sum(t.size // t.shape[-1] * (t.shape[-1] - 1) for t in self.tables_.values())
        return tables + sum(part.size for node in self.gaussians_.values() for part in node)

    def joint(self) -> GaussianComponents:
        """The joint distribution: a Gaussian of all numbers for each state of the discrete ones."""
        check_is_fitted(self, "gaussians_")
        return self._expand(self.graph_.nodes)

    def _expand(self, wanted: Iterable[str]) -> GaussianComponents:
        """The joint distribution of some variables and their ancestors."""
        kept = self.graph_.ancestors(wanted)
        graph = DirectedGraph.of({v: p for v, p in self.graph_.parents.items() if v in kept})
        sizes = {v: len(s) for v, s in self.states_.items()}
        tables = {v: t for v, t in self.tables_.items() if v in kept}
        gaussians = {v: g for v, g in self.gaussians_.items() if v in kept}
        return expand_components(graph, sizes, tables, gaussians)

    def _encode_evidence(
        self, joint: GaussianComponents, evidence: Mapping[str, Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        codes = np.full((1, len(joint.discrete)), -1, np.int64)
        values = np.full((1, len(joint.numbers)), np.nan)
        for name, value in evidence.items():
            if name in self.states_:
                if value not in self.states_[name]:
                    shown = list(self.states_[name])[:8]
                    raise ValueError(f"{name}={value!r} is none of its states {shown}")
                codes[0, joint.discrete.index(name)] = self.states_[name].index(value)
            else:
                try:
                    number = float(value)
                except (TypeError, ValueError):
                    number = np.nan
                if not np.isfinite(number):
                    raise ValueError(f"{name}={value!r}: give a finite number")
                values[0, joint.numbers.index(name)] = number
        return codes, values

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.graph_.parents:
                raise ValueError(f"{name!r} is none of the variables {self.graph_.nodes[:10]}")

    def query(
        self, variables: str | list[str], evidence: Mapping[str, Any] | None = None
    ) -> GaussianAnswer | Factor:
        """Distribution of some variables given others, exactly.

        Parameters
        ----------
        variables : str or list of str
            Numbers, or discrete variables; not both in one question.
        evidence : dict, optional
            Value of each known variable.

        Returns
        -------
        GaussianAnswer of numbers, Factor of discrete variables
        """
        check_is_fitted(self, "gaussians_")
        targets = (variables,) if isinstance(variables, str) else tuple(variables)
        known = dict(evidence or {})
        self._check_names((*targets, *known))
        if not targets or len(set(targets)) < len(targets) or any(v in known for v in targets):
            raise ValueError(
                "name each variable to ask for once; none of them may be known already"
            )
        kinds = {v in self.states_ for v in targets}
        if len(kinds) > 1:
            raise ValueError(
                "ask for numbers or for discrete variables, not for both at once: their joint "
                "distribution is `joint()`"
            )
        joint = self._expand((*targets, *known))
        codes, values = self._encode_evidence(joint, known)
        if kinds == {False}:
            return answer_numbers(joint, targets, codes, values)
        weights = normalize_scores(weigh_components(joint, codes, values))[0]
        shape = [len(self.states_[v]) for v in targets]
        table = np.zeros(shape)
        np.add.at(table, tuple(joint.states[:, joint.discrete.index(v)] for v in targets), weights)
        return Factor(targets, table, tuple(self.states_[v] for v in targets))

    def log_evidence(self, evidence: Mapping[str, Any]) -> float:
        """Log-density of what is known.

        Parameters
        ----------
        evidence : dict
            Value of each known variable.
        """
        check_is_fitted(self, "gaussians_")
        self._check_names(evidence)
        joint = self._expand(evidence)
        scores = weigh_components(joint, *self._encode_evidence(joint, evidence))
        return float(np.asarray(logsumexp(scores)))

    def _encode_rows(self, X: Any) -> tuple[GaussianComponents, np.ndarray, np.ndarray]:
        check_is_fitted(self, "gaussians_")
        joint = self._expand(self.graph_.nodes)
        columns = read_columns(X, self._names())
        n = len(next(iter(columns.values())))
        codes = np.full((n, len(joint.discrete)), -1, np.int64)
        values = np.full((n, len(joint.numbers)), np.nan)
        for v, column in columns.items():
            if v in self.states_:
                found = self._column(v, column)
                codes[:, joint.discrete.index(v)] = np.where(np.isnan(found), -1, found)
            elif v in self.graph_.parents:
                values[:, joint.numbers.index(v)] = self._column(v, column)
        return joint, codes, values

    def log_prob(self, X: Any) -> np.ndarray:
        """Log-density of each row; what is missing is integrated out.

        Parameters
        ----------
        X : as for `fit`
            The rows; None or NaN is missing.
        """
        return np.asarray(logsumexp(weigh_components(*self._encode_rows(X)), axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of the rows.

        Parameters
        ----------
        X, y : as for `fit`
            The rows.
        """
        return float(self.log_prob(X).mean())

    def impute(self, X: Any) -> dict[str, np.ndarray]:
        """Rows with missing numbers replaced by expectations, missing states by the most probable.

        Parameters
        ----------
        X : as for `fit`
            The rows.
        """
        joint, codes, values = self._encode_rows(X)
        weights = normalize_scores(weigh_components(joint, codes, values))
        filled = expect_numbers(joint, weights, values)
        found = {v: filled[:, at] for at, v in enumerate(joint.numbers)}
        for at, v in enumerate(joint.discrete):
            found[v] = state_array(self.states_[v])[self._marginal(joint, weights, at).argmax(1)]
        return {v: found[v] for v in self.graph_.nodes}

    def _marginal(self, joint: GaussianComponents, weights: np.ndarray, at: int) -> np.ndarray:
        """Distribution of a discrete variable in each row."""
        states = np.eye(len(self.states_[joint.discrete[at]]))[joint.states[:, at]]
        return weights @ states

    def predict(self, X: Any, variable: str) -> np.ndarray:
        """Expectation of a number, or most probable state, in each row given the others.

        Parameters
        ----------
        X : as for `fit`
            The rows; a column of the variable itself is not looked at.
        variable : str
            The variable.
        """
        check_is_fitted(self, "gaussians_")
        self._check_names([variable])
        columns = dict(read_columns(X, self._names()))
        n = len(next(iter(columns.values())))
        columns[variable] = np.full(n, np.nan)
        return self.impute(columns)[variable]

    def do(self, settings: Mapping[str, Any] | None = None, /, **more: Any) -> Self:
        """The network after an intervention that sets variables, whatever their causes.

        Parameters
        ----------
        settings : dict, optional
            Value of each variable that is set.
        **more : the same by name
        """
        check_is_fitted(self, "gaussians_")
        given = {**(settings or {}), **more}
        self._check_names(given)
        tables, gaussians = dict(self.tables_), dict(self.gaussians_)
        for name, value in given.items():
            if name in self.states_:
                if value not in self.states_[name]:
                    raise ValueError(f"{name}={value!r} is none of its states")
                states = self.states_[name]
                tables[name] = np.eye(len(states))[states.index(value)]
            else:
                gaussians[name] = LinearGaussian(np.array(float(value)), np.zeros(0), np.zeros(()))
        graph = self.graph_.without_arcs_into(given)
        return cast("Any", type(self)).from_parameters(
            graph.parents, gaussians, tables, self.states_
        )

    def sample(
        self,
        n_samples: int = 1,
        *,
        evidence: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> dict[str, np.ndarray]:
        """Draw rows, as columns; given evidence from the exact conditional distribution.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        evidence : dict, optional
            Value of each known variable.
        random_state : int or None
            Seed.
        """
        check_is_fitted(self, "gaussians_")
        known = dict(evidence or {})
        self._check_names(known)
        rng = np.random.default_rng(int(check_random_state(random_state).randint(2**31 - 1)))
        rows: dict[str, np.ndarray] = {}
        if not known:
            return self._draw_ancestral(n_samples, rng)
        joint = self._expand(self.graph_.nodes)
        codes, values = self._encode_evidence(joint, known)
        free = tuple(v for v in joint.numbers if v not in known)
        weights = normalize_scores(weigh_components(joint, codes, values))[0]
        component = rng.choice(len(weights), n_samples, p=weights)
        for at, v in enumerate(joint.discrete):
            rows[v] = state_array(self.states_[v])[joint.states[component, at]]
        if free:
            answer = answer_numbers(joint, free, codes, values)
            place = np.cumsum(weights > 0) - 1  # among the components of the answer
            roots = np.array([_square_root(c) for c in answer.covariances])
            noise = rng.normal(size=(n_samples, len(free)))
            chosen = place[component]
            drawn = answer.means[chosen] + np.einsum("nab,nb->na", roots[chosen], noise)
            rows |= {v: drawn[:, at] for at, v in enumerate(free)}
        rows |= {v: np.full(n_samples, float(x)) for v, x in known.items() if v not in self.states_}
        return {v: rows[v] for v in self.graph_.nodes}

    def _draw_ancestral(self, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Parents before children."""
        drawn: dict[str, np.ndarray] = {}
        for v, above in self.graph_.parents.items():
            index = tuple(drawn[u] for u in above if u in self.states_)
            if v in self.states_:
                p = np.broadcast_to(self.tables_[v][index], (n, len(self.states_[v])))
                u = rng.random(n)[:, None] * p.sum(axis=1, keepdims=True)
                drawn[v] = (np.cumsum(p, axis=1) <= u).sum(axis=1).clip(max=p.shape[1] - 1)
                continue
            node = self.gaussians_[v]
            numbers = [drawn[u] for u in above if u not in self.states_]
            mean = np.broadcast_to(node.intercept[index], (n,)).astype(np.float64)
            if numbers:
                mean = mean + (node.coef[index] * np.column_stack(numbers)).sum(axis=-1)
            drawn[v] = mean + np.sqrt(node.variance[index]) * rng.normal(size=n)
        return {
            v: state_array(self.states_[v])[c] if v in self.states_ else c for v, c in drawn.items()
        }


def _square_root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0))
