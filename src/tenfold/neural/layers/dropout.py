"""Dropout."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS
from tenfold._compiled.row_hash import mix_bits
from tenfold.neural._buffer_pool import empty
from tenfold.neural.layers.base import PassContext, Shape

_HALF_BITS, _LOW_BITS = np.uint64(32), np.uint64(2**32 - 1)


@njit(**ENTRY_OPTIONS)
def drop_values(values, at, n, size, rate, seed, first, out, out_at) -> None:  # noqa: ANN001
    """Drop a random share `rate` of n rows of `size` values, and scale up the others.

    Rows are parts of flat arrays, at offsets; row i has the number first + i. Whether a value is
    kept is a hash of seed, row and column, so that the same call drops the same entries of a
    gradient. Of the 64 bits of a hash, two columns half a row apart take 32 each.
    """
    dtype = values.dtype.type
    factor, zero = dtype(1 / (1 - rate)), dtype(0)
    least, start = np.uint64(rate * 2.0**32), mix_bits(np.uint64(seed))
    half = np.uint64((size + 1) // 2)
    rest = np.uint64(size) - half
    for i in range(n):
        x, y = np.uint64(at + i * size), np.uint64(out_at + i * size)
        row = start + np.uint64(first + i) * half
        for j in range(rest):
            bits = mix_bits(row + np.uint64(j))
            low, high = values[x + j], values[x + j + half]
            out[y + j] = factor * low if bits & _LOW_BITS >= least else zero
            out[y + j + half] = factor * high if bits >> _HALF_BITS >= least else zero
        if rest < half:
            bits = mix_bits(row + rest) & _LOW_BITS
            out[y + rest] = factor * values[x + rest] if bits >= least else zero


class Dropout(NamedTuple):
    """Dropout: set a random fraction of the values to zero in training, and scale up the others.

    The choice depends on the seed of the step and on the row of the batch, not on threads. In
    prediction the layer is the identity.

    Parameters
    ----------
    rate : float
        Fraction of the values that are set to zero.

    References
    ----------
    N. Srivastava, G. Hinton, A. Krizhevsky, I. Sutskever, R. Salakhutdinov (2014), "Dropout: a
    simple way to prevent neural networks from overfitting".

    Examples
    --------
    >>> import numpy as np
    >>> y, _ = Dropout(0.5).forward([], np.ones((1, 1000)), PassContext(training=True))
    >>> sorted(set(y.ravel().tolist()))
    [0.0, 2.0]
    """

    rate: float = 0.5

    def output_shape(self, shape: Shape) -> Shape:
        if not 0 <= self.rate < 1:
            raise ValueError(f"Dropout({self.rate}): the rate must be at least 0 and below 1")
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        if not context.training or self.rate == 0:
            return x, None
        dropped = empty(x.shape, x.dtype)
        self._drop(np.ascontiguousarray(x), context.seed, context.first_row, dropped)
        return dropped, (context.seed, context.first_row)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        if cache is not None:
            gradient = np.ascontiguousarray(gradient)
            seed, first = cache
            self._drop(gradient, seed, first, gradient)
        return gradient, []

    def _drop(self, values: np.ndarray, seed: int, first: int, out: np.ndarray) -> None:
        n, size = len(values), prod(values.shape[1:])
        flat, out = values.reshape(-1), out.reshape(-1)
        drop_values(flat, 0, n, size, self.rate, seed, first, out, 0)
