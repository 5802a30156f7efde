"""Euclidean projections onto convex sets.

`project(v) = argmin_{x in C} |x - v|`
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Projection = Callable[[np.ndarray], np.ndarray]
Bound = float | np.ndarray


def non_negative(v: np.ndarray) -> np.ndarray:
    """Projection onto the non-negative orthant; the function is itself the projection.

    Examples
    --------
    >>> import numpy as np
    >>> non_negative(np.array([1.0, -2.0])).tolist()
    [1.0, 0.0]
    """
    return np.maximum(v, 0.0)


def box(low: Bound, high: Bound) -> Projection:
    """Projection onto low <= x <= high; bounds may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> box(0.0, 1.0)(np.array([-1.0, 0.5, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    if np.any(np.asarray(low) > np.asarray(high)):
        raise ValueError("the box is empty: some entry of `low` is above `high`")
    return lambda v: np.clip(v, low, high)


def ball(radius: float, center: Bound = 0.0) -> Projection:
    """Projection onto the ball `|x - center| <= radius` (Euclidean, over all entries).

    Examples
    --------
    >>> import numpy as np
    >>> ball(1.0)(np.array([3.0, 4.0])).round(12).tolist()
    [0.6, 0.8]
    """

    def project(v: np.ndarray) -> np.ndarray:
        offset = v - center
        distance = float(np.linalg.norm(offset))
        return v if distance <= radius else center + offset * (radius / distance)

    return project


def simplex(total: float = 1.0) -> Projection:
    """Projection onto the simplex x >= 0, sum x = total.

    All positive entries decrease by the same amount, the multiplier of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> simplex()(np.array([0.9, 0.5, -1.0])).round(12).tolist()
    [0.7, 0.3, 0.0]
    """

    def project(v: np.ndarray) -> np.ndarray:
        descending = np.sort(v)[::-1]
        thresholds = (np.cumsum(descending) - total) / np.arange(
            1, len(v) + 1
        )  # if that many stay positive
        last = np.flatnonzero(descending > thresholds)[-1]
        return np.maximum(v - thresholds[last], 0.0)

    return project


def half_space(a: np.ndarray, b: float) -> Projection:
    """Projection onto the half-space a.x <= b.

    Examples
    --------
    >>> import numpy as np
    >>> half_space(np.array([1.0, 1.0]), 2.0)(np.array([3.0, 1.0])).tolist()
    [2.0, 0.0]
    """
    squared_norm = float(a @ a)
    if squared_norm == 0:
        raise ValueError("the normal `a` of a half-space must not be zero")
    return lambda v: v - max(float(a @ v) - b, 0.0) / squared_norm * a


def affine(A: np.ndarray, b: np.ndarray) -> Projection:
    """Projection onto the affine set A x = b; rows may be dependent if there is a solution.

    Examples
    --------
    >>> import numpy as np
    >>> affine(np.array([[1.0, 1.0]]), np.array([2.0]))(np.array([3.0, 1.0])).round(12).tolist()
    [2.0, 0.0]
    """
    pseudo_inverse = np.linalg.pinv(A)
    if not np.allclose(A @ (pseudo_inverse @ b), b, atol=1e-9):
        raise ValueError("the equations A x = b contradict each other: no point satisfies them")
    return lambda v: v - pseudo_inverse @ (A @ v - b)
