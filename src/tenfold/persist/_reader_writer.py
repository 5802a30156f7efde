"""Traversal of a model: values to JSON and tensors (`ModelWriter`), and back (`ModelReader`).

None, truth values, text, ordinary numbers and lists are themselves in JSON. Any other value is an
object with one key, the name of its kind: `{"tuple": [1, 2]}`. The table in `kinds` has them all.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

import numpy as np

from tenfold.persist import _arrays
from tenfold.persist._codecs import CODEC_BY_NAME, find_codec, suggest_fix, unpack_fields

_MAX_DEPTH = 100  # steps from the model to a value
_MAX_JSON_ITEMS = (
    10_000  # items; a longer list is stored as a tensor, because the header has a limit
)


class _PathTracker:
    """Remembers the way from the model to the present value, for messages."""

    def __init__(self, root: str) -> None:
        self._steps = [root]

    @property
    def where(self) -> str:
        return "".join(self._steps)

    @contextmanager
    def _inside(self, step: str) -> Iterator[None]:
        self._steps.append(step)
        if len(self._steps) > _MAX_DEPTH:
            raise ValueError(f"{self.where[:80]}...: nested more than {_MAX_DEPTH} deep")
        yield
        self._steps.pop()  # not after an error: its message tells the way


class ModelWriter(_PathTracker):
    """Turns values into JSON, and gathers the arrays."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.tensors: dict[str, np.ndarray] = {}
        self._seen: dict[int, tuple[np.ndarray, Any]] = {}

    def encode(self, value: Any, step: str = "") -> Any:
        """JSON of a value; `step` is the way to it from the value around it."""
        if _is_json(value):
            return value
        with self._inside(step):
            if type(value) is list:
                return self.items(value)
            kind = find_codec(value)
            if kind is None:
                raise self.refusal(value)
            return {kind.name: kind.encode(self, value)}

    def items(self, values: Sequence[Any], steps: Sequence[str] | None = None) -> Any:
        """JSON of a sequence; its type is the caller's business."""
        if len(values) > _MAX_JSON_ITEMS and (stacked := _arrays.stack_scalars(values)) is not None:
            return {"scalars": self.array(stacked)}
        steps = steps or [f"[{i}]" for i in range(len(values))]
        encoded = [self.encode(value, step) for value, step in zip(values, steps, strict=True)]
        if len(encoded) <= _MAX_JSON_ITEMS:
            return encoded
        text = json.dumps(encoded, allow_nan=False).encode("ascii")
        return {"list": self._keep(np.frombuffer(text, np.uint8))}

    def array(self, array: np.ndarray) -> Any:
        """JSON that points to the tensor of an array; an array met twice is stored once."""
        if id(array) not in self._seen:
            axes, straight = _arrays.to_memory_order(array)
            dtype, tensor = _arrays.pack(straight)
            self._seen[id(array)] = array, dict(at=self._keep(tensor), dtype=dtype, axes=axes)
        return self._seen[id(array)][1]

    def refusal(self, value: Any) -> TypeError:
        """Error that says what cannot be saved, where it is and what to do."""
        return TypeError(
            f"cannot save {self.where}: it is a {_type_name(value)}; {suggest_fix(value)}"
        )

    def _keep(self, tensor: np.ndarray) -> str:
        name = self.where
        while name in self.tensors:  # two keys of a dictionary may look the same
            name += "'"
        self.tensors[name] = tensor
        return name


class ModelReader(_PathTracker):
    """Turns JSON into values, and fetches the arrays."""

    sklearn_version: str = ""

    def __init__(self, file: Any) -> None:
        super().__init__("model")
        self._file = file
        self._names = frozenset(file.keys())
        self._arrays: dict[tuple, np.ndarray] = {}
        self.used: set[str] = set()

    def decode(self, value: Any, step: str = "") -> Any:
        """Value that `ModelWriter.encode` made this JSON of."""
        if not isinstance(value, list | dict):
            return value
        with self._inside(step):
            if isinstance(value, list) or "list" in value or "scalars" in value:
                return self.items(value)
            if len(value) != 1 or not value.keys() <= CODEC_BY_NAME.keys():
                raise ValueError(f"unknown kind of value {list(value)}")
            ((name, stored),) = value.items()
            return CODEC_BY_NAME[name].decode(self, stored)

    def items(self, stored: Any) -> list[Any]:
        """Undo `ModelWriter.items`."""
        if isinstance(stored, dict) and "scalars" in stored:
            (pointer,) = unpack_fields(stored, "scalars")
            self._only_once(pointer["at"])
            return list(self.array(pointer))
        if isinstance(stored, dict):
            (name,) = unpack_fields(stored, "list")
            self._only_once(name)
            stored = parse_json(self._tensor(name).tobytes())
        if not isinstance(stored, list):
            raise TypeError(f"expected a list, found {type(stored).__name__}")
        return [self.decode(value, f"[{i}]") for i, value in enumerate(stored)]

    def array(self, stored: Any) -> np.ndarray:
        """Undo `ModelWriter.array`; what was one array is one array again."""
        name, dtype, axes = unpack_fields(stored, "at", "dtype", "axes")
        key = (name, dtype, *axes)
        if key not in self._arrays:
            straight = _arrays.unpack(dtype, self._tensor(name))
            self._arrays[key] = _arrays.restore_axes(straight, axes)
        return self._arrays[key]

    def _only_once(self, name: str) -> None:
        """Else a small file could unfold into a huge list of lists."""
        if name in self.used:
            raise ValueError(f"the list {name!r} is used twice")

    def _tensor(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise ValueError(f"the array {name!r} is missing from the file")
        self.used.add(name)
        return self._file.get_tensor(name)


def parse_json(text: str | bytes) -> Any:
    """JSON by the letter of the standard: without NaN and Infinity."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _is_json(value: Any) -> bool:
    kind = type(value)
    if kind is int:
        return -(2**63) <= value < 2**63
    return value is None or kind is str or kind is bool or (kind is float and isfinite(value))


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
