"""Color quantization: images with a palette of few colors, and the bits that it saves."""

from __future__ import annotations

from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tenfold.cluster.kmeans import KMeans


class CompressedSize(NamedTuple):
    """Bits of an image, in full color and with a palette.

    Attributes
    ----------
    full : bits of all pixels in full color
    codes : bits of the pixels as indices of palette colors
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
        """Compression ratio."""
        return self.full / self.reduced


def image_bits(pixels: int, colors: int, depth: int = 24) -> CompressedSize:
    """Bits of an image whose pixels are indices of palette colors.

    A pixel takes ceil(log2(colors)) bits, the palette `depth` bits for each color.

    Parameters
    ----------
    pixels : int
        Number of pixels.
    colors : int
        Number of colors of the palette.
    depth : int
        Bits of a full color.

    Examples
    --------
    >>> size = image_bits(1024 * 1024, 32)
    >>> size.full, size.reduced, round(size.ratio, 2)
    (25165824, 5243648, 4.8)
    """
    if pixels < 1 or colors < 1:
        raise ValueError(f"pixels={pixels} and colors={colors} must be at least 1")
    return CompressedSize(pixels * depth, pixels * ceil(log2(colors)), colors * depth)


class QuantizedImage(NamedTuple):
    """An image in few colors.

    Attributes
    ----------
    colors : (n_colors, channels) the palette, in the dtype of the image; (n_colors,) gray values
    codes : (height, width) index of the color of each pixel
    size : bits, in full color and with the palette
    """

    colors: np.ndarray
    codes: np.ndarray
    size: CompressedSize

    @property
    def image(self) -> np.ndarray:
        """The image with the colors of the palette, of the shape of the original."""
        return self.colors[self.codes]


def quantize(image: np.ndarray, n_colors: int = 32, model: Any = None) -> QuantizedImage:
    """Replace the colors of an image by the centers of their clusters.

    Parameters
    ----------
    image : (height, width, channels) or (height, width) array
        The pixels, in color or in gray: integers from 0 to 255, or numbers from 0 to 1.
    n_colors : int
        Colors of the palette.
    model : clusterer, optional
        Clusters the colors: it has `n_clusters` and `cluster_centers_`; k-means by default.

    See Also
    --------
    KMeans : The default model; `KMeans.reconstruct` quantizes rows.

    References
    ----------
    R. M. Gray (1984), Vector quantization.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((2, 2, 3), np.uint8)
    >>> image[0] = 250
    >>> quantized = quantize(image, 2)
    >>> bool((quantized.image == image).all()), quantized.size.reduced
    (True, 52)
    """
    if image.ndim not in {2, 3}:
        raise ValueError(
            f"an image is (height, width) or (height, width, channels), not {image.shape}"
        )
    channels = 1 if image.ndim == 2 else image.shape[2]
    pixels = image.reshape(-1, channels).astype(np.float64)
    copy: Any = KMeans(random_state=0) if model is None else clone(model)
    fitted = copy.set_params(n_clusters=n_colors).fit(pixels)
    colors = fitted.cluster_centers_
    if image.dtype.kind in "iu":
        colors = np.rint(colors).astype(image.dtype)
    colors = colors[:, 0] if image.ndim == 2 else colors
    size = image_bits(len(pixels), n_colors, 8 * channels)
    return QuantizedImage(colors, fitted.labels_.reshape(image.shape[:2]), size)
