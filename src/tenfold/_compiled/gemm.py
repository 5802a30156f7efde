"""Matrix products (BLAS gemm) inside compiled functions, and the options of such functions.

Compilation takes longer than most first fits, and most of it is spent on the types of arrays. So
these functions take flat arrays and offsets, not slices and views, and a product is one call of
BLAS on the memory as it is::

    C = A B, row-major          for BLAS, which is column-major: C' = B' A'
    a[a_at:]  (m, k) rows of k  ->  operand 2, leading dimension k, or m if it is stored transposed
    b[b_at:]  (k, n) rows of n  ->  operand 1, leading dimension n, or k if it is stored transposed
    c[c_at:]  (m, n) rows of n  ->  result,    leading dimension n

Offsets are unsigned in inner loops: numba checks signed ones for wrap-around at every step, and
such loops are not vectorized. `numba_xxgemm` is the function behind numba's own `@`.

Benchmark case: `MLP 784-128-10, an epoch` (benchmarks/networks.py); its gain is not recorded.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

# no C callback, and no runtime for memory ("_nrt"): less to compile
ENTRY_OPTIONS: Any = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
}
INNER_OPTIONS: Any = ENTRY_OPTIONS | {"no_cpython_wrapper": True}  # called by compiled code only

_NO_TRANSPOSE, _TRANSPOSE = ord("n"), ord("t")
_CHAR, _INT64, _POINTER = ir.IntType(8), ir.IntType(64), ir.IntType(8).as_pointer()
_OPERAND = [_POINTER, _INT64]  # pointer and leading dimension
_GEMM_ARGUMENTS = [*3 * [_CHAR], *3 * [_INT64], _POINTER, *_OPERAND, *_OPERAND, _POINTER, *_OPERAND]


@intrinsic
def _gemm(typing, a_op, b_op, m, n, k, a, a_at, a_stride, b, b_at, b_stride, c, c_at):  # noqa: ANN001, ANN202, ARG001
    """BLAS: c = op(a) op(b), column-major; op(a) is (m, k) and op(b) is (k, n)."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        number = signature.args[5].dtype

        def address(i):  # noqa: ANN001, ANN202
            array = context.make_array(signature.args[i])(context, builder, args[i])
            return builder.bitcast(builder.gep(array.data, [args[i + 1]]), _POINTER)

        def constant(value):  # noqa: ANN001, ANN202
            variable = cgutils.alloca_once_value(builder, context.get_constant(number, value))
            return builder.bitcast(variable, _POINTER)

        precision = ir.Constant(_CHAR, ord("s" if number == types.float32 else "d"))
        a_op, b_op = (builder.trunc(op, _CHAR) for op in args[:2])
        m, n, k = args[2:5]
        a, b, c = (address(i) for i in (5, 8, 11))
        of_a, of_b, of_c = (a, args[7]), (b, args[10]), (c, m)
        leading = precision, a_op, b_op, m, n, k, constant(1.0), *of_a, *of_b
        function = ir.FunctionType(ir.IntType(32), _GEMM_ARGUMENTS)
        gemm = cgutils.get_or_insert_function(builder.module, function, "numba_xxgemm")
        return builder.call(gemm, (*leading, constant(0.0), *of_c))

    if not a.dtype == b.dtype == c.dtype or {a.layout, b.layout, c.layout} != {"C"}:
        raise TypeError(f"arrays must be C-contiguous and of one dtype, not {a}, {b} and {c}")
    return types.int32(a_op, b_op, m, n, k, a, a_at, a_stride, b, b_at, b_stride, c, c_at), code


@njit(**INNER_OPTIONS)
def matmul(a, a_at, a_transposed, b, b_at, b_transposed, c, c_at, m, k, n):  # noqa: ANN001, ANN202
    """C = A B of row-major matrices (m, k) and (k, n) at offsets of flat arrays.

    A transposed operand is stored as its transpose. Callers take these flags from variables: for
    each constant, numba would compile a function of its own.
    """
    a_op, a_stride = (_TRANSPOSE, m) if a_transposed else (_NO_TRANSPOSE, k)
    b_op, b_stride = (_TRANSPOSE, k) if b_transposed else (_NO_TRANSPOSE, n)
    _gemm(b_op, a_op, n, m, k, b, b_at, b_stride, a, a_at, a_stride, c, c_at)  # pyright: ignore[reportCallIssue]
