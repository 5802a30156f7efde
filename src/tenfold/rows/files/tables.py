"""Rows in tables in memory: pandas, polars, Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.rows.arrays import part
from tenfold.rows.chunk import Chunk
from tenfold.rows.files.arrow import batch_of, numbers, refused
from tenfold.rows.files.asked import Asked, as_weights
from tenfold.rows.files.columns import Columns, common_label
from tenfold.rows.source import Source


class Table(Source):
    """A table; the columns of X are put side by side chunk by chunk.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, or Arrow table
    asked : Asked
        Which columns are the target, the weights and X.
    """

    def __init__(self, frame: Any, asked: Asked) -> None:
        self.frame = _opened(frame)
        names = list(self.frame.columns)
        columns = Columns(names, asked, "the table")
        self.n_rows, self.n_features = len(self.frame), len(columns.X)
        self.names = columns.X if all(isinstance(name, str) for name in columns.X) else None
        place = {name: j for j, name in enumerate(names)}
        self.at: Any = [place[name] for name in columns.X]
        self.at = slice(None) if names == columns.X else self.at
        self.dtype = self._dtype(columns.X)
        self.y, self.w = self._sides(columns, asked, names)
        self.has_target, self.has_weight = self.y is not None, self.w is not None

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Put the chunks of a run together."""
        for number in run:
            first, end = self.span(number)
            X = self._numbers(slice(first, end))
            yield Chunk(X, part(self.y, first, end), part(self.w, first, end), first)

    def take(self, rows: np.ndarray) -> Chunk:
        """The rows with these numbers."""
        y, w = (None if side is None else side[rows] for side in (self.y, self.w))
        return Chunk(self._numbers(rows), y, w)

    def _numbers(self, rows: Any) -> np.ndarray:
        """Some rows of X. Each library has one fast way to its numbers."""
        if self.frame.implementation.is_pandas_like():
            some = self.frame.to_native().iloc[rows, self.at]
            return np.ascontiguousarray(some.to_numpy(dtype=self.dtype, na_value=np.nan))
        some = self.frame[rows, self.at]
        if self.uniform and self.frame.implementation.is_polars():
            return np.ascontiguousarray(some.to_numpy())
        return numbers(batch_of(some.to_arrow()), self.dtype)

    def _dtype(self, names: list[Any]) -> np.dtype:
        schema = self.frame.schema
        kinds = [schema[name] for name in names]
        for name, kind in zip(names, kinds, strict=True):
            if not (kind.is_numeric() or str(kind) == "Boolean"):
                raise refused("the table", name, kind)
        found = set(map(str, kinds))
        self.uniform = found in ({"Float32"}, {"Float64"})
        return np.dtype(np.float32 if found == {"Float32"} else np.float64)

    def _sides(self, columns: Columns, asked: Asked, names: list[Any]) -> tuple[Any, Any]:
        """Target and weights, from columns of the table or from elsewhere."""
        sides = columns.needed[len(columns.X) :]
        found = {name: self.frame[:, names.index(name)].to_arrow() for name in sides}
        columns.label = common_label({found[name].type for name in columns.y})
        inside = columns.sides(found.__getitem__, 0, self.where)
        outside = asked.outside(names, self.n_rows)
        y, w = (a if b is None else b[:] for a, b in zip(inside, outside, strict=True))
        return y, w if w is None else as_weights(w)


def _opened(frame: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError as problem:
        raise TypeError(
            f"tenfold cannot open a {type(frame).__module__}.{type(frame).__name__}. Give an "
            "array, a table (a lazy one: collect it first), a file, or a list of files."
        ) from problem
