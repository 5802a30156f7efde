"""Matrices in binary files, read at any offset by several threads at once.

Reading with `pread` into fresh memory beats a memory map: no page stays with the process, and the
kernel gets a hint what will be read next.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np

_open_lock = threading.Lock()
_READAHEAD_BYTES = 2**25  # bytes that the kernel is asked to read ahead


class RandomAccessFile:
    """A file, opened when first needed; without a path, an unnamed temporary file.

    Every read says where, so threads share one descriptor. A pickle holds the path alone.
    """

    def __init__(self, path: str | os.PathLike | None = None) -> None:
        self.shown = "a temporary file" if path is None else str(path)
        self.path = None if path is None else str(Path(path).absolute())
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """What the operating system calls the open file."""
        with _open_lock:  # or two threads would have a nameless file each
            if self._descriptor is None:
                number = _open_unnamed() if self.path is None else os.open(self.path, os.O_RDONLY)
                weakref.finalize(self, os.close, number)
                self._descriptor = number
            return self._descriptor

    def read(self, into: np.ndarray, at: int) -> int:
        """Fill an array with the bytes from `at` on; how many there were."""
        done, space = 0, _byte_view(into)
        while done < len(space):
            got = os.preadv(self.descriptor, [space[done:]], at + done)
            if got == 0:
                break
            done += got
        return done

    def write(self, array: np.ndarray, at: int) -> None:
        """Write an array's bytes from `at` on."""
        left = _byte_view(np.ascontiguousarray(array))
        try:
            while left:
                done = os.pwrite(self.descriptor, left, at)
                left, at = left[done:], at + done
        except OSError as problem:
            if problem.errno != errno.ENOSPC:
                raise
            folder = tempfile.gettempdir()
            text = f"no room in {folder} for a copy of the data; set TMPDIR to a larger disk"
            raise OSError(errno.ENOSPC, text) from problem

    def __getstate__(self) -> dict[str, Any]:
        if self.path is None:
            raise TypeError("rows in a temporary file cannot go to another process")
        return {"shown": self.shown, "path": self.path, "_descriptor": None}


def _byte_view(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _open_unnamed() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class FileMatrix:
    """An array in a file: `stored[first:end]` reads these rows.

    Parameters
    ----------
    disk : Disk
    dtype : of the bytes
    shape : of the whole, rows first
    offset : where the first row begins
    fortran : whether columns, not rows, lie together
    """

    def __init__(
        self,
        disk: RandomAccessFile,
        dtype: np.dtype,
        shape: tuple[int, ...],
        offset: int = 0,
        *,
        fortran: bool = False,
    ) -> None:
        self.disk, self.shape, self.offset, self.fortran = disk, shape, offset, fortran
        self.raw = dtype
        self.dtype = dtype.newbyteorder("=")  # of the rows that are handed out
        self.row_bytes = dtype.itemsize * int(np.prod(shape[1:], dtype=int))
        self.reached = 0  # the row after the last one read

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, end, _ = rows.indices(self.shape[0])
        read = self._columns if self.fortran else self._rows
        return read(first, end).astype(self.dtype, copy=False)

    def write(self, first: int, rows: np.ndarray) -> None:
        """Put rows in their place, from `first` on."""
        self.disk.write(rows, self.offset + first * self.row_bytes)

    def with_rows(self, n_rows: int) -> FileMatrix:
        """The same file, now that it is known how many rows were written."""
        return FileMatrix(self.disk, self.raw, (n_rows, *self.shape[1:]), self.offset)

    def where(self, row: int) -> str:
        """The place of a row in words."""
        return f"{self.disk.shown}, row {row}"

    def _rows(self, first: int, end: int) -> np.ndarray:
        out = np.empty((end - first, *self.shape[1:]), self.raw)
        start = self.offset + first * self.row_bytes
        self._ask_ahead(first, end, start + _READAHEAD_BYTES)
        self._fill(out, start, first)
        return out

    def _columns(self, first: int, end: int) -> np.ndarray:
        out = np.empty((*self.shape[:0:-1], end - first), self.raw)
        size = self.raw.itemsize
        for j, column in enumerate(out.reshape(-1, end - first)):
            self._fill(column, self.offset + (j * self.shape[0] + first) * size, first)
        return out.T

    def _fill(self, out: np.ndarray, start: int, first: int) -> None:
        done = self.disk.read(out, start)
        if done < out.nbytes:
            row = first + done // max(out.nbytes // max(len(out), 1), 1)
            raise ValueError(
                f"{self.where(row)}: the file ends here; it was cut after it was opened"
            )

    def _ask_ahead(self, first: int, end: int, start: int) -> None:
        # A jump (random batches, a sample) says nothing about what comes next.
        near = abs(first - self.reached) <= 8 * (end - first)
        self.reached = end
        if near and hasattr(os, "posix_fadvise"):
            size = (end - first) * self.row_bytes
            os.posix_fadvise(self.disk.descriptor, start, size, os.POSIX_FADV_WILLNEED)


class StackedMatrix:
    """Stored arrays below each other."""

    def __init__(self, parts: list[FileMatrix]) -> None:
        widths = {part.shape[1:] for part in parts}
        if len(widths) > 1:
            other = next(part for part in parts if part.shape[1:] != parts[0].shape[1:])
            raise ValueError(
                f"{other.disk.shown} has rows of shape {other.shape[1:]}, "
                f"{parts[0].disk.shown} of {parts[0].shape[1:]}"
            )
        self.parts = parts
        self.edges = np.cumsum([0, *(part.shape[0] for part in parts)])
        self.shape = (int(self.edges[-1]), *parts[0].shape[1:])
        self.dtype = np.result_type(*(part.dtype for part in parts))

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, end, _ = rows.indices(self.shape[0])
        starts = zip(self.parts, self.edges[:-1].tolist(), strict=True)
        found = [part[max(first - at, 0) : max(end - at, 0)] for part, at in starts]
        return np.concatenate([rows.astype(self.dtype, copy=False) for rows in found if len(rows)])

    def where(self, row: int) -> str:
        """The place of a row in words."""
        number = int(np.searchsorted(self.edges, row, "right")) - 1
        return self.parts[number].where(row - int(self.edges[number]))


class ColumnBlockMatrix:
    """Stored arrays of the same rows, their columns beside each other."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts
        self.shape = (parts[0].shape[0], sum(part.shape[1] for part in parts))
        self.dtype = parts[0].dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.concatenate([part[rows] for part in self.parts], axis=1)
