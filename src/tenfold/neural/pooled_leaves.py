"""Compiled loops of a convolution, its ReLU and the pooling after it, a few images at a time.

One by one, each of the three writes and reads all scores, and back all slopes, which do not fit
into the cache; here they never leave it. What is kept is the largest number of each window and
which one of the window it was. Arrays and `how` are as in `patch_leaves`.
"""

# ruff: noqa: ANN001, ANN201 - the compiler knows the types
from __future__ import annotations

import numpy as np
from numba import njit

from tenfold.neural.patch_leaves import ZERO, gather, pull_through
from tenfold.neural.products import CALLED, INNER, product


@njit(**INNER)
def pool(z, first, n, how, size, b, y, which):
    """The largest of each window, with the constant and cut off below zero; `which` it was."""
    oh, ow, f = how[2], how[3], np.uint64(len(b))
    ph, pw = oh // size[0], ow // size[1]
    best = np.uint64(first * ph * pw * len(b))
    for window in range(n * ph * pw):
        row, j = window // pw, window % pw
        image, i = row // ph, row % ph
        for code in range(size[0] * size[1]):
            k, m, mark = code // size[1], code % size[1], np.int32(code)
            here = ((image * oh + i * size[0] + k) * ow + j * size[1] + m) * len(b)
            here = np.uint64(here)
            if code == 0:
                for t in range(f):
                    y[best + t] = z[here + t]
                    which[best + t] = mark
            else:
                for t in range(f):
                    new, old, was = z[here + t], y[best + t], which[best + t]
                    y[best + t] = new if new > old else old  # noqa: FURB136  faster
                    which[best + t] = mark if new > old else was
        for t in range(f):
            value = y[best + t] + b[t]
            y[best + t] = ZERO if value < ZERO else value  # noqa: FURB136  NaN stays NaN
        best += f


@njit(**INNER)
def unpool(slope, first, n, how, size, y, which, down, db):
    """Slopes in the scores, zero but for the largest; their sums are added."""
    oh, ow, f = how[2], how[3], np.uint64(len(db))
    ph, pw = oh // size[0], ow // size[1]
    best = np.uint64(first * ph * pw * len(db))
    for window in range(n * ph * pw):
        row, j = window // pw, window % pw
        image, i = row // ph, row % ph
        for t in range(f):
            through = slope[best + t] if y[best + t] > ZERO else ZERO
            slope[best + t] = through
            db[t] += through
        for code in range(size[0] * size[1]):
            k, m, mark = code // size[1], code % size[1], np.int32(code)
            here = ((image * oh + i * size[0] + k) * ow + j * size[1] + m) * len(db)
            here = np.uint64(here)
            for t in range(f):
                down[here + t] = slope[best + t] if which[best + t] == mark else ZERO
        best += f


@njit(**CALLED)
def convolve_and_pool(x, n, W, b, how, size, patches, scores, y, which):
    """Largest scores of n images; `patches` and `scores` are room for those of some."""
    places, patch, f, lies = how[2] * how[3], how[4] * how[5], len(b), n < 0
    few = len(patches) // (places * patch)
    for start in range(0, n, few):
        images = few if start + few < n else n - start
        gather(x, start, images, how, patches)
        product(patches, 0, lies, W, 0, lies, scores, 0, images * places, patch, f)
        pool(scores, start, images, how, size, b, y, which)


@njit(**CALLED)
def pull_back_pooled(
    x, n, turned, how, size, y, which, slope, dx, dW, db, patches, part, scores
):  # fmt: skip
    """Slopes in images, weights and constants from that in the largest scores.

    Of these, `which` they were. Without images in `dx` theirs is left out. In `scores`, places
    outside all windows are zero.
    """
    few = len(patches) // (how[2] * how[3] * how[4] * how[5])
    for start in range(0, n, few):
        images = few if start + few < n else n - start
        unpool(slope, start, images, how, size, y, which, scores, db)
        pull_through(x, start, images, turned, how, scores, 0, dx, dW, db, patches, part)
