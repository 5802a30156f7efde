"""Dot products of float32 vectors in the registers of the processor, with one order of sums.

LLVM does not vectorize a sum of floating-point numbers by itself, because that changes its order.
Here the order is written down: sixteen partial sums over every sixteenth product, then pairs of
those. Vectors have a multiple of sixteen numbers; pad them with zeros.

Benchmark case: `skip-gram` (benchmarks/embeddings.py).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tenfold._compiled.simd import FLOAT32, INT32, array_struct, fused_multiply_add, vector_pointer

LANES = 16


def _sum_lanes(builder: Any, sums: Any) -> Any:
    """The sum of all lanes of a vector: halves are added until one number is left."""
    width = LANES
    while width > 1:
        width //= 2
        kind = ir.VectorType(INT32, width)
        halves = [
            builder.shuffle_vector(
                sums, sums, ir.Constant(kind, [start + lane for lane in range(width)])
            )
            for start in (0, width)
        ]
        sums = builder.fadd(*halves)
    return builder.extract_element(sums, ir.Constant(INT32, 0))


def _emit_dot_product(_: Any, a: Any, a_at: Any, b: Any, b_at: Any, n: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Typing and code of dot_product(a, a_at, b, b_at, n)."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.VectorType(FLOAT32, LANES)
        data = [array_struct(context, builder, signature.args[i], values[i]).data for i in (0, 2)]
        zero = ir.Constant(vector, [0.0] * LANES)
        total = cgutils.alloca_once_value(builder, zero)
        index = values[4].type
        step = ir.Constant(index, LANES)
        with cgutils.for_range_slice(builder, ir.Constant(index, 0), values[4], step) as (i, _):
            parts: list[Any] = []
            for array, start in zip(data, (values[1], values[3]), strict=True):
                place = vector_pointer(builder, array, builder.add(start, i), vector)
                loaded = builder.load(place)
                loaded.align = 4
                parts.append(loaded)
            builder.store(
                fused_multiply_add(builder, parts[0], parts[1], builder.load(total)), total
            )
        return _sum_lanes(builder, builder.load(total))

    if a.dtype != types.float32 or b.dtype != types.float32 or {a.layout, b.layout} != {"C"}:
        raise TypeError(f"dot_product takes C-contiguous float32 arrays, not {a} and {b}")
    return types.float32(a, types.intp, b, types.intp, types.intp), code


dot_product: Any = intrinsic(_emit_dot_product)
