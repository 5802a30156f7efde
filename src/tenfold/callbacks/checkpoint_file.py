"""The file of a checkpoint, rewritten atomically now and then."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tenfold.callbacks.fingerprint import describe_difference
from tenfold.callbacks.serialization import Packed, read_arrays, write_arrays
from tenfold.engine.atomic import remove_temporary_files
from tenfold.engine.environment import describe_environment

_FORMAT = "tenfold checkpoint 2"
_MIN_INTERVAL_PER_SAVE = 100  # saving takes at most this part of the time: 1 %


class CheckpointRecord(NamedTuple):
    """One event of a block."""

    kind: str  # "fit", "data", "pass", "loop" or "value"
    fingerprint: dict[str, Any]  # what must be the same when the block runs again
    content: Packed | None  # None: a pass that failed


class CheckpointFile:
    """Records in order, and the nodes of the interrupted pass, in memory and on disk."""

    def __init__(self, path: Path, every: float) -> None:
        self.path, self.every = _check_writable(path), every
        self.machine = describe_environment()
        self.records: list[CheckpointRecord] = []
        self.data_files: dict[str, list] = {}  # size, times and digest of files that were read
        self.pending: CheckpointRecord | None = None
        if path.exists():
            self._read()
        self.saving = threading.Lock()
        self.due = perf_counter() + every

    def _read(self) -> None:
        header, arrays = read_arrays(self.path)
        there = header.get("machine", {})
        if header.get("format") != _FORMAT or there.get("tenfold") != self.machine["tenfold"]:
            raise ValueError(
                f"{self.path} is not a checkpoint of tenfold {self.machine['tenfold']}: "
                "delete it or choose another path"
            )
        if there != self.machine:
            warnings.warn(
                f"the checkpoint {self.path} was written elsewhere "
                f"({describe_difference(there, self.machine)}): the last bits may differ",
                UserWarning,
                stacklevel=5,
            )
        self.data_files = header["files"]
        stock = iter(arrays)
        *self.records, self.pending = [_decode_record(entry, stock) for entry in header["records"]]
        if self.pending.kind == "none":
            self.pending = None

    def is_due(self) -> bool:
        """Whether it is time to save, and the last save was 100 times its own length ago."""
        return perf_counter() >= self.due

    def save(self, pending: CheckpointRecord | None) -> None:
        """Write all records and the nodes of a pass, or those that wait for their pass.

        A full disk does not stop the fit: it continues with a warning.
        """
        start = perf_counter()
        records = [*self.records, pending or self.pending or CheckpointRecord("none", {}, None)]
        arrays = [array for record in records if record.content for array in record.content.arrays]
        entries = [_encode_record(record) for record in records]
        header = {"format": _FORMAT, "machine": self.machine, "records": entries}
        header["files"] = self.data_files
        try:
            write_arrays(self.path, header, arrays)
        except OSError as problem:
            warnings.warn(f"the checkpoint was not saved: {problem}", RuntimeWarning, stacklevel=2)
        now = perf_counter()
        self.due = now + max(self.every, _MIN_INTERVAL_PER_SAVE * (now - start))

    def remove(self) -> None:
        """Delete the file, and temporary files of runs that were killed while saving."""
        remove_temporary_files(self.path)
        self.path.unlink(missing_ok=True)


def _check_writable(path: Path) -> Path:
    if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise ValueError(f"checkpoint({str(path)!r}): name a file in a folder that can be written")
    return path


def _encode_record(record: CheckpointRecord) -> list:
    if record.content is None:
        return [record.kind, record.fingerprint]
    return [record.kind, record.fingerprint, record.content.outline, len(record.content.arrays)]


def _decode_record(entry: list, stock: Iterator[np.ndarray]) -> CheckpointRecord:
    kind, fingerprint, *rest = entry
    content = Packed(rest[0], list(islice(stock, rest[1]))) if rest else None
    return CheckpointRecord(kind, fingerprint, content)
