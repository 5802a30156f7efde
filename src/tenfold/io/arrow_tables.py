"""Tables of mixed columns in Parquet and Arrow IPC files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tenfold.io._header import check_same_columns
from tenfold.io._type_inference import TypeInference, infer_and_store
from tenfold.io.columnar import TableError, unreadable_file_error
from tenfold.io.table import TableSource

_BATCH_ROWS = 8192


def column_type(kind: Any) -> str:
    """What a column of this Arrow type is here."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_boolean(kind):
        return "bool"
    if any(t(kind) for t in (types.is_integer, types.is_floating, types.is_decimal, types.is_null)):
        return "number"
    return "date" if types.is_timestamp(kind) or types.is_date(kind) else "text"


def to_physical_types(batch: Any, names: list[str], types: dict[str, str]) -> Any:
    """A batch with its columns as float64, strings and times."""
    import pyarrow as pa

    columns = [
        _to_physical_type(column, types[n]) for n, column in zip(names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _to_physical_type(column: Any, kind: str) -> Any:
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    wanted = {"text": pa.string(), "date": pa.timestamp("us")}.get(kind, pa.float64())
    if kind == "text" and not _is_string_type(column.type):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
    if kind == "date" and getattr(column.type, "tz", None):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if types.is_boolean(column.type) and kind != "text":
        column = column.cast(pa.uint8())
    return column.cast(wanted, safe=False)


def _is_string_type(kind: Any) -> bool:
    from pyarrow import types

    return any(t(kind) for t in (types.is_string, types.is_large_string, types.is_string_view))


def read_parquet_schema(path: Path) -> Any:
    """The columns of a Parquet file."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            return file.schema_arrow
    except (pa.ArrowException, OSError) as problem:
        raise unreadable_file_error(str(path), problem) from problem


def read_parquet_batches(path: Path, names: list[str]) -> Iterator[Any]:
    """Record batches of a Parquet file."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=names):
                yield batch.select(names)
    except (pa.ArrowException, OSError) as problem:
        raise unreadable_file_error(str(path), problem) from problem


def read_ipc_schema(path: Path) -> Any:
    """The columns of an Arrow IPC (Feather) file."""
    import pyarrow as pa

    try:
        with pa.OSFile(str(path)) as file:
            return pa.ipc.open_file(file).schema
    except (pa.ArrowException, OSError) as problem:
        raise unreadable_file_error(str(path), problem) from problem


def read_ipc_batches(path: Path, names: list[str]) -> Iterator[Any]:
    """Record batches of an Arrow IPC file."""
    import pyarrow as pa

    try:
        with pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number).select(names)
    except (pa.ArrowException, OSError) as problem:
        raise unreadable_file_error(str(path), problem) from problem


def read_arrow_table(paths: list[Path], shown: str, kind: str) -> TableSource:
    """Parquet or Arrow files with the same columns."""
    schema, batches = {
        "parquet": (read_parquet_schema, read_parquet_batches),
        "ipc": (read_ipc_schema, read_ipc_batches),
    }[kind]
    schemas = [schema(path) for path in paths]
    names = _data_columns(schemas[0])
    types = {name: column_type(schemas[0].field(name).type) for name in names}
    for path, other in zip(paths, schemas, strict=True):
        check_same_columns(str(path), names, list(other.names), str(paths[0]))
        for name in names:
            if column_type(other.field(name).type) != types[name]:
                types[name] = "text"
    starts = [0]

    def stream() -> Iterator[Any]:
        starts[:] = [0]
        for path in paths:
            rows = starts[-1]
            for batch in batches(path, names):
                rows += batch.num_rows
                yield to_physical_types(batch, names, types)
            starts.append(rows)

    if not names:
        raise TableError(f"{shown} has no columns. Give a table with at least one.")
    understood = TypeInference(names, types)
    store = infer_and_store(understood, stream, shown)
    return TableSource(
        store, understood.types, shown=shown, place=lambda row: _locate_row(paths, starts, row)
    )


def _data_columns(schema: Any) -> list[str]:
    """The columns, without the index that pandas may have written beside them."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _locate_row(paths: list[Path], starts: list[int], row: int) -> str:
    number = min(bisect_right(starts, row), len(paths)) - 1
    return f"{paths[number]}, row {row - starts[number]}"
