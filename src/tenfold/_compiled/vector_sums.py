"""Four dot products, or a sum of four multiples, of float64 vectors in the processor's registers.

LLVM vectorizes such loops by itself where the order of sums does not matter, but tests before each
loop whether its arrays overlap, and finishes it number by number: longer than a hundred numbers
take. Vectors have a multiple of eight numbers here; pad them with zeros. Benchmark case:
`implicit-als` (benchmarks/recommend.py).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tenfold._compiled.dot_product import DOUBLE_LANES, sum_lanes
from tenfold._compiled.simd import array_struct, fused_multiply_add, splat, vector_pointer

_TERMS = 4


def _check_arrays(name: str, *arrays: Any) -> None:
    if any(a.dtype != types.float64 or a.layout != "C" for a in arrays):
        raise TypeError(f"{name} takes C-contiguous arrays of float64, not {arrays}")


def _emit_sum(_: Any, total: Any, n: Any, array: Any, places: Any, factors: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Typing and code of add_four_multiples(total, n, array, places, factors).

    It adds factors[t] * array[places[t] :] to the first n numbers of the total.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector, index = ir.VectorType(ir.DoubleType(), DOUBLE_LANES), values[1].type
        into, of = (
            array_struct(context, builder, signature.args[i], values[i]).data for i in (0, 2)
        )
        starts = cgutils.unpack_tuple(builder, values[3], _TERMS)
        scales = [
            splat(builder, f, vector) for f in cgutils.unpack_tuple(builder, values[4], _TERMS)
        ]
        step = ir.Constant(index, DOUBLE_LANES)
        with cgutils.for_range_slice(builder, ir.Constant(index, 0), values[1], step) as (i, _):
            place = vector_pointer(builder, into, i, vector)
            value = builder.load(place, align=8)
            for start, scale in zip(starts, scales, strict=True):
                term = vector_pointer(builder, of, builder.add(start, i), vector)
                value = fused_multiply_add(builder, scale, builder.load(term, align=8), value)
            builder.store(value, place, align=8)
        return context.get_dummy_value()

    _check_arrays("add_four_multiples", total, array)
    four = types.UniTuple(types.intp, _TERMS), types.UniTuple(types.float64, _TERMS)
    return types.void(total, types.intp, array, *four), code


add_four_multiples: Any = intrinsic(_emit_sum)


def _emit_products(_: Any, array: Any, places: Any, vector: Any, n: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Typing and code of four_dot_products(array, places, vector, n).

    It returns the products of array[places[t] :] with the first n numbers of the vector.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind, index = ir.VectorType(ir.DoubleType(), DOUBLE_LANES), values[3].type
        of, by = (array_struct(context, builder, signature.args[i], values[i]).data for i in (0, 2))
        starts = cgutils.unpack_tuple(builder, values[1], _TERMS)
        zero = ir.Constant(kind, [0.0] * DOUBLE_LANES)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in starts]
        step = ir.Constant(index, DOUBLE_LANES)
        with cgutils.for_range_slice(builder, ir.Constant(index, 0), values[3], step) as (i, _):
            shared = builder.load(vector_pointer(builder, by, i, kind), align=8)
            for start, total in zip(starts, sums, strict=True):
                term = vector_pointer(builder, of, builder.add(start, i), kind)
                value = builder.load(term, align=8)
                builder.store(
                    fused_multiply_add(builder, value, shared, builder.load(total)), total
                )
        products = [sum_lanes(builder, builder.load(total)) for total in sums]
        return context.make_tuple(builder, signature.return_type, products)

    _check_arrays("four_dot_products", array, vector)
    four = types.UniTuple(types.float64, _TERMS)
    return four(array, types.UniTuple(types.intp, _TERMS), vector, types.intp), code


four_dot_products: Any = intrinsic(_emit_products)
