"""The target column: its values or classes, the task they make, and its scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.automl.task_scores import CLUSTERS, MULTI_CLASS, REGRESSION, TASKS, TWO_CLASS

_MAX_CLASS_NUMBERS = 20  # so many different whole numbers, or fewer, are taken for classes
_ROWS_PER_CLASS = 10  # on average, or they are no classes
_MAX_CLASSES = 100


class Target(NamedTuple):
    """The column to be predicted.

    Attributes
    ----------
    name : of the column
    task : "regression", "two-class" or "multi-class"
    y : (n,) values with NaN, or class numbers with -1, for rows without one
    classes : labels in their own type, in order; None for regression
    why : why this task, in words
    """

    name: str
    task: str
    y: np.ndarray
    classes: list[Any] | None
    why: str

    @property
    def there(self) -> np.ndarray:
        """Numbers of the rows that have a target."""
        known = ~np.isnan(self.y) if self.classes is None else self.y >= 0
        return np.flatnonzero(known).astype(row_index_dtype(len(known)))


def row_index_dtype(rows: int) -> type:
    """What numbers of rows are kept in: there may be millions, so half of int64 where it does."""
    return np.int32 if rows < 2**31 else np.int64


class TargetScale(NamedTuple):
    """The target as models see it: of mean 0 and variance 1, its logarithm if asked for."""

    log: bool
    mean: float
    scale: float

    @classmethod
    def of(cls, y: np.ndarray, *, log: bool = False) -> TargetScale:
        """The scale of values to learn from."""
        y = np.log(y) if log else y
        return cls(log, float(y.mean()), float(y.std()) or 1.0)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """As models see it."""
        z = (np.log(y) if self.log else y) - self.mean
        z /= self.scale  # in place: there may be millions
        return z

    def backward(self, z: np.ndarray) -> np.ndarray:
        """As people see it."""
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
    """Read the target column once, and say what task it makes.

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
        different = _distinct_values(values)
        _require_values(name, different)
        few = kind == "bool" or _is_class_like(different, int(np.count_nonzero(~np.isnan(values))))
        if task == REGRESSION or (task is None and not few):
            return _regression_target(name, values, len(different), task)
        codes, labels = _encode_numbers(values, different, truth=kind == "bool")
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
    """The values that are not missing, each once, ascending."""
    ordered = np.sort(values)  # NaN last
    is_new = ~np.isnan(ordered)
    is_new[1:] &= ordered[1:] != ordered[:-1]
    return ordered[is_new]


def _require_values(name: str, values: Any) -> None:
    if not len(values):
        raise ValueError(f"the target {name!r} is missing in all rows: nothing can be learned")
    if len(values) == 1:
        only = _to_python(values[0])
        raise ValueError(
            f"the target {name!r} is {only!r} in all rows: there is nothing to tell apart"
        )


def _to_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_class_like(different: np.ndarray, rows: int) -> bool:
    """Whether numbers look like classes: two of any kind, or few different whole ones."""
    if len(different) <= 2:
        return True
    few = len(different) <= min(_MAX_CLASS_NUMBERS, rows // _ROWS_PER_CLASS)
    return few and bool((different == np.floor(different)).all())


def _regression_target(name: str, values: np.ndarray, different: int, task: str | None) -> Target:
    why = f"{name!r} is a number with {different:,} different values: regression"
    said = why if task is None else f"regression on {name!r}, as asked"
    return Target(name, REGRESSION, values, None, said)


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
            f"{labels[0]!r} and {labels[1]!r}: too many to tell apart. Choose another target, or "
            "group its values"
        )
    if task == TWO_CLASS and k != 2:
        raise ValueError(f"the target {name!r} has {k} classes, not two: task='multi-class'")
    shown = ", ".join(map(str, labels[:4])) + (", ..." if k > 4 else "")
    what = TWO_CLASS if k == 2 else MULTI_CLASS
    sort = {"bool": "truth values", "number": "different numbers", "text": "different words"}[kind]
    why = f"{name!r} has {k} {sort} ({shown}): {what} classification"
    return Target(name, what, codes, labels, why)


def _encode_numbers(
    values: np.ndarray, different: np.ndarray, *, truth: bool
) -> tuple[np.ndarray, list[Any]]:
    """Class numbers and labels of a column of numbers."""
    codes = np.searchsorted(different, values).astype(np.int32)
    codes[np.isnan(values)] = -1
    return codes, [_label_type(value, truth=truth) for value in different.tolist()]


def _label_type(value: float, *, truth: bool) -> Any:
    if truth:
        return bool(value)
    return int(value) if value.is_integer() else value


def _encode_words(records: Any, name: str) -> tuple[np.ndarray, list[str]]:
    """Class numbers and labels of a column of text, whose chunks may number them differently."""
    codes, first = np.empty(records.n_rows, np.int32), 0
    known: dict[str, int] = {}
    for cells in iterate_cells(records):
        column = cells[name]
        used = {value: known.setdefault(value, len(known)) for value in _used_values(column)}
        numbers = np.array([*(used.get(value, -1) for value in column.values), -1], np.int32)
        codes[first : first + len(cells)] = numbers[column.codes]
        first += len(cells)
    labels = sorted(known)
    ordered = np.empty(len(known) + 1, np.int32)
    ordered[[known[label] for label in labels]] = np.arange(len(labels))
    ordered[-1] = -1
    return ordered[codes], labels


def _used_values(column: Any) -> list[str]:
    """The texts that some row has."""
    return [column.values[code] for code in np.unique(column.codes).tolist() if code >= 0]


def validate_task(task: str | None, target: str | None) -> str | None:
    """The task that was asked for, in its own spelling."""
    asked = None if task is None else task.replace("_", "-").lower()
    if asked == "classification":
        return None if target is None else asked
    if asked is not None and asked not in TASKS:
        raise ValueError(f"task={task!r}: there are {', '.join(TASKS)}, classification")
    if (asked == CLUSTERS) != (target is None) and asked is not None:
        raise ValueError(
            "task='clusters' has no target: leave it out"
            if target is not None
            else f"task={task!r} needs a target: name the column to be predicted"
        )
    return asked


def drop_rare_classes(target: Target, least: int) -> tuple[Target, list[tuple[Any, int]]]:
    """The target without classes of fewer rows than `least`, and which they were."""
    if target.classes is None:
        return target, []
    counts = np.bincount(target.y[target.y >= 0], minlength=len(target.classes))
    kept = np.flatnonzero(counts >= least)
    if len(kept) == len(target.classes):
        return target, []
    if len(kept) < 2:
        raise ValueError(
            f"of the classes of {target.name!r} fewer than two have {least} rows, so that each "
            "fold can see them: give more rows, or fewer folds"
        )
    new = np.full(len(counts) + 1, -1, np.int32)
    new[kept] = np.arange(len(kept))
    rare = [(target.classes[i], int(counts[i])) for i in np.flatnonzero(counts < least)]
    task = TWO_CLASS if len(kept) == 2 else MULTI_CLASS
    labels = [target.classes[i] for i in kept]
    return target._replace(y=new[target.y], classes=labels, task=task), rare
