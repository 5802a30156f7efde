"""Numeric CSV files as a source: parsed once, into a spool file, when the first row is needed.

Reading text takes some twenty times as long as a pass of k-means over the numbers in it. The types
of the columns are those of the first MiB; a word further down is an error that names its line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.file_matrix import FileMatrix
from tenfold.engine.source import Source
from tenfold.engine.spool import MatrixFileSource, SpoolFile
from tenfold.io._arrow_columns import ColumnSpec
from tenfold.io._arrow_columns import is_numeric_type as holds_numbers
from tenfold.io.column_roles import ColumnRoles
from tenfold.io.csv import CsvDialect, FieldCheck, find_invalid_field, find_line, read_dialect
from tenfold.io.number_formats import is_plain_number

_PARSED_BLOCK_BYTES = 2**20  # bytes of text converted at once


class CsvSource(Source):
    """One or several CSV files with the same columns; the first line of each holds their names."""

    dtype = np.dtype(np.float64)

    def __init__(self, paths: list[Path], asked: ColumnRoles) -> None:
        self.asked = asked
        self.files = [read_dialect(path) for path in paths]
        self.columns = ColumnSpec(self.files[0].names, asked, self.files[0].shown)
        schemas = [_read_first_block(file).schema for file in self.files]
        self.types = self._settle(schemas)
        self.names, self.n_features = self.columns.X, len(self.columns.X)
        self.has_target, self.has_weight = asked.target is not None, asked.weight is not None
        self.starts = [0]  # the first row of each file, as far as they are read

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows, known when all text was read."""
        return self.spool.n_rows

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run."""
        return self.spool.chunks(run)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers."""
        return self.spool.take(rows)

    def where(self, row: int) -> str:
        """The file and the line in it, as an editor shows it."""
        number = min(bisect_right(self.starts, row), len(self.files)) - 1
        file = self.files[number]
        return f"{file.shown}, line {find_line(file, row - self.starts[number])}"

    @cached_property
    def spool(self) -> MatrixFileSource:
        """All numbers, in a raw file that has no name."""
        spool, whole, n_rows = SpoolFile(), self.whole, 0
        for chunk in self._read():
            whole = whole and bool(np.all(chunk.y == np.rint(chunk.y)))
            spool.put(chunk)
            n_rows = chunk.first + chunk.rows
        raw = spool.rows(n_rows, self)
        if whole and isinstance(raw.y, FileMatrix):
            raw.y.dtype = np.dtype(np.int64)
        y, w = self.asked.outside(self.files[0].names, n_rows)
        raw.y, raw.w = raw.y if y is None else y, raw.w if w is None else w
        return raw

    def _read(self) -> Iterator[Chunk]:
        import pyarrow as pa

        self.starts = [0]
        for file, types in zip(self.files, self.types, strict=True):
            first = self.starts[-1]
            try:
                for batch in _open_csv_stream(file, types):
                    yield self.columns.chunk(batch, first, self.where)
                    first += batch.num_rows
            except (pa.ArrowException, OSError) as problem:
                raise _diagnose_error(file, types, first - self.starts[-1], problem) from problem
            self.starts.append(first)

    def _settle(self, schemas: list[Any]) -> list[dict[str, Any]]:
        """Number types of the needed columns, file by file."""
        columns = self.columns
        for file, schema in zip(self.files, schemas, strict=True):
            _check_numeric(file, schema, [n for n in columns.needed if n not in columns.y])
        words = {name for schema in schemas for name in _text_columns(schema, columns.y)}
        schemas = [_as_text(schema, words) for schema in schemas]
        columns.settle([file.shown for file in self.files], schemas)
        self.whole = columns.label == np.int64
        if self.whole:  # as far as the first block shows; a fraction may follow
            columns.label = np.dtype(np.float64)
        return [_parsed_types(schema, columns.needed) for schema in schemas]


def _text_columns(schema: Any, names: list[str]) -> list[str]:
    """Those of the columns that hold no numbers."""
    return [n for n in names if n in schema.names and not holds_numbers(schema.field(n).type)]


def _parsed_types(schema: Any, names: list[str]) -> dict[str, Any]:
    """As what columns are read: words and truth values as such, all others as float64."""
    import pyarrow as pa

    kinds = {name: schema.field(name).type for name in names}
    kept = (pa.bool_(), pa.string())
    return {name: kind if kind in kept else pa.float64() for name, kind in kinds.items()}


def _as_text(schema: Any, words: set[str]) -> Any:
    """The schema with these columns as words."""
    import pyarrow as pa

    return pa.schema([(f.name, pa.string() if f.name in words else f.type) for f in schema])


def _open_csv_stream(file: CsvDialect, types: dict[str, Any]) -> Any:
    from pyarrow import csv

    block = max(_PARSED_BLOCK_BYTES, 64 * len(file.names))  # a line must fit
    return csv.open_csv(
        file.path,
        csv.ReadOptions(block_size=block, use_threads=False),
        csv.ParseOptions(delimiter=file.delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            column_types=types, include_columns=list(types), strings_can_be_null=True
        ),
    )


def _read_first_block(file: CsvDialect) -> Any:
    import pyarrow as pa

    try:
        return _open_csv_stream(file, {})
    except (pa.ArrowException, OSError) as problem:
        raise _diagnose_error(file, {}, 0, problem) from problem


def _check_numeric(file: CsvDialect, schema: Any, names: list[str]) -> None:
    import pyarrow as pa

    words = _text_columns(schema, names)
    if words:
        problem = f"column {words[0]!r} holds {schema.field(words[0]).type}"
        raise _diagnose_error(file, dict.fromkeys(words, pa.float64()), 0, problem)


def _diagnose_error(file: CsvDialect, types: dict[str, Any], row: int, problem: Any) -> ValueError:
    """The error for a file that cannot be read; the first `row` rows are known to be fine."""
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions

    usual = ConvertOptions()
    null, truth = set(usual.null_values), {*usual.true_values, *usual.false_values}
    tests = {
        pa.float64(): FieldCheck(lambda field: field in null or is_plain_number(field), "a number"),
        pa.bool_(): FieldCheck(lambda field: field in null or field in truth, "true or false"),
    }
    checked = {name: tests[kind] for name, kind in types.items() if kind in tests}
    try:
        found = find_invalid_field(file, checked, row)
    except (OSError, EOFError):  # the packed file itself is damaged
        found = None
    return ValueError(found or f"{file.shown} cannot be read: {problem}")
