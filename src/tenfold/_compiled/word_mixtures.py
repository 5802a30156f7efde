"""Likelihoods of the words of a document under a mixture of topics, eight words at a time.

The rows of the table of words by topics that belong to a document lie in blocks of eight words:
number `8 (K b + k) + l` is topic k of word l of block b, so that a topic of eight words is one
vector. One walk over a block gives the likelihoods of its words and what they add to the sums by
topic, while the block is in the nearest cache. LLVM would test before each loop whether arrays
overlap, and finish it number by number: longer than the loop itself where documents are short.

Benchmark case: `lda-batch` (benchmarks/topics.py): rounds of inference take a third of the time of
loops that LLVM vectorizes by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

from tenfold._compiled.dot_product import DOUBLE_LANES, sum_lanes
from tenfold._compiled.simd import array_struct, fused_multiply_add, splat, vector_pointer

WORD_LANES = DOUBLE_LANES
_BLOCKS = 2  # blocks that are walked together, so that sums by topic are loaded half as often
_LEAST_LIKELIHOOD = 1e-300  # a word that is less likely counts as impossible
_VECTOR = ir.VectorType(ir.DoubleType(), DOUBLE_LANES)


@njit(cache=True, nogil=True, error_model="numpy")
def gather_words(words, counts, table, gathered, padded_counts) -> int:  # noqa: ANN001
    """Rows of the (V, K) table for the words of a document, in blocks; returns their number.

    The last block is filled up with words that are certain in every topic and occur never.
    """
    m, K = len(words), table.shape[1]
    step = WORD_LANES * _BLOCKS
    n_blocks = (m + step - 1) // step * _BLOCKS
    for b in range(n_blocks):
        start = b * K * WORD_LANES
        for lane in range(WORD_LANES):
            j = b * WORD_LANES + lane
            if j < m:
                row = table[words[j]]
                padded_counts[j] = counts[j]
                for k in range(K):
                    gathered[start + k * WORD_LANES + lane] = row[k]
            else:
                padded_counts[j] = 0.0
                for k in range(K):
                    gathered[start + k * WORD_LANES + lane] = 1.0
    return n_blocks


@njit(cache=True, nogil=True)
def allocate_blocks(longest, n_topics) -> tuple:  # noqa: ANN001
    """Space for a document: blocks, counts, likelihoods, ratios of the two, lanes of the sums."""
    step = WORD_LANES * _BLOCKS
    m = (longest + step - 1) // step * step
    return (
        _allocate_lines(m * n_topics),
        _allocate_lines(m),
        _allocate_lines(m),
        _allocate_lines(m),
        _allocate_lines(n_topics * WORD_LANES),
    )


@njit(cache=True, nogil=True)
def _allocate_lines(n) -> np.ndarray:  # noqa: ANN001
    """Space that begins at a cache line: a vector then lies in one line, not in two."""
    buffer = np.empty(n + WORD_LANES)
    start = (-(buffer.ctypes.data // 8)) % WORD_LANES
    return buffer[start : start + n]


class _Emitter:
    """Writes the loops over topics of a block."""

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> None:
        self.builder = builder
        self.values = [
            array_struct(context, builder, kind, value).data
            if isinstance(kind, types.Array)
            else value
            for kind, value in zip(signature.args, args, strict=True)
        ]
        self.lanes = ir.Constant(args[1].type, DOUBLE_LANES)

    def place(self, data: Any, block: Any) -> Any:
        """Where a vector lies."""
        return vector_pointer(self.builder, data, self.builder.mul(block, self.lanes), _VECTOR)

    def load(self, data: Any, block: Any) -> Any:
        return self.builder.load(self.place(data, block), align=8)

    def store(self, value: Any, data: Any, block: Any) -> None:
        self.builder.store(value, self.place(data, block), align=8)

    def likelihoods(self, gathered: Any, firsts: list[Any], topics: Any, K: Any) -> list[Any]:
        """sum_k topics_k gathered_k of eight words, for each of some blocks."""
        builder = self.builder
        totals = [cgutils.alloca_once(builder, _VECTOR) for _ in firsts]
        for total in totals:
            builder.store(ir.Constant(_VECTOR, [0.0] * DOUBLE_LANES), total)
        with cgutils.for_range(builder, K) as loop:
            topic = splat(builder, builder.load(builder.gep(topics, [loop.index])), _VECTOR)
            for first, total in zip(firsts, totals, strict=True):
                words = self.load(gathered, builder.add(first, loop.index))
                builder.store(fused_multiply_add(builder, topic, words, builder.load(total)), total)
        return [builder.load(total) for total in totals]

    def ratios(self, counts: Any, likelihoods: Any) -> Any:
        """Counts over likelihoods; 0 where a word is impossible."""
        builder = self.builder
        least = ir.Constant(_VECTOR, [_LEAST_LIKELIHOOD] * DOUBLE_LANES)
        possible = builder.fcmp_ordered(">", likelihoods, least)
        ratio = builder.fdiv(counts, likelihoods)
        return builder.select(possible, ratio, ir.Constant(_VECTOR, [0.0] * DOUBLE_LANES))


def _emit_mixture(
    typing: Any,  # noqa: ARG001
    n_blocks: Any,  # noqa: ARG001
    K: Any,  # noqa: ARG001
    gathered: Any,
    topics: Any,
    counts: Any,
    likelihoods: Any,
    ratios: Any,
    lanes: Any,
    sums: Any,
) -> tuple[Any, Any]:
    """Typing and code of mix_words(n_blocks, K, gathered, topics, counts, ..., sums).

    likelihoods_j = sum_k topics_k table_jk, ratios_j = counts_j / likelihoods_j, and
    sums_k = sum_j ratios_j table_jk, with space for partial sums in `lanes`.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        emit = _Emitter(context, builder, signature, args)
        n_blocks, K, gathered, topics, counts, likelihoods, ratios, lanes, sums = emit.values
        with cgutils.for_range(builder, K) as loop:
            emit.store(ir.Constant(_VECTOR, [0.0] * DOUBLE_LANES), lanes, loop.index)
        several = ir.Constant(n_blocks.type, _BLOCKS)
        with cgutils.for_range(builder, builder.udiv(n_blocks, several)) as group:
            start = builder.mul(group.index, several)
            blocks = [builder.add(start, ir.Constant(K.type, i)) for i in range(_BLOCKS)]
            firsts = [builder.mul(block, K) for block in blocks]
            found = emit.likelihoods(gathered, firsts, topics, K)
            shares = [
                emit.ratios(emit.load(counts, block), likelihood)
                for block, likelihood in zip(blocks, found, strict=True)
            ]
            for block, likelihood, share in zip(blocks, found, shares, strict=True):
                emit.store(likelihood, likelihoods, block)
                emit.store(share, ratios, block)
            with cgutils.for_range(builder, K) as loop:
                total = emit.load(lanes, loop.index)
                for first, share in zip(firsts, shares, strict=True):
                    words = emit.load(gathered, builder.add(first, loop.index))
                    total = fused_multiply_add(builder, share, words, total)
                emit.store(total, lanes, loop.index)
        with cgutils.for_range(builder, K) as loop:
            total = sum_lanes(builder, emit.load(lanes, loop.index))
            builder.store(total, builder.gep(sums, [loop.index]))
        return context.get_dummy_value()

    arrays = gathered, topics, counts, likelihoods, ratios, lanes, sums
    if any(a.dtype != types.float64 or a.layout != "C" for a in arrays):
        raise TypeError(f"mix_words takes C-contiguous arrays of float64, not {arrays}")
    return types.void(types.intp, types.intp, *arrays), code


mix_words: Any = intrinsic(_emit_mixture)
