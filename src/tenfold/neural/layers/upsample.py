"""Upsampling: larger images by repeating pixels, the counterpart of pooling in a decoder."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural.layers.base import PassContext, Shape, shape_error


class Upsample(NamedTuple):
    """Images in a larger size: each pixel is repeated (the nearest one is taken).

    A convolution after it makes a learned upsampling without the checkerboards of transposed
    convolutions.

    Parameters
    ----------
    size : pair of int
        Height and width of the output; at least those of the input.

    See Also
    --------
    MaxPool, Conv2d

    References
    ----------
    A. Odena, V. Dumoulin, C. Olah (2016), "Deconvolution and checkerboard artifacts".

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[1.0, 2.0]])[None, :, :, None]
    >>> Upsample((2, 3)).forward([], image, PassContext())[0][0, :, :, 0]
    array([[1., 1., 2.],
           [1., 1., 2.]])
    """

    size: tuple[int, int]

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 3 or shape[0] > self.size[0] or shape[1] > self.size[1]:
            raise shape_error(self, shape, f"(height, width, channels), at most {self.size}")
        return (*self.size, shape[2])

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        rows, columns = (
            np.arange(large) * small // large
            for large, small in zip(self.size, x.shape[1:3], strict=True)
        )
        return np.take(np.take(x, rows, axis=1), columns, axis=2), x.shape[1:3]

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        for axis, (large, small) in enumerate(zip(self.size, cache, strict=True), start=1):
            first = -(-np.arange(small) * large // small)  # the first pixel that repeats this one
            gradient = np.add.reduceat(gradient, first, axis=axis)
        return gradient, []
