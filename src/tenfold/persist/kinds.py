"""One table of all kinds of values: how each is recognised, written and read.

The two directions stand side by side, so that they cannot drift apart. `out` is a `Writer` and
`into` is a `Reader` of `tenfold.persist.tree`.
"""

import math
import struct
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from tenfold.persist import arrays, objects, registry

_RANDOM = (
    np.random.RandomState,
    np.random.Generator,
    np.random.BitGenerator,
    np.random.SeedSequence,
)
_NUMPY_TYPES = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 longdouble"
    " complex64 complex128 clongdouble str_ bytes_ object_ datetime64 timedelta64"
)
_TYPES = {cls.__name__: cls for cls in (bool, int, float, complex, str, bytes, object)} | {
    f"numpy.{name}": getattr(np, name) for name in _NUMPY_TYPES.split()
}
_TYPE_NAMES = {cls: name for name, cls in _TYPES.items()}


class Kind(NamedTuple):
    """A kind of value: `decode(into, encode(out, value))` is the value again."""

    name: str
    holds: Callable[[Any], bool]
    encode: Callable[[Any, Any], Any]
    decode: Callable[[Any, Any], Any]


def kind_of(value: Any) -> "Kind | None":
    """First kind of the table that holds the value."""
    return next((kind for kind in KINDS if kind.holds(value)), None)


def cure(value: Any) -> str:
    """What to do about a value that cannot be saved."""
    if isinstance(value, _RANDOM):
        return "give an int as the seed instead"
    if isinstance(value, BaseEstimator):
        return "only tenfold's models and scikit-learn's common transformers can be saved"
    if scipy.sparse.issparse(value):
        return "convert it with .tocsr()"
    if hasattr(value, "dtype"):
        return f"convert its dtype, {value.dtype}, to numbers or text"
    if callable(value):
        return "code is never saved: use a named option, or apply it outside of the model"
    return "use numbers, text, lists, dictionaries or NumPy arrays of them instead"


def _exactly(*classes: type) -> Callable[[Any], bool]:
    """Recognise these classes, but no subclass: it may hold more than would be written."""
    return lambda value: type(value) in classes


def _encode_float(_: Any, value: float) -> str:  # NaN and infinities: the very bits
    return struct.pack(">d", value).hex()


def _decode_float(_: Any, digits: str) -> float:
    return struct.unpack(">d", bytes.fromhex(digits))[0]


def _encode_set(out: Any, value: set | frozenset) -> Any:
    return out.items(sorted(value, key=repr))  # the same set makes the same file


def _encode_dict(out: Any, value: dict) -> list[Any]:
    steps = [f"[{key!r}]" for key in value]
    return [out.items(list(value), steps), out.items(list(value.values()), steps)]


def _decode_dict(into: Any, stored: list) -> dict:
    keys, values = stored
    return dict(zip(into.items(keys), into.items(values), strict=True))


def _encode_type(out: Any, value: type) -> str:
    if value not in _TYPE_NAMES:
        raise out.refusal(value)
    return _TYPE_NAMES[value]


def _encode_function(out: Any, value: types.FunctionType) -> str:
    name = registry.name_of(value, registry.FUNCTIONS)
    if name is None:
        raise out.refusal(value)
    return name


def _holds_objects(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype == object


def _encode_objects(out: Any, value: np.ndarray) -> dict[str, Any]:
    axes, straight = arrays.straighten(value)
    return dict(shape=list(straight.shape), axes=axes, items=out.items(list(straight.flat)))


def _decode_objects(into: Any, stored: Any) -> np.ndarray:
    shape, axes, items = objects.fields(stored, "shape", "axes", "items")
    values = into.items(items)
    if math.prod(shape) != len(values):
        raise ValueError(f"{len(values)} values do not make an array of shape {shape}")
    flat = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # one by one: NumPy would unfold lists and arrays
        flat[i] = value
    return arrays.restore_axes(flat.reshape(shape), axes)


# Ordinary numbers, text, None and lists are themselves in JSON and never come here.
KINDS = (
    Kind(
        "scalar",
        lambda value: isinstance(value, np.generic) and arrays.is_plain(value.dtype),
        lambda _, value: arrays.pack_scalar(value),
        lambda _, stored: arrays.unpack_scalar(*stored),
    ),
    Kind("objects", _holds_objects, _encode_objects, _decode_objects),
    Kind(
        "array",
        lambda value: type(value) in (np.ndarray, np.memmap) and arrays.is_plain(value.dtype),
        lambda out, value: out.array(value),
        lambda into, stored: into.array(stored),
    ),
    Kind(
        "masked",
        _exactly(np.ma.MaskedArray),
        lambda out, value: out.items([value.data, np.ma.getmaskarray(value)]),
        lambda into, stored: np.ma.MaskedArray(*into.items(stored)),
    ),
    Kind(
        "tuple",
        _exactly(tuple),
        lambda out, value: out.items(value),
        lambda into, stored: tuple(into.items(stored)),
    ),
    Kind("dict", _exactly(dict), _encode_dict, _decode_dict),
    Kind("bunch", _exactly(Bunch), _encode_dict, lambda *stored: Bunch(**_decode_dict(*stored))),
    Kind("set", _exactly(set), _encode_set, lambda into, stored: set(into.items(stored))),
    Kind(
        "frozenset",
        _exactly(frozenset),
        _encode_set,
        lambda into, stored: frozenset(into.items(stored)),
    ),
    Kind("float", _exactly(float), _encode_float, _decode_float),
    Kind(
        "int",
        _exactly(int),
        lambda _, value: hex(value),
        lambda _, digits: int(digits, 16),
    ),
    Kind(
        "complex",
        _exactly(complex),
        lambda out, value: out.items([value.real, value.imag]),
        lambda into, stored: complex(*into.items(stored)),
    ),
    Kind(
        "bytes",
        _exactly(bytes),
        lambda _, value: value.hex(),
        lambda _, digits: bytes.fromhex(digits),
    ),
    Kind(
        "slice",
        _exactly(slice),
        lambda out, value: out.items([value.start, value.stop, value.step]),
        lambda into, stored: slice(*into.items(stored)),
    ),
    Kind(
        "dtype",
        lambda value: isinstance(value, np.dtype) and (value.char == "O" or arrays.is_plain(value)),
        lambda _, value: value.str,
        lambda _, name: arrays.dtype_of(name),
    ),
    Kind("type", _exactly(type), _encode_type, lambda _, name: _TYPES[name]),
    Kind(
        "function",
        _exactly(types.FunctionType),
        _encode_function,
        lambda _, name: registry.find(name, registry.FUNCTIONS),
    ),
    Kind("sparse", objects.is_sparse, objects.encode_sparse, objects.decode_sparse),
    Kind("namedtuple", objects.is_tuple, objects.encode_tuple, objects.decode_tuple),
    Kind("model", objects.is_model, objects.encode_model, objects.decode_model),
    Kind("record", objects.is_record, objects.encode_record, objects.decode_record),
)
KIND = {kind.name: kind for kind in KINDS}
