"""What kernels in LLVM IR share: vector types, aligned arrays, broadcasts, fused multiply-add."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils

WIDE_REGISTERS = binding.get_host_cpu_features().get("avx512f", False)  # 32 of 64 bytes

FLOAT32, INT32 = ir.FloatType(), ir.IntType(32)


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that begin where a line of the cache begins: no register then takes two of them."""
    size = prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + 64, np.uint8)
    start = -room.__array_interface__["data"][0] % 64
    return room[start : start + size].view(dtype).reshape(shape)


def array_struct(context: Any, builder: ir.IRBuilder, kind: Any, value: Any) -> Any:
    """The fields of an array in compiled code: data, shape, strides."""
    return context.make_array(kind)(context, builder, value)


def splat(builder: ir.IRBuilder, number: Any, vector: ir.VectorType) -> Any:
    """A number in all lanes."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(INT32, 0))
    lanes = ir.VectorType(INT32, vector.count)
    return builder.shuffle_vector(first, nothing, ir.Constant(lanes, [0] * vector.count))


def vector_pointer(builder: ir.IRBuilder, data: Any, offset: Any, vector: ir.VectorType) -> Any:
    """Where the vector that begins `offset` numbers after `data` lies."""
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


def fused_multiply_add(builder: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
    """Give a * b + c of vectors, in one step where the processor has it."""
    kind, bits = a.type, 32 if isinstance(a.type.element, ir.FloatType) else 64
    name = f"llvm.fmuladd.v{kind.count}f{bits}"
    call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
    return builder.call(call, [a, b, c])
