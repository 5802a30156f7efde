"""From rows, targets and parameters to a grown tree: units, rules, threads, assembly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from math import ceil, frexp, log2, sqrt
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.thread_pool import n_threads, run_in_threads
from tenfold.tree import _cart_criterion_numba as scan
from tenfold.tree import _cart_growth_numba as grow
from tenfold.tree._cart_memory import TreeMemory, make_room
from tenfold.tree._grown_tree import GrownTree, NodeStore
from tenfold.tree._large_arrays import allocate, is_mapped, row_blocks
from tenfold.tree._rank_codes import ColumnCodes
from tenfold.tree._rank_codes_numba import keep_weighted

CRITERIA = {
    "gini": scan.GINI,
    "entropy": scan.ENTROPY,
    "log_loss": scan.ENTROPY,
    "squared_error": scan.SQUARED,
    "friedman_mse": scan.SQUARED,
    "poisson": scan.POISSON,
    "absolute_error": scan.ABSOLUTE,
    "none": scan.NO_CRITERION,
}
_LOCAL_BYTES = 2**20  # codes of a node that is copied before it is grown: they stay in the cache
_LOCAL_ROWS = 2**14
_TOP_BYTES, _TOP_ROWS = 2**18, 2048  # nodes with more of both are numbered first
_MIN_LOCAL_ROWS = 32
_BLOCK_BYTES = 2**26  # of a node that is copied from a file and grown in memory
_WORK_BYTES = 128  # of a row in memory while it grows, beside its codes
_ROOT_FIELDS = ("start", "end", "depth", "seed", "low", "high")
_SUM_BITS = 60  # of sums of targets and moments
WEIGHT_BITS = 52  # of sums of weights, so that float64 holds them exactly
MEDIAN_WEIGHT_BITS = 31  # for absolute error, where weights are multiplied with targets
_WHOLE_WEIGHT = 2**34  # up to this sum, weights count as whole numbers (repetitions of rows)
_MAX_KEY_PART = 2**16  # classes and weights that fit into a key


class Targets(NamedTuple):
    """Targets as whole numbers.

    Attributes
    ----------
    table : (n, ...) int64, the columns after the weight in `CodedRows.table`
    bounds : (n_outputs + 1,) where the classes of each output begin
    center, units : (n_outputs,) a weighted target is units times its number, about the center
    moment_unit : float
    """

    table: np.ndarray
    bounds: np.ndarray
    center: np.ndarray
    units: np.ndarray
    moment_unit: float


def integer_weights(
    w: np.ndarray | None, n: int, bits: int = WEIGHT_BITS
) -> tuple[np.ndarray, float]:
    """Weights as whole numbers and the size of their unit, a power of two.

    The unit is the largest in which the weights are whole; if there is none, one in which the
    largest possible sum has so many bits. A weight above zero is at least one unit.
    """
    if w is None:
        return np.broadcast_to(np.int64(1), n), 1.0
    largest = float(w.max(initial=0.0))
    if largest <= 0.0:
        raise ValueError("sample_weight is zero for all rows: nothing to learn from")
    exponent = frexp(largest)[1] + max(n, 1).bit_length() - bits
    whole = np.rint(np.ldexp(w.astype(np.float64), -exponent)).astype(np.int64)
    whole = np.maximum(whole, (w > 0).astype(np.int64))
    used = int(np.bitwise_or.reduce(whole))
    shift = (used & -used).bit_length() - 1
    return whole >> shift, float(2.0 ** (exponent + shift))


def encode_classes(codes: np.ndarray, n_classes: np.ndarray, *, mapped: bool = False) -> Targets:
    """Class numbers (n, n_outputs) as targets."""
    bounds = np.cumsum([0, *n_classes]).astype(np.int64)
    outputs = codes.shape[1]
    table = allocate(codes.shape, np.int64, mapped=mapped)
    np.add(codes, bounds[:-1], out=table)
    return Targets(table, bounds, np.zeros(outputs), np.ones(outputs), 1.0)


def encode_targets(
    y: np.ndarray, criterion: str, weight: np.ndarray, total: int, *, mapped: bool = False
) -> Targets:
    """Targets (n, n_outputs) of a regression as whole numbers, about the middle of their range.

    `weight` are weights in units, and `total` the largest sum of them that a tree may have. With
    whole weights, a weighted target is the weight times the number of the target, so that a row of
    weight two is the row twice.
    """
    n, outputs = y.shape
    center = np.zeros(outputs)
    if criterion != "poisson":
        center = y.min(axis=0) / 2 + y.max(axis=0) / 2
    blocks = row_blocks(n)
    largest = np.maximum(np.abs(y.min(axis=0) - center), np.abs(y.max(axis=0) - center))
    units = np.array([_unit(float(most), total) for most in largest])
    most = max(float(np.abs(_moments(y[block] - center, criterion)).max()) for block in blocks)
    moment_unit = _unit(most, total)
    fine = np.array([_unit(float(most), 1) for most in largest])
    table = allocate((n, 1 + 2 * outputs), np.int64, mapped=mapped)
    for block in blocks:
        z, w, part = y[block] - center, weight[block], table[block]
        moment = _moments(z, criterion)
        part[:, :1] = _weigh((moment / moment_unit)[:, None], w, total)
        if criterion == "absolute_error":
            part[:, 1 : 1 + outputs] = np.rint(z / units).astype(np.int64)
        else:
            part[:, 1 : 1 + outputs] = _weigh(z / units, w, total)
            part[:, 1 + outputs :] = np.rint(z / fine).astype(np.int64)
    if criterion == "absolute_error":
        for k, column in enumerate(y.T):
            table[:, 1 + outputs + k] = np.unique(column, return_inverse=True)[1]
    return Targets(table, np.arange(outputs + 1), center, units, moment_unit)


def _moments(z: np.ndarray, criterion: str) -> np.ndarray:
    """What impurities ask of each row beside its targets."""
    if criterion == "poisson":
        return np.where(z > 0, z * np.log(np.where(z > 0, z, 1.0)), 0.0).sum(axis=1)
    return (z * z).sum(axis=1)


def _weigh(z: np.ndarray, weight: np.ndarray, total: int) -> np.ndarray:
    """Numbers times weights, as whole numbers."""
    if total <= _WHOLE_WEIGHT:
        return np.rint(z).astype(np.int64) * weight[:, None]
    return np.rint(z * weight[:, None]).astype(np.int64)


def weigh_table(table: np.ndarray, weight: np.ndarray, *, is_sum: bool) -> np.ndarray:
    """A table of rows of weight 1 with other weights, which are small whole numbers.

    `is_sum` says whether moment and targets are summed with weights; see `CodedRows`.
    """
    weighted = allocate(table.shape, np.int64, mapped=is_mapped(table))
    weighted[:] = table
    weighted[:, scan.WEIGHT] = weight
    if is_sum:
        end = scan.TARGETS + (table.shape[1] - scan.TARGETS) // 2
        weighted[:, scan.MOMENT : end] *= weight[:, None]
    return weighted


def _unit(largest: float, total_weight: int) -> float:
    """A power of two in which sums over the weight do not overflow."""
    if largest == 0.0:
        return 1.0
    return 2.0 ** max(frexp(largest)[1] + max(total_weight, 1).bit_length() - _SUM_BITS, -1000)


def make_rows(
    columns: ColumnCodes,
    targets: Targets,
    weight: np.ndarray,
    monotone: np.ndarray | None,
    chosen: np.ndarray | None = None,
    order: np.ndarray | None = None,
) -> scan.CodedRows:
    """Coded rows for a grower; `chosen` are the columns whose codes are there, all by default.

    `order` are the rows in the order of each column, where that is known.
    """
    signs = np.zeros(len(columns.kinds)) if monotone is None else monotone
    facts = np.stack([columns.missing, columns.starts, columns.kinds, signs]).astype(np.int64)
    facts = facts if chosen is None else np.ascontiguousarray(facts[:, chosen])
    n, width = targets.table.shape
    table = allocate((n, 1 + width), np.int64, mapped=is_mapped(columns.codes))
    table[:, scan.WEIGHT] = weight
    table[:, scan.WEIGHT + 1 :] = targets.table
    values = columns.values
    order = np.zeros((0, 0), np.uint64) if order is None else order
    return scan.CodedRows(columns.codes.T, facts, table, values, order)


def feature_count(max_features: Any, p: int) -> int:
    """Number of columns that a split looks at."""
    if max_features is None:
        return p
    if max_features == "sqrt":
        return max(1, int(sqrt(p)))
    if max_features == "log2":
        return max(1, int(log2(p)))
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * p))


def row_count(share: Any, n: int, least: int) -> int:
    """A number of rows that is given as such or as a share."""
    return int(share) if isinstance(share, Integral) else max(ceil(share * n), least)


def make_rules(
    model: Any, data: scan.CodedRows, targets: Targets, criterion: str, splitter: str
) -> scan.Rules:
    """Rules from the parameters of a tree or a forest."""
    n, total_weight = len(data.table), int(data.table[:, scan.WEIGHT].sum())
    min_leaf = row_count(model.min_samples_leaf, n, 1)
    has_monotone = bool(data.columns[scan.MONOTONE].any())
    outputs = len(targets.units)
    kind = _rules_class(splitter, criterion, outputs, data, targets, has_monotone)
    return kind(
        criterion=CRITERIA[criterion],
        has_monotone=has_monotone,
        max_features=feature_count(model.max_features, data.codes.shape[1]),
        min_leaf=min_leaf,
        min_split=max(row_count(model.min_samples_split, n, 2), 2 * min_leaf),
        max_depth=2**31 if model.max_depth is None else int(model.max_depth),
        max_leaves=0 if model.max_leaf_nodes is None else int(model.max_leaf_nodes),
        min_leaf_weight=float(model.min_weight_fraction_leaf * total_weight),
        min_decrease=float(model.min_impurity_decrease),
        total_weight=float(total_weight),
        moment_unit=targets.moment_unit,
        n_outputs=outputs,
        bounds=targets.bounds,
        units=targets.units,
    )


def _rules_class(
    splitter: str,
    criterion: str,
    outputs: int,
    data: scan.CodedRows,
    targets: Targets,
    has_monotone: bool,
) -> type[scan.Rules]:
    is_random, is_plain = splitter == "random", outputs == 1 and not has_monotone
    if criterion == "absolute_error":
        return scan.RandomMedianRules if is_random else scan.MedianRules
    if criterion == "gini" and is_plain:
        largest = int(data.table[:, scan.WEIGHT].max())
        total = float(data.table[:, scan.WEIGHT].sum(dtype=np.float64))
        small = largest < _MAX_KEY_PART and targets.bounds[-1] < _MAX_KEY_PART
        if small and total < 2.0**30:
            return scan.RandomGiniRules if is_random else scan.GiniRules
    if is_random:
        return scan.RandomSumRules
    is_squared = criterion in ("squared_error", "friedman_mse")
    return scan.SquaredRules if is_squared and is_plain else scan.SumRules


def grow_tree(
    data: scan.CodedRows,
    rules: scan.Rules,
    seed: int,
    threads: int | None = None,
    memory: TreeMemory | None = None,
) -> GrownTree:
    """Grow a tree on the rows of positive weight, in units of weights and targets.

    `memory` is that of a tree of the same forest, which nobody else uses at the time.
    """
    rows = _weighted_rows(data)
    start = np.uint64(seed)
    data = _prepare_rows(data, rules, len(rows))
    root = {"start": 0, "end": len(rows), "depth": 0, "seed": start, "low": -np.inf, "high": np.inf}
    memory = TreeMemory(rules) if memory is None else memory
    memory.store.clear()
    if rules.max_leaves > 0:
        work = memory.for_rows(data, rules, len(rows))
        nodes, values, _ = work.grow(grow.grow_best_first, data, rules, rows, root)
        memory.store.add(nodes, values)
        return memory.store.finish()
    threads = n_threads() if threads is None else threads
    if is_mapped(data.codes):
        _grow_blocks(data, rules, rows, root, threads, memory)
    else:
        _grow_nodes(data, rules, rows, root, threads, memory)
    row_bytes = data.codes.shape[1] * data.codes.itemsize
    return memory.store.finish(_limit_rows(_TOP_ROWS, _TOP_BYTES // row_bytes))


def _weighted_rows(data: scan.CodedRows) -> np.ndarray:
    """Numbers of the rows of positive weight."""
    weight, mapped = data.table[:, scan.WEIGHT], is_mapped(data.codes)
    blocks = row_blocks(len(weight))
    ends = np.cumsum([0, *(int(np.count_nonzero(weight[block])) for block in blocks)])
    rows = allocate((int(ends[-1]),), np.int32, mapped=mapped)
    for i, block in enumerate(blocks):
        rows[ends[i] : ends[i + 1]] = np.flatnonzero(weight[block]) + block.start
    return rows


def _grow_nodes(
    data: scan.CodedRows,
    rules: scan.Rules,
    rows: np.ndarray,
    root: dict[str, Any],
    threads: int,
    memory: TreeMemory,
) -> int:
    """Grow the tree below a root of all these rows; the number of the root in the store.

    Nodes of few rows are grown by themselves. A thread copies their rows; where rows are in the
    order of columns, those of a node lie side by side already.
    """
    row_bytes = data.codes.shape[1] * data.codes.itemsize
    local_rows = _limit_rows(_LOCAL_ROWS, _LOCAL_BYTES // row_bytes)
    if len(rows) <= local_rows or (threads == 1 and len(data.order) > 0):
        local_rows = 0  # nothing to share or to copy
    first, pending, roots = _grow_top(data, rules, rows, root, local_rows, memory)

    def grow_local(items: Iterator[int], own: TreeMemory) -> list[int]:
        work, local, numbers = own.for_copies(data, rules, local_rows)
        places = []
        for item in items:
            start = {name: roots[name][item] for name in _ROOT_FIELDS}
            here, which = data, rows
            if len(data.order) == 0:
                part = rows[start["start"] : start["end"]]
                grow.copy_rows(data, part, local, numbers)
                here, which, start["start"], start["end"] = local, numbers, 0, len(part)
            nodes, values, _ = work.grow(grow.grow_depth_first, here, rules, which, start, 0)
            places.append(own.store.add(nodes, values))
        return places

    _grow_parts(grow_local, first + pending, threads, rules, memory)
    return first


def _grow_blocks(
    data: scan.CodedRows,
    rules: scan.Rules,
    rows: np.ndarray,
    root: dict[str, Any],
    threads: int,
    memory: TreeMemory,
) -> None:
    """`_grow_nodes` where codes lie in a file.

    Nodes of many rows are split in the file, from its beginning to its end, since the rows of a
    node are in their order. Those of fewer rows are copied to memory and grown there.
    """
    row_bytes = data.codes.shape[1] * data.codes.itemsize + _WORK_BYTES
    most = max(_BLOCK_BYTES // row_bytes, _MIN_LOCAL_ROWS)
    first, pending, roots = _grow_top(data, rules, rows, root, most, memory)

    def grow_block(items: Iterator[int], own: TreeMemory) -> list[int]:
        places = []
        for item in items:
            start = {name: roots[name][item] for name in _ROOT_FIELDS}
            part = rows[start["start"] : start["end"]]
            local, which = make_room(data, len(part)), np.empty(len(part), np.int32)
            grow.copy_rows(data, part, local, which)
            start["start"], start["end"] = 0, len(part)
            places.append(_grow_nodes(local, rules, which, start, 1, own))
        return places

    _grow_parts(grow_block, first + pending, threads, rules, memory)


def _grow_top(
    data: scan.CodedRows,
    rules: scan.Rules,
    rows: np.ndarray,
    root: dict[str, Any],
    local_rows: int,
    memory: TreeMemory,
) -> tuple[int, np.ndarray, np.ndarray]:
    """Split nodes of more than `local_rows` rows.

    Returns the number of the root in the store, the numbers of the other nodes that may be split,
    counted from it, and these nodes.
    """
    work = memory.for_rows(data, rules, len(rows))
    nodes, values, pending = work.grow(grow.grow_depth_first, data, rules, rows, root, local_rows)
    return memory.store.add(nodes, values), pending, nodes[pending]


def _grow_parts(
    grow_some: Callable[[Iterator[int], TreeMemory], list[int]],
    places: np.ndarray,
    threads: int,
    rules: scan.Rules,
    memory: TreeMemory,
) -> None:
    """Grow parts of a tree, each by the next thread that is free, and join them with its top.

    `grow_some` grows parts of some numbers; what it returns are their roots in the store of the
    memory that it is given. `places` are the nodes of the top that these roots replace.
    """
    if len(places) == 0:
        return
    tickets, store = itertools.count(), memory.store
    done: list[tuple[NodeStore, list[int], list[int]]] = []

    def work() -> None:
        own, numbers = memory if threads == 1 else TreeMemory(rules), []
        done.append(
            (own.store, numbers, grow_some(_next_parts(tickets, len(places), numbers), own))
        )

    run_in_threads(work, min(threads, len(places)) - 1)
    starts = [0] if threads == 1 else store.extend([own for own, _, _ in done])
    for start, (_, numbers, roots) in zip(starts, done, strict=True):
        store.move_roots([start + root for root in roots], places[numbers])


def _next_parts(tickets: Iterator[int], n_parts: int, taken: list[int]) -> Iterator[int]:
    """Numbers of parts that nobody has taken yet."""
    for item in tickets:
        if item >= n_parts:
            return
        taken.append(item)
        yield item


def _prepare_rows(data: scan.CodedRows, rules: scan.Rules, n: int) -> scan.CodedRows:
    """The rows as these rules read them, with orders of n rows of their own, if they need them."""
    if isinstance(rules, scan.LABEL_RULES):
        data = data._replace(labels=_make_labels(data.table))
    if len(data.order) == 0 or isinstance(rules, scan.MEDIAN_RULES + scan.RANDOM_RULES):
        table = data.table if len(data.labels) == 0 else np.zeros((0, 0), np.int64)
        return data._replace(order=data.order[:0, :0], table=table)
    order = data.order
    if n < order.shape[1] or rules.max_depth > 1:  # stumps change nothing
        order = np.empty((len(data.order), n), np.uint64)
        keep_weighted(data.order, data.table, order)
    return data._replace(order=order, sides=np.empty(len(data.table), np.uint8))


def _make_labels(table: np.ndarray) -> np.ndarray:
    """Class and weight of each row in one number."""
    labels = allocate((len(table),), np.uint32, mapped=is_mapped(table))
    for block in row_blocks(len(table)):
        labels[block] = table[block, scan.LABELS] << 16 | table[block, scan.WEIGHT]
    return labels


def _limit_rows(rows: int, fitting: int) -> int:
    """A number of rows that is at most so many, or 0 if these are too few to be worth a copy."""
    return min(rows, fitting) if fitting >= _MIN_LOCAL_ROWS else 0
