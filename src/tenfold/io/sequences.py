"""Sequences of different lengths, in memory or in a file; `chunk.X` is a `Ragged`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tenfold.engine.arrays import as_weights, compute_dtype
from tenfold.engine.chunk import CHUNK_BYTES, Chunk
from tenfold.engine.context import current_engine
from tenfold.engine.file_matrix import FileMatrix
from tenfold.engine.rows import Rows
from tenfold.engine.source import Source, concatenate_chunks, select_rows
from tenfold.io.npy import open_npy

MAX_CHUNK_SEQUENCES = 8192  # sequences in a chunk


class Ragged:
    """Sequences of different lengths, one below the other.

    Parameters
    ----------
    values : (steps, d) array
        The steps of all sequences; (steps,) for labels of steps.
    offsets : (n + 1,) array of integers
        Sequence i has the steps offsets[i] up to offsets[i + 1].

    Examples
    --------
    >>> words = Ragged(np.array([[3], [1], [4], [1], [5]]), np.array([0, 2, 2, 5]))
    >>> words
    Ragged(3 sequences, 5 x 1 int64)
    >>> words.lengths.tolist(), words[2].ravel().tolist()
    ([2, 0, 3], [4, 1, 5])
    >>> [len(word) for word in words[[2, 0]]]
    [3, 2]
    """

    def __init__(self, values: np.ndarray, offsets: np.ndarray) -> None:
        self.values, self.offsets = values, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        steps = " x ".join(map(str, self.values.shape))
        return f"Ragged({len(self)} sequences, {steps} {self.dtype})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of sequences, and width of a step."""
        return len(self), *self.values.shape[1:]

    @property
    def dtype(self) -> np.dtype:
        """Number type of the steps."""
        return self.values.dtype

    @property
    def lengths(self) -> np.ndarray:
        """Steps of each sequence."""
        return np.diff(self.offsets)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.values[a:b] for a, b in zip(self.offsets, self.offsets[1:], strict=False))

    def __getitem__(self, rows: Any) -> Any:
        """One sequence, or those that a slice, a mask or a list of numbers chooses."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, end, _ = rows.indices(len(self))
            return self._between(first, max(first, end))
        chosen = np.arange(len(self))[rows]
        if chosen.ndim == 0:
            return self.values[self.offsets[chosen] : self.offsets[chosen + 1]]
        return self._take(chosen)

    def pieces(self, length: int, overlap: int = 0) -> Ragged:
        """The sequences cut into pieces of `length` steps that see `overlap` further ones."""
        from tenfold.io.sequence_pieces import cut_sequences

        return cut_sequences(self, length, overlap)

    def _between(self, first: int, end: int) -> Ragged:
        low, high = self.offsets[first], self.offsets[end]
        return Ragged(self.values[low:high], self.offsets[first : end + 1] - low)

    def _take(self, rows: np.ndarray) -> Ragged:
        offsets = offsets_from_lengths(self.lengths[rows])
        shift = np.repeat(self.offsets[rows] - offsets[:-1], np.diff(offsets))
        return Ragged(np.take(self.values, np.arange(offsets[-1]) + shift, axis=0), offsets)

    @staticmethod
    def concatenate(parts: Sequence[Ragged]) -> Ragged:
        """The sequences of all parts, one after the other."""
        lengths = np.concatenate([part.lengths for part in parts])
        return Ragged(
            np.concatenate([part.values for part in parts]), offsets_from_lengths(lengths)
        )


def offsets_from_lengths(lengths: np.ndarray) -> np.ndarray:
    """Where sequences of these lengths begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


class SequenceSource(Source):
    """Sequences in memory, in a memory map or in a `.npy` file.

    Parameters
    ----------
    values : (steps, d) or (steps,) array, memory map or `FileMatrix` file
        The steps of all sequences. One-dimensional whole numbers are symbols and stay whole.
    offsets : (n + 1,) array
        Where sequences begin.
    y : array or Ragged, optional
        A target for each sequence, or for each step.
    w : array, optional
        A weight for each sequence.
    """

    def __init__(self, values: Any, offsets: np.ndarray, y: Any = None, w: Any = None) -> None:
        self.values, self.offsets, self.y, self.w = values, offsets, y, w
        self.n_rows = len(offsets) - 1
        self.n_features = 1 if len(values.shape) == 1 else values.shape[1]
        self.dtype = step_dtype(values)
        self.finite = self.dtype.kind == "i"
        self.shippable = isinstance(values, FileMatrix)
        self.has_target, self.has_weight = y is not None, w is not None

    @property
    def row_bytes(self) -> int:
        """Memory of a sequence of mean length."""
        steps = int(self.offsets[-1]) * self.n_features * self.dtype.itemsize
        return max(steps // max(self.n_rows, 1), 1)

    @property
    def grid(self) -> int:
        """Sequences per chunk."""
        usual = min(max(CHUNK_BYTES // self.row_bytes, 1), MAX_CHUNK_SEQUENCES)
        return self._limit_grid(usual)

    def chunks(self, run: range) -> Iterator[Chunk]:
        """Read the sequences of a run."""
        for number in run:
            first, end = self.span(number)
            low, high = self.offsets[first], self.offsets[end]
            steps = np.ascontiguousarray(self.values[low:high], self.dtype)
            steps = steps.reshape(high - low, self.n_features)
            X = Ragged(steps, self.offsets[first : end + 1] - low)
            y, w = (None if side is None else side[first:end] for side in (self.y, self.w))
            yield Chunk(X, y, w, first)

    def pieces(self, length: int, overlap: int = 0) -> Source:
        """The sequences cut into pieces of `length` steps that see `overlap` further ones."""
        from tenfold.io.sequence_pieces import PieceSource

        return PieceSource(self, length, overlap)

    def take(self, rows: np.ndarray) -> Chunk:
        """The sequences with these numbers, which must ascend."""
        numbers = np.unique(rows // self.grid).tolist() or [0]
        read = (chunk for n in numbers for chunk in self.chunks(range(n, n + 1)))
        return concatenate_chunks([select_rows(chunk, rows) for chunk in read])

    def where(self, row: int) -> str:
        """The place of a sequence in words."""
        file = f"{self.values.disk.shown}, " if isinstance(self.values, FileMatrix) else ""
        return f"{file}sequence {row}"


def step_dtype(values: Any) -> np.dtype:
    """Symbols (one-dimensional whole numbers) stay whole; other steps are float32 or float64."""
    if values.dtype.kind not in "biuf" or len(values.shape) > 2:
        raise ValueError(
            f"the steps have {len(values.shape)} dimensions of type {values.dtype}: give numbers, "
            "with one row per step. Number symbols first: numpy.unique(..., return_inverse=True)."
        )
    if len(values.shape) == 1 and values.dtype.kind in "biu":
        return np.dtype(np.int32 if values.dtype == np.int32 else np.int64)
    return compute_dtype(values.dtype)


def from_sequences(where: Any, target: Any = None, weight: Any = None) -> Rows:
    """Open sequences of different lengths; a row is a sequence.

    Parameters
    ----------
    where : list of arrays, Ragged, or tuple (values, lengths)
        A list holds one array per sequence, (length, d), or (length,) for series and symbols. A
        tuple holds all steps below each other and the length of each sequence; both may be
        arrays, memory maps or paths of `.npy` files.
    target : array or list of arrays, optional
        A label for each sequence, or a list of arrays with a label for each step.
    weight : array, optional
        A weight for each sequence.

    Returns
    -------
    Rows

    Examples
    --------
    >>> rows = from_sequences([[1.0, 2.0, 3.0], [4.0], []])
    >>> rows
    Rows(3 x 1 float64, SequenceSource)
    >>> float(rows.total(lambda chunk: chunk.X.values.sum()))
    10.0
    """
    values, offsets = _values_and_offsets(where)
    if len(offsets) == 1:
        raise ValueError("there are no sequences")
    y = None if target is None else _per_sequence(target, offsets, "target")
    w = None if weight is None else as_weights(_per_sequence(weight, offsets, "weight"))
    return Rows(SequenceSource(values, offsets, y, w), engine=current_engine())


def _values_and_offsets(where: Any) -> tuple[Any, np.ndarray]:
    if isinstance(where, Ragged):
        return where.values, where.offsets
    if not isinstance(where, tuple):
        return _concatenate_sequences(list(where), "sequence")
    values, lengths = (_open_array(part) for part in where)
    offsets = offsets_from_lengths(lengths[:])
    if (np.diff(offsets) < 0).any() or offsets[-1] != values.shape[0]:
        raise ValueError(
            f"the lengths add up to {offsets[-1]} steps and the values have {values.shape[0]}: "
            "give the length of each sequence, in the order of the values"
        )
    return values, offsets


def _open_array(where: Any) -> Any:
    path = isinstance(where, str | os.PathLike)
    return open_npy(os.fspath(where)) if path else np.asanyarray(where)


def _concatenate_sequences(parts: list[Any], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Arrays below each other; an empty one has no say in width and number type."""
    arrays = [np.asarray(part) for part in parts]
    telling = [array for array in arrays if len(array)] or arrays[:1]
    for at, array in enumerate(arrays):
        if len(array) and array.shape[1:] != telling[0].shape[1:]:
            raise ValueError(
                f"{name} {at} has the shape {array.shape}, {name} 0 {telling[0].shape}: all steps "
                "must have the same number of columns"
            )
    values = np.concatenate(telling) if telling else np.empty(0)
    return values, offsets_from_lengths(np.array([len(array) for array in arrays], np.int64))


def _per_sequence(side: Any, offsets: np.ndarray, name: str) -> Any:
    """A target or weights: one entry per sequence, or an array per sequence with one per step."""
    if isinstance(side, list) and side and np.ndim(side[0]) > 0:
        side = Ragged(*_concatenate_sequences(side, name))
    if isinstance(side, Ragged):
        _check_equal_lengths(side, offsets, name)
        return side
    side = np.asarray(side)
    if len(side) != len(offsets) - 1:
        raise ValueError(f"{len(side)} entries of the {name}, but {len(offsets) - 1} sequences")
    return side


def _check_equal_lengths(side: Ragged, offsets: np.ndarray, name: str) -> None:
    lengths = np.diff(offsets)
    if len(side) != len(lengths):
        raise ValueError(f"the {name} has {len(side)} sequences, but X has {len(lengths)}")
    differ = np.flatnonzero(side.lengths != lengths)
    if len(differ):
        at = differ[0]
        raise ValueError(
            f"sequence {at} has {lengths[at]} steps, but its {name} has {side.lengths[at]}"
        )
