"""Structures of Bayesian networks learned from rows: trees of mutual information, hill climbing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.graphical._table_columns import encode_column, find_states, read_columns
from tenfold.graphical.bayesian_network import BayesianNetwork

_MIN_GAIN = 1e-9  # of a score, below which a change of the structure is rounding


class _Codes:
    """Rows as numbered states, and counts of sets of variables."""

    def __init__(self, X: Any, nodes: list[str] | None) -> None:
        columns = read_columns(X, nodes or _column_names(X))
        self.columns = columns
        self.names = list(nodes or columns)
        self.states = {name: find_states(columns[name]) for name in self.names}
        self.codes = {n: encode_column(n, columns[n], self.states[n]) for n in self.names}
        gaps = [name for name in self.names if (self.codes[name] < 0).any()]
        if gaps:
            raise ValueError(f"{gaps[0]!r} has missing values: structures are learned without any")
        self.n_rows = len(next(iter(self.codes.values())))

    def count(self, *names: str) -> np.ndarray:
        """Counts of the combinations of states of some variables."""
        shape = [len(self.states[name]) for name in names]
        cells = np.ravel_multi_index([self.codes[name] for name in names], shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def _column_names(X: Any) -> list[str]:
    if isinstance(X, np.ndarray):
        return [f"x{j}" for j in range(X.shape[1])]
    if isinstance(X, list) and X:
        return list(X[0])
    return []


def mutual_information(table: np.ndarray) -> float:
    """Mutual information of the two axes of a table of counts, in nats.

    Examples
    --------
    >>> mutual_information(np.array([[5, 5], [5, 5]]))
    0.0
    """
    p = table / table.sum()
    apart = np.outer(p.sum(axis=1), p.sum(axis=0))
    used = p > 0
    return max(float((p[used] * np.log(p[used] / apart[used])).sum()), 0.0)


class ChowLiu(BaseEstimator):
    r"""The most likely Bayesian network among all trees.

    The likelihood of a tree is the sum of the mutual informations of its edges, up to a constant,
    so the best tree is a spanning tree of largest sum [1]_.

    Parameters
    ----------
    nodes : list of str, optional
        Variables, if X is an array; by default x0, x1, ...
    root : str, optional
        Variable from which all arcs lead away; by default the first.
    pseudo_count : float
        Of the tables of the network.

    Attributes
    ----------
    network_ : BayesianNetwork
    edges_ : list of (parent, child, mutual information)

    References
    ----------
    .. [1] C. K. Chow and C. N. Liu (1968), Approximating discrete probability distributions with
       dependence trees.

    Examples
    --------
    >>> from tenfold import ChowLiu
    >>> rows = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1]}
    >>> [edge[:2] for edge in ChowLiu().fit(rows).edges_]
    [('a', 'b'), ('a', 'c')]
    """

    _parameter_constraints: dict[str, Any] = {
        "nodes": [list, tuple, None],
        "root": [str, None],
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, *, nodes: Any = None, root: str | None = None, pseudo_count: float = 0.0
    ) -> None:
        self.nodes = nodes
        self.root = root
        self.pseudo_count = pseudo_count

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the tree, and estimate its tables.

        Parameters
        ----------
        X : data frame, dict of columns, list of dicts, or array
            The rows, without gaps.
        y : None
            Not used.
        """
        self._validate_params()
        codes = _Codes(X, None if self.nodes is None else list(self.nodes))
        names = codes.names
        if self.root is not None and self.root not in names:
            raise ValueError(f"root={self.root!r} is none of the variables {names[:10]}")
        inside = [self.root or names[0]]
        outside = [name for name in names if name not in inside]
        gains = {(inside[0], b): mutual_information(codes.count(inside[0], b)) for b in outside}
        edges = []
        while outside:  # Prim's algorithm; the first of equal edges
            a, b = max(gains, key=lambda pair: gains[pair])
            edges.append((a, b, gains[a, b]))
            outside.remove(b)
            gains = {pair: gain for pair, gain in gains.items() if pair[1] != b}
            gains |= {(b, c): mutual_information(codes.count(b, c)) for c in outside}
        self.edges_ = edges
        arcs = [(a, b) for a, b, _ in edges]
        self.network_ = _fit_network(arcs, codes, self.pseudo_count)
        return self


def _fit_network(
    arcs: list[tuple[str, str]], codes: _Codes, pseudo_count: float
) -> BayesianNetwork:
    columns = {name: codes.columns[name] for name in codes.names}
    return BayesianNetwork(arcs, nodes=codes.names, pseudo_count=pseudo_count).fit(columns)


class HillClimbing(BaseEstimator):
    r"""A Bayesian network by greedy changes of its arcs.

    Begins without arcs and adds, removes or reverses the one that raises the score most, until none
    does. A score is a sum over variables given their parents, so a change touches one or two terms.

    Parameters
    ----------
    score : {"bic", "aic", "log_likelihood"}
        What to raise: log-likelihood minus (log n) / 2, 1 or 0 for each free parameter.
    max_parents : int
        Most parents of a variable.
    max_iter : int
        Most changes.
    nodes : list of str, optional
        Variables, if X is an array; by default x0, x1, ...
    pseudo_count : float
        Of the tables of the network.

    Attributes
    ----------
    network_ : BayesianNetwork
    score_ : float
    n_iter_ : int
    converged_ : bool
        Whether no change raises the score.

    Examples
    --------
    >>> from tenfold import HillClimbing
    >>> rows = {"a": [0, 1] * 40, "b": [0, 1] * 40, "c": [0, 0, 1, 1] * 20}
    >>> HillClimbing().fit(rows).network_.factorization()
    'p(a) p(c) p(b | a)'
    """

    _parameter_constraints: dict[str, Any] = {
        "score": [StrOptions({"bic", "aic", "log_likelihood"})],
        "max_parents": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "nodes": [list, tuple, None],
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        score: str = "bic",
        *,
        max_parents: int = 3,
        max_iter: int = 1000,
        nodes: Any = None,
        pseudo_count: float = 0.0,
    ) -> None:
        self.score = score
        self.max_parents = max_parents
        self.max_iter = max_iter
        self.nodes = nodes
        self.pseudo_count = pseudo_count

    def fit(self, X: Any, y: Any = None) -> Self:
        """Search the structure, and estimate the tables.

        Parameters
        ----------
        X : data frame, dict of columns, list of dicts, or array
            The rows, without gaps.
        y : None
            Not used.
        """
        self._validate_params()
        codes = _Codes(X, None if self.nodes is None else list(self.nodes))
        term = family_score(codes, self.score)
        parents: dict[str, frozenset[str]] = {name: frozenset() for name in codes.names}
        self.n_iter_, self.converged_ = 0, False
        while self.n_iter_ < self.max_iter:
            change = max(
                self._changes(parents, term), key=lambda found: found[0], default=(0.0, {})
            )
            if change[0] <= _MIN_GAIN:
                self.converged_ = True
                break
            parents |= change[1]
            self.n_iter_ += 1
        self.score_ = float(sum(term(name, above) for name, above in parents.items()))
        arcs = [(a, name) for name, above in parents.items() for a in sorted(above)]
        self.network_ = _fit_network(arcs, codes, self.pseudo_count)
        return self

    def _changes(
        self, parents: dict[str, frozenset[str]], term: Callable[[str, frozenset[str]], float]
    ) -> list[tuple[float, dict[str, frozenset[str]]]]:
        """Gain of each allowed change, and the parents after it."""
        found = []
        now = {name: term(name, above) for name, above in parents.items()}
        for a, b in permutations(parents, 2):
            if a in parents[b]:
                less = {b: parents[b] - {a}}
                gain = term(b, less[b]) - now[b]
                found.append((gain, less))
                reversed_arc = less | {a: parents[a] | {b}}
                if len(reversed_arc[a]) <= self.max_parents and not _is_reached(
                    parents | less, a, b
                ):
                    found.append((gain + term(a, reversed_arc[a]) - now[a], reversed_arc))
            elif (
                len(parents[b]) < self.max_parents
                and b not in parents[a]
                and not _is_reached(parents, b, a)
            ):
                more = {b: parents[b] | {a}}
                found.append((term(b, more[b]) - now[b], more))
        return found


def _is_reached(parents: dict[str, frozenset[str]], start: str, goal: str) -> bool:
    """Whether arcs lead from one variable to another."""
    agenda, seen = [goal], set()
    while agenda:
        node = agenda.pop()
        if node == start:
            return True
        if node not in seen:
            seen.add(node)
            agenda.extend(parents[node])
    return False


def family_score(codes: Any, name: str) -> Callable[[str, frozenset[str]], float]:
    """The term of a score for a variable and its parents; each is computed once."""
    price = {"bic": 0.5 * np.log(max(codes.n_rows, 1)), "aic": 1.0, "log_likelihood": 0.0}[name]
    known: dict[tuple[str, frozenset[str]], float] = {}

    def term(variable: str, above: frozenset[str]) -> float:
        key = variable, above
        if key not in known:
            table = codes.count(*sorted(above), variable)
            total = np.broadcast_to(table.sum(axis=-1, keepdims=True), table.shape)
            used = table > 0
            likelihood = float((table[used] * np.log(table[used] / total[used])).sum())
            free = table.size // table.shape[-1] * (table.shape[-1] - 1)
            known[key] = likelihood - price * free
        return known[key]

    return term
