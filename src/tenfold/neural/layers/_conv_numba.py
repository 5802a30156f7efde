"""Compiled convolution by im2col and matrix products, alone or fused with ReLU and max pooling."""

# ruff: noqa: ANN001 - the compiler knows the types
from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS, matmul

CACHE_VALUES = 65536  # in the patches and scores at hand: a quarter of a megabyte
_NO_FLOOR = np.float32(-np.inf)
ZERO = np.float32(0)  # a whole 0 would turn float32 into float64 on the way


@njit(**INNER_OPTIONS)
def _im2col(x, first, n, how, patches):
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


@njit(**INNER_OPTIONS)
def _col2im(patches, first, n, how, x):
    """Add patches up where they came from: the pull-back of `_im2col`."""
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


@njit(**INNER_OPTIONS)
def _add_bias(z, at, n, b, floor):
    """max(z + b, floor), in place."""
    here, size = np.uint64(at), np.uint64(len(b))
    for _ in range(n):
        for j in range(size):
            value = z[here + j] + b[j]
            z[here + j] = floor if value < floor else value  # noqa: FURB136  NaN stays NaN
        here += size


@njit(**ENTRY_OPTIONS)
def conv_forward(x, n, W, b, how, relu, patches, z):
    """Scores of n images, W (patch, f); `relu`: cut off below zero. `patches` are room for some."""
    places, size, f, lies = how[2] * how[3], how[4] * how[5], len(b), n < 0
    few, floor = len(patches) // (places * size), ZERO if relu else _NO_FLOOR
    for start in range(0, n, few):
        images = few if start + few < n else n - start
        _im2col(x, start, images, how, patches)
        at, rows = start * places * f, images * places
        matmul(patches, 0, lies, W, 0, lies, z, at, rows, size, f)
        _add_bias(z, at, rows, b, floor)


@njit(**INNER_OPTIONS)
def _relu_backward(slope, at, n, a, relu, db):
    """Let slopes through where a ReLU has, in place; their sums are added."""
    here, size = np.uint64(at), np.uint64(len(db))
    for _ in range(n):
        if relu:
            for j in range(size):
                slope[here + j] = slope[here + j] if a[here + j] > 0 else ZERO
        for j in range(size):
            db[j] += slope[here + j]
        here += size


@njit(**INNER_OPTIONS)
def _block_backward(x, start, images, turned, how, slope, at, dx, dW, db, patches, part):
    """Slopes in some images and in weights from that in their scores, which begin at a place."""
    rows, size, f, lies = images * how[2] * how[3], how[4] * how[5], len(db), images < 0
    _im2col(x, start, images, how, patches)
    matmul(patches, 0, images > 0, slope, at, lies, part, 0, size, rows, f)
    for i in range(np.uint64(len(dW))):
        dW[i] += part[i]
    if len(dx):
        matmul(slope, at, lies, turned, 0, lies, patches, 0, rows, f, size)
        _col2im(patches, start, images, how, dx)


@njit(**ENTRY_OPTIONS)
def conv_backward(x, n, turned, how, a, relu, slope, dx, dW, db, patches, part):
    """Slopes in images, weights and constants from that in the scores.

    `turned` are the weights transposed. Without images in `dx` theirs is left out; values `a` of a
    ReLU say where nothing comes through.
    """
    places, f = how[2] * how[3], len(db)
    few = len(patches) // (places * how[4] * how[5])
    for start in range(0, n, few):
        images, at = few if start + few < n else n - start, start * places * f
        _relu_backward(slope, at, images * places, a, relu, db)
        _block_backward(x, start, images, turned, how, slope, at, dx, dW, db, patches, part)


@njit(**INNER_OPTIONS)
def _max_pool_relu(z, first, n, how, size, b, y, which):
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


@njit(**INNER_OPTIONS)
def _max_pool_relu_backward(slope, first, n, how, size, y, which, down, db):
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


@njit(**ENTRY_OPTIONS)
def conv_pool_forward(x, n, W, b, how, size, patches, scores, y, which):
    """Largest scores of n images; `patches` and `scores` are room for those of some."""
    places, patch, f, lies = how[2] * how[3], how[4] * how[5], len(b), n < 0
    few = len(patches) // (places * patch)
    for start in range(0, n, few):
        images = few if start + few < n else n - start
        _im2col(x, start, images, how, patches)
        matmul(patches, 0, lies, W, 0, lies, scores, 0, images * places, patch, f)
        _max_pool_relu(scores, start, images, how, size, b, y, which)


@njit(**ENTRY_OPTIONS)
def conv_pool_backward(
    x, n, turned, how, size, y, which, slope, dx, dW, db, patches, part, scores
):  # fmt: skip
    """Slopes in images, weights and constants from that in the largest scores.

    Of these, `which` they were. Without images in `dx` theirs is left out. In `scores`, places
    outside all windows are zero.
    """
    few = len(patches) // (how[2] * how[3] * how[4] * how[5])
    for start in range(0, n, few):
        images = few if start + few < n else n - start
        _max_pool_relu_backward(slope, start, images, how, size, y, which, scores, db)
        _block_backward(x, start, images, turned, how, scores, 0, dx, dW, db, patches, part)
