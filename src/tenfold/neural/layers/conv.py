r"""Convolutional layers: the same small kernels at every place of an image or a series.

.. math:: z_{ijf} = b_f + \sum_{k, l, c} x_{i s + k, \, j s + l, \, c} \, W_{klcf}

This is a cross-correlation, as in all network libraries; a convolution flips the kernel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenfold.neural._buffer_pool import empty, zeros
from tenfold.neural._thresholds import CONV_CACHE_VALUES
from tenfold.neural.initializers import initialize_weights
from tenfold.neural.layers._conv_numba import conv_backward, conv_forward
from tenfold.neural.layers.activations import Activation, as_activation
from tenfold.neural.layers.base import PassContext, Shape, shape_error

Pair = tuple[int, int]


def as_pair(number: int | Pair) -> Pair:
    """The same number for both axes, or the two given ones."""
    return (number, number) if isinstance(number, int) else (number[0], number[1])


class Conv2d(NamedTuple):
    """Convolution of images (height, width, channels).

    Parameters
    ----------
    filters : int
        Number of kernels: the channels of the output.
    kernel : int or pair
        Height and width of a kernel.
    activation : str, Activation or None
        Activation function of the scores; linear by default.
    stride : int or pair
        Step of the kernel along each axis.
    padding : int, pair, "same" or "valid"
        Rows and columns of zeros on each side; "same" keeps the size at stride 1 (odd kernels),
        "valid" is none.
    bias : bool
        Whether each filter has a bias.
    init : str or float
        Initializer of the weights, see `tenfold.neural.initializers`; biases start at zero.

    See Also
    --------
    Conv1d, MaxPool, AveragePool

    References
    ----------
    Y. LeCun, L. Bottou, Y. Bengio, P. Haffner (1998), "Gradient-based learning applied to document
    recognition".

    Examples
    --------
    >>> layer, padded = Conv2d(32, 3), Conv2d(32, 3, padding="same")
    >>> layer.output_shape((28, 28, 1)), padded.output_shape((28, 28, 1))
    ((26, 26, 32), (28, 28, 32))
    """

    filters: int
    kernel: int | Pair = 3
    activation: str | Activation | None = None
    stride: int | Pair = 1
    padding: int | Pair | str = 0
    bias: bool = True
    init: str | float = "auto"

    @property
    def pad_widths(self) -> Pair:
        """Rows and columns of zeros on each side."""
        if self.padding == "valid":
            return 0, 0
        if isinstance(self.padding, str) and self.padding != "same":
            raise ValueError(f"padding={self.padding!r} is unknown: 'same', 'valid' or a number")
        if self.padding != "same":
            return as_pair(self.padding)  # type: ignore[arg-type]
        kh, kw = as_pair(self.kernel)
        if not kh % 2 or not kw % 2:
            raise ValueError(f"padding 'same' needs odd kernels, not {self.kernel}: give a number")
        return kh // 2, kw // 2

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 3:
            raise shape_error(self, shape, "(height, width, channels)")
        as_activation(self.activation).output_shape(shape)
        (kh, kw), (sh, sw), (ph, pw) = (
            as_pair(self.kernel),
            as_pair(self.stride),
            self.pad_widths,
        )
        h, w = shape[0] + 2 * ph - kh, shape[1] + 2 * pw - kw
        if h < 0 or w < 0:
            raise shape_error(self, shape, f"at least ({kh - 2 * ph}, {kw - 2 * pw}, c)")
        return h // sh + 1, w // sw + 1, self.filters

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        size = (*as_pair(self.kernel), shape[-1], self.filters)
        W = initialize_weights(self.init, self.activation, size, rng, dtype)
        return [W, np.zeros(self.filters, dtype)] if self.bias else [W]

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        z = empty((len(x), *self.output_shape(x.shape[1:])), x.dtype)
        padded = self.pad(x)
        b = params[1] if self.bias else np.zeros(self.filters, x.dtype)
        activation, geometry = as_activation(self.activation), self.geometry(padded)
        relu, (patches, _) = activation.name == "relu", self.workspace(padded)
        W = flat_view(params[0])
        conv_forward(flat_view(padded), len(x), W, b, geometry, relu, patches, flat_view(z))
        a, cached = (z, z) if relu else activation.apply(z)
        return a, (padded, cached)

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        x, cached = cache
        activation = as_activation(self.activation)
        relu = activation.name == "relu"
        gradient = gradient if relu else activation.backpropagate(cached, gradient)
        gradient, (patches, _) = np.ascontiguousarray(gradient), self.workspace(x)
        dx, transposed, dW, db, part = self.gradient_buffers(params, x, need_input=need_input)
        conv_backward(
            flat_view(x),
            len(x),
            transposed,
            self.geometry(x),
            flat_view(cached) if relu else flat_view(gradient),
            relu,
            flat_view(gradient),
            flat_view(dx),
            dW,
            db,
            patches,
            part,
        )
        return self.shape_gradients(params, dx, dW, db, need_input=need_input)

    def gradient_buffers(self, params: list, x: np.ndarray, *, need_input: bool) -> tuple:
        """Zero gradients in images, weights and biases; transposed weights, and a workspace."""
        W = params[0].reshape(-1, self.filters)
        dx = zeros(x.shape if need_input else (0,), x.dtype)
        transposed, dW = flat_view(np.ascontiguousarray(W.T)), np.zeros(W.size, x.dtype)
        return dx, transposed, dW, np.zeros(self.filters, x.dtype), np.empty(W.size, x.dtype)

    def shape_gradients(
        self, params: list, dx: np.ndarray, dW: np.ndarray, db: np.ndarray, *, need_input: bool
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """Gradients in the shapes of images and parameters."""
        gradients = [dW.reshape(params[0].shape), db][: len(params)]
        return self.crop(dx) if need_input else None, gradients

    def geometry(self, x: np.ndarray) -> tuple[int, ...]:
        """Sizes and strides of padded images and kernels, see `_conv_numba`."""
        (kh, kw), (sh, sw), (_, h, w, c) = as_pair(self.kernel), as_pair(self.stride), x.shape
        return h, w * c, (h - kh) // sh + 1, (w - kw) // sw + 1, kh, kw * c, sh, sw * c

    def workspace(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Memory for patches and scores of as many images as the cache holds."""
        _, _, oh, ow, kh, run, _, _ = self.geometry(x)
        places, size = oh * ow, kh * run
        images = CONV_CACHE_VALUES // (places * (size + self.filters))
        rows = max(min(images, len(x)), 1) * places
        return empty((rows * size,), x.dtype), empty((rows * self.filters,), x.dtype)

    def pad(self, x: np.ndarray) -> np.ndarray:
        """Images with zeros around them."""
        ph, pw = self.pad_widths
        if not (ph or pw):
            return np.ascontiguousarray(x)
        n, h, w, c = x.shape
        padded = zeros((n, h + 2 * ph, w + 2 * pw, c), x.dtype)
        padded[:, ph : ph + h, pw : pw + w] = x
        return padded

    def crop(self, x: np.ndarray) -> np.ndarray:
        """Inverse of `pad`."""
        (ph, pw), (_, h, w, _) = self.pad_widths, x.shape
        return np.ascontiguousarray(x[:, ph : h - ph, pw : w - pw])


def flat_view(x: np.ndarray) -> np.ndarray:
    """A contiguous array as a vector."""
    return x.reshape(-1)


class Conv1d(NamedTuple):
    """Convolution of series (n_steps, channels): `Conv2d` on images of one row.

    Parameters
    ----------
    filters, kernel, activation, stride, padding, bias, init : see `Conv2d`
        With one number each for kernel, stride and padding.

    Examples
    --------
    >>> Conv1d(8, 5, stride=2).output_shape((100, 3))
    (48, 8)
    """

    filters: int
    kernel: int = 3
    activation: str | Activation | None = None
    stride: int = 1
    padding: int | str = 0
    bias: bool = True
    init: str | float = "auto"

    @property
    def as_conv2d(self) -> Conv2d:
        """The same kernels, of height one."""
        padding = self.padding if isinstance(self.padding, str) else (0, self.padding)
        kernel, stride = (1, self.kernel), (1, self.stride)
        geometry: Any = {"kernel": kernel, "stride": stride, "padding": padding}
        return Conv2d(
            self.filters, activation=self.activation, bias=self.bias, init=self.init, **geometry
        )

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 2:
            raise shape_error(self, shape, "(steps, channels)")
        return self.as_conv2d.output_shape((1, *shape))[1:]

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        W, *biases = self.as_conv2d.init_params((1, *shape), rng, dtype)
        return [W[0], *biases]

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        a, cache = self.as_conv2d.forward([params[0][None], *params[1:]], x[:, None], context)
        return a[:, 0], cache

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        inner = [params[0][None], *params[1:]]
        dx, gradients = self.as_conv2d.backward(
            inner, cache, gradient[:, None], need_input=need_input
        )
        return None if dx is None else dx[:, 0], [gradients[0][0], *gradients[1:]]

    def mask(self, context: PassContext) -> np.ndarray | None:
        """Output steps whose kernel covers an existing step."""
        if context.mask is None:
            return None
        ones = Conv1d(1, self.kernel, None, self.stride, self.padding, bias=False)
        exists = context.mask[:, :, None].astype(np.float32)
        weight = np.ones((self.kernel, 1, 1), np.float32)
        return ones.forward([weight], exists, context)[0][:, :, 0] > 0
