"""One table larger than a fit may hold, as `.npy` and as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

COLUMNS = 30
BLOCK = 2**20  # rows at a time, and in a row group: pyarrow's own default


def write_files(folder: Path, rows: int) -> None:
    """`X.npy`, `number.npy`, `label.npy`, and `all.parquet` with the same columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(COLUMNS)]
    fields = [*((name, pa.float32()) for name in names), ("number", pa.float32())]
    schema = pa.schema([*fields, ("label", pa.int32())])
    kinds = {"X": (np.float32, (rows, COLUMNS)), "number": (np.float32, (rows,))}
    kinds["label"] = (np.int32, (rows,))
    files = {name: _npy(folder / f"{name}.npy", *kind) for name, kind in kinds.items()}
    with pq.ParquetWriter(folder / "all.parquet", schema, use_dictionary=False) as parquet:
        for first in range(0, rows, BLOCK):
            X, number, label = block(first, min(BLOCK, rows - first))
            for file, array in zip(files.values(), (X, number, label), strict=True):
                array.tofile(file)
            columns = [*np.ascontiguousarray(X.T), number, label]
            parquet.write_table(pa.table(columns, schema=schema), row_group_size=BLOCK)
    for file in files.values():
        file.close()


def write_magnitudes(folder: Path, rows: int) -> None:
    """The columns x without their signs, as `magnitudes.npy` and `magnitudes.parquet`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(COLUMNS)])
    table = folder / "magnitudes.parquet"
    with (
        _npy(folder / "magnitudes.npy", np.float32, (rows, COLUMNS)) as file,
        pq.ParquetWriter(table, schema, use_dictionary=False) as parquet,
    ):
        for first in range(0, rows, BLOCK):
            X = np.abs(block(first, min(BLOCK, rows - first))[0])
            X.tofile(file)
            columns = list(np.ascontiguousarray(X.T))
            parquet.write_table(pa.table(columns, schema=schema), row_group_size=BLOCK)


def write_ratings(path: Path, rows: int) -> None:
    """Ratings of 27,000 items, some popular, by 138,000 users: as many as MovieLens 20M has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [("user", pa.int64()), ("item", pa.int64()), ("rating", pa.float32())]
    schema = pa.schema(kinds)
    with pq.ParquetWriter(path, schema) as parquet:
        for first in range(0, rows, BLOCK):
            n, rng = min(BLOCK, rows - first), np.random.default_rng(first)
            items = (27_000 * rng.random(n) ** 2).astype(np.int64)
            stars = rng.integers(1, 11, n).astype(np.float32) / 2
            columns = [rng.integers(0, 138_000, n), items, stars]
            parquet.write_table(pa.table(columns, schema=schema))


def _npy(path: Path, dtype: type, shape: tuple[int, ...]) -> BinaryIO:
    file = path.open("wb")
    header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file


def block(first: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of ten clouds, a linear target with noise, and the sign of it as label."""
    rng = np.random.Generator(np.random.SFC64(first))
    centres = np.random.default_rng(0).standard_normal((10, COLUMNS), np.float32)
    X = rng.standard_normal((rows, COLUMNS), np.float32)
    X += np.take(centres, rng.integers(10, size=rows), axis=0)
    number = X.sum(axis=1) + 5 * rng.standard_normal(rows, np.float32)
    return X, number, (number > 0).astype(np.int32)
