"""Random changes of images, each a function of the images and of uniform numbers for each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import ndtri

from tenfold.neural.layer import Shape


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
        at = whole(u, 2 * self.most + 1)
        return cut(images, self.most, images.shape[1:3], at)


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
        return cut(images, r, (height + r, width + r), whole(u, r + 1))


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
        return turned(images, np.radians(self.degrees) * (2 * u[:, 0] - 1))


class Mirror(NamedTuple):
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
        return np.clip(images + self.most * centred(u, images), self.low, self.high)


class Density(NamedTuple):
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
        return np.clip(images * (1 + self.most * centred(u, images)), self.low, self.high)


class Noise(NamedTuple):
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


def whole(u: np.ndarray, n: int) -> np.ndarray:
    """Uniform numbers as 0, ..., n - 1."""
    return (u * n).astype(np.int64)


def centred(u: np.ndarray, images: np.ndarray) -> np.ndarray:
    """One number between -1 and 1 for each image."""
    return (2 * u[:, 0, None, None, None] - 1).astype(images.dtype)


def cut(images: np.ndarray, margin: int, size: tuple[int, int], at: np.ndarray) -> np.ndarray:
    """A window of a size at (row, column) of each image, which gets a margin of zeros first."""
    wide = np.pad(images, [(0, 0), (margin, margin), (margin, margin), (0, 0)])
    windows = sliding_window_view(wide, size, axis=(1, 2))  # (n, rows, columns, c, h, w)
    return np.moveaxis(windows[np.arange(len(images)), at[:, 0], at[:, 1]], 1, -1)


def turned(images: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Each image turned about its middle, counter-clockwise; a pixel is mixed of four."""
    out = np.zeros_like(images)
    turn(np.ascontiguousarray(images), np.cos(angles), np.sin(angles), out)
    return out


@njit(cache=True, nogil=True)
def turn(images, cosines, sines, out):  # noqa: ANN001, ANN201
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
