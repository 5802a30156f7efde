"""Structures of Bayesian networks by greedy changes of arcs."""

from __future__ import annotations

from itertools import permutations
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.graphical._state_rows import StateRows
from tenfold.graphical._structure_base import (
    SCORES,
    STRUCTURE_CONSTRAINTS,
    Family,
    FamilyScores,
    StructureLearner,
)
from tenfold.graphical.directed_graph import DirectedGraph

_MIN_GAIN = 1e-9  # of a score, below which a change of the structure is rounding

Parents = dict[str, frozenset[str]]
Arc = tuple[str, str]


class _Change(NamedTuple):
    gain: float
    parents: Parents  # of the variables that it touches
    arc: Arc  # that it adds, removes or reverses


class HillClimbing(StructureLearner):
    r"""A Bayesian network by greedy changes of its arcs.

    Adds, removes or reverses the arc that raises the score most, until none does. A score is a sum
    over variables given their parents, so a change touches one or two terms, and each round counts
    only families that are new, all of them in one pass. With `tabu_length` the search goes on
    downhill for a while without undoing its last changes; restarts begin at random changes of the
    best structure.

    Parameters
    ----------
    score : {"bic", "aic", "log_likelihood", "bdeu", "k2"}
        What to raise: log-likelihood minus (log n) / 2, 1 or 0 for each free parameter; or the
        marginal likelihood under Dirichlet priors.
    equivalent_sample_size : float
        Weight of the prior of BDeu, in rows.
    max_parents : int
        Most parents of a variable.
    max_iter : int
        Most changes.
    tabu_length : int
        Changes of late that must not be undone, and most changes in a row that do not raise the
        score; 0 ends at the first maximum.
    n_restarts : int
        Further searches.
    start : list of pairs (from, to)
        Arcs at the beginning.
    required, forbidden : list of pairs (from, to)
        Arcs that must, or must not, be there.
    nodes : list of str, optional
        Variables; by default all columns, those of arrays as x0, x1, ...
    pseudo_count : float
        Of the tables of the network.
    states : dict, optional
        States of variables; by default those that occur.
    random_state : int or None
        Seed of the restarts.

    Attributes
    ----------
    network_ : BayesianNetwork
    score_ : float
    n_iter_ : int
        Changes of all searches.
    converged_ : bool
        Whether no change of the structure raises the score.
    history_ : array
        Score of the structure after each change of the search that found it.

    See Also
    --------
    ExactSearch : the best structure of all, for few variables.
    PC : by tests of independence.

    Examples
    --------
    >>> from tenfold import HillClimbing
    >>> rows = {"a": [0, 1] * 40, "b": [0, 1] * 40, "c": [0, 0, 1, 1] * 20}
    >>> HillClimbing().fit(rows).network_.factorization()
    'p(a) p(c) p(b | a)'
    """

    _parameter_constraints: dict[str, Any] = {
        **STRUCTURE_CONSTRAINTS,
        "score": [StrOptions(SCORES)],
        "equivalent_sample_size": [Interval(Real, 0, None, closed="neither")],
        "max_parents": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tabu_length": [Interval(Integral, 0, None, closed="left")],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "start": [list, tuple, str],
        "required": [list, tuple],
        "forbidden": [list, tuple],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        score: str = "bic",
        *,
        equivalent_sample_size: float = 10.0,
        max_parents: int = 3,
        max_iter: int = 1000,
        tabu_length: int = 0,
        n_restarts: int = 0,
        start: Any = (),
        required: Any = (),
        forbidden: Any = (),
        nodes: Any = None,
        pseudo_count: float = 0.0,
        states: dict[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.score = score
        self.equivalent_sample_size = equivalent_sample_size
        self.max_parents = max_parents
        self.max_iter = max_iter
        self.tabu_length = tabu_length
        self.n_restarts = n_restarts
        self.start = start
        self.required = required
        self.forbidden = forbidden
        self.nodes = nodes
        self.pseudo_count = pseudo_count
        self.states = states
        self.random_state = random_state

    def _search(self, coded: StateRows) -> list[Arc]:
        term = FamilyScores(coded, self.score, self.equivalent_sample_size)
        parents = self._first_parents(coded.names)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        self.n_iter_ = 0
        best = self._ascend(parents, term)
        for _ in range(self.n_restarts):
            other = self._ascend(self._shake(best[0], rng), term)
            best = other if other[1][-1] > best[1][-1] + _MIN_GAIN else best
        parents, self.history_, self.converged_ = best[0], np.array(best[1]), best[2]
        self.score_ = float(self.history_[-1])
        return [(a, name) for name, above in parents.items() for a in sorted(above)]

    def _first_parents(self, names: list[str]) -> Parents:
        start = DirectedGraph.from_arcs(self.start, names)
        arcs = [arc for arc in start.arcs if arc not in set(map(tuple, self.forbidden))]
        graph = DirectedGraph.from_arcs(
            [*dict.fromkeys([*arcs, *map(tuple, self.required)])], names
        )
        strange = [v for arc in (*graph.arcs, *self.forbidden) for v in arc if v not in names]
        if strange:
            raise ValueError(f"{strange[0]!r} is none of the variables {names[:10]}")
        both = set(map(tuple, self.required)) & set(map(tuple, self.forbidden))
        if both:
            raise ValueError(f"the arc {min(both)} is both required and forbidden")
        return {name: frozenset(graph.parents[name]) for name in names}

    def _ascend(self, parents: Parents, term: FamilyScores) -> tuple[Parents, list[float], bool]:
        """The best structure of one search, its scores so far, and whether it is a maximum."""
        parents, tabu, idle = dict(parents), list[Arc](), 0
        changed, candidates = set(parents), _Candidates(self, parents)
        now = float(sum(term(name, above) for name, above in parents.items()))
        scores, best, best_at = [now], dict(parents), 0
        for _ in range(self.max_iter):
            candidates.update(parents, term, changed)
            found = candidates.best_change(parents, term, tabu)
            rises = found is not None and found.gain > _MIN_GAIN
            if found is None or (not rises and idle >= self.tabu_length):
                return best, scores[: best_at + 1], True
            parents |= found.parents
            changed = set(found.parents)
            now += found.gain
            scores.append(now)
            self.n_iter_ += 1
            tabu = [*tabu, found.arc][-self.tabu_length :] if self.tabu_length else []
            if now > scores[best_at] + _MIN_GAIN:
                best, best_at, idle = dict(parents), len(scores) - 1, 0
            else:
                idle += 1
        candidates.update(parents, term, changed)
        found = candidates.best_change(parents, term, [])
        return best, scores[: best_at + 1], found is None or found.gain <= _MIN_GAIN

    def _shake(self, parents: Parents, rng: np.random.Generator) -> Parents:
        """Random changes, as many as there are variables."""
        parents = dict(parents)
        candidates = _Candidates(self, parents)
        for _ in range(len(parents)):
            changes = candidates.all_changes(parents)
            if changes:
                parents |= changes[int(rng.integers(len(changes)))]
        return parents


class _Candidates:
    """The changes that a search may make."""

    def __init__(self, search: HillClimbing, parents: Parents) -> None:
        self.limit, self.names = search.max_parents, list(parents)
        self.required = set(map(tuple, search.required))
        self.forbidden = set(map(tuple, search.forbidden))
        self.gains: dict[str, dict[str, float]] = {name: {} for name in parents}

    def families(self, parents: Parents, changed: set[str]) -> list[Family]:
        """Families whose scores changes need, of variables whose parents have changed."""
        found: list[Family] = []
        for b in self.names:
            if b not in changed:
                continue
            found.append((b, parents[b]))
            for a in self.names:
                if a in parents[b]:
                    found.append((b, parents[b] - {a}))
                elif a != b and len(parents[b]) < self.limit and (a, b) not in self.forbidden:
                    found.append((b, parents[b] | {a}))
        return found

    def update(self, parents: Parents, term: FamilyScores, changed: set[str]) -> None:
        """Compute the gains of adding and removing parents of variables that have changed."""
        term.prepare(self.families(parents, changed))
        for b in changed:
            now = term(b, parents[b])
            self.gains[b] = {
                a: term(b, parents[b] ^ {a}) - now
                for a in self.names
                if a in parents[b]
                or (a != b and len(parents[b]) < self.limit and (a, b) not in self.forbidden)
            }

    def best_change(self, parents: Parents, term: FamilyScores, tabu: list[Arc]) -> _Change | None:
        """The change of the largest gain; the first of equals."""
        ancestors = _all_ancestors(parents)
        best: tuple[float, str, str, bool] | None = None
        for a, b in permutations(self.names, 2):
            gain = self.gains[b].get(a)
            if gain is None or (tabu and ((a, b) in tabu or (b, a) in tabu)):
                continue
            if a not in parents[b]:
                if (best is None or gain > best[0]) and self._may_add(parents, ancestors, a, b):
                    best = gain, a, b, False
            elif (a, b) not in self.required:
                if best is None or gain > best[0]:
                    best = gain, a, b, False
                back = gain + self._reversal(parents, a, b, term)
                if back > best[0] and self._may_reverse(parents, a, b):
                    best = back, a, b, True
        if best is None:
            return None
        gain, a, b, is_reversal = best
        after = {b: parents[b] ^ {a}} | ({a: parents[a] | {b}} if is_reversal else {})
        return _Change(gain, after, (a, b))

    def _may_add(self, parents: Parents, ancestors: dict, a: str, b: str) -> bool:
        return b not in ancestors[a] and b not in parents[a]

    def _reversal(self, parents: Parents, a: str, b: str, term: FamilyScores) -> float:
        """Gain of b as a parent of a."""
        if len(parents[a]) >= self.limit or (b, a) in self.forbidden:
            return -np.inf
        return term(a, parents[a] | {b}) - term(a, parents[a])

    def _may_reverse(self, parents: Parents, a: str, b: str) -> bool:
        return not _is_reached(parents | {b: parents[b] - {a}}, a, b)

    def all_changes(self, parents: Parents) -> list[Parents]:
        """The parents after each allowed change."""
        ancestors = _all_ancestors(parents)
        found: list[Parents] = []
        for a, b in permutations(self.names, 2):
            if a in parents[b]:
                if (a, b) in self.required:
                    continue
                less = {b: parents[b] - {a}}
                found.append(less)
                free = (b, a) not in self.forbidden and len(parents[a]) < self.limit
                if free and self._may_reverse(parents, a, b):
                    found.append(less | {a: parents[a] | {b}})
            elif (
                len(parents[b]) < self.limit
                and (a, b) not in self.forbidden
                and self._may_add(parents, ancestors, a, b)
            ):
                found.append({b: parents[b] | {a}})
        return found


def _all_ancestors(parents: Parents) -> dict[str, frozenset[str]]:
    """The ancestors of each variable, without itself."""
    known: dict[str, frozenset[str]] = {}
    waiting = list(parents)
    while waiting:
        later = []
        for name in waiting:
            above = parents[name]
            if all(a in known for a in above):
                known[name] = above.union(*(known[a] for a in above))
            else:
                later.append(name)
        waiting = later
    return known


def _is_reached(parents: Parents, start: str, goal: str) -> bool:
    """Whether arcs lead from one variable to another."""
    agenda, seen = [goal], set[str]()
    while agenda:
        node = agenda.pop()
        if node == start:
            return True
        if node not in seen:
            seen.add(node)
            agenda.extend(parents[node])
    return False
