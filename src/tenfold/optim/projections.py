"""Euclidean projections onto convex sets.

`project(v) = argmin_{x in C} |x - v|`
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Projection = Callable[[np.ndarray], np.ndarray]
Bound = float | np.ndarray


def non_negative(v: np.ndarray) -> np.ndarray:
    """The nearest point without negative entries: itself a projection, no need to call it first.

    Examples
    --------
    >>> import numpy as np
    >>> non_negative(np.array([1.0, -2.0])).tolist()
    [1.0, 0.0]
    """
    return np.maximum(v, 0.0)


def box(low: Bound, high: Bound) -> Projection:
    """On low <= x <= high; bounds may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> box(0.0, 1.0)(np.array([-1.0, 0.5, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    if np.any(np.asarray(low) > np.asarray(high)):
        raise ValueError("the box is empty: some entry of `low` is above `high`")
    return lambda v: np.clip(v, low, high)


def ball(radius: float, centre: Bound = 0.0) -> Projection:
    """On `|x - centre| <= radius` (Euclidean; all entries of a matrix together).

    Examples
    --------
    >>> import numpy as np
    >>> ball(1.0)(np.array([3.0, 4.0])).round(12).tolist()
    [0.6, 0.8]
    """

    def project(v: np.ndarray) -> np.ndarray:
        away = v - centre
        length = float(np.linalg.norm(away))
        return v if length <= radius else centre + away * (radius / length)

    return project


def simplex(total: float = 1.0) -> Projection:
    """On x >= 0, sum x = total. The multiplier of the sum is what all positive entries lose.

    Examples
    --------
    >>> import numpy as np
    >>> simplex()(np.array([0.9, 0.5, -1.0])).round(12).tolist()
    [0.7, 0.3, 0.0]
    """

    def project(v: np.ndarray) -> np.ndarray:
        falling = np.sort(v)[::-1]
        loss = (np.cumsum(falling) - total) / np.arange(1, len(v) + 1)  # if so many stay positive
        kept = np.flatnonzero(falling > loss)[-1]
        return np.maximum(v - loss[kept], 0.0)

    return project


def half_space(a: np.ndarray, b: float) -> Projection:
    """On a.x <= b.

    Examples
    --------
    >>> import numpy as np
    >>> half_space(np.array([1.0, 1.0]), 2.0)(np.array([3.0, 1.0])).tolist()
    [2.0, 0.0]
    """
    square = float(a @ a)
    if square == 0:
        raise ValueError("the normal `a` of a half-space must not be zero")
    return lambda v: v - max(float(a @ v) - b, 0.0) / square * a


def affine(A: np.ndarray, b: np.ndarray) -> Projection:
    """On A x = b; rows may depend on each other as long as there is a solution.

    Examples
    --------
    >>> import numpy as np
    >>> affine(np.array([[1.0, 1.0]]), np.array([2.0]))(np.array([3.0, 1.0])).round(12).tolist()
    [2.0, 0.0]
    """
    inverse = np.linalg.pinv(A)
    if not np.allclose(A @ (inverse @ b), b, atol=1e-9):
        raise ValueError("the equations A x = b contradict each other: no point satisfies them")
    return lambda v: v - inverse @ (A @ v - b)
