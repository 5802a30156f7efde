"""Tables written as they come, some rows at a time: CSV, TSV, JSON lines, Parquet, Arrow.

A file is written under another name in the same folder and renamed when it is whole.
"""

from __future__ import annotations

import csv
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

Columns = Mapping[str, list[Any]]  # plain Python values by column, None where missing
Write = Callable[[Columns], None]


@contextmanager
def table_writer(where: str | os.PathLike[str], types: Mapping[str, str]) -> Iterator[Write]:
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
        yield _csv_rows(sys.stdout, types, ",")
        sys.stdout.flush()
        return
    path = Path(where)
    write_to = writer_of(path)
    unfinished = path.with_name(f".tenfold-{secrets.token_hex(8)}.tmp")
    try:
        with write_to(unfinished, types) as write:
            yield write
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def writer_of(path: Path) -> Callable[[Path, Mapping[str, str]], AbstractContextManager[Write]]:
    """What writes the format that the ending of a path names."""
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(FORMATS)
        raise ValueError(f"{path}: no format has the ending {path.suffix!r}; there are {known}")
    return FORMATS[path.suffix.lower()]


@contextmanager
def _csv(path: Path, types: Mapping[str, str], delimiter: str = ",") -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="") as file:
        yield _csv_rows(file, types, delimiter)


def _tsv(path: Path, types: Mapping[str, str]) -> AbstractContextManager[Write]:
    return _csv(path, types, "\t")


def _csv_rows(file: IO[str], types: Mapping[str, str], delimiter: str) -> Write:
    lines = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    lines.writerow(types)

    def write(columns: Columns) -> None:
        lines.writerows(zip(*(columns[name] for name in types), strict=True))

    return write


@contextmanager
def _json_lines(path: Path, types: Mapping[str, str]) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as file:
        yield json_rows(file, types)


def json_rows(file: IO[str], types: Mapping[str, str]) -> Write:
    """A function that writes rows as objects, one a line."""

    def write(columns: Columns) -> None:
        for row in zip(*(columns[name] for name in types), strict=True):
            cells = dict(zip(types, row, strict=True))
            file.write(json.dumps(cells, ensure_ascii=False, default=str) + "\n")

    return write


def _schema(types: Mapping[str, str]) -> Any:
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
def _parquet(path: Path, types: Mapping[str, str]) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(types)
    with pq.ParquetWriter(path, schema) as file:
        yield lambda columns: file.write_table(pa.Table.from_pydict(dict(columns), schema))


@contextmanager
def _arrow(path: Path, types: Mapping[str, str]) -> Iterator[Write]:
    import pyarrow as pa

    schema = _schema(types)
    with pa.ipc.new_file(str(path), schema) as file:
        yield lambda columns: file.write_table(pa.Table.from_pydict(dict(columns), schema))


FORMATS = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
}
