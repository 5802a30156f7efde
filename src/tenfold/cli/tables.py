"""From the words of a command to a table: files, standard input, or a data set by name."""

from __future__ import annotations

import codecs
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.cli.bundled import DATA_SETS, DEFAULT
from tenfold.cli.speaking import Voice

GLOB = set("*?[")


class Table(NamedTuple):
    """A table that was named."""

    records: Any
    name: str  # short, for the output folder
    target: str | None  # the column that a data set is known for
    said: str  # which table this is


def opened_table(where: list[str], **how: Any) -> Table:
    """Open what was named; nothing named is a data set that comes with us."""
    from tenfold.rows.files.records import open_records

    if not where:
        return _bundled(DEFAULT, f"No table was named, so this is the data set {DEFAULT}")
    if len(where) == 1 and where[0] in DATA_SETS and not Path(where[0]).exists():
        return _bundled(where[0], f"The data set {where[0]}")
    for place in where:
        _look_for(place)
    _look_up(how.get("encoding"))
    records = open_records(where[0] if len(where) == 1 else where, **how)
    return Table(records, _short_name(where[0]), None, _sized(records.shown, records))


def new_rows(voice: Voice, model: Any, where: list[str], **how: Any) -> Any:
    """Records for a model: cells are read in the style of those that it learned from."""
    records = opened_table(where, **how, styles=model.styles).records
    voice.say_all(records.notes)
    return records


def _bundled(name: str, said: str) -> Table:
    from tenfold.rows.files.records import open_records

    records = open_records(DATA_SETS[name].load())
    records.shown = f"the data set {name}"
    known = DATA_SETS[name]
    return Table(records, name, known.target, _sized(f"{said} ({known.about})", records))


def _sized(what: str, records: Any) -> str:
    return f"{what}: {records.n_rows:,} rows, {len(records.names):,} columns."


def _look_for(place: str) -> None:
    """Refuse a word that is no file but nearly the name of a data set."""
    if place == "-" or GLOB & set(place) or Path(place).exists():
        return
    close = get_close_matches(place, DATA_SETS, n=1)
    if close:
        raise ValueError(
            f"there is no file and no data set {place!r}: did you mean {close[0]!r}? "
            "`tenfold datasets` lists them"
        )


def _look_up(encoding: str | None) -> None:
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        known = "utf-8, latin-1, cp1252 and utf-16"
        raise ValueError(f"there is no encoding {encoding!r}; there are {known}, say") from None


def _short_name(place: str) -> str:
    if place == "-":
        return "stdin"
    first = next(part for part in [*reversed(Path(place).parts), "table"] if not GLOB & set(part))
    return first.partition(".")[0] or "table"
