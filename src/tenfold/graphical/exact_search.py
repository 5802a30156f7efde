"""The best structure of a Bayesian network among all, for few variables."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.engine.memory import check_memory
from tenfold.graphical._exact_search_numba import best_parent_sets, best_sinks
from tenfold.graphical._state_rows import StateRows
from tenfold.graphical._structure_base import (
    SCORES,
    STRUCTURE_CONSTRAINTS,
    FamilyScores,
    StructureLearner,
)

_MAX_VARIABLES = 20


class ExactSearch(StructureLearner):
    r"""The Bayesian network of the best score among all, by dynamic programming.

    The best network of a set of variables has a last one, whose parents are the best among the
    others, and the best network of these before it [1]_:

    .. math:: B(S) = \max_{v \in S} \; B(S \setminus v) + \max_{P \subseteq S \setminus v} s(v, P)

    Time and memory double with each variable.

    Parameters
    ----------
    score : {"bic", "aic", "log_likelihood", "bdeu", "k2"}
        As in `HillClimbing`.
    equivalent_sample_size : float
        Weight of the prior of BDeu, in rows.
    max_parents : int, optional
        Most parents of a variable. By default, for BIC, as many as can pay: no variable of the best
        network has more than :math:`\log_2(2 n / \log n)` [2]_; else all.
    required, forbidden : list of pairs (from, to)
        Arcs that must, or must not, be there.
    nodes : list of str, optional
        Variables; by default all columns, those of arrays as x0, x1, ...
    pseudo_count : float
        Of the tables of the network.
    states : dict, optional
        States of variables; by default those that occur.

    Attributes
    ----------
    network_ : BayesianNetwork
    score_ : float

    See Also
    --------
    HillClimbing : any number of variables, without a guarantee.

    References
    ----------
    .. [1] T. Silander and P. Myllymäki (2006), A simple approach for finding the globally optimal
       Bayesian network structure.
    .. [2] C. P. de Campos and Q. Ji (2011), Efficient structure learning of Bayesian networks using
       constraints.

    Examples
    --------
    >>> from tenfold import ExactSearch
    >>> rows = {"a": [0, 1] * 40, "b": [0, 1] * 40, "c": [0, 0, 1, 1] * 20}
    >>> len(ExactSearch().fit(rows).network_.graph_.arcs)
    1
    """

    _parameter_constraints: dict[str, Any] = {
        **STRUCTURE_CONSTRAINTS,
        "score": [StrOptions(SCORES)],
        "equivalent_sample_size": [Interval(Real, 0, None, closed="neither")],
        "max_parents": [Interval(Integral, 0, None, closed="left"), None],
        "required": [list, tuple],
        "forbidden": [list, tuple],
    }

    def __init__(
        self,
        score: str = "bic",
        *,
        equivalent_sample_size: float = 10.0,
        max_parents: int | None = None,
        required: Any = (),
        forbidden: Any = (),
        nodes: Any = None,
        pseudo_count: float = 0.0,
        states: dict[str, Any] | None = None,
    ) -> None:
        self.score = score
        self.equivalent_sample_size = equivalent_sample_size
        self.max_parents = max_parents
        self.required = required
        self.forbidden = forbidden
        self.nodes = nodes
        self.pseudo_count = pseudo_count
        self.states = states

    def _search(self, coded: StateRows) -> list[tuple[str, str]]:
        names = coded.names
        p = len(names)
        if p > _MAX_VARIABLES:
            raise ValueError(
                f"exact search looks at all 2^{p} sets of {p} variables: at most {_MAX_VARIABLES} "
                "are possible. Use HillClimbing or PC"
            )
        work = f"exact search of {p} variables"
        check_memory(20.0 * p * 2**p, work, "use HillClimbing, or fewer variables")
        scores = self._family_scores(coded)
        best, chosen = best_parent_sets(scores)
        total, sink = best_sinks(best)
        if not np.isfinite(total[-1]):
            raise ValueError("no network has the required arcs without the forbidden ones")
        self.score_ = float(total[-1])
        arcs, left = [], 2**p - 1
        while left:
            v = int(sink[left])
            left &= ~(1 << v)
            above = int(chosen[v, left])
            arcs += [(names[u], names[v]) for u in range(p) if above >> u & 1]
        return arcs

    def _family_scores(self, coded: StateRows) -> np.ndarray:
        """The term of each variable and each set of parents, (p, 2^p)."""
        names = coded.names
        term = FamilyScores(coded, self.score, self.equivalent_sample_size)
        p, limit = len(names), self._limit(term.n, len(names))
        bit = {name: 1 << at for at, name in enumerate(names)}
        strange = [v for arc in (*self.required, *self.forbidden) for v in arc if v not in bit]
        if strange:
            raise ValueError(f"{strange[0]!r} is none of the variables {names[:10]}")
        wanted, banned = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        for tail, head in self.required:
            wanted[head] |= bit[tail]
        for tail, head in self.forbidden:
            banned[head] |= bit[tail]
        scores = np.full((p, 2**p), -np.inf)
        for v, name in enumerate(names):
            others = [u for u in names if u != name]
            sets = {
                sum(bit[u] for u in above): frozenset(above)
                for size in range(limit + 1)
                for above in combinations(others, size)
            }
            sets = {
                s: above
                for s, above in sets.items()
                if s & wanted[name] == wanted[name] and not s & banned[name]
            }
            term.prepare((name, above) for above in sets.values())
            for s, above in sets.items():
                scores[v, s] = term(name, above)
            term.known.clear()
        return scores

    def _limit(self, n: float, p: int) -> int:
        if self.max_parents is not None:
            return min(self.max_parents, p - 1)
        if self.score == "bic" and n > 2:
            return min(int(np.log2(2 * n / np.log(n))), p - 1)
        return p - 1
