"""How sequences enter a network: padded to the longest of a few, with a mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.embedding import Embedding
from tenfold.neural.judging import layer_outputs
from tenfold.neural.layer import Layer
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


def is_matrix(X: Any) -> bool:
    """Whether a list of arrays may as well be the rows of a matrix.

    Examples
    --------
    >>> is_matrix([np.zeros(2), np.ones(2)]), is_matrix([np.zeros(2), np.zeros(3)])
    (True, False)
    """
    return not isinstance(X, Ragged) and len({np.shape(x) for x in X}) == 1 and np.ndim(X[0]) == 1


def of_steps(X: np.ndarray, y: Any) -> bool:
    """Whether sequences of one length have a target for each step: an array for each of them.

    Examples
    --------
    >>> X = np.zeros((2, 3, 1))
    >>> of_steps(X, [np.zeros(3), np.zeros(3)]), of_steps(X, [[0, 1], [1, 0]])
    (True, False)
    """
    arrays = isinstance(y, list) and len(y) > 0 and isinstance(y[0], np.ndarray) and y[0].ndim > 0
    return X.ndim == 3 and (arrays or isinstance(y, Ragged))


def reads_steps(layers: Sequence[Layer]) -> bool:
    """Whether a layer is made for sequences."""
    return any(isinstance(a, Embedding) or hasattr(inner(a), "all_states") for a in layers)


def inner(layer: Any) -> Any:
    """The layer itself, or that which it reads in both directions."""
    return getattr(layer, "layer", layer)


def assert_step_by_step(layers: Sequence[Layer]) -> None:
    """Raise an error if a layer would take the filling of short sequences for steps."""
    from tenfold.neural.convolution import Conv1d, Conv2d
    from tenfold.neural.norms import BatchNorm
    from tenfold.neural.pooling import AveragePool, MaxPool
    from tenfold.neural.shaping import Flatten, Reshape

    mixing = (AveragePool, BatchNorm, Conv1d, Conv2d, Flatten, MaxPool, Reshape)
    for number, layer in enumerate(layers):
        if getattr(inner(layer), "all_states", True) is False:
            return  # the last state is no sequence any more
        if isinstance(layer, mixing):
            raise ValueError(  # noqa: TRY004  it is the sequences that do not suit
                f"layer {number}, {type(layer).__name__}, mixes the steps of a sequence and cannot "
                "take sequences of different lengths: put a recurrent layer before it, or give "
                "sequences of one length as an array"
            )


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
