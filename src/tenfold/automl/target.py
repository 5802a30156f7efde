"""The target column: its values or classes, the task they make, and its scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.task_scores import (
    CLUSTERS,
    MULTI_CLASS,
    RECOMMENDATION,
    REGRESSION,
    TASKS,
    TWO_CLASS,
)
from tenfold.automl.value_ranges import SMALLEST_RANGE, check_numbers

_MAX_CLASS_NUMBERS = 20  # distinct integers up to which they are taken for classes
_ROWS_PER_CLASS = 10  # mean number of rows per class, at least
_MAX_CLASSES = 100


class Target(NamedTuple):
    """The target column.

    Attributes
    ----------
    name : of the column
    task : "regression", "two-class" or "multi-class"
    y : (n_rows,) values with NaN, or class indices with -1, for rows without a target
    classes : sorted labels in their own type; None for regression
    why : reason for the task, in words
    """

    name: str
    task: str
    y: np.ndarray
    classes: list[Any] | None
    why: str

    @property
    def known_rows(self) -> np.ndarray:
        """Indices of the rows that have a target."""
        is_known = ~np.isnan(self.y) if self.classes is None else self.y >= 0
        return np.flatnonzero(is_known).astype(row_index_dtype(len(is_known)))


def row_index_dtype(rows: int) -> type:
    """Type of row indices: int32 where it suffices, half the memory of int64."""
    return np.int32 if rows < 2**31 else np.int64


class TargetScale(NamedTuple):
    """Standardization of the target of a regression, optionally of its logarithm."""

    log: bool
    mean: float
    scale: float

    @classmethod
    def of(cls, y: np.ndarray, *, log: bool = False) -> TargetScale:
        """The scale of training values."""
        y = np.log(y) if log else y
        return cls(log, float(y.mean()), float(y.std()) or 1.0)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Standardize."""
        z = (np.log(y) if self.log else y) - self.mean
        z /= self.scale  # in place, to save memory
        return z

    def backward(self, z: np.ndarray) -> np.ndarray:
        """Inverse of `forward`."""
        y = z * self.scale + self.mean
        return np.exp(y) if self.log else y


def iterate_chunks(records: Any) -> Iterator[Any]:
    """All chunks of records, in order."""
    for run in records.runs():
        yield from records.chunks(run)


def iterate_cells(records: Any) -> Iterator[Any]:
    """The cells of all records, chunk by chunk, in order."""
    return (chunk.X for chunk in iterate_chunks(records))


def read_target(records: Any, name: str, task: str | None) -> Target:
    """Read the target column in one pass, and infer the task.

    Parameters
    ----------
    records : Records
        The table.
    name : str
        Of the target column.
    task : str or None
        "regression", "two-class", "multi-class", or "classification"; None to infer it.
    """
    kind = records.types[name]
    if kind == "date":
        raise ValueError(f"the target {name!r} is a date: learn a number or a class instead")
    if kind == "text":
        codes, labels = _encode_words(records, name)
    else:
        values = _read_numbers(records, name)
        check_numbers(values, name, records)
        distinct = _distinct_values(values)
        _require_values(name, distinct)
        n_known = int(np.count_nonzero(~np.isnan(values)))
        has_classes = kind == "bool" or _is_class_like(distinct, n_known)
        if task == REGRESSION or (task is None and not has_classes):
            return _regression_target(name, values, distinct, task)
        codes, labels = _encode_numbers(values, distinct, is_bool=kind == "bool")
    _require_values(name, labels)
    return _class_target(name, codes, labels, task, kind)


def _read_numbers(records: Any, name: str) -> np.ndarray:
    """All values of a column of numbers."""
    values, first = np.empty(records.n_rows), 0
    for cells in iterate_cells(records):
        values[first : first + len(cells)] = cells[name].values
        first += len(cells)
    return values


def _distinct_values(values: np.ndarray) -> np.ndarray:
    """The distinct values that are not missing, ascending."""
    ordered = np.sort(values)  # NaN last
    is_new = ~np.isnan(ordered)
    is_new[1:] &= ordered[1:] != ordered[:-1]
    return ordered[is_new]


def _require_values(name: str, values: Any) -> None:
    if not len(values):
        raise ValueError(f"the target {name!r} is missing in all rows: nothing can be learned")
    if len(values) == 1:
        value = _to_python(values[0])
        raise ValueError(
            f"the target {name!r} is {value!r} in all rows: there is nothing to predict"
        )


def _to_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_class_like(distinct: np.ndarray, rows: int) -> bool:
    """Whether numbers look like classes: two of any kind, or few distinct integers."""
    if len(distinct) <= 2:
        return True
    is_few = len(distinct) <= min(_MAX_CLASS_NUMBERS, rows // _ROWS_PER_CLASS)
    return is_few and bool((distinct == np.floor(distinct)).all())


def _regression_target(
    name: str, values: np.ndarray, distinct: np.ndarray, task: str | None
) -> Target:
    spread = float(distinct[-1] - distinct[0])
    if spread < SMALLEST_RANGE:
        raise ValueError(
            f"the values of the target {name!r} differ by {spread:.3g} at most, too little to "
            "compute with: multiply the column by a constant, such as 1e200"
        )
    why = f"regression on {name!r}, as requested"
    if task is None:
        why = f"{name!r} is a number with {len(distinct):,} different values: regression"
    return Target(name, REGRESSION, values, None, why)


def _class_target(
    name: str, codes: np.ndarray, labels: list, task: str | None, kind: str
) -> Target:
    if task == REGRESSION:
        raise ValueError(
            f"the target {name!r} holds text such as {labels[0]!r}: regression needs numbers"
        )
    k, n = len(labels), int((codes >= 0).sum())
    if k > _MAX_CLASSES or (k > 2 and k > n / 2):
        raise ValueError(
            f"the target {name!r} has {k:,} different values in {n:,} rows, such as "
            f"{labels[0]!r} and {labels[1]!r}: too many classes. Choose another target, or "
            "group its values"
        )
    if task == TWO_CLASS and k != 2:
        raise ValueError(f"the target {name!r} has {k} classes, not two: task='multi-class'")
    shown = ", ".join(map(str, labels[:4])) + (", ..." if k > 4 else "")
    inferred = TWO_CLASS if k == 2 else MULTI_CLASS
    noun = {"bool": "truth values", "number": "different numbers", "text": "different words"}[kind]
    why = f"{name!r} has {k} {noun} ({shown}): {inferred} classification"
    return Target(name, inferred, codes, labels, why)


def _encode_numbers(
    values: np.ndarray, distinct: np.ndarray, *, is_bool: bool
) -> tuple[np.ndarray, list[Any]]:
    """Class indices and labels of a column of numbers."""
    codes = np.searchsorted(distinct, values).astype(np.int32)
    codes[np.isnan(values)] = -1
    return codes, [_label_type(value, is_bool=is_bool) for value in distinct.tolist()]


def _label_type(value: float, *, is_bool: bool) -> Any:
    if is_bool:
        return bool(value)
    return int(value) if value.is_integer() else value


def _encode_words(records: Any, name: str) -> tuple[np.ndarray, list[str]]:
    """Class indices and labels of a text column, whose chunks have codes of their own."""
    codes, first = np.empty(records.n_rows, np.int32), 0
    indices: dict[str, int] = {}
    for cells in iterate_cells(records):
        column = cells[name]
        used = {value: indices.setdefault(value, len(indices)) for value in _used_values(column)}
        recoded = np.array([*(used.get(value, -1) for value in column.values), -1], np.int32)
        codes[first : first + len(cells)] = recoded[column.codes]
        first += len(cells)
    labels = sorted(indices)
    ordered = np.empty(len(indices) + 1, np.int32)
    ordered[[indices[label] for label in labels]] = np.arange(len(labels))
    ordered[-1] = -1
    return ordered[codes], labels


def _used_values(column: Any) -> list[str]:
    """The values that occur in some row."""
    return [column.values[code] for code in np.unique(column.codes).tolist() if code >= 0]


def validate_task(task: str | None, target: str | None) -> str | None:
    """The requested task in its canonical spelling."""
    requested = None if task is None else task.replace("_", "-").lower()
    if requested == "classification":
        return None if target is None else requested
    if requested == RECOMMENDATION:
        return requested
    if requested is not None and requested not in TASKS:
        known = ", ".join([*TASKS, "classification", RECOMMENDATION])
        raise ValueError(f"task={task!r}: there are {known}")
    if (requested == CLUSTERS) != (target is None) and requested is not None:
        raise ValueError(
            "task='clusters' has no target: leave it out"
            if target is not None
            else f"task={task!r} needs a target: name the column to be predicted"
        )
    return requested


def drop_rare_classes(target: Target, min_rows: int) -> tuple[Target, list[tuple[Any, int]]]:
    """The target without classes of fewer than `min_rows` rows, and those classes."""
    if target.classes is None:
        return target, []
    counts = np.bincount(target.y[target.y >= 0], minlength=len(target.classes))
    kept = np.flatnonzero(counts >= min_rows)
    if len(kept) == len(target.classes):
        return target, []
    if len(kept) < 2:
        raise ValueError(
            f"of the classes of {target.name!r} fewer than two have {min_rows} rows, so that each "
            "fold contains them: give more rows, or fewer folds"
        )
    recoded = np.full(len(counts) + 1, -1, np.int32)
    recoded[kept] = np.arange(len(kept))
    rare = [(target.classes[i], int(counts[i])) for i in np.flatnonzero(counts < min_rows)]
    task = TWO_CLASS if len(kept) == 2 else MULTI_CLASS
    labels = [target.classes[i] for i in kept]
    return target._replace(y=recoded[target.y], classes=labels, task=task), rare
