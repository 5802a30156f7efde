"""Rounds of boosting on rows whose bins fit into memory.

A node has a list of its rows. When it is split, its list is parted, the histogram of the smaller
child is added up, and that of the other is the parent's minus it. Large nodes are shared by threads
in blocks of rows; sums are exact, so it does not matter who adds what.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.tree._bundles import Bundles, bundle_columns, single_columns
from tenfold.tree._few_rows_numba import (
    LEFT,
    MAX_LEAVES,
    N_PLACES,
    grow_on_few_rows,
    make_room,
)
from tenfold.tree._fixed_point import (
    GradientRange,
    RowWeights,
    Units,
    choose_layout,
    choose_units,
    gradient_range,
    known_range,
)
from tenfold.tree._fixed_point_numba import CONSTANT, block_rows, quantize
from tenfold.tree._gradient_split_numba import COLUMN, COUNT
from tenfold.tree._growing_tree import GrowingTree, TreeShape
from tenfold.tree._guarded_steps import guarded_value, loss_pieces
from tenfold.tree._histogram_numba import add_histogram, add_rows, make_table
from tenfold.tree._losses import BoostingLoss, mean_loss
from tenfold.tree._row_lists_numba import (
    BinnedTree,
    add_binned_tree,
    add_value,
    add_values,
    draw_rows,
    fill_directions,
    part_few_rows,
    part_rows,
    sum_spans,
)

T = TypeVar("T")

_BLOCK_ROWS = 2**14  # rows of a piece of work, whose words and scores stay near
_BLOCK_ROWS_PER_LEAF = 64  # at least, so that the table of blocks and leaves is small
_MIN_SHARED_ROWS = 2**15  # of a loop, for threads to be woken
_MIN_SHARED_CELLS = 2**18  # of a histogram, for the same
_MIN_SHARED_COPY = 2**17  # rows of a list that is copied, for the same
_ONE_CALL_BYTES = 2**24  # of the histograms of a tree that is grown in one call
_HISTOGRAM_BYTES = 2**29  # of histograms of open nodes; beyond, they are added up again


class MemoryTrainer:
    """Grows trees on rows in memory.

    Parameters
    ----------
    bins : (n, p) uint8 array
    y : (n, q) array, targets
    w : (n,) array of weights or None
    held_out : (n,) bool array or None: rows that trees do not learn from
    loss : BoostingLoss
    shape : TreeShape
    columns : (p, 2) int64 array of bins of each column without "missing" and whether it is
        categorical; and the number of bins with that of missing values, which is the last
    """

    def __init__(
        self,
        bins: np.ndarray,
        y: np.ndarray,
        w: np.ndarray | None,
        held_out: np.ndarray | None,
        loss: BoostingLoss,
        shape: TreeShape,
        columns: tuple[np.ndarray, int],
    ) -> None:
        self.bins, self.y, self.w, self.loss, self.shape = bins, y, w, loss, shape
        self.columns, self.width = columns
        n, self.p = bins.shape
        used = np.ones(n, bool) if w is None else w > 0
        self.learns = used if held_out is None else used & ~held_out
        self.all_learn = bool(self.learns.all())
        self.rows = np.flatnonzero(self.learns).astype(np.int32)
        self.others = np.flatnonzero(~self.learns).astype(np.int32)
        self.weights = RowWeights.of(w, n)
        self.layout = choose_layout(loss, n, weighted=w is not None)
        self.score = np.zeros((n, loss.n_outputs), order="F")  # trees add to one output
        self._allocate()

    def _allocate(self) -> None:
        """Memory that all trees use."""
        n, m, cells = len(self.bins), len(self.rows), self.p * self.width
        self.max_leaves = self.shape.max_leaves(m)
        self.by_column = np.empty((self.p, n), np.uint8)  # rows are parted by one column
        for_blocks(n, lambda part: np.copyto(self.by_column[:, part], self.bins[part].T))
        n_bins = self.columns[:, 0]
        if m > _MIN_SHARED_ROWS:
            self.bundles = bundle_columns(self.bins, self.by_column, n_bins)
        else:
            self.bundles = Bundles(self.bins, *single_columns(n_bins))
        self.words = np.empty(n, np.int64), np.empty(0 if self.layout == CONSTANT else n, np.int64)
        self.lists = [np.empty(m, np.int32) for _ in range(3)]
        self.most_kept = max(_HISTOGRAM_BYTES // (24 * cells), 2)
        self.pool: list[np.ndarray] = []  # histograms that are not in use
        self.tables: list[np.ndarray] = []  # scratch of threads
        self.room: tuple[Any, ...] | None = None  # of trees in one call

    def start(self) -> np.ndarray:
        """Scores that minimize the loss over constants."""
        y = self.y if self.all_learn else self.y[self.learns]
        w = self.w if self.w is None or self.all_learn else self.w[self.learns]
        return self.loss.start(y, w)

    def set_scores(self, score: np.ndarray) -> None:
        """Begin at these scores."""
        self.score[:] = score

    def grow_round(self, number: int) -> list[BinnedTree]:
        """The trees of a round; their values are added to the scores of all rows."""
        prepared = self._prepare()
        return [self._grow(number, k, prepared) for k in range(self.loss.n_outputs)]

    def _prepare(self) -> np.ndarray:
        """What gradients of all outputs share."""
        if not self.loss.prepares:
            return self.score
        prepared = np.empty_like(self.score)

        def prepare(part: slice) -> None:
            prepared[part] = self.loss.prepare(self.score[part])

        for_blocks(len(prepared), prepare)
        return prepared

    def add_trees(self, trees: list[BinnedTree]) -> None:
        """Add trees that are known already to the scores of all rows."""
        everyone = np.arange(len(self.bins), dtype=np.int32)
        for k, tree in enumerate(trees):
            self._add_to(tree, everyone, k)

    def mean_loss(self, *, held_out: bool) -> float:
        """Mean loss of the rows that are held out, or of those that trees learn from."""
        rows = self.others if held_out else self.rows
        w = None if self.w is None else self.w[rows]
        whole = self.all_learn and not held_out
        y, score = (self.y, self.score) if whole else (self.y[rows], self.score[rows])
        score = np.ascontiguousarray(score)  # sums of outputs are rounded in their order in memory
        return mean_loss(self.loss, y, score, w, copies=len(self.weights.copies) > 0)

    def _grow(self, number: int, k: int, prepared: np.ndarray) -> BinnedTree:
        units = self._quantize(prepared, k)
        rows, outside = self._draw(number)
        place = number * self.loss.n_outputs + k
        tree = GrowingTree(self.shape, place, self.columns, units, self.max_leaves)
        if self._takes_one_call(tree):
            complete = self._grow_at_once(tree, rows, k)
        else:
            spans = self._grow_tree(tree, rows)
            complete = tree.complete(self._finish_leaves(tree, rows, spans, k))
        if len(outside):
            self._add_to(complete, outside, k)
        return complete

    def _takes_one_call(self, tree: GrowingTree) -> bool:
        """Whether a tree is small and plain enough to be grown in one compiled call."""
        cells = (self.max_leaves + 1) * self.p * self.width
        is_small = len(self.rows) <= _MIN_SHARED_ROWS and 24 * cells <= _ONE_CALL_BYTES
        is_plain = not (tree.has_categories or self.shape.groups or self.shape.max_features < 1)
        newton = self.loss.quantiles is None and not self.loss.guarded
        return is_small and is_plain and self.max_leaves <= MAX_LEAVES and newton

    def _grow_at_once(self, tree: GrowingTree, rows: np.ndarray, k: int) -> BinnedTree:
        if self.room is None:
            self.room = make_room(self.max_leaves, self.p, self.width)
        shape, nodes = self.shape, len(tree.integers)
        places, values = np.empty((nodes, N_PLACES), np.int64), np.zeros(nodes)
        deepest = -1 if shape.max_depth is None else shape.max_depth
        count = grow_on_few_rows(
            self.bins.reshape(-1),
            self.by_column,
            self._words(),
            rows,
            self.lists[2],
            self.bundles[1:3],
            tree.columns,
            tree.limits,
            (self.max_leaves, deepest, 2 * shape.min_samples_leaf, shape.depth_wise),
            (tree.integers, tree.numbers, places),
            self.room,
            (self.score[:, k], values),
        )
        tree.left = places[:count, LEFT].tolist()
        return tree.complete(values)

    def _draw(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows that the trees of a round learn from, in a list to be parted; all other rows."""
        rows = self.lists[0]
        if self.shape.subsample == 1.0:
            rows[:] = self.rows
            return rows, self.others
        threshold = np.uint64(int(self.shape.subsample * 2.0**64))
        outside = np.empty_like(rows)
        key = np.uint64(self.shape.round_key(number))
        count = draw_rows(self.rows, key, threshold, rows, outside)
        return rows[:count], np.concatenate([outside[: len(rows) - count], self.others])

    def _grow_tree(self, tree: GrowingTree, rows: np.ndarray) -> dict[int, tuple[int, int]]:
        """Grow a tree; the part of the list of rows that belongs to each leaf."""
        spans, kept = {0: (0, len(rows))}, {0: self._histogram(rows, 0, len(rows))}
        tree.start(kept[0])
        queue = [tree.priority(0)] if tree.search(0, kept[0]) else []
        while queue and len(spans) < self.max_leaves:
            node = heapq.heappop(queue)[-1]
            left = tree.open_children(node)
            first, end = spans.pop(node)
            middle = first + self._part(tree, node, rows, first, end)
            spans[left], spans[left + 1] = (first, middle), (middle, end)
            parent = kept.pop(node, None)
            if len(spans) == self.max_leaves:
                self._release(parent)
                break
            self._fill_children(tree, left, rows, spans, parent, kept)
            for child in (left, left + 1):
                if child in kept and tree.search(child, kept[child]):
                    heapq.heappush(queue, tree.priority(child))
                    if len(kept) > self.most_kept:
                        self._release(kept.pop(child))
                else:
                    self._release(kept.pop(child, None))
        for histogram in kept.values():
            self._release(histogram)
        return spans

    def _fill_children(
        self,
        tree: GrowingTree,
        left: int,
        rows: np.ndarray,
        spans: dict[int, tuple[int, int]],
        parent: np.ndarray | None,
        kept: dict[int, np.ndarray],
    ) -> None:
        """Histograms of two children, unless neither may be split."""
        if not (tree.may_split(left) or tree.may_split(left + 1)):
            self._release(parent)
            return
        counts = tree.integers[left : left + 2, COUNT]
        smaller = left + int(counts[1] < counts[0])
        larger = 2 * left + 1 - smaller
        kept[smaller] = self._histogram(rows, *spans[smaller])
        if parent is None:
            kept[larger] = self._histogram(rows, *spans[larger])
        else:
            add_histogram(parent, kept[smaller], -1, self.columns[:, 0])
            kept[larger] = parent

    def _release(self, histogram: np.ndarray | None) -> None:
        """A histogram is not needed any more."""
        if histogram is not None:
            self.pool.append(histogram)

    def _histogram(self, rows: np.ndarray, first: int, end: int) -> np.ndarray:
        """Histogram of some rows of a list."""
        lock, q = threading.Lock(), len(self.bundles.starts) - 1
        sums = self._zeros()
        if (end - first) * q <= _MIN_SHARED_CELLS:
            self.tables = self.tables or [self._new_table()]
            self._add_rows(rows, first, end, self.tables[0], sums)
            return sums
        mine = threading.get_ident()
        partial: dict[int, np.ndarray] = {mine: sums}

        def add(part: slice) -> None:
            thread = threading.get_ident()
            with lock:
                if thread not in partial:
                    partial[thread] = self._zeros()
                table = self.tables.pop() if self.tables else self._new_table()
            self._add_rows(rows, first + part.start, first + part.stop, table, partial[thread])
            with lock:
                self.tables.append(table)

        for_blocks(end - first, add, whole=True, least=_MIN_SHARED_CELLS // q)
        for thread, own in partial.items():
            if thread != mine:
                add_histogram(sums, own, 1, self.columns[:, 0])
                self._release(own)
        return sums

    def _zeros(self) -> np.ndarray:
        """A histogram of no rows."""
        if not self.pool:
            return np.zeros((self.p * self.width, 3), np.int64)
        sums = self.pool.pop()
        add_histogram(sums, sums, -1, self.columns[:, 0])
        return sums

    def _new_table(self) -> np.ndarray:
        return make_table(len(self.bundles.starts) - 1)

    def _add_rows(
        self, rows: np.ndarray, first: int, end: int, table: np.ndarray, sums: np.ndarray
    ) -> None:
        codes, starts, members = self.bundles
        codes = codes.reshape(-1)
        add_rows(codes, rows, first, end, *self._words(), table, starts, members, sums)

    def _words(self) -> tuple[np.ndarray, np.ndarray, int, int]:
        """Words of the rows, their layout, and how many may be added before they are unpacked."""
        return *self.words, self.layout, block_rows(self.layout, self.weights.most)

    def _part(self, tree: GrowingTree, node: int, rows: np.ndarray, first: int, end: int) -> int:
        """Part the rows of a node; how many go left."""
        left, right = self.lists[1:]
        integers, directions = tree.integers[node], np.empty(256, np.uint8)
        if end - first <= _MIN_SHARED_ROWS:
            column, sets = self.by_column[integers[COLUMN]], tree.left_set[node]
            return part_few_rows(
                column, rows, first, end, integers, sets, self.width - 1, directions, right
            )
        fill_directions(integers, tree.left_set[node], self.width - 1, directions)
        column = self.by_column[integers[COLUMN]]
        counts: dict[tuple[int, int], int] = {}

        def part(block: slice) -> None:
            a, b = first + block.start, first + block.stop
            counts[a, b] = part_rows(column, rows, a, b, directions, left, right)

        for_blocks(end - first, part, whole=True)
        total, before, moves = sum(counts.values()), 0, []
        for (a, b), count in sorted(counts.items()):
            moves.append((first + before, left[a : a + count]))
            moves.append((a + total - before, right[a : b - count]))
            before += count

        def move(to: tuple[int, np.ndarray]) -> None:
            rows[to[0] : to[0] + len(to[1])] = to[1]

        share_items(moves, move, n_threads() - 1 if end - first > _MIN_SHARED_COPY else 0)
        return total

    def _quantize(self, prepared: np.ndarray, k: int) -> Units:
        """Words of all rows for output k, and their units."""
        n, loss, w = len(self.bins), self.loss, self.weights.factors
        span = known_range(loss, 1.0 if w is None else float(w.max()))
        if span is None:
            spans: list[GradientRange] = []

            def look(part: slice) -> None:
                spans.append(gradient_range(*self._gradients(prepared, k, part)))

            for_blocks(n, look)
            span = GradientRange(max(s.g for s in spans), max(s.h for s in spans))
        units = choose_units(self.layout, span, self.weights.total)
        copies = self.weights.copies

        def write(part: slice) -> None:
            g, h = self._gradients(prepared, k, part)
            words = (word[part] for word in self.words)
            own = copies[part]
            h = np.ones_like(g) if h is None else h
            quantize(g, h, own, *units[:3], *words)

        for_blocks(n, write)
        return units

    def _gradients(
        self, prepared: np.ndarray, k: int, part: slice
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Gradients of some rows, times their weights where these are factors."""
        g, h = self.loss.gradients(self.y[part], prepared[part], k)
        if self.weights.factors is not None:
            w = self.weights.factors[part]
            g, h = g * w, w if h is None else h * w
        elif self.w is not None:
            g = np.where(self.w[part] > 0, g, 0.0)
        return g, h

    def _finish_leaves(
        self, tree: GrowingTree, rows: np.ndarray, spans: dict[int, tuple[int, int]], k: int
    ) -> np.ndarray:
        """Values of all leaves, added to the scores of their rows."""
        values, nodes = np.zeros(len(tree.left)), list(spans)
        if self.loss.quantiles is None and not self.loss.guarded:
            values[nodes] = self._add_newton_values(tree, rows, spans, k)
            return values

        def finish(node: int) -> None:
            values[node] = self._finish_leaf(tree, node, rows, spans[node], k)

        nodes.sort(key=lambda node: spans[node][0] - spans[node][1])  # the largest leaf first
        share_items(nodes, finish, n_threads() - 1 if len(rows) > _MIN_SHARED_ROWS else 0)
        return values

    def _add_newton_values(
        self, tree: GrowingTree, rows: np.ndarray, spans: dict[int, tuple[int, int]], k: int
    ) -> np.ndarray:
        """Newton steps of all leaves, added to the scores of their rows.

        Leaves are visited block of rows by block, as the rows of one leaf lie far apart.
        """
        size = max(_BLOCK_ROWS, _BLOCK_ROWS_PER_LEAF * len(spans))
        blocks, lock = -(-len(self.bins) // size), threading.Lock()
        edges = np.minimum(np.arange(blocks + 1) * size, len(self.bins)).astype(rows.dtype)
        cuts = np.empty((blocks + 1, len(spans)), np.int64)
        for s, (first, end) in enumerate(spans.values()):  # rows of a leaf ascend
            cuts[:, s] = first + np.searchsorted(rows[first:end], edges)
        sums, score = np.zeros((len(spans), 2), np.int64), self.score[:, k]

        def add_sums(part: slice) -> None:
            own = np.zeros_like(sums)
            sum_spans(rows, cuts, part.start, part.stop, *self.words, self.layout, own)
            with lock:
                np.add(sums, own, out=sums)

        least = _MIN_SHARED_ROWS // size
        for_blocks(blocks, add_sums, whole=True, least=least)
        own = zip(spans, sums, strict=True)
        values = np.array([tree.leaf_value(node, g, h) for node, (g, h) in own])

        def add(part: slice) -> None:
            add_values(rows, cuts, part.start, part.stop, values, score)

        for_blocks(blocks, add, whole=True, least=least)
        return values

    def _finish_leaf(
        self, tree: GrowingTree, node: int, rows: np.ndarray, span: tuple[int, int], k: int
    ) -> float:
        """Value of a leaf, a guarded step or a quantile, added to the scores of its rows."""
        loss = self.loss
        own = rows[slice(*span)]
        y, w = self.y[own, min(k, self.y.shape[1] - 1)], None if self.w is None else self.w[own]
        z, copies = self.score[own, k], len(self.weights.copies) > 0
        if loss.quantiles is not None:
            value = tree.quantile_value(node, y - z, w, loss.quantiles[k])
        else:
            value = guarded_value(
                tree, loss, node, lambda steps: loss_pieces(loss, y, z, w, steps, copies=copies)
            )
        add_value(rows, *span, value, self.score[:, k])
        return value

    def _add_to(self, tree: BinnedTree, rows: np.ndarray, k: int) -> None:
        """Add a tree to the scores of some rows."""
        bins = self.bins.reshape(-1)

        def add(part: slice) -> None:
            add_binned_tree(*tree[:6], bins, self.p, self.width - 1, rows[part], self.score, k)

        for_blocks(len(rows), add)


def for_blocks(
    n: int, work: Callable[[slice], Any], *, whole: bool = False, least: int = _MIN_SHARED_ROWS
) -> None:
    """Call `work` for blocks of n rows, in several threads if there are more than `least`.

    With `whole`, one thread takes them as a single block.
    """
    helpers = n_threads() - 1 if n > least else 0
    if not helpers and (whole or n <= _BLOCK_ROWS):
        if n > 0:
            work(slice(0, n))
        return
    size = max(least // 4, -(-n // (16 * (helpers + 1)))) if whole else _BLOCK_ROWS
    share_items([slice(a, min(a + size, n)) for a in range(0, n, size)], work, helpers)


def share_items(items: Sequence[T], work: Callable[[T], Any], helpers: int) -> None:
    """Call `work` for all items, with so many other threads."""
    waiting, lock = iter(items), threading.Lock()
    problems: list[BaseException] = []

    def take_items() -> None:
        while not problems:
            with lock:
                item = next(waiting, None)
            if item is None:
                return
            try:
                work(item)
            except BaseException as problem:  # noqa: BLE001  the caller raises it
                problems.append(problem)

    run_in_threads(take_items, max(min(helpers, len(items) - 1), 0))
    if problems:
        raise problems[0]
