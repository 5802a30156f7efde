"""Steps of recursions along sequences, eight sequences at a time: one in each lane of a vector.

A table of K states has K rows; its column `8 t + l` is step t of the sequence in lane l, so that
eight neighbors of a row are one vector. Each lane is computed by itself, in an order that depends
on K alone: what else is in the vector cannot be seen in its bits. LLVM would leave these loops in
scalars, since a trip count of eight is unrolled before it looks for vectors.

Benchmark case: `hmm-1000x200-K8-scaling` (benchmarks/sequences.py): forward and backward messages
together take a fifth of the time of loops over the states of one sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tenfold._compiled.simd import array_struct, fused_multiply_add, splat, vector_pointer

LANES = 8
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INT64 = ir.IntType(64)
_BLOCK = 4  # results whose sums stay in registers at a time


class _Steps:
    """Writes loops over the states of a step."""

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> None:
        self.builder = builder
        self.values = [
            array_struct(context, builder, kind, value).data
            if isinstance(kind, types.Array)
            else value
            for kind, value in zip(signature.args, args, strict=True)
        ]

    def load(self, data: Any, at: Any) -> Any:
        """Eight lanes from `at` on."""
        found: Any = self.builder.load(vector_pointer(self.builder, data, at, _VECTOR))
        found.align = 8
        return found

    def store(self, value: Any, data: Any, at: Any) -> None:
        """Put eight lanes in their place."""
        stored: Any = self.builder.store(value, vector_pointer(self.builder, data, at, _VECTOR))
        stored.align = 8

    def row(self, at: Any, stride: Any, state: Any) -> Any:
        """Where the lanes of a state begin."""
        return self.builder.add(at, self.builder.mul(stride, state))

    def each_product(
        self,
        table: Any,
        at: Any,
        stride: Any,
        matrix: Any,
        K: Any,
        combine: Callable[..., Any],
        neutral: float,
        use: Callable[[Any, Any], None],
    ) -> None:
        """Call `use(j, the sum over i of table[i] matrix[i, j])` for each state j.

        `combine(sum, lanes, entry)` adds a term; it may be another operation than a sum.
        """
        builder = self.builder
        blocks = builder.udiv(K, _int(_BLOCK))
        with cgutils.for_range(builder, blocks) as block:
            first = builder.mul(block.index, _int(_BLOCK))
            self._sums(table, at, stride, matrix, K, first, _BLOCK, combine, neutral, use)
        whole = builder.mul(blocks, _int(_BLOCK))
        with cgutils.for_range(builder, builder.sub(K, whole)) as rest:
            first = builder.add(whole, rest.index)
            self._sums(table, at, stride, matrix, K, first, 1, combine, neutral, use)

    def _sums(
        self,
        table: Any,
        at: Any,
        stride: Any,
        matrix: Any,
        K: Any,
        first: Any,
        width: int,
        combine: Callable[..., Any],
        neutral: float,
        use: Callable[[Any, Any], None],
    ) -> None:
        """The same for some neighboring states, in one loop over i."""
        builder = self.builder
        start = ir.Constant(_VECTOR, [neutral] * LANES)
        sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(width)]
        for one in sums:
            builder.store(start, one)
        with cgutils.for_range(builder, K) as loop:
            lanes = self.load(table, self.row(at, stride, loop.index))
            entries = builder.add(builder.mul(loop.index, K), first)
            for offset, one in enumerate(sums):
                pointer = builder.gep(matrix, [builder.add(entries, _int(offset))])
                entry = splat(builder, builder.load(pointer), _VECTOR)
                builder.store(combine(builder, builder.load(one), lanes, entry), one)
        for offset, one in enumerate(sums):
            use(builder.add(first, _int(offset)), builder.load(one))


def _int(value: int) -> Any:
    return ir.Constant(_INT64, value)


def _add_product(builder: ir.IRBuilder, total: Any, lanes: Any, entry: Any) -> Any:
    return fused_multiply_add(builder, lanes, entry, total)


def _keep_larger_sum(builder: ir.IRBuilder, best: Any, lanes: Any, entry: Any) -> Any:
    way = builder.fadd(lanes, entry)
    return builder.select(builder.fcmp_ordered(">", way, best), way, best)


def _void(*arguments: Any) -> Any:
    return types.void(*arguments)


def _emit_forward(
    typing: Any,  # noqa: ARG001
    before: Any,
    before_at: Any,
    before_stride: Any,
    A: Any,
    K: Any,
    B: Any,
    alpha: Any,
    at: Any,
    stride: Any,
    scale: Any,
) -> Any:
    """Filter one step: alpha = (before A) B / scale, with the scale that makes its sum one.

    `before` is the table of filtered probabilities of the step before, from `before_at` on.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        steps = _Steps(context, builder, signature, args)
        before, before_at, before_stride, A, K, B, alpha, at, stride, scale = steps.values
        total = cgutils.alloca_once(builder, _VECTOR)
        builder.store(ir.Constant(_VECTOR, [0.0] * LANES), total)

        def weigh(state: Any, moved: Any) -> None:
            place = steps.row(at, stride, state)
            joint = builder.fmul(moved, steps.load(B, place))
            steps.store(joint, alpha, place)
            builder.store(builder.fadd(builder.load(total), joint), total)

        steps.each_product(before, before_at, before_stride, A, K, _add_product, 0.0, weigh)
        steps.store(builder.load(total), scale, at)
        inverse = builder.fdiv(ir.Constant(_VECTOR, [1.0] * LANES), builder.load(total))
        with cgutils.for_range(builder, K) as loop:
            place = steps.row(at, stride, loop.index)
            steps.store(builder.fmul(steps.load(alpha, place), inverse), alpha, place)
        return context.get_dummy_value()

    return _void(before, before_at, before_stride, A, K, B, alpha, at, stride, scale), code


def _emit_backward(
    typing: Any,  # noqa: ARG001
    beta: Any,
    A_transposed: Any,
    K: Any,
    B: Any,
    alpha: Any,
    gamma: Any,
    at: Any,
    stride: Any,
    scale: Any,
) -> Any:
    """Smooth one step, gamma = alpha beta, and go to the step before it.

    B becomes the message B beta / scale, and beta, (K, 8), the product of A and that message.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        steps = _Steps(context, builder, signature, args)
        beta, A_transposed, K, B, alpha, gamma, at, stride, scale = steps.values
        inverse = builder.fdiv(ir.Constant(_VECTOR, [1.0] * LANES), steps.load(scale, at))
        with cgutils.for_range(builder, K) as loop:
            place = steps.row(at, stride, loop.index)
            after = steps.load(beta, builder.mul(loop.index, _int(LANES)))
            steps.store(builder.fmul(steps.load(alpha, place), after), gamma, place)
            weighed = builder.fmul(builder.fmul(steps.load(B, place), inverse), after)
            steps.store(weighed, B, place)

        def keep(state: Any, moved: Any) -> None:
            steps.store(moved, beta, builder.mul(state, _int(LANES)))

        steps.each_product(B, at, stride, A_transposed, K, _add_product, 0.0, keep)
        return context.get_dummy_value()

    return _void(beta, A_transposed, K, B, alpha, gamma, at, stride, scale), code


def _emit_best(
    typing: Any,  # noqa: ARG001
    before: Any,
    before_at: Any,
    before_stride: Any,
    log_A: Any,
    K: Any,
    values: Any,
    at: Any,
    stride: Any,
) -> Any:
    """Add to the values of a step those of the best way to each state from the step before."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        steps = _Steps(context, builder, signature, args)
        before, before_at, before_stride, log_A, K, values, at, stride = steps.values

        def add(state: Any, best: Any) -> None:
            place = steps.row(at, stride, state)
            steps.store(builder.fadd(steps.load(values, place), best), values, place)

        steps.each_product(
            before, before_at, before_stride, log_A, K, _keep_larger_sum, -np.inf, add
        )
        return context.get_dummy_value()

    return _void(before, before_at, before_stride, log_A, K, values, at, stride), code


step_forward: Any = intrinsic(_emit_forward)
step_backward: Any = intrinsic(_emit_backward)
step_best: Any = intrinsic(_emit_best)
