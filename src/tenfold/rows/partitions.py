"""Dask arrays, dataframes and delayed partitions, cut to the grid once.

Partitions end where somebody's file ended; chunks end on the grid. So each partition is cut into
pieces, and the pieces are joined to blocks of whole chunks. The workers keep the blocks, and Dask
keeps the recipe: blocks that die with a worker are made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tenfold.rows.blocks import Blocked, Layout, Partitioned, homes, laid_out, n_threads_of
from tenfold.rows.chunk import Chunk, spans
from tenfold.rows.cluster import Cluster, current_client, engine
from tenfold.rows.partition import Kind, Wish, as_chunk, common, kind_of
from tenfold.rows.rows import Rows
from tenfold.rows.source import joined
from tenfold.rows.threads import n_threads


def is_dask(where: Any) -> bool:
    """Whether this is a Dask array or dataframe, or a list of delayed partitions."""
    some = where[0] if isinstance(where, list | tuple) and where else where
    return hasattr(some, "__dask_graph__")


def from_dask(where: Any, target: Any = None, weight: Any = None, columns: Any = None) -> Rows:
    """Open a Dask array, a Dask dataframe or a list of delayed partitions.

    Parameters
    ----------
    where : dask.array.Array, dask.dataframe.DataFrame, or list of Delayed
        The rows. Delayed partitions are arrays, CSR matrices or tables.
    target, weight : str, array, Dask array or series, list of Delayed, optional
        Names of columns of a table, or one entry per row.
    columns : list, optional
        Columns of X: names of a table, numbers of an array; all others by default.

    Returns
    -------
    Rows
        Computed by the client of `tenfold.on`, else by Dask's current client, else, block by
        block, by the threads of this process.
    """
    client = current_client()
    wish = Wish(_name(target), _name(weight), columns)
    parts, kinds = _partitions(where, wish)
    held, kinds = (None, kinds) if kinds else _looked_at(parts, wish, client)
    shape = common(kinds, has_target=target is not None, has_weight=weight is not None)
    layout = laid_out(shape, n_threads() if client is None else n_threads_of(client))
    lengths = [kind.n_rows for kind in kinds]
    sides = _aligned(target, lengths, "target"), _aligned(weight, lengths, "weight")
    chunks = _chunks(parts, sides, wish, layout)
    if client is None:
        return Rows(Lazy(layout, _cut(chunks, lengths, layout)))
    blocks = _cut(chunks, lengths, layout, client)
    source = Partitioned(layout, client, partial(_persisted, client, blocks))
    del held  # the partitions: from here on the scheduler needs them for the blocks alone
    return Rows(source, engine=engine() or Cluster(client))


def _name(column: Any) -> str | None:
    return column if isinstance(column, str) else None


class Lazy(Blocked):
    """Blocks that are computed when they are read, in the thread that reads them."""

    def __init__(self, layout: Layout, blocks: list[Any]) -> None:
        super().__init__(layout)
        self.blocks = blocks

    def block(self, number: int) -> Chunk:
        """Compute one block."""
        return self.blocks[number].compute(scheduler="synchronous")

    def runs(self) -> Iterator[range]:
        """The chunks of each block."""
        chunks = spans(self.n_rows, self.grid)
        return (chunks[b * self.size : (b + 1) * self.size] for b in self.numbers)


def _partitions(where: Any, wish: Wish) -> tuple[list[Any], list[Kind]]:
    """Delayed partitions, and the kind of each if it is known without a look."""
    if not hasattr(where, "chunks"):
        return list(where.to_delayed() if hasattr(where, "to_delayed") else where), []
    if where.ndim != 2:
        raise ValueError(f"X has {where.ndim} dimensions: give a Dask array of rows and columns")
    X = where.rechunk({1: -1})
    parts = list(X.to_delayed().ravel())
    if np.isnan(X.shape).any():
        return parts, []
    empty = X._meta  # noqa: SLF001  the only place where Dask says whether blocks are sparse
    return parts, [kind_of(empty, wish)._replace(n_rows=n) for n in X.chunks[0]]


def _looked_at(parts: list[Any], wish: Wish, client: Any) -> tuple[Any, list[Kind]]:
    """The kind of each partition, and what keeps the computed partitions on the cluster."""
    from dask.base import compute
    from dask.delayed import delayed

    kinds = [delayed(kind_of)(part, wish) for part in parts]
    if client is None:
        return None, list(compute(*kinds, scheduler="threads"))
    held = client.persist(parts, optimize_graph=False)
    return held, client.gather(client.compute(kinds, optimize_graph=False))


def _aligned(side: Any, lengths: list[int], name: str) -> list[Any]:
    """A target or weight, one part per partition; Nones if it is absent or a column."""
    if side is None or isinstance(side, str):
        return [None] * len(lengths)
    if isinstance(side, list | tuple) and is_dask(side):
        parts = list(side)
    elif hasattr(side, "to_delayed"):
        parts = _side_partitions(side, lengths, name)
    else:
        _assert_same(len(side), sum(lengths), f"entries of the {name}", "rows")
        parts = np.split(np.asarray(side), np.cumsum(lengths)[:-1])
    _assert_same(len(parts), len(lengths), f"partitions of the {name}", "partitions of the rows")
    return parts


def _side_partitions(side: Any, lengths: list[int], name: str) -> list[Any]:
    """Partitions of a Dask array cut like the rows; a series must be cut like them already."""
    if hasattr(side, "chunks") and not np.isnan(side.shape).any():
        _assert_same(side.shape[0], sum(lengths), f"entries of the {name}", "rows")
        side = side.rechunk({0: tuple(lengths), 1: -1} if side.ndim == 2 else {0: tuple(lengths)})
    return list(np.ravel(side.to_delayed()))


def _assert_same(found: int, expected: int, what: str, of: str) -> None:
    if found != expected:
        raise ValueError(f"{found} {what}, but {expected} {of}")


def _chunks(parts: list[Any], sides: tuple, wish: Wish, layout: Layout) -> list[Any]:
    """Each partition with its target and weight, in the number type of the leaves."""
    from dask.delayed import delayed

    make = delayed(as_chunk, pure=False)
    told = enumerate(zip(parts, *sides, strict=True))
    return [make(part, (y, w), wish, layout, at) for at, (part, y, w) in told]


def _cut(chunks: list[Any], lengths: list[int], layout: Layout, client: Any = None) -> list[Any]:
    """Blocks of whole chunks, made of pieces of partitions, each in its home on the cluster."""
    from dask.base import annotate
    from dask.delayed import delayed

    piece, block = (delayed(f, pure=False) for f in (_piece, _block))
    ends = np.cumsum([0, *lengths])
    firsts = range(0, layout.n_rows, layout.grid * layout.size)
    blocks = []
    for first, home in zip(firsts, homes(client, len(firsts)), strict=True):
        end = min(first + firsts.step, layout.n_rows)
        pieces = [
            chunks[p] if low == 0 and high == lengths[p] else piece(chunks[p], low, high)
            for p, low, high in _parts_of(first, end, ends)
        ]
        with annotate(**({"workers": [home], "allow_other_workers": True} if home else {})):
            blocks.append(block(first, pieces))
    return blocks


def _parts_of(first: int, end: int, ends: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Partitions between two rows, and which rows of each."""
    at = int(np.searchsorted(ends, first, "right")) - 1
    while ends[at] < end:
        start, stop = int(ends[at]), int(ends[at + 1])
        if start < stop:
            yield at, max(first - start, 0), min(end, stop) - start
        at += 1


def _piece(chunk: Chunk, low: int, high: int) -> Chunk:
    """Rows of a partition as a copy, so that the partition can be let go."""
    return Chunk(*(None if a is None else a[low:high].copy() for a in chunk[:3]), first=0)


def _block(first: int, pieces: list[Chunk]) -> Chunk:
    return joined(pieces)._replace(first=first)


def _persisted(client: Any, blocks: list[Any], numbers: list[int]) -> list[Any]:
    """Futures of some blocks; the scheduler keeps the graph that makes them."""
    from distributed import futures_of

    kept = client.persist([blocks[i] for i in numbers], optimize_graph=False)
    return [futures_of(block)[0] for block in kept]
