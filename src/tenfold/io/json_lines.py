"""JSON lines: an object on each line; also one list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tenfold.io._header import make_unique_names
from tenfold.io._tuning import TABLE_BATCH_ROWS
from tenfold.io._type_inference import to_string_batch
from tenfold.io.columnar import TableError, unreadable_file_error
from tenfold.io.csv import open_text


class JsonFile(NamedTuple):
    """One file; a key is a column, a key of an object within it a column "outer.inner"."""

    path: str
    shown: str
    keys: list[str]
    names: list[str]
    notes: list[str]

    def batches(self) -> Iterator[Any]:
        """Record batches of strings."""
        objects = (one for _, one in _iterate_objects(self.path, self.shown))
        while rows := list(islice(objects, TABLE_BATCH_ROWS)):
            yield to_string_batch(self.names, ([row.get(key) for row in rows] for key in self.keys))

    def place(self, row: int) -> tuple[str, int]:
        """What a row is called in the file, and its number as an editor counts."""
        return "line", next(islice(_iterate_objects(self.path, self.shown), row, None))[0]


def inspect_json(path: Path) -> JsonFile:
    """Look through a file for its columns."""
    keys: dict[str, None] = {}
    for _, one in _iterate_objects(str(path), str(path)):
        keys |= dict.fromkeys(one)
    if not keys:
        raise TableError(f"{path} holds no rows. It needs an object {{...}} on each line.")
    return JsonFile(str(path), str(path), list(keys), *make_unique_names(list(keys), str(path)))


def _iterate_objects(path: str, shown: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line and content of every object."""
    import pyarrow as pa

    try:
        with open_text(path, "utf8") as lines:
            is_list = next((line for line in lines if line.strip()), "").lstrip().startswith("[")
        with open_text(path, "utf8") as lines:
            if is_list:
                yield from (
                    (1, _flatten_object(one, shown, 1)) for one in _parse_list(lines.read(), shown)
                )
                return
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, _flatten_object(_parse_json(line, shown, number), shown, number)
    except (OSError, EOFError, pa.ArrowException) as problem:
        raise unreadable_file_error(shown, problem) from problem


def _parse_list(text: str, shown: str) -> list[Any]:
    value = _parse_json(text, shown, 1)
    return value if isinstance(value, list) else [value]


def _parse_json(line: str, shown: str, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as problem:
        raise TableError(
            f"{shown}, line {number} is no JSON ({problem}). Each line needs one object, such as "
            '{"age": 31, "town": "Bonn"}.'
        ) from None


def _flatten_object(one: Any, shown: str, number: int) -> dict[str, Any]:
    if not isinstance(one, dict):
        raise TableError(
            f"{shown}, line {number} holds no object. Each line needs one, such as "
            '{"age": 31, "town": "Bonn"}.'
        )
    flat: dict[str, Any] = {}
    for key, value in one.items():
        inner = _flatten_object(value, shown, number) if isinstance(value, dict) else None
        flat |= {key: value} if inner is None else {f"{key}.{k}": v for k, v in inner.items()}
    return flat
