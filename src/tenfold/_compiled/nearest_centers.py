"""Rows in the lanes of vector registers: products with centres that never touch memory.

A general matrix product writes every score down, and a second loop reads them to find the least.
Here sixteen rows lie side by side in a register, a centre's numbers are spread over all lanes, and
scores are compared where they arise. Compilers do not find this arrangement by themselves, so the
two kernels say it in LLVM's own words; registers narrower than sixteen numbers are its business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tenfold._compiled.simd import (
    FLOAT32,
    INT32,
    WIDE_REGISTERS,
    array_struct,
    fused_multiply_add,
    splat,
    vector_pointer,
)

_LANES = 16  # rows in a register
_ROW_REGISTERS = 4 if WIDE_REGISTERS else 1  # registers of rows
TILE_ROWS = _LANES * _ROW_REGISTERS  # rows that are multiplied at once
CENTERS_PER_BLOCK = 4  # centres at once: their sums and the rows are all that registers hold
_ROW_VECTOR, _INDEX_VECTOR = ir.VectorType(FLOAT32, _LANES), ir.VectorType(INT32, _LANES)


def pack_centers(centres: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centres c and their |c|^2/2 as `two_nearest` wants them: -c, and filled up to whole blocks.

    Centres that fill up are infinitely far from all rows.
    """
    k, d = centres.shape
    whole = -(-k // CENTERS_PER_BLOCK) * CENTERS_PER_BLOCK
    negative, offset = np.zeros((whole, d), np.float32), np.full(whole, np.inf, np.float32)
    negative[:k], offset[:k] = -centres, half
    return negative, offset


@intrinsic
def _two_nearest(typing, columns, centres, half, best, second, near):  # noqa: ANN001, ANN202, ARG001
    """Write the two least scores half_j + centre_j.x of a tile, and the number of the least."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        arrays = [
            array_struct(context, builder, *pair) for pair in zip(signature.args, args, strict=True)
        ]
        k, d = cgutils.unpack_tuple(builder, arrays[1].shape)
        _TwoNearestKernel(builder, [array.data for array in arrays], k, d).emit()
        return context.get_dummy_value()

    return types.void(columns, centres, half, best, second, near), code


class _TwoNearestKernel:
    """The code of `two_nearest`; variables on the stack become registers in LLVM's first pass."""

    def __init__(self, builder: ir.IRBuilder, data: list[Any], k: Any, d: Any) -> None:
        self.builder, self.k, self.d = builder, k, d
        self.columns, self.centres, self.half, *self.found = data
        kinds = (_ROW_VECTOR, _ROW_VECTOR, _INDEX_VECTOR)
        self.two = [[self._variable(kind) for kind in kinds] for _ in range(_ROW_REGISTERS)]
        self.sums = [
            [self._variable(_ROW_VECTOR) for _ in range(_ROW_REGISTERS)]
            for _ in range(CENTERS_PER_BLOCK)
        ]

    def emit(self) -> None:
        builder, far = self.builder, ir.Constant(_ROW_VECTOR, [float("inf")] * _LANES)
        for best, second, near in self.two:
            builder.store(far, best)
            builder.store(far, second)
            builder.store(ir.Constant(_INDEX_VECTOR, [0] * _LANES), near)
        step = self._number(CENTERS_PER_BLOCK)
        with cgutils.for_range_slice(builder, self._number(0), self.k, step, self.k.type) as (j, _):
            self._multiply(j)
            self._compare(j)
        for side, variables in enumerate(self.two):
            for variable, data, kind in zip(
                variables, self.found, (_ROW_VECTOR, _ROW_VECTOR, _INDEX_VECTOR), strict=True
            ):
                place = vector_pointer(builder, data, self._number(_LANES * side), kind)
                builder.store(builder.load(variable), place, align=4)

    def _multiply(self, j: Any) -> None:
        """Scores of the centres from j on."""
        builder = self.builder
        numbers = [builder.add(j, self._number(c)) for c in range(CENTERS_PER_BLOCK)]
        for number, sums in zip(numbers, self.sums, strict=True):
            offset = splat(builder, builder.load(builder.gep(self.half, [number])), _ROW_VECTOR)
            for sum_ in sums:
                builder.store(offset, sum_)
        starts = [builder.mul(number, self.d) for number in numbers]
        with cgutils.for_range(builder, self.d) as loop:
            tile = builder.mul(loop.index, self._number(TILE_ROWS))
            x = [
                self._columns(builder.add(tile, self._number(_LANES * s)))
                for s in range(_ROW_REGISTERS)
            ]
            for start, sums in zip(starts, self.sums, strict=True):
                place = builder.gep(self.centres, [builder.add(start, loop.index)])
                c = splat(builder, builder.load(place), _ROW_VECTOR)
                for rows, sum_ in zip(x, sums, strict=True):
                    builder.store(fused_multiply_add(builder, c, rows, builder.load(sum_)), sum_)

    def _compare(self, j: Any) -> None:
        """Keep the two least scores; the earlier centre on a tie."""
        builder = self.builder
        for c, sums in enumerate(self.sums):
            number = builder.trunc(builder.add(j, self._number(c)), INT32)
            name = splat(builder, number, _INDEX_VECTOR)
            for sum_, (best, second, near) in zip(sums, self.two, strict=True):
                score, least, next_ = (builder.load(v) for v in (sum_, best, second))
                closer = builder.fcmp_ordered("<", score, least)
                larger = builder.select(closer, least, score)
                between = builder.fcmp_ordered("<", larger, next_)
                builder.store(builder.select(between, larger, next_), second)
                builder.store(builder.select(closer, score, least), best)
                builder.store(builder.select(closer, name, builder.load(near)), near)

    def _columns(self, offset: Any) -> Any:
        return self.builder.load(
            vector_pointer(self.builder, self.columns, offset, _ROW_VECTOR), align=4
        )

    def _variable(self, kind: ir.VectorType) -> Any:
        return cgutils.alloca_once(self.builder, kind)

    def _number(self, value: int) -> ir.Constant:
        return ir.Constant(self.k.type, value)


@intrinsic
def _transpose_block(typing, X, rows, first, column, columns, lane):  # noqa: ANN001, ANN202, ARG001
    """Turn a square of LANES rows and columns, from rows of X to lanes of `columns`."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        X, rows, columns = (
            array_struct(context, builder, signature.args[i], args[i]) for i in (0, 1, 4)
        )
        d = cgutils.unpack_tuple(builder, X.shape)[1]

        def at(start: Any, step: int) -> Any:
            return builder.add(start, ir.Constant(d.type, step))

        kind = ir.VectorType(context.get_value_type(signature.args[0].dtype), _LANES)
        lines = []
        for i in range(_LANES):
            row = builder.load(builder.gep(rows.data, [at(args[2], i)]))
            start = builder.add(builder.mul(row, d), args[3])
            line = builder.load(vector_pointer(builder, X.data, start, kind), align=4)
            lines.append(line if kind == _ROW_VECTOR else builder.fptrunc(line, _ROW_VECTOR))
        for i, line in enumerate(_butterfly_transpose(lines, builder.shuffle_vector)):
            start = builder.mul(at(args[3], i), ir.Constant(d.type, TILE_ROWS))
            place = vector_pointer(builder, columns.data, builder.add(start, args[5]), _ROW_VECTOR)
            builder.store(line, place, align=4)
        return context.get_dummy_value()

    if not X.layout == rows.layout == columns.layout == "C":
        raise TypeError(f"registers take rows that lie together, not {X}, {rows} and {columns}")
    return types.void(X, rows, types.intp, types.intp, columns, types.intp), code


def _butterfly_transpose(lines: list[Any], shuffle: Callable[..., Any]) -> list[Any]:
    """A square of vectors turned: lines and lanes swap one bit of their numbers at a time."""
    for bit in (8, 4, 2, 1):
        lanes = range(_LANES)
        upper = [lane if not lane & bit else _LANES + lane - bit for lane in lanes]
        lower = [lane + bit if not lane & bit else _LANES + lane for lane in lanes]
        for i in (i for i in lanes if not i & bit):
            a, b = lines[i], lines[i + bit]
            lines[i] = shuffle(a, b, ir.Constant(_INDEX_VECTOR, upper))
            lines[i + bit] = shuffle(a, b, ir.Constant(_INDEX_VECTOR, lower))
    return lines


@njit(cache=True, nogil=True, inline="always")
def transpose_rows(X, rows, start, count, columns):  # noqa: ANN001, ANN202
    """Up to TILE rows of X, the numbers rows[start:start + count], to columns (d, TILE)."""
    d = X.shape[1]
    square, full = d // _LANES * _LANES, count // _LANES * _LANES
    for lane in range(0, full, _LANES):
        for t in range(0, square, _LANES):
            _transpose_block(X, rows, start + lane, t, columns, lane)  # pyright: ignore[reportCallIssue]
    for lane in range(count):
        row = rows[start + lane]
        for t in range(square if lane < full else 0, d):
            columns[t, lane] = X[row, t]


@njit(cache=True, nogil=True, inline="always")
def two_nearest(columns, centres, half, best, second, near):  # noqa: ANN001, ANN202
    """The least and the second least |c|^2/2 - c.x of each lane, and the number of the least.

    Columns are those of `transpose_rows`, centres and halves those of `pack_centers`.
    """
    _two_nearest(columns, centres, half, best, second, near)  # pyright: ignore[reportCallIssue]
