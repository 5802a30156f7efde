"""Replay of the recorded passes, loops and values of a checkpoint, and their continuation."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from tenfold.callbacks.checkpoint_file import CheckpointFile, CheckpointRecord
from tenfold.callbacks.fingerprint import (
    describe_difference,
    digest,
    fit_fingerprint,
    pass_fingerprint,
    rows_digest,
)
from tenfold.callbacks.serialization import Packed, named_classes, pack, unpack
from tenfold.engine import blas_threads
from tenfold.engine.merge_tree import MergeTree
from tenfold.engine.source import Source
from tenfold.engine.task import FoldTask

_MAX_LOOP_BYTES = (
    2**24
)  # totals that a loop may leave in the journal before its state replaces them


class CheckpointMismatchError(ValueError):
    """The checkpoint was made by another fit."""


class CheckpointReplay:
    """The events of a block: first those of the run before are met again, then new ones come.

    All methods but `done` belong to the thread that entered the block.
    """

    def __init__(self, journal: CheckpointFile) -> None:
        self.journal = journal
        self.owner = os.getpid(), threading.get_ident()
        self.at = 0  # number of the event that comes next
        self.current: tuple[dict[str, Any], MergeTree] | None = None  # the pass under way
        self.covered = 0  # chunks of it that the file holds
        self.fresh = False  # there is something that the file does not hold
        self.depth = self.loop_at = self.unmarked = 0
        self.loop_about: dict[str, Any] = {}
        self.rows_seen: WeakKeyDictionary[Source, str] = WeakKeyDictionary()
        self.classes: dict[Any, dict[str, type]] = {}

    def fit(self, title: str, settings: dict[str, Any]) -> None:
        """A fit begins."""
        about = fit_fingerprint(title, settings)
        if self._met("fit", about) is None:
            self._put(CheckpointRecord("fit", about, pack(None)))

    def begin(self, task: FoldTask, tree: MergeTree) -> Any:
        """A pass begins: return its total if it is known, else fill in the nodes that are."""
        about = pass_fingerprint(task, self._first_rows(task.source))
        record = self._met("pass", about)
        if record is not None and record.content is not None:
            return unpack(record.content, self._classes(task))
        if record is None and self.journal.pending is not None:
            self._fill(tree, task, about, self.journal.pending)
        self.current, self.covered = (about, tree), _covered_chunks(tree)
        return None

    def done(self) -> None:
        """A chunk was folded, in any thread: who comes when a save is due does it."""
        self.fresh = True
        if self.journal.is_due() and self.journal.saving.acquire(blocking=False):
            try:
                self._save()
            finally:
                self.journal.saving.release()

    def end(self, total: Any) -> None:
        """The pass has ended."""
        (about, _), self.current = self.current, None  # type: ignore[misc]
        self._put(CheckpointRecord("pass", about, pack(total)))
        if self.depth == 0 and self.journal.is_due():  # a loop saves when it tells its state
            self._save()

    def remember(self, make: Callable[[], Any]) -> Any:
        """What `make()` gave when the block ran first."""
        record = self._met("value", {})
        if record is not None and record.content is not None:
            return unpack(record.content, {})
        value = make()
        self._put(CheckpointRecord("value", {}, pack(value)))
        return value

    def resume_loop(self, state: Any) -> tuple[int, Any]:
        """A loop begins: return how many rounds are known, and the state after them."""
        self._settle()
        self.depth += 1
        if self.depth > 1:
            return 0, state
        self.loop_at, self.unmarked = self.at, 0
        self.loop_about = {"start of the loop": digest(state)}
        records = self.journal.records
        if self.at == len(records) or records[self.at].kind != "loop":
            return 0, state
        record = self._met("loop", self.loop_about)
        return unpack(record.content, named_classes(state))  # type: ignore[union-attr]

    def mark_loop(self, n: int, state: Callable[[], Any]) -> None:
        """Now and then, let the state of the outermost loop take the place of its passes."""
        due = self.journal.is_due()
        if self.depth != 1 or not (due or self.unmarked > _MAX_LOOP_BYTES):
            return
        self._settle()
        passes = any(r.kind == "pass" for r in self.journal.records[self.loop_at : self.at])
        marked = CheckpointRecord("loop", self.loop_about, pack((n, state())))
        self.journal.records[self.loop_at : self.at] = [marked]
        self.at, self.unmarked, self.fresh = self.loop_at + 1, 0, True
        if due and not passes:  # else the next pass saves: it proves that the state says it all
            self._save()

    def end_loop(self) -> None:
        """The loop that was begun last has ended."""
        self.depth -= 1
        if self.depth == 0 and self.fresh and self.journal.is_due():
            self._save()

    def keep(self, problem: BaseException) -> None:
        """The block is left by an error: write what is not written, and say how to go on."""
        if os.getpid() != self.owner[0]:
            return
        if self.fresh:
            with suppress(TypeError):  # what cannot be kept must not hide the error that came first
                self._save()
        if self.journal.path.exists() and not isinstance(problem, CheckpointMismatchError):
            problem.add_note(
                f"The checkpoint {self.journal.path} keeps what was done: run the same program "
                "again and it goes on from there, or delete the file to start anew."
            )

    def remove(self) -> None:
        """The block has ended well."""
        if os.getpid() == self.owner[0]:
            self.journal.remove()

    def _met(self, kind: str, about: dict[str, Any]) -> CheckpointRecord | None:
        """The record that comes next, if there is one; after a failed pass it stays next."""
        self._settle()
        if self.at == len(self.journal.records):
            return None
        record = self.journal.records[self.at]
        if (record.kind, record.about) != (kind, about):
            self._refuse(record, kind, about)
        self.at += record.content is not None
        return record

    def _settle(self) -> None:
        """Before any event: a pass that has not ended has failed, and somebody caught the error."""
        self._assert_owner()
        if self.current is not None:
            failed, self.current = CheckpointRecord("pass", self.current[0], None), None
            self._put(failed)

    def _put(self, record: CheckpointRecord) -> None:
        self.journal.records[self.at : self.at + 1] = [record]
        self.journal.pending = None
        self.at += 1
        self.unmarked += record.content.nbytes if record.content else 0
        self.fresh = True

    def _fill(
        self, tree: MergeTree, task: FoldTask, about: dict[str, Any], pending: CheckpointRecord
    ) -> None:
        if pending.about != about:
            self._refuse(pending, "pass", about)
        self.journal.pending = None
        kept = unpack(pending.content, self._classes(task))  # type: ignore[arg-type]
        tree.nodes = {(level, index): statistic for level, index, statistic in kept}

    def _save(self) -> None:
        """Write all; not with fewer chunks of this pass than before (some are just merging)."""
        pending = None
        if self.current is not None:
            about, tree = self.current
            with tree.lock:
                if _covered_chunks(tree) < self.covered:
                    return
                self.covered = _covered_chunks(tree)
                pending = CheckpointRecord("pass", about, _pack_nodes(tree))
        self.fresh = False
        self.journal.save(pending)

    def _first_rows(self, source: Source) -> str:
        if source not in self.rows_seen:
            self.rows_seen[source] = rows_digest(source)
        return self.rows_seen[source]

    def _classes(self, task: FoldTask) -> dict[str, type]:
        """The named tuples of a leaf's statistic, from its first chunk."""
        if task.f not in self.classes:
            with blas_threads.one_blas_thread():
                statistic = task.result(next(task.source.chunks(range(1))))
            columns = None if task.columns is None else task.columns.written()
            self.classes[task.f] = named_classes((statistic, columns))
        return self.classes[task.f]

    def _assert_owner(self) -> None:
        if (os.getpid(), threading.get_ident()) != self.owner:
            raise RuntimeError(
                f"the checkpoint {self.journal.path} is used by several threads or processes: run "
                "the fits one after the other, or give each its own checkpoint"
            )

    def _refuse(self, there: CheckpointRecord, kind: str, about: dict[str, Any]) -> NoReturn:
        what = describe_difference(there.about, about)
        if there.kind != kind:
            what = f"a {there.kind} came there, a {kind} comes here"
        raise CheckpointMismatchError(
            f"the checkpoint {self.journal.path} belongs to another fit ({what}): delete it or "
            "choose another path. (A fit without a fixed random_state is another fit every time.)"
        )


def _covered_chunks(tree: MergeTree) -> int:
    return sum(1 << level for level, _ in tree.nodes)


def _pack_nodes(tree: MergeTree) -> Packed:
    return pack([[level, index, statistic] for (level, index), statistic in tree.nodes.items()])
