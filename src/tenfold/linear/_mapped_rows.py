"""Rows with other targets or weights: signs for classes, class weights, one of several targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.linear._loss_gradients import row_weights


class ClassSigns(NamedTuple):
    """Replaces class indices by signs: a column for each class, one column for two classes.

    Attributes
    ----------
    n_classes : number of classes
    class_weight : (n_classes,) weight of each class, or None
    """

    n_classes: int
    class_weight: np.ndarray | None = None

    def __call__(self, chunk: Chunk) -> Chunk:
        columns = np.arange(self.n_classes) if self.n_classes > 2 else np.array([1])
        signs = np.where(chunk.y[:, None] == columns, 1.0, -1.0).astype(chunk.X.dtype)
        return chunk._replace(y=signs, w=row_weights(chunk, self.class_weight))


class ClassWeights(NamedTuple):
    """Multiplies the weights of rows by those of their classes, (n_classes,)."""

    class_weight: np.ndarray

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk._replace(w=row_weights(chunk, self.class_weight))


class TargetColumn(NamedTuple):
    """Replaces several targets by the one in this column."""

    column: int

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk._replace(y=np.ascontiguousarray(chunk.y[:, self.column]))


class MappedRows(Rows):
    """Rows of which every chunk is replaced: `mapping(chunk)` has other targets or weights.

    The mapping is a small pure object. Its passes are those of the given rows, so they may be
    rows of a fold; folds of mapped rows would not be mapped.
    """

    def __init__(self, rows: Rows, mapping: Callable[[Chunk], Chunk]) -> None:
        super().__init__(
            rows.source, engine=rows.engine, classes=rows.classes, allow_nan=rows.allow_nan
        )
        self.base, self.mapping, self.context = rows, mapping, rows.context

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        return self.base.total(mapped_statistic, f, self.mapping, state)

    def each(self, f: Callable[..., np.ndarray], *state: Any, into: Any = None) -> Any:
        return self.base.each(mapped_statistic, f, self.mapping, state, into=into)

    def batches(self, size: int, seed: int) -> Iterator[Chunk]:
        return map(self.mapping, self.base.batches(size, seed))

    def take(self, rows: np.ndarray) -> Chunk:
        return self.mapping(self.base.take(rows))


def mapped_statistic(
    chunk: Chunk, f: Callable[..., Any], mapping: Callable[[Chunk], Chunk], state: tuple
) -> Any:
    """A chunk function of mapped rows."""
    return f(mapping(chunk), *state)
