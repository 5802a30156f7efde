"""Predictions as columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np


def with_predictions(
    columns: dict[str, list[Any]],
    predicted: np.ndarray,
    shares: dict[Any, np.ndarray],
    ends: np.ndarray | None,
) -> dict[str, list[Any]]:
    """Columns that were kept, and behind them what was predicted, under names that are free.

    Examples
    --------
    >>> with_predictions({"prediction": ["old"]}, np.array([1]), {"a": np.array([0.5])}, None)
    {'prediction': ['old'], 'prediction (model)': [1], 'probability of a': [0.5]}
    """
    columns[_free("prediction", columns)] = predicted.tolist()
    for label, share in shares.items():
        columns[_free(f"probability of {label}", columns)] = share.tolist()
    if ends is not None:
        columns |= {"low": ends[:, 0].tolist(), "high": ends[:, 1].tolist()}
    return columns


def _free(name: str, taken: dict[str, Any]) -> str:
    """A name that no kept column has."""
    return name if name not in taken else _free(f"{name} (model)", taken)
