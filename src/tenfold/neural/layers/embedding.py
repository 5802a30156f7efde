"""Embedding: a learned vector for each symbol."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold._compiled.reductions import add_rows_by_label
from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers.base import PassContext, Shape, shape_error


class Embedding(NamedTuple):
    """A learned vector for each symbol: the product of one-hot rows with a table, without it.

    Parameters
    ----------
    symbols : int
        How many there are; they are numbered 0, 1, ...
    width : int
        Numbers in a vector.
    start : str or float
        Where the table begins, see `tenfold.neural.initializers`.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]])
    >>> Embedding(3, 2).forward([table], np.array([[2, 1]]), PassContext())[0]
    array([[[3., 4.],
            [1., 2.]]])
    """

    symbols: int
    width: int
    start: str | float = 1.0

    def output(self, shape: Shape) -> Shape:
        if not (len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)):
            raise shape_error(self, shape, "(steps,) or (steps, 1)")
        return (shape[0], self.width)

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return [initialize_weights(self.start, None, (self.symbols, self.width), rng, dtype)]

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        numbers = self.numbers(x)
        return np.take(params[0], numbers, axis=0), (x.shape, numbers)

    def numbers(self, x: np.ndarray) -> np.ndarray:
        """Numbers of the symbols, (n, steps)."""
        numbers = x.reshape(x.shape[:2]).astype(np.int64)
        wrong = (numbers < 0) | (numbers >= self.symbols) | (numbers != x.reshape(x.shape[:2]))
        if wrong.any():
            row, step = np.argwhere(wrong)[0]
            raise ValueError(
                f"step {step} of a sequence is {x[row, step].item()}, which is no symbol: "
                f"Embedding({self.symbols}, ...) takes whole numbers from 0 to {self.symbols - 1}"
            )
        return numbers

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        shape, numbers = kept
        slopes = np.zeros_like(params[0])
        rows = np.ascontiguousarray(slope).reshape(-1, self.width)
        counts = np.zeros(self.symbols)
        add_rows_by_label(rows, rows[:0, 0], numbers.reshape(-1), slopes, counts)
        return np.zeros(shape, slope.dtype) if need_input else None, [slopes]
