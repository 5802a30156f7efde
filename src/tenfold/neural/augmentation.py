"""Images changed at random, so that a network learns what does not matter.

What happens to a row depends on the seed and on the number of the row alone: any batch, file or
cluster sees the same changes. [001, 3.4; 003, unit 3, lect. 12; 004, 4.5]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tenfold.neural.image_changes import Shift
from tenfold.neural.layer import Shape, Way
from tenfold.rows.randomness import uniforms

STEP = 1_000_003  # between the seeds of changes that follow each other


class Change(Protocol):
    """A random change of images (n, h, w, c), from `draws(shape)` uniform numbers for each."""

    def draws(self, shape: Shape) -> int:
        """How many random numbers an image of a shape needs."""
        ...

    def __call__(self, images: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The changed images, in a new array."""
        ...


def augment(
    images: Any,
    changes: Sequence[Change],
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
        `tenfold.neural.image_changes`), or a class of your own with the same two methods.
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
        x = change(x, uniforms(seed + STEP * number, first, len(x), k))
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
    >>> np.array_equal(layer.forward([], images, Way())[0], images)
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

    def forward(self, params: list, x: np.ndarray, way: Way) -> tuple[np.ndarray, Any]:
        if not way.training:
            return x, False
        return augment(x, self.changes, seed=way.seed, first=way.first), True

    def backward(
        self, params: list, kept: Any, slope: np.ndarray, *, need_input: bool = True
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        if kept and need_input:
            raise ValueError("Augment comes first in a network: it has no slopes while training")
        return slope if need_input else None, []
