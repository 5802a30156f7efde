"""The nearest and the second nearest center of rows, without a matrix of distances in memory.

A matrix product writes all n x k scores down and a second loop reads them again to find the least.
This kernel keeps them in registers, with the comparison in the place of the store.

The register block is that of `register_block`, with TILE_ROWS rows and CENTERS_PER_BLOCK centers:
16 sums, 4 columns and a splat of 32 registers. After each block the best, the second best and the
index of the best are updated lane by lane.

|x - c|^2 / 2 less |x|^2 / 2 is |c|^2 / 2 - c.x: what the sums hold. The transposition of 16 x 16
entries takes four rounds of shuffles; each swaps one bit of the row number with the same bit of
the lane number (Eklundh, 1972). With rows a to d and lanes 0 to 3::

    a0 a1 a2 a3              a0 a1 c0 c1              a0 b0 c0 d0
    b0 b1 b2 b3    bit 2     b0 b1 d0 d1    bit 1     a1 b1 c1 d1
    c0 c1 c2 c3    ----->    a2 a3 c2 c3    ----->    a2 b2 c2 d2
    d0 d1 d2 d3              b2 b3 d2 d3              a3 b3 c3 d3

Benchmark case: `kmeans-20-rounds-f4` and `-f8` (benchmarks/large.py): the fit takes 1.30 and 0.99
times as long as BLAS for the products alone. A fit without this kernel is not recorded.

References
----------
J. O. Eklundh (1972), A fast computer method for matrix transposing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tenfold._compiled.register_block import (
    LANES,
    ROW_REGISTERS,
    ROW_VECTOR,
    TILE_ROWS,
    RegisterBlock,
)
from tenfold._compiled.simd import INT32, array_struct, splat, vector_pointer

CENTERS_PER_BLOCK = 4  # centers at once: 4 x 4 sums and 4 columns leave room for the splats
_INDEX_VECTOR = ir.VectorType(INT32, LANES)


def pack_centers(centers: np.ndarray, half_norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The arguments -c and |c|^2 / 2 of `two_nearest`, padded to whole blocks.

    Centers of the padding are infinitely far from all rows.
    """
    k, d = centers.shape
    padded = -(-k // CENTERS_PER_BLOCK) * CENTERS_PER_BLOCK
    negative, offset = np.zeros((padded, d), np.float32), np.full(padded, np.inf, np.float32)
    negative[:k], offset[:k] = -centers, half_norms
    return negative, offset


@intrinsic
def _two_nearest(typing, columns, centers, half_norms, best, second, nearest):  # noqa: ANN001, ANN202, ARG001
    """Write the two least scores half_norm_j + center_j.x of a tile, and the index of the least."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        arrays = [
            array_struct(context, builder, *pair) for pair in zip(signature.args, args, strict=True)
        ]
        k, d = cgutils.unpack_tuple(builder, arrays[1].shape)
        _TwoNearestKernel(builder, [array.data for array in arrays], k, d).emit()
        return context.get_dummy_value()

    return types.void(columns, centers, half_norms, best, second, nearest), code


class _TwoNearestKernel:
    """Emits the code of `two_nearest`."""

    def __init__(self, builder: ir.IRBuilder, data: list[Any], k: Any, d: Any) -> None:
        self.builder, self.k = builder, k
        columns, centers, self.half_norms, *self.outputs = data
        self.block = RegisterBlock(builder, columns, centers, d, CENTERS_PER_BLOCK)
        kinds = (ROW_VECTOR, ROW_VECTOR, _INDEX_VECTOR)
        self.least = [
            [cgutils.alloca_once(builder, kind) for kind in kinds] for _ in range(ROW_REGISTERS)
        ]

    def emit(self) -> None:
        builder, infinity = self.builder, ir.Constant(ROW_VECTOR, [float("inf")] * LANES)
        for best, second, nearest in self.least:
            builder.store(infinity, best)
            builder.store(infinity, second)
            builder.store(ir.Constant(_INDEX_VECTOR, [0] * LANES), nearest)
        zero, step = self.block.constant(0), self.block.constant(CENTERS_PER_BLOCK)
        with cgutils.for_range_slice(builder, zero, self.k, step, self.k.type) as (j, _):
            self._multiply(j)
            self._compare(j)
        for i, variables in enumerate(self.least):
            for variable, data, kind in zip(
                variables, self.outputs, (ROW_VECTOR, ROW_VECTOR, _INDEX_VECTOR), strict=True
            ):
                pointer = self.block.pointer(data, zero, i, kind)
                builder.store(builder.load(variable), pointer, align=4)

    def _multiply(self, j: Any) -> None:
        """Emit the scores of the block of centers from j on."""
        builder = self.builder
        for c, sums in enumerate(self.block.sums):
            index = builder.add(j, self.block.constant(c))
            half_norm = builder.load(builder.gep(self.half_norms, [index]))
            offset = splat(builder, half_norm, ROW_VECTOR)
            for total in sums:
                builder.store(offset, total)
        self.block.add_products(j)

    def _compare(self, j: Any) -> None:
        """Emit the update of the two least scores; the earlier center wins a tie."""
        builder = self.builder
        for c, sums in enumerate(self.block.sums):
            index = builder.trunc(builder.add(j, self.block.constant(c)), INT32)
            indices = splat(builder, index, _INDEX_VECTOR)
            for total, (best, second, nearest) in zip(sums, self.least, strict=True):
                score, least, next_least = (builder.load(v) for v in (total, best, second))
                closer = builder.fcmp_ordered("<", score, least)
                larger = builder.select(closer, least, score)
                between = builder.fcmp_ordered("<", larger, next_least)
                builder.store(builder.select(between, larger, next_least), second)
                builder.store(builder.select(closer, score, least), best)
                builder.store(builder.select(closer, indices, builder.load(nearest)), nearest)


@intrinsic
def _transpose_block(typing, X, rows, first, column, columns, lane):  # noqa: ANN001, ANN202, ARG001
    """Transpose 16 rows and 16 columns of X to lanes of `columns`."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        X, rows, columns = (
            array_struct(context, builder, signature.args[i], args[i]) for i in (0, 1, 4)
        )
        d = cgutils.unpack_tuple(builder, X.shape)[1]

        def at(start: Any, step: int) -> Any:
            return builder.add(start, ir.Constant(d.type, step))

        kind = ir.VectorType(context.get_value_type(signature.args[0].dtype), LANES)
        vectors = []
        for i in range(LANES):
            row = builder.load(builder.gep(rows.data, [at(args[2], i)]))
            start = builder.add(builder.mul(row, d), args[3])
            entries = builder.load(vector_pointer(builder, X.data, start, kind), align=4)
            entries = entries if kind == ROW_VECTOR else builder.fptrunc(entries, ROW_VECTOR)
            vectors.append(entries)
        for i, lanes in enumerate(_butterfly_transpose(vectors, builder.shuffle_vector)):
            start = builder.mul(at(args[3], i), ir.Constant(d.type, TILE_ROWS))
            start = builder.add(start, args[5])
            pointer = vector_pointer(builder, columns.data, start, ROW_VECTOR)
            builder.store(lanes, pointer, align=4)
        return context.get_dummy_value()

    if not X.layout == rows.layout == columns.layout == "C":
        raise TypeError(f"arrays must be C-contiguous, not {X}, {rows} and {columns}")
    return types.void(X, rows, types.intp, types.intp, columns, types.intp), code


def _butterfly_transpose(vectors: list[Any], shuffle: Callable[..., Any]) -> list[Any]:
    """Transpose a square of vectors: swap one bit of vector and lane numbers at a time."""
    for bit in (8, 4, 2, 1):
        lanes = range(LANES)
        upper = [lane if not lane & bit else LANES + lane - bit for lane in lanes]
        lower = [lane + bit if not lane & bit else LANES + lane for lane in lanes]
        for i in (i for i in lanes if not i & bit):
            a, b = vectors[i], vectors[i + bit]
            vectors[i] = shuffle(a, b, ir.Constant(_INDEX_VECTOR, upper))
            vectors[i + bit] = shuffle(a, b, ir.Constant(_INDEX_VECTOR, lower))
    return vectors


@njit(cache=True, nogil=True, inline="always")
def transpose_rows(X, rows, start, count, columns):  # noqa: ANN001, ANN202
    """Write rows[start:start + count] of X, TILE_ROWS at most, to columns (d, TILE_ROWS)."""
    d = X.shape[1]
    full_columns, full_rows = d // LANES * LANES, count // LANES * LANES
    for lane in range(0, full_rows, LANES):
        for t in range(0, full_columns, LANES):
            _transpose_block(X, rows, start + lane, t, columns, lane)  # pyright: ignore[reportCallIssue]
    for lane in range(count):
        row = rows[start + lane]
        for t in range(full_columns if lane < full_rows else 0, d):
            columns[t, lane] = X[row, t]


@njit(cache=True, nogil=True, inline="always")
def two_nearest(columns, centers, half_norms, best, second, nearest):  # noqa: ANN001, ANN202
    """Write the least and second least |c|^2 / 2 - c.x of each row, and the index of the least.

    Columns are those of `transpose_rows`, centers and half norms those of `pack_centers`.
    """
    _two_nearest(columns, centers, half_norms, best, second, nearest)  # pyright: ignore[reportCallIssue]
