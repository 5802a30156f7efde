"""Long sequences cut into pieces, so that one sequence is read by several threads or workers.

A piece owns `length` steps of its sequence and sees `overlap` further ones. What starts in an
owned step (a pair of symbols, a window) is counted in this piece and in no other. Pieces keep their
order, so statistics that merge from left to right may be products that do not commute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tenfold.engine.chunk import CHUNK_BYTES, Chunk
from tenfold.engine.source import Source, concatenate_chunks, select_rows
from tenfold.io.sequences import Ragged, SequenceSource, offsets_from_lengths

_MAX_CHUNK_PIECES = 8192


class RaggedPieces(Ragged):
    """Pieces of sequences.

    Attributes
    ----------
    sequence : (n,) number of the sequence of each piece
    start : (n,) number of its first step within the sequence
    owned : (n,) steps that belong to the piece; those after them are owned by the next one

    Examples
    --------
    >>> words = Ragged(np.arange(5)[:, None], np.array([0, 4, 5]))
    >>> pieces = cut_sequences(words, 2, overlap=1)
    >>> [piece.ravel().tolist() for piece in pieces]
    [[0, 1, 2], [2, 3], [4]]
    >>> pieces.sequence.tolist(), pieces.start.tolist(), pieces.owned.tolist()
    ([0, 0, 1], [0, 2, 0], [2, 2, 1])
    """

    def __init__(
        self,
        values: np.ndarray,
        offsets: np.ndarray,
        sequence: np.ndarray,
        start: np.ndarray,
        owned: np.ndarray,
    ) -> None:
        super().__init__(values, offsets)
        self.sequence, self.start, self.owned = sequence, start, owned

    def __getitem__(self, rows: Any) -> Any:
        part = super().__getitem__(rows)
        if not isinstance(part, Ragged):
            return part
        places = (column[rows] for column in (self.sequence, self.start, self.owned))
        return RaggedPieces(part.values, part.offsets, *places)

    @staticmethod
    def concatenate(parts: Sequence[Any]) -> RaggedPieces:
        """The pieces of all parts, one after the other."""
        whole = Ragged.concatenate(parts)
        names = ("sequence", "start", "owned")
        places = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return RaggedPieces(whole.values, whole.offsets, *places)


def cut_sequences(sequences: Ragged, length: int, overlap: int = 0) -> RaggedPieces:
    """Cut sequences in memory into pieces of `length` steps that see `overlap` further ones."""
    sequence, start, owned, seen = _piece_bounds(sequences.lengths, length, overlap)
    first = sequences.offsets[sequence] + start
    return RaggedPieces(
        _gather_steps(sequences.values, first, seen),
        offsets_from_lengths(seen),
        sequence,
        start,
        owned,
    )


class PieceSource(Source):
    """The pieces of the sequences of a source, as rows.

    `chunk.X` is a `RaggedPieces`. A target or weight of a sequence is that of all its pieces; a
    target per step is cut like the steps.

    Parameters
    ----------
    source : SequenceSource
        The sequences.
    length : int
        Steps that a piece owns; the last piece of a sequence may own fewer.
    overlap : int
        Further steps that a piece sees.
    """

    def __init__(self, source: SequenceSource, length: int, overlap: int = 0) -> None:
        self.source, self.length, self.overlap = source, length, overlap
        lengths = np.diff(source.offsets)
        self.sequence, self.start, self.owned, self.seen = _piece_bounds(lengths, length, overlap)
        self.n_rows, self.n_features = len(self.sequence), source.n_features
        self.dtype, self.finite, self.shippable = source.dtype, source.finite, source.shippable
        self.has_target, self.has_weight = source.has_target, source.has_weight

    @property
    def row_bytes(self) -> int:
        """Memory of a piece of mean length."""
        steps = int(self.seen.sum()) * self.n_features * self.dtype.itemsize
        return max(steps // max(self.n_rows, 1), 1)

    @property
    def grid(self) -> int:
        """Pieces per chunk."""
        usual = min(max(CHUNK_BYTES // self.row_bytes, 1), _MAX_CHUNK_PIECES)
        return self._limit_grid(usual)

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the pieces of a run; neighbouring ones are read together."""
        return (self._read(*self.span(number)) for number in run)

    def take(self, rows: np.ndarray) -> Chunk:
        """The pieces with these numbers, which must ascend."""
        numbers = np.unique(rows // self.grid).tolist() or [0]
        chunks = [self._read(*self.span(number)) for number in numbers]
        return concatenate_chunks([select_rows(chunk, rows) for chunk in chunks])

    def where(self, row: int) -> str:
        """The place of a piece in words."""
        return f"{self.source.where(int(self.sequence[row]))}, step {self.start[row]}"

    def _read(self, first: int, end: int) -> Chunk:
        source, rows = self.source, slice(first, end)
        sequence, seen = self.sequence[rows], self.seen[rows]
        begin = source.offsets[sequence] + self.start[rows]
        low = int(begin[0]) if end > first else 0
        high = int((begin + seen).max()) if end > first else 0
        steps = np.ascontiguousarray(source.values[low:high], self.dtype)
        steps = steps.reshape(high - low, self.n_features)
        places = (sequence, self.start[rows], self.owned[rows])
        offsets = offsets_from_lengths(seen)
        X = RaggedPieces(_gather_steps(steps, begin - low, seen), offsets, *places)
        y, w = source.y, source.w
        if isinstance(y, Ragged):
            y = Ragged(_gather_steps(y.values, begin, seen), offsets)
        elif y is not None:
            y = y[sequence]
        return Chunk(X, y, None if w is None else w[sequence], first)


def _piece_bounds(
    lengths: np.ndarray, length: int, overlap: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sequence, first step, owned steps and seen steps of each piece; an empty sequence has one."""
    if length < 1 or overlap < 0:
        raise ValueError(f"length={length}, overlap={overlap}: give at least 1 and at least 0")
    counts = np.maximum(-(-lengths // length), 1)
    sequence = np.repeat(np.arange(len(lengths)), counts)
    before = np.cumsum(counts) - counts
    start = (np.arange(len(sequence)) - before[sequence]) * length
    left = lengths[sequence] - start
    return sequence, start, np.minimum(left, length), np.minimum(left, length + overlap)


def _gather_steps(values: np.ndarray, first: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Steps first[i] up to first[i] + lengths[i], for each i, below each other."""
    offsets = offsets_from_lengths(lengths)
    if len(values) == offsets[-1] and np.array_equal(first, offsets[:-1]):
        return values
    return np.take(
        values, np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], lengths), axis=0
    )
