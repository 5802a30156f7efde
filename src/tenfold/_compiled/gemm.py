"""Matrix products (BLAS gemm) inside compiled functions, and the options of such functions.

Compiling takes longer than most first fits, and most of it goes into what arrays can be. So these
functions take flat arrays and places in them, rather than slices and views, and a product of two
matrices is one call of BLAS with the numbers where they lie. Places are unsigned in inner loops: a
number that may be negative would be checked at every step, and the loops would not be turned into
vector instructions.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

ENTRY_OPTIONS: Any = {"cache": True, "nogil": True, "error_model": "numpy"}
ENTRY_OPTIONS |= {
    "no_cfunc_wrapper": True,
    "_nrt": False,
}  # no C callback; nothing that needs memory
INNER_OPTIONS: Any = ENTRY_OPTIONS | {
    "no_cpython_wrapper": True
}  # of those that only compiled functions call

_NO_TRANSPOSE, _TRANSPOSE = ord("n"), ord("t")
_CHAR, _INT64, _POINTER = ir.IntType(8), ir.IntType(64), ir.IntType(8).as_pointer()
_OPERAND = [_POINTER, _INT64]  # where it begins, and how far it is to its next row
_GEMM_ARGUMENTS = [*3 * [_CHAR], *3 * [_INT64], _POINTER, *_OPERAND, *_OPERAND, _POINTER, *_OPERAND]


@intrinsic
def _gemm(typing, a_way, b_way, m, n, k, a, a_at, a_step, b, b_at, b_step, c, c_at):  # noqa: ANN001, ANN202, ARG001
    """BLAS: c = a b, all by columns; (m, k) and (k, n) as they are meant, not as they lie."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        number = signature.args[5].dtype

        def address(i):  # noqa: ANN001, ANN202
            array = context.make_array(signature.args[i])(context, builder, args[i])
            return builder.bitcast(builder.gep(array.data, [args[i + 1]]), _POINTER)

        def constant(value):  # noqa: ANN001, ANN202
            held = cgutils.alloca_once_value(builder, context.get_constant(number, value))
            return builder.bitcast(held, _POINTER)

        precision = ir.Constant(_CHAR, ord("s" if number == types.float32 else "d"))
        a_way, b_way = (builder.trunc(way, _CHAR) for way in args[:2])
        m, n, k = args[2:5]
        a, b, c = (address(i) for i in (5, 8, 11))
        of_a, of_b, of_c = (a, args[7]), (b, args[10]), (c, m)
        numbers = precision, a_way, b_way, m, n, k, constant(1.0), *of_a, *of_b
        function = ir.FunctionType(ir.IntType(32), _GEMM_ARGUMENTS)
        gemm = cgutils.get_or_insert_function(builder.module, function, "numba_xxgemm")
        return builder.call(gemm, (*numbers, constant(0.0), *of_c))

    if not a.dtype == b.dtype == c.dtype or {a.layout, b.layout, c.layout} != {"C"}:
        raise TypeError(f"a product needs arrays of one type and piece, not {a}, {b} and {c}")
    flags, operand = (a_way, b_way, m, n, k), (a, a_at, a_step)
    return types.int32(*flags, *operand, b, b_at, b_step, c, c_at), code


@njit(**INNER_OPTIONS)
def matmul(a, a_at, a_transposed, b, b_at, b_transposed, c, c_at, m, k, n):  # noqa: ANN001, ANN202
    """C = A B from some places in arrays on, (m, k) times (k, n); turned ones lie transposed.

    What BLAS knows is columns: for it these are the transposed matrices, and C^T = B^T A^T. Callers
    take what is turned from a variable: for each constant, a product of its own would be compiled.
    """
    a_way, a_step = (_TRANSPOSE, m) if a_transposed else (_NO_TRANSPOSE, k)
    b_way, b_step = (_TRANSPOSE, k) if b_transposed else (_NO_TRANSPOSE, n)
    _gemm(b_way, a_way, n, m, k, b, b_at, b_step, a, a_at, a_step, c, c_at)  # pyright: ignore[reportCallIssue]
