"""A stochastic step for a row and the two columns that it compares, in the processor's registers.

LLVM vectorizes such a loop by itself, but tests first whether its rows overlap, and finishes it
number by number: longer than the sixteen numbers of a usual factor take. Rows have a multiple of
eight numbers; pad them with zeros. Benchmark case: `bpr` (benchmarks/recommend.py).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tenfold._compiled.dot_product import DOUBLE_LANES
from tenfold._compiled.simd import array_struct, fused_multiply_add, splat, vector_pointer


def _emit_step(
    _: Any,
    x: Any,
    x_at: Any,  # noqa: ARG001
    y: Any,
    wanted_at: Any,  # noqa: ARG001
    other_at: Any,  # noqa: ARG001
    n: Any,  # noqa: ARG001
    shrink: Any,  # noqa: ARG001
    pull: Any,  # noqa: ARG001
) -> tuple[Any, Any]:
    """Typing and code of step_pair(x, x_at, y, wanted_at, other_at, n, shrink, pull).

    With a, b, c the n numbers from x[x_at], y[wanted_at] and y[other_at] on, they become
    shrink a + pull (b - c), shrink b + pull a and shrink c - pull a.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector, index = ir.VectorType(ir.DoubleType(), DOUBLE_LANES), values[5].type
        rows, columns = (
            array_struct(context, builder, signature.args[i], values[i]).data for i in (0, 2)
        )
        shrink, pull = (splat(builder, value, vector) for value in values[6:])
        step = ir.Constant(index, DOUBLE_LANES)
        with cgutils.for_range_slice(builder, ir.Constant(index, 0), values[5], step) as (i, _):
            places = [
                vector_pointer(builder, data, builder.add(at, i), vector)
                for data, at in ((rows, values[1]), (columns, values[3]), (columns, values[4]))
            ]
            a, b, c = (builder.load(place, align=8) for place in places)
            to_wanted = builder.fmul(pull, builder.fsub(b, c))
            way = builder.fmul(pull, a)
            new = [
                fused_multiply_add(builder, shrink, a, to_wanted),
                fused_multiply_add(builder, shrink, b, way),
                fused_multiply_add(builder, shrink, c, builder.fneg(way)),
            ]
            for value, place in zip(new, places, strict=True):
                builder.store(value, place, align=8)
        return context.get_dummy_value()

    if any(a.dtype != types.float64 or a.layout != "C" for a in (x, y)):
        raise TypeError(f"step_pair takes C-contiguous arrays of float64, not {x}, {y}")
    sizes, factors = [types.intp] * 3, [types.float64] * 2
    return types.void(x, types.intp, y, *sizes, *factors), code


step_pair: Any = intrinsic(_emit_step)
