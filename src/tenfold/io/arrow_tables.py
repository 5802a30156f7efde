"""Tables of mixed columns in Parquet and Arrow IPC files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.io._header import check_same_columns, make_unique_names
from tenfold.io._long_integers import CODES, RoundingCheck, describe_codes
from tenfold.io._type_inference import TABLE_BATCH_ROWS, TypeInference, infer_and_store
from tenfold.io.arrow import data_columns
from tenfold.io.columnar import TableError, unreadable_file_error
from tenfold.io.number_formats import arrow_compute
from tenfold.io.parquet import ARROW_READERS
from tenfold.io.table import TableSource

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_897  # 0001-01-01 and 10000-01-01, from 1970-01-01


def column_type(kind: Any) -> str:
    """The type of a table's column ("bool", "number", "date", "text") for an Arrow type."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_boolean(kind):
        return "bool"
    if any(t(kind) for t in (types.is_integer, types.is_floating, types.is_decimal, types.is_null)):
        return "number"
    return "date" if types.is_timestamp(kind) or types.is_date(kind) else "text"


def to_physical_types(
    batch: Any, names: list[str], types: dict[str, str], where: Callable[[int], str]
) -> Any:
    """A batch with its columns as float64, strings and times; `where` names the place of a row."""
    import pyarrow as pa

    columns = [
        _to_physical_type(column, types[n], lambda row, n=n: f"{where(row)}, column {n!r}")
        for n, column in zip(names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _to_physical_type(column: Any, kind: str, where: Callable[[int], str]) -> Any:
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    wanted = {"text": pa.string(), "date": pa.timestamp("us")}.get(kind, pa.float64())
    if kind == "text" and not _is_string_type(column.type):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
    if kind == "date":
        _check_years(column, where)
    if kind == "date" and getattr(column.type, "tz", None):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if types.is_boolean(column.type) and kind != "text":
        column = column.cast(pa.uint8())
    return column.cast(wanted, safe=False)


def _check_years(column: Any, where: Callable[[int], str]) -> None:
    """Raise an error that names the place of the first date outside of the years 1 to 9999."""
    import pyarrow as pa
    from pyarrow import types

    pc = arrow_compute()
    day = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
    if types.is_date32(column.type):
        numbers, ticks = column.cast(pa.int32()), 1
    elif types.is_date64(column.type) or column.type.unit in day:
        numbers, ticks = column.cast(pa.int64()), day[getattr(column.type, "unit", "ms")]
    else:  # nanoseconds end in the year 2262
        return
    ends = pc.min_max(numbers).as_py()
    low, high = _FIRST_DAY * ticks, _LAST_DAY * ticks
    if ends["min"] is None or (ends["min"] >= low and ends["max"] < high):
        return
    is_outside = pc.or_(pc.less(numbers, low), pc.greater_equal(numbers, high))
    row = pc.index(is_outside, value=True).as_py()
    raise TableError(
        f"{where(row)}: the date is outside of the years 1 to 9999. Correct it, or leave it empty."
    )


def _is_string_type(kind: Any) -> bool:
    from pyarrow import types

    return any(t(kind) for t in (types.is_string, types.is_large_string, types.is_string_view))


class ArrowColumns(NamedTuple):
    """The columns of a file without an index of pandas, under unique names.

    Attributes
    ----------
    fields : dict, name -> Arrow type
    positions : of the columns in the file
    needed : their names in the file; None to read all, where names repeat
    notes : about names that were changed
    """

    fields: dict[str, Any]
    positions: list[int]
    needed: list[str] | None
    notes: list[str]

    @classmethod
    def of(cls, path: Path, kind: str) -> ArrowColumns:
        """Read them from the schema of a file."""
        schema = _read_schema(path, kind)
        data = set(data_columns(schema))
        positions = [j for j, name in enumerate(schema.names) if name in data]
        found = [schema.names[j] for j in positions]
        if len(data) == len(found):
            return cls({n: schema.field(n).type for n in found}, positions, found, [])
        names, notes = make_unique_names(found, str(path))
        types = {n: schema.field(j).type for n, j in zip(names, positions, strict=True)}
        return cls(types, positions, None, notes)


def read_arrow_table(
    paths: list[Path], shown: str, kind: str, styles: dict[str, str] | None = None
) -> TableSource:
    """Parquet or Arrow files with the same columns."""
    files = [ArrowColumns.of(path, kind) for path in paths]
    names = list(files[0].fields)
    if not names:
        raise TableError(f"{shown} has no columns. Give a table with at least one.")
    types = {name: column_type(field) for name, field in files[0].fields.items()}
    for path, file in zip(paths, files, strict=True):
        check_same_columns(str(path), names, list(file.fields), str(paths[0]))
        others = {name for name in names if column_type(file.fields[name]) != types[name]}
        types |= dict.fromkeys(others, "text")
    codes = CodeColumns(types, styles)
    starts = [0]

    def stream() -> Iterator[Any]:
        starts[:] = [0]
        for path, file in zip(paths, files, strict=True):
            rows = starts[-1]
            for batch in _read_batches(path, file, names, kind):
                first = rows - starts[-1]
                if codes.find(batch, names):
                    raise _TypeChangedError
                yield to_physical_types(
                    batch, names, types, lambda row, at=(path, first): f"{at[0]}, row {at[1] + row}"
                )
                rows += batch.num_rows
            starts.append(rows)

    inference, store = codes.infer(names, stream, shown)
    return TableSource(
        store,
        inference.types,
        shown=shown,
        notes=[*files[0].notes, *describe_codes(codes.examples)],
        place=lambda row: _locate_row(paths, starts, row),
        styles=codes.styles,
    )


class CodeColumns:
    """Which typed columns of whole numbers are kept as text, as float64 would merge some.

    Parameters
    ----------
    types : dict, name -> type, in which such columns become text
    styles : dict, name -> style, of a model: columns that are "codes" are text from the start
    """

    def __init__(self, types: dict[str, str], styles: dict[str, str] | None) -> None:
        self.types = types
        self.examples: dict[str, str] = {}
        asked = [n for n, style in (styles or {}).items() if style == CODES and n in types]
        self.styles = dict.fromkeys(asked, CODES)
        types |= dict.fromkeys(asked, "text")
        self.checks = {n: RoundingCheck() for n, kind in types.items() if kind == "number"}

    def find(self, batch: Any, names: list[str]) -> bool:
        """Whether a further column turns out to hold codes; it is text from now on."""
        for name, column in zip(names, batch.columns, strict=True):
            check = self.checks.get(name)
            if check is not None and check.add_integers(column):
                self.examples[name] = str(check.example)
                self.styles[name], self.types[name] = CODES, "text"
                del self.checks[name]
                return True
        return False

    def infer(
        self, names: list[str], stream: Callable[[], Iterator[Any]], shown: str
    ) -> tuple[TypeInference, Any]:
        """The types of all columns and their rows, read again when a column becomes text."""
        while True:
            inference = TypeInference(names, dict(self.types))
            with suppress(_TypeChangedError):
                return inference, infer_and_store(inference, stream, shown)


class _TypeChangedError(Exception):
    """Rows that were read before have another type."""


def _read_schema(path: Path, kind: str) -> Any:
    import pyarrow as pa

    try:
        return ARROW_READERS[kind][0](str(path))
    except (pa.ArrowException, OSError) as problem:
        raise unreadable_file_error(str(path), problem) from problem


def _read_batches(path: Path, file: ArrowColumns, names: list[str], kind: str) -> Iterator[Any]:
    import pyarrow as pa

    read = ARROW_READERS[kind][1]
    options = {"memory_map": False, "use_threads": True}
    try:
        for batch in read(str(path), file.needed, TABLE_BATCH_ROWS, **options):
            if file.needed is not None:
                yield batch.select(names)
            else:
                columns = [batch.column(j) for j in file.positions]
                whole = pa.RecordBatch.from_arrays(columns, names=list(file.fields))
                yield whole.select(names)
    except (pa.ArrowException, OSError) as problem:
        raise unreadable_file_error(str(path), problem) from problem


def _locate_row(paths: list[Path], starts: list[int], row: int) -> str:
    number = min(bisect_right(starts, row), len(paths)) - 1
    return f"{paths[number]}, row {row - starts[number]}"
