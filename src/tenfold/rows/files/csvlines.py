"""Lines of a CSV file as an editor counts them, to say exactly where a file is wrong."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from tenfold.rows.files.asked import listing


class Dialect(NamedTuple):
    """A CSV file: where, what stands between its fields, the names in its first line."""

    path: str
    shown: str  # as the caller named it
    delimiter: str
    names: list[str]


@contextmanager
def text(path: str) -> Iterator[io.TextIOWrapper]:
    """The text of a file, unpacked if its name ends in .gz or .bz2."""
    import pyarrow as pa

    with pa.input_stream(path) as stream:
        yield io.TextIOWrapper(
            io.BufferedReader(stream), encoding="utf-8-sig", errors="replace", newline=""
        )


def dialect(file: Path) -> Dialect:
    """Read the names in the first line: between tabs in a .tsv file, else between `,` or `;`."""
    path, shown = str(file.absolute()), str(file)
    with text(path) as lines:
        first = next((line for line in lines if line.strip("\r\n")), "")
        comma = ";" if ";" in first and "," not in first else ","
        delimiter = "\t" if ".tsv" in file.name.lower() else comma
        fields = next(csv.reader(chain([first], lines), delimiter=delimiter), [])
    if not fields:
        raise ValueError(f"{shown} is empty. It needs a line of column names.")
    if all(is_number(name) for name in fields):
        raise ValueError(
            f"{shown}: the first line holds numbers ({listing(fields, 3)}). It needs column names: "
            "add such a line."
        )
    return Dialect(path, shown, delimiter, fields)


def records(file: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row; empty lines are none."""
    with text(file.path) as lines:
        reader = csv.reader(lines, delimiter=file.delimiter)
        line = 1
        rows = ((reader.line_num, fields) for fields in reader)
        for last, fields in rows:
            if fields:
                yield line, fields
            line = last + 1


def line_of(file: Dialect, row: int) -> int:
    """The line of a row, counted from 1; the names are a line too."""
    return next(islice(records(file), row + 1, None))[0]


def is_number(field: str) -> bool:
    """Whether pyarrow takes this text for a number."""
    try:
        float(field)
    except ValueError:
        return False
    return field.isascii() and "_" not in field


class Test(NamedTuple):
    """What a field must be."""

    passes: Callable[[str], bool]
    words: str


def fault(file: Dialect, tests: dict[str, Test], row: int) -> str | None:
    """What is wrong in the first wrong row from `row` on; a field must pass its column's test."""
    places = [(j, name, tests[name]) for j, name in enumerate(file.names) if name in tests]
    for line, fields in islice(records(file), row + 1, None):
        at = f"{file.shown}, line {line}"
        if len(fields) != len(file.names):
            return (
                f"{at}: {len(fields)} fields, but the first line names {len(file.names)} columns. "
                "Correct the line (a field that holds the separator needs quotes)."
            )
        for j, name, test in places:
            if not test.passes(fields[j].strip(" \t")):
                return (
                    f"{at}, column {name!r}: {fields[j]!r} is not {test.words}. Correct it; or, if "
                    "the column is one of words, encode it (sklearn.preprocessing.OneHotEncoder) "
                    "or leave it out: columns=[...]."
                )
    return None
