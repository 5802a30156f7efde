"""Hoyer's sparseness of vectors, and the nearest non-negative vectors of at least that sparseness.

The sparseness of v with p entries is ``(sqrt(p) - |v|_1 / |v|_2) / (sqrt(p) - 1)``: 0 if all
entries are equal, 1 if a single one is not zero.

References
----------
P. Hoyer (2004), Non-negative matrix factorization with sparseness constraints.
"""

from __future__ import annotations

import numpy as np


def hoyer_sparseness(V: np.ndarray) -> np.ndarray:
    """Sparseness of each row of V; 1 for a row of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> hoyer_sparseness(np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 3.0, 0.0, 0.0]])).tolist()
    [0.0, 1.0]
    """
    V = np.atleast_2d(np.asarray(V, np.float64))
    root = np.sqrt(V.shape[1])
    length = np.linalg.norm(V, axis=1)
    ratio = np.abs(V).sum(axis=1) / np.where(length > 0, length, 1.0)
    return np.where(length > 0, (root - ratio) / max(root - 1.0, 1e-300), 1.0)


def project_sparse(V: np.ndarray, sparseness: float) -> np.ndarray:
    """The nearest non-negative rows whose sparseness is at least this.

    Such vectors form a cone: the nearest one is the unit vector of the cone that lies closest in
    direction, times its product with the row.

    Examples
    --------
    >>> import numpy as np
    >>> U = project_sparse(np.array([[3.0, 2.0, 1.0, 0.5]]), 0.7)
    >>> hoyer_sparseness(U).round(6).tolist()
    [0.7]
    """
    out = np.maximum(V, 0.0)
    root = np.sqrt(V.shape[1])
    total = root - sparseness * (root - 1.0)  # |u|_1 of a unit vector on the border of the cone
    for i in np.flatnonzero(hoyer_sparseness(out) < sparseness):
        u = _nearest_unit_vector(V[i].astype(np.float64), total)
        out[i] = max(float(u @ V[i]), 0.0) * u
    return out


def _nearest_unit_vector(v: np.ndarray, total: float) -> np.ndarray:
    """The non-negative vector with |u|_1 = total and |u|_2 = 1 that is nearest to v."""
    free = np.ones(len(v), bool)
    u = v + (total - v.sum()) / len(v)
    while True:
        m = int(free.sum())
        center = np.where(free, total / m, 0.0)
        direction = np.where(free, u - center, 0.0)
        square = float(direction @ direction)
        rest = max(1.0 - total * total / m, 0.0)
        if square == 0.0:  # equal entries: any direction in the plane is as near
            direction = np.where(free, np.arange(len(v), 0, -1.0), 0.0)
            direction = np.where(free, direction - direction.sum() / m, 0.0)
            square = float(direction @ direction) or 1.0
        u = center + np.sqrt(rest / square) * direction
        negative = free & (u < 0)
        if not negative.any():
            return np.maximum(u, 0.0)
        free &= ~negative
        u = np.where(free, u, 0.0)
        u = np.where(free, u + (total - u.sum()) / free.sum(), 0.0)
