"""Fingerprints of a fit: its model, chunk function, parameters and data."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tenfold._compiled.checksums import checksum
from tenfold.engine.source import Source
from tenfold.engine.task import FoldTask

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DIGEST_PREFIX = "sha256:"
_MIN_CHECKSUM_BYTES = 4096  # of an array, of which a fast checksum takes the place of the bytes
_MAX_SHOWN_CHARACTERS = 60  # letters of a value that an error message may show


def qualified_name(thing: Any) -> str:
    """Name of a function or class, with its module unless it is ours: our modules may move."""
    name = getattr(thing, "__qualname__", None)
    if name is None:
        return _ADDRESS.sub("", repr(thing))
    package = thing.__module__.partition(".")[0]
    return f"{package if package == 'tenfold' else thing.__module__}:{name}"


def digest(value: Any) -> str:
    """A short text that differs when any number, array or name within a value differs."""
    result = hashlib.sha256()
    for part in _iterate_bytes(value):
        result.update(part)
    return _DIGEST_PREFIX + result.hexdigest()


def _iterate_bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield value.tobytes() if value.nbytes < _MIN_CHECKSUM_BYTES else checksum(np.asarray(value))
    elif isinstance(value, dict):
        yield from _iterate_bytes(list(value.items()))
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__}{len(value)}".encode()
        if all(type(part) is str for part in value):
            yield json.dumps(value).encode()
            return
        for part in value:
            yield from _iterate_bytes(part)
    else:
        yield from _object_bytes(value)


def _object_bytes(value: Any) -> Iterator[bytes]:
    if is_dataclass(value) and not isinstance(value, type):  # its text would cut long arrays
        yield qualified_name(type(value)).encode()
        for part in fields(value):
            yield from _iterate_bytes(getattr(value, part.name))
        return
    arrays = [getattr(value, name, None) for name in ("data", "indices", "indptr", "offsets")]
    arrays.append(getattr(value, "values", None))
    arrays = [array for array in arrays if isinstance(array, np.ndarray)]
    columns = getattr(value, "columns", None)
    if not arrays and isinstance(columns, dict):  # some rows of a table
        yield from _iterate_bytes(columns)
        return
    yield qualified_name(type(value)).encode() if arrays else qualified_name(value).encode()
    for array in arrays:  # of a sparse matrix, or of sequences
        yield from _iterate_bytes(array)


def fit_fingerprint(title: str, settings: dict[str, Any]) -> dict[str, Any]:
    """A model with its constructor's parameters."""
    return {"model": title} | {name: _describe_value(value) for name, value in settings.items()}


def pass_fingerprint(task: FoldTask, data: str) -> dict[str, Any]:
    """A chunk function, its state, and the rows that it is applied to."""
    named = {
        "function": qualified_name(task.f),
        "its state": digest((task.state, task.classes)),
    }
    return named | data_fingerprint(task.source, data)


def data_fingerprint(source: Source, data: str) -> dict[str, Any]:
    """Size and digest of the rows of a source."""
    return {
        "rows": int(source.n_rows),
        "columns": int(source.n_features),
        "number type": str(source.dtype),
        "rows per chunk": int(source.grid),
        "data": data,
    }


def describe_difference(there: dict[str, Any], here: dict[str, Any]) -> str:
    """In words, in what two fingerprints differ."""
    keys = [key for key in there | here if there.get(key) != here.get(key)]
    return "; ".join(_describe_entry(key, there.get(key), here.get(key)) for key in keys)


def _describe_entry(key: str, there: Any, here: Any) -> str:
    if str(there).startswith(_DIGEST_PREFIX):
        return f"{key} differs"
    return f"{key}: {there} there, {here} here"


def _describe_value(value: Any) -> str:
    text = _ADDRESS.sub("", repr(value))
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else digest(value)
