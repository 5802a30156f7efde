"""Columns of categories, numbers or text: grouping rules, value counts that merge, and text held in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tenfold.base._sklearn import is_pandas_na
from tenfold.engine.chunk import Chunk
from tenfold.io.opener import is_rows_like


def has_text(X: Any) -> bool:
    """Whether X is an array, list or table in memory with text in it."""
    if is_rows_like(X) or hasattr(X, "tocsr"):
        return False
    X = np.asarray(X, None if hasattr(X, "__array__") else object)
    return X.dtype.kind in "UT" or (
        X.dtype.kind == "O" and any(isinstance(value, str) for value in X.flat)
    )


class TextColumns:
    """Columns of numbers and of text beside each other, read as ``X[:, j]``."""

    dtype = np.dtype(np.float64)

    def __init__(self, X: np.ndarray) -> None:
        self.columns = [_to_float_or_text(column) for column in X.T]
        self.shape = X.shape

    def __getitem__(self, place: tuple[slice, Any]) -> np.ndarray:
        rows, column = place
        return self.columns[column][rows]


def _to_float_or_text(column: np.ndarray) -> np.ndarray:
    """Text with the empty text for what is missing, or float64 with NaN for it."""
    missing = [value is None or is_pandas_na(value) or value != value for value in column]  # noqa: PLR0124 - NaN
    if any(isinstance(value, str) for value in column):
        return np.array([_to_text(v, gone=m) for v, m in zip(column, missing, strict=True)], str)
    numbers = np.where(missing, np.nan, column)
    return numbers.astype(np.float64)


def _to_text(value: Any, *, gone: bool) -> str:
    return "" if gone else str(value)


class InMemoryTextRows:
    """The verbs `total` and `each` of rows, for a table with text in memory."""

    dtype = TextColumns.dtype

    def __init__(self, X: np.ndarray, w: np.ndarray | None) -> None:
        self.chunk = Chunk(TextColumns(X), None, w)

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        return f(self.chunk, *state)

    def each(self, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        return f(self.chunk, *state)


_MAX_DISTINCT_VALUES = 2**20  # different values of one column that are still counted


class GroupingRule(NamedTuple):
    """How values become labels: by a table, then by the start of a text, or by steps and a tail."""

    groups: dict[Any, Any] | None = None
    prefix: int | None = None
    step: float | None = None
    tail: float | None = None


def group_values(column: np.ndarray, rule: GroupingRule) -> np.ndarray:
    """The label of each value of a column, numbers or text.

    Examples
    --------
    >>> import numpy as np
    >>> group_values(np.array([2.0, 11.0, 27.0]), GroupingRule(tail=10)).tolist()
    [2.0, 10.0, 10.0]
    >>> group_values(np.array(["90210", "90211"]), GroupingRule(prefix=3)).tolist()
    ['902', '902']
    """
    if rule.groups:
        column = _map_groups(column, rule.groups)
    if column.dtype.kind == "U":
        return column if rule.prefix is None else column.astype(f"U{rule.prefix}")
    if rule.step is not None:
        column = np.floor(column / rule.step) * rule.step
    if rule.tail is not None:
        column = np.minimum(column, rule.tail)  # NaN stays NaN
    return column + 0.0  # one zero, not two


def _map_groups(column: np.ndarray, groups: dict[Any, Any]) -> np.ndarray:
    """Groups of the values; a value that is in no group stays itself."""
    values, places = np.unique(column, return_inverse=True)
    found = [groups.get(value, value) for value in values.tolist()]
    if any(isinstance(group, str) for group in groups.values()):
        found = [format_label(label) for label in found]
    return np.asarray(found, None if found else column.dtype)[places]


def format_label(label: Any) -> str:
    """A label as text, a missing one as none."""
    if isinstance(label, str):
        return label
    return "" if np.isnan(label) else f"{label:.12g}"


def is_present(labels: np.ndarray) -> np.ndarray:
    """Which labels are not missing: neither NaN nor an empty text."""
    return labels != "" if labels.dtype.kind == "U" else ~np.isnan(labels)


class ValueCounts(NamedTuple):
    """For each column its different labels, sorted, and the weight of each."""

    values: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...]

    def merge(self, other: ValueCounts) -> ValueCounts:
        pairs = zip(zip(*self, strict=True), zip(*other, strict=True), strict=True)
        return _from_columns([_merge_counts(*a, *b) for a, b in pairs])


def count_values(chunk: Chunk, columns: np.ndarray, rule: GroupingRule) -> ValueCounts:
    """Labels of some columns of a chunk, and their weights."""
    w = chunk.weights().astype(np.float64)
    return _from_columns([_count_labels(group_values(chunk.X[:, j], rule), w) for j in columns])


def _from_columns(pairs: list[tuple[np.ndarray, np.ndarray]]) -> ValueCounts:
    return ValueCounts(tuple(v for v, _ in pairs), tuple(c for _, c in pairs))


def _count_labels(labels: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    there = is_present(labels) & (w > 0)
    values, places = np.unique(labels[there], return_inverse=True)
    return values, np.bincount(places, w[there], len(values))


def _merge_counts(
    a: np.ndarray, n_a: np.ndarray, b: np.ndarray, n_b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if len(a) == 0 or len(b) == 0:
        return (a, n_a) if len(b) == 0 else (b, n_b)
    if (a.dtype.kind == "U") != (b.dtype.kind == "U"):
        raise ValueError("a column held numbers in some rows and text in others: convert it")
    values, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    if len(values) > _MAX_DISTINCT_VALUES:
        raise ValueError(
            f"a column has more than {_MAX_DISTINCT_VALUES} different values: group them (step, prefix, "
            "groups), or leave the column as it is (columns=[...])"
        )
    return values, np.bincount(places, np.concatenate([n_a, n_b]), len(values))


def select_frequent(counts: np.ndarray, least: float, most: int | None) -> np.ndarray:
    """Which labels get an indicator of their own; the rest is pooled in one more.

    Examples
    --------
    >>> import numpy as np
    >>> select_frequent(np.array([5.0, 1.0, 9.0, 3.0]), least=2, most=3).tolist()
    [True, False, True, False]
    """
    kept = counts >= (least * counts.sum() if least < 1 else least)
    if most is None or kept.sum() + (not kept.all()) <= most:
        return kept
    order = np.argsort(-counts, kind="stable")  # ties: the smaller label first
    best = np.zeros_like(kept)
    best[order[: most - 1]] = True
    return kept & best
