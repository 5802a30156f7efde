"""Dependence of discrete variables: mutual information of counts, trees of the largest sum."""

from __future__ import annotations

import numpy as np


def mutual_information(table: np.ndarray) -> float:
    r"""Mutual information of two variables from their counts, in nats.

    .. math:: I(x, y) = \sum_{xy} p(x, y) \log \frac{p(x, y)}{p(x) p(y)}

    With a third axis it is that given the third variable, :math:`I(x, y \mid z)`.

    Parameters
    ----------
    table : (n, m) or (n, m, k) array
        Counts.

    Examples
    --------
    >>> mutual_information(np.array([[5, 5], [5, 5]]))
    0.0
    """
    total = table.sum()
    if not total > 0:
        return 0.0
    p = table.reshape(*table.shape[:2], -1) / total
    rest = p.sum(axis=(0, 1), keepdims=True)
    apart = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    used = p > 0
    ratio = (p * rest)[used] / apart[used]
    return max(float((p[used] * np.log(ratio)).sum()), 0.0)


def maximum_spanning_tree(weights: np.ndarray, root: int = 0) -> list[tuple[int, int]]:
    """Arcs (from, to) of the spanning tree of largest sum, away from the root.

    Prim's algorithm; among equal edges the one of the smaller numbers.

    Parameters
    ----------
    weights : (p, p) symmetric array
        Weights of the edges.
    root : int
        Node from which all arcs lead away.

    Examples
    --------
    >>> maximum_spanning_tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]]))
    [(0, 1), (1, 2)]
    """
    p = len(weights)
    best, source = weights[root].astype(np.float64), np.full(p, root)
    outside = np.ones(p, bool)
    outside[root] = False
    arcs = []
    while outside.any():
        candidates = np.where(outside, best, -np.inf)
        to = int(candidates.argmax())
        arcs.append((int(source[to]), to))
        outside[to] = False
        better = outside & (weights[to] > best)
        best = np.where(better, weights[to], best)
        source = np.where(better, to, source)
    return arcs
