"""Memory of one thread that grows trees: tables of nodes that become larger, and scratch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tenfold.tree._cart_criterion_numba import MEDIAN_RULES, CodedRows, Rules
from tenfold.tree._cart_median_numba import MedianScratch
from tenfold.tree._cart_node_numba import GROWING_NODE, Scratch
from tenfold.tree._cart_sort_numba import MAX_DIGIT_VALUES
from tenfold.tree._large_arrays import allocate

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
        self._rules, self._scratch = rules, _make_scratch(rules, n, p, capacity, make)
        width = self._scratch.sums.shape[1]
        self._nodes = np.empty(_FIRST_CAPACITY, GROWING_NODE)
        self._values = np.empty((_FIRST_CAPACITY, width))

    def grow(
        self,
        kernel: Callable[..., bool],
        data: CodedRows,
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
            data, self._rules, rows, self._nodes, self._values, state, self._scratch, *options
        ):
            self._nodes = np.concatenate([self._nodes, np.empty_like(self._nodes)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        count, _, n_pending, _ = state
        return self._nodes[:count], self._values[:count], self._nodes["pending"][:n_pending].copy()


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
        make((2, n), np.int64),
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
