"""One table of codecs: how each kind of value is recognized, encoded and decoded."""

import math
import struct
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils import Bunch

from tenfold.persist import _arrays, registry
from tenfold.persist.learned_shapes import check_learned_shapes

_SPARSE = {
    name: getattr(scipy.sparse, name)
    for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix")
}
_NO_CODE = "a saved model has no functions and no cache of pickles, so it must be None"

# Parameters that older files hold under another name.
_FORMER_PARAMS = {
    "tenfold.PenalizedClassifier": {"rate": "learning_rate"},
    "tenfold.PenalizedRegressor": {"rate": "learning_rate"},
    "tenfold.ProbitRegression": {"rate": "learning_rate"},
}


def unpack_fields(stored: Any, *names: str) -> list[Any]:
    """Values of a JSON object that has exactly these keys."""
    if not isinstance(stored, dict) or set(stored) != set(names):
        found = sorted(stored) if isinstance(stored, dict) else type(stored).__name__
        raise ValueError(f"expected the keys {sorted(names)}, found {found}")
    return [stored[name] for name in names]


def is_model(value: Any) -> bool:
    """Whether this is an estimator; if it is on the list is asked when it is written."""
    return isinstance(value, BaseEstimator)


def encode_model(out: Any, model: Any) -> dict[str, Any]:
    """Class, constructor's parameters and learned attributes of an estimator."""
    name = registry.registered_name(type(model), registry.model_names())
    if name is None:
        raise out.refusal(model)
    params = model.get_params(deep=False)
    if param := registry.find_forbidden_param(name, params):
        raise TypeError(f"cannot save {out.where}.{param}: {_NO_CODE}")
    hidden = {*params, *registry.UNSAVED_ATTRIBUTES.get(name, ())}
    learned = {key: value for key, value in vars(model).items() if key not in hidden}
    for key in learned:
        if not registry.is_learned_attribute(type(model), key):
            raise TypeError(
                f"cannot save {out.where}.{key}: it is no parameter, and what a model learns has a "
                'name of its own that begins or ends with "_": rename or delete it'
            )
    _check_shapes(out, name, model)
    return {
        "class": name,
        "params": _encode_all(out, params),
        "learned": _encode_all(out, learned),
    }


def _check_shapes(out: Any, name: str, model: Any) -> None:
    """Refuse what `load` would refuse."""
    if not name.startswith("tenfold."):
        return
    try:
        check_learned_shapes(model)
    except (TypeError, ValueError) as problem:
        raise type(problem)(f"cannot save {out.where}: {problem}") from problem


def decode_model(into: Any, stored: Any) -> Any:
    """Make the estimator by its constructor, then set what it had learned."""
    name, params, learned = unpack_fields(stored, "class", "params", "learned")
    cls = registry.find_model_class(name)
    if name.startswith("sklearn.") and into.sklearn_version != sklearn.__version__:
        warnings.warn(_version_warning(cls, into.sklearn_version), stacklevel=2)
    renamed = _FORMER_PARAMS.get(name, {})
    params = {renamed.get(key, key): value for key, value in _decode_all(into, params).items()}
    if param := registry.find_forbidden_param(name, params):
        raise ValueError(f"{param}: {_NO_CODE}")
    model = cls(**params)
    for key, value in _decode_all(into, learned).items():
        if key in params or not registry.is_learned_attribute(cls, key):
            raise ValueError(f"{key!r} is not a name of something that a {cls.__name__} learns")
        vars(model)[key] = value
    if name.startswith("tenfold."):
        check_learned_shapes(model)
    if name == "sklearn.isotonic.IsotonicRegression" and hasattr(model, "X_thresholds_"):
        model._build_f(model.X_thresholds_, model.y_thresholds_)
    return model


def is_tagged(value: Any) -> bool:
    """Whether this is an object of a class that has a tag."""
    return registry.tag_of(type(value)) is not None


def encode_tagged(out: Any, value: Any) -> dict[str, Any]:
    """Tag and parts of an object."""
    tag = str(registry.tag_of(type(value)))
    parts = {name: getattr(value, name) for name in registry.saved_fields(tag)}
    return {"class": tag, "fields": _encode_all(out, parts)}


def decode_tagged(into: Any, stored: Any) -> Any:
    """Make the object by its constructor, if it still has the same parts."""
    tag, parts = unpack_fields(stored, "class", "fields")
    cls = registry.find_tagged_class(tag)
    unpack_fields(parts, *registry.saved_fields(tag))
    return cls(**_decode_all(into, parts))


def is_sparse(value: Any) -> bool:
    """Whether this is a sparse matrix in one of the formats that are stored."""
    return type(value) in _SPARSE.values()


def encode_sparse(out: Any, matrix: Any) -> dict[str, Any]:
    """Class, shape and arrays of a sparse matrix."""
    index = matrix.coords if matrix.format == "coo" else (matrix.indices, matrix.indptr)
    return {
        "class": type(matrix).__name__,
        "shape": [int(length) for length in matrix.shape],
        "data": out.encode(matrix.data, ".data"),
        "index": [out.encode(part, f".index[{i}]") for i, part in enumerate(index)],
    }


def decode_sparse(into: Any, stored: Any) -> Any:
    """Make the sparse matrix; compiled code trusts its indices, so they are checked in full."""
    name, shape, data, index = unpack_fields(stored, "class", "shape", "data", "index")
    data, index = into.decode(data, ".data"), tuple(into.items(index))
    if data.dtype.kind not in "biufc":
        raise ValueError(f"a sparse matrix of {data.dtype}")
    parts = (data, index) if name.startswith("coo") else (data, *index)
    matrix = _SPARSE[name](parts, shape=tuple(shape))
    if matrix.format != "coo":  # coo checks itself when it is made
        matrix.check_format(full_check=True)
    return matrix


def _encode_all(out: Any, values: dict[str, Any]) -> dict[str, Any]:
    return {key: out.encode(value, f".{key}") for key, value in values.items()}


def _decode_all(into: Any, stored: dict[str, Any]) -> dict[str, Any]:
    return {key: into.decode(value, f".{key}") for key, value in stored.items()}


def _version_warning(cls: type, version: str) -> InconsistentVersionWarning:
    return InconsistentVersionWarning(
        estimator_name=cls.__name__,
        current_sklearn_version=sklearn.__version__,
        original_sklearn_version=version,
    )


_RANDOM_TYPES = (
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


class Codec(NamedTuple):
    """A kind of value: `decode(into, encode(out, value))` is the value again."""

    name: str
    holds: Callable[[Any], bool]
    encode: Callable[[Any, Any], Any]
    decode: Callable[[Any, Any], Any]


def find_codec(value: Any) -> "Codec | None":
    """First kind of the table that holds the value."""
    return next((kind for kind in CODECS if kind.holds(value)), None)


def suggest_fix(value: Any) -> str:
    """What to do about a value that cannot be saved."""
    if isinstance(value, _RANDOM_TYPES):
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


def _is_exactly(*classes: type) -> Callable[[Any], bool]:
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
    name = registry.registered_name(value, registry.FUNCTIONS)
    if name is None:
        raise out.refusal(value)
    return name


def _is_object_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype == object


def _encode_objects(out: Any, value: np.ndarray) -> dict[str, Any]:
    axes, straight = _arrays.to_memory_order(value)
    return dict(shape=list(straight.shape), axes=axes, items=out.items(list(straight.flat)))


def _decode_objects(into: Any, stored: Any) -> np.ndarray:
    shape, axes, items = unpack_fields(stored, "shape", "axes", "items")
    values = into.items(items)
    if math.prod(shape) != len(values):
        raise ValueError(f"{len(values)} values do not make an array of shape {shape}")
    flat = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # one by one: NumPy would unfold lists and arrays
        flat[i] = value
    return _arrays.restore_axes(flat.reshape(shape), axes)


# Ordinary numbers, text, None and lists are themselves in JSON and never come here.
CODECS = (
    Codec(
        "scalar",
        lambda value: isinstance(value, np.generic) and _arrays.is_plain_dtype(value.dtype),
        lambda _, value: _arrays.pack_scalar(value),
        lambda _, stored: _arrays.unpack_scalar(*stored),
    ),
    Codec("objects", _is_object_array, _encode_objects, _decode_objects),
    Codec(
        "array",
        lambda value: (
            type(value) in (np.ndarray, np.memmap) and _arrays.is_plain_dtype(value.dtype)
        ),
        lambda out, value: out.array(value),
        lambda into, stored: into.array(stored),
    ),
    Codec(
        "masked",
        _is_exactly(np.ma.MaskedArray),
        lambda out, value: out.items([value.data, np.ma.getmaskarray(value)]),
        lambda into, stored: np.ma.MaskedArray(*into.items(stored)),
    ),
    Codec(
        "tuple",
        _is_exactly(tuple),
        lambda out, value: out.items(value),
        lambda into, stored: tuple(into.items(stored)),
    ),
    Codec("dict", _is_exactly(dict), _encode_dict, _decode_dict),
    Codec(
        "bunch", _is_exactly(Bunch), _encode_dict, lambda *stored: Bunch(**_decode_dict(*stored))
    ),
    Codec("set", _is_exactly(set), _encode_set, lambda into, stored: set(into.items(stored))),
    Codec(
        "frozenset",
        _is_exactly(frozenset),
        _encode_set,
        lambda into, stored: frozenset(into.items(stored)),
    ),
    Codec("float", _is_exactly(float), _encode_float, _decode_float),
    Codec(
        "int",
        _is_exactly(int),
        lambda _, value: hex(value),
        lambda _, digits: int(digits, 16),
    ),
    Codec(
        "complex",
        _is_exactly(complex),
        lambda out, value: out.items([value.real, value.imag]),
        lambda into, stored: complex(*into.items(stored)),
    ),
    Codec(
        "bytes",
        _is_exactly(bytes),
        lambda _, value: value.hex(),
        lambda _, digits: bytes.fromhex(digits),
    ),
    Codec(
        "slice",
        _is_exactly(slice),
        lambda out, value: out.items([value.start, value.stop, value.step]),
        lambda into, stored: slice(*into.items(stored)),
    ),
    Codec(
        "dtype",
        lambda value: (
            isinstance(value, np.dtype) and (value.char == "O" or _arrays.is_plain_dtype(value))
        ),
        lambda _, value: value.str,
        lambda _, name: _arrays.parse_dtype(name),
    ),
    Codec("type", _is_exactly(type), _encode_type, lambda _, name: _TYPES[name]),
    Codec(
        "function",
        _is_exactly(types.FunctionType),
        _encode_function,
        lambda _, name: registry.find_registered(name, registry.FUNCTIONS),
    ),
    Codec("sparse", is_sparse, encode_sparse, decode_sparse),
    Codec("model", is_model, encode_model, decode_model),
    Codec("object", is_tagged, encode_tagged, decode_tagged),
)
CODEC_BY_NAME = {kind.name: kind for kind in CODECS}
