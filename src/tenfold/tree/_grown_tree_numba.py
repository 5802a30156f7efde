"""Nodes after their growth: what is kept of them, and their final order."""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.tree._cart_criterion_numba import LEFT
from tenfold.tree._compile_options import LOOP

_LEAF_THRESHOLD = -2.0  # scikit-learn's mark

KEPT_NODE = np.dtype(
    [
        ("feature", np.int32),
        ("left", np.int32),
        ("missing_left", np.int32),
        ("n_rows", np.int32),
        ("threshold", np.float64),
        ("weight", np.float64),
        ("impurity", np.float64),
    ]
)


@njit(**LOOP)
def keep_nodes(nodes, values, first, kept, kept_values):
    """Copy what is kept of nodes to the places from `first` on; left children count there."""
    for i in range(len(nodes)):
        node, own = nodes[i], kept[first + i]
        is_leaf = node.feature < 0
        own.feature = node.feature
        own.left = -1 if is_leaf else node.left + first
        own.missing_left = not is_leaf and node.missing_left == LEFT
        own.n_rows = node.n_rows
        own.threshold = _LEAF_THRESHOLD if is_leaf else node.threshold
        own.weight = node.weight
        own.impurity = node.impurity
        for k in range(values.shape[1]):
            kept_values[first + i, k] = values[i, k]


@njit(**LOOP)
def order_nodes(
    nodes,
    values,
    top_rows,
    n_top,
    stack,
    feature,
    left,
    missing_left,
    threshold,
    n_rows,
    weight,
    impurity,
    value,
):
    """Set the columns of a tree in its final order; the first `n_top` nodes are those at the top.

    `stack` has room for two numbers a node: where it was and where it is.
    """
    top, below, depth = 1, n_top, 1
    stack[0, 0] = stack[1, 0] = 0
    while depth > 0:
        depth -= 1
        source, at = stack[0, depth], stack[1, depth]
        node = nodes[source]
        feature[at] = node.feature
        missing_left[at] = node.missing_left != 0
        threshold[at] = node.threshold
        n_rows[at] = node.n_rows
        weight[at] = node.weight
        impurity[at] = node.impurity
        for k in range(values.shape[1]):
            value[at, k] = values[source, k]
        left[at] = -1
        if node.feature < 0:
            continue
        child = top if node.n_rows > top_rows else below
        if node.n_rows > top_rows:
            top += 2
        else:
            below += 2
        left[at] = child
        for side in range(2):
            stack[0, depth + 1 - side] = node.left + side
            stack[1, depth + 1 - side] = child + side
        depth += 2
