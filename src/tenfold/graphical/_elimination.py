"""Exact inference: enumeration, variable elimination, junction trees."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tenfold.engine.memory import check_memory
from tenfold.graphical.factors import Factor, multiply_all

_MAX_TABLE_BYTES = 2**33


def _sizes(factors: Iterable[Factor]) -> dict[str, int]:
    return {v: n for f in factors for v, n in zip(f.variables, f.table.shape, strict=True)}


def enumerate_states(factors: list[Factor], targets: tuple[str, ...]) -> Factor:
    """The sum of the full joint table over all variables but the targets."""
    sizes = _sizes(factors)
    _check_table(list(sizes), sizes, "enumeration multiplies out the joint table of all variables")
    joint = multiply_all(factors)
    return joint.sum_out(set(joint.variables) - set(targets)).reorder(targets)


def eliminate(factors: list[Factor], targets: tuple[str, ...], *, largest: bool = False) -> Factor:
    """The sum (or maximum) over all variables but the targets, one variable after the other."""
    sizes, factors = _sizes(factors), list(factors)
    for variable in elimination_order(factors, set(targets)):
        together = [f for f in factors if variable in f.variables]
        scope = {v for f in together for v in f.variables}
        _check_table(scope, sizes, f"eliminating {variable!r} joins {len(scope)} variables")
        product = multiply_all(together)
        reduced = product.max_out([variable]) if largest else product.sum_out([variable])
        factors = [f for f in factors if variable not in f.variables] + [reduced]
    return multiply_all(factors).reorder(targets)


def elimination_order(factors: Iterable[Factor], kept: set[str]) -> list[str]:
    """Variables in the order of least fill: those that join fewest strangers first."""
    sizes = _sizes(factors)
    neighbors: dict[str, set[str]] = {v: set() for v in sizes}
    for factor in factors:
        for a, b in combinations(factor.variables, 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
    order: list[str] = []
    waiting = [v for v in sizes if v not in kept]
    while waiting:
        chosen = min(waiting, key=lambda v: (_fill(neighbors, v), len(neighbors[v]), v))
        for a, b in combinations(sorted(neighbors[chosen]), 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
        for v in neighbors.pop(chosen):
            neighbors[v].discard(chosen)
        order.append(chosen)
        waiting.remove(chosen)
    return order


def _fill(neighbors: dict[str, set[str]], variable: str) -> int:
    pairs = combinations(neighbors[variable], 2)
    return sum(b not in neighbors[a] for a, b in pairs)


def _check_table(scope: Iterable[str], sizes: dict[str, int], what: str) -> None:
    scope = sorted(scope)
    states = float(np.prod([float(sizes[v]) for v in scope]))
    shown = ", ".join(scope[:6]) + (", ..." if len(scope) > 6 else "")
    substitute = "use sampling (method='likelihood_weighting') or loopy belief propagation"
    if states * 8 > _MAX_TABLE_BYTES:
        raise MemoryError(
            f"{what} ({shown}) into a table of {states:.3g} entries, {states * 8:.3g} bytes: "
            f"{substitute}"
        )
    check_memory(states * 8, f"{what} ({shown})", substitute)


class JunctionTree(NamedTuple):
    """Cliques of a triangulated graph with consistent tables: marginals of all variables at once.

    Attributes
    ----------
    cliques : tables, each proportional to the distribution of its variables and the evidence
    """

    cliques: tuple[Factor, ...]

    def marginal(self, targets: tuple[str, ...]) -> Factor:
        """The table of variables that share a clique."""
        for clique in self.cliques:
            if set(targets) <= set(clique.variables):
                return clique.sum_out(set(clique.variables) - set(targets)).reorder(targets)
        raise ValueError(f"{', '.join(targets)} do not lie in one clique: use method='elimination'")


def build_junction_tree(factors: list[Factor], joined: tuple[str, ...] = ()) -> JunctionTree:
    """Calibrate a junction tree; the variables in `joined` share a clique."""
    sizes = _sizes(factors)
    hint = [Factor(joined, np.ones([sizes[v] for v in joined]))] if joined else []
    scopes = _cliques([*factors, *hint])
    for scope in scopes:
        _check_table(scope, sizes, "a clique of the junction tree joins")
    tables = _assign_factors(factors, scopes, sizes)
    return JunctionTree(tuple(_calibrate(tables)))


def _cliques(factors: list[Factor]) -> list[tuple[str, ...]]:
    """Largest sets of variables that stand together when variables are eliminated."""
    neighbors: dict[str, set[str]] = {v: set() for v in _sizes(factors)}
    for factor in factors:
        for a, b in combinations(factor.variables, 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
    found: list[set[str]] = []
    for variable in elimination_order(factors, set()):
        scope = {variable} | neighbors[variable]
        for a, b in combinations(neighbors[variable], 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
        for v in neighbors.pop(variable):
            neighbors[v].discard(variable)
        if not any(scope <= other for other in found):
            found.append(scope)
    return [tuple(sorted(scope)) for scope in found]


def _assign_factors(
    factors: list[Factor], scopes: list[tuple[str, ...]], sizes: dict[str, int]
) -> list[Factor]:
    tables = [Factor(scope, np.ones([sizes[v] for v in scope])) for scope in scopes]
    for factor in factors:
        at = next(n for n, scope in enumerate(scopes) if set(factor.variables) <= set(scope))
        tables[at] = tables[at].multiply(factor).reorder(scopes[at])
    return tables


def _calibrate(tables: list[Factor]) -> list[Factor]:
    """Send messages along a spanning tree of the largest separators, inward and outward."""
    order = _spanning_tree(tables)
    messages: dict[tuple[int, int], Factor] = {}
    for child, parent in reversed(order):
        _send(tables, messages, child, parent)
    for child, parent in order:
        _send(tables, messages, parent, child)
    return tables


def _send(
    tables: list[Factor], messages: dict[tuple[int, int], Factor], source: int, target: int
) -> None:
    """Pass the distribution of the shared variables; what came back is divided out."""
    shared = set(tables[source].variables) & set(tables[target].variables)
    message = tables[source].sum_out(set(tables[source].variables) - shared)
    before = messages.get((target, source))
    passed = message if before is None else message.divide(before)
    scope = tables[target].variables
    tables[target] = tables[target].multiply(passed).reorder(scope)
    messages[source, target] = message if before is None else passed


def _spanning_tree(tables: list[Factor]) -> list[tuple[int, int]]:
    """Pairs (new clique, clique it hangs on), of most shared variables; from the first one on."""
    inside, order = [0], []
    outside = list(range(1, len(tables)))
    while outside:
        new, old = max(
            ((b, a) for a in inside for b in outside),
            key=lambda pair: (
                len(set(tables[pair[0]].variables) & set(tables[pair[1]].variables)),
                -pair[0],
                -pair[1],
            ),
        )
        order.append((new, old))
        inside.append(new)
        outside.remove(new)
    return order
