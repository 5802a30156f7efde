"""Compiled convolution by im2col and matrix products, alone or fused with ReLU and max pooling.

A few images are processed at a time, so that their patches stay in the cache. Images are
channels-last and already padded. A patch holds the values under a kernel at one place, row by row
of the kernel; each of its rows is contiguous in the image. With all patches as rows of a matrix, a
convolution is one matrix product; in the backward pass the gradients of the patches are added to
the places where the patches came from (col2im).

Fused with pooling, the scores never leave the cache, in both passes; only the largest value of each
window and its index within the window are stored.

Arrays are flat, see `tenfold._compiled.gemm`. `geometry` holds: rows of an image, values of an
image row, output rows, output columns, rows of a kernel, values of a kernel row, vertical stride in
image rows, horizontal stride in values.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS
from tenfold._compiled.register_product import tiled_matmul

_NO_FLOOR = np.float32(-np.inf)
_ZERO = np.float32(0)  # the integer 0 would promote float32 to float64


@njit(**INNER_OPTIONS)
def _im2col(x, first, n, geometry, patches):
    """Patches of n images."""
    h, width, oh, ow, kh, size, stride_rows, stride_values = geometry
    to, run = np.uint64(0), np.uint64(size)
    for image in range(first, first + n):
        for i in range(oh):
            for j in range(ow):
                for k in range(kh):
                    row = (image * h + i * stride_rows + k) * width
                    source = np.uint64(row + j * stride_values)
                    for t in range(run):
                        patches[to + t] = x[source + t]
                    to += run


@njit(**INNER_OPTIONS)
def _col2im(patches, first, n, geometry, x):
    """Add patches to the places where they came from: the adjoint of `_im2col`."""
    h, width, oh, ow, kh, size, stride_rows, stride_values = geometry
    source, run = np.uint64(0), np.uint64(size)
    for image in range(first, first + n):
        for i in range(oh):
            for j in range(ow):
                for k in range(kh):
                    row = (image * h + i * stride_rows + k) * width
                    to = np.uint64(row + j * stride_values)
                    for t in range(run):
                        x[to + t] += patches[source + t]
                    source += run


@njit(**INNER_OPTIONS)
def _add_bias(z, at, n, b, floor):
    """max(z + b, floor), in place."""
    row, size = np.uint64(at), np.uint64(len(b))
    for _ in range(n):
        for j in range(size):
            value = z[row + j] + b[j]
            z[row + j] = floor if value < floor else value  # noqa: FURB136  NaN stays NaN
        row += size


@njit(**ENTRY_OPTIONS)
def conv_forward(x, n, W, b, geometry, relu, patches, z):
    """Scores z of n images with weights W (patch size, filters), after a ReLU if `relu`.

    `patches` is the workspace; its length decides how many images are processed at a time.
    """
    places, size = geometry[2] * geometry[3], geometry[4] * geometry[5]
    f, plain = len(b), n < 0
    block, floor = len(patches) // (places * size), _ZERO if relu else _NO_FLOOR
    for start in range(0, n, block):
        images = block if start + block < n else n - start
        _im2col(x, start, images, geometry, patches)
        at, rows = start * places * f, images * places
        tiled_matmul(patches, 0, plain, W, 0, plain, z, at, rows, size, f)
        _add_bias(z, at, rows, b, floor)


@njit(**INNER_OPTIONS)
def _relu_backward(gradient, at, n, a, relu, db):
    """Zero the gradient where the ReLU did, in place; its sums over rows are added to `db`."""
    row, size = np.uint64(at), np.uint64(len(db))
    for _ in range(n):
        if relu:
            for j in range(size):
                gradient[row + j] = gradient[row + j] if a[row + j] > 0 else _ZERO
        for j in range(size):
            db[j] += gradient[row + j]
        row += size


@njit(**INNER_OPTIONS)
def _block_backward(
    x, start, images, transposed, geometry, gradient, at, dx, dW, db, patches, part
):  # fmt: skip
    """Add the gradients in some images and in weights, from that in scores from `at` on."""
    rows, size = images * geometry[2] * geometry[3], geometry[4] * geometry[5]
    f, plain = len(db), images < 0
    _im2col(x, start, images, geometry, patches)
    tiled_matmul(patches, 0, images > 0, gradient, at, plain, part, 0, size, rows, f)
    for i in range(np.uint64(len(dW))):
        dW[i] += part[i]
    if len(dx):
        tiled_matmul(gradient, at, plain, transposed, 0, plain, patches, 0, rows, f, size)
        _col2im(patches, start, images, geometry, dx)


@njit(**ENTRY_OPTIONS)
def conv_backward(x, n, transposed, geometry, a, relu, gradient, dx, dW, db, patches, part):
    """Add the gradients in images, weights and biases, from that in the scores.

    `transposed` are the weights transposed, `a` the output of the ReLU, `part` a workspace of the
    size of the weights. With an empty `dx` the gradient in the images is not computed.
    """
    places, f = geometry[2] * geometry[3], len(db)
    block = len(patches) // (places * geometry[4] * geometry[5])
    for start in range(0, n, block):
        images, at = block if start + block < n else n - start, start * places * f
        _relu_backward(gradient, at, images * places, a, relu, db)
        _block_backward(
            x, start, images, transposed, geometry, gradient, at, dx, dW, db, patches, part
        )


@njit(**INNER_OPTIONS)
def _max_pool_relu(z, first, n, geometry, size, b, y, argmax):
    """max(largest score of each window + b, 0), and the index of that score in its window."""
    oh, ow, f = geometry[2], geometry[3], np.uint64(len(b))
    ph, pw = oh // size[0], ow // size[1]
    best = np.uint64(first * ph * pw * len(b))
    for window in range(n * ph * pw):
        row, j = window // pw, window % pw
        image, i = row // ph, row % ph
        for code in range(size[0] * size[1]):
            k, m, index = code // size[1], code % size[1], np.int32(code)
            source = ((image * oh + i * size[0] + k) * ow + j * size[1] + m) * len(b)
            source = np.uint64(source)
            if code == 0:
                for t in range(f):
                    y[best + t] = z[source + t]
                    argmax[best + t] = index
            else:
                for t in range(f):
                    new, old, old_index = z[source + t], y[best + t], argmax[best + t]
                    y[best + t] = new if new > old else old  # noqa: FURB136  faster
                    argmax[best + t] = index if new > old else old_index
        for t in range(f):
            value = y[best + t] + b[t]
            y[best + t] = _ZERO if value < _ZERO else value  # noqa: FURB136  NaN stays NaN
        best += f


@njit(**INNER_OPTIONS)
def _max_pool_relu_backward(gradient, first, n, geometry, size, y, argmax, dz, db):
    """Gradient in the scores, zero but for the largest of each window; sums are added to `db`."""
    oh, ow, f = geometry[2], geometry[3], np.uint64(len(db))
    ph, pw = oh // size[0], ow // size[1]
    best = np.uint64(first * ph * pw * len(db))
    for window in range(n * ph * pw):
        row, j = window // pw, window % pw
        image, i = row // ph, row % ph
        for t in range(f):
            passed = gradient[best + t] if y[best + t] > _ZERO else _ZERO
            gradient[best + t] = passed
            db[t] += passed
        for code in range(size[0] * size[1]):
            k, m, index = code // size[1], code % size[1], np.int32(code)
            to = ((image * oh + i * size[0] + k) * ow + j * size[1] + m) * len(db)
            to = np.uint64(to)
            for t in range(f):
                dz[to + t] = gradient[best + t] if argmax[best + t] == index else _ZERO
        best += f


@njit(**ENTRY_OPTIONS)
def conv_pool_forward(x, n, W, b, geometry, size, patches, scores, y, argmax):
    """Pooled scores of n images; `patches` and `scores` are the workspace of one block."""
    places, patch = geometry[2] * geometry[3], geometry[4] * geometry[5]
    f, plain = len(b), n < 0
    block = len(patches) // (places * patch)
    for start in range(0, n, block):
        images = block if start + block < n else n - start
        _im2col(x, start, images, geometry, patches)
        tiled_matmul(patches, 0, plain, W, 0, plain, scores, 0, images * places, patch, f)
        _max_pool_relu(scores, start, images, geometry, size, b, y, argmax)


@njit(**ENTRY_OPTIONS)
def conv_pool_backward(
    x, n, transposed, geometry, size, y, argmax, gradient, dx, dW, db, patches, part, scores
):  # fmt: skip
    """Add the gradients in images, weights and biases, from that in the pooled scores `y`.

    With an empty `dx` the gradient in the images is not computed. In `scores`, places outside of
    all windows must be zero.
    """
    block = len(patches) // (geometry[2] * geometry[3] * geometry[4] * geometry[5])
    for start in range(0, n, block):
        images = block if start + block < n else n - start
        _max_pool_relu_backward(gradient, start, images, geometry, size, y, argmax, scores, db)
        _block_backward(
            x, start, images, transposed, geometry, scores, 0, dx, dW, db, patches, part
        )
