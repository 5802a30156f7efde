"""Counter-based random numbers per row: the same for any chunking and engine."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

_DRAWS_PER_COUNTER = 4  # Philox makes four numbers of 64 bits a tick


def uniforms(seed: int, first: int, rows: int, k: int = 1) -> np.ndarray:
    """Uniform numbers in (0, 1), `k` for each of the rows first, first + 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> whole = uniforms(seed=7, first=0, rows=10, k=3)
    >>> np.array_equal(whole[4:], uniforms(seed=7, first=4, rows=6, k=3))
    True
    """
    ticks = -(-int(k) // _DRAWS_PER_COUNTER)
    bits = np.random.Philox(key=seed).advance(int(first) * ticks)
    draws = np.random.Generator(bits).random((rows, _DRAWS_PER_COUNTER * ticks))[:, :k]
    return np.maximum(draws, 2.0**-54)  # 0 has no logarithm and no normal quantile


def normals(seed: int, first: int, rows: int, k: int = 1) -> np.ndarray:
    """Standard normal numbers, `k` for each row (by the quantile function: one uniform each)."""
    return ndtri(uniforms(seed, first, rows, k))
