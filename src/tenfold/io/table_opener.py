"""`open_table`: files, data frames and the standard input as tables of mixed columns."""

from __future__ import annotations

import os
import sys
import tempfile
import weakref
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.engine.validation import format_names
from tenfold.io._header import check_same_columns
from tenfold.io._long_integers import describe_codes
from tenfold.io._type_inference import TypeInference, infer_and_store
from tenfold.io.arrow_tables import read_arrow_table
from tenfold.io.columnar import (
    ColumnBatch,
    TableError,
)
from tenfold.io.csv import NotUtf8Error, inspect_csv
from tenfold.io.dataframe import table_from_memory
from tenfold.io.excel import inspect_excel
from tenfold.io.file_formats import resolve_files, table_format
from tenfold.io.json_lines import inspect_json
from tenfold.io.number_formats import describe_formats
from tenfold.io.row_store import MemoryStore
from tenfold.io.table import TableSource

_STANDARD_INPUT = "the standard input"


class TableOptions(NamedTuple):
    """How a table is read, where that is not to be detected.

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


def read_table(where: Any, how: TableOptions) -> TableSource:
    """Open a file, several files, a table in memory, or the standard input."""
    if isinstance(where, str) and where == "-":
        return _read_standard_input(how)
    if isinstance(where, ColumnBatch):
        return TableSource(MemoryStore(where), where.types, shown="the table")
    first = where[0] if isinstance(where, list | tuple) and where else where
    if not isinstance(first, str | os.PathLike):
        return table_from_memory(where, how.styles)
    try:
        kind, paths = resolve_files(where, table_format)
    except (FileNotFoundError, ValueError) as problem:
        raise TableError(str(problem)) from problem
    shown = (
        str(where) if isinstance(where, str | os.PathLike) else format_names([*map(str, paths)], 2)
    )
    if kind == "csv":
        return read_csv_table(paths, shown, how)
    if kind == "json":
        return read_text_table([inspect_json(path) for path in paths], shown, how)
    if kind == "excel":
        return read_text_table([inspect_excel(path, how.sheet) for path in paths], shown, how)
    return read_arrow_table(paths, shown, kind, how.styles)


def read_csv_table(paths: list[Path], shown: str, how: TableOptions) -> TableSource:
    """CSV files with the same columns."""
    called = {paths[0]: shown} if shown == _STANDARD_INPUT else {}
    try:
        return read_text_table(_inspect_csv_files(paths, how, called), shown, how)
    except NotUtf8Error:
        if how.encoding is not None:
            raise TableError(
                f"{shown} is not in the encoding {how.encoding}: name another, such as latin-1."
            ) from None
    how = how._replace(encoding="latin-1")
    records = read_text_table(_inspect_csv_files(paths, how, called), shown, how)
    records.notes.append(
        f"{shown} is not in UTF-8; it was read as Latin-1 (encoding=... says otherwise)."
    )
    return records


def _inspect_csv_files(paths: list[Path], how: TableOptions, called: dict[Path, str]) -> list[Any]:
    """How the files are read; the first decides whether all of them begin with names."""
    dialect = how.delimiter, how.encoding
    first = inspect_csv(paths[0], *dialect, how.header, shown=called.get(paths[0]))
    return [first, *(inspect_csv(path, *dialect, first.has_header) for path in paths[1:])]


def read_text_table(files: list[Any], shown: str, how: TableOptions) -> TableSource:
    """Files of text; types of columns are inferred from all rows."""
    names = files[0].names
    for file in files[1:]:
        check_same_columns(file.shown, names, file.names, files[0].shown)
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
    inference = TypeInference(names, styles=styles)
    store = infer_and_store(inference, stream, shown)

    def place(row: int) -> tuple[str, str, int]:
        number = min(bisect_right(starts, row), len(files)) - 1
        return files[number].shown, *files[number].place(row - starts[number])

    return TableSource(
        store,
        inference.types,
        shown=shown,
        notes=[
            *(note for file in files for note in file.notes),
            *describe_formats(inference.formats),
            *describe_codes(inference.codes),
        ],
        mixed=inference.find_mixed_columns(lambda row: place(row)[2]),
        place=lambda row: "{}, {} {}".format(*place(row)),
        styles=inference.styles,
    )


def _read_standard_input(how: TableOptions) -> TableSource:
    if sys.stdin is None:
        raise TableError(f"{_STANDARD_INPUT} is closed: give a file.")
    copy = _InputCopy()
    records = read_csv_table([copy.path], _STANDARD_INPUT, how)
    locate: Any = records.place
    records.place = lambda row, _=copy: locate(row)  # keeps the copy, in which it counts lines
    return records


class _InputCopy:
    """The standard input in a temporary file, which is removed with its last reader."""

    def __init__(self) -> None:
        file = tempfile.NamedTemporaryFile(suffix=".csv")  # noqa: SIM115 - closed by `finalize`
        weakref.finalize(self, file.close)
        while block := sys.stdin.buffer.read(2**20):
            file.write(block)
        file.flush()
        self.path = Path(file.name)


def open_table(
    where: Any,
    *,
    target: str | None = None,
    sheet: str | int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    styles: dict[str, str] | None = None,
    columns: list[str] | None = None,
) -> TableSource:
    """Open a table of mixed columns, in memory or in files.

    Parameters
    ----------
    where : path, list of paths, table or TableSource
        A CSV, TSV (also .gz, .bz2), Parquet, Arrow, JSON lines or Excel file, a folder or a
        pattern of such files, a list of them, "-" for CSV from the standard input; a pandas or
        polars DataFrame, an Arrow table, an array, a dict of columns, a list of dicts, a
        ColumnBatch.
    target : str, optional
        The column to be predicted; it must be there.
    sheet : str or int, optional
        Of an Excel file; the first by default.
    delimiter, encoding : str, optional
        Of a text file; detected by default.
    header : bool, optional
        Whether the first line of a CSV file holds names; detected by comparison with the others by
        default. Without names, columns are called x0, x1, ...
    styles : dict, name -> {"plain", "commas", "blanks", "decimal comma", "codes"}, optional
        How numbers are written in columns of text files: 1234.5, 1,234.5, 1 234.5 or 1.234,5;
        "codes" are kept as text, as are by default whole numbers that float64 would merge.
        Detected from all cells by default.
    columns : list of str, optional
        Which columns to keep; all by default.

    Returns
    -------
    TableSource

    Raises
    ------
    TableError
        One sentence that says where the table is wrong, and what to do.

    Examples
    --------
    >>> records = open_table({"size": [1.5, None], "colour": ["red", "blue"]})
    >>> records, records.types
    (TableSource(2 x 2, the table), {'size': 'number', 'colour': 'text'})
    >>> records.slice(0, 2).row(1)
    {'size': None, 'colour': 'blue'}
    """
    how = TableOptions(sheet, delimiter, encoding, header, styles)
    records = where if isinstance(where, TableSource) else read_table(where, how)
    if columns is not None:
        records = records.select([*columns] if target is None else _add_target(columns, target))
    if target is not None:
        records.assert_column(target)
        records = records.select(records.names)
        records.target = target
    return records


def _add_target(columns: list[str], target: str) -> list[str]:
    return [*columns] if target in columns else [*columns, target]
