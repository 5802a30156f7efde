"""Columns of values per row that one pass over the rows leaves for the next; see `Rows.carry`.

Two buffers per column take turns: a pass reads the one and writes the other, so a chunk that is
computed twice reads the same both times. The buffers have one entry per row of the data set, so
they depend neither on the runs of a pass nor on the number of threads.
"""

from __future__ import annotations

import errno
import itertools
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.engine.atomic import atomic_path
from tenfold.engine.chunk import Chunk
from tenfold.engine.source import Source

MAX_MEMORY_BYTES = 2**30  # of a buffer; larger ones, and those of mapped columns, are mapped files
_handles = itertools.count()


class Hint:
    """State of a chunk function that may change its time but never its result.

    Checkpoints do not compare it: a resumed fit may pass another hint, or none.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Hint()"


class _Storage:
    """The two buffers of all columns of one data set."""

    def __init__(self, n_rows: int, *, durable: bool) -> None:
        self.n_rows, self.durable = n_rows, durable
        self.key = (
            f"{os.getpid()}-{next(_handles)}"  # names the columns on the workers of a cluster
        )
        self.version = 0  # of the buffer that is complete
        self.buffers: list[Any] = [None, None]  # each a (named) tuple of arrays
        self.made_for = [0, 0]  # version for which each buffer was checked or made
        self.lock = threading.Lock()
        self.remote: Any = None  # where the workers of a cluster hold the columns

    def allocate(self, columns: Any, version: int) -> Any:
        """The buffer of a version, made for columns like these when they are seen first."""
        with self.lock:
            at = version % 2
            if self.made_for[at] != version:
                self.made_for[at] = version
                if self.buffers[at] is None or not _is_like(self.buffers[at], columns):
                    old = self.buffers[1 - at] or columns
                    arrays = [
                        _allocate((self.n_rows, *c.shape[1:]), c.dtype, isinstance(o, np.memmap))
                        for c, o in zip(columns, old, strict=True)
                    ]
                    self.buffers[at] = _rebuild(columns, arrays)
            return self.buffers[at]


class CarriedColumns:
    """Columns that a pass has left, to be given to the next `Rows.carry`.

    A handle is valid until the next pass over its columns has ended; after that the older handle
    gives nothing, and a pass that is given it computes from the rows alone.
    """

    def __init__(self, storage: _Storage, version: int) -> None:
        self.storage, self.version = storage, version

    @classmethod
    def empty(cls, n_rows: int, *, durable: bool = False) -> CarriedColumns:
        """Columns of no pass yet."""
        return cls(_Storage(n_rows, durable=durable), 0)

    @classmethod
    def of(cls, columns: tuple[np.ndarray, ...]) -> CarriedColumns:
        """Durable columns that a loop has kept in its state, where checkpoints find them."""
        storage = _Storage(len(columns[0]), durable=True)
        storage.buffers[1], storage.version = columns, 1
        return cls(storage, 1)

    @property
    def is_valid(self) -> bool:
        """Whether there are columns, and no later pass has replaced them."""
        return 0 < self.version == self.storage.version

    def read(self, first: int, end: int) -> Any:
        """The columns of rows first:end as read-only views; None if they are not there."""
        buffer = self.storage.buffers[self.version % 2] if self.is_valid else None
        return None if buffer is None else slice_columns(buffer, first, end)

    def array(self, i: int) -> np.ndarray:
        """Column number `i`, one entry per row."""
        return self._undo_on_error()[i]

    def into(self, path: str | os.PathLike[str], i: int = 0) -> np.ndarray:
        """Write column number `i` to a `.npy` file and return the array, mapped from the file."""
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.save(file, self.array(i))
        return np.load(path, mmap_mode="r")

    def _undo_on_error(self) -> Any:
        columns = self.read(0, self.storage.n_rows)
        if columns is None:
            kind = "were replaced by a later pass" if self.version else "of no pass yet"
            raise ValueError(
                f"these columns {kind}; columns that are results need rows.carry(durable=True)"
            )
        return columns

    def close(self) -> None:
        """Free the memory of all columns, here and on the workers of a cluster."""
        self.storage.buffers = [None, None]
        self.storage.version = -1
        if self.storage.remote is not None:
            self.storage.remote.close()


class ColumnPass:
    """Columns as one pass sees them: those of the last pass to read, new ones to write."""

    def __init__(self, last: CarriedColumns) -> None:
        self.last, self.storage = last, last.storage
        self.version = max(last.storage.version, 0) + 1
        self.dropped = False  # some rows have got no columns

    @property
    def has_columns(self) -> bool:
        """Whether there are columns of all rows to read in this process."""
        return self.last.read(0, 0) is not None

    def read(self, chunk: Chunk) -> Any:
        """The columns of a chunk, or None."""
        return self.last.read(chunk.first, chunk.first + chunk.rows)

    def write(self, chunk: Chunk, columns: Any) -> None:
        """Keep the new columns of a chunk; None drops the columns of the pass."""
        if columns is None:
            self.dropped = True
            return
        check_columns(columns, chunk)
        if chunk.rows == self.storage.n_rows:
            self.storage.buffers[self.version % 2] = columns
            return
        buffer = self.storage.allocate(columns, self.version)
        if not _is_like(buffer, columns):
            raise ValueError(
                f"the columns of the chunk at row {chunk.first} have other types or shapes than "
                "those of another chunk: a chunk function must return columns of one kind"
            )
        for whole, part in zip(buffer, columns, strict=True):
            whole[chunk.first : chunk.first + chunk.rows] = part

    def written(self) -> tuple[np.ndarray, ...] | None:
        """All columns of this pass, for a checkpoint."""
        buffer = self.storage.buffers[self.version % 2]
        return None if buffer is None or self.dropped else buffer

    def restore(self, known: tuple[Any, Any]) -> tuple[Any, bool]:
        """Total and columns of a pass that a checkpoint has recorded."""
        total, columns = known
        if columns is not None:
            self.storage.buffers[self.version % 2] = columns
        return total, columns is not None

    def finish(self, *, complete: bool) -> CarriedColumns:
        """The columns after the pass; `complete` says whether it went over all rows."""
        self.storage.version = self.version
        if self.dropped or not complete:
            self.storage.buffers[self.version % 2] = None
        return CarriedColumns(self.storage, self.version)


@dataclass(frozen=True)
class StatisticOnly:
    """A function of `Rows.carry` as a function of `Rows.total`: without columns."""

    function: Callable[..., Any]

    def __call__(self, chunk: Chunk, *state: Any) -> Any:
        return self.function(chunk, None, *state)[0]


class RowlessSource(Source):
    """The chunks of a source without their rows, for passes over columns alone."""

    direct = True
    finite = True

    def __init__(self, source: Source) -> None:
        self.n_rows, self.n_features, self.dtype = source.n_rows, source.n_features, source.dtype
        self._grid = source.grid

    @property
    def grid(self) -> int:
        """Rows per chunk, as in the source."""
        return self._grid

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Chunks with the row numbers of the source and no columns of X."""
        return (self.between(*self.span(number)) for number in run)

    def between(self, first: int, end: int) -> Chunk:
        """The same for rows first:end."""
        return Chunk(np.empty((end - first, 0), self.dtype), first=first)


def check_columns(columns: Any, chunk: Chunk) -> None:
    """Raise an error unless the columns have one entry per row of a chunk."""
    for column in columns:
        if not isinstance(column, np.ndarray) or len(column) != chunk.rows:
            shape = getattr(column, "shape", type(column).__name__)
            raise ValueError(
                f"the chunk function gave a column of shape {shape} for {chunk.rows} rows: it must "
                "return arrays with one entry per row"
            )


def slice_columns(columns: Any, first: int, end: int) -> Any:
    """Rows first:end of columns, as read-only views."""
    views = [column[first:end] for column in columns]
    for view in views:
        view.flags.writeable = False
    return _rebuild(columns, views)


def concatenate_columns(parts: list[Any]) -> Any:
    """Columns below each other; None if some part has none."""
    if any(part is None for part in parts):
        return None
    return _rebuild(parts[0], [np.concatenate(column) for column in zip(*parts, strict=True)])


def _rebuild(like: Any, arrays: list[np.ndarray]) -> Any:
    return type(like)._make(arrays) if hasattr(like, "_make") else tuple(arrays)


def _is_like(buffer: Any, columns: Any) -> bool:
    return type(buffer) is type(columns) and all(
        a.dtype == b.dtype and a.shape[1:] == b.shape[1:]
        for a, b in zip(buffer, columns, strict=True)
    )


def _allocate(shape: tuple[int, ...], dtype: np.dtype, mapped: bool) -> np.ndarray:
    size = int(np.prod(shape, dtype=int)) * dtype.itemsize
    if size <= MAX_MEMORY_BYTES and not mapped:
        return np.empty(shape, dtype)
    return map_array(shape, dtype)


def map_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array of zeros in a temporary file without a name, which ends with the array."""
    with tempfile.TemporaryFile() as file:  # unlinked; the mapping keeps the file
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        _reserve(file.fileno(), size)
        return np.memmap(file, dtype, "w+", shape=shape)


def _reserve(file: int, size: int) -> None:
    """Take the room of a file on its disk; a mapped file for which there is none ends a process."""
    if size == 0 or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(
                error.errno,
                f"no room for {size / 1e9:.1f} GB of temporary files in {tempfile.gettempdir()}: "
                "free some, or let TMPDIR name a folder on a larger disk",
            ) from error
