"""Where a fit begins: at the last one, on a sample of the rows, or in the middle of y."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.rows import Chunk, Rows
from tenfold.rows.arrays import Arrays, SparseArrays

LEAST_SAMPLE = 2_000  # rows


def last_fit(model: Any) -> np.ndarray | None:
    """Coefficients and constant [w b] of the last fit, if the model asks for them and has them."""
    coef = np.ravel(getattr(model, "coef_", ()))
    if not model.warm_start or len(coef) != model.n_features_in_:
        return None
    constant = model.intercept_ if model.fit_intercept else 0.0
    return np.append(coef, constant).astype(np.float64)


def sampled(rows: Rows, k: int, seed: int) -> Rows:
    """So many of the rows, drawn by their numbers, in memory."""
    part = rows.sample(k, seed)
    place = SparseArrays if rows.sparse else Arrays
    return Rows(place(part.X, part.y, part.w, finite=True))


def middle_and_size(rows: Rows, *, centred: bool) -> tuple[float, float]:
    """Median of the target (0 if not centred) and of its distance from there, on a sample."""
    part = rows.sample(5 * LEAST_SAMPLE, seed=0)
    y = part.y[part.weights() > 0].astype(np.float64)
    middle = float(np.median(y)) if centred and len(y) else 0.0
    off = np.abs(y - middle)
    sizes = (float(size(off)) for size in (np.median, np.mean) if len(off))
    return middle, next((size for size in sizes if size > 0), 1.0)


def weight(chunk: Chunk) -> float:
    """Total weight of a chunk."""
    return chunk.weight
