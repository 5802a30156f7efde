"""Squared distance of two float32 rows in vectors of 16 lanes.

A compiler may not change the order of additions, so a loop over columns adds one at a time. Here
the order is fixed in another way: lane l of two vectors sums the columns l, l + 32, l + 64, ... and
l + 16, l + 48, ...; at the end halves of the vector are added, 16 to 8 to 4 to 2 to 1. Rows are
padded with zeros to a multiple of `PADDED_COLUMNS`.

Benchmark case: `graph-search` (benchmarks/approximate_neighbors.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tenfold._compiled.simd import (
    FLOAT32,
    INT32,
    aligned_zeros,
    array_struct,
    fused_multiply_add,
    vector_pointer,
)

_LANES = 16
PADDED_COLUMNS = 2 * _LANES
_VECTOR = ir.VectorType(FLOAT32, _LANES)


def pad_columns(X: np.ndarray) -> np.ndarray:
    """Rows in float32, with columns of zeros up to a multiple of `PADDED_COLUMNS`."""
    n, d = X.shape
    padded = aligned_zeros((n, -(-d // PADDED_COLUMNS) * PADDED_COLUMNS), np.float32)
    padded[:, :d] = X
    return padded


@intrinsic
def _squared_distance(typing, a, a_at, b, b_at, width):  # noqa: ANN001, ANN202, ARG001
    """Squared distance of a[a_at : a_at + width] and b[b_at : b_at + width], flat arrays."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        first, second = (array_struct(context, builder, signature.args[i], args[i]) for i in (0, 2))
        zero = ir.Constant(_VECTOR, [0.0] * _LANES)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(2)]
        step = ir.Constant(args[4].type, PADDED_COLUMNS)
        start = ir.Constant(args[4].type, 0)
        with cgutils.for_range_slice(builder, start, args[4], step, inc=True) as (offset, _):
            for half, total in enumerate(sums):
                place = builder.add(offset, ir.Constant(offset.type, half * _LANES))
                x, y = (
                    builder.load(
                        vector_pointer(builder, array.data, builder.add(at, place), _VECTOR),
                        align=4,
                    )
                    for array, at in ((first, args[1]), (second, args[3]))
                )
                difference = builder.fsub(x, y)
                value = fused_multiply_add(builder, difference, difference, builder.load(total))
                builder.store(value, total)
        total = builder.fadd(builder.load(sums[0]), builder.load(sums[1]))
        return _add_lanes(builder, total)

    return types.float32(a, types.intp, b, types.intp, types.intp), code


squared_distance_float32: Any = _squared_distance


def _add_lanes(builder: Any, total: Any) -> Any:
    """The sum of all lanes, halves onto each other."""
    width = _LANES // 2
    while width:
        undefined = ir.Constant(total.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(
                total,
                undefined,
                ir.Constant(ir.VectorType(INT32, width), list(range(at, at + width))),
            )
            for at in (0, width)
        )
        total = builder.fadd(low, high)
        width //= 2
    return builder.extract_element(total, ir.Constant(INT32, 0))
