"""Dask arrays, dataframes and delayed partitions, cut once into blocks on the grid."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tenfold.distributed.blocks import (
    BlockLayout,
    BlockSource,
    RemoteBlockSource,
    assign_workers,
    choose_block_size,
    count_worker_threads,
)
from tenfold.distributed.dask import DaskEngine, current_client
from tenfold.engine.chunk import SPARSE_CHUNK_ROWS, Chunk, chunk_numbers, chunk_rows
from tenfold.engine.context import current_engine
from tenfold.engine.rows import Rows
from tenfold.engine.source import Source, concatenate_chunks
from tenfold.engine.thread_pool import n_threads
from tenfold.io.column_roles import ColumnRoles, is_column


def partition_layout(part: Any, roles: ColumnRoles, at: int) -> BlockLayout:
    """All about partition number `at` but its rows."""
    return BlockLayout.of(_open_partition(part, roles, at))


def partition_chunk(part: Any, roles: ColumnRoles, layout: BlockLayout, at: int) -> Chunk:
    """All rows of partition number `at`, in the number type of the whole."""
    source = _open_partition(part, roles, at)
    chunk = source.take(np.arange(source.n_rows))
    return chunk._replace(X=chunk.X.astype(layout.dtype, copy=False))


def _open_partition(part: Any, roles: ColumnRoles, at: int) -> Source:
    from tenfold.io.opener import open as open_rows

    try:
        return open_rows(part, *roles).source
    except (TypeError, ValueError) as problem:
        raise ValueError(f"partition {at}: {problem}") from problem


def common_layout(layouts: list[BlockLayout]) -> BlockLayout:
    """The layout of all partitions together."""
    if not layouts:
        raise ValueError("there are no partitions to learn from")
    head = layouts[0]
    for at, layout in enumerate(layouts):
        here, first = _describe_columns(layout), _describe_columns(head)
        if here != first:
            raise ValueError(
                f"partition {at} has {here}, but partition 0 has {first}: all partitions need the "
                "same columns"
            )
    dtype = np.result_type(*(layout.dtype for layout in layouts))
    return head._replace(
        n_rows=sum(layout.n_rows for layout in layouts),
        dtype=dtype,
        grid=SPARSE_CHUNK_ROWS if head.sparse else chunk_rows(head.n_features, dtype),
        row_bytes=head.n_features * dtype.itemsize,
    )


def _describe_columns(layout: BlockLayout) -> str:
    kind = "sparse columns" if layout.sparse else "columns"
    return f"{layout.n_features} {kind}" + (f", {layout.names}" if layout.names else "")


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
    roles = ColumnRoles(_column_or_none(target), _column_or_none(weight), columns)
    parts, layouts = _delayed_partitions(where, roles)
    held, layouts = (None, layouts) if layouts else _inspect_partitions(parts, roles, client)
    lengths = [layout.n_rows for layout in layouts]
    y, w = (
        _align_to_partitions(target, lengths, "target"),
        _align_to_partitions(weight, lengths, "weight"),
    )
    layout = common_layout(layouts)
    layout = layout._replace(
        has_target=layout.has_target or y[0] is not None,
        has_weight=layout.has_weight or w[0] is not None,
    )
    layout = choose_block_size(
        layout, n_threads() if client is None else count_worker_threads(client)
    )
    blocks = _cut_blocks(_delayed_chunks(parts, (y, w), roles, layout), lengths, layout, client)
    if client is None:
        return Rows(LazyBlockSource(layout, blocks))
    source = RemoteBlockSource(layout, client, partial(_persist_blocks, client, blocks))
    del held  # the partitions: from here on the scheduler needs them for the blocks alone
    return Rows(source, engine=current_engine() or DaskEngine(client))


def compute_partitions(where: Any) -> Iterator[Any]:
    """The partitions of a Dask dataframe, or the results of delayed ones, one after the other.

    Parameters
    ----------
    where : dask.dataframe.DataFrame, or list of Delayed
        Computed by the client of `tenfold.on`, else by Dask's current scheduler.
    """
    client = current_client()
    for part in where if isinstance(where, list) else where.to_delayed():
        yield part.compute() if client is None else client.compute(part).result()


def _column_or_none(side: Any) -> Any:
    """A target or weight that is a column of the data, or None."""
    return side if is_column(side, ()) else None


class LazyBlockSource(BlockSource):
    """Blocks that are computed when they are read, in the thread that reads them."""

    def __init__(self, layout: BlockLayout, blocks: list[Any]) -> None:
        super().__init__(layout)
        self.blocks = blocks

    def block(self, number: int) -> Chunk:
        """Compute one block."""
        return self.blocks[number].compute(scheduler="synchronous")

    def runs(self) -> Iterator[range]:
        """The chunks of each block."""
        chunks = chunk_numbers(self.n_rows, self.grid)
        starts = [-(-number * self.block_rows // self.grid) for number in self.numbers]
        bounds = pairwise([*starts, len(chunks)])
        return (chunks[start:stop] for start, stop in bounds if start < stop)


def _delayed_partitions(where: Any, roles: ColumnRoles) -> tuple[list[Any], list[BlockLayout]]:
    """Delayed partitions, and the layout of each if it is known without a look."""
    if not hasattr(where, "to_delayed") or isinstance(where, _delayed_type()):
        return _as_list(where), []
    if not hasattr(where, "chunks"):
        return list(where.to_delayed()), []
    if where.ndim != 2:
        raise ValueError(f"X has {where.ndim} dimensions: give a Dask array of rows and columns")
    X = where.rechunk({1: -1})
    parts = list(X.to_delayed().ravel())
    if np.isnan(X.shape).any():
        return parts, []
    like = partition_layout(_empty_like(X), roles, 0)
    return parts, [like._replace(n_rows=n) for n in X.chunks[0]]


def _delayed_type() -> type:
    from dask.delayed import Delayed

    return Delayed


def _as_list(parts: Any) -> list[Any]:
    return list(parts) if isinstance(parts, list | tuple) else [parts]


def _empty_like(X: Any) -> Any:
    from scipy.sparse import csr_array

    make = csr_array if hasattr(X._meta, "indptr") else np.empty  # noqa: SLF001  no public name
    return make((0, X.shape[1]), dtype=X.dtype)


def _inspect_partitions(
    parts: list[Any], roles: ColumnRoles, client: Any
) -> tuple[Any, list[BlockLayout]]:
    """The layout of each partition, and what keeps the computed partitions on the cluster."""
    from dask.base import compute
    from dask.delayed import delayed

    layouts = [delayed(partition_layout)(part, roles, at) for at, part in enumerate(parts)]
    if client is None:
        return None, list(compute(*layouts, scheduler="threads"))
    held = client.persist(parts, optimize_graph=False)
    return held, client.gather(client.compute(layouts, optimize_graph=False))


def _align_to_partitions(side: Any, lengths: list[int], name: str) -> list[Any]:
    """A target or weight, one part per partition; Nones if it is absent or a column."""
    if side is None or is_column(side, ()):
        return [None] * len(lengths)
    if isinstance(_as_list(side)[0], _delayed_type()):
        parts = _as_list(side)
    elif hasattr(side, "to_delayed"):
        parts = _side_partitions(side, lengths, name)
    else:
        values, _ = ColumnRoles(side).external_values((), sum(lengths))
        ends = np.cumsum([0, *lengths]).tolist()
        parts = [values[low:high] for low, high in pairwise(ends)]
    _check_same_length(
        len(parts), len(lengths), f"partitions of the {name}", "partitions of the rows"
    )
    return parts


def _side_partitions(side: Any, lengths: list[int], name: str) -> list[Any]:
    """Partitions of a Dask array cut like the rows; a series must be cut like them already."""
    if hasattr(side, "chunks") and not np.isnan(side.shape).any():
        _check_same_length(side.shape[0], sum(lengths), f"entries of the {name}", "rows")
        side = side.rechunk({0: tuple(lengths), 1: -1} if side.ndim == 2 else {0: tuple(lengths)})
    return list(np.ravel(side.to_delayed()))


def _check_same_length(found: int, expected: int, what: str, of: str) -> None:
    if found != expected:
        raise ValueError(f"{found} {what}, but {expected} {of}")


def _delayed_chunks(
    parts: list[Any], sides: tuple, roles: ColumnRoles, layout: BlockLayout
) -> list[Any]:
    """Each partition with its target and weight, in the number type of the computation."""
    from dask.delayed import delayed

    make = delayed(partition_chunk, pure=False)
    numbered = enumerate(zip(parts, *sides, strict=True))
    return [make(part, _partition_roles(roles, y, w), layout, at) for at, (part, y, w) in numbered]


def _partition_roles(roles: ColumnRoles, y: Any, w: Any) -> list[Any]:
    """The wishes for one partition, as a list: Dask looks for partitions of `y` and `w` in it."""
    return [roles.target if y is None else y, roles.weight if w is None else w, roles.columns]


def _cut_blocks(
    chunks: list[Any], lengths: list[int], layout: BlockLayout, client: Any
) -> list[Any]:
    """Blocks of whole chunks, made of pieces of partitions, each on a worker."""
    from dask.base import annotate
    from dask.delayed import delayed

    piece, block = (delayed(f, pure=False) for f in (_copy_rows, _join_pieces))
    ends = np.cumsum([0, *lengths])
    firsts = range(0, layout.n_rows, layout.grid * layout.size)
    blocks = []
    for first, worker in zip(firsts, assign_workers(client, len(firsts)), strict=True):
        end = min(first + firsts.step, layout.n_rows)
        pieces = [
            chunks[p] if low == 0 and high == lengths[p] else piece(chunks[p], low, high)
            for p, low, high in _overlapping_partitions(first, end, ends)
        ]
        with annotate(**({"workers": [worker], "allow_other_workers": True} if worker else {})):
            blocks.append(block(first, pieces))
    return blocks


def _overlapping_partitions(
    first: int, end: int, ends: np.ndarray
) -> Iterator[tuple[int, int, int]]:
    """Partitions between two rows, and which rows of each."""
    at = int(np.searchsorted(ends, first, "right")) - 1
    while ends[at] < end:
        start, stop = int(ends[at]), int(ends[at + 1])
        if start < stop:
            yield at, max(first - start, 0), min(end, stop) - start
        at += 1


def _copy_rows(chunk: Chunk, low: int, high: int) -> Chunk:
    """Rows of a partition as a copy, so that the partition can be let go."""
    return Chunk(*(None if a is None else a[low:high].copy() for a in chunk[:3]), first=0)


def _join_pieces(first: int, pieces: list[Chunk]) -> Chunk:
    return concatenate_chunks(pieces)._replace(first=first)


def _persist_blocks(client: Any, blocks: list[Any], numbers: list[int]) -> list[Any]:
    """Futures of some blocks; the scheduler keeps the graph that makes them."""
    from distributed import futures_of

    persisted = client.persist([blocks[i] for i in numbers], optimize_graph=False)
    return [futures_of(block)[0] for block in persisted]
