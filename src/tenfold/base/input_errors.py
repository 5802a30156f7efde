"""Errors about tables that hold something else than numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_NO_NUMBER = "could not convert string to float"


@contextmanager
def name_words(X: Any) -> Iterator[None]:
    """Say where a table holds a word instead of a number, and what to do.

    Examples
    --------
    >>> with name_words([[1.0, "dog"]]):
    ...     np.asarray([[1.0, "dog"]], dtype=float)
    Traceback (most recent call last):
    ValueError: could not convert string to float: 'dog' in row 0, column 1 of X. ...
    """
    try:
        yield
    except ValueError as problem:
        found = _find_word(X) if _NO_NUMBER in str(problem) else None
        if found is None:
            raise
        row, column, word = found
        raise ValueError(
            f"{_NO_NUMBER}: {word!r} in row {row}, column {column} of X. Give numbers: texts "
            "become counts with tenfold.WordCounts or TfIdf, columns of categories become "
            "columns of 0 and 1 with sklearn.preprocessing.OneHotEncoder"
        ) from None


def numeric_target(y: Any) -> Any:
    """The target of a regression, numbers also where they are written as text; words are refused.

    Names of columns and files pass.

    Examples
    --------
    >>> numeric_target(["cat", "dog"])
    Traceback (most recent call last):
    ValueError: could not convert string to float: 'cat' in row 0 of y. ...
    """
    if not isinstance(y, list | tuple | np.ndarray) and not hasattr(y, "to_numpy"):
        return y
    kind = getattr(getattr(y, "dtype", None), "kind", None)
    if kind is not None and kind in "fiub":
        return y
    values = np.asarray(y)
    if values.dtype.kind not in "OUS":
        return y
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        _refuse_words(values)
        return y
    return y if values.dtype.kind == "O" else numbers


def _refuse_words(values: np.ndarray) -> None:
    for row, entries in enumerate(values.reshape(len(values), -1)):
        for entry in entries:
            if isinstance(entry, str | bytes) and not _is_number(entry):
                raise ValueError(
                    f"{_NO_NUMBER}: {str(entry)!r} in row {row} of y. A regression needs numbers "
                    "as targets; for classes take a classifier"
                )


def _find_word(X: Any) -> tuple[int, Any, str] | None:
    """Row, column and text of the first entry that is no number."""
    table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        return None
    names = getattr(X, "columns", range(table.shape[1]))
    for row, entries in enumerate(table):
        for column, entry in zip(names, entries, strict=True):
            if isinstance(entry, str | bytes) and not _is_number(entry):
                return row, column, str(entry)
    return None


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
