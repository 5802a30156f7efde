"""Save and load models: one safetensors file, no pickle, nothing executed."""

import json
import os
from typing import Any

import numpy as np
import sklearn
from safetensors import SafetensorError, safe_open
from sklearn.base import BaseEstimator

from tenfold import __version__
from tenfold.engine.atomic import atomic_path
from tenfold.persist._codecs import unpack_fields
from tenfold.persist._reader_writer import ModelReader, ModelWriter, parse_json
from tenfold.persist._tensor_file import CHECKSUM, verify_checksum, write_tensors

_FORMAT, _VERSION = "tenfold model", 2  # 1 had no checksum
# What a decoder may meet in a damaged or hostile file; `load` makes one ValueError of them all.
_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, ImportError)
_LIMITS = (RecursionError, MemoryError)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, fitted or not, to one file.

    The file is written under another name in the same folder and then renamed: an existing file
    stays whole until the new one is complete, and lends it its permissions.

    Parameters
    ----------
    model : estimator
        A model of tenfold, or one of scikit-learn's common transformers and meta-estimators
        (such as a `Pipeline`) around them.
    path : str or path-like
        The file to write. An existing file is replaced.

    Raises
    ------
    OSError
        If the file cannot be written; it names the file.
    TypeError
        If the model holds something that cannot be saved, such as a function or a random
        generator. The message names the attribute and the cure.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.preprocessing import StandardScaler
    >>> from tenfold import load
    >>> from tenfold.persist.model_file import save
    >>> scaler = StandardScaler().fit([[1.0], [3.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(scaler, os.path.join(folder, "scaler.safetensors"))
    ...     load(os.path.join(folder, "scaler.safetensors")).mean_
    array([2.])
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"cannot save a {type(model).__name__}: it is not a model")
    out = ModelWriter(type(model).__name__)
    document = dict(format=_FORMAT, version=_VERSION, versions=_versions(), model=out.encode(model))
    metadata = {"tenfold": json.dumps(document, allow_nan=False)}
    with atomic_path(path) as temporary:
        write_tensors(temporary, out.tensors, metadata)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `model.save(path)` wrote.

    Only classes of tenfold and a fixed list of scikit-learn's are made, by their constructors;
    a file cannot name any other code. The loaded model predicts the same bits.

    Parameters
    ----------
    path : str or path-like
        The file to read.

    Returns
    -------
    estimator
        The model, as fitted as it was when it was saved.

    Raises
    ------
    ValueError
        If the file is damaged (its checksum tells), is no model, comes from a newer tenfold, names
        anything that is not on the list, or holds arrays that do not fit each other. The message
        names the file, the place in the model and the cause.

    Warns
    -----
    sklearn.exceptions.InconsistentVersionWarning
        If a part is scikit-learn's and was saved with another version of scikit-learn.

    Notes
    -----
    A file from a stranger executes nothing, and its arrays fit each other, so that prediction reads
    no foreign memory. But whether its numbers are right and its parameters sensible (a regular
    expression may be slow, `input="filename"` reads files) nobody can tell.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from tenfold import load
    >>> from tenfold.persist.model_file import save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(MinMaxScaler((-1, 1)), os.path.join(folder, "scaler.safetensors"))
    ...     load(os.path.join(folder, "scaler.safetensors"))
    MinMaxScaler(feature_range=(-1, 1))
    """
    try:
        with safe_open(os.fspath(path), framework="np") as file:
            return _read_model(file, str(path))
    except (FileNotFoundError, PermissionError):
        raise
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path}: not a saved model, or cut short ({error})") from error


def _read_model(file: Any, path: str) -> Any:
    into = ModelReader(file)
    try:
        verify_checksum(path)
        document = _read_document(file.metadata() or {})
        into.sklearn_version = str(document["versions"]["sklearn"])
        model = into.decode(document["model"])
        if not isinstance(model, BaseEstimator):
            raise TypeError("it holds no model")
        if unused := set(file.keys()) - into.used:
            raise ValueError(f"arrays that belong to nothing: {sorted(unused)}")
    except (*_DAMAGE, *_LIMITS) as error:
        raise ValueError(f"{path}: cannot load {into.where}: {error}") from error
    return model


def _read_document(metadata: dict[str, str]) -> dict[str, Any]:
    if "tenfold" not in metadata or not set(metadata) <= {"tenfold", CHECKSUM}:
        raise ValueError("a safetensors file, but not written by tenfold's save")
    document = parse_json(metadata["tenfold"])
    if document["format"] != _FORMAT or type(document["version"]) is not int:
        raise ValueError("not in the format of a saved tenfold model")
    if document["version"] > _VERSION:
        raise ValueError(
            f"written by a newer tenfold ({document['versions']['tenfold']}, format "
            f"{document['version']}; this one reads up to {_VERSION}): upgrade tenfold"
        )
    if document["version"] < 1:
        raise ValueError(f"unknown format version {document['version']}")
    if (document["version"] > 1) != (CHECKSUM in metadata):
        raise ValueError("it has lost its checksum: it was changed after it was saved")
    unpack_fields(document, "format", "version", "versions", "model")
    return document


def _versions() -> dict[str, str]:
    return dict(tenfold=__version__, numpy=np.__version__, sklearn=sklearn.__version__)
