"""Tables in memory: data frames, Arrow tables, dicts of columns, lists of dicts, arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tenfold.rows.files.records.errors import TableError
from tenfold.rows.files.records.naming import named
from tenfold.rows.files.records.readings import strings
from tenfold.rows.files.records.records import Records
from tenfold.rows.files.records.store import InMemory, cells_of
from tenfold.rows.files.records.typed import physical, type_of
from tenfold.rows.files.records.understood import Understood


def in_memory(data: Any) -> Records:
    """A table in memory."""
    import pyarrow as pa

    fields, columns = columns_of(data)
    names, notes = named(fields, "the table")
    arrays = [_array(values) for values in columns]
    sizes = {len(array) for array, _ in arrays}
    if len(sizes) != 1 or sizes == {0}:
        rows = " or ".join(map(str, sorted(sizes))) or "no"
        raise TableError(
            f"the table has {len(names)} columns of {rows} rows. Give at least one row and one "
            "column, and columns of the same length."
        )
    types = {n: type_of(array.type) for n, (array, _) in zip(names, arrays, strict=True)}
    batch = physical(pa.RecordBatch.from_arrays([a for a, _ in arrays], names=names), names, types)
    loose = {name for name, (_, loose) in zip(names, arrays, strict=True) if loose}
    understood = Understood(names, {n: kind for n, kind in types.items() if n not in loose})
    cells = cells_of(understood.read(batch), understood.types)
    mixed = understood.mixed(lambda row: row)
    return Records(InMemory(cells), understood.types, shown="the table", notes=notes, mixed=mixed)


def columns_of(data: Any) -> tuple[list[str], list[Any]]:
    """Names and values of the columns of a table, whatever library made it."""
    if isinstance(data, dict):
        return [str(name) for name in data], list(data.values())
    if isinstance(data, list):
        return _from_rows(data)
    if isinstance(data, np.ndarray):
        return _from_array(data)
    if hasattr(data, "iloc"):  # pandas, where two columns may have one name
        return [str(n) for n in data.columns], [data.iloc[:, j] for j in range(data.shape[1])]
    data = data.to_arrow() if hasattr(data, "to_arrow") else data
    if hasattr(data, "column_names"):
        return list(data.column_names), list(data.columns)
    raise TableError(
        f"a {type(data).__module__}.{type(data).__name__} is no table that can be read here. Give "
        "a file, a folder, a DataFrame, an Arrow table, an array or a dict of columns."
    )


def _from_rows(rows: list[Any]) -> tuple[list[str], list[Any]]:
    if not all(isinstance(row, dict) for row in rows):
        return _from_array(np.array(rows, dtype=object))
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [str(n) for n in names], [[row.get(name) for row in rows] for name in names]


def _from_array(data: np.ndarray) -> tuple[list[str], list[Any]]:
    if data.dtype.names:
        return list(data.dtype.names), [data[name] for name in data.dtype.names]
    if data.ndim != 2:
        raise TableError(
            f"the array has shape {data.shape}. A table needs two dimensions, rows and columns: "
            "X.reshape(len(X), -1)."
        )
    width = range(data.shape[1])
    return [f"x{j}" for j in width], [data[:, j] for j in width]


def _array(values: Any) -> tuple[Any, bool]:
    """A column as one Arrow array, and whether it had no type: numbers and words mixed."""
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _whole(values), False
    if isinstance(values, np.ndarray):
        values = np.ascontiguousarray(values)
        values = values.tolist() if values.dtype.kind in "OU" else values
    try:
        return _whole(pa.array(values, from_pandas=True)), False
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return strings(_plain(values)), True


def _whole(array: Any) -> Any:
    import pyarrow as pa

    if not isinstance(array, pa.ChunkedArray):
        return array
    whole = array.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def _plain(values: Iterable[Any]) -> Iterable[Any]:
    """None for what pandas and numpy call missing."""
    for value in values:
        gone = type(value).__name__ in {"NAType", "NaTType"} or value != value  # noqa: PLR0124
        yield None if gone else value
