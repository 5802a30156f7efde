"""Tables written batch by batch, atomically: CSV, TSV, JSON lines, Parquet, Arrow."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

from tenfold.engine.atomic import atomic_path

ColumnValues = Mapping[str, list[Any]]  # plain Python values by column, None where missing
WriteBatch = Callable[[ColumnValues], None]


@contextmanager
def table_writer(where: str | os.PathLike[str], types: Mapping[str, str]) -> Iterator[WriteBatch]:
    """A function that writes the next rows of a table; the file appears when all are written.

    Parameters
    ----------
    where : path
        Its ending says the format: .csv, .tsv, .jsonl, .ndjson, .parquet, .arrow or .feather; "-"
        is CSV on the standard output.
    types : dict
        "number", "whole", "text", "date" or "bool" for each column, in order.

    Examples
    --------
    >>> with table_writer("-", {"size": "number", "colour": "text"}) as write:
    ...     write({"size": [1.5, None], "colour": ["red", "blue, or green"]})
    size,colour
    1.5,red
    ,"blue, or green"
    """
    if os.fspath(where) == "-":
        yield _csv_row_writer(sys.stdout, types, ",")
        sys.stdout.flush()
        return
    path = Path(where)
    write_to = find_writer(path)
    with atomic_path(path) as temporary, write_to(temporary, types) as write:
        yield write


def find_writer(
    path: Path,
) -> Callable[[Path, Mapping[str, str]], AbstractContextManager[WriteBatch]]:
    """What writes the format that the ending of a path names."""
    if path.suffix.lower() not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise ValueError(f"{path}: no format has the ending {path.suffix!r}; there are {known}")
    return _WRITERS[path.suffix.lower()]


@contextmanager
def _write_csv(path: Path, types: Mapping[str, str], delimiter: str = ",") -> Iterator[WriteBatch]:
    with path.open("w", encoding="utf-8", newline="") as file:
        yield _csv_row_writer(file, types, delimiter)


def _write_tsv(path: Path, types: Mapping[str, str]) -> AbstractContextManager[WriteBatch]:
    return _write_csv(path, types, "\t")


def _csv_row_writer(file: IO[str], types: Mapping[str, str], delimiter: str) -> WriteBatch:
    lines = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    lines.writerow(types)

    def write(columns: ColumnValues) -> None:
        lines.writerows(zip(*(columns[name] for name in types), strict=True))

    return write


@contextmanager
def _write_json_lines(path: Path, types: Mapping[str, str]) -> Iterator[WriteBatch]:
    with path.open("w", encoding="utf-8") as file:
        yield json_row_writer(file, types)


def json_row_writer(file: IO[str], types: Mapping[str, str]) -> WriteBatch:
    """A function that writes rows as objects, one a line."""

    def write(columns: ColumnValues) -> None:
        for row in zip(*(columns[name] for name in types), strict=True):
            cells = dict(zip(types, row, strict=True))
            file.write(json.dumps(cells, ensure_ascii=False, default=str) + "\n")

    return write


def _arrow_schema(types: Mapping[str, str]) -> Any:
    import pyarrow as pa

    known = {
        "number": pa.float64(),
        "whole": pa.int64(),
        "text": pa.string(),
        "date": pa.timestamp("us"),
        "bool": pa.bool_(),
    }
    return pa.schema([(name, known[kind]) for name, kind in types.items()])


@contextmanager
def _write_parquet(path: Path, types: Mapping[str, str]) -> Iterator[WriteBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _arrow_schema(types)
    with pq.ParquetWriter(path, schema) as file:
        yield lambda columns: file.write_table(pa.Table.from_pydict(dict(columns), schema))


@contextmanager
def _write_arrow(path: Path, types: Mapping[str, str]) -> Iterator[WriteBatch]:
    import pyarrow as pa

    schema = _arrow_schema(types)
    with pa.ipc.new_file(str(path), schema) as file:
        yield lambda columns: file.write_table(pa.Table.from_pydict(dict(columns), schema))


_WRITERS = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".feather": _write_arrow,
}
