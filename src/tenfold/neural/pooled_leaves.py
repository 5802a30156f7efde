"""Compiled loops of a convolution, its ReLU and the pooling after it, a few images at a time.

One by one, each of the three writes and reads all scores, and back all slopes, which do not fit
into the cache; here they never leave it. What is kept is the largest number of each window and
which one of the window it was.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.neural.patch_leaves import CACHE_NUMBERS, ZERO, gather, scatter
from tenfold.neural.pooling_leaves import place


@njit(cache=True, nogil=True)
def pool(z, b, size, y, which):  # noqa: ANN001, ANN201  (n, oh, ow, f) -> (n, ph, pw, f)
    """The largest of each window, with the constant and cut off below zero; `which` it was."""
    n, ph, pw, _ = y.shape
    f, of, to, number = np.uint64(y.shape[3]), z.reshape(-1), y.reshape(-1), which.reshape(-1)
    for image in range(n):
        for i in range(ph):
            for j in range(pw):
                best = place(y.shape, image, i, j)
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = place(z.shape, image, i * size[0] + k, j * size[1] + m)
                        code = np.int32(k * size[1] + m)
                        if code == 0:
                            for t in range(f):
                                to[best + t] = of[here + t]
                                number[best + t] = code
                        else:
                            for t in range(f):
                                new, old, was = of[here + t], to[best + t], number[best + t]
                                to[best + t] = new if new > old else old  # noqa: FURB136  faster
                                number[best + t] = code if new > old else was
                for t in range(f):
                    value = to[best + t] + b[t]
                    to[best + t] = ZERO if value < ZERO else value  # noqa: FURB136  NaN stays NaN


@njit(cache=True, nogil=True)
def unpool(slope, y, which, size, down, db):  # noqa: ANN001, ANN201
    """Slopes in the scores, (n, oh, ow, f), zero but for the largest; their sums are added."""
    n, ph, pw, _ = y.shape
    f, of, values = np.uint64(y.shape[3]), slope.reshape(-1), y.reshape(-1)
    to, number = down.reshape(-1), which.reshape(-1)
    for image in range(n):
        for i in range(ph):
            for j in range(pw):
                best = place(y.shape, image, i, j)
                for t in range(f):
                    through = of[best + t] if values[best + t] > ZERO else ZERO
                    of[best + t] = through
                    db[t] += through
                for k in range(size[0]):
                    for m in range(size[1]):
                        here = place(down.shape, image, i * size[0] + k, j * size[1] + m)
                        code = np.int32(k * size[1] + m)
                        for t in range(f):
                            to[here + t] = of[best + t] if number[best + t] == code else ZERO


@njit(cache=True, nogil=True)
def convolve_and_pool(x, W, b, stride, kh, places, size, y, which):  # noqa: ANN001, ANN201
    """Largest scores of images (n, h, w c); `places` of a kernel are (oh, ow)."""
    n, rows, f = len(y), len(W), y.shape[3]
    oh, ow = places
    few = max(CACHE_NUMBERS // (oh * ow * (rows + f)), 1)
    patches = np.empty((min(few, n), oh, ow, kh, rows // kh), x.dtype)
    scores = np.empty((min(few, n), oh, ow, f), x.dtype)
    for start in range(0, n, few):
        end = min(start + few, n)
        mine, z = patches[: end - start], scores[: end - start]
        gather(x[start:end], stride, rows // kh, mine)
        np.dot(mine.reshape(-1, rows), W, z.reshape(-1, f))
        pool(z, b, size, y[start:end], which[start:end])


@njit(cache=True, nogil=True)
def pull_back_pooled(x, W, stride, kh, places, size, kept, slope, dx, dW, db):  # noqa: ANN001, ANN201
    """Slopes in images, weights and constants from that in the largest scores.

    `kept` are these and which they were. Without images in `dx` theirs is left out.
    """
    y, which = kept
    n, rows, f = len(y), len(W), y.shape[3]
    oh, ow = places
    few = max(CACHE_NUMBERS // (oh * ow * (rows + f)), 1)
    patches = np.empty((min(few, n), oh, ow, kh, rows // kh), x.dtype)
    slopes = np.zeros((min(few, n), oh, ow, f), x.dtype)  # places outside all windows stay zero
    part, turned = np.empty_like(dW), np.ascontiguousarray(W.T)
    for start in range(0, n, few):
        end = min(start + few, n)
        mine, down = patches[: end - start], slopes[: end - start]
        unpool(slope[start:end], y[start:end], which[start:end], size, down, db)
        gather(x[start:end], stride, rows // kh, mine)
        np.dot(mine.reshape(-1, rows).T, down.reshape(-1, f), part)
        dW += part
        if len(dx):
            np.dot(down.reshape(-1, f), turned, mine.reshape(-1, rows))
            scatter(mine, stride, rows // kh, dx[start:end])
