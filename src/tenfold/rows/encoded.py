"""Rows of a table that become numbers on the way: what lets any model learn from any table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tenfold.rows.cells import Cells, Words
from tenfold.rows.chunk import Chunk
from tenfold.rows.files.records.errors import TableError
from tenfold.rows.source import Source


class Encoded(Source):
    """Records, encoded chunk by chunk on the grid of the encoded width.

    So a fit on them has the bits of a fit on the encoded array.

    Parameters
    ----------
    records : Records
        The table.
    encode : callable (cells, first row) -> array or CSR array
        How rows become numbers.
    names : names of the columns that it makes
    dtype, sparse : of what it makes
    target : column that becomes y, optional
    """

    finite = True

    def __init__(
        self,
        records: Any,
        encode: Callable[[Cells, int], Any],
        names: list[str],
        *,
        dtype: np.dtype,
        sparse: bool,
        target: str | None = None,
    ) -> None:
        self.records, self.encode, self.target = records, encode, target
        self.names, self.n_rows, self.n_features = names, records.n_rows, len(names)
        self.dtype, self.sparse = np.dtype(dtype), sparse
        self.has_target = target is not None

    @property
    def streams(self) -> bool:
        """Whether a copy of the numbers pays for a model that reads them often."""
        return not self.sparse

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read and encode the chunks of a run."""
        for number in run:
            first, end = self.span(number)
            yield self._encoded(self.records.slice(first, end), first)._replace(first=first)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers."""
        return self._encoded(self.records.take(rows).X, int(rows[0]) if len(rows) else 0)

    def where(self, row: int) -> str:
        """The place of a row in the table."""
        return self.records.where(row)

    def _encoded(self, cells: Cells, first: int) -> Chunk:
        y = None if self.target is None else self._labels(cells, first)
        return Chunk(self.encode(cells, first), y)

    def _labels(self, cells: Cells, first: int) -> np.ndarray:
        column = cells[str(self.target)]
        missing = column.missing()
        if missing.any():
            place = self.records.where(first + int(np.argmax(missing)))
            raise TableError(
                f"{place}: the target {self.target!r} is missing. Leave such rows out: "
                "records.pick(rows)."
            )
        return labels(column)


def labels(column: Any) -> np.ndarray:
    """A column without missing values as a target: numbers, or words."""
    if isinstance(column, Words):
        return np.array(column.values or [""], str)[column.codes]
    return column.values
