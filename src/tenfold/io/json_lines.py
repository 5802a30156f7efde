"""JSON lines: an object on each line; also one list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.io._header import make_unique_names
from tenfold.io._type_inference import (
    TABLE_BATCH_ROWS,
    has_lone_surrogate,
    shorten_cell,
    to_string_batch,
)
from tenfold.io.columnar import TableError, unreadable_file_error
from tenfold.io.csv import open_text

_MAX_DEPTH = 100  # of objects within objects


class JsonFile(NamedTuple):
    """One file; a key is a column, a key of an object within it a column "outer.inner"."""

    path: str
    shown: str
    keys: list[str]
    names: list[str]
    notes: list[str]

    def batches(self) -> Iterator[Any]:
        """Record batches of strings."""
        objects = _iterate_objects(self.path, self.shown)
        while batch := list(islice(objects, TABLE_BATCH_ROWS)):
            places, rows = zip(*batch, strict=True)
            yield to_string_batch(
                self.names,
                ([row.get(key) for row in rows] for key in self.keys),
                lambda row, places=places: f"{self.shown}, {places[row]}",
            )

    def place(self, row: int) -> tuple[str, int]:
        """What a row is called in the file, and its number as an editor counts."""
        found, _ = next(islice(_iterate_objects(self.path, self.shown), row, None))
        return found


class JsonPlace(NamedTuple):
    """A line of a file, or an entry of its list."""

    unit: str
    number: int

    def __str__(self) -> str:
        return f"{self.unit} {self.number}"


def inspect_json(path: Path) -> JsonFile:
    """Look through a file for its columns."""
    keys: dict[str, None] = {}
    for place, one in _iterate_objects(str(path), str(path)):
        if new := [key for key in one if key not in keys]:
            _check_names(new, f"{path}, {place}")
            keys |= dict.fromkeys(new)
    if not keys:
        raise TableError(f"{path} holds no rows. It needs an object {{...}} on each line.")
    return JsonFile(str(path), str(path), list(keys), *make_unique_names(list(keys), str(path)))


def _check_names(names: list[str], where: str) -> None:
    name = next((name for name in names if has_lone_surrogate(name)), None)
    if name is not None:
        raise TableError(
            f"{where}: the name {shorten_cell(name)} holds half of a character (a lone "
            "surrogate). Correct it."
        )


def _iterate_objects(path: str, shown: str) -> Iterator[tuple[JsonPlace, dict[str, Any]]]:
    """Place and content of every object."""
    import pyarrow as pa

    try:
        with open_text(path, "utf8") as lines:
            is_list = next((line for line in lines if line.strip()), "").lstrip().startswith("[")
        with open_text(path, "utf8") as lines:
            for place, one in (
                _parse_list(lines.read(), shown) if is_list else _parse_lines(lines, shown)
            ):
                yield place, _flatten_object(one, f"{shown}, {place}")
    except (OSError, EOFError, pa.ArrowException) as problem:
        raise unreadable_file_error(shown, problem) from problem


def _parse_lines(lines: Iterable[str], shown: str) -> Iterator[tuple[JsonPlace, Any]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            place = JsonPlace("line", number)
            yield place, _parse_json(line, f"{shown}, {place}")


def _parse_list(text: str, shown: str) -> Iterator[tuple[JsonPlace, Any]]:
    value = _parse_json(text, f"{shown}, line 1")
    for number, one in enumerate(value if isinstance(value, list) else [value], 1):
        yield JsonPlace("entry", number), one


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise _depth_error(where) from None
    except ValueError as problem:
        raise TableError(
            f"{where} is no JSON ({problem}). Each line needs one object, such as "
            '{"age": 31, "town": "Bonn"}.'
        ) from None


def _depth_error(where: str) -> TableError:
    return TableError(
        f"{where} nests lists or objects too deeply. Give flat objects, such as "
        '{"age": 31, "town": "Bonn"}.'
    )


def _flatten_object(one: Any, where: str, depth: int = 1) -> dict[str, Any]:
    """Cells by the names of their columns; lists become text."""
    if depth > _MAX_DEPTH:
        raise _depth_error(where)
    if not isinstance(one, dict):
        raise TableError(
            f'{where} holds no object. Each line needs one, such as {{"age": 31, "town": "Bonn"}}.'
        )
    flat: dict[str, Any] = {}
    for key, value in one.items():
        if isinstance(value, dict):
            inner = _flatten_object(value, where, depth + 1)
            flat |= {f"{key}.{k}": v for k, v in inner.items()}
        else:
            flat[key] = _list_to_text(value, where) if isinstance(value, list) else value
    return flat


def _list_to_text(value: list[Any], where: str) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        raise _depth_error(where) from None
