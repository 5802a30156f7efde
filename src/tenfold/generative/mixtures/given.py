"""Checks of what a user gave a mixture to start with, and of what came of it."""

from __future__ import annotations

import numpy as np


def refuse_infinity(means: np.ndarray) -> None:
    """Raise an error that names a column with an infinity in it."""
    bad = ~np.isfinite(means).all(axis=0)
    if bad.any():
        raise ValueError(
            f"Input X contains infinity, or numbers too large for a sum: column {np.argmax(bad)}. "
            "Write NaN where a value is missing."
        )


def checked_weights(weights: np.ndarray, k: int) -> np.ndarray:
    """Weights that a user gave."""
    if weights.shape != (k,):
        raise ValueError(
            f"The parameter 'weights' should have the shape of ({k},), but got {weights.shape}"
        )
    if (weights < 0).any() or (weights > 1).any():
        raise ValueError(
            "The parameter 'weights' should be in the range [0, 1], but got max value "
            f"{weights.min():.5f}, min value {weights.max():.5f}"
        )
    if not np.allclose(weights.sum(), 1.0, atol=1e-6):
        raise ValueError(
            "The parameter 'weights' should be normalized, but got sum(weights) = "
            f"{weights.sum():.5f}"
        )
    return weights


def checked_means(means: np.ndarray, wanted: tuple[int, int]) -> np.ndarray:
    """Means that a user gave."""
    if means.shape != wanted:
        raise ValueError(
            f"The parameter 'means' should have the shape of {wanted}, but got {means.shape}"
        )
    return means
