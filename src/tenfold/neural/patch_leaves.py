"""Compiled loops of convolution: a few images at a time, so that their patches stay in the cache.

Images are channels-last, and wide enough for the kernel: zeros around them are put there before. A
patch is what a kernel meets at one place, row by row of the kernel, and each of its rows is one
stretch of memory. With all patches below each other a convolution is one matrix product; back,
the slopes in the patches are added up where the patches came from.

Arrays are flat, see `tenfold.neural.products`. What lies where is told by `how`: rows of an image
and numbers of a row, rows and columns of places, rows of a kernel and numbers of such a row, and
steps of the kernel, in rows down and in numbers to the right.
"""

# ruff: noqa: ANN001, ANN201 - the compiler knows the types
from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.neural.products import CALLED, INNER, product

CACHE_NUMBERS = 65536  # in the patches and scores at hand: a quarter of a megabyte
NO_FLOOR = np.float32(-np.inf)
ZERO = np.float32(0)  # a whole 0 would turn float32 into float64 on the way


@njit(**INNER)
def gather(x, first, n, how, patches):
    """Patches of some images."""
    h, width, oh, ow, kh, size, down, right = how
    here, run = np.uint64(0), np.uint64(size)
    for image in range(first, first + n):
        for i in range(oh):
            for j in range(ow):
                for k in range(kh):
                    there = np.uint64((image * h + i * down + k) * width + j * right)
                    for t in range(run):
                        patches[here + t] = x[there + t]
                    here += run


@njit(**INNER)
def scatter(patches, first, n, how, x):
    """Add patches up where they came from: the pull-back of `gather`."""
    h, width, oh, ow, kh, size, down, right = how
    here, run = np.uint64(0), np.uint64(size)
    for image in range(first, first + n):
        for i in range(oh):
            for j in range(ow):
                for k in range(kh):
                    there = np.uint64((image * h + i * down + k) * width + j * right)
                    for t in range(run):
                        x[there + t] += patches[here + t]
                    here += run


@njit(**INNER)
def add_and_cut(z, at, n, b, floor):
    """max(z + b, floor), in place."""
    here, size = np.uint64(at), np.uint64(len(b))
    for _ in range(n):
        for j in range(size):
            value = z[here + j] + b[j]
            z[here + j] = floor if value < floor else value  # noqa: FURB136  NaN stays NaN
        here += size


@njit(**CALLED)
def convolve(x, n, W, b, how, relu, patches, z):
    """Scores of n images, W (patch, f); `relu`: cut off below zero. `patches` are room for some."""
    places, size, f, lies = how[2] * how[3], how[4] * how[5], len(b), n < 0
    few, floor = len(patches) // (places * size), ZERO if relu else NO_FLOOR
    for start in range(0, n, few):
        images = few if start + few < n else n - start
        gather(x, start, images, how, patches)
        at, rows = start * places * f, images * places
        product(patches, 0, lies, W, 0, lies, z, at, rows, size, f)
        add_and_cut(z, at, rows, b, floor)


@njit(**INNER)
def cut_and_sum(slope, at, n, a, relu, db):
    """Let slopes through where a ReLU has, in place; their sums are added."""
    here, size = np.uint64(at), np.uint64(len(db))
    for _ in range(n):
        if relu:
            for j in range(size):
                slope[here + j] = slope[here + j] if a[here + j] > 0 else ZERO
        for j in range(size):
            db[j] += slope[here + j]
        here += size


@njit(**INNER)
def pull_through(x, start, images, turned, how, slope, at, dx, dW, db, patches, part):
    """Slopes in some images and in weights from that in their scores, which begin at a place."""
    rows, size, f, lies = images * how[2] * how[3], how[4] * how[5], len(db), images < 0
    gather(x, start, images, how, patches)
    product(patches, 0, images > 0, slope, at, lies, part, 0, size, rows, f)
    for i in range(np.uint64(len(dW))):
        dW[i] += part[i]
    if len(dx):
        product(slope, at, lies, turned, 0, lies, patches, 0, rows, f, size)
        scatter(patches, start, images, how, dx)


@njit(**CALLED)
def pull_back(x, n, turned, how, a, relu, slope, dx, dW, db, patches, part):
    """Slopes in images, weights and constants from that in the scores.

    `turned` are the weights transposed. Without images in `dx` theirs is left out; values `a` of a
    ReLU say where nothing comes through.
    """
    places, f = how[2] * how[3], len(db)
    few = len(patches) // (places * how[4] * how[5])
    for start in range(0, n, few):
        images, at = few if start + few < n else n - start, start * places * f
        cut_and_sum(slope, at, images * places, a, relu, db)
        pull_through(x, start, images, turned, how, slope, at, dx, dW, db, patches, part)
