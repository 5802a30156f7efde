r"""Convolutional layers over images and series.

.. math:: z_{ijf} = b_f + \sum_{k, l, c} x_{i s + k, \, j s + l, \, c} \, W_{klcf}

(a cross-correlation, as everywhere in networks; a convolution has the kernel turned around).
[001, 3.4; 003, unit 3; 004, 4.4]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural._buffer_pool import empty, zeros
from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers._conv_numba import CACHE_VALUES, conv_backward, conv_forward
from tenfold.neural.layers.activations import Activation, as_activation
from tenfold.neural.layers.base import PassContext, Shape, shape_error

Pair = tuple[int, int]


def as_pair(number: int | Pair) -> Pair:
    """The same number for both axes, or two given ones."""
    return (number, number) if isinstance(number, int) else (number[0], number[1])


class Conv2d(NamedTuple):
    """Kernels that move over images (h, w, c).

    Parameters
    ----------
    filters : int
        Number of kernels: the channels that come out.
    kernel : int or pair
        Height and width.
    activation : str, Activation or None
        The function of the score; linear by default.
    stride : int or pair
        How far a kernel moves at a time.
    padding : int, pair or "same"
        Rows and columns of zeros on each side; "same" keeps the size at stride 1 (odd kernels).
    bias : bool
        Whether there is a constant per filter.
    start : str or float
        Where weights begin, see `tenfold.neural.initializers`; constants begin at zero.

    Examples
    --------
    >>> Conv2d(32, 3).output((28, 28, 1)), Conv2d(32, 3, padding="same").output((28, 28, 1))
    ((26, 26, 32), (28, 28, 32))
    """

    filters: int
    kernel: int | Pair = 3
    activation: str | Activation | None = None
    stride: int | Pair = 1
    padding: int | Pair | str = 0
    bias: bool = True
    start: str | float = "auto"

    @property
    def around(self) -> Pair:
        """Rows and columns of zeros on each side."""
        if self.padding != "same":
            return as_pair(self.padding)  # type: ignore[arg-type]
        kh, kw = as_pair(self.kernel)
        if not kh % 2 or not kw % 2:
            raise ValueError(f"padding 'same' needs odd kernels, not {self.kernel}: give a number")
        return kh // 2, kw // 2

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 3:
            raise shape_error(self, shape, "(height, width, channels)")
        as_activation(self.activation).output(shape)
        (kh, kw), (sh, sw), (ph, pw) = as_pair(self.kernel), as_pair(self.stride), self.around
        h, w = shape[0] + 2 * ph - kh, shape[1] + 2 * pw - kw
        if h < 0 or w < 0:
            raise shape_error(self, shape, f"at least ({kh - 2 * ph}, {kw - 2 * pw}, c)")
        return h // sh + 1, w // sw + 1, self.filters

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        size = (*as_pair(self.kernel), shape[-1], self.filters)
        W = initialize_weights(self.start, self.activation, size, rng, dtype)
        return [W, np.zeros(self.filters, dtype)] if self.bias else [W]

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        z = empty((len(x), *self.output(x.shape[1:])), x.dtype)
        padded = self.padded(x)
        b = params[1] if self.bias else np.zeros(self.filters, x.dtype)
        relu, how = as_activation(self.activation).name == "relu", self.how(padded)
        patches, _ = self.room(padded)
        conv_forward(
            flat_view(padded), len(x), flat_view(params[0]), b, how, relu, patches, flat_view(z)
        )
        a, kept = (z, z) if relu else as_activation(self.activation).apply(z)
        return a, (padded, kept)

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        x, bent = kept
        relu = as_activation(self.activation).name == "relu"
        slope = slope if relu else as_activation(self.activation).backpropagate(bent, slope)
        slope, (patches, _) = np.ascontiguousarray(slope), self.room(x)
        values = flat_view(bent) if relu else flat_view(slope)
        dx, turned, dW, db, part = self.slopes(params, x, need_input=need_input)
        how = (
            turned,
            self.how(x),
            values,
            relu,
            flat_view(slope),
            flat_view(dx),
            dW,
            db,
            patches,
            part,
        )
        conv_backward(flat_view(x), len(x), *how)
        return self.backpropagate(params, dx, dW, db, need_input=need_input)

    def slopes(self, params: list, x: np.ndarray, *, need_input: bool) -> tuple:
        """Slopes to begin from in images, weights and constants; weights transposed, and room."""
        W = params[0].reshape(-1, self.filters)
        dx = zeros(x.shape if need_input else (0,), x.dtype)
        own = flat_view(np.ascontiguousarray(W.T)), np.zeros(W.size, x.dtype)
        return dx, *own, np.zeros(self.filters, x.dtype), np.empty(W.size, x.dtype)

    def backpropagate(
        self, params: list, dx: np.ndarray, dW: np.ndarray, db: np.ndarray, *, need_input: bool
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """Slopes in the shapes of images and parameters."""
        slopes = [dW.reshape(params[0].shape), db][: len(params)]
        return self.cropped(dx) if need_input else None, slopes

    def how(self, x: np.ndarray) -> tuple[int, ...]:
        """What lies where in images that are wide enough, see `patch_leaves`."""
        (kh, kw), (sh, sw), (_, h, w, c) = as_pair(self.kernel), as_pair(self.stride), x.shape
        return h, w * c, (h - kh) // sh + 1, (w - kw) // sw + 1, kh, kw * c, sh, sw * c

    def room(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Memory for patches and scores of as many images as the cache holds."""
        _, _, oh, ow, kh, run, _, _ = self.how(x)
        places, size = oh * ow, kh * run
        few = max(min(CACHE_VALUES // (places * (size + self.filters)), len(x)), 1) * places
        return empty((few * size,), x.dtype), empty((few * self.filters,), x.dtype)

    def padded(self, x: np.ndarray) -> np.ndarray:
        """Images with zeros around them."""
        ph, pw = self.around
        if not (ph or pw):
            return np.ascontiguousarray(x)
        n, h, w, c = x.shape
        wide = zeros((n, h + 2 * ph, w + 2 * pw, c), x.dtype)
        wide[:, ph : ph + h, pw : pw + w] = x
        return wide

    def cropped(self, x: np.ndarray) -> np.ndarray:
        """Images without what `padded` has put around them."""
        (ph, pw), (_, h, w, _) = self.around, x.shape
        return np.ascontiguousarray(x[:, ph : h - ph, pw : w - pw])


def flat_view(x: np.ndarray) -> np.ndarray:
    """All numbers in a row."""
    return x.reshape(-1)


class Conv1d(NamedTuple):
    """Kernels that move along a series (t, c): `Conv2d` on images of one row.

    Parameters
    ----------
    filters, kernel, activation, stride, padding, bias, start : see `Conv2d`
        With one number each for kernel, stride and padding.

    Examples
    --------
    >>> Conv1d(8, 5, stride=2).output((100, 3))
    (48, 8)
    """

    filters: int
    kernel: int = 3
    activation: str | Activation | None = None
    stride: int = 1
    padding: int | str = 0
    bias: bool = True
    start: str | float = "auto"

    @property
    def flat(self) -> Conv2d:
        """The same kernels, of height one."""
        around = self.padding if self.padding == "same" else (0, self.padding)
        kernel, stride = (1, self.kernel), (1, self.stride)
        moves: Any = {"kernel": kernel, "stride": stride, "padding": around}
        return Conv2d(
            self.filters, activation=self.activation, bias=self.bias, start=self.start, **moves
        )

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 2:
            raise shape_error(self, shape, "(steps, channels)")
        return self.flat.output((1, *shape))[1:]

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        W, *rest = self.flat.begin((1, *shape), rng, dtype)
        return [W[0], *rest]

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        a, kept = self.flat.forward([params[0][None], *params[1:]], x[:, None], way)
        return a[:, 0], kept

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        inner = [params[0][None], *params[1:]]
        dx, slopes = self.flat.backward(inner, kept, slope[:, None], need_input=need_input)
        return None if dx is None else dx[:, 0], [slopes[0][0], *slopes[1:]]

    def mask(self, way: PassContext) -> np.ndarray | None:
        """Steps whose kernel meets a step that is there."""
        if way.mask is None:
            return None
        ones = Conv1d(1, self.kernel, None, self.stride, self.padding, bias=False)
        there = way.mask[:, :, None].astype(np.float32)
        weight = np.ones((self.kernel, 1, 1), np.float32)
        return ones.forward([weight], there, way)[0][:, :, 0] > 0
