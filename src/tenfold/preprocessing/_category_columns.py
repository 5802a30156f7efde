"""Columns of categories, numbers or text: grouping rules, and value counts that merge."""

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

    def __getitem__(self, index: tuple[slice, Any]) -> np.ndarray:
        rows, column = index
        return self.columns[column][rows]


def _to_float_or_text(column: np.ndarray) -> np.ndarray:
    """Text with "" for missing values, or float64 with NaN."""
    missing = [value is None or is_pandas_na(value) or value != value for value in column]  # noqa: PLR0124 - NaN
    if any(isinstance(value, str) for value in column):
        return np.array(
            [_to_text(v, is_missing=m) for v, m in zip(column, missing, strict=True)], str
        )
    numbers = np.where(missing, np.nan, column)
    return numbers.astype(np.float64)


def _to_text(value: Any, *, is_missing: bool) -> str:
    return "" if is_missing else str(value)


class InMemoryTextRows:
    """`total` and `each` of `Rows`, for a table with text in memory."""

    dtype = TextColumns.dtype

    def __init__(self, X: np.ndarray, w: np.ndarray | None) -> None:
        self.chunk = Chunk(TextColumns(X), None, w)
        self.n_rows, self.n_features = X.shape

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        return f(self.chunk, *state)

    def each(self, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        return f(self.chunk, *state)


_MAX_DISTINCT_VALUES = 2**20  # distinct values of one column


class GroupingRule(NamedTuple):
    """How values become labels: by a dict, then by a prefix of text, or by steps and a tail."""

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
    return column + 0.0  # -0.0 becomes 0.0


def _map_groups(column: np.ndarray, groups: dict[Any, Any]) -> np.ndarray:
    """Group of each value; a value in no group is its own."""
    values, codes = np.unique(column, return_inverse=True)
    labels = [groups.get(value, value) for value in values.tolist()]
    if any(isinstance(group, str) for group in groups.values()):
        labels = [format_label(label) for label in labels]
    return np.asarray(labels, None if labels else column.dtype)[codes]


def format_label(label: Any) -> str:
    """A label as text; a missing one as ""."""
    if isinstance(label, str):
        return label
    return "" if np.isnan(label) else f"{label:.12g}"


def is_present(labels: np.ndarray) -> np.ndarray:
    """Which labels are not missing: neither NaN nor an empty text."""
    return labels != "" if labels.dtype.kind == "U" else ~np.isnan(labels)


class ValueCounts(NamedTuple):
    """For each column its distinct labels, sorted, and the total weight of each."""

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
    present = is_present(labels) & (w > 0)
    values, codes = np.unique(labels[present], return_inverse=True)
    return values, np.bincount(codes, w[present], len(values))


def _merge_counts(
    a: np.ndarray, n_a: np.ndarray, b: np.ndarray, n_b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if len(a) == 0 or len(b) == 0:
        return (a, n_a) if len(b) == 0 else (b, n_b)
    if (a.dtype.kind == "U") != (b.dtype.kind == "U"):
        raise ValueError("a column held numbers in some rows and text in others: convert it")
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    if len(values) > _MAX_DISTINCT_VALUES:
        raise ValueError(
            f"a column has more than {_MAX_DISTINCT_VALUES} distinct values: group them (step, "
            "prefix, groups), or leave the column as it is (columns=[...])"
        )
    return values, np.bincount(codes, np.concatenate([n_a, n_b]), len(values))


def select_frequent(counts: np.ndarray, least: float, most: int | None) -> np.ndarray:
    """Which labels get their own indicator; the others are pooled.

    Examples
    --------
    >>> import numpy as np
    >>> select_frequent(np.array([5.0, 1.0, 9.0, 3.0]), least=2, most=3).tolist()
    [True, False, True, False]
    """
    frequent = counts >= (least * counts.sum() if least < 1 else least)
    if most is None or frequent.sum() + (not frequent.all()) <= most:
        return frequent
    order = np.argsort(-counts, kind="stable")  # ties: the smaller label first
    most_frequent = np.zeros_like(frequent)
    most_frequent[order[: most - 1]] = True
    return frequent & most_frequent
