"""Tables with columns of categories (text, pandas categories) as matrices of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tenfold.base._sklearn import check_feature_names, safe_indexing

if TYPE_CHECKING:
    from sklearn.preprocessing import OrdinalEncoder


def is_table(X: Any) -> bool:
    """Whether the columns of X may have types of their own."""
    return hasattr(X, "columns") or (isinstance(X, np.ndarray) and X.dtype.kind in "OUS")


def learn_codes(X: Any, is_categorical: np.ndarray) -> OrdinalEncoder:
    """An encoder of the categorical columns; unknown and missing categories become NaN."""
    from sklearn.preprocessing import OrdinalEncoder  # which imports much

    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )
    encoder.set_output(transform="default")
    return encoder.fit(_columns(X, is_categorical))


def encode_table(X: Any, is_categorical: np.ndarray, encoder: OrdinalEncoder) -> np.ndarray:
    """The table as float64, with codes in the place of categories."""
    if X.shape[1] != len(is_categorical):
        raise ValueError(f"X has {X.shape[1]} features, but {len(is_categorical)} were fitted")
    out = np.empty(X.shape)
    out[:, is_categorical] = encoder.transform(_columns(X, is_categorical))
    if not is_categorical.all():
        out[:, ~is_categorical] = _as_numbers(_columns(X, ~is_categorical))
    return out


def _as_numbers(X: Any) -> np.ndarray:
    try:
        return np.asarray(X, np.float64)
    except ValueError as problem:
        raise ValueError(
            f"{problem} in a column of numbers: name columns of text in categorical_features"
        ) from problem


def check_names(model: Any, X: Any, *, reset: bool) -> np.ndarray | None:
    """The names of the columns, checked against those of the fit."""
    check_feature_names(model, X, reset=reset)
    return getattr(model, "feature_names_in_", None)


def _columns(X: Any, chosen: np.ndarray) -> Any:
    return safe_indexing(X, np.flatnonzero(chosen), axis=1)
