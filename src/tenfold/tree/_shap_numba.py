"""Shapley values of trees, by quadrature along the diagonal of a product game.

The value of a leaf, times one factor per feature on its path, is what the leaf adds to the
expectation of the score when some features are known. A feature i of the path has the factor 1 or 0
if it is known (the row satisfies its conditions or not), and z_i if it is not (the share of the
training rows that satisfy them). The Shapley value of a feature in a game that is a product is

    phi_i = v (o_i - z_i) * integral over t in (0, 1) of prod_{j != i} (z_j + (o_j - z_j) t)

(Owen, 1972). The integrand is a polynomial of a degree less than the number of features on the
path, so Gauss-Legendre quadrature at half as many points is exact. Products are shared by all paths
through a node (forward), sums over leaves by all edges above them (backward), and all factors of a
node are one of two vectors that depend on the tree alone. Where a feature is asked again deeper in
the tree, the deeper factor takes the place of the one above it; `above` names that node.

Benchmark case: `shap` (benchmarks/trees.py).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._nodes import COLUMN, LEAF
from tenfold.tree._predict_numba import goes_left

_LANES = 4  # quadrature points that one step of the inner loops takes


@njit(cache=True, nogil=True)
def link_nodes(nodes, parent, above, unique):
    """Parents, nearest node above whose condition is on the same column, and features on the path.

    Returns the largest number of different features on a path.
    """
    n, most = len(nodes), 0
    parent[:] = -1
    for node in range(n):
        if nodes[node].feature & LEAF == 0:
            left = nodes[node].left
            parent[left] = parent[left + 1] = node
    unique[0], above[0] = 0, -1
    for node in range(1, n):
        column = nodes[parent[node]].feature & COLUMN
        above[node] = -1
        at = parent[node]
        while at > 0:
            if nodes[parent[at]].feature & COLUMN == column:
                above[node] = at
                break
            at = parent[at]
        unique[node] = unique[parent[node]] + (above[node] < 0)
        most = max(most, unique[node])
    return most


@njit(cache=True, nogil=True)
def tabulate_factors(cover, parent, above, points, weights, factor, inverse, derivative):
    """Factors of each node, their inverses, and weighted derivatives; [0] not, [1] satisfied.

    Returns the product of the shares of all conditions of each node: z.
    """
    n, size = len(parent), len(points)
    share = np.ones(n)
    factor[:, 0], inverse[:, 0], derivative[:, 0] = 1.0, 1.0, 0.0
    for node in range(1, n):
        whole = cover[parent[node]]
        z = cover[node] / whole if whole > 0 else 0.5
        if above[node] >= 0:
            z *= share[above[node]]
        share[node] = z
        for q in range(size):
            t = points[q]
            unmet, met = z * (1 - t), z + (1 - z) * t
            factor[0, node, q], factor[1, node, q] = unmet, met
            inverse[0, node, q] = 1 / unmet if unmet > 0 else 0.0
            inverse[1, node, q] = 1 / met
            derivative[0, node, q] = -z * weights[q] * inverse[0, node, q]
            derivative[1, node, q] = (1 - z) * weights[q] * inverse[1, node, q]
    return share


@njit(cache=True, nogil=True)
def _go_down(X, i, nodes, bitsets, parent, above, factor, inverse, met, product):
    """Which conditions hold for row i, and the product of the factors down to each node."""
    size = product.shape[1]
    met[0] = 1
    product[0] = 1.0
    for node in range(1, len(nodes)):
        up, old = parent[node], above[node]
        asked = nodes[up]
        x = np.float64(X[i, asked.feature & COLUMN])
        left = goes_left(x, asked.feature, asked.threshold, bitsets)
        holds = np.int64(left == (node == asked.left))
        if old >= 0:
            holds &= met[old]
            for first in range(0, size, _LANES):
                for q in range(first, first + _LANES):
                    product[node, q] = (
                        product[up, q] * factor[holds, node, q] * inverse[met[old], old, q]
                    )
        else:
            for first in range(0, size, _LANES):
                for q in range(first, first + _LANES):
                    product[node, q] = product[up, q] * factor[holds, node, q]
        met[node] = holds


@njit(cache=True, nogil=True)
def _go_up(nodes, values, k, parent, above, derivative, met, product, sums, out):
    """Add what the edges of the tree contribute to the features of one row, for output k."""
    n, size = product.shape
    sums[:] = 0.0
    for node in range(n - 1, 0, -1):
        if nodes[node].feature & LEAF:
            value = values[nodes[node].left, k]
            for q in range(size):
                sums[node, q] = value * product[node, q]
        up, old, now = parent[node], above[node], met[node]
        total = 0.0
        if old >= 0:
            before = met[old]
            for first in range(0, size, _LANES):
                for q in range(first, first + _LANES):
                    total += sums[node, q] * (derivative[now, node, q] - derivative[before, old, q])
                    sums[up, q] += sums[node, q]
        else:
            for first in range(0, size, _LANES):
                for q in range(first, first + _LANES):
                    total += sums[node, q] * derivative[now, node, q]
                    sums[up, q] += sums[node, q]
        out[nodes[up].feature & COLUMN] += total


@njit(cache=True, nogil=True)
def add_shap_values(
    X, nodes, values, bitsets, parent, above, factor, inverse, derivative, output, out
):
    """Add the Shapley values of one tree to out[row, output + k, column] for all rows."""
    n, size = len(nodes), factor.shape[2]
    met = np.empty(n, np.int64)
    product, sums = np.empty((n, size)), np.empty((n, size))
    for i in range(X.shape[0]):
        _go_down(X, i, nodes, bitsets, parent, above, factor, inverse, met, product)
        for k in range(values.shape[1]):
            _go_up(
                nodes, values, k, parent, above, derivative, met, product, sums, out[i, output + k]
            )
