"""A hint to the processor which memory is needed soon. It changes no result."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_FOR_READING, _NEAREST_CACHE, _DATA_CACHE = (
    0,
    3,
    1,
)  # LLVM's arguments: for reading, to the nearest cache, no instructions


def _emit_prefetch(_: Any, array: Any, index: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """How the call prefetch(array, index) is compiled."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[0]
        place = cgutils.get_item_pointer(
            context,
            builder,
            kind,
            context.make_array(kind)(context, builder, values[0]),
            [values[1]],
            wraparound=False,
        )
        number = ir.IntType(32)
        address = builder.bitcast(place, ir.IntType(8).as_pointer())
        shape = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
        builder.call(
            hint, [address, number(_FOR_READING), number(_NEAREST_CACHE), number(_DATA_CACHE)]
        )
        return context.get_dummy_value()

    return types.void(array, types.intp), code


prefetch: Any = intrinsic(_emit_prefetch)
