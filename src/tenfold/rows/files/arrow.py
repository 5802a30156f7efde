"""From Arrow columns to numpy: numbers row after row, targets as values or words."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_number(kind: Any) -> bool:
    """Whether a column of this Arrow type can stand in X; "null" is a column without values."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def label_kind(kind: Any) -> Any:
    """The number type of a target column of this Arrow type, `str` for words, None for neither."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_decimal(kind):
        return np.dtype(np.float64)
    if is_number(kind) and not types.is_null(kind):
        return np.dtype(kind.to_pandas_dtype())
    words = (types.is_string, types.is_large_string, types.is_string_view)
    return np.dtype(str) if any(test(kind) for test in words) else None


def refused(shown: str, name: Any, kind: Any) -> ValueError:
    """The error about a column that holds no numbers."""
    return ValueError(
        f"{shown}, column {name!r} holds {kind}, not numbers. Encode it "
        "(sklearn.preprocessing.OneHotEncoder), or leave it out: columns=[...]."
    )


def numbers(batch: Any, dtype: np.dtype) -> np.ndarray:
    """All columns of a record batch as one C-contiguous array; NaN where a value is missing."""
    import pyarrow as pa

    kind = pa.from_numpy_dtype(dtype)
    if any(column_type != kind for column_type in batch.schema.types):
        schema = pa.schema([(name, kind) for name in batch.schema.names])
        batch = batch.cast(schema, safe=False)
    return batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()


def values(column: Any, kind: np.dtype) -> np.ndarray:
    """A target column as numpy values; it must have no missing ones."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_decimal(column.type):
        column = column.cast("float64", safe=False)
    if types.is_floating(column.type) or kind.kind != "U":
        return column.to_numpy(zero_copy_only=False).astype(kind, copy=False)
    return column.to_numpy(zero_copy_only=False).astype(str)


def first_missing(column: Any) -> int | None:
    """Position of the first null or NaN of a column."""
    import pyarrow.compute as pc

    place = pc.index(column.is_null(nan_is_null=True), value=True).as_py()
    return None if place < 0 else place


def batch_of(table: Any) -> Any:
    """A (short) table as one record batch."""
    import pyarrow as pa

    arrays = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, names=table.column_names)
