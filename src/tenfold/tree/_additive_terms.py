"""Boosted trees of one or two columns each, merged to one table (and tree) per term."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.tree._binning import encode_categories
from tenfold.tree._nodes import CATEGORICAL, COLUMN, LEAF, Tree, TreeEnsemble, pack_categories
from tenfold.tree._predict_numba import apply_trees, ensemble_scores


class AdditiveTerm(NamedTuple):
    """The effect of one column, or of a pair of columns, on the score.

    Attributes
    ----------
    columns : numbers of the columns, one or two
    edges : for each column, the ascending upper edges of its bins but the last, or the codes of its
        categories
    values : score added in each bin, (n_bins, n_outputs) or (n_bins, n_bins, n_outputs); the last
        bin of each column is that of missing values and unknown categories
    weights : weight of the training rows in each bin, (n_bins,) or (n_bins, n_bins)
    is_categorical : for each column, whether `edges` are categories
    """

    columns: tuple[int, ...]
    edges: tuple[np.ndarray, ...]
    values: np.ndarray
    weights: np.ndarray
    is_categorical: tuple[bool, ...]

    @property
    def importance(self) -> float:
        """Mean absolute effect on the training rows, summed over outputs."""
        mean = np.abs(self.values).sum(axis=-1) * self.weights
        return float(mean.sum() / max(self.weights.sum(), 1e-300))


def merge_terms(
    trees: TreeEnsemble, n_categories: np.ndarray, n_outputs: int
) -> list[AdditiveTerm]:
    """One term for each set of columns that trees ask, columns first, then pairs.

    `n_categories` has an entry for each column, 0 for numbers.
    """
    groups: dict[tuple[int, ...], list[tuple[Tree, int]]] = {}
    for t, output in enumerate(trees.outputs.tolist()):
        for tree in split_by_columns(trees.tree(t)):
            if columns := _asked_columns(tree):
                groups.setdefault(columns, []).append((tree, output))
    order = sorted(groups, key=lambda columns: (len(columns), columns))
    return [_merge_group(groups[columns], columns, n_categories, n_outputs) for columns in order]


def _asked_columns(tree: Tree) -> tuple[int, ...]:
    columns = np.unique(tree.columns)
    return tuple(int(j) for j in columns[columns >= 0])


def split_by_columns(tree: Tree) -> list[Tree]:
    """Trees of one or two columns whose sum a tree is, each path of which asks no more than two.

    A leaf belongs to the columns on its path. What leads to leaves of other columns alone becomes a
    leaf that adds nothing.
    """
    if len(_asked_columns(tree)) <= 2:
        return [tree]
    paths: list[frozenset[int]] = [frozenset()] * len(tree.words)
    asked, left = tree.columns.tolist(), tree.nodes["left"].tolist()
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        own = paths[node] | {asked[node]}
        paths[left[node]] = paths[left[node] + 1] = own
    ends = sorted({paths[leaf] for leaf in np.flatnonzero(tree.is_leaf).tolist()}, key=sorted)
    return [_keep_leaves(tree, paths, columns) for columns in ends]


def _keep_leaves(tree: Tree, paths: list[frozenset[int]], columns: frozenset[int]) -> Tree:
    """The tree with the leaves whose paths ask just these columns."""
    wanted = tree.is_leaf & np.array([path == columns for path in paths])
    left = tree.nodes["left"].tolist()
    for node in np.flatnonzero(~tree.is_leaf).tolist()[::-1]:
        wanted[node] = wanted[left[node]] | wanted[left[node] + 1]
    is_leaf, order, nodes, values = tree.is_leaf, [0], [], []
    for old in order:  # which grows
        if wanted[old] and not is_leaf[old]:
            nodes.append((tree.nodes["feature"][old], len(order), tree.nodes["threshold"][old]))
            order += [left[old], left[old] + 1]
        else:
            nodes.append((LEAF, len(values), 0.0))
            value = tree.values[left[old]] if wanted[old] else np.zeros(tree.values.shape[1])
            values.append(value)
    feature, child, threshold = zip(*nodes, strict=True)
    return Tree.of(feature, child, threshold, np.array(values), bitsets=tree.bitsets)


def _merge_group(
    members: list[tuple[Tree, int]],
    columns: tuple[int, ...],
    n_categories: np.ndarray,
    n_outputs: int,
) -> AdditiveTerm:
    """The sum of some trees as a table over the bins of their columns."""
    own = [tree for tree, _ in members]
    edges = tuple(_edges_of(own, j, int(n_categories[j])) for j in columns)
    kinds = tuple(bool(n_categories[j]) for j in columns)
    places = [_representatives(e, kind) for e, kind in zip(edges, kinds, strict=True)]
    grid = np.array(list(product(*places)))
    part = TreeEnsemble.of(own, [output for _, output in members])
    X = np.zeros((len(grid), part.min_columns))
    X[:, columns] = grid
    values = ensemble_scores(Chunk(X), part, np.zeros(n_outputs))
    shape = tuple(len(place) for place in places)
    return AdditiveTerm(columns, edges, values.reshape(*shape, n_outputs), np.zeros(shape), kinds)


def _edges_of(trees: list[Tree], column: int, n_categories: int) -> np.ndarray:
    """Thresholds at which some trees split a column, or all of its categories."""
    if n_categories:
        return np.arange(float(n_categories))
    found: set[float] = set()
    for tree in trees:
        feature = tree.nodes["feature"]
        asks = ((feature & LEAF) == 0) & ((feature & COLUMN) == column)
        found.update(tree.nodes["threshold"][asks].tolist())
    return np.array(sorted(found), np.float64)


def _representatives(edges: np.ndarray, categorical: bool) -> list[float]:
    """A value in each bin; the last is that of missing values."""
    if categorical:
        return [*edges.tolist(), np.nan]
    beyond = edges[-1] + max(abs(edges[-1]), 1.0)
    return [*edges.tolist(), float(beyond), np.nan]


class TermTreeBuilder:
    """Builds a balanced tree that gives the values of a term; row r of `values` is bin r of it."""

    def __init__(self, term: AdditiveTerm) -> None:
        self.term = term
        self.nodes: list[tuple[int, int, float]] = [(0, 0, 0.0)]
        self.bitsets: list[np.ndarray] = []

    def build(self) -> Tree:
        """The tree; cover follows from the weights of the term."""
        term = self.term
        self._split(0, ())
        feature, left, threshold = (np.array(column) for column in zip(*self.nodes, strict=True))
        is_leaf = feature == int(LEAF)
        cover = np.where(is_leaf, term.weights.ravel()[np.where(is_leaf, left, 0)], 0.0)
        for node in np.flatnonzero(~is_leaf)[::-1]:  # children come after their parent
            cover[node] = cover[left[node]] + cover[left[node] + 1]
        return Tree.of(
            feature.astype(np.uint32),
            left,
            threshold,
            term.values.reshape(term.weights.size, -1),
            bitsets=np.concatenate(self.bitsets) if self.bitsets else np.zeros(0, np.uint64),
            cover=cover,
        )

    def _split(self, at: int, index: tuple[int, ...]) -> None:
        """Ask about the next column: first whether its value is known."""
        depth, shape = len(index), self.term.weights.shape
        if depth == len(shape):
            self.nodes[at] = (int(LEAF), int(np.ravel_multi_index(index, shape)), 0.0)
            return
        known = list(range(shape[depth] - 1))
        left = self._ask(at, depth, known)
        self._halve(left, index, known)
        self._split(left + 1, (*index, len(known)))

    def _halve(self, at: int, index: tuple[int, ...], bins: list[int]) -> None:
        if len(bins) == 1:
            self._split(at, (*index, bins[0]))
            return
        half = len(bins) // 2
        left = self._ask(at, len(index), bins[:half])
        self._halve(left, index, bins[:half])
        self._halve(left + 1, index, bins[half:])

    def _ask(self, at: int, depth: int, bins: list[int]) -> int:
        """Let a node ask whether the value lies in some bins; the number of its left child."""
        edges, left = self.term.edges[depth], len(self.nodes)
        feature, place = self.term.columns[depth], np.inf
        if self.term.is_categorical[depth]:
            feature |= int(CATEGORICAL)
            place = float(sum(len(part) for part in self.bitsets))
            self.bitsets.append(pack_categories(edges[bins].astype(np.int64)))
        elif bins[-1] < len(edges):
            place = float(edges[bins[-1]])
        self.nodes[at] = (feature, left, place)
        self.nodes += [(0, 0, 0.0), (0, 0, 0.0)]
        return left


def terms_to_trees(terms: list[AdditiveTerm], n_outputs: int) -> TreeEnsemble:
    """A tree for each term, which adds to all outputs."""
    trees = [TermTreeBuilder(term).build() for term in terms]
    if not trees:
        trees = [Tree.of([LEAF], [0], [0.0], np.zeros((1, n_outputs)), cover=np.ones(1))]
    return TreeEnsemble.of(trees)


def count_leaves(chunk: Chunk, trees: TreeEnsemble, categories: tuple) -> np.ndarray:
    """Weight of the rows of a chunk in each node of all trees."""
    if categories:
        X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
        chunk = chunk._replace(X=encode_categories(X, categories))
    leaves = apply_trees(chunk, trees) + trees.roots[:-1]
    w = np.repeat(np.asarray(chunk.weights(), np.float64), leaves.shape[1])
    return np.bincount(leaves.ravel(), w, minlength=int(trees.roots[-1]))


def weigh_and_center(
    terms: list[AdditiveTerm], trees: TreeEnsemble, counts: np.ndarray
) -> tuple[list[AdditiveTerm], np.ndarray]:
    """Terms with weights and a mean of zero, and the sum of the means that were taken off."""
    shift, done = 0.0, []
    for t, term in enumerate(terms):
        tree, own = trees.tree(t), counts[trees.roots[t] : trees.roots[t + 1]]
        weights = np.zeros(term.weights.size)
        weights[tree.nodes["left"][tree.is_leaf]] = own[tree.is_leaf]
        weights = weights.reshape(term.weights.shape)
        axes = tuple(range(weights.ndim))
        mean = (term.values * weights[..., None]).sum(axis=axes) / weights.sum()
        shift = shift + mean
        done.append(term._replace(values=term.values - mean, weights=weights))
    return done, np.asarray(shift)
