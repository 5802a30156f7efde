"""What is refused before a kernel compares rows that a user gave."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_table(rows: np.ndarray, name: str) -> None:
    """Refuse rows that are no table of finite numbers.

    Parameters
    ----------
    rows : array of floats
        The rows.
    name : str
        Their name in the error.
    """
    if rows.ndim != 2:
        raise ValueError(
            f"{name} has {rows.ndim} dimension{'s' * (rows.ndim != 1)}, but a kernel compares "
            f"rows of a table: reshape(-1, 1) makes a column of numbers, reshape(1, -1) a row"
        )
    if not np.isfinite(rows.sum()) and not (finite := np.isfinite(rows)).all():
        i, j = np.argwhere(~finite)[0]
        raise ValueError(
            f"{name} contains {rows[i, j]} in row {i}, column {j}: remove such rows, or fill "
            "them (sklearn.impute.SimpleImputer)"
        )


def check_same_columns(X: Any, Z: Any) -> None:
    """Refuse two tables whose rows have not the same number of columns.

    Parameters
    ----------
    X, Z : arrays or sparse matrices
        The rows; objects, such as strings, are let through.
    """
    shapes: list[Any] = [getattr(rows, "shape", ()) for rows in (X, Z)]
    if all(len(shape) == 2 for shape in shapes) and shapes[0][1] != shapes[1][1]:
        raise ValueError(
            f"X has {shapes[0][1]} columns and Y has {shapes[1][1]}: a kernel compares rows of the "
            "same columns"
        )


def check_parameter(kernel: Any, name: str, *, zero_ok: bool = False) -> None:
    """Refuse a parameter of a kernel that is not positive.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    name : str
        The parameter, an attribute of it.
    zero_ok : bool
        Whether it may be 0.
    """
    value = getattr(kernel, name)
    if not (value > 0 or (zero_ok and value == 0)):
        least = "at least 0" if zero_ok else "positive"
        raise ValueError(f"{type(kernel).__name__}: {name} must be {least}, got {value!r}")
