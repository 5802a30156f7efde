"""Interfaces of the engine: what it asks of statistics, chunk functions, engines and observers.

Sources derive from `tenfold.engine.source.Source`. Properties of chunk functions (a form for whole
runs, a form for several states) are declared with `tenfold.stats.decorators`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from tenfold.engine.chunk import Chunk
    from tenfold.engine.fold import OutputArray
    from tenfold.engine.merge_tree import MergeTree
    from tenfold.engine.source import Source
    from tenfold.engine.task import FoldTask


class Statistic(Protocol):
    """A statistic that merges by a method of its own.

    Numbers, arrays, and (named) tuples, lists and dicts of them need none: they merge by `+`,
    entry by entry, in 64 bits. A (named) tuple with the class attribute `narrow = True` keeps the
    types of its entries.
    """

    def merge(self, other: Self, /) -> Self:
        """The statistic of both; the rows of `other` follow those of this one."""
        ...


class ChunkFunction(Protocol):
    """A pure function at module level that computes the statistic, or the outputs, of a chunk."""

    def __call__(self, chunk: Chunk, /, *state: Any) -> Any:
        """The statistic of the chunk, or an array with one entry per row."""
        ...


class Engine(Protocol):
    """Something that computes passes over rows in place of the threads of this process."""

    def total(
        self, task: FoldTask, tree: MergeTree, done: Callable[[Chunk], None] | None = None
    ) -> None:
        """Add the statistic of every chunk that the tree does not cover; call `done` after each."""
        ...

    def each(
        self, task: FoldTask, output: OutputArray, done: Callable[[Chunk], None] | None = None
    ) -> None:
        """Fill the outputs of all rows; call `done` after each chunk or run."""
        ...


class PassRecorder(Protocol):
    """Records the passes, loops and random values of fits, and replays them: a checkpoint."""

    owner: tuple[int, int]  # process and thread of the block
    depth: int  # loops that are open

    def fit(self, title: str, settings: dict[str, Any], /) -> None:
        """A fit begins."""

    def begin(self, task: FoldTask, tree: MergeTree, engine: Engine | None, /) -> Any:
        """A pass begins; return its total if it is recorded, else add the nodes that are."""

    def done(self) -> None:
        """A chunk was folded."""

    def end(self, total: Any, /) -> None:
        """The pass has ended."""

    def record_data(self, source: Source, engine: Engine | None, /) -> None:
        """A fit begins with these rows."""

    def record_value(self, make: Callable[[], Any], /) -> Any:
        """The value of `make()`, recorded."""

    def resume_loop(self, state: Any, /) -> tuple[int, Any]:
        """A loop begins: number of recorded iterations, and the state after them."""
        ...

    def record_loop_state(self, n: int, state: Callable[[], Any], /) -> None:
        """An iteration has ended."""

    def end_loop(self) -> None:
        """The loop that was begun last has ended."""


class PassDisplay(Protocol):
    """Shows how far a fit is: a progress bar."""

    objective: float | None

    def begin(self, task: FoldTask, tree: MergeTree, /) -> None:
        """A pass begins."""

    def done(self, chunk: Chunk, /) -> None:
        """A chunk was folded."""

    def end(self) -> None:
        """The pass has ended."""


@runtime_checkable
class RowModel(Protocol):
    """A model that is fitted on `Rows` and predicts from them."""

    _learns_from_rows: bool  # False: it is one of our models, but needs arrays

    def _map_rows(self, X: Any, f: Callable[..., np.ndarray], *state: Any) -> np.ndarray:
        """`f(chunk, *state)` of all rows of X."""
        ...
