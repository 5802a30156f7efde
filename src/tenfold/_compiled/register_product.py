"""Matrix products whose sums stay in registers, for the few dozen rows of a minibatch.

BLAS packs both factors anew in every call, which pays for many rows. With a few dozen, tiles of
four rows and up to four vectors of columns read the factors where they lie (the register block of
a matrix product, Goto and van de Geijn, 2008)::

                               columns j .. j + 15   .. j + 31   .. j + 47   .. j + 63
                              +-----------+-----------+-----------+-----------+
    B[r, j:]                : |    b_r    |    b_r    |    b_r    |    b_r    |   loaded once a tile
                              +-----------+-----------+-----------+-----------+
    splat(A[i,     r])    ->  |    sum    |    sum    |    sum    |    sum    |   C[i,     j:]
    splat(A[i + 1, r])    ->  |    sum    |    sum    |    sum    |    sum    |   C[i + 1, j:]
    splat(A[i + 2, r])    ->  |    sum    |    sum    |    sum    |    sum    |   C[i + 2, j:]
    splat(A[i + 3, r])    ->  |    sum    |    sum    |    sum    |    sum    |   C[i + 3, j:]
                              +-----------+-----------+-----------+-----------+
    (a vector has 16 float32 or 8 float64; four vectors with AVX-512, else one)

Every sum goes over r = 0, 1, ... by fused multiply-add, whatever the tile: its bits depend neither
on the other rows nor on the width of registers.

Benchmark cases: `lstm-256` (benchmarks/language.py) and `dqn-256-256` (benchmarks/rl.py).

References
----------
K. Goto and R. van de Geijn (2008), Anatomy of high-performance matrix multiplication.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tenfold._compiled.gemm import INNER_OPTIONS, matmul
from tenfold._compiled.simd import (
    WIDE_REGISTERS,
    array_struct,
    fused_multiply_add,
    splat,
    vector_pointer,
)

_TILE_ROWS = 4
_PANEL_VECTORS = 4 if WIDE_REGISTERS else 1
_VECTOR_BYTES = 64
_MAX_TERMS = 4096  # of a sum: a panel with more rows leaves the second-level cache


def _make_tile_kernel(rows: int, vectors: int) -> Any:
    """An intrinsic for a tile of a product of k terms.

    A[i, r] is a[a_at + i * a_row + r * a_step], row r of the panel begins at b[b_at + r * b_step],
    row i of the tile at c[c_at + i * c_row].
    """

    @intrinsic
    def tile(typing, a, a_at, a_row, a_step, b, b_at, b_step, k, c, c_at, c_row):  # noqa: ANN001, ANN202, ARG001
        def code(context, builder, signature, args):  # noqa: ANN001, ANN202
            a, b, c = (
                builder.gep(
                    array_struct(context, builder, signature.args[i], args[i]).data, [args[i + 1]]
                )
                for i in (0, 4, 8)
            )
            kernel = _TileKernel(builder, rows, vectors, a.type.pointee)
            kernel.emit(a, args[2], args[3], b, args[6], args[7])
            kernel.store(c, args[10])
            return context.get_dummy_value()

        if not a.dtype == b.dtype == c.dtype or {a.layout, b.layout, c.layout} != {"C"}:
            raise TypeError(f"arrays must be C-contiguous and of one dtype, not {a}, {b} and {c}")
        at = types.intp
        return types.void(a, at, at, at, b, at, at, at, c, at, at), code

    return tile


class _TileKernel:
    """Emits the code of one tile; LLVM turns its stack variables into registers."""

    def __init__(self, builder: ir.IRBuilder, rows: int, vectors: int, kind: Any) -> None:
        self.builder = builder
        self.lanes = 16 if isinstance(kind, ir.FloatType) else 8
        self.align = _VECTOR_BYTES // self.lanes
        self.vector = ir.VectorType(kind, self.lanes)
        self.sums = [
            [cgutils.alloca_once(builder, self.vector) for _ in range(vectors)] for _ in range(rows)
        ]

    def emit(self, a: Any, a_row: Any, a_step: Any, b: Any, b_step: Any, k: Any) -> None:
        """The sums over k terms."""
        builder = self.builder
        for total in (total for sums in self.sums for total in sums):
            builder.store(ir.Constant(self.vector, [0.0] * self.lanes), total)
        with cgutils.for_range(builder, k) as loop:
            panel = [
                builder.load(place, align=self.align)
                for place in self._vectors(b, builder.mul(loop.index, b_step))
            ]
            column = builder.gep(a, [builder.mul(loop.index, a_step)])
            for i, sums in enumerate(self.sums):
                at = builder.mul(a_row, ir.Constant(a_row.type, i))
                factor = splat(builder, builder.load(builder.gep(column, [at])), self.vector)
                for total, columns in zip(sums, panel, strict=True):
                    value = fused_multiply_add(builder, factor, columns, builder.load(total))
                    builder.store(value, total)

    def store(self, c: Any, c_row: Any) -> None:
        """Write the sums to their places."""
        builder = self.builder
        for i, sums in enumerate(self.sums):
            start = builder.mul(c_row, ir.Constant(c_row.type, i))
            for total, place in zip(sums, self._vectors(c, start), strict=True):
                builder.store(builder.load(total), place, align=self.align)

    def _vectors(self, data: Any, start: Any) -> list[Any]:
        """Pointers to the vectors of a row that begins at `start`."""
        offsets = [
            self.builder.add(start, ir.Constant(start.type, i * self.lanes))
            for i in range(len(self.sums[0]))
        ]
        return [vector_pointer(self.builder, data, at, self.vector) for at in offsets]


_tile, _row_tile = (_make_tile_kernel(rows, _PANEL_VECTORS) for rows in (_TILE_ROWS, 1))
_narrow_tile, _narrow_row_tile = (_make_tile_kernel(rows, 1) for rows in (_TILE_ROWS, 1))


@njit(**INNER_OPTIONS)
def _multiply_columns(a, a_at, a_row, a_step, b, b_at, c, c_at, m, k, n, j, width):  # noqa: ANN001, ANN202
    """Columns j to j + width of the product: those of a panel, or of one vector."""
    lanes, i = _VECTOR_BYTES // c.itemsize, 0
    while i < m:
        at, to = a_at + i * a_row, c_at + i * n + j
        if m - i >= _TILE_ROWS:
            if width > lanes:
                _tile(a, at, a_row, a_step, b, b_at + j, n, k, c, to, n)
            else:
                _narrow_tile(a, at, a_row, a_step, b, b_at + j, n, k, c, to, n)
            i += _TILE_ROWS
        else:
            if width > lanes:
                _row_tile(a, at, a_row, a_step, b, b_at + j, n, k, c, to, n)
            else:
                _narrow_row_tile(a, at, a_row, a_step, b, b_at + j, n, k, c, to, n)
            i += 1


@njit(**INNER_OPTIONS)
def tiled_matmul(a, a_at, a_transposed, b, b_at, b_transposed, c, c_at, m, k, n):  # noqa: ANN001, ANN202
    """C = A B of row-major matrices (m, k) and (k, n) at offsets of flat arrays.

    As `tenfold._compiled.gemm.matmul`, which does what tiles do not suit.
    """
    lanes = _VECTOR_BYTES // c.itemsize
    if b_transposed or n < lanes or k > _MAX_TERMS:
        matmul(a, a_at, a_transposed, b, b_at, b_transposed, c, c_at, m, k, n)
        return
    row, step = (1, m) if a_transposed else (k, 1)
    panel, j = _PANEL_VECTORS * lanes, 0
    while j < n:
        width = panel if j + panel <= n else lanes
        first = min(j, n - width)  # the last vector may begin among columns that are done
        _multiply_columns(a, a_at, row, step, b, b_at, c, c_at, m, k, n, first, width)
        j = first + width
