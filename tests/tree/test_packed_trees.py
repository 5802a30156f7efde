"""Large trees are packed for many rows: the scores are those of the leaves, bit by bit."""

import numpy as np
import pytest

from tenfold.engine.chunk import Chunk
from tenfold.tree import _packed_trees_numba as packed_trees
from tenfold.tree._nodes import LEAF, Tree, TreeEnsemble
from tenfold.tree._predict_numba import apply_trees, ensemble_scores

INNER_NODES = 4095  # of a tree whose leaves all have depth 12
EDGES = [0.0, -0.0, 1e-50, -1e-50, 1e300, -1e300, np.inf, 1.0, np.nextafter(1.0, 2.0)]


def make_tree(rng, values):
    """A tree of 8191 nodes on five columns, whose thresholds are hard to round."""
    inner = np.arange(INNER_NODES)
    narrow = rng.normal(size=INNER_NODES).astype(np.float32)
    near = np.nextafter(narrow, np.float32(np.inf)).astype(np.float64)
    threshold = np.where(rng.random(INNER_NODES) < 0.5, narrow / 2 + near / 2, narrow)
    threshold[rng.integers(0, INNER_NODES, 900)] = rng.choice(EDGES, 900)
    leaves = np.arange(INNER_NODES + 1)
    feature = np.concatenate([rng.integers(0, 5, INNER_NODES), np.full(len(leaves), LEAF)])
    left = np.concatenate([2 * inner + 1, leaves])
    return Tree.of(feature, left, np.concatenate([threshold, np.zeros(len(leaves))]), values)


def make_rows(rng, trees, dtype):
    """Rows whose values are often those of thresholds, or neighbors of them."""
    thresholds = trees.nodes["threshold"]
    with np.errstate(over="ignore"):
        X = rng.choice(thresholds, (9000, 5)).astype(dtype)
    steps = rng.choice(np.array([-np.inf, np.inf], dtype), X.shape)
    return np.where(rng.random(X.shape) < 0.5, X, np.nextafter(X, steps))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["few values", "many values"])
def test_scores_are_the_sums_of_the_leaves(dtype, kind):
    rng = np.random.default_rng(0)
    shape = (2, INNER_NODES + 1, 3)
    values = rng.integers(0, 2, shape) / 1.0 if kind == "few values" else rng.normal(size=shape)
    trees = TreeEnsemble.of([make_tree(rng, part) for part in values])
    X = make_rows(rng, trees, dtype)
    leaves = apply_trees(Chunk(X), trees) - INNER_NODES
    expected = np.full((len(X), 3), 0.25) + values[0][leaves[:, 0]] + values[1][leaves[:, 1]]
    scores = np.full((len(X), 3), 0.25)
    assert packed_trees.add_packed_scores(X, trees, scores)
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(ensemble_scores(Chunk(X), trees, scores[0] * 0 + 0.25), expected)


def test_rows_with_gaps_and_few_rows_are_left_to_others():
    rng = np.random.default_rng(1)
    trees = TreeEnsemble.of([make_tree(rng, rng.normal(size=(INNER_NODES + 1, 1)))])
    X = make_rows(rng, trees, np.float32)
    scores = np.zeros((len(X), 1))
    assert not packed_trees.add_packed_scores(X[:5000], trees, scores)
    X[70, 1] = np.nan
    assert not packed_trees.add_packed_scores(X, trees, scores)
    assert not scores.any()
