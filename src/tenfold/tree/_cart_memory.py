"""Memory of one thread that grows trees: tables of nodes that become larger, and scratch.

Trees of a forest are grown one after the other in the same memory: to get it anew from the system,
page by page, would take a tenth of the time of a tree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tenfold.tree._cart_criterion_numba import LABEL_RULES, MEDIAN_RULES, CodedRows, Rules
from tenfold.tree._cart_median_numba import MedianScratch
from tenfold.tree._cart_node_numba import GROWING_NODE, Scratch
from tenfold.tree._cart_sort_numba import MAX_DIGIT_VALUES
from tenfold.tree._grown_tree import NodeStore
from tenfold.tree._large_arrays import allocate, is_mapped

_FIRST_CAPACITY = 512  # nodes
_GROUP = 16  # columns whose codes are gathered together


class GrowthMemory:
    """Tables of nodes and memory for trees of up to n rows and p columns.

    Row numbers are below `capacity`; what has an entry for each row may be `mapped` to files.
    """

    def __init__(
        self, rules: Rules, n: int, p: int, capacity: int, *, mapped: bool = False
    ) -> None:
        make = partial(allocate, mapped=mapped)
        self._scratch = _make_scratch(rules, n, p, capacity, make)
        self.most_rows = 0 if mapped else n
        width = self._scratch.sums.shape[1]
        self._nodes = np.empty(_FIRST_CAPACITY, GROWING_NODE)
        self._values = np.empty((_FIRST_CAPACITY, width))

    def grow(
        self,
        kernel: Callable[..., bool],
        data: CodedRows,
        rules: Rules,
        rows: np.ndarray,
        root: dict[str, Any],
        *options: Any,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, values, and numbers of pending nodes of the tree below a root.

        `kernel` grows until it is done, or until the tables are full. The next tree overwrites
        nodes and values.
        """
        for name, number in root.items():
            self._nodes[name][0] = number
        self._nodes["frontier"][0] = 0
        state = np.array([1, 1, 0, 1])
        while not kernel(
            data, rules, rows, self._nodes, self._values, state, self._scratch, *options
        ):
            self._nodes = np.concatenate([self._nodes, np.empty_like(self._nodes)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        count, _, n_pending, _ = state
        return self._nodes[:count], self._values[:count], self._nodes["pending"][:n_pending].copy()


class TreeMemory:
    """Memory in which one thread grows a tree, then the next one under rules of the same kind."""

    def __init__(self, rules: Rules) -> None:
        self.store = NodeStore(int(rules.bounds[rules.n_outputs]))
        self._kind = type(rules)
        self._top: GrowthMemory | None = None
        self._local: tuple[GrowthMemory, CodedRows, np.ndarray] | None = None

    def suits(self, rules: Rules) -> bool:
        """Whether these are rules of the kind that the memory was made for."""
        return type(rules) is self._kind

    def for_rows(self, data: CodedRows, rules: Rules, n: int) -> GrowthMemory:
        """Memory for n of the rows."""
        capacity, p = data.codes.shape
        if self._top is None or self._top.most_rows < n:
            mapped = is_mapped(data.codes)
            self._top = GrowthMemory(rules, n if mapped else capacity, p, capacity, mapped=mapped)
        return self._top

    def for_copies(
        self, data: CodedRows, rules: Rules, n: int
    ) -> tuple[GrowthMemory, CodedRows, np.ndarray]:
        """Memory for copies of n rows, room for the copies and for their numbers."""
        if self._local is None:
            memory = GrowthMemory(rules, n, data.codes.shape[1], n)
            self._local = memory, make_room(data, n), np.empty(n, np.int32)
        memory, room, numbers = self._local
        return (
            memory,
            data._replace(codes=room.codes, table=room.table, labels=room.labels),
            numbers,
        )


def make_room(data: CodedRows, n: int) -> CodedRows:
    """Room for copies of n rows."""
    p, width = data.codes.shape[1], data.table.shape[1]
    return data._replace(
        codes=np.empty((n, p), data.codes.dtype),
        table=np.empty((n, width) if width > 0 else (0, 0), np.int64),
        labels=np.empty(n if len(data.labels) > 0 else 0, np.uint32),
    )


def _make_scratch(
    rules: Rules, n: int, p: int, capacity: int, make: Callable[..., np.ndarray]
) -> Scratch:
    group = max(min(p, rules.max_features, _GROUP), 1)
    medians: Any = 0
    if isinstance(rules, MEDIAN_RULES):
        medians = _make_median_scratch(capacity, rules.n_outputs, make)
    return Scratch(
        make((2, n), np.uint64),
        make((group, n), np.uint32),
        make((2, n), np.uint32 if isinstance(rules, LABEL_RULES) else np.int64),
        np.empty(MAX_DIGIT_VALUES, np.int64),
        np.empty((3, rules.bounds[rules.n_outputs]), np.int64),
        np.stack([np.arange(p), np.zeros(p, np.int64)]),
        make((n,), np.int32),
        medians,
    )


def _make_median_scratch(n: int, outputs: int, make: Callable[..., np.ndarray]) -> MedianScratch:
    return MedianScratch(
        make((outputs, n), np.int64),
        make((outputs, n), np.int64),
        make((2, n + 1), np.int64),
        make((4, n), np.float64),
        make((n,), np.int64),
    )
