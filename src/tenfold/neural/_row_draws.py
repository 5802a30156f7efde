"""Random numbers that belong to the values of a row: the same wherever the row stands.

A prediction that needs noise stays a function of the row alone, in any chunk, order or subset of
the rows, and yet rows of different values have independent noise.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def row_keys(x: np.ndarray, seed: int) -> np.ndarray:
    """A hash of the seed and the values of each row, (n_rows,) uint64.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]], np.float32)
    >>> keys = row_keys(x, seed=0)
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    >>> np.array_equal(keys, row_keys(x.astype(np.float64), seed=0))
    True
    """
    values = x.reshape(len(x), -1).astype(np.float64) + 0.0  # -0.0 becomes 0.0
    places = _mix(_count_up(0, values.shape[1]))
    cells = _mix(values.view(np.uint64) ^ places)
    return _mix(cells.sum(axis=1) + _mix(_count_up(seed, 1)))


def row_normals(keys: np.ndarray, first: int, k: int) -> np.ndarray:
    """Standard normal numbers first, first + 1, ... of the rows with these keys, (n_rows, k)."""
    bits = _mix(keys[:, None] + _count_up(first, k) * _GOLDEN)
    return ndtri(((bits >> np.uint64(12)) + 0.5) * 2.0**-52)  # never 0 or 1


def _count_up(first: int, k: int) -> np.ndarray:
    return np.arange(first + 1, first + k + 1, dtype=np.uint64)


def _mix(bits: np.ndarray) -> np.ndarray:
    """A hash of 64 bits (the finalizer of splitmix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
