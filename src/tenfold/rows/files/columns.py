"""The columns of a table that matter, and how its record batches become chunks."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from tenfold.rows.chunk import Chunk
from tenfold.rows.files.arrow import first_missing, is_number, label_kind, numbers, refused, values
from tenfold.rows.files.asked import Asked, as_weights, listing


class Columns:
    """Names of the columns of X, of the target (several: `y` has two dimensions) and the weight.

    Parameters
    ----------
    names : list of str
        All columns of the table.
    asked : Asked
        What the caller wants of them.
    shown : str
        The table in words, for error messages.
    """

    dtype: np.dtype
    label: Any  # number type of the target; `str` for words; None without a target

    def __init__(self, names: list[str], asked: Asked, shown: str) -> None:
        choice = asked.choice(names, shown)
        self.several = isinstance(choice.y, list)
        targets = choice.y if isinstance(choice.y, list) else [choice.y]
        self.X = [names[j] for j in choice.X]
        self.y = [names[j] for j in targets if j is not None]
        self.w = None if choice.w is None else names[choice.w]

    @property
    def needed(self) -> list[str]:
        """All columns that are read: X, target, weight."""
        return [*self.X, *self.y, *([] if self.w is None else [self.w])]

    def only(self, names: list[str]) -> Columns:
        """The same target and weight, with fewer columns of X."""
        fewer = copy(self)
        fewer.X = names
        return fewer

    def settle(self, shown: list[str], schemas: list[Any]) -> None:
        """Check the columns of all files, and decide on the number types for all of them."""
        files = dict(zip(shown, schemas, strict=True))
        unlike = {path: schema for path, schema in files.items() if not schema.equals(schemas[0])}
        files = {shown[0]: schemas[0], **unlike}
        for path, schema in files.items():
            self._check(path, schema, shown[0])
        kinds = {str(schema.field(name).type) for schema in files.values() for name in self.X}
        self.dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)
        self.label = common_label({s.field(name).type for s in files.values() for name in self.y})

    def chunk(self, batch: Any, first: int, where: Callable[[int], str]) -> Chunk:
        """The rows of a record batch; `where` says in words where a row lies."""
        X = numbers(batch.select(self.X), self.dtype)
        return Chunk(X, *self.sides(batch.column, first, where), first)

    def sides(
        self, column: Callable[[str], Any], first: int, where: Callable[[int], str]
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Target and weights, from Arrow columns by name."""
        whole = {n: _assert_whole(column(n), n, first, where) for n in self.needed[len(self.X) :]}
        y = [values(whole[name], self.label) for name in self.y]
        w = None if self.w is None else weights(whole[self.w])
        if not y:
            return None, w
        return np.column_stack(y) if self.several else y[0], w

    def _check(self, shown: str, schema: Any, first: str) -> None:
        for name in self.needed:
            if name not in schema.names:
                raise ValueError(
                    f"{shown} has no column {name!r}, but {first} has it. All files of a data set "
                    "need the same columns; choose those that all have: columns=[...]."
                )
            kind = schema.field(name).type
            if not (label_kind(kind) if name in self.y else is_number(kind)):
                raise refused(shown, name, kind)


def common_label(kinds: set[Any]) -> Any:
    """The number type for targets of these Arrow types, `str` for words."""
    labels = {label_kind(kind) for kind in kinds}
    if None in labels or len({label.kind == "U" for label in labels}) > 1:
        raise ValueError(
            f"the target columns hold {listing(sorted(map(str, kinds)))}; give words or numbers"
        )
    return np.result_type(*labels) if labels else None


def weights(column: Any) -> np.ndarray:
    """A column of weights as floating-point numbers."""
    return as_weights(values(column, label_kind(column.type)))


def _assert_whole(column: Any, name: str, first: int, where: Callable[[int], str]) -> Any:
    missing = first_missing(column)
    if missing is not None:
        raise ValueError(
            f"{where(first + missing)}, column {name!r}: the value is missing, and a target or a "
            "weight may not be. Remove such rows, or fill them."
        )
    return column
