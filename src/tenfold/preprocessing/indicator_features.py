"""Indicator features: 0 or 1 for each value, group of values, or comparison."""

from __future__ import annotations

import operator
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.base._sklearn import Interval, check_feature_names_in, check_sample_weight
from tenfold.base.mixins import Transformer
from tenfold.base.one_pass import OnePass
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.preprocessing._category_columns import (
    GroupingRule,
    InMemoryTextRows,
    TextColumns,
    ValueCounts,
    count_values,
    format_label,
    group_values,
    has_text,
    is_present,
    select_frequent,
)

_OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_Comparison = tuple[int, str, Any]  # column, sign, value


class IndicatorEncoding(NamedTuple):
    """Definition of all indicators."""

    columns: np.ndarray  # (n_columns,) indices
    rule: GroupingRule
    categories: tuple[np.ndarray, ...]  # for each column, labels with their own indicator
    pooled: np.ndarray  # (n_columns,) whether all other labels share one more
    predicates: tuple[tuple[_Comparison, ...], ...]  # conjunctions of comparisons


def _encode_indicators(chunk: Chunk, encoding: IndicatorEncoding) -> np.ndarray:
    """All indicators of the rows of a chunk."""
    X = chunk.X
    columns = zip(encoding.columns, encoding.categories, encoding.pooled, strict=True)
    parts = [
        _one_hot(group_values(X[:, j], encoding.rule), labels, pool) for j, labels, pool in columns
    ]
    parts += [_evaluate_comparisons(X, comparisons)[:, None] for comparisons in encoding.predicates]
    return np.hstack([np.empty((X.shape[0], 0)), *parts]).astype(X.dtype)


def _encode_with_original(chunk: Chunk, encoding: IndicatorEncoding) -> np.ndarray:
    """The original columns, then the indicators."""
    if isinstance(chunk.X, TextColumns):
        raise TypeError("keep_original=True needs columns of numbers, but some hold text")
    return np.hstack([chunk.X, _encode_indicators(chunk, encoding)])


def _one_hot(labels: np.ndarray, values: np.ndarray, pooled: bool) -> np.ndarray:
    """1 in the column of the label, or in the last one if it is pooled; else zeros.

    Examples
    --------
    >>> import numpy as np
    >>> _one_hot(np.array([3.0, 7.0]), np.array([2.0, 3.0]), True).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    present = is_present(labels)
    matched, codes = np.zeros_like(present), np.zeros(len(labels), np.int64)
    if present.any() and len(values):
        if (labels.dtype.kind == "U") != (values.dtype.kind == "U"):
            raise ValueError("a column held numbers at the fit and holds text now, or reverse")
        codes = np.minimum(np.searchsorted(values, labels), len(values) - 1)
        matched = values[codes] == labels
    indicators = np.zeros((len(labels), len(values) + bool(pooled)), np.float32)
    rows = np.flatnonzero(matched)
    indicators[rows, codes[rows]] = 1
    if pooled:
        indicators[present & ~matched, -1] = 1
    return indicators


def _evaluate_comparisons(X: Any, comparisons: tuple[_Comparison, ...]) -> np.ndarray:
    """Whether all comparisons are true, row by row; false for a missing value."""
    conditions = [
        is_present(X[:, j]) & _OPERATORS[sign](X[:, j], value) for j, sign, value in comparisons
    ]
    return np.all(conditions, axis=0)


class IndicatorFeatures(OnePass, Transformer):
    """One-hot indicators of values, groups of values and comparisons.

    A count as it is gives each unit the same effect; one indicator per value gives each its own.
    Rare values are pooled, columns of many values (zip codes) grouped. One pass counts the values;
    counts of parts merge. Text is taken from arrays and tables in memory, numbers from any source.

    Unseen values are grouped first (a new zip code has the effect of its region), then pooled if
    the column has a pooled indicator; else all indicators are 0, as they are for a missing value.
    All indicators of a column and an intercept are collinear: see
    `tenfold.inspection.collinearity`; the least-squares models take the shortest solution.

    Parameters
    ----------
    columns : list of names or numbers, optional
        Columns to make indicators of, all by default. For different settings per column, use
        several in a `ColumnTransformer`.
    groups : dict, optional
        Group of a value; a value that is not listed stays itself.
    prefix : int, optional
        Text is grouped by so many first characters; an error if no column holds text.
    step : float, optional
        Numbers are grouped by multiples of this: 100 keeps three of the five digits of a zip code.
    tail : float, optional
        All numbers from this one on are one value ("10+").
    min_frequency : int or float
        Values of less total weight than this (below 1: than this share) are pooled into "other".
    max_categories : int, optional
        Maximum number of indicators of a column, "other" included; the most frequent values have
        their own.
    predicates : list
        Comparisons ``(column, sign, value)`` such as ``("rooms", ">=", 3)``, each one more
        indicator; a list of comparisons is one indicator, 1 where all are true. For other
        predicates see `FunctionFeatures`.
    keep_original : bool
        Whether the original columns come first (numbers only).

    Attributes
    ----------
    categories_ : list of the values that have their own indicator, for each column
    pooled_ : (n_columns,) whether a column has an indicator "other" too
    columns_ : (n_columns,) indices of the columns
    statistic_ : total weight of every value

    See Also
    --------
    TableEncoder, FunctionFeatures, find_redundant_columns

    Examples
    --------
    >>> from tenfold import IndicatorFeatures
    >>> rooms = [[1.0], [2.0], [2.0], [11.0], [27.0]]
    >>> basis = IndicatorFeatures(tail=10).fit(rooms)
    >>> basis.get_feature_names_out(["rooms"]).tolist()
    ['rooms=1', 'rooms=2', 'rooms=10+']
    >>> basis.transform([[2.0], [14.0], [3.0]]).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    >>> zips = IndicatorFeatures(prefix=3).fit([["90210"], ["90001"], ["10001"]])
    >>> zips.transform([["90299"]]).tolist(), zips.get_feature_names_out().tolist()
    ([[0.0, 0.0, 1.0]], ['x0=100', 'x0=900', 'x0=902'])
    """

    _nan_ok = True
    _parameter_constraints = {
        "columns": ["array-like", None],
        "groups": [dict, None],
        "prefix": [Interval(Integral, 1, None, closed="left"), None],
        "step": [Interval(Real, 0, None, closed="neither"), None],
        "tail": [Real, None],
        "min_frequency": [Interval(Real, 0, None, closed="left")],
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        "predicates": [list, tuple],
        "keep_original": ["boolean"],
    }

    def __init__(
        self,
        columns: Any = None,
        *,
        groups: dict | None = None,
        prefix: int | None = None,
        step: float | None = None,
        tail: float | None = None,
        min_frequency: float = 1,
        max_categories: int | None = 32,
        predicates: Any = (),
        keep_original: bool = False,
    ) -> None:
        self.columns = columns
        self.groups = groups
        self.prefix = prefix
        self.step = step
        self.tail = tail
        self.min_frequency = min_frequency
        self.max_categories = max_categories
        self.predicates = predicates
        self.keep_original = keep_original

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the values of each column.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows; text in memory only.
        y : None
            Not used; present for pipelines.
        sample_weight : array or column name, optional
            Weight of each row.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def _rows(self, X: Any, y: Any = None, w: Any = None, *, reset: bool = True) -> Any:
        if not has_text(X):
            return super()._rows(X, y, w, reset=reset)
        checked: Any = validate_data(self, X, dtype=object, ensure_all_finite=False, reset=reset)
        return InMemoryTextRows(checked, None if w is None else check_sample_weight(w, checked))

    def _statistic(self, rows: Rows) -> ValueCounts:
        return rows.total(count_values, self._column_indices(self.columns), self._rule())

    def _finalize(self, s: ValueCounts, dtype: np.dtype) -> dict[str, Any]:
        self._check_grouping(s)
        frequent = [select_frequent(n, self.min_frequency, self.max_categories) for n in s.counts]
        values = zip(s.values, frequent, strict=True)
        return {
            "categories_": [v[k] if v.dtype.kind == "U" else v[k].astype(dtype) for v, k in values],
            "pooled_": np.array([not k.all() for k in frequent], bool),
            "columns_": self._column_indices(self.columns),
        }

    def _check_learned(self) -> None:
        """Raise an error if the counts of a loaded model are not those of its values."""
        s = self.statistic_
        sizes = [list(map(np.shape, part)) for part in (s.values, s.counts)]
        if sizes[0] != sizes[1] or len(sizes[0]) != len(self.columns_):
            raise ValueError("statistic_ has other counts than values")

    def _check_grouping(self, s: ValueCounts) -> None:
        """Raise an error if `prefix`, which cuts text, meets columns of numbers alone."""
        if self.prefix is None or any(values.dtype.kind == "U" for values in s.values):
            return
        if any(len(values) for values in s.values):
            raise ValueError(
                f"prefix={self.prefix} groups text by its first characters, but all columns hold "
                "numbers: group these by step=, or give them as text"
            )

    def _rule(self) -> GroupingRule:
        return GroupingRule(self.groups, self.prefix, self.step, self.tail)

    def _column_indices(self, columns: Any) -> np.ndarray:
        """Indices of columns given by index or name."""
        if columns is None:
            return np.arange(self.n_features_in_)
        names = list(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        unknown = [c for c in columns if c not in names and c not in range(len(names))]
        if unknown:
            raise ValueError(f"columns {unknown} are not among the columns {names}")
        return np.array([names.index(c) if c in names else c for c in columns], np.int64)

    def _comparisons(self) -> tuple[tuple[tuple[int, str, Any], ...], ...]:
        """Each predicate as comparisons that must all be true, columns by index."""
        predicates = [[p] if isinstance(p[0], str | Integral) else p for p in self.predicates]
        unknown = {sign for parts in predicates for _, sign, _ in parts} - set(_OPERATORS)
        if unknown:
            raise ValueError(f"predicates compare by {list(_OPERATORS)}, not by {sorted(unknown)}")
        return tuple(
            tuple((int(self._column_indices([c])[0]), s, v) for c, s, v in ps) for ps in predicates
        )

    def transform(self, X: Any) -> np.ndarray:
        """The indicators of each row, column by column, then those of the predicates.

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        encoding = IndicatorEncoding(
            self.columns_,
            self._rule(),
            tuple(self.categories_),
            self.pooled_,
            self._comparisons(),
        )
        return self._map_rows(
            X, _encode_with_original if self.keep_original else _encode_indicators, encoding
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that `transform` makes, such as ``rooms=3``, ``rooms=10+``.

        Parameters
        ----------
        input_features : list of str, optional
            Names of the original columns; by default those of the fit, or x0, x1, ...
        """
        check_is_fitted(self)
        names: Any = check_feature_names_in(self, input_features)
        names_out = list(names) if self.keep_original else []
        for j, categories, pooled in zip(
            self.columns_, self.categories_, self.pooled_, strict=True
        ):
            names_out += [f"{names[j]}={self._format_category(c)}" for c in categories.tolist()]
            names_out += [f"{names[j]}=other"] * bool(pooled)
        names_out += [
            " & ".join(f"{names[j]}{sign}{v}" for j, sign, v in parts)
            for parts in self._comparisons()
        ]
        return np.array(names_out, dtype=object)

    def _format_category(self, label: Any) -> str:
        if isinstance(label, str) or self.step is None:
            return format_label(label) + "+" * (not isinstance(label, str) and label == self.tail)
        return f"{label:.12g}+" if label == self.tail else f"{label:.12g}..{label + self.step:.12g}"
