"""Rows: the interface through which every model reads its data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.engine import blas_threads
from tenfold.engine.atomic import atomic_path
from tenfold.engine.carried_columns import CarriedColumns, ColumnPass, StatisticOnly
from tenfold.engine.chunk import Chunk, chunk_numbers
from tenfold.engine.context import FitContext
from tenfold.engine.fold import OutputArray, fold, map_rows
from tenfold.engine.hooks import active_monitor
from tenfold.engine.merge_tree import MergeTree, merge, upcast
from tenfold.engine.shuffle import ShuffledBlock, shuffle_blocks
from tenfold.engine.source import Source, concatenate_chunks
from tenfold.engine.task import FoldTask, make_contiguous

SHUFFLE_BYTES = 2**26  # rows that `batches` holds and mixes at once
PASSES_BEFORE_SPOOL = 4  # a stream that is read more often is copied to a raw file


class Rows:
    """Data that fold. The place where they lie cannot be seen from here.

    Parameters
    ----------
    source : Source
        Where the rows lie.
    engine : object with `total` and `each`, optional
        Who computes: threads of this process (None), or a cluster.
    classes : array, optional
        Sorted labels; `chunk.y` are then class indices.
    allow_nan : bool
        Whether NaN may stand in X (as "missing").
    """

    def __init__(
        self,
        source: Source,
        *,
        engine: Any = None,
        classes: np.ndarray | None = None,
        allow_nan: bool = False,
    ) -> None:
        self.source, self.engine = source, engine
        self.classes, self.allow_nan = classes, allow_nan
        self.passes = 0
        self.context = FitContext()
        self.derived: dict[str, Any] = {}  # what several fits to the same rows share
        self.is_spooled = False  # whether the source was replaced by a temporary copy of it

    n_rows = property(lambda self: self.source.n_rows)
    n_features = property(lambda self: self.source.n_features)
    dtype = property(lambda self: self.source.dtype)
    names = property(lambda self: self.source.names)
    sparse = property(lambda self: self.source.sparse)

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Shape of one row's target: () for a number or label, (q,) for several."""
        return self.take(np.zeros(1, np.int64)).y.shape[1:]

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        where = type(self.source).__name__
        return f"Rows({self.n_rows} x {self.n_features} {self.dtype}, {where})"

    def with_classes(self, classes: np.ndarray) -> Rows:
        """The same rows with labels as indices into `classes`."""
        return Rows(self.source, engine=self.engine, classes=classes, allow_nan=self.allow_nan)

    def label_encoding(self) -> tuple[np.ndarray, Rows] | None:
        """Classes and rows with class indices, where both are known already; else None."""
        return None

    def with_chunk_rows(self, rows: int) -> Rows:
        """The same rows in chunks of at most so many; see `Source.with_chunk_rows`."""
        if self.source.grid <= rows:
            return self
        source = self.source.with_chunk_rows(rows)
        return Rows(source, engine=self.engine, classes=self.classes, allow_nan=self.allow_nan)

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        """Merge the statistics `f(chunk, *state)` of all chunks, in one fixed order.

        `f` is a pure function at module level; it returns a new number, array, or (named) tuple
        or dict of them. Float32 sums come back as float64.
        """
        return self._fold(self._task(f, state))[0]

    def carry(
        self,
        f: Callable[..., Any],
        columns: CarriedColumns | None,
        *state: Any,
        durable: bool = False,
    ) -> tuple[Any, CarriedColumns]:
        """A pass that merges statistics and also leaves columns of values per row for the next.

        Parameters
        ----------
        f : callable
            ``f(chunk, columns, *state) -> (statistic, columns)``, a pure function at module level.
            The columns that it is given are None or a (named)
            tuple of read-only arrays with one entry per row of the chunk: what it returned for
            these rows in the last pass. It returns new arrays, or None for no columns.
        columns : CarriedColumns or None
            What the last pass returned; None in the first.
        *state : Any
            Further arguments of `f`. A `Hint` among them may not change any result.
        durable : bool
            Whether the columns are results. By default they are a memo: `f` must give the same
            statistic, bit for bit, with columns and with None, and the engine may drop columns at
            any time (a lost worker, a resumed fit, rows of a cross-validation fold). Durable
            columns are never dropped, come to this process, and are part of checkpoints.

        Returns
        -------
        total : statistic
            The merged statistics, as `total` returns them.
        columns : CarriedColumns
            To be given to the next pass. `columns.array(i)` is a durable column as one array.

        Examples
        --------
        >>> import numpy as np, tenfold
        >>> def largest(chunk, columns, x):  # sums the distances to x, remembers them
        ...     distance = np.abs(chunk.X[:, 0] - x)
        ...     return distance.sum(), (distance,)
        >>> rows = tenfold.open(np.array([[1.0], [2.0], [4.0]]))
        >>> total, columns = rows.carry(largest, None, 2.0, durable=True)
        >>> float(total), columns.array(0).tolist()
        (3.0, [1.0, 0.0, 2.0])
        """
        if type(self).total is not Rows.total and not durable:
            return self.total(StatisticOnly(f), *state), CarriedColumns.empty(self.n_rows)
        last = columns or CarriedColumns.empty(self.n_rows, durable=durable)
        task = self._task(f, state)._replace(columns=ColumnPass(last))
        total, complete = self._fold(task, durable=durable)
        return total, task.columns.finish(complete=complete)

    def _fold(self, task: FoldTask, *, durable: bool = False) -> tuple[Any, bool]:
        """The total of a task, and whether its columns are those of all rows."""
        monitor = active_monitor()
        if monitor is None and self.engine is None and task.chunks == 1:
            return self._only_chunk(task), True
        tree = MergeTree()
        if monitor is not None and (known := monitor.begin(task, tree, self.engine)) is not None:
            return task.columns.restore(known) if durable else (known, False)
        resumed = bool(tree.nodes)
        if durable and resumed:  # the nodes of an unfinished pass come without its columns
            tree = MergeTree()
        done = None if monitor is None else monitor.bar_done if durable else monitor.done
        if self.engine is None:
            fold(task.without_rows() if task.skips_rows else task, tree, done)
        else:
            self.engine.total(task, tree, done)
        self._count_pass()
        total = tree.close()
        if monitor is not None:
            monitor.end((total, task.columns.written()) if durable else total)
        return total, durable or not resumed

    def each(
        self, f: Callable[..., np.ndarray], *state: Any, into: str | Path | np.ndarray | None = None
    ) -> Any:
        """One output per row, in order: `f(chunk, *state)` of all chunks below each other.

        With `into`, the outputs are written to that array, or to that `.npy` file as they come, and
        the array that is returned maps the file; nothing is left there if the pass fails.
        """
        task = self._task(f, state)
        if isinstance(into, np.ndarray):
            self._fill(task, OutputArray(self.n_rows, into))
            return into
        if into is not None:
            return self._each_to_file(task, Path(into))
        if task.chunks == 0 or (self.engine is None and task.chunks == 1):
            return self._only_chunk(task, wide=False)
        output = OutputArray(self.n_rows)
        self._fill(task, output)
        return output.result()

    def batches(self, size: int, seed: int) -> Iterator[Chunk]:
        """Every row once, in random batches of `size` (the last may be smaller).

        Chunks are read in random order; the rows of as many chunks as fit 64 MiB are mixed. The
        batches depend on the seed and the grid alone, so every engine gives the same ones.
        """
        self.spool()
        rng = np.random.default_rng(seed)
        numbers = rng.permutation(chunk_numbers(self.n_rows, self.source.grid))
        held = max(SHUFFLE_BYTES // max(self.source.row_bytes * self.source.grid, 1), 1)
        left: list[Chunk] = []
        for block in range(0, len(numbers), held):
            parts = [self._chunk(number) for number in sorted(numbers[block : block + held])]
            pool = concatenate_chunks(left + parts)
            pool = _index_chunk(pool, rng.permutation(pool.rows))
            last = block + held >= len(numbers)
            whole = pool.rows if last else pool.rows - pool.rows % size
            for start in range(0, whole, size):
                yield _index_chunk(pool, slice(start, min(start + size, whole)))
            left = [_index_chunk(pool, slice(whole, None))] if whole < pool.rows else []

    def blocks(self, seed: int | None = None) -> Iterator[ShuffledBlock]:
        """Every row once, for methods that learn row by row; see `tenfold.engine.shuffle`.

        The order depends on the seed alone; without one it is the given order.
        """
        self.spool()
        return shuffle_blocks(self, seed)

    def sample(self, k: int, seed: int) -> Chunk:
        """Draw `k` different rows by their global number, in ascending order."""
        if k >= self.n_rows:
            return self.gather()
        rows = np.random.default_rng(seed).choice(self.n_rows, k, replace=False, shuffle=False)
        return self.take(np.sort(rows))

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers, which must ascend, as one chunk in memory."""
        return self.prepare(self.source.take(rows), rows)

    def prepare(self, chunk: Chunk, rows: np.ndarray | None = None) -> Chunk:
        """A chunk as chunk functions get it: checked, labels as class indices."""
        return self._task(_identity, ()).prepare(chunk, rows)

    def gather(self) -> Chunk:
        """All rows in memory (what is small enough for it: the caller knows)."""
        return self.take(np.arange(self.n_rows))

    def spool(self) -> None:
        """Copy a stream (Parquet, an encoded table) to a temporary binary file and read that.

        `source` is then the copy, and `is_spooled` is True. The fourth pass over a stream does
        this by itself, if the disk has room: decoding takes longer than reading numbers.
        """
        if self.source.streams and self.engine is None:
            from tenfold.engine.spool import spool_source

            self.source, self.is_spooled = spool_source(self.source), True

    def _task(self, f: Callable[..., Any], state: tuple) -> FoldTask:
        check = not (self.source.finite or self.allow_nan)
        return FoldTask(self.source, f, make_contiguous(state), self.classes, check)

    def _only_chunk(self, task: FoldTask, *, wide: bool = True) -> Any:
        with blas_threads.one_blas_thread():
            result = task.result(next(self.source.chunks(range(1))))
        self._count_pass()
        return upcast(result) if wide else result

    def _count_pass(self) -> None:
        self.source.finite |= not self.allow_nan
        self.passes += 1
        if self.passes == PASSES_BEFORE_SPOOL and self.source.streams:
            from tenfold.engine.spool import has_room_for

            if has_room_for(self.source):
                self.spool()

    def _chunk(self, number: int) -> Chunk:
        task = self._task(_identity, ())
        return task.prepare(next(self.source.chunks(range(number, number + 1))))

    def _fill(self, task: FoldTask, output: OutputArray) -> None:
        monitor = active_monitor()
        done = None if monitor is None else monitor.begin_outputs(task)
        if self.engine is not None:
            self.engine.each(task, output, done)
        else:
            map_rows(task, output, done)
        self._count_pass()

    def _each_to_file(self, task: FoldTask, path: Path) -> np.ndarray:
        with blas_threads.one_blas_thread():
            head = task.result(next(self.source.chunks(range(1))))
        shape = (self.n_rows, *head.shape[1:])
        with atomic_path(path) as temporary:
            mapped = np.lib.format.open_memmap(temporary, "w+", head.dtype, shape)
            self._fill(task, OutputArray(self.n_rows, mapped))
            mapped.flush()
        return np.load(path, mmap_mode="r")


def _identity(chunk: Chunk) -> Chunk:
    return chunk


def _index_chunk(chunk: Chunk, rows: Any) -> Chunk:
    X, y, w = (None if a is None else a[rows] for a in chunk[:3])
    return Chunk(X, y, w)


__all__ = ["Rows", "merge"]
