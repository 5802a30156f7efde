"""Features of images that need no labels: histograms of gradient directions, and of gray values."""

from __future__ import annotations

from math import isqrt, prod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.preprocessing.basis_expansion import column_range

_LEAST_NORM = 1e-8  # of a cell's histogram: flat cells stay zero


class ImageFeatures(Transformer):
    r"""A vector for each image: strengths of edges by direction and place, or a histogram.

    The gradient :math:`g = (\partial_x I, \partial_y I)` of each pixel is counted, with its length,
    for the direction :math:`\arg\max_k |g \cdot u_k|` among `n_directions` unit vectors; counts are
    summed over cells of `cell` by `cell` pixels, and each cell is divided by its norm. Such
    histograms hardly change with brightness, contrast and small shifts.

    Parameters
    ----------
    method : {"gradients", "histogram", "pixels"}
        Histograms of gradients, a histogram of gray values of the whole image, or the pixels.
    image_shape : (height, width), optional
        Shape of the images, whose rows of pixels stand one after the other; square by default, or
        one row of pixels if their number is no square.
    cell : int
        Side of a cell, in pixels.
    n_directions : int
        Directions of gradients.
    n_bins : int
        Bins of gray values, between the smallest and the largest of the training images.

    Attributes
    ----------
    image_shape_ : (height, width)
    range_ : smallest and largest gray value of the training images
    n_features_out_ : number of features

    See Also
    --------
    NetworkFeatures : Features that a network has learned.

    References
    ----------
    Dalal, N. and Triggs, B. (2005). Histograms of oriented gradients for human detection.

    Examples
    --------
    A vertical edge, and the same at half the contrast:

    >>> import numpy as np
    >>> from tenfold import ImageFeatures
    >>> edge = np.tile([0.0, 0.0, 1.0, 1.0], 4)
    >>> ImageFeatures(cell=4, n_directions=2).fit_transform([edge, edge / 2]).round(3).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """

    _parameter_constraints = {
        "method": [StrOptions({"gradients", "histogram", "pixels"})],
        "image_shape": ["array-like", None],
        "cell": [Interval(Integral, 1, None, closed="left")],
        "n_directions": [Interval(Integral, 1, None, closed="left")],
        "n_bins": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        method: str = "gradients",
        *,
        image_shape: Any = None,
        cell: int = 7,
        n_directions: int = 9,
        n_bins: int = 16,
    ) -> None:
        self.method = method
        self.image_shape = image_shape
        self.cell = cell
        self.n_directions = n_directions
        self.n_bins = n_bins

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        shape = self._shape(rows.n_features)
        span = rows.total(column_range)
        cells = np.prod([-(-side // self.cell) for side in shape])
        sizes = {
            "gradients": int(cells) * self.n_directions,
            "histogram": self.n_bins,
            "pixels": rows.n_features,
        }
        return {
            "image_shape_": shape,
            "range_": (float(span.low.min()), float(span.high.max())),
            "n_features_out_": sizes[self.method],
        }

    def _check_learned(self) -> None:
        """Raise an error if the shape of a file does not fit its columns."""
        if hasattr(self, "image_shape_") and prod(self.image_shape_) != self.n_features_in_:
            raise ValueError(
                f"image_shape_ {self.image_shape_} does not fit {self.n_features_in_} columns"
            )

    def _shape(self, p: int) -> tuple[int, int]:
        if self.image_shape is None:
            side = isqrt(p)
            return (side, side) if side * side == p else (1, p)
        height, width = (int(side) for side in self.image_shape)
        if height * width != p:
            raise ValueError(
                f"image_shape=({height}, {width}) has {height * width} pixels, and rows have {p}"
            )
        return height, width

    def transform(self, X: Any) -> np.ndarray:
        """Features of each image, (n, n_features_out).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        if self.method == "pixels":
            return self._map_rows(X, pixels)
        if self.method == "histogram":
            return self._map_rows(X, gray_histograms, self.range_, self.n_bins)
        state = self.image_shape_, self.cell, self.n_directions
        return self._map_rows(X, gradient_histograms, *state)


def pixels(chunk: Chunk) -> np.ndarray:
    """The rows as they are."""
    return np.array(chunk.X)


def gray_histograms(chunk: Chunk, span: tuple[float, float], n_bins: int) -> np.ndarray:
    """Share of the pixels of each image in each bin; the outer bins have no end."""
    low, high = span
    width = (high - low) / n_bins or 1.0
    bins = np.clip(((chunk.X - low) / width).astype(np.int64), 0, n_bins - 1)
    n, p = bins.shape
    flat = (bins + n_bins * np.arange(n)[:, None]).ravel()
    counts = np.bincount(flat, minlength=n * n_bins).reshape(n, n_bins)
    return (counts / p).astype(chunk.X.dtype)


def gradient_histograms(
    chunk: Chunk, shape: tuple[int, int], cell: int, n_directions: int
) -> np.ndarray:
    """Lengths of gradients by cell and direction, (n, cells * directions)."""
    n, dtype = chunk.rows, chunk.X.dtype
    images = chunk.X.reshape(n, *shape)
    dy, dx = _differences(images, 1), _differences(images, 2)
    angles = np.pi * np.arange(n_directions) / n_directions
    best, direction = np.full(images.shape, -1.0, dtype), np.zeros(images.shape, np.int64)
    for k, angle in enumerate(angles):
        along = np.abs(dx * dtype.type(np.cos(angle)) + dy * dtype.type(np.sin(angle)))
        direction[along > best] = k
        np.maximum(best, along, out=best)
    length = np.sqrt(dx * dx + dy * dy)
    height, width = (-(-side // cell) for side in shape)
    place = np.arange(shape[0])[:, None] // cell * width + np.arange(shape[1]) // cell
    size = height * width * n_directions
    flat = (np.arange(n)[:, None, None] * size + place * n_directions + direction).ravel()
    sums = np.bincount(flat, length.ravel(), minlength=n * size).reshape(n, -1, n_directions)
    norms = np.sqrt((sums**2).sum(axis=2, keepdims=True))
    return (sums / np.maximum(norms, _LEAST_NORM)).reshape(n, size).astype(dtype)


def _differences(images: np.ndarray, axis: int) -> np.ndarray:
    """Half the difference of the two neighbors of each pixel; at the edge, of one and itself."""
    n = images.shape[axis]
    after = np.take(images, np.minimum(np.arange(n) + 1, n - 1), axis=axis)
    before = np.take(images, np.maximum(np.arange(n) - 1, 0), axis=axis)
    return (after - before) / 2
