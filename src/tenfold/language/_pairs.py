"""Pairs of sources and targets as arrays of numbers, padded batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tenfold._compiled.checksums import checksum
from tenfold.engine.hooks import record_value
from tenfold.sequence._symbols import (
    END,
    UNKNOWN,
    SymbolEncoder,
    iterate_documents,
    refuse_sets,
    sort_symbols,
)


class SourceReader:
    """Sources as lists of numbers; the first symbol is the unknown one. Arrays stay as they are.

    Parameters
    ----------
    unit, tokenizer
        As of `SymbolEncoder`.
    arrays : bool
        Whether sources are arrays (n, ...).
    """

    first = UNKNOWN

    def __init__(
        self, unit: str, tokenizer: Callable[[str], Any] | None, *, arrays: bool = False
    ) -> None:
        self.encoder = SymbolEncoder(unit, lowercase=False, tokenizer=tokenizer)
        self.arrays = arrays
        self.symbols: list[Any] = []
        self.is_text = False

    def learn(self, documents: Any) -> Any:
        """Choose the symbols of documents, and number them."""
        if self.arrays:
            return self.number(documents)
        refuse_sets(documents)
        if isinstance(documents, np.ndarray) and documents.ndim > 2:
            raise ValueError(
                f"sources are an array of shape {documents.shape}, not sequences of symbols: give "
                "layers that read them, as encoder=[Conv2d(16, 3, 'relu')]"
            )
        documents = list(iterate_documents(documents))
        self.is_text = all(isinstance(document, str) for document in documents)
        known = {symbol for symbols in self.split(documents) for symbol in symbols}
        if self.first in known:
            raise ValueError(f"the documents hold the symbol {self.first!r}, which is reserved")
        self.symbols = [self.first, *sort_symbols(known)]
        return self.number(documents)

    def number(self, documents: Any) -> Any:
        """Numbers of the symbols of each document."""
        if self.arrays:
            array = np.asarray(documents, np.float32)
            if array.ndim < 2 or not np.isfinite(array).all():
                raise ValueError(
                    f"sources of shape {array.shape}: layers take an array (n, ...) of finite "
                    "numbers"
                )
            return array
        numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        return [
            self.finish([self.look_up(numbers, each) for each in symbols])
            for symbols in self.split(documents)
        ]

    def split(self, documents: Any) -> Iterator[list[Any]]:
        """Symbols of each document."""
        for place, document in enumerate(iterate_documents(documents)):
            yield self.encoder.split_at(document, place)

    def look_up(self, numbers: dict[Any, int], symbol: Any) -> int:
        """Number of a symbol."""
        return numbers.get(symbol, 0)

    def finish(self, numbers: list[int]) -> np.ndarray:
        """The numbers of a document; an empty source is one unknown symbol."""
        return np.array(numbers or [0], np.int64)


class TargetReader(SourceReader):
    """Targets as lists of numbers, ended by the first symbol."""

    first = END

    def look_up(self, numbers: dict[Any, int], symbol: Any) -> int:
        """Number of a symbol; targets hold no unknown ones."""
        if symbol not in numbers:
            raise ValueError(f"the target symbol {symbol!r} did not occur in the fit")
        return numbers[symbol]

    def finish(self, numbers: list[int]) -> np.ndarray:
        """The numbers of a document, and the end."""
        return np.array([*numbers, 0], np.int64)


class Pairs:
    """Sources and targets by number.

    Parameters
    ----------
    sources : list of arrays of symbols, or array (n, ...)
        Sources.
    targets : list of arrays
        Targets; empty if there are none.
    shape : tuple, optional
        Shape that sources must have.
    """

    def __init__(
        self, sources: Any, targets: list[np.ndarray], shape: tuple[int, ...] | None = None
    ) -> None:
        self.sources, self.targets = sources, targets
        self.n_sources = len(sources)
        if targets and self.n_sources != len(targets):
            raise ValueError(f"there are {self.n_sources} sources and {len(targets)} targets")
        if shape is None and not self.n_sources:
            raise ValueError("there are no pairs to learn from")
        self.is_array = isinstance(sources, np.ndarray)
        if self.is_array:
            self.source_shape = tuple(sources.shape[1:])
            if shape is not None and self.source_shape != tuple(shape):
                raise ValueError(f"sources have shape {self.source_shape}, in the fit {shape}")
        else:
            self.source_shape = shape or (max(map(len, sources)),)

    def __len__(self) -> int:
        return len(self.targets)

    def check_same(self) -> None:
        """Raise an error if a checkpoint belongs to other pairs."""
        sources = self.sources if self.is_array else np.concatenate(self.sources)
        now = np.array(
            [
                np.frombuffer(checksum(np.ascontiguousarray(each)), np.uint64)
                for each in (sources, np.concatenate(self.targets))
            ]
        )
        if not np.array_equal(record_value(lambda: now), now):
            raise ValueError("the checkpoint belongs to a fit of other pairs")

    def source_batch(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Sources, padded, and which steps exist (None: all)."""
        if self.is_array:
            return self.sources[rows], None
        chosen = [self.sources[row] for row in rows]
        width = max(map(len, chosen))
        x, mask = np.zeros((len(rows), width), np.float32), np.zeros((len(rows), width), bool)
        for i, numbers in enumerate(chosen):
            x[i, : len(numbers)], mask[i, : len(numbers)] = numbers, True
        return x, mask

    def target_batch(self, rows: np.ndarray, padding: int) -> np.ndarray:
        """Targets, padded with a number that is no symbol."""
        chosen = [self.targets[row] for row in rows]
        y = np.full((len(rows), max(map(len, chosen))), padding, np.int64)
        for i, numbers in enumerate(chosen):
            y[i, : len(numbers)] = numbers
        return y
