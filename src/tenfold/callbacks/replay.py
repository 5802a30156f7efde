"""Replay of the recorded passes, loops and values of a checkpoint, and their continuation."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from tenfold.callbacks.checkpoint_file import CheckpointFile, CheckpointRecord
from tenfold.callbacks.fingerprint import (
    data_fingerprint,
    describe_difference,
    digest,
    fit_fingerprint,
    pass_fingerprint,
)
from tenfold.callbacks.row_digest import RowDigests
from tenfold.callbacks.serialization import Packed, UnknownClassError, named_classes, pack, unpack
from tenfold.engine import blas_threads
from tenfold.engine.merge_tree import MergeTree
from tenfold.engine.source import Source
from tenfold.engine.task import FoldTask

_MAX_LOOP_BYTES = 2**24  # of totals that a loop may record before its state replaces them


class CheckpointMismatchError(ValueError):
    """The checkpoint belongs to another fit."""


class CheckpointReplay:
    """Replays the events of a checkpoint block in their order, then records new ones.

    All methods but `done` belong to the thread that entered the block.
    """

    def __init__(self, file: CheckpointFile) -> None:
        self.file = file
        self.owner = os.getpid(), threading.get_ident()
        self.position = 0  # number of the event that comes next
        self.current: tuple[dict[str, Any], MergeTree] | None = None  # the pass under way
        self.covered = 0  # chunks of it that the file holds
        self.has_unsaved = False  # there is something that the file does not hold
        self.depth = self.loop_position = self.loop_bytes = 0
        self.loop_fingerprint: dict[str, Any] = {}
        self.digests = RowDigests(file.data_files)
        file.data_files = self.digests.files
        self.classes: dict[str, type] = {}

    def fit(self, title: str, settings: dict[str, Any]) -> None:
        """A fit begins."""
        fingerprint = fit_fingerprint(title, settings)
        if self._replay_next("fit", fingerprint) is None:
            self._append(CheckpointRecord("fit", fingerprint, pack(None)))

    def record_data(self, source: Source, engine: Any) -> None:
        """A fit has its rows: they must be those that were recorded."""
        self._check_owner()
        fingerprint = data_fingerprint(source, self.digests.of(source, engine))
        if self._replay_next("data", fingerprint) is None:
            self._append(CheckpointRecord("data", fingerprint, pack(None)))

    def begin(self, task: FoldTask, tree: MergeTree, engine: Any = None) -> Any:
        """A pass begins: return its total if it is recorded, else add the recorded nodes."""
        self._check_owner()
        fingerprint = pass_fingerprint(task, self.digests.of(task.source, engine))
        record = self._replay_next("pass", fingerprint)
        if record is not None and record.content is not None:
            return self._unpack(record.content, task)
        if record is None and self.file.pending is not None:
            self._restore_nodes(tree, task, fingerprint, self.file.pending)
        self.current, self.covered = (fingerprint, tree), _covered_chunks(tree)
        return None

    def done(self) -> None:
        """A chunk was folded, in any thread; the first thread after a save is due does it."""
        self.has_unsaved = True
        if self.file.is_due() and self.file.saving.acquire(blocking=False):
            try:
                self._save()
            finally:
                self.file.saving.release()

    def end(self, total: Any) -> None:
        """The pass has ended."""
        (fingerprint, _), self.current = self.current, None  # type: ignore[misc]
        self._append(CheckpointRecord("pass", fingerprint, pack(total)))
        if self.depth == 0 and self.file.is_due():  # a loop saves with its state
            self._save()

    def record_value(self, make: Callable[[], Any]) -> Any:
        """The value of `make()`, or the one that was recorded for it."""
        record = self._replay_next("value", {})
        if record is not None and record.content is not None:
            return unpack(record.content, {})
        value = make()
        self._append(CheckpointRecord("value", {}, pack(value)))
        return value

    def resume_loop(self, state: Any) -> tuple[int, Any]:
        """A loop begins: return number of recorded iterations, and the state after them."""
        self._record_failed_pass()
        self.depth += 1
        if self.depth > 1:
            return 0, state
        self.loop_position, self.loop_bytes = self.position, 0
        self.loop_fingerprint = {"start of the loop": digest(state)}
        records = self.file.records
        if self.position == len(records) or records[self.position].kind != "loop":
            return 0, state
        record = self._replay_next("loop", self.loop_fingerprint)
        return unpack(record.content, named_classes(state))  # type: ignore[union-attr]

    def record_loop_state(self, n: int, state: Callable[[], Any]) -> None:
        """Now and then, replace the passes of the outermost loop by its state."""
        due = self.file.is_due()
        if self.depth != 1 or not (due or self.loop_bytes > _MAX_LOOP_BYTES):
            return
        self._record_failed_pass()
        passes = any(
            r.kind == "pass" for r in self.file.records[self.loop_position : self.position]
        )
        marked = CheckpointRecord("loop", self.loop_fingerprint, pack((n, state())))
        self.file.records[self.loop_position : self.position] = [marked]
        self.position, self.loop_bytes, self.has_unsaved = self.loop_position + 1, 0, True
        if due and not passes:  # else the next pass saves: then the state is known to be complete
            self._save()

    def end_loop(self) -> None:
        """The loop that was begun last has ended."""
        self.depth -= 1
        if self.depth == 0 and self.has_unsaved and self.file.is_due():
            self._save()

    def save_on_error(self, problem: BaseException) -> None:
        """The block is left by an error: save what is not saved, and add a note how to resume."""
        if os.getpid() != self.owner[0]:
            return
        if self.has_unsaved:
            with suppress(TypeError):  # an unsupported value must not hide the first error
                self._save()
        if self.file.path.exists() and not isinstance(problem, CheckpointMismatchError):
            problem.add_note(
                f"The checkpoint {self.file.path} keeps what was done: run the same program "
                "again and it goes on from there, or delete the file to start anew."
            )

    def remove(self) -> None:
        """The block has ended without an error."""
        if os.getpid() == self.owner[0]:
            self.file.remove()

    def _replay_next(self, kind: str, fingerprint: dict[str, Any]) -> CheckpointRecord | None:
        """The next record, if there is one; that of a failed pass stays the next."""
        self._record_failed_pass()
        if self.position == len(self.file.records):
            return None
        record = self.file.records[self.position]
        if (record.kind, record.fingerprint) != (kind, fingerprint):
            self._refuse(record, kind, fingerprint)
        self.position += record.content is not None
        return record

    def _record_failed_pass(self) -> None:
        """Before any event: a pass that has not ended has failed, and the error was caught."""
        self._check_owner()
        if self.current is not None:
            failed, self.current = CheckpointRecord("pass", self.current[0], None), None
            self._append(failed)

    def _append(self, record: CheckpointRecord) -> None:
        self.file.records[self.position : self.position + 1] = [record]
        self.file.pending = None
        self.position += 1
        self.loop_bytes += record.content.nbytes if record.content else 0
        self.has_unsaved = True

    def _restore_nodes(
        self,
        tree: MergeTree,
        task: FoldTask,
        fingerprint: dict[str, Any],
        pending: CheckpointRecord,
    ) -> None:
        if pending.fingerprint != fingerprint:
            self._refuse(pending, "pass", fingerprint)
        self.file.pending = None
        nodes = self._unpack(pending.content, task)  # type: ignore[arg-type]
        tree.nodes = {(level, index): statistic for level, index, statistic in nodes}

    def _save(self) -> None:
        """Save all, unless nodes that are being merged would make the pass shorter than before."""
        pending = None
        if self.current is not None:
            fingerprint, tree = self.current
            with tree.lock:
                if _covered_chunks(tree) < self.covered:
                    return
                self.covered = _covered_chunks(tree)
                pending = CheckpointRecord("pass", fingerprint, _pack_nodes(tree))
        self.has_unsaved = False
        self.file.save(pending)

    def _unpack(self, content: Packed, task: FoldTask) -> Any:
        """A recorded statistic; named tuples that are not known yet are those of the first chunk.

        One chunk function may have statistics of many kinds: lanes ask for different ones.
        """
        with suppress(UnknownClassError):
            return unpack(content, self.classes)
        with blas_threads.one_blas_thread():
            statistic = task.result(next(task.source.chunks(range(1))))
        columns = None if task.columns is None else task.columns.written()
        self.classes |= named_classes((statistic, columns))
        return unpack(content, self.classes)

    def _check_owner(self) -> None:
        if (os.getpid(), threading.get_ident()) != self.owner:
            raise RuntimeError(
                f"the checkpoint {self.file.path} is used by several threads or processes: run "
                "the fits one after the other, or give each its own checkpoint"
            )

    def _refuse(self, there: CheckpointRecord, kind: str, fingerprint: dict[str, Any]) -> NoReturn:
        what = describe_difference(there.fingerprint, fingerprint)
        if there.kind != kind:
            what = f"a {there.kind} came there, a {kind} comes here"
        what = self.digests.describe_changed_files() or what
        raise CheckpointMismatchError(
            f"the checkpoint {self.file.path} belongs to another fit ({what}): delete it or "
            "choose another path. (A fit without a fixed random_state is another fit every time.)"
        )


def _covered_chunks(tree: MergeTree) -> int:
    return sum(1 << level for level, _ in tree.nodes)


def _pack_nodes(tree: MergeTree) -> Packed:
    return pack([[level, index, statistic] for (level, index), statistic in tree.nodes.items()])
