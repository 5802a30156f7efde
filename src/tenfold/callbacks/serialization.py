"""Statistics and states as plain arrays with a JSON outline, and back, to the bit.

Nothing is pickled and nothing is executed: the class of a named tuple is not imported from what a
file says, but taken from a value at hand that has the same classes.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tenfold.callbacks.fingerprint import qualified_name
from tenfold.engine.atomic import atomic_path

_JSON_TYPES = (type(None), bool, int, float, str)  # JSON gives them back as they were


class Packed(NamedTuple):
    """A value taken apart: an outline fit for JSON that refers to arrays by their number."""

    outline: Any
    arrays: list[np.ndarray]

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in self.arrays)


def pack(value: Any) -> Packed:
    """Copy the arrays of a nested value (tuples, lists, dicts, numbers) and outline the rest.

    Examples
    --------
    >>> pack({"n": 3, "sum": np.arange(2.0)}).outline
    {'dict': [['n', 3], ['sum', {'array': 0}]]}
    """
    arrays: list[np.ndarray] = []
    return Packed(_outline(value, arrays), arrays)


def _outline(value: Any, arrays: list[np.ndarray]) -> Any:
    kind = type(value)
    if kind in _JSON_TYPES:
        return value
    if kind in (np.ndarray, np.memmap) or isinstance(value, np.generic):
        return _outline_array(value, arrays)
    if kind in (tuple, list):
        return {kind.__name__: [_outline(part, arrays) for part in value]}
    if isinstance(value, tuple | list):
        return {"named": qualified_name(kind), "parts": [_outline(part, arrays) for part in value]}
    if kind is dict:
        return {"dict": [[_outline(key, arrays), _outline(value[key], arrays)] for key in value]}
    raise TypeError(_unsupported_message(kind.__name__))


def _outline_array(value: np.ndarray | np.generic, arrays: list[np.ndarray]) -> dict[str, Any]:
    if value.dtype.hasobject:  # labels of a table, say
        flat = [_outline(part, arrays) for part in value.ravel().tolist()]
        return {"objects": flat, "shape": value.shape}
    copy = np.array(value, order="K")
    outline: dict[str, Any] = {"array": len(arrays)}
    if isinstance(value, np.generic):
        outline["scalar"] = True
    elif not copy.flags.c_contiguous:  # the layout affects the last bit of a sum: it is stored
        outline["axes"] = sorted(range(copy.ndim), key=lambda axis: -copy.strides[axis])
        copy = copy.transpose(outline["axes"])
    arrays.append(copy)
    return outline


def _unsupported_message(what: str) -> str:
    return (
        f"this fit cannot be checkpointed: its statistic or state holds a {what}. "
        "Arrays, numbers, text and None in tuples, lists and dicts can be stored."
    )


class UnknownClassError(ValueError):
    """A stored value has a named tuple whose class is not known."""


def unpack(packed: Packed, classes: dict[str, type]) -> Any:
    """The value again, in new arrays; `classes` are those of its named tuples, by name."""
    return _rebuild(packed.outline, packed.arrays, classes)


def _rebuild(outline: Any, arrays: list[np.ndarray], classes: dict[str, type]) -> Any:
    if not isinstance(outline, dict):
        return outline
    if "array" in outline:
        return _rebuild_array(outline, arrays[outline["array"]])
    if "objects" in outline:
        flat = [_rebuild(part, arrays, classes) for part in outline["objects"]]
        return _rebuild_object_array(flat, outline["shape"])
    if "dict" in outline:
        pairs = outline["dict"]
        return {_rebuild(k, arrays, classes): _rebuild(v, arrays, classes) for k, v in pairs}
    kind, parts = _container_class(outline, classes)
    return kind([_rebuild(part, arrays, classes) for part in parts])


def _rebuild_array(outline: dict[str, Any], stored: np.ndarray) -> Any:
    if outline.get("scalar"):
        return stored[()]
    axes = outline.get("axes")
    return np.array(stored if axes is None else stored.transpose(np.argsort(axes)), order="K")


def _rebuild_object_array(flat: list, shape: list[int]) -> np.ndarray:
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape)


def _container_class(outline: dict[str, Any], classes: dict[str, type]) -> tuple[Callable, list]:
    if "list" in outline:
        return list, outline["list"]
    if "tuple" in outline:
        return tuple, outline["tuple"]
    kind: Any = classes.get(outline["named"])
    if kind is None:
        raise UnknownClassError(
            f"the stored value has a part of class {outline['named']}, and the statistic of the "
            "first chunk, or the start of the loop, has none: this fit cannot be resumed"
        )
    return getattr(kind, "_make", kind), outline["parts"]


def named_classes(value: Any) -> dict[str, type]:
    """The classes of all (named) tuples and lists within a value, by name."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, tuple | list):
        return {}
    found: dict[str, type] = {qualified_name(type(value)): type(value)}
    for part in value:
        found |= named_classes(part)
    return found


def write_arrays(path: Path, header: dict[str, Any], arrays: list[np.ndarray]) -> None:
    """Write a header and arrays (an `.npz` file) that appear at once or not at all."""
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    named = {f"a{i}": array for i, array in enumerate(arrays)}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, header=text, **named)


def read_arrays(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The header and the arrays of a file of `write_arrays`; ValueError if it is anything else."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            header = json.loads(stored["header"].tobytes())
            return header, [stored[f"a{i}"] for i in range(len(stored.files) - 1)]
    except (ValueError, KeyError, IndexError, TypeError, EOFError, zipfile.BadZipFile) as problem:
        raise ValueError(f"{path} is damaged, or was not written by tenfold") from problem
