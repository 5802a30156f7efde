"""Rows as indicators of known values: what `IndicatorFeatures` does with each chunk."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from tenfold.linear.features.text_columns import TextColumns
from tenfold.linear.features.values import Grouping, grouped, present
from tenfold.rows import Chunk

SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
Comparison = tuple[int, str, Any]  # column, sign, value


class Encoding(NamedTuple):
    """Which indicators there are."""

    columns: np.ndarray  # (c,) numbers of the columns
    rule: Grouping
    categories: tuple[np.ndarray, ...]  # for each column, labels with an indicator of their own
    pooled: np.ndarray  # (c,) whether there is one more for all other labels
    predicates: tuple[tuple[Comparison, ...], ...]  # each holds where all its comparisons do


def indicate(chunk: Chunk, code: Encoding) -> np.ndarray:
    """All indicators of the rows of a chunk."""
    X = chunk.X
    each = zip(code.columns, code.categories, code.pooled, strict=True)
    parts = [one_per_value(grouped(X[:, j], code.rule), own, pool) for j, own, pool in each]
    parts += [all_hold(X, comparisons)[:, None] for comparisons in code.predicates]
    return np.hstack([np.empty((X.shape[0], 0)), *parts]).astype(X.dtype)


def original_too(chunk: Chunk, code: Encoding) -> np.ndarray:
    """The original columns, then the indicators."""
    if isinstance(chunk.X, TextColumns):
        raise TypeError("keep_original=True needs columns of numbers, but some hold text")
    return np.hstack([chunk.X, indicate(chunk, code)])


def one_per_value(labels: np.ndarray, values: np.ndarray, pooled: bool) -> np.ndarray:
    """1 in the column of the label's value, or in the last one if it is pooled; else zeros.

    Examples
    --------
    >>> import numpy as np
    >>> one_per_value(np.array([3.0, 7.0]), np.array([2.0, 3.0]), True).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    there = present(labels)
    known, place = np.zeros_like(there), np.zeros(len(labels), np.int64)
    if there.any() and len(values):
        if (labels.dtype.kind == "U") != (values.dtype.kind == "U"):
            raise ValueError("a column held numbers at the fit and holds text now, or reverse")
        place = np.minimum(np.searchsorted(values, labels), len(values) - 1)
        known = values[place] == labels
    made = np.zeros((len(labels), len(values) + bool(pooled)), np.float32)
    rows = np.flatnonzero(known)
    made[rows, place[rows]] = 1
    if pooled:
        made[there & ~known, -1] = 1
    return made


def all_hold(X: Any, comparisons: tuple[Comparison, ...]) -> np.ndarray:
    """Whether all comparisons hold, row by row; none holds for a missing value."""
    hold = [present(X[:, j]) & SIGNS[sign](X[:, j], value) for j, sign, value in comparisons]
    return np.all(hold, axis=0)
