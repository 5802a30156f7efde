"""Cells in memory through an encoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.rows import Chunk
from tenfold.rows.cells import Cells
from tenfold.rows.files.records import Records, open_records
from tenfold.rows.files.records.store import InMemory


def as_records(cells: Cells) -> Records:
    """Rows in memory as records."""
    return Records(InMemory(cells), dict(cells.types), shown="the table")


def records_of(table: Any, styles: dict[str, str] | None = None) -> Records:
    """Records of anything that holds rows; a dict of single values is one row."""
    if isinstance(table, Cells):
        return as_records(table)
    if isinstance(table, dict) and all(np.ndim(value) == 0 for value in table.values()):
        table = [table]
    return open_records(table, styles=styles)


def encoded(encoder: Any, cells: Cells) -> Any:
    """Rows in memory as a fitted encoder makes them: an array or CSR matrix."""
    rows = encoder.rows(as_records(cells))
    return rows.gather().X if rows.sparse else rows.each(_numbers)


def _numbers(chunk: Chunk) -> np.ndarray:
    return chunk.X
