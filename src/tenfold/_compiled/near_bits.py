"""How many bits of packed rows and queries differ, compared with limits in registers.

Rows lie in the lanes of vectors, 64 columns in a word; a word of a query is copied to all lanes::

    sum += popcount(splat(query word) ^ row words)      4 queries x 4 vectors of 8 rows

The sums stay in registers for all words of a row. One bit for each row says whether the sum is at
most the limit of the query; blocks without a hit are left at once. Benchmark case: `hamming`
(benchmarks/neighbors.py).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tenfold._compiled.simd import array_struct, splat, vector_pointer

_LANES, _REGISTERS = 8, 4
ROWS_PER_BLOCK, QUERIES_PER_BLOCK = _LANES * _REGISTERS, 4
_WORD, _BYTE = ir.IntType(64), ir.IntType(8)
_VECTOR = ir.VectorType(_WORD, _LANES)


def _emit_near_bits(
    typing: Any,  # noqa: ARG001
    words: Any,
    row: Any,  # noqa: ARG001
    queries: Any,
    query: Any,  # noqa: ARG001
    limits: Any,
    ones: Any,
    hits: Any,
) -> Any:
    """Write how many bits differ for the rows and queries of a block, `row` and `query` the first.

    `words` and `queries` are (n_words, n); bit r of hits[c] is whether ones[c, r] is at most the
    limit of query c. Returns whether there is any hit.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        arrays = {
            i: array_struct(context, builder, signature.args[i], args[i]) for i in (0, 2, 4, 5, 6)
        }
        sums = _sum_differences(builder, arrays[0], args[1], arrays[2], args[3])
        found = ir.Constant(_WORD, 0)
        for c, totals in enumerate(sums):
            place = builder.add(args[3], ir.Constant(_WORD, c))
            limit = splat(builder, builder.load(builder.gep(arrays[4].data, [place])), _VECTOR)
            mask = _compare(builder, totals, limit, arrays[5].data, c)
            builder.store(mask, builder.gep(arrays[6].data, [ir.Constant(_WORD, c)]))
            found = builder.or_(found, mask)
        return builder.icmp_unsigned("!=", found, ir.Constant(_WORD, 0))

    arguments = words, types.intp, queries, types.intp, limits, ones, hits
    return types.boolean(*arguments), code


def _sum_differences(
    builder: ir.IRBuilder, words: Any, row: Any, queries: Any, query: Any
) -> list[list[Any]]:
    """Emit the loop over words; the variables of the sums, by query and register."""
    n_words, n = cgutils.unpack_tuple(builder, words.shape)
    m = cgutils.unpack_tuple(builder, queries.shape)[1]
    kind, name = ir.FunctionType(_VECTOR, [_VECTOR]), f"llvm.ctpop.v{_LANES}i64"
    popcounts = cgutils.get_or_insert_function(builder.module, kind, name)
    zero = ir.Constant(_VECTOR, [0] * _LANES)
    sums = [
        [cgutils.alloca_once_value(builder, zero) for _ in range(_REGISTERS)]
        for _ in range(QUERIES_PER_BLOCK)
    ]
    with cgutils.for_range(builder, n_words) as loop:
        start = builder.add(builder.mul(loop.index, n), row)
        x = [_load(builder, words.data, start, i) for i in range(_REGISTERS)]
        first = builder.add(builder.mul(loop.index, m), query)
        for c, totals in enumerate(sums):
            place = builder.add(first, ir.Constant(_WORD, c))
            word = splat(builder, builder.load(builder.gep(queries.data, [place])), _VECTOR)
            for rows, total in zip(x, totals, strict=True):
                count = builder.call(popcounts, [builder.xor(rows, word)])
                builder.store(builder.add(builder.load(total), count), total)
    return sums


def _load(builder: ir.IRBuilder, data: Any, start: Any, register: int) -> Any:
    offset = builder.add(start, ir.Constant(_WORD, _LANES * register))
    return builder.load(vector_pointer(builder, data, offset, _VECTOR), align=8)


def _compare(builder: ir.IRBuilder, totals: list[Any], limit: Any, ones: Any, c: int) -> Any:
    """Emit the stores of the sums of a query, and the word of their comparisons."""
    mask = ir.Constant(_WORD, 0)
    for i, total in enumerate(totals):
        value, offset = builder.load(total), ir.Constant(_WORD, c * ROWS_PER_BLOCK + _LANES * i)
        builder.store(value, vector_pointer(builder, ones, offset, _VECTOR), align=8)
        near = builder.bitcast(builder.icmp_unsigned("<=", value, limit), _BYTE)
        word = builder.shl(builder.zext(near, _WORD), ir.Constant(_WORD, _LANES * i))
        mask = builder.or_(mask, word)
    return mask


near_bits: Any = intrinsic(_emit_near_bits)
