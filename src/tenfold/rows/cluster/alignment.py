"""Arrays that came over a wire may begin at any byte; with such ones numpy takes other paths.

Then `X.T @ X` is no longer one symmetric product, for example, and the bits differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.rows.chunk import Chunk
from tenfold.rows.tree import mapped


def aligned(values: Any) -> Any:
    """The same number, array, tuple or dict; arrays begin where their numbers may lie."""
    return mapped(_aligned, values)


def _aligned(array: Any) -> Any:
    return array.copy() if isinstance(array, np.ndarray) and not array.flags.aligned else array


def aligned_chunk(chunk: Chunk) -> Chunk:
    """The same chunk; a copy of 1 MiB is as good as free, because it stays in the cache."""
    X = chunk.X
    for name in ("data", "values"):  # of a CSR array, of sequences
        inner = getattr(X, name, None)
        if not isinstance(X, np.ndarray) and isinstance(inner, np.ndarray):
            setattr(X, name, _aligned(inner))
    return Chunk(_aligned(X), _aligned(chunk.y), _aligned(chunk.w), chunk.first)
