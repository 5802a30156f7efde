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
    """A table that was named."""

    records: Any
    name: str  # short, for the output folder
    target: str | None  # the column that a data set is known for
    said: str  # which table this is


def open_table(where: list[str], **how: Any) -> InputTable:
    """Open what was named; nothing named is a data set that comes with us."""
    from tenfold.io.table_opener import open_table

    if not where:
        return _open_dataset(
            DEFAULT_DATASET, f"No table was named, so this is the data set {DEFAULT_DATASET}"
        )
    if len(where) == 1 and where[0] in DATASETS and not Path(where[0]).exists():
        return _open_dataset(where[0], f"The data set {where[0]}")
    for place in where:
        _suggest_dataset(place)
    _validate_encoding(how.get("encoding"))
    records = open_table(where[0] if len(where) == 1 else where, **how)
    return InputTable(records, _short_name(where[0]), None, _describe_size(records.shown, records))


def open_model_input(voice: CommandConsole, model: Any, where: list[str], **how: Any) -> Any:
    """Records for a model: cells are read in the style of those that it learned from."""
    records = open_table(where, **how, styles=model.styles).records
    voice.log_all(records.notes)
    return records


def _open_dataset(name: str, said: str) -> InputTable:
    from tenfold.io.table_opener import open_table

    records = open_table(DATASETS[name].load())
    records.shown = f"the data set {name}"
    known = DATASETS[name]
    return InputTable(
        records, name, known.target, _describe_size(f"{said} ({known.about})", records)
    )


def _describe_size(what: str, records: Any) -> str:
    return f"{what}: {records.n_rows:,} rows, {len(records.names):,} columns."


def _suggest_dataset(place: str) -> None:
    """Refuse a word that is no file but nearly the name of a data set."""
    if place == "-" or _GLOB_CHARACTERS & set(place) or Path(place).exists():
        return
    close = get_close_matches(place, DATASETS, n=1)
    if close:
        raise ValueError(
            f"there is no file and no data set {place!r}: did you mean {close[0]!r}? "
            "`tenfold datasets` lists them"
        )


def _validate_encoding(encoding: str | None) -> None:
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        known = "utf-8, latin-1, cp1252 and utf-16"
        raise ValueError(f"there is no encoding {encoding!r}; there are {known}, say") from None


def _short_name(place: str) -> str:
    if place == "-":
        return "stdin"
    first = next(
        part for part in [*reversed(Path(place).parts), "table"] if not _GLOB_CHARACTERS & set(part)
    )
    return first.partition(".")[0] or "table"
