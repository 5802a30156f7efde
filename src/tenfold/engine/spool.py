"""Matrix files as sources, and the spool: a temporary binary copy of a stream read repeatedly."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tenfold.engine.arrays import as_weights, compute_dtype, slice_column
from tenfold.engine.chunk import Chunk
from tenfold.engine.file_matrix import (
    ColumnBlockMatrix,
    FileMatrix,
    RandomAccessFile,
    StackedMatrix,
)
from tenfold.engine.fold import ChunkScheduler
from tenfold.engine.source import ColumnPositions, Source, concatenate_chunks, select_rows
from tenfold.engine.task import FoldTask


class LabelDictionary:
    """A column of text labels: each label is stored once, a file has its code for every row."""

    def __init__(self, codes: FileMatrix) -> None:
        self.codes = codes
        self.known: dict[str, int] = {}
        self.lock = threading.Lock()
        self.words = np.array([], str)

    def write(self, first: int, words: np.ndarray) -> None:
        """Put the words of the rows from `first` on in their place."""
        distinct, inverse = np.unique(words, return_inverse=True)
        with self.lock:
            numbers = [self.known.setdefault(word, len(self.known)) for word in distinct.tolist()]
        self.codes.write(first, np.array(numbers, np.int32)[inverse])

    def with_rows(self, n_rows: int) -> LabelDictionary:
        """The same column, now that it is known how many rows were written."""
        self.codes = self.codes.with_rows(n_rows)
        self.words = np.array(list(self.known))
        return self

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.take(self.words, self.codes[rows])


Matrix = FileMatrix | StackedMatrix | ColumnBlockMatrix


class MatrixFileSource(Source):
    """A matrix on disk with target and weights: columns of it, or arrays in memory or on disk."""

    def __init__(
        self, matrix: Matrix, choice: ColumnPositions | None = None, y: Any = None, w: Any = None
    ) -> None:
        self.matrix, self.y, self.w = matrix, y, w
        self.choice = choice or ColumnPositions(list(range(matrix.shape[1])))
        self.n_rows, self.n_features = matrix.shape[0], len(self.choice.X)
        self.dtype = compute_dtype(matrix.dtype)
        self.has_target = y is not None or self.choice.y is not None
        self.has_weight = w is not None or self.choice.w is not None
        self.shippable = not _is_unnamed(matrix)
        if self.shippable and y is None and w is None:
            self.data_files = tuple(str(part.disk.path) for part in _file_parts(matrix))
            self.data_columns = tuple(self.choice)
        self.place: Callable[[int], str] = getattr(matrix, "where", super().where)

    @property
    def streams(self) -> bool:
        """Whether rows must be put together from blocks of columns: then a copy pays."""
        return isinstance(self.matrix, ColumnBlockMatrix)

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the chunks of a run."""
        for number in run:
            yield self.read(*self.span(number))

    def read(self, first: int, end: int) -> Chunk:
        """Rows first:end."""
        rows = self.matrix[first:end]
        choice = self.choice
        X = rows if choice.is_all(rows.shape[1]) else np.take(rows, choice.X, axis=1)
        y = (
            slice_column(self.y, first, end)
            if choice.y is None
            else np.take(rows, choice.y, axis=1)
        )
        w = (
            slice_column(self.w, first, end)
            if choice.w is None
            else np.take(rows, choice.w, axis=1)
        )
        w = w if w is None else as_weights(w)
        return Chunk(np.ascontiguousarray(X, self.dtype), y, w, first)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers; of a chunk, no more is read than from first to last."""
        blocks = np.split(rows, np.flatnonzero(np.diff(rows // self.grid)) + 1)
        return concatenate_chunks(
            [select_rows(self.read(int(b[0]), int(b[-1]) + 1), b) for b in blocks]
        )

    def where(self, row: int) -> str:
        """The file and the row in it, counted from 0."""
        return self.place(row)


def _file_parts(matrix: Matrix) -> list[FileMatrix]:
    return [matrix] if isinstance(matrix, FileMatrix) else matrix.parts


def _is_unnamed(matrix: Matrix) -> bool:
    return any(part.disk.path is None for part in _file_parts(matrix))


class SpoolFile:
    """Files without a name that take chunks in any order, and are a source when all are in."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.columns: list[Any] = []  # files of X, y and w

    def put(self, chunk: Chunk) -> None:
        """Write a chunk in its place."""
        with self.lock:
            if not self.columns:
                self.columns = [_spool_column(array) for array in chunk[:3]]
        for column, array in zip(self.columns, chunk[:3], strict=True):
            if column is not None:
                column.write(chunk.first, array)

    def rows(self, n_rows: int, like: Source) -> MatrixFileSource:
        """The rows that were put in, under the names of the source that they came from."""
        empty = [FileMatrix(RandomAccessFile(), like.dtype, (0, like.n_features)), None, None]
        X, y, w = (column and column.with_rows(n_rows) for column in self.columns or empty)
        return copy_names(like, MatrixFileSource(X, None, y, w))


def _spool_column(array: Any) -> FileMatrix | LabelDictionary | None:
    if array is None:
        return None
    if array.dtype.kind in "iufb":
        return FileMatrix(RandomAccessFile(), array.dtype, (0, *array.shape[1:]))
    return LabelDictionary(
        FileMatrix(RandomAccessFile(), np.dtype(np.int32), (0, *array.shape[1:]))
    )


def copy_names(source: Source, copy: MatrixFileSource) -> MatrixFileSource:
    """Give a copy of a source the names that error messages of the source use."""
    copy.origin = source
    copy.names, copy.finite, copy.place = source.names, source.finite, source.where
    copy.max_chunk_rows = source.max_chunk_rows
    return copy


def spool_source(source: Source) -> MatrixFileSource:
    """Copy all rows to a raw file that has no name; one pass, on all threads."""
    spool = SpoolFile()
    ChunkScheduler(FoldTask(source, spool.put, ()), source.runs(), spool.put).run()
    return spool.rows(source.n_rows, source)


def has_room_for(source: Source) -> bool:
    """Whether the folder for temporary files has twice the space that a copy needs."""
    row = source.n_features * source.dtype.itemsize + 16
    return shutil.disk_usage(tempfile.gettempdir()).free >= 2 * row * source.n_rows
