"""Input tables: files, standard input, or a data set by name."""

from __future__ import annotations

import codecs
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.cli.console import CommandConsole
from tenfold.datasets.catalog import DATASETS, DEFAULT_DATASET

_GLOB_CHARACTERS = set("*?[")


class InputTable(NamedTuple):
    """A table of the command line.

    Attributes
    ----------
    records : the table
    name : short name, for the output folder
    target : default target of a data set, or None
    summary : source and size
    """

    records: Any
    name: str
    target: str | None
    summary: str


def open_input(paths: list[str], **options: Any) -> InputTable:
    """Open files, standard input or a data set; without a name, the default data set."""
    from tenfold.io.table_opener import open_table

    if not paths:
        return _open_dataset(
            DEFAULT_DATASET, f"No table was given; using the data set {DEFAULT_DATASET}"
        )
    if len(paths) == 1 and paths[0] in DATASETS and not Path(paths[0]).exists():
        return _open_dataset(paths[0], f"The data set {paths[0]}")
    for path in paths:
        _suggest_dataset(path)
    _validate_encoding(options.get("encoding"))
    options["delimiter"] = _parse_delimiter(options.get("delimiter"))
    records = open_table(paths[0] if len(paths) == 1 else paths, **options)
    return InputTable(records, _short_name(paths[0]), None, _describe_size(records.shown, records))


def open_model_input(console: CommandConsole, model: Any, paths: list[str], **options: Any) -> Any:
    """Open a table with the number formats that a model was trained with."""
    records = open_input(paths, **options, styles=model.styles).records
    console.log_all(records.notes)
    return records


def _open_dataset(name: str, title: str) -> InputTable:
    from tenfold.io.table_opener import open_table

    records = open_table(DATASETS[name].load())
    records.shown = f"the data set {name}"
    entry = DATASETS[name]
    return InputTable(
        records, name, entry.target, _describe_size(f"{title} ({entry.about})", records)
    )


def _describe_size(what: str, records: Any) -> str:
    return f"{what}: {records.n_rows:,} rows, {len(records.names):,} columns."


def _suggest_dataset(path: str) -> None:
    """Raise an error for a path that does not exist and resembles the name of a data set."""
    if path == "-" or _GLOB_CHARACTERS & set(path) or Path(path).exists():
        return
    close = get_close_matches(path, DATASETS, n=1)
    if close:
        raise ValueError(
            f"no file or data set {path!r}: did you mean {close[0]!r}? "
            "`tenfold datasets` lists them"
        )


def _validate_encoding(encoding: str | None) -> None:
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        examples = "utf-8, latin-1, cp1252 or utf-16"
        raise ValueError(f"unknown encoding {encoding!r}: try {examples}") from None


def _parse_delimiter(delimiter: str | None) -> str | None:
    """One character; a tab may be written as a backslash and a t."""
    parsed = "\t" if delimiter == r"\t" else delimiter
    if parsed is not None and (len(parsed.encode()) != 1 or parsed in '"\r\n'):
        raise ValueError(
            f"--delimiter {delimiter!r} is no delimiter: give one character, such as ';' or '\\t'"
        )
    return parsed


def _short_name(path: str) -> str:
    if path == "-":
        return "stdin"
    first = next(
        part for part in [*reversed(Path(path).parts), "table"] if not _GLOB_CHARACTERS & set(part)
    )
    return first.partition(".")[0] or "table"
