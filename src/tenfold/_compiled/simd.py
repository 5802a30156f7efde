"""What kernels in LLVM IR share: vector types, aligned arrays, broadcasts, fused multiply-add.

A vector of LLVM is not a register of the machine. Sixteen float32 are one register of AVX-512, two
of AVX and four of SSE or NEON; LLVM splits vectors, and the kernels choose only how many vectors
are alive at once (`WIDE_REGISTERS`).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils

# AVX-512: 32 registers of 64 bytes, so that a kernel may keep four times as many sums in them
WIDE_REGISTERS = binding.get_host_cpu_features().get("avx512f", False)
_CACHE_LINE_BYTES = 64

FLOAT32, INT32 = ir.FloatType(), ir.IntType(32)


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that begin at a cache line: a vector of 64 bytes then lies in one line, not in two."""
    size = prod(shape) * np.dtype(dtype).itemsize
    buffer = np.zeros(size + _CACHE_LINE_BYTES, np.uint8)
    start = -buffer.__array_interface__["data"][0] % _CACHE_LINE_BYTES
    return buffer[start : start + size].view(dtype).reshape(shape)


def array_struct(context: Any, builder: ir.IRBuilder, kind: Any, value: Any) -> Any:
    """The fields of a numba array: data, shape, strides."""
    return context.make_array(kind)(context, builder, value)


def splat(builder: ir.IRBuilder, scalar: Any, vector: ir.VectorType) -> Any:
    """A scalar in all lanes of a vector."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(INT32, 0))
    lanes = ir.VectorType(INT32, vector.count)
    return builder.shuffle_vector(first, undefined, ir.Constant(lanes, [0] * vector.count))


def vector_pointer(builder: ir.IRBuilder, data: Any, offset: Any, vector: ir.VectorType) -> Any:
    """Pointer to the vector that begins `offset` elements after `data`."""
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


def fused_multiply_add(builder: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
    """Compute a * b + c of vectors, in one instruction where the processor has it."""
    kind, bits = a.type, 32 if isinstance(a.type.element, ir.FloatType) else 64
    name = f"llvm.fmuladd.v{kind.count}f{bits}"
    call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
    return builder.call(call, [a, b, c])
