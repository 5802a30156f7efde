"""The register block of a matrix product: sums of products that never leave the registers.

A tile of rows is stored by columns, so that one vector holds one column of 16 rows; a few rows of
another matrix are read entry by entry, each entry copied to all lanes (splat)::

                     rows  0..15    16..31   32..47   48..63      (4 vectors with AVX-512, else 1)
                         +--------+--------+--------+--------+
    column t of the tile |  x_t   |  x_t   |  x_t   |  x_t   |
                         +--------+--------+--------+--------+
    row j,     c_jt ->   |  sum   |  sum   |  sum   |  sum   |    sum += splat(c_jt) * x_t
    row j + 1, ...       |  sum   |  sum   |  sum   |  sum   |    over all columns t

What happens to the sums is up to the kernel: `two_nearest` compares them with each other,
`score_tile` (`near_scores`) with thresholds.

References
----------
K. Goto and R. van de Geijn (2008), Anatomy of high-performance matrix multiplication.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from tenfold._compiled.simd import (
    FLOAT32,
    WIDE_REGISTERS,
    fused_multiply_add,
    splat,
    vector_pointer,
)

LANES = 16  # rows in a vector
ROW_REGISTERS = 4 if WIDE_REGISTERS else 1  # vectors of rows in a tile
TILE_ROWS = LANES * ROW_REGISTERS  # rows of a tile
ROW_VECTOR = ir.VectorType(FLOAT32, LANES)


class RegisterBlock:
    """Emits the loop over columns; LLVM turns its stack variables into registers.

    Parameters
    ----------
    builder : where to emit
    columns : pointer to the (d, TILE_ROWS) columns of the tile
    matrix : pointer to the (k, d) rows of the other matrix
    d : number of columns
    height : how many rows of the other matrix at once
    """

    def __init__(
        self, builder: ir.IRBuilder, columns: Any, matrix: Any, d: Any, height: int
    ) -> None:
        self.builder, self.columns, self.matrix, self.d = builder, columns, matrix, d
        self.sums = [
            [cgutils.alloca_once(builder, ROW_VECTOR) for _ in range(ROW_REGISTERS)]
            for _ in range(height)
        ]

    def add_products(self, first: Any) -> None:
        """Emit the products with the rows of the other matrix from `first` on."""
        builder = self.builder
        starts = [
            builder.mul(builder.add(first, self.constant(c)), self.d) for c in range(len(self.sums))
        ]
        with cgutils.for_range(builder, self.d) as loop:
            tile = builder.mul(loop.index, self.constant(TILE_ROWS))
            x = [self.load(self.columns, tile, i) for i in range(ROW_REGISTERS)]
            for start, sums in zip(starts, self.sums, strict=True):
                pointer = builder.gep(self.matrix, [builder.add(start, loop.index)])
                entry = splat(builder, builder.load(pointer), ROW_VECTOR)
                for rows, total in zip(x, sums, strict=True):
                    value = fused_multiply_add(builder, entry, rows, builder.load(total))
                    builder.store(value, total)

    def load(self, data: Any, start: Any, register: int) -> Any:
        """The vector of this number of those that begin at `start`."""
        return self.builder.load(self.pointer(data, start, register, ROW_VECTOR), align=4)

    def pointer(self, data: Any, start: Any, register: int, kind: ir.VectorType) -> Any:
        """Where that vector is."""
        offset = self.builder.add(start, self.constant(LANES * register))
        return vector_pointer(self.builder, data, offset, kind)

    def constant(self, value: int) -> ir.Constant:
        """An index."""
        return ir.Constant(self.d.type, value)
