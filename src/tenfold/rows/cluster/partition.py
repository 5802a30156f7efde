"""One partition of a Dask collection, opened like any data in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.rows.chunk import SPARSE_ROWS, Chunk, chunk_rows
from tenfold.rows.cluster.blocks import Layout
from tenfold.rows.files.asked import Asked
from tenfold.rows.source import Source


def layout_of(part: Any, asked: Asked, at: int) -> Layout:
    """All about partition number `at` but its rows."""
    return Layout.of(_opened(part, asked, at))


def chunk_of(part: Any, asked: Asked, layout: Layout, at: int) -> Chunk:
    """All rows of partition number `at`, in the number type of the whole."""
    source = _opened(part, asked, at)
    chunk = source.take(np.arange(source.n_rows))
    return chunk._replace(X=chunk.X.astype(layout.dtype, copy=False))


def _opened(part: Any, asked: Asked, at: int) -> Source:
    from tenfold.rows.opening import open as open_rows

    try:
        return open_rows(part, *asked).source
    except (TypeError, ValueError) as problem:
        raise ValueError(f"partition {at}: {problem}") from problem


def common(layouts: list[Layout]) -> Layout:
    """The layout of all partitions together."""
    if not layouts:
        raise ValueError("there are no partitions to learn from")
    head = layouts[0]
    for at, layout in enumerate(layouts):
        if _columns(layout) != _columns(head):
            raise ValueError(
                f"partition {at} has {_columns(layout)}, but partition 0 has {_columns(head)}: all "
                "partitions need the same columns"
            )
    dtype = np.result_type(*(layout.dtype for layout in layouts))
    return head._replace(
        n_rows=sum(layout.n_rows for layout in layouts),
        dtype=dtype,
        grid=SPARSE_ROWS if head.sparse else chunk_rows(head.n_features, dtype),
        row_bytes=head.n_features * dtype.itemsize,
    )


def _columns(layout: Layout) -> str:
    kind = "sparse columns" if layout.sparse else "columns"
    return f"{layout.n_features} {kind}" + (f", {layout.names}" if layout.names else "")
