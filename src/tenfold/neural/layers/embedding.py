"""Embedding: a learned vector for each symbol."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers.base import PassContext, Shape, shape_error


class Embedding(NamedTuple):
    """A learned vector for each symbol: the product of one-hot rows with a table, without it.

    Parameters
    ----------
    symbols : int
        Number of symbols; they are numbered 0, 1, ...
    width : int
        Length of a vector.
    init : str or float
        Initializer of the table, see `tenfold.neural.initializers`.

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
    init: str | float = 1.0

    def output_shape(self, shape: Shape) -> Shape:
        if not (len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)):
            raise shape_error(self, shape, "(steps,) or (steps, 1)")
        return (shape[0], self.width)

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return [initialize_weights(self.init, None, (self.symbols, self.width), rng, dtype)]

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        indices = self.indices(x)
        return np.take(params[0], indices, axis=0), (x.shape, indices)

    def indices(self, x: np.ndarray) -> np.ndarray:
        """Symbols as integers, (n_rows, n_steps); an error if a value is no symbol."""
        indices = x.reshape(x.shape[:2]).astype(np.int64)
        invalid = (indices < 0) | (indices >= self.symbols) | (indices != x.reshape(x.shape[:2]))
        if invalid.any():
            row, step = np.argwhere(invalid)[0]
            raise ValueError(
                f"step {step} of a sequence is {x[row, step].item()}, which is no symbol: "
                f"Embedding({self.symbols}, ...) takes whole numbers from 0 to {self.symbols - 1}"
            )
        return indices

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        shape, indices = cache
        rows = np.ascontiguousarray(gradient).reshape(-1, self.width)
        one_hot = csr_array(
            (np.ones(len(rows), rows.dtype), indices.reshape(-1), np.arange(len(rows) + 1)),
            shape=(len(rows), self.symbols),
        )
        return np.zeros(shape, gradient.dtype) if need_input else None, [one_hot.T @ rows]
