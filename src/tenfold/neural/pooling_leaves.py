"""Compiled loops of pooling, on channels-last images.

Places in memory are unsigned, for the reason told in `patch_leaves`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.neural.patch_leaves import ZERO


@njit(cache=True, nogil=True, inline="always")
def place(shape, image, i, j):  # noqa: ANN001, ANN201
    """Where the channels of a pixel begin."""
    return np.uint64(((image * shape[1] + i) * shape[2] + j) * shape[3])


@njit(cache=True, nogil=True)
def largest(x, size, stride, y):  # noqa: ANN001, ANN201  (n, h, w, c) -> (n, oh, ow, c)
    """Largest number of each window."""
    n, oh, ow, _ = y.shape
    c, of, to = np.uint64(y.shape[3]), x.reshape(-1), y.reshape(-1)
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                best = place(y.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = place(x.shape, image, i * stride[0] + k, j * stride[1] + m)
                        if k == 0 and m == 0:
                            for t in range(c):
                                to[best + t] = of[here + t]
                        else:
                            for t in range(c):
                                new, old = of[here + t], to[best + t]
                                to[best + t] = new if new > old else old  # noqa: FURB136  faster


@njit(cache=True, nogil=True)
def largest_back(x, y, size, stride, slope, dx):  # noqa: ANN001, ANN201
    """Give the slope of each window to its first largest number; `dx` is added to."""
    n, oh, ow, _ = y.shape
    c, of, values = np.uint64(y.shape[3]), x.reshape(-1), y.reshape(-1)
    down, to = slope.reshape(-1), dx.reshape(-1)
    left = np.empty(c, x.dtype)
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                best = place(y.shape, image, i, j)
                for t in range(c):
                    left[t] = down[best + t]
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = place(x.shape, image, i * stride[0] + k, j * stride[1] + m)
                        for t in range(c):
                            hit = of[here + t] == values[best + t]
                            to[here + t] += left[t] if hit else ZERO
                            left[t] = ZERO if hit else left[t]


@njit(cache=True, nogil=True)
def mean(x, size, stride, y):  # noqa: ANN001, ANN201
    """Mean of each window; `y` is added to."""
    n, oh, ow, _ = y.shape
    c, of, to = np.uint64(y.shape[3]), x.reshape(-1), y.reshape(-1)
    share = x.dtype.type(1 / (size[0] * size[1]))
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                total = place(y.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = place(x.shape, image, i * stride[0] + k, j * stride[1] + m)
                        for t in range(c):
                            to[total + t] += share * of[here + t]


@njit(cache=True, nogil=True)
def mean_back(size, stride, slope, dx):  # noqa: ANN001, ANN201
    """Share the slope of each window among its numbers; `dx` is added to."""
    n, oh, ow, _ = slope.shape
    c, down, to = np.uint64(slope.shape[3]), slope.reshape(-1), dx.reshape(-1)
    share = dx.dtype.type(1 / (size[0] * size[1]))
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                total = place(slope.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = place(dx.shape, image, i * stride[0] + k, j * stride[1] + m)
                        for t in range(c):
                            to[here + t] += share * down[total + t]
