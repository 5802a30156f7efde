"""Rows that are not numbers, such as words and categories, for clustering by a distance alone."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tenfold.engine.memory import check_memory
from tenfold.io.opener import is_rows_like


def holds_objects(X: Any, metric: Any) -> bool:
    """Whether X in memory holds something else than numbers, and the metric can compare it."""
    comparable = callable(metric) or metric == "hamming"
    if not comparable or is_rows_like(X) or hasattr(X, "tocsr"):
        return False
    X = np.asarray(X, None if hasattr(X, "__array__") else object)
    if X.dtype.kind != "O":
        return X.dtype.kind in "UST"
    return any(not isinstance(value, Number | np.generic | type(None)) for value in X.flat)


def check_objects(model: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Such rows as an (n, p) array, of text if all are text; names of columns are remembered."""
    checked: Any = validate_data(model, X, dtype=object, ensure_all_finite=False, reset=reset)
    check_memory(
        8.0 * len(checked) ** 2 if reset else 0.0,
        f"{type(model).__name__} of {len(checked):,} rows that are not numbers",
        "take a sample of the rows",
    )
    return checked.astype(str) if all(isinstance(value, str) for value in checked.flat) else checked
