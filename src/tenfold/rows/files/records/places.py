"""From what a user names to records: one reader for each kind of file."""

from __future__ import annotations

import os
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.rows.cells import Cells
from tenfold.rows.files.asked import listing
from tenfold.rows.files.folders import named as named_files
from tenfold.rows.files.records.csv_text import NotUtf8, csv_file
from tenfold.rows.files.records.errors import TableError
from tenfold.rows.files.records.excel import excel_file
from tenfold.rows.files.records.json_lines import json_file
from tenfold.rows.files.records.naming import assert_same
from tenfold.rows.files.records.number_styles import told
from tenfold.rows.files.records.records import Records
from tenfold.rows.files.records.store import InMemory
from tenfold.rows.files.records.tables import in_memory
from tenfold.rows.files.records.typed import typed_records
from tenfold.rows.files.records.understood import Understood, settle

KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
PACKED = {".gz", ".bz2"}
SIGNS = {b"PAR1": "parquet", b"ARRO": "ipc", b"PK\x03\x04": "excel"}


class How(NamedTuple):
    """How a table is read, where that is not left to looking at it.

    Attributes
    ----------
    sheet : of an Excel file
    delimiter, encoding, header : of a CSV file
    styles : dict, name -> style of its numbers, for columns of text tables
    """

    sheet: str | int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    styles: dict[str, str] | None = None


def opened(where: Any, how: How) -> Records:
    """Open whatever it is."""
    if isinstance(where, str) and where == "-":
        return _standard_input(how)
    if isinstance(where, Cells):
        return Records(InMemory(where), where.types, shown="the table")
    first = where[0] if isinstance(where, list | tuple) and where else where
    if not isinstance(first, str | os.PathLike):
        return in_memory(where)
    paths = _paths(where)
    kinds = {path: kind_of(path) for path in paths}
    if len(set(kinds.values())) > 1:
        examples = {kind: path.name for path, kind in kinds.items()}
        raise TableError(
            f"{where} holds files of several kinds ({listing(list(examples.values()), 4)}). Name "
            "those that belong together by a pattern, such as 'folder/*.csv'."
        )
    kind = kinds[paths[0]]
    shown = str(where) if isinstance(where, str | os.PathLike) else listing([*map(str, paths)], 2)
    if kind == "csv":
        return csv_records(paths, shown, how)
    if kind == "json":
        return text_records([json_file(path) for path in paths], shown, how)
    if kind == "excel":
        return text_records([excel_file(path, how.sheet) for path in paths], shown, how)
    return typed_records(paths, shown, kind)


def _paths(where: Any) -> list[Path]:
    try:
        if isinstance(where, str | os.PathLike):
            return named_files(os.fspath(where))
        return [path for one in where for path in named_files(os.fspath(one))]
    except FileNotFoundError as problem:
        raise TableError(str(problem)) from problem


def kind_of(path: Path) -> str:
    """By the end of its name, else by its first bytes; what is unknown is taken for CSV."""
    ends = [end.lower() for end in path.suffixes[-2:]]
    end = ends[0] if ends and ends[-1] in PACKED else (ends[-1] if ends else "")
    if end in KINDS:
        return KINDS[end]
    with path.open("rb") as file:
        return SIGNS.get(file.read(4), "csv")


def csv_records(paths: list[Path], shown: str, how: How) -> Records:
    """CSV files with the same columns."""
    try:
        return text_records(_csv_files(paths, how), shown, how)
    except NotUtf8:
        if how.encoding is not None:
            raise TableError(
                f"{shown} is not in the encoding {how.encoding}: name another, such as latin-1."
            ) from None
    how = how._replace(encoding="latin-1")
    records = text_records(_csv_files(paths, how), shown, how)
    records.notes.append(
        f"{shown} is not in UTF-8; it was read as Latin-1 (encoding=... says otherwise)."
    )
    return records


def _csv_files(paths: list[Path], how: How) -> list[Any]:
    """What the files look like; the first tells whether all of them begin with names."""
    first = csv_file(paths[0], how.delimiter, how.encoding, how.header)
    others = (csv_file(p, how.delimiter, how.encoding, first.has_header) for p in paths[1:])
    return [first, *others]


def text_records(files: list[Any], shown: str, how: How) -> Records:
    """Files of text: what the columns are is decided by all rows."""
    names = files[0].names
    for file in files[1:]:
        assert_same(file.shown, names, file.names, files[0].shown)
    starts: list[int] = [0]

    def stream() -> Iterator[Any]:
        starts[:] = [0]
        for file in files:
            rows = starts[-1]
            for batch in file.batches():
                rows += batch.num_rows
                yield batch.select(names)
            starts.append(rows)

    styles = {name: style for name, style in (how.styles or {}).items() if name in names}
    understood = Understood(names, styles=styles)
    store = settle(understood, stream, shown)

    def place(row: int) -> tuple[str, str, int]:
        number = min(bisect_right(starts, row), len(files)) - 1
        return files[number].shown, *files[number].place(row - starts[number])

    return Records(
        store,
        understood.types,
        shown=shown,
        notes=[note for file in files for note in file.notes] + told(understood.marked),
        mixed=understood.mixed(lambda row: place(row)[2]),
        place=lambda row: "{}, {} {}".format(*place(row)),
        styles=understood.styles,
    )


def _standard_input(how: How) -> Records:
    with tempfile.NamedTemporaryFile(suffix=".csv") as copy:
        while block := sys.stdin.buffer.read(2**20):
            copy.write(block)
        copy.flush()
        records = csv_records([Path(copy.name)], "the standard input", how)
    records.notes = [note.replace(copy.name, "the standard input") for note in records.notes]
    records.place = None  # the copy is gone
    return records
