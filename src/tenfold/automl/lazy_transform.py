"""Rows transformed chunk by chunk, so that derived features need no memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.engine.arrays import compute_dtype
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.source import Source
from tenfold.engine.source_wrapper import SourceWrapper


class TransformedSource(SourceWrapper):
    """The rows of a source with each chunk transformed by a fitted transformer.

    Chunks are those of the source, so that each is transformed once in a pass.
    """

    def __init__(self, source: Source, transformer: Any) -> None:
        self.source, self.transformer = source, transformer
        first = self._transform(source.take(np.zeros(1, np.int64)))
        self.n_rows, self.n_features = source.n_rows, first.X.shape[1]
        self.dtype = compute_dtype(first.X.dtype)
        self.has_target, self.has_weight = source.has_target, source.has_weight

    def chunks(self, run: range) -> Iterator[Chunk]:
        return (self._transform(chunk) for chunk in self.source.chunks(run))

    def take(self, rows: np.ndarray) -> Chunk:
        return self._transform(self.source.take(rows))

    def _transform(self, chunk: Chunk) -> Chunk:
        return chunk._replace(X=np.ascontiguousarray(self.transformer.transform(chunk.X)))


class TargetSource(SourceWrapper):
    """The rows of a source with a target in memory."""

    has_target = True

    def __init__(self, source: Source, y: np.ndarray) -> None:
        self.source, self.y = source, y
        self.n_rows, self.n_features = source.n_rows, source.n_features
        self.dtype, self.sparse, self.finite = source.dtype, source.sparse, source.finite

    def chunks(self, run: range) -> Iterator[Chunk]:
        for chunk in self.source.chunks(run):
            yield chunk._replace(y=self.y[chunk.first : chunk.first + chunk.rows])

    def take(self, rows: np.ndarray) -> Chunk:
        return self.source.take(rows)._replace(y=self.y[rows])


def transform_rows(rows: Rows, transformer: Any) -> Rows:
    """The rows, transformed by a fitted transformer."""
    return Rows(TransformedSource(rows.source, transformer), engine=rows.engine)


def add_target(rows: Rows, y: np.ndarray) -> Rows:
    """The same rows with a target."""
    return Rows(TargetSource(rows.source, y), engine=rows.engine)
