"""Checks of a chunk; errors name the place in the file or table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.merge_tree import flatten_statistic
from tenfold.engine.source import Source


def is_all_finite(statistic: Any) -> bool:
    """Whether all numbers of a statistic are finite."""
    return all(np.isfinite(x).all() for x in flatten_statistic(statistic) if x is not None)


def check_finite(source: Source, chunk: Chunk, numbers: Sequence[int] | np.ndarray) -> None:
    """Raise an error that names the first NaN or infinity of a chunk; `numbers` are its rows."""
    X = chunk.X.data if source.sparse else getattr(chunk.X, "values", chunk.X)
    flat = X.reshape(-1)
    with np.errstate(over="ignore"):
        squares = np.dot(flat, flat)
    if np.isfinite(squares) or np.isfinite(flat).all():
        return  # the sum of squares may overflow on fine numbers: then look at each
    bad = ~np.isfinite(flat)
    place, value = _locate(chunk.X, int(np.argmax(bad)))
    kind = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(
        f"Input X contains {kind}: {source.where(int(numbers[place[0]]))}, column "
        f"{source.column(place[1])}. Remove such rows, or fill them "
        "(sklearn.impute.SimpleImputer)."
    )


def _locate(X: Any, position: int) -> tuple[tuple[int, int], float]:
    if isinstance(X, np.ndarray):
        row, column = divmod(position, X.shape[1])
        return (row, column), X[row, column]
    if hasattr(X, "values"):  # ragged: the row is the sequence
        step, column = divmod(position, X.values.shape[1])
        return (int(np.searchsorted(X.offsets, step, "right")) - 1, column), X.values[step, column]
    row = int(np.searchsorted(X.indptr, position, "right")) - 1
    return (row, int(X.indices[position])), X.data[position]


def encode_labels(
    source: Source, y: np.ndarray, classes: np.ndarray, numbers: Sequence[int] | np.ndarray
) -> np.ndarray:
    """Labels as their numbers in the list of classes, which may have an order of its own."""
    order = np.argsort(classes, kind="stable")
    position = np.searchsorted(np.take(classes, order), y)
    codes = np.take(order, np.minimum(position, len(classes) - 1))
    known = np.take(classes, codes) == y
    if not np.all(known):
        row = int(np.argmin(known))
        label = y[row : row + 1].tolist()[0]
        raise ValueError(
            f"{source.where(int(numbers[row]))}: label {label!r} is not among the classes "
            f"{classes.tolist()}. The target labels [{label!r}] in y do not exist in the initial "
            "classes: pass all labels at once, `classes=`."
        )
    return codes


def format_names(things: list, most: int = 10) -> str:
    """Some names in words."""
    text = ", ".join(map(repr, things[:most]))
    return text if len(things) <= most else f"{text} and {len(things) - most} more"
