"""How sequences enter a network: padded to the longest of a few, with a mask."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.judging import layer_outputs
from tenfold.neural.network import Network
from tenfold.neural.steps import Task, dense_rows
from tenfold.rows import Chunk, Ragged


def sequence_rows(
    X: Any, order: np.ndarray, network: Network, dtype: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Some sequences as (n, steps, numbers), and which steps are there: (n, steps), None if all.

    Examples
    --------
    >>> import numpy as np
    >>> X = Ragged(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 3]))
    >>> x, mask = sequence_rows(X, np.array([0, 1]), Network((), (2, 1), ()), np.float32)
    >>> x[:, :, 0].tolist(), mask.tolist()
    ([[1.0, 0.0], [2.0, 3.0]], [[True, False], [True, True]])
    """
    if not isinstance(X, Ragged):
        return dense_rows(X, order, network, dtype)
    part = X[order]
    return padded(part, part.lengths.max(initial=1), dtype)


def padded(part: Ragged, steps: int, dtype: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Sequences filled up with zeros to a number of steps, and which steps are there."""
    mask = np.arange(steps) < part.lengths[:, None]
    x = np.zeros((*mask.shape, *part.values.shape[1:]), dtype)
    x[mask] = part.values
    return x, None if mask.all() else mask


def longest_rows(
    X: Ragged, order: np.ndarray, network: Network, dtype: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Sequences that are all filled up to the longest of the fit."""
    part, steps = X[order], network.shape[0]
    if part.lengths.max(initial=0) > steps:
        raise ValueError(
            f"a sequence has {part.lengths.max()} steps, but what layers give is as long as the "
            f"longest sequence of the fit, {steps}: cut it"
        )
    return padded(part, steps, dtype)


def sequence_outputs(chunk: Chunk, task: Task, params: list[np.ndarray]) -> np.ndarray:
    """What every layer gives: all sequences need one length."""
    ragged = isinstance(chunk.X, Ragged)
    return layer_outputs(chunk, task._replace(intake=longest_rows) if ragged else task, params)


def is_ragged(X: Any) -> bool:
    """Whether X is a list of sequences: arrays, or lists of different lengths.

    Examples
    --------
    >>> is_ragged([[1, 2], [3]]), is_ragged([[1, 2], [3, 4]]), is_ragged([np.zeros(2)])
    (True, False, True)
    """
    if isinstance(X, Ragged):
        return True
    if not isinstance(X, list) or not X:
        return False
    if isinstance(X[0], np.ndarray):
        return X[0].ndim in (1, 2)
    return all(isinstance(x, list) for x in X) and len({len(x) for x in X}) > 1


class Extent(NamedTuple):
    """How long sequences are, and how large their numbers."""

    steps: int
    number: float

    def merge(self, other: Extent) -> Extent:
        return Extent(max(self.steps, other.steps), max(self.number, other.number))


def extent(chunk: Chunk) -> Extent:
    """Steps of the longest sequence (1 if rows are flat), and the largest number."""
    if not isinstance(chunk.X, Ragged):
        return Extent(1, float(chunk.X.max(initial=0)))
    return Extent(int(chunk.X.lengths.max(initial=1)), float(chunk.X.values.max(initial=0)))
