"""Products of queries with a tile of rows, compared with thresholds before they leave registers.

A matrix product writes all scores down, and a second loop reads them again to find the few that
matter. This kernel compares them where they arise (`register_block`) and says which rows of a tile
reach the threshold of a query: one bit for each row. Blocks without a hit cost no more than the
product.

Benchmark cases: `brute-mnist` and `brute-64` (benchmarks/neighbors.py). Products of 20 to 784
columns reach 108 to 111 GFLOP/s of the 111 of a core (AMD EPYC, Zen 4), OpenBLAS's tiles 76 to 90.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tenfold._compiled.register_block import LANES, ROW_REGISTERS, ROW_VECTOR, RegisterBlock
from tenfold._compiled.simd import array_struct, splat

# 6 x 4 sums, 4 columns and a splat of 32 registers; without AVX-512 6 x 2, 2 and 1 of 16
QUERIES_PER_BLOCK = 6
_WORD = ir.IntType(64)


def pad_queries(Q: np.ndarray) -> np.ndarray:
    """Minus the queries, with rows of zeros up to whole blocks: the argument of `score_tile`."""
    blocks = -(-len(Q) // QUERIES_PER_BLOCK)
    negative = np.zeros((blocks * QUERIES_PER_BLOCK, Q.shape[1]), np.float32)
    np.negative(Q, out=negative[: len(Q)])
    return negative


def _emit_score_tile(
    typing: Any,  # noqa: ARG001
    columns: Any,
    terms: Any,
    negative: Any,
    first: Any,  # noqa: ARG001
    thresholds: Any,
    scores: Any,
    hits: Any,
) -> Any:
    """Write the scores term - q.x of a tile for QUERIES_PER_BLOCK queries from `first` on.

    Bit j of hits[c] is whether row j is at most the threshold of query first + c. Returns whether
    there is any hit.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        arrays = {
            i: array_struct(context, builder, signature.args[i], args[i])
            for i in range(7)
            if i != 3
        }
        d = cgutils.unpack_tuple(builder, arrays[0].shape)[0]
        block = RegisterBlock(builder, arrays[0].data, arrays[2].data, d, QUERIES_PER_BLOCK)
        zero = block.constant(0)
        for sums in block.sums:
            for i, total in enumerate(sums):
                builder.store(block.load(arrays[1].data, zero, i), total)
        block.add_products(args[3])
        found = ir.Constant(_WORD, 0)
        for c, sums in enumerate(block.sums):
            at = builder.add(args[3], block.constant(c))
            threshold = builder.load(builder.gep(arrays[4].data, [at]))
            mask = _compare(block, sums, threshold, arrays[5].data, c)
            builder.store(mask, builder.gep(arrays[6].data, [block.constant(c)]))
            found = builder.or_(found, mask)
        return builder.icmp_unsigned("!=", found, ir.Constant(_WORD, 0))

    arguments = columns, terms, negative, types.intp, thresholds, scores, hits
    return types.boolean(*arguments), code


def _compare(block: RegisterBlock, sums: list[Any], threshold: Any, scores: Any, c: int) -> Any:
    """Emit the stores of the scores of a query, and the word of their comparisons."""
    builder, mask = block.builder, ir.Constant(_WORD, 0)
    limit = splat(builder, threshold, ROW_VECTOR)
    start = block.constant(c * LANES * ROW_REGISTERS)
    for i, total in enumerate(sums):
        score = builder.load(total)
        builder.store(score, block.pointer(scores, start, i, ROW_VECTOR), align=4)
        near = builder.bitcast(builder.fcmp_ordered("<=", score, limit), ir.IntType(LANES))
        word = builder.shl(builder.zext(near, _WORD), ir.Constant(_WORD, LANES * i))
        mask = builder.or_(mask, word)
    return mask


def _emit_first_bit(_: Any, word: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """The number of the lowest bit of a word that is one; the word is not zero."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ARG001
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.intp(types.uint64), code


score_tile: Any = intrinsic(_emit_score_tile)
first_bit: Any = intrinsic(_emit_first_bit)
