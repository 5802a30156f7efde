"""Who watches a fit: the progress bar, and the checkpoint that makes it resumable."""

from __future__ import annotations

import contextvars
from typing import Any, Protocol

from tenfold.rows.chunk import Chunk
from tenfold.rows.fold import Task
from tenfold.rows.tree import Tree


class Watch(Protocol):
    """Told of every pass of a fit."""

    def begin(self, task: Task, tree: Tree) -> Any:
        """A pass begins; a checkpoint may fill the tree, or return the total it knows."""

    def done(self, chunk: Chunk) -> None:
        """A chunk was folded."""

    def end(self, total: Any) -> None:
        """The pass has ended with this total."""

    def note(self, objective: float) -> None:
        """A solver has reached this objective."""


_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("watch", default=None)


def watching() -> Watch | None:
    """The watch over the fit that runs here, if any."""
    return _watch.get()
