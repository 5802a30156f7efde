"""Rows in raw files: `.npy`, and the spool, a copy of a stream that is read again and again."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.rows.arrays import compute_dtype, part
from tenfold.rows.chunk import Chunk
from tenfold.rows.files.asked import Asked, Choice, as_weights
from tenfold.rows.files.labels import Labels
from tenfold.rows.files.stored import Disk, SideBySide, Stacked, Stored, npy
from tenfold.rows.fold import Task, Walk
from tenfold.rows.source import Source, joined, pick

Matrix = Stored | Stacked | SideBySide


class RawFile(Source):
    """A matrix on disk with target and weights: columns of it, or arrays in memory or on disk."""

    def __init__(
        self, matrix: Matrix, choice: Choice | None = None, y: Any = None, w: Any = None
    ) -> None:
        self.matrix, self.y, self.w = matrix, y, w
        self.choice = choice or Choice(list(range(matrix.shape[1])))
        self.n_rows, self.n_features = matrix.shape[0], len(self.choice.X)
        self.dtype = compute_dtype(matrix.dtype)
        self.has_target = y is not None or self.choice.y is not None
        self.has_weight = w is not None or self.choice.w is not None
        self.shippable = not _nameless(matrix)
        self.place: Callable[[int], str] = getattr(matrix, "where", super().where)

    @property
    def streams(self) -> bool:
        """Whether rows must be put together from blocks of columns: then a copy pays."""
        return isinstance(self.matrix, SideBySide)

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run."""
        for number in run:
            yield self.read(*self.span(number))

    def read(self, first: int, end: int) -> Chunk:
        """Rows first:end."""
        rows = self.matrix[first:end]
        choice = self.choice
        X = rows if choice.is_all(rows.shape[1]) else np.take(rows, choice.X, axis=1)
        y = part(self.y, first, end) if choice.y is None else np.take(rows, choice.y, axis=1)
        w = part(self.w, first, end) if choice.w is None else np.take(rows, choice.w, axis=1)
        w = w if w is None else as_weights(w)
        return Chunk(np.ascontiguousarray(X, self.dtype), y, w, first)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers; of a chunk, no more is read than from first to last."""
        blocks = np.split(rows, np.flatnonzero(np.diff(rows // self.grid)) + 1)
        return joined([pick(self.read(int(b[0]), int(b[-1]) + 1), b) for b in blocks])

    def where(self, row: int) -> str:
        """The file and the row in it, counted from 0."""
        return self.place(row)


def _nameless(matrix: Matrix) -> bool:
    parts = [matrix] if isinstance(matrix, Stored) else matrix.parts
    return any(part.disk.path is None for part in parts)


def npy_rows(paths: list[Path], asked: Asked) -> RawFile:
    """Open one or several `.npy` files as one matrix."""
    parts = [_matrix(path) for path in paths]
    matrix = parts[0] if len(parts) == 1 else Stacked(parts)
    columns = range(matrix.shape[1])
    return RawFile(
        matrix, asked.choice(columns, str(paths[0])), *asked.outside(columns, matrix.shape[0])
    )


def _matrix(path: Path) -> Stored:
    stored = npy(path)
    if stored.dtype.kind not in "biuf":
        raise ValueError(f"{path} holds {stored.dtype}, not numbers")
    if len(stored.shape) != 2:
        raise ValueError(
            f"{path} has shape {stored.shape}; X needs two dimensions, rows and columns. "
            "Reshape it: numpy.save(path, X.reshape(len(X), -1))."
        )
    return stored


class Spool:
    """Files without a name that take chunks in any order, and are a source when all are in."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.columns: list[Any] = []  # files of X, y and w

    def put(self, chunk: Chunk) -> None:
        """Write a chunk in its place."""
        with self.lock:
            if not self.columns:
                self.columns = [_column(array) for array in chunk[:3]]
        for column, array in zip(self.columns, chunk[:3], strict=True):
            if column is not None:
                column.write(chunk.first, array)

    def rows(self, n_rows: int, like: Source) -> RawFile:
        """The rows that were put in, under the names of the source that they came from."""
        empty = [Stored(Disk(), like.dtype, (0, like.n_features)), None, None]
        X, y, w = (column and column.ended(n_rows) for column in self.columns or empty)
        return named_like(like, RawFile(X, None, y, w))


def _column(array: Any) -> Stored | Labels | None:
    if array is None:
        return None
    if array.dtype.kind in "iufb":
        return Stored(Disk(), array.dtype, (0, *array.shape[1:]))
    return Labels(Stored(Disk(), np.dtype(np.int32), (0, *array.shape[1:])))


def named_like(source: Source, copy: RawFile) -> RawFile:
    """A copy of a source speaks of rows and columns as the source does."""
    copy.names, copy.finite, copy.place = source.names, source.finite, source.where
    return copy


def spooled(source: Source) -> RawFile:
    """Copy all rows to a raw file that has no name; one pass, on all threads."""
    spool = Spool()
    Walk(Task(source, spool.put, ()), source.runs(), spool.put).go()
    return spool.rows(source.n_rows, source)


def room_for(source: Source) -> bool:
    """Whether the folder for temporary files has twice the room that a copy needs."""
    row = source.n_features * source.dtype.itemsize + 16
    return shutil.disk_usage(tempfile.gettempdir()).free >= 2 * row * source.n_rows
