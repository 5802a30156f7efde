"""Dask arrays, dataframes and delayed partitions, cut to the grid once.

Partitions end where somebody's file ended; chunks end on the grid. So each partition is cut into
pieces, and the pieces are joined to blocks of whole chunks. The workers keep the blocks, and Dask
keeps the recipe: blocks that die with a worker are made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tenfold.rows.chunk import Chunk, spans
from tenfold.rows.cluster import Cluster, current_client, engine
from tenfold.rows.cluster.blocks import Blocked, Layout, Partitioned, homes, n_threads_of, sized
from tenfold.rows.cluster.partition import chunk_of, common, layout_of
from tenfold.rows.files.asked import Asked, is_column
from tenfold.rows.rows import Rows
from tenfold.rows.source import joined
from tenfold.rows.threads import n_threads


def from_dask(where: Any, target: Any = None, weight: Any = None, columns: Any = None) -> Rows:
    """Open a Dask array, a Dask dataframe or a list of delayed partitions.

    Parameters
    ----------
    where : dask.array.Array, dask.dataframe.DataFrame, or list of Delayed
        The rows. Delayed partitions are arrays, CSR matrices or tables.
    target, weight : column, array, Dask array or series, or list of Delayed, optional
        A name (of an array: number) of a column, or one entry per row.
    columns : list, optional
        Names (of an array: numbers) of the columns of X. By default all but target and weight.

    Returns
    -------
    Rows
        Computed by the client of `tenfold.on`, else by Dask's current client, else, block by
        block, by the threads of this process.
    """
    client = current_client()
    asked = Asked(_column(target), _column(weight), columns)
    parts, layouts = _partitions(where, asked)
    held, layouts = (None, layouts) if layouts else _looked_at(parts, asked, client)
    lengths = [layout.n_rows for layout in layouts]
    y, w = _aligned(target, lengths, "target"), _aligned(weight, lengths, "weight")
    layout = common(layouts)
    layout = layout._replace(
        has_target=layout.has_target or y[0] is not None,
        has_weight=layout.has_weight or w[0] is not None,
    )
    layout = sized(layout, n_threads() if client is None else n_threads_of(client))
    blocks = _cut(_chunks(parts, (y, w), asked, layout), lengths, layout, client)
    if client is None:
        return Rows(Lazy(layout, blocks))
    source = Partitioned(layout, client, partial(_persisted, client, blocks))
    del held  # the partitions: from here on the scheduler needs them for the blocks alone
    return Rows(source, engine=engine() or Cluster(client))


def _column(side: Any) -> Any:
    """A target or weight that is a column of the data, or None."""
    return side if is_column(side, ()) else None


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


def _partitions(where: Any, asked: Asked) -> tuple[list[Any], list[Layout]]:
    """Delayed partitions, and the layout of each if it is known without a look."""
    if not hasattr(where, "to_delayed") or isinstance(where, _delayed_type()):
        return _listed(where), []
    if not hasattr(where, "chunks"):
        return list(where.to_delayed()), []
    if where.ndim != 2:
        raise ValueError(f"X has {where.ndim} dimensions: give a Dask array of rows and columns")
    X = where.rechunk({1: -1})
    parts = list(X.to_delayed().ravel())
    if np.isnan(X.shape).any():
        return parts, []
    like = layout_of(_without_rows(X), asked, 0)
    return parts, [like._replace(n_rows=n) for n in X.chunks[0]]


def _delayed_type() -> type:
    from dask.delayed import Delayed

    return Delayed


def _listed(parts: Any) -> list[Any]:
    return list(parts) if isinstance(parts, list | tuple) else [parts]


def _without_rows(X: Any) -> Any:
    from scipy.sparse import csr_array

    make = csr_array if hasattr(X._meta, "indptr") else np.empty  # noqa: SLF001  no public name
    return make((0, X.shape[1]), dtype=X.dtype)


def _looked_at(parts: list[Any], asked: Asked, client: Any) -> tuple[Any, list[Layout]]:
    """The layout of each partition, and what keeps the computed partitions on the cluster."""
    from dask.base import compute
    from dask.delayed import delayed

    layouts = [delayed(layout_of)(part, asked, at) for at, part in enumerate(parts)]
    if client is None:
        return None, list(compute(*layouts, scheduler="threads"))
    held = client.persist(parts, optimize_graph=False)
    return held, client.gather(client.compute(layouts, optimize_graph=False))


def _aligned(side: Any, lengths: list[int], name: str) -> list[Any]:
    """A target or weight, one part per partition; Nones if it is absent or a column."""
    if side is None or is_column(side, ()):
        return [None] * len(lengths)
    if isinstance(_listed(side)[0], _delayed_type()):
        parts = _listed(side)
    elif hasattr(side, "to_delayed"):
        parts = _side_partitions(side, lengths, name)
    else:
        values, _ = Asked(side).outside((), sum(lengths))
        ends = np.cumsum([0, *lengths]).tolist()
        parts = [values[low:high] for low, high in pairwise(ends)]
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


def _chunks(parts: list[Any], sides: tuple, asked: Asked, layout: Layout) -> list[Any]:
    """Each partition with its target and weight, in the number type of the leaves."""
    from dask.delayed import delayed

    make = delayed(chunk_of, pure=False)
    told = enumerate(zip(parts, *sides, strict=True))
    return [make(part, _with(asked, y, w), layout, at) for at, (part, y, w) in told]


def _with(asked: Asked, y: Any, w: Any) -> list[Any]:
    """The wishes for one partition, as a list: Dask looks for partitions of `y` and `w` in it."""
    return [asked.target if y is None else y, asked.weight if w is None else w, asked.columns]


def _cut(chunks: list[Any], lengths: list[int], layout: Layout, client: Any) -> list[Any]:
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
