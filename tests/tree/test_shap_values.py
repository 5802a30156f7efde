"""Shapley values of trees: enumeration of all coalitions, and the axioms."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from tenfold.engine.chunk import Chunk
from tenfold.tree._nodes import (
    CATEGORICAL,
    LEAF,
    MISSING_LEFT,
    Tree,
    TreeEnsemble,
    pack_categories,
)
from tenfold.tree._predict_numba import ensemble_scores, goes_left
from tenfold.tree.shap_values import expected_scores, tree_shap_values


def random_tree(rng, columns=4, leaves=12, outputs=1, categorical=False):
    """A tree whose columns recur on paths, with random covers."""
    feature, left, threshold, cover, bitsets = [LEAF], [0], [0.0], [100.0], []
    for _ in range(leaves - 1):
        node = int(rng.choice(np.flatnonzero(np.array(feature) & LEAF != 0)))
        j = int(rng.integers(columns))
        flags = MISSING_LEFT if rng.random() < 0.5 else np.uint32(0)
        place = float(rng.normal())
        if categorical and j == 0:
            flags |= CATEGORICAL
            place = float(sum(len(part) for part in bitsets))
            bitsets.append(pack_categories(rng.choice(6, 3, replace=False)))
        feature[node], left[node], threshold[node] = np.uint32(j) | flags, len(feature), place
        share = rng.uniform(0.1, 0.9)
        feature += [LEAF, LEAF]
        left += [0, 0]
        threshold += [0.0, 0.0]
        cover += [cover[node] * share, cover[node] * (1 - share)]
    numbers = np.flatnonzero(np.array(feature) & LEAF != 0)
    for row, node in enumerate(numbers):
        left[node] = row
    values = rng.normal(size=(len(numbers), outputs))
    words = np.concatenate(bitsets) if bitsets else np.zeros(0, np.uint64)
    cover = np.array(cover)
    return Tree.of(feature, left, threshold, values, bitsets=words, cover=cover)


def expectation(tree, x, known, node=0):
    """Mean of the leaves below a node when the columns in `known` are those of x."""
    feature, left, threshold = tree.nodes[node]
    if feature & LEAF:
        return tree.values[left]
    column = int(feature & np.uint32(2**29 - 1))
    if column in known:
        go = goes_left(float(x[column]), feature, threshold, tree.bitsets)
        return expectation(tree, x, known, left if go else left + 1)
    w = tree.cover[left] / tree.cover[node]
    return w * expectation(tree, x, known, left) + (1 - w) * expectation(tree, x, known, left + 1)


def enumerate_shapley(tree, x):
    p = len(x)
    phi = np.zeros((tree.values.shape[1], p))
    for j in range(p):
        others = [i for i in range(p) if i != j]
        for size in range(p):
            weight = factorial(size) * factorial(p - size - 1) / factorial(p)
            for known in combinations(others, size):
                with_j = expectation(tree, x, {*known, j})
                phi[:, j] += weight * (with_j - expectation(tree, x, set(known)))
    return phi


@pytest.mark.parametrize(
    ("columns", "leaves", "outputs", "categorical"),
    [(4, 12, 1, False), (3, 25, 1, False), (5, 9, 3, False), (4, 14, 2, True), (6, 40, 1, False)],
)
def test_values_are_those_of_all_coalitions(columns, leaves, outputs, categorical):
    rng = np.random.default_rng(columns * leaves)
    tree = random_tree(rng, columns, leaves, outputs, categorical)
    X = rng.normal(size=(6, columns))
    X[0, 1] = np.nan
    if categorical:
        X[:, 0] = rng.integers(0, 7, 6)
    found = tree_shap_values(Chunk(X), TreeEnsemble.of([tree]), outputs)
    for i in range(len(X)):
        assert np.allclose(found[i], enumerate_shapley(tree, X[i]), rtol=0, atol=1e-12)


def test_they_add_up_to_the_score_of_an_ensemble():
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, 12, 60, 1) for _ in range(8)]
    ensemble = TreeEnsemble.of(trees, outputs=[0, 1] * 4)
    X, start = rng.normal(size=(300, 12)), np.array([0.5, -2.0])
    found = tree_shap_values(Chunk(X), ensemble, 2)
    whole = expected_scores(ensemble, start) + found.sum(axis=2)
    assert np.allclose(whole, ensemble_scores(Chunk(X), ensemble, start), rtol=0, atol=1e-12)
    single = tree_shap_values(Chunk(X.astype(np.float32)), ensemble, 2)
    assert single.shape == (300, 2, 12)


def test_a_column_that_no_tree_asks_adds_nothing():
    rng = np.random.default_rng(1)
    ensemble = TreeEnsemble.of([random_tree(rng, 3, 20)])
    found = tree_shap_values(Chunk(rng.normal(size=(20, 5))), ensemble, 1)
    assert (found[:, :, 3:] == 0).all()


def test_a_path_of_many_columns_stays_exact():
    """A chain that asks 40 columns: the quadrature has as many points as it needs."""
    n = 40
    # node 2 j + 1 is the next question, node 2 j + 2 the leaf beside it
    inner = [0, *range(1, 2 * n - 1, 2)]
    columns = np.full(2 * n + 1, LEAF)
    columns[inner] = np.arange(n, dtype=np.uint32)
    left = np.zeros(2 * n + 1, np.int64)
    left[inner] = [2 * j + 1 for j in range(n)]
    leaf = np.flatnonzero(columns & LEAF != 0)
    left[leaf] = np.arange(len(leaf))
    covers = np.concatenate([[2.0**n], np.repeat(2.0 ** np.arange(n - 1, -1, -1), 2)])
    values = np.random.default_rng(2).normal(size=(len(leaf), 1))
    tree = Tree.of(columns, left, np.zeros(2 * n + 1), values, cover=covers)
    ensemble = TreeEnsemble.of([tree])
    X = np.random.default_rng(3).normal(size=(50, n)) - 1.5
    found = tree_shap_values(Chunk(X), ensemble, 1)
    whole = expected_scores(ensemble, np.zeros(1)) + found.sum(axis=2)
    assert np.allclose(whole, ensemble_scores(Chunk(X), ensemble, np.zeros(1)), rtol=0, atol=1e-11)
