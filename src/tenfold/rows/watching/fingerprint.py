"""What must be the same when a fit runs again: its model, leaf, parameters and data."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.rows.chunk import Chunk
from tenfold.rows.fold import Task
from tenfold.rows.source import Source

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
DIGEST = "sha256:"
SHORT = 60  # letters of a value that an error message may show


def name_of(thing: Any) -> str:
    """Module and name of a function or class."""
    name = getattr(thing, "__qualname__", None)
    return ADDRESS.sub("", repr(thing)) if name is None else f"{thing.__module__}.{name}"


def digest(value: Any) -> str:
    """A short text that differs when any number, array or name within a value differs."""
    made = hashlib.sha256()
    for part in _bytes(value):
        made.update(part)
    return DIGEST + made.hexdigest()


def _bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, dict):
        yield from _bytes(list(value.items()))
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__}{len(value)}".encode()
        for part in value:
            yield from _bytes(part)
    else:
        yield from _object_bytes(value)


def _object_bytes(value: Any) -> Iterator[bytes]:
    arrays = [getattr(value, name, None) for name in ("data", "indices", "indptr", "offsets")]
    arrays.append(getattr(value, "values", None))
    arrays = [array for array in arrays if isinstance(array, np.ndarray)]
    yield name_of(type(value)).encode() if arrays else name_of(value).encode()
    for array in arrays:  # of a sparse matrix, or of sequences
        yield from _bytes(array)


def of_fit(title: str, settings: dict[str, Any]) -> dict[str, Any]:
    """A model with its constructor's parameters."""
    return {"model": title} | {name: _shown(value) for name, value in settings.items()}


def of_pass(task: Task, first_rows: str) -> dict[str, Any]:
    """A leaf, its state, and the rows that it runs over."""
    source = task.source
    return {
        "function": name_of(task.f),
        "its state": digest((task.state, task.classes)),
        "rows": int(source.n_rows),
        "columns": int(source.n_features),
        "number type": str(source.dtype),
        "rows per chunk": int(source.grid),
        "first rows": first_rows,
    }


def of_rows(source: Source) -> str:
    """The first chunk stands for all rows: to read them all would be a pass of its own."""
    chunk = next(source.chunks(range(1)), Chunk(None))
    return digest((chunk.X, _column(chunk.y), _column(chunk.w)))


def difference(there: dict[str, Any], here: dict[str, Any]) -> str:
    """In words, in what two fingerprints differ."""
    keys = [key for key in there | here if there.get(key) != here.get(key)]
    return "; ".join(_told(key, there.get(key), here.get(key)) for key in keys)


def _told(key: str, there: Any, here: Any) -> str:
    if str(there).startswith(DIGEST):
        return f"{key} differs"
    return f"{key}: {there} there, {here} here"


def _shown(value: Any) -> str:
    text = ADDRESS.sub("", repr(value))
    return text if len(text) <= SHORT else digest(value)


def _column(column: Any) -> Any:
    """A target or weights, whatever number type an engine keeps them in."""
    if not isinstance(column, np.ndarray):
        return column
    return column.astype(np.float64) if column.dtype.kind in "biuf" else column.astype(str).tolist()
