"""Ragged rows: a row is a whole sequence, of steps of the same width.

All steps lie below each other in one array; `offsets` say where each sequence begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


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
        return self._gathered(chosen)

    def _between(self, first: int, end: int) -> Ragged:
        low, high = self.offsets[first], self.offsets[end]
        return Ragged(self.values[low:high], self.offsets[first : end + 1] - low)

    def _gathered(self, rows: np.ndarray) -> Ragged:
        offsets = offsets_of(self.lengths[rows])
        shift = np.repeat(self.offsets[rows] - offsets[:-1], np.diff(offsets))
        return Ragged(np.take(self.values, np.arange(offsets[-1]) + shift, axis=0), offsets)

    @staticmethod
    def joined(parts: Sequence[Ragged]) -> Ragged:
        """The sequences of all parts, one after the other."""
        lengths = np.concatenate([part.lengths for part in parts])
        return Ragged(np.concatenate([part.values for part in parts]), offsets_of(lengths))


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Where sequences of these lengths begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
