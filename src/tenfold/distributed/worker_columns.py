"""Carried columns on the workers of a cluster; see `Rows.carry`.

The columns of a run stay in the process of the worker that folded it, under the key of their
handle, the number of the pass and the run. A later pass that meets the run in another process
finds nothing there and computes from the rows alone.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any, NamedTuple

from tenfold.engine.carried_columns import concatenate_columns, slice_columns
from tenfold.engine.chunk import Chunk

_lock = threading.Lock()
_store: dict[str, dict[int, dict[tuple[int, int], Any]]] = {}  # key -> pass -> run -> columns


class ColumnsOrder(NamedTuple):
    """What a worker must know of the columns of a pass."""

    key: str
    last: int  # pass whose columns are read, 0 for none
    version: int  # pass whose columns are written
    durable: bool  # the columns come with the task and go back with its result
    closed: tuple[str, ...]  # keys of columns that were closed


class WorkerColumns:
    """The columns of one run, as a task on a worker reads and writes them."""

    def __init__(self, order: ColumnsOrder, first: int, run: range, given: Any) -> None:
        self.order, self.first, self.run = order, first, (run.start, run.stop)
        self.columns = given if order.durable else self._pop_stored()
        self.parts: dict[int, Any] = {}  # by first row

    def _pop_stored(self) -> Any:
        with _lock:
            for key in self.order.closed:
                _store.pop(key, None)
            return _store.get(self.order.key, {}).get(self.order.last, {}).get(self.run)

    @property
    def has_columns(self) -> bool:
        """Whether there are columns to read."""
        return self.columns is not None

    def read(self, chunk: Chunk) -> Any:
        """The columns of a chunk, or None."""
        if self.columns is None:
            return None
        start = chunk.first - self.first
        return slice_columns(self.columns, start, start + chunk.rows)

    def write(self, chunk: Chunk, columns: Any) -> None:
        """Keep the new columns of a chunk."""
        self.parts[chunk.first] = columns

    def finish(self) -> Any:
        """Store the columns of the run; durable ones are returned."""
        columns = concatenate_columns([self.parts[first] for first in sorted(self.parts)])
        if self.order.durable:
            return columns
        with _lock:
            versions = _store.setdefault(self.order.key, {})
            for old in [v for v in versions if v < self.order.version - 1]:
                del versions[old]
            if columns is not None:
                versions.setdefault(self.order.version, {})[self.run] = columns
        return None


def drop_columns(key: str) -> None:
    """Free the columns of a handle in this process."""
    with _lock:
        _store.pop(key, None)


class RemoteColumns:
    """Where the workers of a client hold the columns of a handle."""

    def __init__(self, client: Any, key: str, runs: list[range]) -> None:
        self.client, self.key = client, key
        self.runs = runs  # the same in every pass: a run is found where it was folded
        self.workers: dict[tuple[int, int], str] = {}  # run -> address

    def close(self) -> None:
        """Free the columns on all workers."""
        with suppress(Exception):  # a cluster that is gone has no columns either
            self.client.run(drop_columns, self.key, on_error="ignore")
