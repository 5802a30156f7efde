"""Image augmentation: random transforms, as a function and as a layer."""

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
    """Move each image by up to `most` pixels along both axes; zeros come in.

    Parameters
    ----------
    most : int
        Largest shift.
    """

    most: int = 2

    def draws(self, shape: Shape) -> int:
        return 2

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        at = _to_integers(u, 2 * self.most + 1)
        return _crop(images, self.most, images.shape[1:3], at)


class RandomPadding(NamedTuple):
    """Put each image somewhere in a field of zeros that is `thickness` pixels wider and higher.

    Parameters
    ----------
    thickness : int
        The r of [001, 3.4].
    """

    thickness: int = 10

    def draws(self, shape: Shape) -> int:
        return 2

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        r = self.thickness
        height, width = images.shape[1:3]
        return _crop(images, r, (height + r, width + r), _to_integers(u, r + 1))


class Rotate(NamedTuple):
    """Turn each image about its middle by up to so many degrees, either way.

    Parameters
    ----------
    degrees : float
        Largest angle.
    """

    degrees: float = 10.0

    def draws(self, shape: Shape) -> int:
        return 1

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        return rotate_images(images, np.radians(self.degrees) * (2 * u[:, 0] - 1))


class Flip(NamedTuple):
    """Mirror some of the images.

    Parameters
    ----------
    chance : float
        Share of the images that are mirrored.
    vertical : bool
        Upside down, instead of left to right.
    """

    chance: float = 0.5
    vertical: bool = False

    def draws(self, shape: Shape) -> int:
        return 1

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        other = images[:, ::-1] if self.vertical else images[:, :, ::-1]
        return np.where(u[:, 0, None, None, None] < self.chance, other, images)


class Brightness(NamedTuple):
    """Make each image brighter or darker: a number is added to all of its pixels.

    Parameters
    ----------
    most : float
        Largest number that is added or taken away.
    low, high : float
        Where pixels are cut off.
    """

    most: float = 0.2
    low: float = 0.0
    high: float = 1.0

    def draws(self, shape: Shape) -> int:
        return 1

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.clip(images + self.most * _to_symmetric(u, images), self.low, self.high)


class Contrast(NamedTuple):
    """Make the ink of each image thicker or thinner: its pixels are multiplied by a number.

    Parameters
    ----------
    most : float
        Largest change of the factor from one.
    low, high : float
        Where pixels are cut off.
    """

    most: float = 0.2
    low: float = 0.0
    high: float = 1.0

    def draws(self, shape: Shape) -> int:
        return 1

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.clip(images * (1 + self.most * _to_symmetric(u, images)), self.low, self.high)


class GaussianNoise(NamedTuple):
    """Add a normal number to every pixel.

    Parameters
    ----------
    deviation : float
        Standard deviation of the numbers.
    """

    deviation: float = 0.1

    def draws(self, shape: Shape) -> int:
        return int(np.prod(shape))

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        noise = (self.deviation * ndtri(u)).reshape(images.shape)
        return images + noise.astype(images.dtype)


def _to_integers(u: np.ndarray, n: int) -> np.ndarray:
    """Uniform numbers as 0, ..., n - 1."""
    return (u * n).astype(np.int64)


def _to_symmetric(u: np.ndarray, images: np.ndarray) -> np.ndarray:
    """One number between -1 and 1 for each image."""
    return (2 * u[:, 0, None, None, None] - 1).astype(images.dtype)


def _crop(images: np.ndarray, margin: int, size: tuple[int, int], at: np.ndarray) -> np.ndarray:
    """A window of a size at (row, column) of each image, which gets a margin of zeros first."""
    wide = np.pad(images, [(0, 0), (margin, margin), (margin, margin), (0, 0)])
    windows = sliding_window_view(wide, size, axis=(1, 2))  # (n, rows, columns, c, h, w)
    return np.moveaxis(windows[np.arange(len(images)), at[:, 0], at[:, 1]], 1, -1)


def rotate_images(images: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Each image turned about its middle, counter-clockwise; a pixel is mixed of four."""
    out = np.zeros_like(images)
    _rotate_bilinear(np.ascontiguousarray(images), np.cos(angles), np.sin(angles), out)
    return out


@njit(cache=True, nogil=True)
def _rotate_bilinear(images, cosines, sines, out):  # noqa: ANN001, ANN202
    """Add to each pixel of `out` the four pixels that lie around the place it comes from."""
    n, height, width, channels = images.shape
    middle, centre = (height - 1) / 2, (width - 1) / 2
    for i in range(n):
        for y in range(height):
            for x in range(width):
                row = cosines[i] * (y - middle) + sines[i] * (x - centre) + middle
                column = cosines[i] * (x - centre) - sines[i] * (y - middle) + centre
                top, left = int(np.floor(row)), int(np.floor(column))
                for a in range(max(top, 0), min(top + 2, height)):
                    for b in range(max(left, 0), min(left + 2, width)):
                        share = (1 - abs(row - a)) * (1 - abs(column - b))
                        for c in range(channels):
                            out[i, y, x, c] += share * images[i, a, b, c]


_SEED_STRIDE = 1_000_003  # between the seeds of changes that follow each other


class ImageTransform(Protocol):
    """A random change of images (n, h, w, c), from `draws(shape)` uniform numbers for each."""

    def draws(self, shape: Shape) -> int:
        """How many random numbers an image of a shape needs."""
        ...

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The changed images, in a new array."""
        ...


def augment(
    images: Any,
    changes: Sequence[ImageTransform],
    *,
    seed: int = 0,
    first: int = 0,
    shape: Shape | None = None,
) -> np.ndarray:
    """Images after some random changes, one after the other.

    Parameters
    ----------
    images : (n, h, w) or (n, h, w, c) array
        The images; (n, p) rows with `shape`.
    changes : sequence of changes
        `Shift`, `Rotate`, `Mirror`, `Brightness`, `Density`, `Noise`, `RandomPadding` (see
        `tenfold.neural.augmentation`), or a class of your own with the same two methods.
    seed : int
        Another seed gives other changes.
    first : int
        Number of the first image: row i of these is row first + i of all.
    shape : (h, w) or (h, w, c), optional
        Shape of the image of a row; the result has rows again.

    Returns
    -------
    array
        As many images; `RandomPadding` makes them larger.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.neural import RandomPadding, Rotate
    >>> images = np.zeros((100, 28, 28), np.float32)
    >>> augment(images, [Rotate(15), RandomPadding(20)], seed=1).shape
    (100, 48, 48)
    """
    images = np.asarray(images)
    images = images if images.dtype.kind == "f" else images.astype(np.float32)
    whole_shape = images.shape if shape is None else (len(images), *shape)
    if len(whole_shape) not in {3, 4}:
        raise ValueError(
            f"images are (n, height, width) or (n, height, width, channels), not {images.shape}: "
            "for flat rows give shape=(height, width)"
        )
    grey = len(whole_shape) == 3
    x = images.reshape(*whole_shape, 1) if grey else images.reshape(whole_shape)
    for number, change in enumerate(changes):
        k = change.draws(x.shape[1:])
        x = change(x, uniforms(seed + _SEED_STRIDE * number, first, len(x), k))
    if shape is not None:
        return np.ascontiguousarray(x).reshape(len(x), -1)
    return np.ascontiguousarray(x[..., 0] if grey else x)


class Augment(NamedTuple):
    """A layer that changes images while training, and lets them pass when predicting.

    It comes first in a network; the changes must keep the size of the images.

    Parameters
    ----------
    changes : tuple of changes
        As for `augment`.

    Examples
    --------
    >>> import numpy as np
    >>> layer, images = Augment((Shift(1),)), np.eye(3)[None, :, :, None]
    >>> np.array_equal(layer.forward([], images, PassContext())[0], images)
    True
    """

    changes: tuple = (Shift(),)

    def output(self, shape: Shape) -> Shape:
        after = augment(np.zeros((1, *shape), np.float32), self.changes).shape[1:]
        if len(shape) != 3 or after != shape:
            raise ValueError(f"Augment must keep images (h, w, c) as large as they are, {shape}")
        return shape

    def begin(self, shape: Shape, rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
        return []

    def forward(self, params: list, x: np.ndarray, way: PassContext) -> tuple[np.ndarray, Any]:
        if not way.training:
            return x, False
        return augment(x, self.changes, seed=way.seed, first=way.first), True

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        if kept and need_input:
            raise ValueError("Augment comes first in a network: it has no slopes while training")
        return slope if need_input else None, []
