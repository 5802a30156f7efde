"""Tables of mixed columns in Parquet and Arrow IPC files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tenfold.io._header import check_same_columns
from tenfold.io._tuning import TABLE_BATCH_ROWS
from tenfold.io._type_inference import TypeInference, infer_and_store
from tenfold.io.arrow import data_columns
from tenfold.io.columnar import TableError, unreadable_file_error
from tenfold.io.parquet import ARROW_READERS
from tenfold.io.table import TableSource


def column_type(kind: Any) -> str:
    """The type of a table's column ("bool", "number", "date", "text") for an Arrow type."""
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


def read_arrow_table(paths: list[Path], shown: str, kind: str) -> TableSource:
    """Parquet or Arrow files with the same columns."""
    schemas = [_read_schema(path, kind) for path in paths]
    names = data_columns(schemas[0])
    if not names:
        raise TableError(f"{shown} has no columns. Give a table with at least one.")
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
            for batch in _read_batches(path, names, kind):
                rows += batch.num_rows
                yield to_physical_types(batch, names, types)
            starts.append(rows)

    inference = TypeInference(names, types)
    store = infer_and_store(inference, stream, shown)
    return TableSource(
        store, inference.types, shown=shown, place=lambda row: _locate_row(paths, starts, row)
    )


def _read_schema(path: Path, kind: str) -> Any:
    import pyarrow as pa

    try:
        return ARROW_READERS[kind][0](str(path))
    except (pa.ArrowException, OSError) as problem:
        raise unreadable_file_error(str(path), problem) from problem


def _read_batches(path: Path, names: list[str], kind: str) -> Iterator[Any]:
    import pyarrow as pa

    read = ARROW_READERS[kind][1]
    try:
        for batch in read(str(path), names, TABLE_BATCH_ROWS, memory_map=False, use_threads=True):
            yield batch.select(names)
    except (pa.ArrowException, OSError) as problem:
        raise unreadable_file_error(str(path), problem) from problem


def _locate_row(paths: list[Path], starts: list[int], row: int) -> str:
    number = min(bisect_right(starts, row), len(paths)) - 1
    return f"{paths[number]}, row {row - starts[number]}"
