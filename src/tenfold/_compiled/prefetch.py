"""Software prefetch: a hint to the processor which memory is needed soon. It changes no result.

Stochastic gradient descent visits rows in random order, which no hardware prefetcher predicts::

    step i:     update with row order[i] (in the cache)      prefetch row order[i + ahead]
    step i + 1: update with row order[i + 1]                 prefetch row order[i + 1 + ahead]

Benchmark cases: `sgd-hinge`, `sgd-log` and `perceptron` (benchmarks/sgd.py). Measured apart: three
epochs of a hinge loss over 400,000 x 100 float32 rows take 0.13 s of processor time with it, and
0.24 to 0.32 s without.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

# arguments of llvm.prefetch
_FOR_READING, _NEAREST_CACHE, _DATA_CACHE = 0, 3, 1


def _emit_prefetch(_: Any, array: Any, index: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Typing and code of prefetch(array, index)."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[0]
        pointer = cgutils.get_item_pointer(
            context,
            builder,
            kind,
            context.make_array(kind)(context, builder, values[0]),
            [values[1]],
            wraparound=False,
        )
        int32 = ir.IntType(32)
        address = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        function = ir.FunctionType(ir.VoidType(), [address.type, int32, int32, int32])
        hint = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0i8")
        builder.call(
            hint, [address, int32(_FOR_READING), int32(_NEAREST_CACHE), int32(_DATA_CACHE)]
        )
        return context.get_dummy_value()

    return types.void(array, types.intp), code


prefetch: Any = intrinsic(_emit_prefetch)
