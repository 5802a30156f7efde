"""Blocks of chunks in the memory of workers, and arrays realigned after transport."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.arrays import slice_csr
from tenfold.engine.chunk import CHUNK_BYTES, Chunk, chunk_numbers
from tenfold.engine.merge_tree import map_statistic
from tenfold.engine.source import Source, concatenate_chunks, select_rows


def realign(values: Any) -> Any:
    """The same number, array, tuple or dict; arrays begin where their numbers may lie."""
    return map_statistic(_realign_array, values)


def _realign_array(array: Any) -> Any:
    return array.copy() if isinstance(array, np.ndarray) and not array.flags.aligned else array


def realign_chunk(chunk: Chunk) -> Chunk:
    """The same chunk; a copy of 1 MiB is as good as free, because it stays in the cache."""
    X = chunk.X
    for name in ("data", "values"):  # of a CSR array, of sequences
        inner = getattr(X, name, None)
        if not isinstance(X, np.ndarray) and isinstance(inner, np.ndarray):
            setattr(X, name, _realign_array(inner))
    return Chunk(_realign_array(X), _realign_array(chunk.y), _realign_array(chunk.w), chunk.first)


BLOCK_BYTES = 2**25  # what a worker is handed, sends or loses at once
_LOST_STATES = ("cancelled", "error", "lost")


class BlockLayout(NamedTuple):
    """A source without its rows, and how many chunks make a block."""

    n_rows: int
    n_features: int
    dtype: np.dtype
    grid: int
    row_bytes: int
    names: list[str] | None
    sparse: bool
    has_target: bool
    has_weight: bool
    size: int = 1  # a power of two, so that a block is one node of the tree

    @classmethod
    def of(cls, source: Source) -> BlockLayout:
        """The layout of a source, in blocks of one chunk."""
        return cls(*(getattr(source, name) for name in cls._fields[:-1]))


def choose_block_size(layout: BlockLayout, threads: int) -> BlockLayout:
    """Make the blocks so large that each thread of a cluster gets about four."""
    chunk = CHUNK_BYTES if layout.sparse else layout.row_bytes * layout.grid
    fair = len(chunk_numbers(layout.n_rows, layout.grid)) / (4 * threads)
    return layout._replace(size=_floor_power_of_two(min(fair, BLOCK_BYTES / max(chunk, 1))))


def _floor_power_of_two(most: float) -> int:
    """The largest power of two that is not above `most`, at least 1."""
    return 1 << max(int(most).bit_length() - 1, 0)


def plan_worker_runs(source: Source, pieces: int, size: int) -> list[range]:
    """Cut all chunks into about so many runs, at places that keep the nodes of the tree few.

    A stream is cut where its own runs begin; blocks of `size` chunks stay whole.
    """
    n = len(chunk_numbers(source.n_rows, source.grid))
    if source.shippable and source.streams:
        edges = np.array([run.start for run in source.runs()] + [n])
    else:
        unit = max(_floor_power_of_two(n / pieces / 4), size)
        edges = np.append(np.arange(0, n, unit), n)
    middles = (edges[:-1] + edges[1:]) / 2
    nearest = edges[np.searchsorted(middles, np.arange(1, pieces) * n / pieces)]
    bounds = np.unique([0, *nearest, n]).tolist()
    return [range(low, high) for low, high in pairwise(bounds)]


class BlockSource(Source):
    """Rows in blocks of `size` chunks. With `held` blocks it is what a worker sees of a source."""

    def __init__(self, layout: BlockLayout) -> None:
        self.layout, self.size = layout, layout.size
        self.n_rows, self.n_features = layout.n_rows, layout.n_features
        self.dtype, self.names, self.sparse = layout.dtype, layout.names, layout.sparse
        self.has_target, self.has_weight = layout.has_target, layout.has_weight
        self.held: dict[int, Chunk] = {}

    @property
    def grid(self) -> int:
        """Rows per chunk."""
        return self._limit_grid(self.layout.grid)

    def block(self, number: int) -> Chunk:
        """The block with this number, in memory."""
        return self.held[number]

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Cut the chunks of a run from their blocks; on a finer grid a chunk may lie in two."""
        last: tuple[int, Chunk] | None = None  # the block that was read last
        for number in run:
            first, end = self.span(number)
            parts = []
            for at in self.blocks_of(first, end):
                last = last if last is not None and last[0] == at else (at, self.block(at))
                parts.append(slice_block(last[1], *self.overlap(at, first, end)))
            yield concatenate_chunks(parts)._replace(first=first)

    def blocks_of(self, first: int, end: int) -> range:
        """Numbers of the blocks in which rows first:end lie."""
        return range(first // self.block_rows, -(-end // self.block_rows))

    def overlap(self, block: int, first: int, end: int) -> tuple[int, int]:
        """Those of the rows first:end that lie in a block."""
        start = block * self.block_rows
        return max(first, start), min(end, start + self.block_rows)

    @property
    def block_rows(self) -> int:
        """Rows per block."""
        return self.layout.grid * self.size

    @property
    def numbers(self) -> range:
        """Numbers of the blocks."""
        return chunk_numbers(self.n_rows, self.block_rows)


def slice_block(block: Chunk, first: int, end: int) -> Chunk:
    """Rows first:end, counted over the whole data set, of a block that holds them."""
    low, high = first - block.first, end - block.first
    if hasattr(block.X, "indptr"):
        X = slice_csr(block.X, low, high, block.X.dtype)
    else:
        X = block.X[low:high]
    return Chunk(X, *(None if a is None else a[low:high] for a in block[1:3]), first=first)


class RemoteBlocks(NamedTuple):
    """Blocks that workers hold: `source` is what a worker sees of them."""

    source: BlockSource
    futures: list[Any]

    def of(self, run: range, source: Source) -> list[Any]:
        """Futures of the blocks in which a run of chunks of a source lies."""
        first, end = run.start * source.grid, min(run.stop * source.grid, source.n_rows)
        numbers = self.source.blocks_of(first, end)
        return self.futures[numbers.start : numbers.stop]

    def renew(self, make: Callable[[list[int]], list[Any]]) -> None:
        """Compute blocks that were never computed, or were lost with a worker."""
        lost = [i for i in self.source.numbers if _is_lost(self.futures[i])]
        for i in lost:
            self.futures[i] = None  # let go of the old one first: the new one may have its key
        for i, future in zip(lost, make(lost), strict=True):
            self.futures[i] = future


def make_empty_blocks(layout: BlockLayout) -> RemoteBlocks:
    """Blocks that no worker holds yet."""
    source = BlockSource(layout)
    return RemoteBlocks(source, [None] * len(source.numbers))


def _is_lost(future: Any) -> bool:
    return future is None or future.status in _LOST_STATES


def assign_workers(client: Any, count: int) -> list[str | None]:
    """A worker for each of so many blocks: neighboring blocks on one worker, as runs need them."""
    threads = {} if client is None else client.nthreads()
    slots = [address for address, n in threads.items() for _ in range(n)]
    return [slots[i * len(slots) // count] if slots else None for i in range(count)]


def count_worker_threads(client: Any) -> int:
    """Threads of all workers."""
    return max(sum(client.nthreads().values()), 1)


def scatter_blocks(source: Source, held: BlockSource, client: Any, numbers: list[int]) -> list[Any]:
    """Read some blocks of a source here and spread them over the workers."""
    home = assign_workers(client, len(held.numbers))
    return [_place(client, block, home[i]) for i, block in _read_blocks(source, held, numbers)]


def _place(client: Any, block: Chunk, worker: str | None) -> Any:
    """A block on a worker, or on any other if that one has died since workers were listed."""
    try:
        return client.scatter([block], workers=worker and [worker], hash=False)[0]
    except (KeyError, OSError):
        return client.scatter([block], hash=False)[0]


def _read_blocks(
    source: Source, held: BlockSource, numbers: list[int]
) -> Iterator[tuple[int, Chunk]]:
    """Some blocks of a source, read in the order of its runs: a stream is read once."""
    wanted, size = set(numbers), held.size
    runs = (run for run in source.runs() if wanted.intersection(n // size for n in run))
    chunks = (chunk for run in runs for chunk in source.chunks(run))
    for number, members in groupby(chunks, lambda chunk: chunk.first // held.block_rows):
        if number in wanted:
            block = concatenate_chunks(list(members))
            yield number, block._replace(first=number * held.block_rows)


class RemoteBlockSource(BlockSource):
    """Rows whose blocks a cluster holds: here only their futures are known."""

    def __init__(
        self, layout: BlockLayout, client: Any, make: Callable[[list[int]], list[Any]]
    ) -> None:
        super().__init__(layout)
        self.client, self.make = client, make
        self.blocks = make_empty_blocks(layout)
        self.blocks.renew(make)

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Fetch the chunks of a run."""
        for number in run:
            first, end = self.span(number)
            futures = [
                self.client.submit(
                    slice_block,
                    self.blocks.futures[at],
                    *self.overlap(at, first, end),
                    pure=False,
                )
                for at in self.blocks_of(first, end)
            ]
            parts = [realign_chunk(future.result()) for future in futures]
            yield concatenate_chunks(parts)._replace(first=first)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers, which must ascend, picked where they lie."""
        home = rows // self.block_rows
        wanted = np.split(rows, np.flatnonzero(np.diff(home)) + 1)
        blocks = [self.blocks.futures[part[0] // self.block_rows] for part in wanted]
        picked = self.client.gather(self.client.map(select_rows, blocks, wanted, pure=False))
        return concatenate_chunks([realign_chunk(chunk) for chunk in picked])
