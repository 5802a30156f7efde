"""Sums of the products of all columns with each other, summed where they arise: in registers.

A hundred columns are few for BLAS, and sums of columns and of products with the target need passes
of their own. Here a few rows lie in the cache, beside their target and a one; for each tile of the
square some registers hold columns of a row, each of four other numbers is spread over all lanes,
and the tile's sums stay in registers until the rows are done. Sums over few rows are added up in
float64, so that float32 rows lose few digits on the way.
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

_TILE_ROWS = 4  # lines of a tile
_MAX_REGISTERS = 4 if WIDE_REGISTERS else 1  # registers of a line
_CACHE_BYTES = 2**15  # bytes of rows that the cache keeps beside the sums
_MAX_ROWS_PER_SUM = 128  # that are summed up in single precision
MAX_GRAM_COLUMNS = 256  # columns from which on BLAS is faster


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
    few = min(max(_CACHE_BYTES // (width * X.itemsize), 8), _MAX_ROWS_PER_SUM)
    Z = aligned_zeros((few, width), X.dtype)
    levels = 2 + (len(X) // grid).bit_length()
    S = aligned_zeros((levels, width, width), np.float64)
    nothing = np.empty(0, X.dtype)
    root = nothing if w is None else np.sqrt(w).astype(X.dtype)
    origin = nothing if origin is None else origin.astype(X.dtype, copy=False)
    _accumulate_gram(X, Y.astype(X.dtype, copy=False), root, origin, grid, Z, S)
    return S[0, :m, :m].copy()


@njit(cache=True, nogil=True)
def _accumulate_gram(X, Y, root, origin, grid, Z, S):  # noqa: ANN001, ANN202
    """Fill S[0]; further levels are nodes that wait for their half."""
    n, (few, width), lanes = len(X), Z.shape, 64 // X.itemsize
    top = 0
    for first in range(0, n, grid):
        end = min(first + grid, n)
        _clear_level(S, top)
        for start in range(first, end, few):
            count = min(few, end - start)
            _pack_rows(X, Y, root, origin, start, count, Z)
            for i in range(0, width, _TILE_ROWS):
                _add_tile_rows(Z, count, i, lanes, S, top)
        for _ in range(completed_nodes(first // grid, top, end == n)):
            top -= 1
            for i in range(width):
                for j in range(width):
                    S[top, i, j] += S[top + 1, i, j]
        top += 1
    for i in range(width):
        for j in range(i):
            S[0, i, j] = S[0, j, i]  # tiles lie on and above the diagonal


@njit(cache=True, nogil=True, inline="always")
def _clear_level(S, level):  # noqa: ANN001, ANN202
    """Set a level to zero."""
    for i in range(S.shape[1]):
        for j in range(S.shape[2]):
            S[level, i, j] = 0.0


@njit(cache=True, nogil=True, inline="always")
def _pack_rows(X, Y, root, origin, start, count, Z):  # noqa: ANN001, ANN202
    """Rows beside their targets and a one, about the origin, times the roots of their weights."""
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
    """Add Z[:count, i:i + TALL]' Z[:count, j:] to its place in S[level], some registers wide."""

    @intrinsic
    def add(typing, Z, count, i, j, S, level):  # noqa: ANN001, ANN202, ARG001
        def code(context, builder, signature, args):  # noqa: ANN001, ANN202
            Z = array_struct(context, builder, signature.args[0], args[0])
            S = array_struct(context, builder, signature.args[4], args[4])
            kind = context.get_value_type(signature.args[0].dtype)
            _, count, i, j, _, level = args
            _GramTileKernel(builder, Z, S, kind, registers).emit(count, i, j, level)
            return context.get_dummy_value()

        number = types.intp
        return types.void(Z, number, number, number, S, number), code

    return add


_add_one, _add_two, _add_three, _add_four = (
    _make_tile_kernel(min(wide, _MAX_REGISTERS)) for wide in (1, 2, 3, 4)
)


@njit(cache=True, nogil=True, inline="always")
def _add_tile_rows(Z, count, i, lanes, S, level):  # noqa: ANN001, ANN202
    """Add TALL lines of the square, from the diagonal on."""
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
    """The code of one tile; variables on the stack become registers in LLVM's first pass."""

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
        nothing = ir.Constant(self.vector, [0.0] * self.lanes)
        for line in self.sums:
            for total in line:
                self.builder.store(nothing, total)
        with cgutils.for_range(self.builder, count) as loop:
            self._multiply(self.builder.mul(loop.index, self.width), i, j)
        self._add(self.builder.add(self.builder.mul(level, self.width), i), j)

    def _multiply(self, row: Any, i: Any, j: Any) -> None:
        """Add the products of one row to the sums."""
        builder, start = self.builder, self.builder.add(row, j)
        starts = [self._after(start, r * self.lanes) for r in range(len(self.sums[0]))]
        x = [
            builder.load(vector_pointer(builder, self.Z.data, at, self.vector), align=4)
            for at in starts
        ]
        for number, line in enumerate(self.sums):
            place = builder.gep(self.Z.data, [self._after(builder.add(row, i), number)])
            z = splat(builder, builder.load(place), self.vector)
            for columns, total in zip(x, line, strict=True):
                builder.store(fused_multiply_add(builder, z, columns, builder.load(total)), total)

    def _add(self, corner: Any, j: Any) -> None:
        """Add the sums to their place; `corner` counts lines from the first level on."""
        builder = self.builder
        for number, line in enumerate(self.sums):
            start = builder.add(builder.mul(self._after(corner, number), self.width), j)
            for r, total in enumerate(line):
                at = self._after(start, r * self.lanes)
                place = vector_pointer(builder, self.S.data, at, self.double)
                more = builder.load(total)
                more = more if self.vector == self.double else builder.fpext(more, self.double)
                builder.store(builder.fadd(builder.load(place, align=8), more), place, align=8)

    def _after(self, start: Any, step: int) -> Any:
        return self.builder.add(start, ir.Constant(start.type, step))
