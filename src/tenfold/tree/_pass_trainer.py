"""Rounds of boosting by passes over rows that lie in files or on a cluster.

A pass lets each row go one level down and adds up the histograms of the smaller children of all
nodes that can still be split; the larger ones are the parents' minus them. Which nodes are split is
decided afterwards, best first, from gains that are known: with r leaves left to make, only the r
best open nodes can ever be chosen, since newcomers only push others back. So a tree takes as many
passes as it is deep, and it is the tree that `_memory_trainer` makes.

Bins, scores and nodes of the rows are carried from pass to pass (`Rows.carry`); without them a pass
computes them anew from the trees so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.carried_columns import CarriedColumns
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.tree._binning import BinMapper, bin_rows
from tenfold.tree._boosting_data import chunk_target, mix_bits_of
from tenfold.tree._bundles import single_columns
from tenfold.tree._fixed_point import (
    GradientRange,
    RowWeights,
    Units,
    choose_units,
    gradient_range,
    known_range,
)
from tenfold.tree._fixed_point_numba import COARSE, block_rows, leaf_sums, quantize
from tenfold.tree._gradient_split_numba import (
    BIN,
    COLUMN,
    IS_CATEGORICAL,
    MISSING_LEFT,
)
from tenfold.tree._growing_tree import GrowingTree, TreeShape
from tenfold.tree._guarded_steps import (
    PASS_BATCHES,
    bounded_value,
    choose_value,
    halved_steps,
    loss_pieces,
    trial_steps,
)
from tenfold.tree._histogram_numba import add_rows, make_table
from tenfold.tree._levelwise_tree import LevelwiseTree
from tenfold.tree._losses import BoostingLoss, exact_pieces, round_fraction, sum_pieces
from tenfold.tree._row_lists_numba import (
    BinnedTree,
    add_binned_tree,
    list_rows_by_slot,
    route_rows,
)


class CarriedRows(NamedTuple):
    """What a pass leaves for the next: bins (none where the source has them), scores, nodes."""

    bins: np.ndarray
    score: np.ndarray
    node: np.ndarray


@dataclass(frozen=True, eq=False)
class PassSetup:
    """What all passes of a fit know."""

    mapper: BinMapper
    loss: BoostingLoss
    start: np.ndarray
    class_weights: np.ndarray | None
    copies: bool  # whether weights are copies of rows
    most_copies: int
    layout: int
    held_out: tuple[int, int] | None  # key and threshold of the hash of held-out rows


class RoundState(NamedTuple):
    """Trees so far, those of the round that grow, and what the pass is to do with them."""

    number: int
    done: list[tuple]  # arrays of a `BinnedTree` each
    growing: list[tuple]  # column, left, bin, flags, left_set of the nodes of each tree so far
    units: list[Units]


class LossSums(NamedTuple):
    """Exact sums of losses and weights of training and held-out rows."""

    learned: np.ndarray
    held_out: np.ndarray


def read_rows(
    chunk: Chunk, columns: CarriedRows | None, setup: PassSetup, state: RoundState
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bins, scores before the round and nodes of a chunk."""
    own = chunk.X if _has_bins(chunk) else None
    k = setup.loss.n_outputs
    if columns is not None:
        bins = columns.bins if own is None else own
        return bins, np.array(columns.score), np.array(columns.node)
    bins = bin_rows(chunk, setup.mapper) if own is None else own
    score = np.repeat(setup.start[None], chunk.rows, axis=0)
    for t, tree in enumerate(state.done):
        _add_tree(tree, bins, setup, score, t % k)
    return bins, score, np.zeros((chunk.rows, k), np.int32)


def _has_bins(chunk: Chunk) -> bool:
    return isinstance(chunk.X, np.ndarray) and chunk.X.dtype == np.uint8


def _add_tree(tree: tuple, bins: np.ndarray, setup: PassSetup, score: np.ndarray, k: int) -> None:
    everyone = np.arange(len(bins), dtype=np.int32)
    flat, missing = np.ascontiguousarray(bins).reshape(-1), setup.mapper.max_bins
    args: Any = (*tree[:6], flat, bins.shape[1], missing, everyone, score, k)
    add_binned_tree(*args)


def _route(bins: np.ndarray, p: int, setup: PassSetup, growing: tuple, node: np.ndarray) -> None:
    """Let rows go down a tree that grows."""
    args: Any = (bins, p, setup.mapper.max_bins, *growing, node)
    route_rows(*args)


def _kept(chunk: Chunk, bins: np.ndarray) -> np.ndarray:
    """Bins to carry: none where the source has them."""
    return np.empty((chunk.rows, 0), np.uint8) if _has_bins(chunk) else bins


def row_weights(chunk: Chunk, setup: PassSetup) -> np.ndarray | None:
    """Weights of the rows of a chunk with those of their classes."""
    w = None if chunk.w is None else np.asarray(chunk.w, np.float64)
    if setup.class_weights is None:
        return w
    own = setup.class_weights[np.asarray(chunk.y, np.int64)]
    return own if w is None else w * own


def _is_held_out(chunk: Chunk, setup: PassSetup) -> np.ndarray:
    if setup.held_out is None:
        return np.zeros(chunk.rows, bool)
    key, threshold = setup.held_out
    numbers = np.arange(chunk.first, chunk.first + chunk.rows, dtype=np.uint64)
    return mix_bits_of(numbers, key) < np.uint64(threshold)


def learning_rows(chunk: Chunk, setup: PassSetup, shape: TreeShape, number: int) -> np.ndarray:
    """Which rows of a chunk the trees of a round learn from."""
    w = row_weights(chunk, setup)
    learns = ~_is_held_out(chunk, setup) & (True if w is None else w > 0)
    if shape.subsample < 1:
        numbers = np.arange(chunk.first, chunk.first + chunk.rows, dtype=np.uint64)
        draws = mix_bits_of(numbers, shape.round_key(number))
        learns &= draws < np.uint64(int(shape.subsample * 2.0**64))
    return learns


def chunk_gradients(
    chunk: Chunk, setup: PassSetup, prepared: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Gradients of a chunk in score k, times weights that are factors; copies of its rows."""
    w, none = row_weights(chunk, setup), np.zeros(0, np.int64)
    g, h = setup.loss.gradients(chunk_target(chunk), prepared, k)
    if w is None:
        return g, h, none
    if setup.copies:
        return np.where(w > 0, g, 0.0), h, w.astype(np.int64)
    return g * w, w if h is None else h * w, none


def gradient_ranges(
    chunk: Chunk, columns: CarriedRows | None, setup: PassSetup, state: RoundState
) -> tuple[Any, CarriedRows]:
    """Range of the gradients of each score; one pass, for losses without known bounds."""
    bins, score, node = read_rows(chunk, columns, setup, state)
    prepared = setup.loss.prepare(score)
    ranges = tuple(
        gradient_range(*chunk_gradients(chunk, setup, prepared, k)[:2])
        for k in range(setup.loss.n_outputs)
    )
    return ranges, CarriedRows(_kept(chunk, bins), score, node)


def add_histograms(
    chunk: Chunk,
    columns: CarriedRows | None,
    setup: PassSetup,
    shape: TreeShape,
    state: RoundState,
    slots: list[np.ndarray],
) -> tuple[Any, CarriedRows]:
    """Histograms of the nodes that have a slot, and exact sums of all nodes, for each tree."""
    bins, score, node = read_rows(chunk, columns, setup, state)
    prepared = setup.loss.prepare(score)
    learns = learning_rows(chunk, setup, shape, state.number)
    flat, p = np.ascontiguousarray(bins).reshape(-1), bins.shape[1]
    totals = []
    for k, growing in enumerate(state.growing):
        here = np.ascontiguousarray(node[:, k])
        _route(flat, p, setup, growing, here)
        node[:, k] = here
        words = _words(chunk, setup, prepared, k, state.units[k])
        totals.append(_sum_slots(flat, p, here, slots[k], learns, words, setup))
    return tuple(totals), CarriedRows(_kept(chunk, bins), score, node)


def _words(
    chunk: Chunk, setup: PassSetup, prepared: np.ndarray, k: int, units: Units
) -> tuple[np.ndarray, np.ndarray]:
    g, h, copies = chunk_gradients(chunk, setup, prepared, k)
    words = np.empty(len(g), np.int64), np.empty(len(g), np.int64)
    quantize(g, np.ones_like(g) if h is None else h, copies, *units[:3], *words)
    return words


def _sum_slots(
    bins: np.ndarray,
    p: int,
    node: np.ndarray,
    slot: np.ndarray,
    learns: np.ndarray,
    words: tuple[np.ndarray, np.ndarray],
    setup: PassSetup,
) -> tuple[np.ndarray, np.ndarray]:
    """Histogram of each slot, and exact sums of g and h of each node with a slot or a sibling's."""
    n_slots, width = int(slot.max(initial=-1)) + 1, setup.mapper.max_bins + 1
    sums = np.zeros((n_slots, p * width, 3), np.int64)
    exact = np.zeros((n_slots, 2), np.int64)
    rows, starts = np.empty(len(node), np.int32), np.empty(n_slots + 1, np.int64)
    list_rows_by_slot(node, slot, learns, rows, starts)
    table, limit = make_table(p), block_rows(setup.layout, setup.most_copies)
    alone = single_columns(setup.mapper.n_bins)
    for s in range(n_slots):
        first, end = int(starts[s]), int(starts[s + 1])
        add_rows(bins, rows, first, end, *words, setup.layout, limit, table, *alone, sums[s])
        if setup.layout == COARSE:
            exact[s] = leaf_sums(rows, first, end, *words, COARSE)
    return sums, exact


def add_values(
    chunk: Chunk,
    columns: CarriedRows | None,
    setup: PassSetup,
    state: RoundState,
    values: list[np.ndarray],
    wants_loss: bool,
) -> tuple[LossSums, CarriedRows]:
    """Add the trees of a round, by the value of each node, to the scores; losses after it."""
    bins, score, node = read_rows(chunk, columns, setup, state)
    flat, p = np.ascontiguousarray(bins).reshape(-1), bins.shape[1]
    for k, (growing, value) in enumerate(zip(state.growing, values, strict=True)):
        here = np.ascontiguousarray(node[:, k])
        _route(flat, p, setup, growing, here)
        score[:, k] += value[here]
    sums = _loss_sums(chunk, setup, score) if wants_loss else LossSums(*np.zeros((2, 2, 68), int))
    return sums, CarriedRows(_kept(chunk, bins), score, np.zeros_like(node))


def _loss_sums(chunk: Chunk, setup: PassSetup, score: np.ndarray) -> LossSums:
    w, value = row_weights(chunk, setup), setup.loss.value(chunk_target(chunk), score)
    apart = _is_held_out(chunk, setup)
    parts = []
    for rows in (~apart, apart):
        own = None if w is None else w[rows]
        parts.append(np.stack(exact_pieces(value[rows], own, copies=setup.copies)))
    return LossSums(*parts)


def start_losses(
    chunk: Chunk, columns: CarriedRows | None, setup: PassSetup, state: RoundState
) -> tuple[LossSums, CarriedRows]:
    """Losses of the scores as they are."""
    bins, score, node = read_rows(chunk, columns, setup, state)
    return _loss_sums(chunk, setup, score), CarriedRows(_kept(chunk, bins), score, node)


def _leaves_and_scores(
    chunk: Chunk,
    setup: PassSetup,
    shape: TreeShape,
    state: RoundState,
    leaf_of: np.ndarray,
    k: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Leaf of each row in tree k (-1 if it does not learn), and its score before the round."""
    bins, score, node = read_rows(chunk, None, setup, state)
    flat, here = np.ascontiguousarray(bins).reshape(-1), np.ascontiguousarray(node[:, k])
    _route(flat, bins.shape[1], setup, state.growing[k], here)
    learns = learning_rows(chunk, setup, shape, state.number)
    return np.where(learns, leaf_of[here], -1), score[:, k]


def leaf_residuals(
    chunk: Chunk,
    setup: PassSetup,
    shape: TreeShape,
    state: RoundState,
    leaf_of: np.ndarray,
    k: int,
) -> np.ndarray:
    """Leaf of each row in tree k (-1 if it does not learn), its residual and its weight."""
    leaf, z = _leaves_and_scores(chunk, setup, shape, state, leaf_of, k)
    y, w = chunk_target(chunk), row_weights(chunk, setup)
    residual = y[:, min(k, y.shape[1] - 1)] - z
    return np.column_stack([leaf, residual, np.ones(chunk.rows) if w is None else w])


def leaf_losses(
    chunk: Chunk,
    setup: PassSetup,
    shape: TreeShape,
    state: RoundState,
    leaf_of: np.ndarray,
    k: int,
    leaves: list[int],
    steps: np.ndarray,
) -> np.ndarray:
    """Exact sums of the losses of some leaves' rows before and after steps; see `loss_pieces`."""
    leaf, z = _leaves_and_scores(chunk, setup, shape, state, leaf_of, k)
    y, w, found = chunk_target(chunk)[:, k], row_weights(chunk, setup), []
    for own, halved in zip(leaves, steps, strict=True):
        rows = leaf == own
        weights = None if w is None else w[rows]
        given = setup.loss, y[rows], z[rows], weights, halved
        found.append(loss_pieces(*given, copies=setup.copies))
    return np.array(found)


class PassTrainer:
    """Grows trees by passes over rows; see `MemoryTrainer`.

    Parameters
    ----------
    rows : Rows, of bins (a local file) or as they are given (a cluster)
    setup : PassSetup
    shape : TreeShape
    weights : RowWeights of all rows
    learning : number of rows that learn
    """

    def __init__(
        self,
        rows: Rows,
        setup: PassSetup,
        shape: TreeShape,
        columns: tuple[np.ndarray, int],
        weights: RowWeights,
        learning: int,
    ) -> None:
        self.rows, self.setup, self.shape, self.weights = rows, setup, shape, weights
        self.columns, self.width = columns
        self.max_leaves = shape.max_leaves(learning)
        self.done: list[tuple] = []
        self.carried: CarriedColumns | None = None
        self.losses: LossSums | None = None
        self.wants_loss = False
        self.weighted = rows.source.has_weight or setup.class_weights is not None

    def start(self) -> np.ndarray:
        """Scores that minimize the loss over constants."""
        return self.setup.start

    def set_scores(self, score: np.ndarray) -> None:
        """Begin at these scores, the same for all rows."""

    def add_trees(self, trees: list[BinnedTree]) -> None:
        """Add trees that are known already; the next pass computes the scores anew."""
        self.done += [tuple(tree) for tree in trees]
        self.carried = self.losses = None

    def mean_loss(self, *, held_out: bool) -> float:
        """Mean loss of the rows that are held out, or of those that trees learn from."""
        self.wants_loss = True
        losses = self.losses
        if losses is None:
            losses = self._pass(start_losses, self.setup, self._state(0, [], []))
            self.losses = losses
        value, weight = losses.held_out if held_out else losses.learned
        return round_fraction(sum_pieces(value) / sum_pieces(weight))

    def _pass(self, f: Any, *state: Any) -> Any:
        total, self.carried = self.rows.carry(f, self.carried, *state)
        return total

    def _state(self, number: int, growing: list, units: list[Units]) -> RoundState:
        return RoundState(number, list(self.done), [_tables(tree) for tree in growing], units)

    def grow_round(self, number: int) -> list[BinnedTree]:
        """The trees of a round; their values are added to the scores of all rows."""
        k = self.setup.loss.n_outputs
        units = self._choose_units(number)
        trees = [
            LevelwiseTree(
                GrowingTree(self.shape, number * k + i, self.columns, units[i], self.max_leaves)
            )
            for i in range(k)
        ]
        while any(tree.wanted for tree in trees):
            state = self._state(number, [tree.tree for tree in trees], units)
            slots = [tree.slots() for tree in trees]
            totals = self._pass(add_histograms, self.setup, self.shape, state, slots)
            for tree, (sums, exact) in zip(trees, totals, strict=True):
                tree.receive(sums, exact)
        state = self._state(number, [tree.tree for tree in trees], units)
        finished = [self._finish(tree, k, state) for k, tree in enumerate(trees)]
        values = [value for _, value in finished]
        self.losses = self._pass(add_values, self.setup, state, values, self.wants_loss)
        made = [complete for complete, _ in finished]
        self.done += [tuple(tree) for tree in made]
        return made

    def _finish(
        self, tree: LevelwiseTree, k: int, state: RoundState
    ) -> tuple[BinnedTree, np.ndarray]:
        """A complete tree, and the value of the leaf of every node."""
        leaf_of, leaves = tree.prune()
        if self.setup.loss.guarded:
            values = self._guarded_values(tree.tree, leaf_of, leaves, k, state)
        elif self.setup.loss.quantiles is None:
            values = {leaf: tree.newton_value(leaf, self.setup.layout) for leaf in leaves}
        else:
            values = self._quantile_values(tree.tree, leaf_of, leaves, k, state)
        by_node = np.array([values[int(leaf)] for leaf in leaf_of])
        return tree.tree.complete(by_node), by_node

    def _quantile_values(
        self, tree: GrowingTree, leaf_of: np.ndarray, leaves: list[int], k: int, state: RoundState
    ) -> dict[int, float]:
        """Values of leaves from the residuals of their rows, which come to this process."""
        f, level = leaf_residuals, self.setup.loss.quantiles[k]  # type: ignore[index]
        table = self.rows.each(f, self.setup, self.shape, state, leaf_of, k)
        order = np.argsort(table[:, 0], kind="stable")
        bounds = np.searchsorted(table[order, 0], [*leaves, *(leaf + 1 for leaf in leaves)])
        values = {}
        for i, leaf in enumerate(leaves):
            own = table[order[bounds[i] : bounds[i + len(leaves)]]]
            w = own[:, 2] if self.weighted else None
            values[leaf] = tree.quantile_value(leaf, own[:, 1], w, level)
        return values

    def _guarded_values(
        self, tree: GrowingTree, leaf_of: np.ndarray, leaves: list[int], k: int, state: RoundState
    ) -> dict[int, float]:
        """Values of leaves from steps that are halved until they lower the loss."""
        loss, open_ = self.setup.loss, list(leaves)
        values = {leaf: bounded_value(tree, leaf, 0.0) for leaf in leaves}
        for first, end in pairwise(PASS_BATCHES):
            if not open_:
                break
            steps = [halved_steps(tree, leaf, first, end) for leaf in open_]
            moves = [trial_steps(tree, loss, each) for each in steps]
            given = self.setup, self.shape, state, leaf_of, k, open_, np.array(moves)
            pieces = self.rows.total(leaf_losses, *given)
            found = {
                leaf: choose_value(tree, loss, leaf, steps[i], pieces[i])
                for i, leaf in enumerate(open_)
            }
            values |= {leaf: value for leaf, value in found.items() if value is not None}
            open_ = [leaf for leaf in open_ if found[leaf] is None]
        return values

    def _choose_units(self, number: int) -> list[Units]:
        """Units of the gradients of each score."""
        loss, w, n = self.setup.loss, self.weights.factors, self.weights.total
        known = known_range(loss, 1.0 if w is None else float(w.max()))
        ranges: Any = (known,) * loss.n_outputs
        if known is None:
            ranges = self._pass(gradient_ranges, self.setup, self._state(number, [], []))
        return [choose_units(self.setup.layout, GradientRange(*span), n) for span in ranges]


def _tables(tree: GrowingTree) -> tuple:
    """What rows need to go down a tree that grows."""
    n = max(len(tree.left), 1)
    integers = tree.integers[:n]
    left = np.array(tree.left or [-1], np.int64)
    flags = integers[:, MISSING_LEFT] + 2 * integers[:, IS_CATEGORICAL]
    return (
        integers[:, COLUMN].copy(),
        left,
        integers[:, BIN].copy(),
        flags,
        tree.left_set[:n].copy(),
    )
