"""Exact inference by the joint table, and by eliminating one variable after the other."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from tenfold.engine.memory import check_memory
from tenfold.graphical.factors import Factor, multiply_all

MAX_TABLE_BYTES = 2**33
_MAX_AXES = 60  # of an array in numpy
SUBSTITUTE = "use sampling (`estimate`) or method='belief_propagation'"


def _sizes(factors: Iterable[Factor]) -> dict[str, int]:
    return {v: n for f in factors for v, n in zip(f.variables, f.table.shape, strict=True)}


def enumerate_states(factors: list[Factor], targets: tuple[str, ...]) -> Factor:
    """The sum of the full joint table over all variables but the targets."""
    sizes = _sizes(factors)
    _check_table(list(sizes), sizes, "enumeration multiplies out the joint table of all variables")
    joint = multiply_all(factors)
    return joint.sum_out(set(joint.variables) - set(targets)).reorder(targets)


def eliminate(factors: list[Factor], targets: tuple[str, ...]) -> Factor:
    """The sum over all variables but the targets, one variable after the other."""
    left = sum_out_others(factors, set(targets))
    _check_table(targets, _sizes(left), f"the answer joins {len(targets)} variables")
    return multiply_all(left).reorder(targets)


def sum_out_others(factors: list[Factor], kept: set[str]) -> list[Factor]:
    """Factors of the kept variables whose product is the sum over all others."""
    sizes, factors = _sizes(factors), list(factors)
    order = elimination_order([f.variables for f in factors], sizes, kept)
    _check_elimination(factors, order, sizes)
    for variable in order:
        product = multiply_all(f for f in factors if variable in f.variables)
        factors = [f for f in factors if variable not in f.variables]
        factors.append(product.sum_out([variable]))
    return factors


def maximize(factors: list[Factor]) -> dict[str, int]:
    """Numbers of the states at which the product of the factors is largest."""
    sizes, factors = _sizes(factors), list(factors)
    order = elimination_order([f.variables for f in factors], sizes, set())
    _check_elimination(factors, order, sizes)
    products: list[tuple[str, Factor]] = []
    for variable in order:
        product = multiply_all(f for f in factors if variable in f.variables)
        factors = [f for f in factors if variable not in f.variables]
        factors.append(product.max_out([variable]))
        products.append((variable, product))
    if not multiply_all(factors).table > 0:
        raise ValueError("the evidence has probability zero: no state is possible")
    best: dict[str, int] = {}
    for variable, product in reversed(products):
        best[variable] = int(product.select(best).table.argmax())
    return best


def _check_elimination(factors: list[Factor], order: list[str], sizes: dict[str, int]) -> None:
    """Raise an error before the first product if one of the tables to come would be too large."""
    scopes = [set(f.variables) for f in factors]
    for variable in order:
        joined = set[str]().union(*(scope for scope in scopes if variable in scope))
        _check_table(joined, sizes, f"eliminating {variable!r} joins {len(joined)} variables")
        scopes = [scope for scope in scopes if variable not in scope] + [joined - {variable}]


def elimination_order(
    scopes: Iterable[Iterable[str]], sizes: dict[str, int], kept: set[str]
) -> list[str]:
    """Variables in the order of least fill: those that join fewest strangers first.

    Among equals, the one of the smallest table, then by name.
    """
    neighbors: dict[str, set[str]] = {v: set() for v in sizes}
    for scope in scopes:
        for a, b in combinations(scope, 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
    costs = {v: _cost(neighbors, sizes, v) for v in sizes if v not in kept}
    order: list[str] = []
    while costs:
        chosen = min(costs, key=costs.__getitem__)
        around = neighbors.pop(chosen)
        changed = set(around)
        for v in around:
            neighbors[v].discard(chosen)
        for a, b in combinations(around, 2):
            if b not in neighbors[a]:
                changed |= neighbors[a] & neighbors[b]
                neighbors[a].add(b)
                neighbors[b].add(a)
        del costs[chosen]
        for v in changed:
            if v in costs:
                costs[v] = _cost(neighbors, sizes, v)
        order.append(chosen)
    return order


def _cost(
    neighbors: dict[str, set[str]], sizes: dict[str, int], variable: str
) -> tuple[int, float, str]:
    """Pairs of neighbors that are not joined yet, size of the table, name."""
    around = neighbors[variable]
    fill = sum(b not in neighbors[a] for a, b in combinations(around, 2))
    log_size = float(sum(np.log(sizes[v]) for v in sorted(around)))
    return fill, log_size, variable


def _check_table(scope: Iterable[str], sizes: dict[str, int], what: str) -> None:
    scope = sorted(scope)
    with np.errstate(over="ignore"):  # infinitely many are refused too
        states = float(np.prod([float(sizes[v]) for v in scope]))
    shown = ", ".join(scope[:6]) + (", ..." if len(scope) > 6 else "")
    if states * 8 > MAX_TABLE_BYTES or len(scope) > _MAX_AXES:
        raise MemoryError(
            f"{what} ({shown}) into a table of {states:.3g} entries, {states * 8:.3g} bytes: "
            f"{SUBSTITUTE}"
        )
    check_memory(states * 8, f"{what} ({shown})", SUBSTITUTE)
