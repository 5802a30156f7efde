"""The number of ones among the bits of a word, as one instruction.

Rows of zeros and ones are packed 64 to a word; what two of them have in common is the count of the
ones of `a & b`::

    common += popcount(a[w] & b[w])     for all words w

Loops over it are vectorized where the processor counts bits in its vector registers. Benchmark
case: `hamming` (benchmarks/neighbors.py).
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic


def _emit_popcount(_: Any, word: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Typing and code of popcount(word)."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(values[0])

    return types.uint64(types.uint64), code


popcount: Any = intrinsic(_emit_popcount)
