"""Instances of every public model, and datasets that suit them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags

import tenfold
from tenfold.base.estimator import Estimator
from tenfold.distributed import partitions
from tenfold.engine import source
from tenfold.engine.chunk import chunk_rows

_CHUNKS = 3  # of the rows of a law, at least


def all_models() -> Iterator[Estimator]:
    """An instance of every public model of rows, with a fixed seed.

    Models of sequences (`_takes_sequences`) have laws of their own, in tests/sequence, and models
    of ratings (`_takes_ratings`) in tests/recommend.
    """
    for name, module in sorted(tenfold._WHERE.items()):
        value = getattr(import_module(module), name)
        if not (isinstance(value, type) and issubclass(value, Estimator)):
            continue
        if not (value._takes_sequences or value._takes_ratings):
            yield set_seed(make_model(value))


def make_model(model: type) -> Any:
    """An instance of a model; a meta-estimator gets a model.

    Models with long fits may give parameters for a short one: `_law_params`.
    """
    if "model" not in signature(model).parameters:
        return model(**traits_of(model)._law_params)
    from tenfold.linear.ridge import Ridge

    return model(Ridge(), {"alpha": [0.1, 10.0]}, folds=3)


def traits_of(model: Any) -> Any:
    """What declares the traits of a model or a class: itself, or the defaults if it is foreign."""
    own = issubclass(model, Estimator) if isinstance(model, type) else isinstance(model, Estimator)
    return model if own else Estimator


def clone_model(model: Any) -> Any:
    """An unfitted model with the same parameters."""
    return clone(model)


def set_seed(model: Any, seed: int = 0) -> Any:
    """The model with a seed, if it takes one."""
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def make_dataset(
    model: Any, dtype: type = np.float64, rows: int = 20_000
) -> tuple[np.ndarray, Any]:
    """Shifted and correlated rows of several chunks, with a target that suits the model."""
    rng = np.random.default_rng(7)
    rows = min(rows, 9_000) if traits_of(model)._has_quadratic_time else rows
    rows = min(rows, traits_of(model)._law_rows or rows)
    X = rng.normal(size=(rows, 6)) @ rng.normal(size=(6, 6)) + 3
    X = X if get_tags(model).input_tags.two_d_array else X[:, :1]
    score = X @ rng.normal(size=X.shape[1]) + rng.normal(size=rows)
    y, tags = None, get_tags(model)
    if is_classifier(model):
        multi_class = tags.classifier_tags is None or tags.classifier_tags.multi_class
        cuts = [0.3, 0.7] if multi_class else [0.4]
        y = np.digitize(score, np.quantile(score, cuts))
        X += y[:, None]
    elif is_regressor(model):
        counts = tags.target_tags.positive_only
        y = (np.floor(np.abs(score)) + 1 if counts else score).astype(dtype)
        y = y if tags.target_tags.single_output else np.column_stack([y, X[:, 0] - y])
    return (np.abs(X) if tags.input_tags.positive_only else X).astype(dtype), y


@contextmanager
def several_chunks(model: Any) -> Iterator[None]:
    """Smaller chunks for a model whose laws have few rows (`_law_rows`), so that these are many.

    Laws about threads, files and merged statistics say nothing about one chunk.
    """
    rows = traits_of(model)._law_rows
    try:
        limit_chunks(None if rows is None else max(rows // _CHUNKS, 1))
        yield
    finally:
        limit_chunks(None)


def limit_chunks(rows: int | None) -> None:
    """Limit the rows of a chunk in this process; None ends it."""

    def limited_chunk_rows(width: int, dtype: Any) -> int:
        return min(chunk_rows(width, dtype), rows or chunk_rows(width, dtype))

    for module in (source, partitions):
        vars(module)["chunk_rows"] = chunk_rows if rows is None else limited_chunk_rows
