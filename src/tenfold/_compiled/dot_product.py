"""Dot products of vectors in the registers of the processor, with one order of sums.

LLVM does not vectorize a sum of floating-point numbers by itself, because that changes its order.
Here the order is written down: sixteen partial sums over every sixteenth product (eight of float64
numbers), then pairs of those. Vectors have a multiple of so many numbers; pad them with zeros.

Benchmark cases: `skip-gram` (benchmarks/embeddings.py) of float32 and `implicit-als`
(benchmarks/recommend.py) of float64.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tenfold._compiled.simd import FLOAT32, INT32, array_struct, fused_multiply_add, vector_pointer

LANES = 16  # float32 numbers in a vector
DOUBLE_LANES = 8  # float64 numbers in a vector


def sum_lanes(builder: Any, sums: Any) -> Any:
    """The sum of all lanes of a vector: halves are added until one number is left."""
    width = sums.type.count
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
        vector = ir.VectorType(*((ir.DoubleType(), DOUBLE_LANES) if double else (FLOAT32, LANES)))
        data = [array_struct(context, builder, signature.args[i], values[i]).data for i in (0, 2)]
        zero = ir.Constant(vector, [0.0] * vector.count)
        total = cgutils.alloca_once_value(builder, zero)
        index = values[4].type
        step = ir.Constant(index, vector.count)
        with cgutils.for_range_slice(builder, ir.Constant(index, 0), values[4], step) as (i, _):
            parts: list[Any] = []
            for array, start in zip(data, (values[1], values[3]), strict=True):
                place = vector_pointer(builder, array, builder.add(start, i), vector)
                loaded = builder.load(place)
                loaded.align = 8 if double else 4
                parts.append(loaded)
            builder.store(
                fused_multiply_add(builder, parts[0], parts[1], builder.load(total)), total
            )
        return sum_lanes(builder, builder.load(total))

    double = a.dtype == types.float64
    if a.dtype != b.dtype or not (double or a.dtype == types.float32):
        raise TypeError(f"dot_product takes arrays of float32 or of float64, not {a} and {b}")
    if {a.layout, b.layout} != {"C"}:
        raise TypeError(f"dot_product takes C-contiguous arrays, not {a} and {b}")
    return a.dtype(a, types.intp, b, types.intp, types.intp), code


dot_product: Any = intrinsic(_emit_dot_product)
