"""Lines of a CSV file as an editor counts them, to say exactly where a file is wrong."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from tenfold.rows.asked import listing


class Dialect(NamedTuple):
    """A CSV file: where, what stands between its fields, the names in its first line."""

    path: str
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


def dialect(path: str) -> Dialect:
    """Read the names in the first line: between tabs in a .tsv file, else between `,` or `;`."""
    with text(path) as lines:
        first = next((line for line in lines if line.strip("\r\n")), "")
    names = first.rstrip("\r\n")
    others = "\t" if ".tsv" in path.lower() else "," if "," in names or ";" not in names else ";"
    fields = next(csv.reader([names], delimiter=others), [])
    if not fields:
        raise ValueError(f"{path} is empty. It needs a line of column names.")
    if all(is_number(name) for name in fields):
        raise ValueError(
            f"{path}: the first line holds numbers ({listing(fields, 3)}). It needs column names: "
            "add such a line."
        )
    return Dialect(path, others, fields)


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


def fault(file: Dialect, tests: dict[str, Callable[[str], bool]], row: int) -> str | None:
    """What is wrong in the first wrong row from `row` on; a field must pass its column's test."""
    places = [(j, name, tests[name]) for j, name in enumerate(file.names) if name in tests]
    for line, fields in islice(records(file), row + 1, None):
        at = f"{file.path}, line {line}"
        if len(fields) != len(file.names):
            return (
                f"{at}: {len(fields)} fields, but the first line names {len(file.names)} columns. "
                "Correct the line (a field that holds the separator needs quotes)."
            )
        for j, name, passes in places:
            if not passes(fields[j].strip(" \t")):
                return _not_a_number(at, name, fields[j])
    return None


def _not_a_number(at: str, name: str, field: Any) -> str:
    return (
        f"{at}, column {name!r}: {field!r} is not a number. Correct it; or, if the column is one "
        "of words, encode it (sklearn.preprocessing.OneHotEncoder) or leave it out: columns=[...]."
    )
