"""Minimal cost-complexity pruning: the weakest link first.

References
----------
L. Breiman, J. Friedman, R. Olshen and C. Stone (1984), Classification and Regression Trees, ch. 3.
"""

from __future__ import annotations

import heapq

import numpy as np

from tenfold.tree._grown_tree import GrownTree


def pruning_sequence(
    tree: GrownTree, max_alpha: float = np.inf
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Collapse the weakest link, as long as its alpha is not above a limit.

    Returns the alphas and the total impurity of the leaves after each step (first without any
    step), and which nodes of the tree are left.
    """
    risk, leaves, branch = _branch_sums(tree)
    inner, parent, left = tree.feature >= 0, _parents(tree), tree.left.astype(np.int64)
    alive = np.ones(len(inner), bool)
    alpha = np.where(inner, (risk - branch) / np.maximum(leaves - 1, 1), np.inf)
    heap = [(float(alpha[i]), int(i)) for i in np.flatnonzero(inner)]
    heapq.heapify(heap)
    alphas, impurities = [0.0], [float(branch[0])]
    while heap:
        weakest, node = heapq.heappop(heap)
        if not (alive[node] and inner[node]) or weakest != alpha[node]:
            continue
        if weakest > max_alpha:
            break
        _remove_below(node, left, inner, alive)
        lost_leaves, lost_risk = leaves[node] - 1, risk[node] - branch[node]
        at = node
        while at >= 0:
            leaves[at] -= lost_leaves
            branch[at] += lost_risk
            if inner[at]:
                alpha[at] = (risk[at] - branch[at]) / (leaves[at] - 1)
                heapq.heappush(heap, (float(alpha[at]), at))
            at = int(parent[at])
        alphas.append(weakest)
        impurities.append(float(branch[0]))
    return np.array(alphas), np.array(impurities), alive


def _remove_below(node: int, left: np.ndarray, inner: np.ndarray, alive: np.ndarray) -> None:
    stack = [node]
    while stack:
        at = stack.pop()
        if inner[at]:
            inner[at] = False
            alive[left[at] : left[at] + 2] = False
            stack += [int(left[at]), int(left[at]) + 1]


def _parents(tree: GrownTree) -> np.ndarray:
    parent = np.full(len(tree.feature), -1)
    inner = np.flatnonzero(tree.feature >= 0)
    parent[tree.left[inner]] = inner
    parent[tree.left[inner] + 1] = inner
    return parent


def _branch_sums(tree: GrownTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Risk of each node, number of leaves below it and their risk."""
    risk = tree.weight / tree.weight[0] * tree.impurity
    leaves, branch = np.ones(len(risk), np.int64), risk.copy()
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # children come after their parent
        left = tree.left[node]
        leaves[node] = leaves[left] + leaves[left + 1]
        branch[node] = branch[left] + branch[left + 1]
    return risk, leaves, branch


def prune(tree: GrownTree, ccp_alpha: float) -> GrownTree:
    """The smallest subtree whose links are all stronger than `ccp_alpha`."""
    alive = pruning_sequence(tree, ccp_alpha)[2]
    number = np.cumsum(alive) - 1
    kept = GrownTree(*(column[alive] for column in tree))
    inner = kept.feature >= 0
    has_children = np.zeros(len(kept.feature), bool)
    has_children[inner] = alive[kept.left[inner]]
    left = np.where(has_children, number[np.where(has_children, kept.left, 0)], -1)
    return kept._replace(
        feature=np.where(has_children, kept.feature, -1).astype(np.int32),
        left=left.astype(np.int32),
        missing_left=kept.missing_left & has_children,
        threshold=np.where(has_children, kept.threshold, -2.0),
    )
