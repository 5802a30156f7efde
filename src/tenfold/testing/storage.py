"""The same rows in every kind of storage, for checks that the results agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

Storage = Callable[[np.ndarray, Any, Path], tuple[Any, Any]]  # X, y, folder -> what fit takes


def in_fortran_order(X: np.ndarray, y: Any, _: Path) -> tuple[Any, Any]:
    """Column-major memory."""
    return np.asfortranarray(X), y


def as_view(X: np.ndarray, y: Any, _: Path) -> tuple[Any, Any]:
    """Every second column and row of a larger, read-only array."""
    larger = np.zeros((2 * X.shape[0], 2 * X.shape[1]), X.dtype)
    larger[::2, ::2] = X
    larger.flags.writeable = False
    return larger[::2, ::2], y


def in_npy(X: np.ndarray, y: Any, folder: Path) -> tuple[Any, Any]:
    """A `.npy` file, read piece by piece."""
    np.save(folder / "X.npy", X)
    return folder / "X.npy", y


def in_memmap(X: np.ndarray, y: Any, folder: Path) -> tuple[Any, Any]:
    """A `.npy` file that is mapped to memory."""
    np.save(folder / "map.npy", X)
    return np.load(folder / "map.npy", mmap_mode="r"), y


def in_parquet(X: np.ndarray, y: Any, folder: Path) -> tuple[Any, Any]:
    """Three files with row groups that match no grid."""
    import pyarrow.parquet as pq

    table, target = _arrow_table(X, y)
    cuts = [0, len(X) // 3 + 1, len(X) // 2, len(X)]
    for part, (a, b) in enumerate(pairwise(cuts)):
        pq.write_table(table.slice(a, b - a), folder / f"part-{part}.parquet", row_group_size=777)
    return folder / "part-*.parquet", target


def in_csv(X: np.ndarray, y: Any, folder: Path) -> tuple[Any, Any]:
    """A CSV file with all digits."""
    from pyarrow import csv

    table, target = _arrow_table(X, y)
    csv.write_csv(table, folder / "rows.csv")
    return folder / "rows.csv", target


def in_arrow_table(X: np.ndarray, y: Any, _: Path) -> tuple[Any, Any]:
    """An Arrow table in memory."""
    return _arrow_table(X, y)


def in_dask(X: np.ndarray, y: Any, _: Path) -> tuple[Any, Any]:
    """Dask arrays with blocks that fit no grid, on the client in scope."""
    import dask.array as da

    step: Any = len(X) // 7 + 1
    blocks: Any = (step, -1)
    return da.from_array(X, chunks=blocks), y if y is None else da.from_array(y, chunks=step)


STORAGES: dict[str, Storage] = {
    place.__name__: place
    for place in (
        in_fortran_order,
        as_view,
        in_npy,
        in_memmap,
        in_parquet,
        in_csv,
        in_arrow_table,
        in_dask,
    )
}


def _arrow_table(X: np.ndarray, y: Any) -> tuple[Any, Any]:
    import pyarrow as pa

    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    if y is None or y.ndim == 2:  # several targets are no column
        return pa.table(columns), y
    return pa.table({**columns, "target": y}), "target"


def storages_for(dtype: np.dtype) -> Iterator[str]:
    """Names of the places that keep numbers of this type (text has no float32)."""
    return (name for name in STORAGES if dtype == np.float64 or name != "in_csv")
