"""Groups of rows that are a column of the data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.rows import Rows
from tenfold.io.opener import is_rows_like
from tenfold.io.opener import open as open_rows


class GroupedInputs(NamedTuple):
    """Rows, target, weights and groups of a cross-validation, as they are given to a model."""

    X: Any
    y: Any
    w: Any
    groups: Any


def separate_groups(X: Any, y: Any, w: Any, groups: Any) -> GroupedInputs:
    """Inputs with the groups as an array; a column of groups is no feature.

    Parameters
    ----------
    X, y, w :
        Rows, target and weights of any kind.
    groups : (n_rows,) array, column name or None
        The groups.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0], "person": ["a", "b"]})
    >>> X, _, _, groups = separate_groups(table, None, None, "person")
    >>> list(X.columns), groups.tolist()
    (['x'], ['a', 'b'])
    """
    if not isinstance(groups, str):
        return GroupedInputs(X, y, w, groups)
    names = _column_names(X, groups)
    if groups not in names:
        raise ValueError(f"groups={groups!r}: there is no such column; there are {names}")
    roles = {role for role in (groups, y, w) if isinstance(role, str)}
    features = [name for name in names if name not in roles]
    labels = np.asarray(open_rows(X, target=groups, columns=features[:1]).gather().y)
    if is_rows_like(X):
        rows = open_rows(X, target=y, weight=w, columns=features)
        return GroupedInputs(rows, None, None, labels)
    return GroupedInputs(X[[name for name in X.columns if name != groups]], y, w, labels)


def _column_names(X: Any, groups: str) -> list[str]:
    """Names of all columns of a file or table."""
    if isinstance(X, Rows):
        raise TypeError(
            f"groups={groups!r}: these rows are open. Give the groups as an array, or the file "
            "or table instead of tenfold.open(...)"
        )
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if names is not None:
        return list(names)
    if not is_rows_like(X):
        raise TypeError(f"groups={groups!r}: these rows have no names of columns; give an array")
    from tenfold.io.csv import inspect_csv
    from tenfold.io.file_formats import resolve_files
    from tenfold.io.parquet import ARROW_READERS

    kind, paths = resolve_files(X)
    if kind == "npy":
        raise TypeError(f"groups={groups!r}: .npy files have no names of columns; give an array")
    if kind == "csv":
        return inspect_csv(paths[0], header=True).names
    return ARROW_READERS[kind][0](str(paths[0])).names
