"""Shapley values of the score of a tree ensemble: what each feature adds for a row."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.tree._binning import encode_categories
from tenfold.tree._nodes import Tree, TreeEnsemble
from tenfold.tree._predict_numba import dense_blocks
from tenfold.tree._shap_numba import add_shap_values, link_nodes, tabulate_factors

_BLOCK_ROWS = 256  # rows that go through one tree after the other


class TreeScore(NamedTuple):
    """A score that is a sum over trees.

    Attributes
    ----------
    trees : TreeEnsemble
    start : (n_outputs,) score without any tree
    categories : categories of each column, where trees ask for codes; () for none
    link : "identity", or "log" where predictions are the exponential of the score
    """

    trees: TreeEnsemble
    start: np.ndarray
    categories: tuple = ()
    link: str = "identity"


def score_contributions(chunk: Chunk, score: TreeScore) -> np.ndarray:
    """Shapley values (n, n_outputs, n_features) of the score of the rows of a chunk."""
    return tree_shap_values(prepare_columns(chunk, score), score.trees, len(score.start))


def prepare_columns(chunk: Chunk, score: TreeScore) -> Chunk:
    """The chunk with codes in the place of categories, where trees ask for codes."""
    if not score.categories:
        return chunk
    X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    return chunk._replace(X=encode_categories(X, score.categories))


class PathTables(NamedTuple):
    """What the Shapley values of a tree need beside its nodes: see `_shap_numba`."""

    nodes: np.ndarray
    values: np.ndarray
    bitsets: np.ndarray
    parent: np.ndarray
    above: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    derivative: np.ndarray
    share: np.ndarray


def expected_scores(trees: TreeEnsemble, start: np.ndarray) -> np.ndarray:
    """Mean score of the training rows, (n_outputs,): what is predicted when nothing is known."""
    mean = np.array(start, np.float64)
    width = trees.values.shape[1]
    for t, output in enumerate(trees.outputs):
        tree = trees.tree(t)
        leaf, cover = tree.is_leaf, require_cover(tree)
        values = tree.values[tree.nodes["left"][leaf]]
        mean[output : output + width] += cover[leaf] @ values / cover[0]
    return mean


def tree_shap_values(chunk: Chunk, trees: TreeEnsemble, n_outputs: int) -> np.ndarray:
    """Shapley values (n, n_outputs, n_features) of the rows of a chunk.

    With `expected_scores` they add up to the scores of the rows.
    """
    out = np.zeros((chunk.rows, n_outputs, chunk.X.shape[1]))
    blocks = list(dense_blocks(chunk.X, trees))
    for t, output in enumerate(trees.outputs):
        tables = _path_tables(trees.tree(t))
        for rows, X in blocks:
            found = out[rows]
            for first in range(0, len(X), _BLOCK_ROWS):
                part = slice(first, first + _BLOCK_ROWS)
                add_shap_values(X[part], *tables[:-1], output, found[part])
    return out


def _path_tables(tree: Tree) -> PathTables:
    n = len(tree.words)
    parent, above, unique = (np.empty(n, np.int64) for _ in range(3))
    most = int(link_nodes(tree.nodes, parent, above, unique))
    points, weights = _quadrature(most)
    factor, inverse, derivative = (np.empty((2, n, len(points))) for _ in range(3))
    cover = require_cover(tree).astype(np.float64)
    share = tabulate_factors(cover, parent, above, points, weights, factor, inverse, derivative)
    return PathTables(
        tree.nodes, tree.values, tree.bitsets, parent, above, factor, inverse, derivative, share
    )


@lru_cache(maxsize=64)
def _quadrature(features: int) -> tuple[np.ndarray, np.ndarray]:
    """Points in (0, 1) and weights that integrate the product of so many factors exactly."""
    points, weights = np.polynomial.legendre.leggauss(max(4, -(-features // 8) * 4))
    return (points + 1) / 2, weights / 2


def require_cover(tree: Tree | TreeEnsemble) -> Any:
    """The weight of the training rows at each node; an error if it is not known."""
    if tree.cover is None:
        raise ValueError("these trees do not know how many training rows came to their nodes")
    return tree.cover
