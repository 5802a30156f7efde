"""Atomic work counters: compiled threads share many short work items without waking each other.

Waking a thread and handing over the interpreter's lock cost as much as a piece of a tenth of a
millisecond. Threads inside one compiled call instead draw numbers from a counter. Whoever draws a
number does that piece; a piece may wait for pieces of smaller numbers, which somebody has drawn and
is at work on. So nothing locks for ever, whether one thread comes or ten.
"""

from __future__ import annotations

import os

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

_SPINS_BEFORE_YIELD = 2000  # looks at a counter before the core is offered to another thread
_CLAIMED, _FINISHED = 0, 8  # places of the two counters, on cache lines of their own

# offers the core to another thread; Windows has a name of its own for it
_yield_core = types.ExternalFunction(
    "sched_yield" if os.name == "posix" else "SwitchToThread", types.int32()
)


def make_counters() -> np.ndarray:
    """Nothing drawn and nothing done."""
    return np.zeros(16, np.int64)


def _item_pointer(context, builder, signature, args):  # noqa: ANN001, ANN202
    """Address of one number of an array of int64."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.get_item_pointer(
        context, builder, signature.args[0], array, [args[1]], wraparound=False
    )


@intrinsic
def _fetch_and_add(typing, counts, place):  # noqa: ANN001, ANN202, ARG001
    """Add one; what was there before. All that was written before is seen by who reads it."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw(
            "add", _item_pointer(context, builder, signature, args), one, "seq_cst"
        )

    return types.int64(counts, types.intp), code


@intrinsic
def _atomic_load(typing, counts, place):  # noqa: ANN001, ANN202, ARG001
    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        return builder.load_atomic(_item_pointer(context, builder, signature, args), "seq_cst", 8)

    return types.int64(counts, types.intp), code


@njit(cache=True, nogil=True)
def claim_item(counts):  # noqa: ANN001, ANN202
    """The next number that nobody has."""
    return _fetch_and_add(counts, _CLAIMED)  # pyright: ignore[reportCallIssue]


@njit(cache=True, nogil=True)
def finish_item(counts):  # noqa: ANN001, ANN202
    """A piece is done."""
    _fetch_and_add(counts, _FINISHED)  # pyright: ignore[reportCallIssue]


@njit(cache=True, nogil=True)
def wait_for_items(counts, pieces):  # noqa: ANN001, ANN202
    """Return when so many pieces are done."""
    looks = 0
    while _atomic_load(counts, _FINISHED) < pieces:  # pyright: ignore[reportCallIssue]
        looks += 1
        if looks > _SPINS_BEFORE_YIELD:
            _yield_core()
