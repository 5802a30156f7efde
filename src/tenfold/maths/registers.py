"""Rows in the lanes of vector registers: products with centres that never touch memory.

A general matrix product writes every score down, and a second loop reads them to find the least.
Here sixteen rows lie side by side in a register, a centre's numbers are spread over all lanes, and
scores are compared where they arise. Compilers do not find this arrangement by themselves, so the
two kernels say it in LLVM's own words; registers narrower than sixteen numbers are its business.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

WIDE_REGISTERS = binding.get_host_cpu_features().get("avx512f", False)  # 32 of 64 bytes
LANES = 16  # rows in a register
SIDES = 4 if WIDE_REGISTERS else 1  # registers of rows
TILE = LANES * SIDES  # rows that are multiplied at once
CENTRES = 4  # centres at once: their sums and the rows are all that registers hold

FLOAT, INT = ir.FloatType(), ir.IntType(32)
ROWS, NUMBERS = ir.VectorType(FLOAT, LANES), ir.VectorType(INT, LANES)


def blocks_of(centres: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centres c and their |c|^2/2 as `two_best` wants them: -c, and filled up to whole blocks.

    Centres that fill up are infinitely far from all rows.
    """
    k, d = centres.shape
    whole = -(-k // CENTRES) * CENTRES
    negative, offset = np.zeros((whole, d), np.float32), np.full(whole, np.inf, np.float32)
    negative[:k], offset[:k] = -centres, half
    return negative, offset


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that begin where a line of the cache begins: no register then takes two of them."""
    size = prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + 64, np.uint8)
    start = -room.__array_interface__["data"][0] % 64
    return room[start : start + size].view(dtype).reshape(shape)


def array_of(context: Any, builder: ir.IRBuilder, kind: Any, value: Any) -> Any:
    """The fields of an array in compiled code: data, shape, strides."""
    return context.make_array(kind)(context, builder, value)


def spread_of(builder: ir.IRBuilder, number: Any, vector: ir.VectorType) -> Any:
    """A number in all lanes."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(INT, 0))
    lanes = ir.VectorType(INT, vector.count)
    return builder.shuffle_vector(first, nothing, ir.Constant(lanes, [0] * vector.count))


def place_of(builder: ir.IRBuilder, data: Any, offset: Any, vector: ir.VectorType) -> Any:
    """Where the vector that begins `offset` numbers after `data` lies."""
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


def fused(builder: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
    """Give a * b + c of vectors, in one step where the processor has it."""
    kind, bits = a.type, 32 if isinstance(a.type.element, ir.FloatType) else 64
    name = f"llvm.fmuladd.v{kind.count}f{bits}"
    call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
    return builder.call(call, [a, b, c])


@intrinsic
def _two_best(typing, columns, centres, half, best, second, near):  # noqa: ANN001, ANN202, ARG001
    """Write the two least scores half_j + centre_j.x of a tile, and the number of the least."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        arrays = [
            array_of(context, builder, *pair) for pair in zip(signature.args, args, strict=True)
        ]
        k, d = cgutils.unpack_tuple(builder, arrays[1].shape)
        _Scores(builder, [array.data for array in arrays], k, d).emit()
        return context.get_dummy_value()

    return types.void(columns, centres, half, best, second, near), code


class _Scores:
    """The code of `two_best`; variables on the stack become registers in LLVM's first pass."""

    def __init__(self, builder: ir.IRBuilder, data: list[Any], k: Any, d: Any) -> None:
        self.builder, self.k, self.d = builder, k, d
        self.columns, self.centres, self.half, *self.found = data
        kinds = (ROWS, ROWS, NUMBERS)
        self.two = [[self._variable(kind) for kind in kinds] for _ in range(SIDES)]
        self.sums = [[self._variable(ROWS) for _ in range(SIDES)] for _ in range(CENTRES)]

    def emit(self) -> None:
        builder, far = self.builder, ir.Constant(ROWS, [float("inf")] * LANES)
        for best, second, near in self.two:
            builder.store(far, best)
            builder.store(far, second)
            builder.store(ir.Constant(NUMBERS, [0] * LANES), near)
        step = self._number(CENTRES)
        with cgutils.for_range_slice(builder, self._number(0), self.k, step, self.k.type) as (j, _):
            self._multiply(j)
            self._compare(j)
        for side, variables in enumerate(self.two):
            for variable, data, kind in zip(
                variables, self.found, (ROWS, ROWS, NUMBERS), strict=True
            ):
                place = place_of(builder, data, self._number(LANES * side), kind)
                builder.store(builder.load(variable), place, align=4)

    def _multiply(self, j: Any) -> None:
        """Scores of the centres from j on."""
        builder = self.builder
        numbers = [builder.add(j, self._number(c)) for c in range(CENTRES)]
        for number, sums in zip(numbers, self.sums, strict=True):
            offset = spread_of(builder, builder.load(builder.gep(self.half, [number])), ROWS)
            for sum_ in sums:
                builder.store(offset, sum_)
        starts = [builder.mul(number, self.d) for number in numbers]
        with cgutils.for_range(builder, self.d) as loop:
            tile = builder.mul(loop.index, self._number(TILE))
            x = [self._columns(builder.add(tile, self._number(LANES * s))) for s in range(SIDES)]
            for start, sums in zip(starts, self.sums, strict=True):
                place = builder.gep(self.centres, [builder.add(start, loop.index)])
                c = spread_of(builder, builder.load(place), ROWS)
                for rows, sum_ in zip(x, sums, strict=True):
                    builder.store(fused(builder, c, rows, builder.load(sum_)), sum_)

    def _compare(self, j: Any) -> None:
        """Keep the two least scores; the earlier centre on a tie."""
        builder = self.builder
        for c, sums in enumerate(self.sums):
            number = builder.trunc(builder.add(j, self._number(c)), INT)
            name = spread_of(builder, number, NUMBERS)
            for sum_, (best, second, near) in zip(sums, self.two, strict=True):
                score, least, next_ = (builder.load(v) for v in (sum_, best, second))
                closer = builder.fcmp_ordered("<", score, least)
                larger = builder.select(closer, least, score)
                between = builder.fcmp_ordered("<", larger, next_)
                builder.store(builder.select(between, larger, next_), second)
                builder.store(builder.select(closer, score, least), best)
                builder.store(builder.select(closer, name, builder.load(near)), near)

    def _columns(self, offset: Any) -> Any:
        return self.builder.load(place_of(self.builder, self.columns, offset, ROWS), align=4)

    def _variable(self, kind: ir.VectorType) -> Any:
        return cgutils.alloca_once(self.builder, kind)

    def _number(self, value: int) -> ir.Constant:
        return ir.Constant(self.k.type, value)


@intrinsic
def _turn(typing, X, rows, first, column, columns, lane):  # noqa: ANN001, ANN202, ARG001
    """Turn a square of LANES rows and columns, from rows of X to lanes of `columns`."""

    def code(context, builder, signature, args):  # noqa: ANN001, ANN202
        X, rows, columns = (
            array_of(context, builder, signature.args[i], args[i]) for i in (0, 1, 4)
        )
        d = cgutils.unpack_tuple(builder, X.shape)[1]

        def at(start: Any, step: int) -> Any:
            return builder.add(start, ir.Constant(d.type, step))

        kind = ir.VectorType(context.get_value_type(signature.args[0].dtype), LANES)
        lines = []
        for i in range(LANES):
            row = builder.load(builder.gep(rows.data, [at(args[2], i)]))
            start = builder.add(builder.mul(row, d), args[3])
            line = builder.load(place_of(builder, X.data, start, kind), align=4)
            lines.append(line if kind == ROWS else builder.fptrunc(line, ROWS))
        for i, line in enumerate(_turned(lines, builder.shuffle_vector)):
            start = builder.mul(at(args[3], i), ir.Constant(d.type, TILE))
            place = place_of(builder, columns.data, builder.add(start, args[5]), ROWS)
            builder.store(line, place, align=4)
        return context.get_dummy_value()

    if not X.layout == rows.layout == columns.layout == "C":
        raise TypeError(f"registers take rows that lie together, not {X}, {rows} and {columns}")
    return types.void(X, rows, types.intp, types.intp, columns, types.intp), code


def _turned(lines: list[Any], shuffle: Callable[..., Any]) -> list[Any]:
    """A square of vectors turned: lines and lanes swap one bit of their numbers at a time."""
    for bit in (8, 4, 2, 1):
        lanes = range(LANES)
        upper = [lane if not lane & bit else LANES + lane - bit for lane in lanes]
        lower = [lane + bit if not lane & bit else LANES + lane for lane in lanes]
        for i in (i for i in lanes if not i & bit):
            a, b = lines[i], lines[i + bit]
            lines[i] = shuffle(a, b, ir.Constant(NUMBERS, upper))
            lines[i + bit] = shuffle(a, b, ir.Constant(NUMBERS, lower))
    return lines


@njit(cache=True, nogil=True, inline="always")
def to_lanes(X, rows, start, count, columns):  # noqa: ANN001, ANN201
    """Up to TILE rows of X, the numbers rows[start:start + count], to columns (d, TILE)."""
    d = X.shape[1]
    square, full = d // LANES * LANES, count // LANES * LANES
    for lane in range(0, full, LANES):
        for t in range(0, square, LANES):
            _turn(X, rows, start + lane, t, columns, lane)  # pyright: ignore[reportCallIssue]
    for lane in range(count):
        row = rows[start + lane]
        for t in range(square if lane < full else 0, d):
            columns[t, lane] = X[row, t]


@njit(cache=True, nogil=True, inline="always")
def two_best(columns, centres, half, best, second, near):  # noqa: ANN001, ANN201
    """The least and the second least |c|^2/2 - c.x of each lane, and the number of the least.

    Columns are those of `to_lanes`, centres and halves those of `blocks_of`.
    """
    _two_best(columns, centres, half, best, second, near)  # pyright: ignore[reportCallIssue]
