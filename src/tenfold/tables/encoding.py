"""Cells as numbers, by the parts that an encoder learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.rows.cells import Cells, Dates, Numbers, Words
from tenfold.rows.files.records import TableError
from tenfold.tables.learning import no_infinity
from tenfold.tables.parts import Part, no_marks
from tenfold.tables.profile import as_numbers, worded


class Encoding:
    """Encode cells: `encoding(cells, first)` is an array, or a CSR array.

    Parameters
    ----------
    parts : what the encoder learned
    dtype, sparse : of the result
    where : the place of a row in words, for error messages
    """

    def __init__(
        self,
        parts: list[Part],
        dtype: np.dtype,
        sparse: bool,
        where: Callable[[int], str],
    ) -> None:
        self.parts, self.dtype, self.sparse = parts, dtype, sparse
        self.where = where
        self.firsts = np.cumsum([0, *(len(part.names) for part in parts)]).tolist()

    def __call__(self, cells: Cells, first: int) -> Any:
        columns = [self._column(part, cells, first) for part in self.parts]
        return self._csr(columns, len(cells)) if self.sparse else self._dense(columns, len(cells))

    def _dense(self, columns: list[Any], rows: int) -> np.ndarray:
        out = np.zeros((rows, self.firsts[-1]), self.dtype)
        for part, column, first in zip(self.parts, columns, self.firsts, strict=False):
            for j, vector in enumerate(part.vectors(column)):
                out[:, first + j] = vector
            at, place, value = part.marks(column)
            out[at, place + first] = value
        return out

    def _csr(self, columns: list[Any], rows: int) -> Any:
        from scipy.sparse import csr_array

        every = np.arange(rows)
        entries = [no_marks()]
        for part, column, first in zip(self.parts, columns, self.firsts, strict=False):
            for j, vector in enumerate(part.vectors(column)):
                entries.append((every, np.full(rows, first + j), vector))
            at, place, value = part.marks(column)
            entries.append((at, place + first, value))
        at, place, value = (np.concatenate(each) for each in zip(*entries, strict=True))
        made = csr_array((value.astype(self.dtype), (at, place)), shape=(rows, self.firsts[-1]))
        made.eliminate_zeros()
        return made

    def assert_columns(self, records: Any) -> None:
        """Raise an error about the first column that is not there."""
        for part in self.parts:
            if part.name not in records.types:
                raise TableError(
                    f"{records.shown} has no column {part.name!r}, which was there when the "
                    f"encoder was fitted. {records.near(part.name)}"
                )

    def _column(self, part: Part, cells: Cells, first: int) -> Any:
        """A column as its part takes it."""
        column, kind = cells[part.name], cells.types[part.name]
        if part.takes == "text":
            return worded(column, kind)
        if part.takes == "number":
            column = (
                column if isinstance(column, Numbers) else self._as_numbers(part, column, first)
            )
            self._assert_finite(part, column, first)
            return column
        return column if isinstance(column, Dates) else self._as_dates(part, column, first)

    def _as_numbers(self, part: Any, column: Any, first: int) -> Numbers:
        if part.lenient:
            return as_numbers(column)
        return Numbers(self._parsed(part, column, first, float, np.nan))

    def _as_dates(self, part: Part, column: Any, first: int) -> Dates:
        if isinstance(column, Numbers) and np.isnan(column.values).all():
            return Dates(np.full(len(column), "NaT", "datetime64[us]"))
        made = self._parsed(
            part, worded(column, "number"), first, _date, np.datetime64("NaT", "us")
        )
        return Dates(made.astype("datetime64[us]"))

    def _parsed(self, part: Part, column: Any, first: int, parse: Any, gone: Any) -> np.ndarray:
        """Texts as what was learned; one that is none is an error that names it."""
        words: Words = worded(column, "date")
        values = []
        for code, word in enumerate(words.values):
            try:
                values.append(parse(word))
            except ValueError:
                row = np.flatnonzero(words.codes == code)
                if len(row):
                    raise self._misfit(part, first + int(row[0]), word) from None
                values.append(gone)
        return np.array([*values, gone])[words.codes]

    def _misfit(self, part: Part, row: int, word: str) -> TableError:
        return TableError(
            f"{self.where(row)}, column {part.name!r}: {word!r} is no {part.takes}, but the column "
            f"held {part.takes}s when the encoder was fitted. Correct the value, or leave it empty."
        )

    def _assert_finite(self, part: Part, column: Numbers, first: int) -> None:
        bad = np.isinf(column.values)
        if bad.any():
            raise no_infinity(self.where(first + int(np.argmax(bad))), part.name)


def _date(word: str) -> np.datetime64:
    return np.datetime64(word, "us")
