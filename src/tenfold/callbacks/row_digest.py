"""Digests of all rows of a source, so that a resumed fit is one of the same data.

Rows are looked at in full, by a fold like any other: in all threads, on a cluster where they lie.
Files are not decoded for it; their bytes are read, or nothing at all if size and times are those
of the last digest.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from tenfold._compiled.checksums import checksum
from tenfold.callbacks.fingerprint import digest
from tenfold.engine.chunk import Chunk
from tenfold.engine.fold import fold
from tenfold.engine.merge_tree import MergeTree
from tenfold.engine.source import Source
from tenfold.engine.subset import SubsetSource
from tenfold.engine.task import FoldTask

_BLOCK_BYTES = 2**24  # of a file that are read at a time
_SETTLED_SECONDS = 2.0  # times of files are this coarse; younger ones may change unseen
_MAX_NAMED_FILES = 3  # files that an error message names


class ChunkDigests(NamedTuple):
    """Digests of chunks, each with its place, which merge in any order."""

    words: np.ndarray

    def merge(self, other: ChunkDigests) -> ChunkDigests:
        """The digest of both."""
        return ChunkDigests(self.words ^ other.words)


def digest_chunk(chunk: Chunk) -> ChunkDigests:
    """Digest of rows, target, weights and place of a chunk."""
    parts = (chunk.first, chunk.X, *map(_normalize_column, (chunk.y, chunk.w)))
    number = digest(parts).rpartition(":")[2]
    return ChunkDigests(np.frombuffer(bytes.fromhex(number), np.uint64))


class RowDigests:
    """Digests of sources and of files, each computed once.

    Parameters
    ----------
    files : dict, path -> [size, time, time, digest]
        What is known from a former run.
    """

    def __init__(self, files: dict[str, list] | None = None) -> None:
        self.stored_files = dict(files or {})
        self.files: dict[str, list] = {}
        self._sources: WeakKeyDictionary[Source, str] = WeakKeyDictionary()

    def of(self, source: Source, engine: Any = None) -> str:
        """Digest of all rows of a source, with target and weights."""
        if source not in self._sources:
            self._sources[source] = self._digest_source(source, engine)
        return self._sources[source]

    def _digest_source(self, source: Source, engine: Any) -> str:
        if isinstance(source, SubsetSource):
            chosen = source.chosen
            return digest((self.of(source.source, engine), chosen.cell, chosen.wanted))
        if source.origin is not None:  # a copy of it
            return self.of(source.origin, engine)
        if source.data_files and all(map(os.path.isfile, source.data_files)):
            head = next(source.chunks(range(1)), Chunk(None))._replace(first=0)
            names = [self.of_file(path) for path in source.data_files]
            return digest((names, source.data_columns, _words(head)))
        return digest(_words_of_rows(source, engine))

    def of_file(self, path: str) -> str:
        """Digest of the bytes of a file; it is not read again if size and times are the same."""
        if path not in self.files:
            stamp = _stamp_file(path)
            known = self.stored_files.get(path)
            if known is not None and stamp is not None and known[:3] == stamp:
                self.files[path] = known
            else:
                self.files[path] = [*(stamp or (0, 0, 0)), digest_file(path)]
        return self.files[path][3]

    def describe_changed_files(self) -> str:
        """Which files have other bytes than in the former run, in words; empty if none have."""
        stored = self.stored_files
        names = [p for p, now in self.files.items() if p in stored and stored[p][3] != now[3]]
        if not names:
            return ""
        more = len(names) - _MAX_NAMED_FILES
        shown = ", ".join(names[:_MAX_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
        return f"{shown}: not the file that it was"


def digest_file(path: str | os.PathLike[str]) -> str:
    """Digest of the bytes of a file."""
    block, parts = np.empty(_BLOCK_BYTES, np.uint8), []
    with Path(path).open("rb") as file:
        while size := file.readinto(block.data):
            parts.append(checksum(block[:size]))
    return digest(parts)


def _stamp_file(path: str) -> list[int] | None:
    """Size and times of a file; None if it is too young for its times to tell changes apart."""
    found = Path(path).stat()
    last = max(found.st_mtime_ns, found.st_ctime_ns)
    if time.time_ns() - last < _SETTLED_SECONDS * 1e9:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _words(chunk: Chunk) -> np.ndarray | None:
    return None if chunk.X is None else digest_chunk(chunk).words


def _words_of_rows(source: Source, engine: Any) -> np.ndarray | None:
    """The merged digests of all chunks."""
    if source.n_rows == 0:
        return None
    task, tree = FoldTask(source, digest_chunk, ()), MergeTree()
    fold(task, tree) if engine is None else engine.total(task, tree)
    return tree.close().words


def _normalize_column(column: Any) -> Any:
    """A target or weights, whatever number type an engine keeps them in."""
    if not isinstance(column, np.ndarray):
        return column
    if column.dtype.kind not in "biuf":
        return column.astype(str).tolist()
    values = column.astype(np.float64)
    if column.dtype.kind in "iu" and column.dtype.itemsize == values.itemsize:
        rest = column - values.astype(column.dtype)  # beyond 2**53
        return (values, rest) if rest.any() else values
    return values
