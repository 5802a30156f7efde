"""Add multiples of one float64 vector to four rows of a table, in the processor's registers.

LLVM vectorizes such loops by itself, but tests before each of them whether its arrays overlap, and
finishes it number by number. Rows have a multiple of eight numbers; pad them with zeros. Benchmark
case: `nmf-kl` (benchmarks/factors.py).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tenfold._compiled.dot_product import DOUBLE_LANES
from tenfold._compiled.simd import array_struct, fused_multiply_add, splat, vector_pointer

_ROWS = 4


def _emit_scatter(
    _: Any,
    table: Any,
    places: Any,  # noqa: ARG001
    vector: Any,
    n: Any,  # noqa: ARG001
    factors: Any,  # noqa: ARG001
) -> tuple[Any, Any]:
    """Typing and code of add_to_four_rows(table, places, vector, n, factors).

    It adds factors[t] times the first n numbers of the vector to table[places[t] :], one row after
    the other, so that places may be equal.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind, index = ir.VectorType(ir.DoubleType(), DOUBLE_LANES), values[3].type
        into, of = (
            array_struct(context, builder, signature.args[i], values[i]).data for i in (0, 2)
        )
        starts = cgutils.unpack_tuple(builder, values[1], _ROWS)
        scales = [splat(builder, f, kind) for f in cgutils.unpack_tuple(builder, values[4], _ROWS)]
        step = ir.Constant(index, DOUBLE_LANES)
        with cgutils.for_range_slice(builder, ir.Constant(index, 0), values[3], step) as (i, _):
            shared = builder.load(vector_pointer(builder, of, i, kind), align=8)
            for start, scale in zip(starts, scales, strict=True):
                place = vector_pointer(builder, into, builder.add(start, i), kind)
                value = builder.load(place, align=8)
                builder.store(fused_multiply_add(builder, scale, shared, value), place, align=8)
        return context.get_dummy_value()

    if any(a.dtype != types.float64 or a.layout != "C" for a in (table, vector)):
        raise TypeError(
            f"add_to_four_rows takes C-contiguous arrays of float64, not {table}, {vector}"
        )
    four = types.UniTuple(types.intp, _ROWS), types.UniTuple(types.float64, _ROWS)
    return types.void(table, four[0], vector, types.intp, four[1]), code


add_to_four_rows: Any = intrinsic(_emit_scatter)
