"""What an encoder takes for a table, with the checks that scikit-learn's transformers make."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tenfold.rows.files.records import Records, is_elsewhere, open_records


def table_of(encoder: Any, X: Any, *, reset: bool) -> Records:
    """X as records; at the fit (`reset`) its columns are remembered."""
    if not _is_table(X):
        return _from_array(encoder, X, reset=reset)
    records = open_records(X)
    if reset:
        encoder.n_features_in_ = records.n_features
        encoder.feature_names_in_ = np.array(records.names, dtype=object)
    return records


def _is_table(X: Any) -> bool:
    """Whether the columns of X have names; a sparse matrix may be a dict, and has none."""
    if is_elsewhere(X) or (isinstance(X, list) and len(X) > 0 and isinstance(X[0], dict)):
        return True
    named = isinstance(X, dict) or hasattr(X, "columns") or hasattr(X, "column_names")
    structured = getattr(getattr(X, "dtype", None), "names", None) is not None
    return (named or structured) and not hasattr(X, "tocsr")


def _from_array(encoder: Any, X: Any, *, reset: bool) -> Records:
    checked = validate_data(
        encoder, X, reset=reset, dtype=None, ensure_all_finite=False, ensure_min_features=1
    )
    array = np.asarray(checked)
    names = getattr(encoder, "feature_names_in_", None)
    if names is None:
        return open_records(array)
    return open_records({str(name): array[:, j] for j, name in enumerate(names)})
