"""Bootstrap samples as weights: how often each row is drawn follows from its number and a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import pdtr

from tenfold._compiled.row_hash import draw_counts
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.engine.source import Source
from tenfold.engine.source_wrapper import SourceWrapper


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows and columns of one bag.

    With replacement a row is drawn k times with the probability of k under a Poisson distribution,
    the limit of drawing from many rows; without, once or not at all. So each row is decided by
    itself: in any chunk, file or worker the same.

    Attributes
    ----------
    seed : of the hash of each row
    rate : expected number of times that a row is drawn
    replace : whether a row can be drawn more than once
    columns : numbers of the features, or None for all
    """

    seed: int
    rate: float
    replace: bool
    columns: np.ndarray | None = None

    def counts(self, first: int, rows: int) -> np.ndarray:
        """How often the rows first, first + 1, ... are drawn."""
        counts = np.empty(rows)
        draw_counts(np.uint64(self.seed), first, self._thresholds, counts)
        return counts

    @cached_property
    def _thresholds(self) -> np.ndarray:
        """Hashes from which on a row is drawn at least once, twice, ..."""
        if not self.replace:
            shares = np.array([1 - self.rate])
        else:
            most = int(np.ceil(self.rate + 12 * np.sqrt(self.rate) + 20))
            shares = pdtr(np.arange(most), self.rate)
        return np.floor(shares[shares < 1] * 2.0**64).astype(np.uint64)

    def features(self, X: Any) -> Any:
        """The columns of the bag."""
        return X if self.columns is None else X[:, self.columns]

    def apply(self, chunk: Chunk) -> Chunk:
        """The chunk with counts as weights, and with the columns of the bag."""
        weights = chunk.weights() * self.counts(chunk.first, chunk.rows)
        return chunk._replace(X=_contiguous(self.features(chunk.X)), w=weights)


def _contiguous(X: Any) -> Any:
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X


@dataclass(frozen=True)
class DrawnStatistic:
    """A chunk function, of the rows of a bag."""

    function: Callable[..., Any]
    draw: Draw

    def __call__(self, chunk: Chunk, *state: Any) -> Any:
        return self.function(self.draw.apply(chunk), *state)


class DrawnSource(SourceWrapper):
    """The rows of a source, with those of a bag as weights."""

    has_weight = True

    def __init__(self, source: Source, draw: Draw) -> None:
        self.source, self.draw = source, draw
        self.n_rows, self.dtype, self.sparse = source.n_rows, source.dtype, source.sparse
        self.has_target, self.finite = source.has_target, source.finite
        self.n_features = source.n_features if draw.columns is None else len(draw.columns)

    def chunks(self, run: range) -> Iterator[Chunk]:
        return (self.draw.apply(chunk) for chunk in self.source.chunks(run))

    def take(self, rows: np.ndarray) -> Chunk:
        chunk = self.source.take(rows)
        counts = np.concatenate([self.draw.counts(int(row), 1) for row in rows])
        X = _contiguous(self.draw.features(chunk.X))
        return chunk._replace(X=X, w=chunk.weights() * counts)


class DrawnRows(Rows):
    """Rows with those of a bag as weights; totals come from the passes of the rows themselves."""

    def __init__(self, rows: Rows, draw: Draw) -> None:
        super().__init__(
            DrawnSource(rows.source, draw),
            engine=rows.engine,
            classes=rows.classes,
            allow_nan=rows.allow_nan,
        )
        self.rows, self.draw = rows, draw

    def total(self, f: Callable[..., Any], *state: Any) -> Any:
        """The total over the rows of the bag."""
        return self.rows.total(DrawnStatistic(f, self.draw), *state)

    def with_chunk_rows(self, rows: int) -> Rows:
        """The same bag in smaller chunks."""
        return DrawnRows(self.rows.with_chunk_rows(rows), self.draw)

    def label_encoding(self) -> tuple[np.ndarray, Rows] | None:
        """Classes, and these rows with class indices."""
        known = self.rows.label_encoding()
        return None if known is None else (known[0], DrawnRows(known[1], self.draw))
