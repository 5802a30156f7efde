"""Arrow columns to numpy: which are needed, their types, and record batches as chunks."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from tenfold.engine.arrays import as_weights
from tenfold.engine.chunk import Chunk
from tenfold.engine.validation import format_names
from tenfold.io.column_roles import ColumnRoles


def is_numeric_type(kind: Any) -> bool:
    """Whether a column of this Arrow type can stand in X; "null" is a column without values."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def label_dtype(kind: Any) -> Any:
    """The dtype of a target column of this Arrow type, `str` for text, None for neither."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_decimal(kind):
        return np.dtype(np.float64)
    if is_numeric_type(kind) and not types.is_null(kind):
        return np.dtype(kind.to_pandas_dtype())
    text = (types.is_string, types.is_large_string, types.is_string_view)
    return np.dtype(str) if any(test(kind) for test in text) else None


def non_numeric_error(shown: str, name: Any, kind: Any) -> ValueError:
    """The error about a column that holds no numbers."""
    return ValueError(
        f"{shown}, column {name!r} holds {kind}, not numbers. Encode it "
        "(sklearn.preprocessing.OneHotEncoder), or leave it out: columns=[...]."
    )


def to_matrix(batch: Any, dtype: np.dtype) -> np.ndarray:
    """All columns of a record batch as one C-contiguous array; NaN where a value is missing."""
    import pyarrow as pa

    kind = pa.from_numpy_dtype(dtype)
    if any(column_type != kind for column_type in batch.schema.types):
        schema = pa.schema([(name, kind) for name in batch.schema.names])
        batch = batch.cast(schema, safe=False)
    return batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()


def _target_array(column: Any, kind: np.dtype) -> np.ndarray:
    """A target column as numpy values; it must have no missing ones."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_decimal(column.type):
        column = column.cast("float64", safe=False)
    if types.is_floating(column.type) or kind.kind != "U":
        return column.to_numpy(zero_copy_only=False).astype(kind, copy=False)
    return column.to_numpy(zero_copy_only=False).astype(str)


def _find_missing(column: Any) -> int | None:
    """Position of the first null or NaN of a column."""
    import pyarrow.compute as pc

    index = pc.index(column.is_null(nan_is_null=True), value=True).as_py()
    return None if index < 0 else index


def to_record_batch(table: Any) -> Any:
    """A (short) table as one record batch."""
    import pyarrow as pa

    arrays = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, names=table.column_names)


class ColumnSpec:
    """Names of the columns of X, of the target (several: `y` has two dimensions) and the weight.

    Parameters
    ----------
    names : list of str
        All columns of the table.
    roles : ColumnRoles
        Which of them are the target, the weights and X.
    shown : str
        The name of the table in error messages.
    """

    dtype: np.dtype
    label: Any  # dtype of the target; `str` for text; None without a target

    def __init__(self, names: list[str], roles: ColumnRoles, shown: str) -> None:
        choice = roles.choice(names, shown)
        self.has_several_targets = isinstance(choice.y, list)
        targets = choice.y if isinstance(choice.y, list) else [choice.y]
        self.X = [names[j] for j in choice.X]
        self.y = [names[j] for j in targets if j is not None]
        self.w = None if choice.w is None else names[choice.w]

    @property
    def needed(self) -> list[str]:
        """All columns that are read: X, target, weight."""
        return [*self.X, *self.y, *([] if self.w is None else [self.w])]

    def only(self, names: list[str]) -> ColumnSpec:
        """The same target and weight, with fewer columns of X."""
        fewer = copy(self)
        fewer.X = names
        return fewer

    def resolve_types(self, shown: list[str], schemas: list[Any]) -> None:
        """Check the columns of all files, and choose one dtype for X and one for the target."""
        files = dict(zip(shown, schemas, strict=True))
        others = {path: schema for path, schema in files.items() if not schema.equals(schemas[0])}
        files = {shown[0]: schemas[0], **others}
        for path, schema in files.items():
            self._check(path, schema, shown[0])
        kinds = {str(schema.field(name).type) for schema in files.values() for name in self.X}
        self.dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)
        self.label = common_label_dtype(
            {s.field(name).type for s in files.values() for name in self.y}
        )

    def chunk(self, batch: Any, first: int, where: Callable[[int], str]) -> Chunk:
        """The rows of a record batch; `where` names the place of a row."""
        X = to_matrix(batch.select(self.X), self.dtype)
        return Chunk(X, *self.target_and_weights(batch.column, first, where), first)

    def target_and_weights(
        self, column: Callable[[str], Any], first: int, where: Callable[[int], str]
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Target and weights, from Arrow columns by name."""
        complete = {
            n: _check_no_missing(column(n), n, first, where) for n in self.needed[len(self.X) :]
        }
        y = [_target_array(complete[name], self.label) for name in self.y]
        w = None if self.w is None else _weight_array(complete[self.w])
        if not y:
            return None, w
        return np.column_stack(y) if self.has_several_targets else y[0], w

    def _check(self, shown: str, schema: Any, first: str) -> None:
        for name in self.needed:
            if name not in schema.names:
                raise ValueError(
                    f"{shown} has no column {name!r}, but {first} has it. All files of a data set "
                    "need the same columns; choose those that all have: columns=[...]."
                )
            kind = schema.field(name).type
            if not (label_dtype(kind) if name in self.y else is_numeric_type(kind)):
                raise non_numeric_error(shown, name, kind)


def common_label_dtype(kinds: set[Any]) -> Any:
    """The dtype for targets of these Arrow types, `str` for text."""
    labels = {label_dtype(kind) for kind in kinds}
    if None in labels or len({label.kind == "U" for label in labels}) > 1:
        raise ValueError(
            f"the target columns hold {format_names(sorted(map(str, kinds)))}; give text or numbers"
        )
    return np.result_type(*labels) if labels else None


def _weight_array(column: Any) -> np.ndarray:
    """A column of weights as floating-point numbers."""
    return as_weights(_target_array(column, label_dtype(column.type)))


def _check_no_missing(column: Any, name: str, first: int, where: Callable[[int], str]) -> Any:
    missing = _find_missing(column)
    if missing is not None:
        raise ValueError(
            f"{where(first + missing)}, column {name!r}: the value is missing, and a target or a "
            "weight may not be. Remove such rows, or fill them."
        )
    return column
