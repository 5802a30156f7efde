"""Atomic work counters: threads inside one compiled call share many short work items.

To wake a thread and to hand over the interpreter's lock takes about as long as a work item of a
tenth of a millisecond. Threads that are inside a compiled call already claim items from a counter
instead::

    counts:  [ claimed | 7 unused | finished | 7 unused ]    int64, one cache line for each counter

    item = fetch_and_add(claimed);  work on it;  fetch_and_add(finished)

An item may wait for items of smaller numbers only. Those were claimed before, and their threads are
running or can run; so there is no deadlock with any number of threads. Self-scheduling by
fetch-and-add is due to Tang and Yew (1986).

Benchmark case: `MLP 784-128-10, an epoch` (benchmarks/networks.py). The gain of the counter alone
over the thread pool is not recorded.

References
----------
P. Tang and P.-C. Yew (1986), Processor self-scheduling for multiple-nested parallel loops.
"""

from __future__ import annotations

import os

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

_SPINS_BEFORE_YIELD = (
    2000  # loads of a counter before the thread yields its core; no sweep is recorded
)
_CLAIMED, _FINISHED = 0, 8  # indices of the two counters, in different cache lines

# yields the core to another thread
_yield_core = types.ExternalFunction(
    "sched_yield" if os.name == "posix" else "SwitchToThread", types.int32()
)


def make_counters() -> np.ndarray:
    """Counters of claimed and finished items, both 0."""
    return np.zeros(16, np.int64)


def _item_pointer(context, builder, signature, args):  # noqa: ANN001, ANN202
    """Pointer to one entry of an array of int64."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.get_item_pointer(
        context, builder, signature.args[0], array, [args[1]], wraparound=False
    )


@intrinsic
def _fetch_and_add(typing, counts, index):  # noqa: ANN001, ANN202, ARG001
    """Add 1 atomically, sequentially consistent; the value before."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw(
            "add", _item_pointer(context, builder, signature, args), one, "seq_cst"
        )

    return types.int64(counts, types.intp), code


@intrinsic
def _atomic_load(typing, counts, index):  # noqa: ANN001, ANN202, ARG001
    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        return builder.load_atomic(_item_pointer(context, builder, signature, args), "seq_cst", 8)

    return types.int64(counts, types.intp), code


@njit(cache=True, nogil=True)
def claim_item(counts):  # noqa: ANN001, ANN202
    """Claim the next work item; its number."""
    return _fetch_and_add(counts, _CLAIMED)  # pyright: ignore[reportCallIssue]


@njit(cache=True, nogil=True)
def finish_item(counts):  # noqa: ANN001, ANN202
    """Count a claimed item as finished."""
    _fetch_and_add(counts, _FINISHED)  # pyright: ignore[reportCallIssue]


@njit(cache=True, nogil=True)
def wait_for_items(counts, items):  # noqa: ANN001, ANN202
    """Return when this many items are finished."""
    spins = 0
    while _atomic_load(counts, _FINISHED) < items:  # pyright: ignore[reportCallIssue]
        spins += 1
        if spins > _SPINS_BEFORE_YIELD:
            _yield_core()
