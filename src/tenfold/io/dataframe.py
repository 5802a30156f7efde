"""Tables in memory: pandas, polars and Arrow tables, dicts of columns, lists of dicts, arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tenfold.engine.arrays import as_weights, slice_column
from tenfold.engine.chunk import Chunk
from tenfold.engine.source import Source
from tenfold.io._arrow_columns import (
    ColumnSpec,
    common_label_dtype,
    non_numeric_error,
    to_matrix,
    to_record_batch,
)
from tenfold.io._header import make_unique_names
from tenfold.io._long_integers import describe_codes
from tenfold.io._type_inference import TypeInference, to_strings
from tenfold.io.arrow_tables import CodeColumns, column_type, to_physical_types
from tenfold.io.column_roles import ColumnRoles
from tenfold.io.columnar import TableError
from tenfold.io.row_store import MemoryStore, to_column_batch
from tenfold.io.table import TableSource


class DataFrameSource(Source):
    """A table; the columns of X are put side by side chunk by chunk.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, or Arrow table
    roles : ColumnRoles
        Which columns are the target, the weights and X.
    """

    def __init__(self, frame: Any, roles: ColumnRoles) -> None:
        self.frame = _to_narwhals(frame)
        names = list(self.frame.columns)
        columns = ColumnSpec(names, roles, "the table")
        self.n_rows, self.n_features = len(self.frame), len(columns.X)
        self.names = columns.X if all(isinstance(name, str) for name in columns.X) else None
        positions = {name: j for j, name in enumerate(names)}
        self.at: Any = [positions[name] for name in columns.X]
        self.at = slice(None) if names == columns.X else self.at
        self.dtype = self._dtype(columns.X)
        self.y, self.w = self._sides(columns, roles, names)
        self.has_target, self.has_weight = self.y is not None, self.w is not None

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Assemble the chunks of a run."""
        for number in run:
            first, end = self.span(number)
            X = self._numbers(slice(first, end))
            yield Chunk(
                X, slice_column(self.y, first, end), slice_column(self.w, first, end), first
            )

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers."""
        y, w = (None if side is None else side[rows] for side in (self.y, self.w))
        return Chunk(self._numbers(rows), y, w)

    def _numbers(self, rows: Any) -> np.ndarray:
        """Some rows of X, by the fastest conversion of the library that made the frame."""
        if self.frame.implementation.is_pandas_like():
            selected = self.frame.to_native().iloc[rows, self.at]
            return np.ascontiguousarray(selected.to_numpy(dtype=self.dtype, na_value=np.nan))
        selected = self.frame[rows, self.at]
        if self.uniform and self.frame.implementation.is_polars():
            return np.ascontiguousarray(selected.to_numpy())
        return to_matrix(to_record_batch(selected.to_arrow()), self.dtype)

    def _dtype(self, names: list[Any]) -> np.dtype:
        schema = self.frame.schema
        kinds = [schema[name] for name in names]
        for name, kind in zip(names, kinds, strict=True):
            if not (kind.is_numeric() or str(kind) == "Boolean"):
                raise non_numeric_error("the table", name, kind)
        names_of_kinds = set(map(str, kinds))
        self.uniform = names_of_kinds in ({"Float32"}, {"Float64"})
        return np.dtype(np.float32 if names_of_kinds == {"Float32"} else np.float64)

    def _sides(self, columns: ColumnSpec, roles: ColumnRoles, names: list[Any]) -> tuple[Any, Any]:
        """Target and weights, from columns of the table or from elsewhere."""
        sides = columns.needed[len(columns.X) :]
        arrow = {name: self.frame[:, names.index(name)].to_arrow() for name in sides}
        columns.label = common_label_dtype({arrow[name].type for name in columns.y})
        inside = columns.target_and_weights(arrow.__getitem__, 0, self.where)
        outside = roles.external_values(names, self.n_rows)
        y, w = (a if b is None else b[:] for a, b in zip(inside, outside, strict=True))
        return y, w if w is None else as_weights(w)


def to_dataframe(X: np.ndarray, names: list[str]) -> Any:
    """Rows as a table with named columns, for models that were fitted to one."""
    import pandas as pd

    return pd.DataFrame(X, columns=names)


def _to_narwhals(frame: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError as problem:
        raise TypeError(
            f"tenfold cannot open a {type(frame).__module__}.{type(frame).__name__}. Give an "
            "array, a table (a lazy one: collect it first), a file, or a list of files."
        ) from problem


def table_from_memory(data: Any, styles: dict[str, str] | None = None) -> TableSource:
    """A table in memory; columns whose style is "codes" are text."""
    import pyarrow as pa

    fields, columns = _names_and_columns(data)
    names, notes = make_unique_names(fields, "the table")
    arrays = [_to_arrow_array(values, n) for n, values in zip(names, columns, strict=True)]
    sizes = {len(array) for array, _ in arrays}
    if len(sizes) != 1 or sizes == {0}:
        rows = " or ".join(map(str, sorted(sizes))) or "no"
        raise TableError(
            f"the table has {len(names)} columns of {rows} rows. Give at least one row and one "
            "column, and columns of the same length."
        )
    types = {n: column_type(array.type) for n, (array, _) in zip(names, arrays, strict=True)}
    codes = CodeColumns(types, styles)
    raw = pa.RecordBatch.from_arrays([a for a, _ in arrays], names=names)
    while codes.find(raw, names):
        pass
    batch = to_physical_types(raw, names, types, _place)
    untyped = {name for name, (_, untyped) in zip(names, arrays, strict=True) if untyped}
    inference = TypeInference(names, {n: kind for n, kind in types.items() if n not in untyped})
    cells = to_column_batch(inference.read(batch), inference.types)
    return TableSource(
        MemoryStore(cells),
        inference.types,
        shown="the table",
        notes=notes + describe_codes(codes.examples | inference.codes),
        mixed=inference.find_mixed_columns(lambda row: row),
        styles=codes.styles | inference.styles,
    )


def _place(row: int) -> str:
    return f"the table, row {row}"


def _names_and_columns(data: Any) -> tuple[list[str], list[Any]]:
    """Names and values of the columns of a table, whatever library made it."""
    if isinstance(data, dict):
        return [str(name) for name in data], list(data.values())
    if isinstance(data, list):
        return _columns_from_rows(data)
    if isinstance(data, np.ndarray):
        return _columns_from_array(data)
    if hasattr(data, "iloc"):  # pandas, where two columns may have one name
        return [str(n) for n in data.columns], [data.iloc[:, j] for j in range(data.shape[1])]
    data = data.to_arrow() if hasattr(data, "to_arrow") else data
    if hasattr(data, "column_names"):
        return list(data.column_names), list(data.columns)
    raise TableError(
        f"a {type(data).__module__}.{type(data).__name__} is no table that can be read here. Give "
        "a file, a folder, a DataFrame, an Arrow table, an array or a dict of columns."
    )


def _columns_from_rows(rows: list[Any]) -> tuple[list[str], list[Any]]:
    if not all(isinstance(row, dict) for row in rows):
        return _columns_from_array(np.array(rows, dtype=object))
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [str(n) for n in names], [[row.get(name) for row in rows] for name in names]


def _columns_from_array(data: np.ndarray) -> tuple[list[str], list[Any]]:
    if data.dtype.names:
        return list(data.dtype.names), [data[name] for name in data.dtype.names]
    if data.ndim != 2:
        raise TableError(
            f"the array has shape {data.shape}. A table needs two dimensions, rows and columns: "
            "X.reshape(len(X), -1)."
        )
    width = range(data.shape[1])
    return [f"x{j}" for j in width], [data[:, j] for j in width]


def _to_arrow_array(values: Any, name: str) -> tuple[Any, bool]:
    """A column as one Arrow array, and whether it had no type: numbers and text mixed."""
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _combine_chunks(values), False
    if isinstance(values, np.ndarray):
        values = np.ascontiguousarray(values)
        values = values.tolist() if values.dtype.kind in "OU" else values
    try:
        return _combine_chunks(pa.array(values, from_pandas=True)), False
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return to_strings(_replace_missing(values), name, _place), True


def _combine_chunks(array: Any) -> Any:
    import pyarrow as pa

    if not isinstance(array, pa.ChunkedArray):
        return array
    whole = array.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def _replace_missing(values: Iterable[Any]) -> Iterable[Any]:
    """None for what pandas and numpy call missing."""
    for value in values:
        missing = type(value).__name__ in {"NAType", "NaTType"} or value != value  # noqa: PLR0124
        yield None if missing else value
