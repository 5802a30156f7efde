"""Color quantization: images with a palette of few colors, and the bits that it saves."""

from __future__ import annotations

from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.cluster.kmeans import KMeans


class CompressedSize(NamedTuple):
    """Bits of a picture, in full colour and with a palette.

    Attributes
    ----------
    full : bits of all pixels in full colour
    codes : bits of the pixels as numbers of palette colours
    palette : bits of the palette itself
    """

    full: int
    codes: int
    palette: int

    @property
    def reduced(self) -> int:
        """Bits with a palette."""
        return self.codes + self.palette

    @property
    def ratio(self) -> float:
        """How many times smaller the picture becomes."""
        return self.full / self.reduced


def image_bits(pixels: int, colors: int, depth: int = 24) -> CompressedSize:
    """Bits of a picture whose pixels name colours of a palette.

    A pixel takes as many bits as number the colours; the palette itself takes `depth` bits for
    *each* colour, 32 · 24 and not the printed 5 · 24 for 32 colours [003, 13.4].

    Parameters
    ----------
    pixels : int
        Number of pixels.
    colours : int
        Number of colours of the palette.
    depth : int
        Bits of a full colour.

    Examples
    --------
    >>> size = image_bits(1024 * 1024, 32)
    >>> size.full, size.reduced, round(size.ratio, 2)
    (25165824, 5243648, 4.8)
    """
    if pixels < 1 or colors < 1:
        raise ValueError(f"pixels={pixels} and colours={colors} must be at least 1")
    return CompressedSize(pixels * depth, pixels * ceil(log2(colors)), colors * depth)


class QuantizedImage(NamedTuple):
    """A picture in few colours.

    Attributes
    ----------
    colours : (k, channels) the palette, in the numbers of the picture
    codes : (height, width) number of the colour of each pixel
    size : bits, in full colour and with the palette
    """

    colours: np.ndarray
    codes: np.ndarray
    size: CompressedSize

    @property
    def picture(self) -> np.ndarray:
        """The picture with the colours of the palette, (height, width, channels)."""
        return self.colours[self.codes]


def quantize(image: np.ndarray, n_colors: int = 32, model: Any = None) -> QuantizedImage:
    """Replace the colours of a picture by the centres of their clusters.

    Parameters
    ----------
    picture : (height, width, channels) array
        The pixels: whole numbers from 0 to 255, or numbers from 0 to 1.
    n_colours : int
        Colours of the palette.
    model : clusterer, optional
        What clusters the colours: it has `n_clusters` and `cluster_centers_`; k-means by default.

    Examples
    --------
    >>> import numpy as np
    >>> picture = np.zeros((2, 2, 3), np.uint8)
    >>> picture[0] = 250
    >>> found = quantize(picture, 2)
    >>> bool((found.picture == picture).all()), found.size.reduced
    (True, 52)
    """
    if image.ndim != 3:
        raise ValueError(f"a picture has height, width and channels, not shape {image.shape}")
    pixels = image.reshape(-1, image.shape[2]).astype(np.float64)
    copy: Any = KMeans(random_state=0) if model is None else clone(model)
    found = copy.set_params(n_clusters=n_colors).fit(pixels)
    colours = found.cluster_centers_
    if image.dtype.kind in "iu":
        colours = np.rint(colours).astype(image.dtype)
    depth = 8 * image.shape[2]
    size = image_bits(len(pixels), n_colors, depth)
    return QuantizedImage(colours, found.labels_.reshape(image.shape[:2]), size)
