"""JSON lines: an object on each line; also one list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.rows.files.records.csv_text import text
from tenfold.rows.files.records.errors import TableError, unreadable
from tenfold.rows.files.records.naming import named
from tenfold.rows.files.records.readings import string_batch

ROWS = 8192  # read at once


class JsonFile(NamedTuple):
    """One file; a key is a column, a key of an object within it a column "outer.inner"."""

    path: str
    shown: str
    keys: list[str]
    names: list[str]
    notes: list[str]

    def batches(self) -> Iterator[Any]:
        """Record batches of strings."""
        objects = (one for _, one in _objects(self.path, self.shown))
        while rows := list(islice(objects, ROWS)):
            yield string_batch(self.names, ([row.get(key) for row in rows] for key in self.keys))

    def place(self, row: int) -> tuple[str, int]:
        """What a row is called in the file, and its number as an editor counts."""
        return "line", next(islice(_objects(self.path, self.shown), row, None))[0]


def json_file(path: Path) -> JsonFile:
    """Look through a file for its columns."""
    keys: dict[str, None] = {}
    for _, one in _objects(str(path), str(path)):
        keys |= dict.fromkeys(one)
    if not keys:
        raise TableError(f"{path} holds no rows. It needs an object {{...}} on each line.")
    return JsonFile(str(path), str(path), list(keys), *named(list(keys), str(path)))


def _objects(path: str, shown: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line and content of every object."""
    import pyarrow as pa

    try:
        with text(path, "utf8") as lines:
            whole = next((line for line in lines if line.strip()), "").lstrip().startswith("[")
        with text(path, "utf8") as lines:
            if whole:
                yield from ((1, _flat(one, shown, 1)) for one in _listed(lines.read(), shown))
                return
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, _flat(_parsed(line, shown, number), shown, number)
    except (OSError, EOFError, pa.ArrowException) as problem:
        raise unreadable(shown, problem) from problem


def _listed(whole: str, shown: str) -> list[Any]:
    found = _parsed(whole, shown, 1)
    return found if isinstance(found, list) else [found]


def _parsed(line: str, shown: str, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as problem:
        raise TableError(
            f"{shown}, line {number} is no JSON ({problem}). Each line needs one object, such as "
            '{"age": 31, "town": "Bonn"}.'
        ) from None


def _flat(one: Any, shown: str, number: int) -> dict[str, Any]:
    if not isinstance(one, dict):
        raise TableError(
            f"{shown}, line {number} holds no object. Each line needs one, such as "
            '{"age": 31, "town": "Bonn"}.'
        )
    flat: dict[str, Any] = {}
    for key, value in one.items():
        inner = _flat(value, shown, number) if isinstance(value, dict) else None
        flat |= {key: value} if inner is None else {f"{key}.{k}": v for k, v in inner.items()}
    return flat
