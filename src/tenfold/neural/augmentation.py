"""Image augmentation: random transforms, as a function and as a layer.

The transform of a row depends only on the seed and on the index of the row, so any batch, file or
cluster gives the same images.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import ndtri

from tenfold.engine.row_random import uniforms
from tenfold.neural.layers.base import PassContext, Shape


class Shift(NamedTuple):
    """Shift each image by up to `max_shift` pixels along both axes, filled with zeros.

    Parameters
    ----------
    max_shift : int
        Largest shift in pixels.
    """

    max_shift: int = 2

    def n_uniforms(self, shape: Shape) -> int:
        return 2

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        at = _to_integers(u, 2 * self.max_shift + 1)
        return _crop(images, self.max_shift, images.shape[1:3], at)


class RandomPadding(NamedTuple):
    """Place each image at random in a field of zeros that is `thickness` pixels wider and higher.

    Parameters
    ----------
    thickness : int
        Pixels that are added to height and width.
    """

    thickness: int = 10

    def n_uniforms(self, shape: Shape) -> int:
        return 2

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        r = self.thickness
        height, width = images.shape[1:3]
        return _crop(images, r, (height + r, width + r), _to_integers(u, r + 1))


class Rotate(NamedTuple):
    """Rotate each image about its center by up to `degrees`, in both directions.

    Parameters
    ----------
    degrees : float
        Largest angle.
    """

    degrees: float = 10.0

    def n_uniforms(self, shape: Shape) -> int:
        return 1

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        return rotate_images(images, np.radians(self.degrees) * (2 * u[:, 0] - 1))


class Flip(NamedTuple):
    """Flip a random part of the images.

    Parameters
    ----------
    probability : float
        Probability that an image is flipped.
    vertical : bool
        Flip upside down, instead of left to right.
    """

    probability: float = 0.5
    vertical: bool = False

    def n_uniforms(self, shape: Shape) -> int:
        return 1

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        flipped = images[:, ::-1] if self.vertical else images[:, :, ::-1]
        return np.where(u[:, 0, None, None, None] < self.probability, flipped, images)


class Brightness(NamedTuple):
    """Add a random number to all pixels of each image.

    Parameters
    ----------
    max_change : float
        Largest number that is added or subtracted, as a share of the range.
    low : float
        Least value of a pixel.
    high : float, optional
        Largest value of a pixel; results are clipped to the range. By default the largest number of
        the type for whole numbers (255 for uint8), and 1 for floating-point numbers.
    """

    max_change: float = 0.2
    low: float = 0.0
    high: float | None = None

    def n_uniforms(self, shape: Shape) -> int:
        return 1

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        high = _highest_pixel(self, images)
        change = self.max_change * (high - self.low)
        return np.clip(images + change * _to_symmetric(u, images), self.low, high)


class Contrast(NamedTuple):
    """Multiply all pixels of each image by a random factor.

    Parameters
    ----------
    max_change : float
        Largest deviation of the factor from one.
    low : float
        Least value of a pixel.
    high : float, optional
        Largest value of a pixel, as in `Brightness`; results are clipped to the range.
    """

    max_change: float = 0.2
    low: float = 0.0
    high: float | None = None

    def n_uniforms(self, shape: Shape) -> int:
        return 1

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        high = _highest_pixel(self, images)
        factor = 1 + self.max_change * _to_symmetric(u, images)
        return np.clip(images * factor, self.low, high)


class GaussianNoise(NamedTuple):
    """Add Gaussian noise to every pixel.

    Parameters
    ----------
    deviation : float
        Standard deviation of the noise, in units of the pixels.
    """

    deviation: float = 0.1

    def n_uniforms(self, shape: Shape) -> int:
        return int(np.prod(shape))

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        noise = (self.deviation * ndtri(u)).reshape(images.shape)
        return images + noise.astype(images.dtype)


_MAX_UNIT_PIXEL = 2.0  # pixels of 0..1 stay below, with noise on them


def _highest_pixel(transform: Brightness | Contrast, images: np.ndarray) -> float:
    """Largest value of a pixel: as given, or 1; an error if that cannot be."""
    if transform.high is not None:
        return transform.high
    largest = float(images.max(initial=0.0))
    if largest > _MAX_UNIT_PIXEL:
        name = type(transform).__name__
        raise ValueError(
            f"{name} takes floating-point pixels for numbers from 0 to 1, but one is {largest:g}: "
            f"give the range, {name}(high=255), or images of type uint8 to `augment`"
        )
    return 1.0


def _with_range(transform: Any, dtype: np.dtype) -> Any:
    """The transform with the range of whole numbers, where it has one that is not given."""
    if dtype.kind not in "iu" or getattr(transform, "high", 0) is not None:
        return transform
    return transform._replace(high=float(np.iinfo(dtype).max))


def _to_integers(u: np.ndarray, n: int) -> np.ndarray:
    """Uniform numbers in [0, 1) as integers 0, ..., n - 1."""
    return (u * n).astype(np.int64)


def _to_symmetric(u: np.ndarray, images: np.ndarray) -> np.ndarray:
    """One number between -1 and 1 for each image."""
    return (2 * u[:, 0, None, None, None] - 1).astype(images.dtype)


def _crop(images: np.ndarray, margin: int, size: tuple[int, int], at: np.ndarray) -> np.ndarray:
    """The window of a size at (row, column) of each image, padded with a margin of zeros."""
    padded = np.pad(images, [(0, 0), (margin, margin), (margin, margin), (0, 0)])
    windows = sliding_window_view(padded, size, axis=(1, 2))  # (n, rows, columns, c, h, w)
    return np.moveaxis(windows[np.arange(len(images)), at[:, 0], at[:, 1]], 1, -1)


def rotate_images(images: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Images rotated counter-clockwise about their centers, with bilinear interpolation."""
    out = np.zeros_like(images)
    _rotate_bilinear(np.ascontiguousarray(images), np.cos(angles), np.sin(angles), out)
    return out


@njit(cache=True, nogil=True)
def _rotate_bilinear(images, cosines, sines, out):  # noqa: ANN001, ANN202
    """Add to each pixel of `out` the weighted four pixels around the place it comes from."""
    n, height, width, channels = images.shape
    mid_row, mid_column = (height - 1) / 2, (width - 1) / 2
    for i in range(n):
        for y in range(height):
            for x in range(width):
                row = cosines[i] * (y - mid_row) + sines[i] * (x - mid_column) + mid_row
                column = cosines[i] * (x - mid_column) - sines[i] * (y - mid_row) + mid_column
                top, left = int(np.floor(row)), int(np.floor(column))
                for a in range(max(top, 0), min(top + 2, height)):
                    for b in range(max(left, 0), min(left + 2, width)):
                        weight = (1 - abs(row - a)) * (1 - abs(column - b))
                        for c in range(channels):
                            out[i, y, x, c] += weight * images[i, a, b, c]


_SEED_STRIDE = 1_000_003  # between the seeds of consecutive transforms


class ImageTransform(Protocol):
    """A random transform of images (n_rows, height, width, channels).

    Each image gets `n_uniforms(shape)` uniform random numbers.
    """

    def n_uniforms(self, shape: Shape) -> int:
        """How many random numbers the transform of an image of a shape needs."""
        ...

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The transformed images, in a new array."""
        ...


def augment(
    images: Any,
    transforms: Sequence[ImageTransform],
    *,
    seed: int = 0,
    first_row: int = 0,
    shape: Shape | None = None,
) -> np.ndarray:
    """Apply random transforms to images, one after the other.

    Parameters
    ----------
    images : (n_rows, height, width) or (n_rows, height, width, channels) array
        The images; flat rows with `shape`.
    transforms : sequence of transforms
        `Shift`, `Rotate`, `Flip`, `Brightness`, `Contrast`, `GaussianNoise`, `RandomPadding`, or an
        object with the two methods of `tenfold.neural.augmentation.ImageTransform`.
    seed : int
        Seed of the random numbers.
    first_row : int
        Index of the first image: row i of these has the random numbers of row first_row + i.
    shape : (height, width) or (height, width, channels), optional
        Image shape of flat rows; the result is flat again.

    Returns
    -------
    array
        The transformed images; `RandomPadding` makes them larger.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import RandomPadding, Rotate
    >>> images = np.zeros((100, 28, 28), np.float32)
    >>> augment(images, [Rotate(15), RandomPadding(20)], seed=1).shape
    (100, 48, 48)
    """
    images = np.asarray(images)
    transforms = [_with_range(transform, images.dtype) for transform in transforms]
    images = images if images.dtype.kind == "f" else images.astype(np.float32)
    full_shape = images.shape if shape is None else (len(images), *shape)
    if len(full_shape) not in {3, 4}:
        raise ValueError(
            f"images are (n, height, width) or (n, height, width, channels), not {images.shape}: "
            "for flat rows give shape=(height, width)"
        )
    is_gray = len(full_shape) == 3
    x = images.reshape(*full_shape, 1) if is_gray else images.reshape(full_shape)
    for number, transform in enumerate(transforms):
        k = transform.n_uniforms(x.shape[1:])
        x = transform(x, uniforms(seed + _SEED_STRIDE * number, first_row, len(x), k))
    if shape is not None:
        return np.ascontiguousarray(x).reshape(len(x), -1)
    return np.ascontiguousarray(x[..., 0] if is_gray else x)


class Augment(NamedTuple):
    """A layer that transforms images at random in training, and is the identity in prediction.

    It must be the first layer; the transforms must keep the size of the images.

    Parameters
    ----------
    transforms : tuple of transforms
        As for `augment`.

    Examples
    --------
    >>> import numpy as np
    >>> layer, images = Augment((Shift(1),)), np.eye(3)[None, :, :, None]
    >>> np.array_equal(layer.forward([], images, PassContext())[0], images)
    True
    """

    transforms: tuple = (Shift(),)

    def output_shape(self, shape: Shape) -> Shape:
        after = augment(np.zeros((1, *shape), np.float32), self.transforms).shape[1:]
        if len(shape) != 3 or after != shape:
            raise ValueError(
                f"Augment must keep the shape (height, width, channels) of images, {shape}"
            )
        return shape

    def init_params(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, context: PassContext) -> tuple[np.ndarray, Any]:
        if not context.training:
            return x, False
        return augment(x, self.transforms, seed=context.seed, first_row=context.first_row), True

    def backward(
        self, params: list, cache: Any, gradient: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        if cache and need_input:
            raise ValueError(
                "Augment must be the first layer: it has no input gradient in training"
            )
        return gradient if need_input else None, []
