"""`tenfold.open`: arrays, tables, files, sequences and Dask collections as rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.engine.arrays import ArraySource, SparseSource, as_weights
from tenfold.engine.context import current_engine
from tenfold.engine.rows import Rows
from tenfold.engine.source import ColumnPositions, Source
from tenfold.io.column_roles import ColumnRoles


def open(where: Any, target: Any = None, weight: Any = None, columns: Any = None) -> Rows:
    """Open data in memory, in files or on a cluster as rows that models learn from.

    Parameters
    ----------
    where : array, sparse matrix, table, path, list, Dask collection or Rows
        An array (also a memory map), a SciPy sparse matrix, a pandas or polars DataFrame, an
        Arrow table; a file (`.npy`, `.parquet`, `.arrow`, `.feather`, `.ipc`, `.csv`, `.tsv`,
        `.csv.gz`), a folder of such files, a pattern such as ``"part-*.parquet"``, a list of
        files, whose rows follow each other in the order of the names; a Dask array, dataframe or
        list of delayed parts; a list of sequences of different lengths.
    target : str, list of str, int, array or path, optional
        The column to be predicted, by its name (several names: several targets), or by its number
        in an array; or the values themselves, or the `.npy` file that holds them.
    weight : str, int, array or path, optional
        How much each row counts, given in the same way.
    columns : list, optional
        Names (of an array: numbers) of the columns of X. By default all but target and weight.

    Returns
    -------
    Rows

    Notes
    -----
    Columns that are float32 throughout are computed in float32, all others in float64. Missing
    values in X become NaN. CSV files are read once, into a temporary file, when the first row is
    needed; so are, when they are opened, Parquet files so wide that reading them in place would
    fill the memory. The environment variable TMPDIR says where.

    Examples
    --------
    >>> import numpy as np, tenfold
    >>> rows = tenfold.open(np.arange(12.0).reshape(4, 3), target=-1)
    >>> rows
    Rows(4 x 2 float64, ArraySource)
    >>> rows.take(np.array([1, 3])).y
    array([ 5., 11.])
    """
    roles = ColumnRoles(target, weight, columns)
    if isinstance(where, Rows):
        if any(role is not None for role in roles):
            raise ValueError("these rows are open: give target, weight and columns when opening")
        return where
    if is_dask(where):
        from tenfold.distributed.partitions import from_dask

        return from_dask(where, target, weight, columns)
    if _is_sequences(where):
        from tenfold.io.sequences import from_sequences

        if columns is not None:
            raise ValueError("sequences have no columns to choose from: choose them in the arrays")
        return from_sequences(where, target, weight)
    engine = current_engine()
    return Rows(_make_source(where, roles, here=engine is None), engine=engine)


def is_rows_like(X: Any) -> bool:
    """Whether X is something to `open`, rather than an array or table that scikit-learn checks."""
    if isinstance(X, np.ndarray):
        return False
    if isinstance(X, Rows) or _is_path(X) or _library_of(X) == "pyarrow":
        return True
    return _is_paths(X) or is_dask(X) or _is_sequences(X)


def has_names(where: Any) -> bool:
    """Whether the columns there have names."""
    if _is_path(where) or _is_paths(where):
        from tenfold.io.file_formats import resolve_files

        return resolve_files(where)[0] != "npy"
    return hasattr(where, "columns") or hasattr(where, "column_names")


def _library_of(value: Any) -> str:
    """The library that defines the type of an object."""
    return type(value).__module__.partition(".")[0]


def _is_path(where: Any) -> bool:
    return isinstance(where, str) or hasattr(type(where), "__fspath__")


def _is_paths(where: Any) -> bool:
    return isinstance(where, list | tuple) and len(where) > 0 and _is_path(where[0])


def is_dask(where: Any) -> bool:
    """Whether it is a Dask collection, or a list of them."""
    return _library_of(where[0] if isinstance(where, list) and where else where) == "dask"


def _is_sequences(where: Any) -> bool:
    """A list of two-dimensional parts, or an object that tenfold itself made of them."""
    if type(where).__module__ == "tenfold.io.sequences":
        return True
    if not isinstance(where, list) or not where:
        return False
    first = where[0]
    nested = isinstance(first, list) and len(first) > 0 and isinstance(first[0], list | np.ndarray)
    return nested or (isinstance(first, np.ndarray) and first.ndim == 2)


def _make_source(where: Any, roles: ColumnRoles, *, here: bool) -> Source:
    if _is_path(where) or _is_paths(where):
        return _make_file_source(where, roles, here=here)
    if isinstance(where, np.ndarray | list | tuple):
        return _make_array_source(np.asarray(where), roles)
    if hasattr(where, "tocsr"):
        return _make_sparse_source(where.tocsr(), roles)
    from tenfold.io.dataframe import DataFrameSource

    return DataFrameSource(where, roles)


def _make_file_source(where: Any, roles: ColumnRoles, *, here: bool) -> Source:
    from tenfold.io.file_formats import resolve_files

    kind, paths = resolve_files(where)
    if kind == "npy":
        from tenfold.io.npy import open_npy_source

        return open_npy_source(paths, roles)
    if kind == "csv":
        from tenfold.io.csv_source import CsvSource

        return CsvSource(paths, roles)
    if kind == "ipc":
        from tenfold.io.arrow import IpcSource

        return IpcSource(paths, roles)
    from tenfold.engine.spool import has_room_for
    from tenfold.io.parquet import ParquetSource, spool_wide_file

    source = ParquetSource(paths, roles)
    return (
        spool_wide_file(source)
        if here and source.exceeds_buffer and has_room_for(source)
        else source
    )


def _make_array_source(X: np.ndarray, roles: ColumnRoles) -> ArraySource:
    if X.dtype.kind not in "biuf":
        raise ValueError(f"the array holds {X.dtype}, not numbers")
    if X.ndim != 2:
        raise ValueError(
            f"the array has shape {X.shape}; X needs two dimensions: X.reshape(len(X), -1)"
        )
    choice, y, w = _target_and_weights(X, roles)
    return ArraySource(X[:, _as_slice(choice.X)], y, w)


def _make_sparse_source(X: Any, roles: ColumnRoles) -> SparseSource:
    choice, y, w = _target_and_weights(X, roles)
    return SparseSource(X if choice.is_all(X.shape[1]) else X[:, choice.X], y, w)


def _target_and_weights(X: Any, roles: ColumnRoles) -> tuple[ColumnPositions, Any, Any]:
    """Columns of an array; target and weights from them, or from elsewhere."""
    numbers = range(X.shape[1])
    choice = roles.choice(numbers, "the array")
    y, w = (
        None if side is None else side[:] for side in roles.external_values(numbers, X.shape[0])
    )
    y = y if choice.y is None else _dense_column(X[:, [choice.y]])
    w = w if choice.w is None else _dense_column(X[:, [choice.w]])
    return choice, y, w if w is None else as_weights(w)


def _dense_column(column: Any) -> np.ndarray:
    return np.ravel(column if isinstance(column, np.ndarray) else column.toarray())


def _as_slice(columns: list[int]) -> Any:
    """Neighbouring columns as a slice, which copies nothing."""
    low, high = columns[0], columns[-1] + 1
    return slice(low, high) if columns == list(range(low, high)) else columns
