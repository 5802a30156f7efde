"""Compiled loops of convolution: a few images at a time, so that their patches stay in the cache.

Images are channels-last, and wide enough for the kernel: zeros around them are put there before. A
patch is what a kernel meets at one place, row by row of the kernel, and each of its rows is one
stretch of memory. With all patches below each other a convolution is one matrix product; back,
the slopes in the patches are added up where the patches came from.

Places in memory are unsigned: a number that may be negative would be checked at every step, and
the loops would not be turned into vector instructions (four times slower).
"""

from __future__ import annotations

import numpy as np
from numba import njit

CACHE_NUMBERS = 65536  # in the patches and scores at hand: a quarter of a megabyte
NO_FLOOR = np.float32(-np.inf)
ZERO = np.float32(0)  # a whole 0 would turn float32 into float64 on the way


@njit(cache=True, nogil=True)
def gather(x, stride, run, patches):  # noqa: ANN001, ANN201
    """Patches (n, oh, ow, kh, kw c) of images (n, h, w c); `stride` in rows and in numbers."""
    n, oh, ow, kh = patches.shape[:4]
    h, width = x.shape[1], x.shape[2]
    of, to = x.reshape(-1), patches.reshape(-1)
    here, run = np.uint64(0), np.uint64(run)
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                for k in range(kh):
                    there = np.uint64((image * h + i * stride[0] + k) * width + j * stride[1])
                    for t in range(run):
                        to[here + t] = of[there + t]
                    here += run


@njit(cache=True, nogil=True)
def scatter(patches, stride, run, x):  # noqa: ANN001, ANN201
    """Add patches up where they came from: the pull-back of `gather`."""
    n, oh, ow, kh = patches.shape[:4]
    h, width = x.shape[1], x.shape[2]
    to, of = x.reshape(-1), patches.reshape(-1)
    here, run = np.uint64(0), np.uint64(run)
    for image in range(n):
        for i in range(oh):
            for j in range(ow):
                for k in range(kh):
                    there = np.uint64((image * h + i * stride[0] + k) * width + j * stride[1])
                    for t in range(run):
                        to[there + t] += of[here + t]
                    here += run


@njit(cache=True, nogil=True)
def convolve(x, W, b, stride, kh, relu, z):  # noqa: ANN001, ANN201
    """Scores z (n, oh, ow, f) of images (n, h, w c), W (kh kw c, f); `relu`: cut off below zero."""
    n, oh, ow, f = z.shape
    size, floor = len(W), ZERO if relu else NO_FLOOR
    few = max(CACHE_NUMBERS // (oh * ow * (size + f)), 1)
    patches = np.empty((min(few, n), oh, ow, kh, size // kh), x.dtype)
    for start in range(0, n, few):
        end = min(start + few, n)
        mine, out = patches[: end - start], z[start:end].reshape(-1, f)
        gather(x[start:end], stride, size // kh, mine)
        np.dot(mine.reshape(-1, size), W, out)
        for i in range(len(out)):
            for j in range(f):
                value = out[i, j] + b[j]
                out[i, j] = floor if value < floor else value  # noqa: FURB136  NaN stays NaN


@njit(cache=True, nogil=True)
def pull_back(x, W, stride, kh, a, slope, dx, dW, db):  # noqa: ANN001, ANN201
    """Slopes in images, weights and constants from that in the scores.

    Without images in `dx` theirs is left out; values `a` of a ReLU say where nothing comes through.
    """
    n, oh, ow, f = slope.shape
    size = len(W)
    few = max(CACHE_NUMBERS // (oh * ow * (size + f)), 1)
    patches = np.empty((min(few, n), oh, ow, kh, size // kh), x.dtype)
    part, turned = np.empty_like(dW), np.ascontiguousarray(W.T)
    for start in range(0, n, few):
        end = min(start + few, n)
        mine, down = patches[: end - start], slope[start:end].reshape(-1, f)
        values = a[start:end].reshape(-1, f)
        for i in range(len(values)):
            for j in range(f):
                down[i, j] = down[i, j] if values[i, j] > 0 else ZERO
        for i in range(len(down)):
            for j in range(f):
                db[j] += down[i, j]
        gather(x[start:end], stride, size // kh, mine)
        np.dot(mine.reshape(-1, size).T, down, part)
        dW += part
        if len(dx):
            np.dot(down, turned, mine.reshape(-1, size))
            scatter(mine, stride, size // kh, dx[start:end])
