"""Models and the few other classes that a file may hold, and back: `kinds` calls these in pairs.

`out` is a `Writer` and `into` is a `Reader` of `tenfold.persist.tree`.
"""

import warnings
from typing import Any

import scipy.sparse
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from tenfold.persist import registry

_SPARSE = {
    name: getattr(scipy.sparse, name)
    for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix")
}
_NO_CODE = "a saved model has no functions and no cache of pickles, so it must be None"


def fields(stored: Any, *names: str) -> list[Any]:
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
    name = registry.name_of(type(model), registry.models())
    if name is None:
        raise out.refusal(model)
    params = model.get_params(deep=False)
    if param := registry.forbidden_param(name, params):
        raise TypeError(f"cannot save {out.where}.{param}: {_NO_CODE}")
    hidden = {*params, *registry.NOT_KEPT.get(name, ())}
    learned = {key: value for key, value in vars(model).items() if key not in hidden}
    for key in learned:
        if not registry.is_learned(type(model), key):
            raise TypeError(
                f"cannot save {out.where}.{key}: it is no parameter, and what a model learns has a "
                'name of its own that begins or ends with "_": rename or delete it'
            )
    return {
        "class": name,
        "params": _encode_all(out, params),
        "learned": _encode_all(out, learned),
    }


def decode_model(into: Any, stored: Any) -> Any:
    """Make the estimator by its constructor, then set what it had learned."""
    name, params, learned = fields(stored, "class", "params", "learned")
    cls = registry.model_class(name)
    if name.startswith("sklearn.") and into.sklearn_version != sklearn.__version__:
        warnings.warn(_other_version(cls, into.sklearn_version), stacklevel=2)
    params = _decode_all(into, params)
    if param := registry.forbidden_param(name, params):
        raise ValueError(f"{param}: {_NO_CODE}")
    model = cls(**params)
    for key, value in _decode_all(into, learned).items():
        if key in params or not registry.is_learned(cls, key):
            raise ValueError(f"{key!r} is not a name of something that a {cls.__name__} learns")
        vars(model)[key] = value
    if name == "sklearn.isotonic.IsotonicRegression" and hasattr(model, "X_thresholds_"):
        model._build_f(model.X_thresholds_, model.y_thresholds_)
    return model


def is_record(value: Any) -> bool:
    """Whether this is one of the small objects on the list."""
    return registry.name_of(type(value), registry.RECORDS) is not None


def encode_record(out: Any, record: Any) -> dict[str, Any]:
    """Class and constructor's arguments of a small object of a library."""
    name = registry.name_of(type(record), registry.RECORDS)
    names = registry.RECORDS[str(name)]
    return {"class": name, "fields": _encode_all(out, {key: getattr(record, key) for key in names})}


def decode_record(into: Any, stored: Any) -> Any:
    """Make the small object by its constructor."""
    name, parts = fields(stored, "class", "fields")
    cls = registry.find(name, registry.RECORDS)
    fields(parts, *registry.RECORDS[name])
    return cls(**_decode_all(into, parts))


def is_tuple(value: Any) -> bool:
    """Whether this is a NamedTuple or a frozen dataclass of ours."""
    return registry.own_tuple_name(type(value)) is not None


def encode_tuple(out: Any, value: Any) -> dict[str, Any]:
    """Class and fields of a NamedTuple, or frozen dataclass, of ours."""
    name, names = registry.own_tuple_name(type(value)), registry.field_names(type(value)) or ()
    return {"class": name, "fields": _encode_all(out, {n: getattr(value, n) for n in names})}


def decode_tuple(into: Any, stored: Any) -> Any:
    """Make it again, if it still has the same fields."""
    name, parts = fields(stored, "class", "fields")
    cls = registry.own_tuple(name)
    fields(parts, *(registry.field_names(cls) or ()))
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
    name, shape, data, index = fields(stored, "class", "shape", "data", "index")
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


def _other_version(cls: type, version: str) -> InconsistentVersionWarning:
    return InconsistentVersionWarning(
        estimator_name=cls.__name__,
        current_sklearn_version=sklearn.__version__,
        original_sklearn_version=version,
    )
