"""The Gram matrix of rows [x y 1] by a register-blocked kernel.

A hundred columns are few for BLAS, and the sums of the columns and their products with the targets
need passes of their own. Here a few rows Z = [x y 1] lie in the cache. For each tile of the Gram
matrix, _TILE_ROWS rows high and up to four vectors wide, the sums stay in registers until all rows
in the cache are done (the register block of a matrix product, Goto and van de Geijn, 2008)::

                            columns j .. j + 15   .. j + 31   .. j + 47   .. j + 63
                              +-----------+-----------+-----------+-----------+
    row r of Z, columns j.. : |    z_r    |    z_r    |    z_r    |    z_r    |    loaded once a row
                              +-----------+-----------+-----------+-----------+
    splat(Z[r, i])        ->  |    sum    |    sum    |    sum    |    sum    |    G[i,     j:]
    splat(Z[r, i + 1])    ->  |    sum    |    sum    |    sum    |    sum    |    G[i + 1, j:]
    splat(Z[r, i + 2])    ->  |    sum    |    sum    |    sum    |    sum    |    G[i + 2, j:]
    splat(Z[r, i + 3])    ->  |    sum    |    sum    |    sum    |    sum    |    G[i + 3, j:]
                              +-----------+-----------+-----------+-----------+
    (a vector has 16 float32 or 8 float64; four vectors with AVX-512, else one)

Only tiles on and above the diagonal are computed. Sums over at most _MAX_ROWS_PER_SUM rows are
added to float64, so that float32 rows lose few digits. Chunks merge in the order of the engine's
tree: the result does not depend on how many chunks one call gets.

Benchmark case: `ridge`, `linear-regression` and `pca` (benchmarks/large.py): the fit takes 1.06 to
1.21 times (float32) or 0.94 to 0.95 times (float64) as long as BLAS for X'X alone. A fit without
this kernel is not recorded.

References
----------
K. Goto and R. van de Geijn (2008), Anatomy of high-performance matrix multiplication.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tenfold._compiled.reductions import completed_nodes
from tenfold._compiled.simd import (
    WIDE_REGISTERS,
    aligned_zeros,
    array_struct,
    fused_multiply_add,
    splat,
    vector_pointer,
)

_TILE_ROWS = 4  # rows of a tile
_MAX_REGISTERS = 4 if WIDE_REGISTERS else 1  # vectors in a row of a tile
_CACHE_BYTES = 2**15  # of Z, so that it stays in the first-level cache; no sweep is recorded
_MAX_ROWS_PER_SUM = 128  # summed in the precision of X before they are added to float64
MAX_GRAM_COLUMNS = 256  # columns from which BLAS is faster; no sweep is recorded


def augmented_gram(
    X: np.ndarray, Y: np.ndarray, w: np.ndarray | None, origin: np.ndarray | None, grid: int
) -> np.ndarray:
    """Sum of w z z', z = [x y 1] about the origin (None: zero), (m, m) in float64.

    Chunks of `grid` rows are summed one by one and merged in the order of the tree.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[1.0], [3.0]]), np.array([[2.0], [6.0]])
    >>> augmented_gram(X, Y, None, None, 2).tolist()
    [[10.0, 20.0, 4.0], [20.0, 40.0, 8.0], [4.0, 8.0, 2.0]]
    """
    m = X.shape[1] + Y.shape[1] + 1
    width = -(-m // 16) * 16
    block = min(max(_CACHE_BYTES // (width * X.itemsize), 8), _MAX_ROWS_PER_SUM)
    Z = aligned_zeros((block, width), X.dtype)
    levels = 2 + (len(X) // grid).bit_length()
    S = aligned_zeros((levels, width, width), np.float64)
    none = np.empty(0, X.dtype)
    root = none if w is None else np.sqrt(w).astype(X.dtype)
    origin = none if origin is None else origin.astype(X.dtype, copy=False)
    _accumulate_gram(X, Y.astype(X.dtype, copy=False), root, origin, grid, Z, S)
    return S[0, :m, :m].copy()


@njit(cache=True, nogil=True)
def _accumulate_gram(X, Y, root, origin, grid, Z, S):  # noqa: ANN001, ANN202
    """Fill S[0]; further levels are nodes of the merge tree that wait for their sibling."""
    n, (block, width), lanes = len(X), Z.shape, 64 // X.itemsize
    top = 0
    for first in range(0, n, grid):
        end = min(first + grid, n)
        _clear_level(S, top)
        for start in range(first, end, block):
            count = min(block, end - start)
            _pack_rows(X, Y, root, origin, start, count, Z)
            for i in range(0, width, _TILE_ROWS):
                add_tile_rows(Z, count, i, lanes, S, top)
        for _ in range(completed_nodes(first // grid, top, end == n)):
            top -= 1
            for i in range(width):
                for j in range(width):
                    S[top, i, j] += S[top + 1, i, j]
        top += 1
    for i in range(width):
        for j in range(i):
            S[0, i, j] = S[0, j, i]  # only tiles on and above the diagonal are summed


@njit(cache=True, nogil=True, inline="always")
def _clear_level(S, level):  # noqa: ANN001, ANN202
    """Set a level of the merge tree to zero."""
    for i in range(S.shape[1]):
        for j in range(S.shape[2]):
            S[level, i, j] = 0.0


@njit(cache=True, nogil=True, inline="always")
def _pack_rows(X, Y, root, origin, start, count, Z):  # noqa: ANN001, ANN202
    """Write rows [x y 1] less the origin, times the square roots of their weights, to Z."""
    p, q = X.shape[1], Y.shape[1]
    for r in range(count):
        for j in range(p):
            Z[r, j] = X[start + r, j]
        for j in range(q):
            Z[r, p + j] = Y[start + r, j]
        Z[r, p + q] = 1.0
        for j in range(len(origin)):
            Z[r, j] -= origin[j]
        if len(root):
            for j in range(p + q + 1):
                Z[r, j] *= root[start + r]


def _make_tile_kernel(registers: int) -> Any:
    """An intrinsic that adds Z[:count, i:i + 4]' Z[:count, j:] to S[level], `registers` wide."""

    @intrinsic
    def add(typing, Z, count, i, j, S, level):  # noqa: ANN001, ANN202, ARG001
        def code(context, builder, signature, args):  # noqa: ANN001, ANN202
            Z = array_struct(context, builder, signature.args[0], args[0])
            S = array_struct(context, builder, signature.args[4], args[4])
            kind = context.get_value_type(signature.args[0].dtype)
            _, count, i, j, _, level = args
            _GramTileKernel(builder, Z, S, kind, registers).emit(count, i, j, level)
            return context.get_dummy_value()

        index = types.intp
        return types.void(Z, index, index, index, S, index), code

    return add


_add_one, _add_two, _add_three, _add_four = (
    _make_tile_kernel(min(registers, _MAX_REGISTERS)) for registers in (1, 2, 3, 4)
)


@njit(cache=True, nogil=True, inline="always")
def add_tile_rows(Z, count, i, lanes, S, level):  # noqa: ANN001, ANN202
    """Add four rows of the Gram matrix, from the diagonal on."""
    width, j = Z.shape[1], i // lanes * lanes
    while j + _MAX_REGISTERS * lanes <= width:
        _add_four(Z, count, i, j, S, level)
        j += _MAX_REGISTERS * lanes
    left = (width - j) // lanes
    if left == 3:
        _add_three(Z, count, i, j, S, level)
    elif left == 2:
        _add_two(Z, count, i, j, S, level)
    elif left == 1:
        _add_one(Z, count, i, j, S, level)


class _GramTileKernel:
    """Emits the code of one tile; LLVM turns its stack variables into registers."""

    def __init__(self, builder: ir.IRBuilder, Z: Any, S: Any, kind: Any, registers: int) -> None:
        self.builder, self.Z, self.S = builder, Z, S
        self.width = cgutils.unpack_tuple(builder, Z.shape)[1]
        self.lanes = 16 if isinstance(kind, ir.FloatType) else 8
        self.vector = ir.VectorType(kind, self.lanes)
        self.double = ir.VectorType(ir.DoubleType(), self.lanes)
        self.sums = [
            [cgutils.alloca_once(builder, self.vector) for _ in range(registers)]
            for _ in range(_TILE_ROWS)
        ]

    def emit(self, count: Any, i: Any, j: Any, level: Any) -> None:
        zeros = ir.Constant(self.vector, [0.0] * self.lanes)
        for sums in self.sums:
            for total in sums:
                self.builder.store(zeros, total)
        with cgutils.for_range(self.builder, count) as loop:
            self._multiply(self.builder.mul(loop.index, self.width), i, j)
        self._add(self.builder.add(self.builder.mul(level, self.width), i), j)

    def _multiply(self, row: Any, i: Any, j: Any) -> None:
        """Emit the products of one row of Z."""
        builder, start = self.builder, self.builder.add(row, j)
        starts = [self._after(start, r * self.lanes) for r in range(len(self.sums[0]))]
        x = [
            builder.load(vector_pointer(builder, self.Z.data, offset, self.vector), align=4)
            for offset in starts
        ]
        for tile_row, sums in enumerate(self.sums):
            pointer = builder.gep(self.Z.data, [self._after(builder.add(row, i), tile_row)])
            z = splat(builder, builder.load(pointer), self.vector)
            for columns, total in zip(x, sums, strict=True):
                builder.store(fused_multiply_add(builder, z, columns, builder.load(total)), total)

    def _add(self, corner: Any, j: Any) -> None:
        """Emit the addition of the sums to S; `corner` counts rows from the first level on."""
        builder = self.builder
        for tile_row, sums in enumerate(self.sums):
            start = builder.add(builder.mul(self._after(corner, tile_row), self.width), j)
            for r, total in enumerate(sums):
                offset = self._after(start, r * self.lanes)
                pointer = vector_pointer(builder, self.S.data, offset, self.double)
                value = builder.load(total)
                value = value if self.vector == self.double else builder.fpext(value, self.double)
                builder.store(builder.fadd(builder.load(pointer, align=8), value), pointer, align=8)

    def _after(self, start: Any, step: int) -> Any:
        return self.builder.add(start, ir.Constant(start.type, step))
