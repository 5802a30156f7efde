"""Shapes of rows that are images or sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.neural.layers.base import Shape


def stack_images(X: Any, *, takes_sequences: bool = False) -> Any:
    """An array, if X is a list of images of one size; X itself otherwise.

    Where a list of tables is a list of sequences, images have three axes.

    Examples
    --------
    >>> images = [np.zeros((2, 3)), np.ones((2, 3))]
    >>> stack_images(images).shape, type(stack_images(images, takes_sequences=True)).__name__
    ((2, 2, 3), 'list')
    """
    if not isinstance(X, list | tuple) or not X or not isinstance(X[0], list | tuple | np.ndarray):
        return X
    try:
        shape = np.shape(X[0])
        are_images = len(shape) > 1 + takes_sequences and all(np.shape(x) == shape for x in X)
    except ValueError:  # lists of lists of different lengths
        return X
    return np.asarray(X) if are_images else X


def check_row_shape(shape: Shape, known: Shape) -> None:
    """Raise an error if rows have another shape than in the fit, but for axes of length one."""
    is_flat = len(known) == 1  # of a table
    if not is_flat and [n for n in shape if n != 1] != [n for n in known if n != 1]:
        raise ValueError(f"rows have the shape {tuple(shape)}, in the fit {tuple(known)}")
