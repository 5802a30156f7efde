"""`.npy` files as matrices and as sources."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.engine.file_matrix import (
    FileMatrix,
    RandomAccessFile,
    StackedMatrix,
)
from tenfold.engine.spool import MatrixFileSource
from tenfold.io.column_roles import ColumnRoles


def open_npy_source(paths: list[Path], roles: ColumnRoles) -> MatrixFileSource:
    """Open one or several `.npy` files as one matrix."""
    parts = [_open_matrix(path) for path in paths]
    matrix = parts[0] if len(parts) == 1 else StackedMatrix(parts)
    columns = range(matrix.shape[1])
    return MatrixFileSource(
        matrix,
        roles.choice(columns, str(paths[0])),
        *roles.external_values(columns, matrix.shape[0]),
    )


def _open_matrix(path: Path) -> FileMatrix:
    stored = open_npy(path)
    if stored.dtype.kind not in "biuf":
        raise ValueError(f"{path} holds {stored.dtype}, not numbers")
    if len(stored.shape) != 2:
        raise ValueError(
            f"{path} has shape {stored.shape}; X needs two dimensions, rows and columns. "
            "Reshape it: numpy.save(path, X.reshape(len(X), -1))."
        )
    return stored


def open_npy(path: str | os.PathLike) -> FileMatrix:
    """The array in a `.npy` file, of numbers or of labels; checked to be there in full."""
    disk = RandomAccessFile(path)
    with Path(path).open("rb") as file:
        try:
            shape, fortran, dtype = _read_header(file)
        except ValueError as problem:
            raise ValueError(f"{path} is no .npy file: {problem}") from problem
        offset = file.tell()
        size = os.fstat(file.fileno()).st_size - offset
    if dtype.hasobject:
        raise ValueError(
            f"{path} holds Python objects. Save numbers: numpy.save(path, X.astype(float))"
        )
    stored = FileMatrix(disk, dtype, shape, offset, fortran=fortran and len(shape) > 1)
    _check_complete(stored, size)
    return stored


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    form = np.lib.format
    readers: dict[Any, Callable] = {
        (1, 0): form.read_array_header_1_0,
        (2, 0): form.read_array_header_2_0,
    }
    version = form.read_magic(file)
    if version not in readers:
        raise ValueError(f"version {version} of the format is for structured arrays")
    return readers[version](file)


def _check_complete(stored: FileMatrix, size: int) -> None:
    promised = int(np.prod(stored.shape, dtype=int)) * stored.raw.itemsize
    if size >= promised:
        return
    row = 0 if stored.fortran else size // max(stored.row_bytes, 1)
    raise ValueError(
        f"{stored.disk.shown} is cut short: its header promises {stored.shape[0]} rows "
        f"({promised} bytes), but {size} bytes are there; the first missing row is row {row}. "
        "Write the file again."
    )
