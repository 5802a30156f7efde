"""Numeric CSV files as a source: parsed once, into a spool file, when the first row is needed.

Reading text takes some twenty times as long as a pass of k-means over the numbers in it. The types
of the columns are those of the first block; text further down is an error that names its line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.file_matrix import FileMatrix
from tenfold.engine.source import Source
from tenfold.engine.spool import MatrixFileSource, SpoolFile
from tenfold.engine.validation import format_names
from tenfold.io._arrow_columns import ColumnSpec, is_numeric_type
from tenfold.io.column_roles import ColumnRoles
from tenfold.io.columnar import TableError
from tenfold.io.csv import (
    CsvFile,
    FieldCheck,
    NotUtf8Error,
    diagnose_csv_error,
    inspect_csv,
    line_number,
    read_csv_batches,
)
from tenfold.io.number_formats import is_plain_number

NUMERIC_BLOCK_BYTES = 2**20  # bytes of CSV text that are converted to float64 at once
_MAX_EXACT = 2**53  # float64 holds every whole number up to here


class CsvSource(Source):
    """One or several CSV files with the same columns; the first line of each holds their names."""

    dtype = np.dtype(np.float64)
    coarser: CsvSource | None = None  # the source that has the numbers

    def __init__(self, paths: list[Path], roles: ColumnRoles) -> None:
        self.roles = roles
        self.files = [_inspect_named_columns(path) for path in paths]
        self.columns = ColumnSpec(self.files[0].fields, roles, self.files[0].shown)
        schemas = [_infer_schema(file) for file in self.files]
        self.types = self._settle(schemas)
        self.names, self.n_features = self.columns.X, len(self.columns.X)
        self.has_target, self.has_weight = roles.target is not None, roles.weight is not None
        self.starts = [0]  # the first row of each file, as far as they are read
        if roles.are_columns(self.files[0].fields):
            self.data_files = tuple(str(Path(file.path).absolute()) for file in self.files)
            self.data_columns = self.columns.X, self.columns.y, self.columns.w

    def with_chunk_rows(self, rows: int) -> Self:
        """The same rows in smaller chunks; the text is still parsed once."""
        finer = super().with_chunk_rows(rows)
        finer.coarser = self
        return finer

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows, known when all text was read."""
        return self.spool.n_rows

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run."""
        return self.spool.with_chunk_rows(self.grid).chunks(run)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers."""
        return self.spool.take(rows)

    def where(self, row: int) -> str:
        """The file and the line in it, as an editor shows it."""
        number = min(bisect_right(self.starts, row), len(self.files)) - 1
        file = self.files[number]
        return f"{file.shown}, line {line_number(file, row - self.starts[number])}"

    @cached_property
    def spool(self) -> MatrixFileSource:
        """All numbers, in an unnamed temporary file."""
        if self.coarser is not None:
            return self.coarser.spool
        spool, integral, n_rows = SpoolFile(), self.has_integer_target, 0
        largest = 0.0
        for chunk in self._read():
            integral = integral and bool(np.all(chunk.y == np.rint(chunk.y)))
            largest = max(largest, np.abs(chunk.y).max(initial=0.0)) if integral else largest
            spool.put(chunk)
            n_rows = chunk.first + chunk.rows
        raw = spool.rows(n_rows, self)
        if integral and isinstance(raw.y, FileMatrix):
            raw.y.dtype = np.dtype(np.int64)
            exact = self._exact_target() if largest >= _MAX_EXACT else None
            raw.y = raw.y if exact is None else exact
        y, w = self.roles.external_values(self.files[0].fields, n_rows)
        raw.y, raw.w = raw.y if y is None else y, raw.w if w is None else w
        return raw

    def _exact_target(self) -> np.ndarray | None:
        """The target as whole numbers of 64 bits, since floating-point numbers merge large ones.

        None if it is not written as such (1e17).
        """
        import pyarrow as pa

        types = dict.fromkeys(self.columns.y, pa.int64())
        parts = []
        try:
            for file in self.files:
                for batch in read_csv_batches(file, types, block_bytes=NUMERIC_BLOCK_BYTES):
                    columns = [batch.column(name).to_numpy() for name in self.columns.y]
                    parts.append(columns[0] if len(columns) == 1 else np.column_stack(columns))
        except pa.ArrowInvalid:
            return None
        return np.concatenate(parts)

    def _read(self) -> Iterator[Chunk]:
        import pyarrow as pa

        self.starts = [0]
        for file, types in zip(self.files, self.types, strict=True):
            first = self.starts[-1]
            try:
                for batch in read_csv_batches(file, types, block_bytes=NUMERIC_BLOCK_BYTES):
                    yield self.columns.chunk(batch, first, self.where)
                    first += batch.num_rows
            except (pa.ArrowException, OSError) as problem:
                raise _read_error(file, types, first - self.starts[-1], problem) from problem
            self.starts.append(first)

    def _settle(self, schemas: list[Any]) -> list[dict[str, Any]]:
        """Arrow types of the needed columns, file by file."""
        columns = self.columns
        for file, schema in zip(self.files, schemas, strict=True):
            _check_numeric(file, schema, [n for n in columns.needed if n not in columns.y])
        text = {name for schema in schemas for name in _text_columns(schema, columns.y)}
        schemas = [_with_strings(schema, text) for schema in schemas]
        columns.resolve_types([file.shown for file in self.files], schemas)
        self.has_integer_target = columns.label == np.int64
        if self.has_integer_target:  # in the first block; a fraction may follow
            columns.label = np.dtype(np.float64)
        return [_parsed_types(schema, columns.needed) for schema in schemas]


def _inspect_named_columns(path: Path) -> CsvFile:
    """A file whose first line holds names, no two the same: models are fitted by name."""
    file = inspect_csv(path, header=True)
    if all(is_plain_number(field) for field in file.fields):
        raise ValueError(
            f"{file.shown}: the first line holds numbers ({format_names(file.fields, 3)}). It "
            "needs column names: add such a line."
        )
    return file._replace(names=file.fields) if len(set(file.fields)) == len(file.fields) else file


def _text_columns(schema: Any, names: list[str]) -> list[str]:
    """Those of the columns that hold no numbers."""
    return [n for n in names if n in schema.names and not is_numeric_type(schema.field(n).type)]


def _parsed_types(schema: Any, names: list[str]) -> dict[str, Any]:
    """As what columns are read: strings and truth values as such, all others as float64."""
    import pyarrow as pa

    kinds = {name: schema.field(name).type for name in names}
    return {
        n: kind if kind in (pa.bool_(), pa.string()) else pa.float64() for n, kind in kinds.items()
    }


def _with_strings(schema: Any, names: set[str]) -> Any:
    """The schema with these columns as strings."""
    import pyarrow as pa

    return pa.schema([(f.name, pa.string() if f.name in names else f.type) for f in schema])


def _infer_schema(file: CsvFile) -> Any:
    """Column types of the first block."""
    import pyarrow as pa

    try:
        return read_csv_batches(file, {}, block_bytes=NUMERIC_BLOCK_BYTES).schema
    except (pa.ArrowException, OSError) as problem:
        raise _read_error(file, {}, 0, problem) from problem


def _check_numeric(file: CsvFile, schema: Any, names: list[str]) -> None:
    import pyarrow as pa

    text = _text_columns(schema, names)
    if text:
        problem = f"column {text[0]!r} holds {schema.field(text[0]).type}"
        raise _read_error(file, dict.fromkeys(text, pa.float64()), 0, problem)


def _read_error(file: CsvFile, types: dict[str, Any], row: int, problem: Any) -> Exception:
    """The error about a file that cannot be read; the first `row` rows are known to be valid."""
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions

    usual = ConvertOptions()
    null, truth = set(usual.null_values), {*usual.true_values, *usual.false_values}
    checks = {
        pa.float64(): FieldCheck(lambda field: field in null or is_plain_number(field), "a number"),
        pa.bool_(): FieldCheck(lambda field: field in null or field in truth, "true or false"),
    }
    checked = {name: checks[kind] for name, kind in types.items() if kind in checks}
    error = diagnose_csv_error(file, checked, row, problem)
    if isinstance(error, NotUtf8Error):
        return TableError(f"{file.shown} is not in UTF-8: convert it ({problem}).")
    return error
