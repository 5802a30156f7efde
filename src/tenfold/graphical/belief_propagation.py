"""Belief propagation on a factor graph: sums or maxima, trees and graphs with loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenfold.graphical.factors import Factor, multiply_all


class BeliefPropagation(NamedTuple):
    """What belief propagation found.

    Attributes
    ----------
    beliefs : variable -> distribution (or max-marginal), scaled to sum one
    messages : (factor number, variable) -> message, and (variable, factor number) -> message
    n_iter : iterations
    converged : whether no message changed by more than the tolerance
    exact : whether the factor graph is a tree, so that beliefs are marginals
    """

    beliefs: dict[str, np.ndarray]
    messages: dict[tuple, np.ndarray]
    n_iter: int
    converged: bool
    exact: bool


def propagate_beliefs(
    factors: list[Factor],
    *,
    largest: bool = False,
    max_iter: int = 200,
    tol: float = 1e-10,
    damping: float = 0.0,
) -> BeliefPropagation:
    """Pass messages between variables and factors until they do not change.

    A message from a variable is the product of the messages from its other factors; a message from
    a factor is its table times the messages from its other variables, summed (or maximized) over
    them. On a tree the beliefs are exact after as many iterations as the tree is wide; with loops
    they are an approximation that may not converge.

    Parameters
    ----------
    factors : list of Factor
        The tables, evidence included.
    largest : bool
        Maxima instead of sums.
    max_iter, tol : int, float
        Most iterations, and the change of messages at which to stop.
    damping : float
        Share of the old message that is kept, for graphs with loops.

    Examples
    --------
    >>> a = Factor(("x",), np.array([0.2, 0.8]))
    >>> b = Factor(("x", "y"), np.array([[0.5, 0.5], [0.1, 0.9]]))
    >>> found = propagate_beliefs([a, b])
    >>> found.beliefs["y"].round(2).tolist(), found.exact
    ([0.18, 0.82], True)
    """
    sizes = {v: n for f in factors for v, n in zip(f.variables, f.table.shape, strict=True)}
    links = [(number, v) for number, f in enumerate(factors) for v in f.variables]
    messages: dict[tuple, np.ndarray] = {}
    for number, v in links:
        messages[number, v] = messages[v, number] = np.full(sizes[v], 1 / sizes[v])
    n_iter, change = 0, np.inf
    while n_iter < max_iter and change > tol:
        updated = _update_messages(factors, links, messages, largest=largest)
        change = max(
            (float(np.abs(updated[key] - messages[key]).max()) for key in updated), default=0.0
        )
        for key, message in updated.items():
            messages[key] = (1 - damping) * message + damping * messages[key]
        n_iter += 1
    beliefs = {
        v: _scale(np.prod([messages[n, u] for n, u in links if u == v], axis=0)) for v in sizes
    }
    return BeliefPropagation(beliefs, messages, n_iter, change <= tol, _is_forest(factors, sizes))


def _update_messages(
    factors: list[Factor], links: list[tuple], messages: dict, *, largest: bool
) -> dict[tuple, np.ndarray]:
    updated: dict[tuple, np.ndarray] = {}
    around: dict[str, list[int]] = {}
    for number, v in links:
        around.setdefault(v, []).append(number)
    for number, v in links:
        others = [messages[m, v] for m in around[v] if m != number]
        updated[v, number] = _scale(np.prod([np.ones_like(messages[number, v]), *others], axis=0))
    for number, v in links:
        factor = factors[number]
        rest = [u for u in factor.variables if u != v]
        product = multiply_all([factor, *(Factor((u,), updated[u, number]) for u in rest)])
        reduced = product.max_out(rest) if largest else product.sum_out(rest)
        updated[number, v] = _scale(reduced.table)
    return updated


def _scale(message: np.ndarray) -> np.ndarray:
    total = message.sum()
    if not total > 0:
        raise ValueError("the evidence has probability zero: no distribution is left")
    return message / total


def _is_forest(factors: list[Factor], sizes: dict[str, int]) -> bool:
    """Whether the factor graph has no loop: each link joins two parts that were apart."""
    parent: dict = {key: key for key in [*sizes, *range(len(factors))]}

    def find(key):  # noqa: ANN001, ANN202
        while parent[key] != key:
            key = parent[key]
        return key

    for number, factor in enumerate(factors):
        for v in factor.variables:
            a, b = find(number), find(v)
            if a == b:
                return False
            parent[a] = b
    return True
