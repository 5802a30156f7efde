"""Compiled parts of attention and layer normalization: softmax of scores, rows standardized.

All sums run over the entries of one row, in four interleaved parts: their order, and so their bits,
depend on the length of the row alone.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from tenfold._compiled.exponential import fast_exp32
from tenfold._compiled.gemm import ENTRY_OPTIONS, INNER_OPTIONS

_INNER = INNER_OPTIONS | {"fastmath": {"contract"}}
_ENTRY = ENTRY_OPTIONS | {"fastmath": {"contract"}}


def _exp(x):
    """exp(x) for x <= 0."""
    return np.exp(x)


@overload(_exp, jit_options={"error_model": "numpy", "fastmath": {"contract"}})
def _overload_exp(x):
    if x == types.float32:
        return lambda x: fast_exp32(x)  # noqa: PLW0108  numba needs a Python function
    return lambda x: math.exp(x)  # noqa: PLW0108


@njit(**_INNER)
def _sum(a):
    """Sum of the entries."""
    zero = a.dtype.type(0)
    s0, s1, s2, s3 = zero, zero, zero, zero
    full = len(a) // 4 * 4
    for j in range(0, full, 4):
        s0 += a[j]
        s1 += a[j + 1]
        s2 += a[j + 2]
        s3 += a[j + 3]
    for j in range(full, len(a)):
        s0 += a[j]
    return (s0 + s1) + (s2 + s3)


@njit(**_INNER)
def _dot(a, b):
    """Scalar product."""
    zero = a.dtype.type(0)
    s0, s1, s2, s3 = zero, zero, zero, zero
    full = len(a) // 4 * 4
    for j in range(0, full, 4):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
    for j in range(full, len(a)):
        s0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3)


@njit(**_INNER)
def _exp_below(a, largest, scale):
    """exp(scale (a - largest)), into a."""
    for j in range(len(a)):
        a[j] = _exp(scale * (a[j] - largest))


@njit(**_INNER)
def _scale(a, factor):
    for j in range(len(a)):
        a[j] *= factor


@njit(**_INNER)
def _softmax_row(row, exists, scale):
    """Softmax of `scale` times the entries that exist (empty: all), in place; zero for others."""
    zero, one, least = row.dtype.type(0), row.dtype.type(1), row.dtype.type(-np.inf)
    largest = least
    for j in range(len(row)):
        if len(exists) and not exists[j]:
            row[j] = least
        largest = max(largest, row[j])
    if largest > least:
        _exp_below(row, largest, scale)
        for j in range(len(exists)):
            row[j] = row[j] if exists[j] else zero
        _scale(row, one / _sum(row))
    else:  # no key, or a score that is not a number
        for j in range(len(row)):
            row[j] = row[j] if row[j] != row[j] else zero


@njit(**_ENTRY)
def attention_softmax(scores, exists, scale, causal, before):
    """Softmax of `scale` times each row of scores (n, h, t, s), in place.

    `exists` (n, s) says which keys there are, or is empty: all. With `causal`, query i sees the
    keys up to `before` + i. A query that sees no key has weights zero.
    """
    n, h, t, s = scores.shape
    for b in range(n):
        for head in range(h):
            for i in range(t):
                seen = min(before + i + 1, s) if causal else s
                row = scores[b, head, i]
                _softmax_row(row[:seen], exists[b][:seen] if len(exists) else exists[:0, 0], scale)
                for j in range(seen, s):
                    row[j] = 0


@njit(**_ENTRY)
def attention_softmax_backward(weights, gradient, scale, causal, before):
    """Gradient in the scores before scaling from that in the weights, in place of the latter."""
    n, h, t, s = weights.shape
    for b in range(n):
        for head in range(h):
            for i in range(t):
                seen = min(before + i + 1, s) if causal else s
                p, g = weights[b, head, i], gradient[b, head, i]
                mean = _dot(p[:seen], g[:seen])
                for j in range(seen):
                    g[j] = scale * p[j] * (g[j] - mean)
                for j in range(seen, s):
                    g[j] = 0


@njit(**_ENTRY)
def layer_norm_forward(x, scale, shift, eps, normalized, deviation, out):
    """Standardize each row of x (n, p); then times `scale`, plus `shift`."""
    n, p = x.shape
    inverse = x.dtype.type(1) / x.dtype.type(p)
    for i in range(n):
        row = normalized[i]
        mean = _sum(x[i]) * inverse
        for j in range(p):
            row[j] = x[i, j] - mean
        deviation[i] = np.sqrt(_dot(row, row) * inverse + eps)
        _scale(row, x.dtype.type(1) / deviation[i])
        for j in range(p):
            out[i, j] = row[j] * scale[j] + shift[j]


@njit(**_ENTRY)
def layer_norm_backward(normalized, deviation, gradient, scale, dscale, dshift, dx):
    """Gradients in scale and shift, added, and in x if `dx` is not empty."""
    n, p = normalized.shape
    inverse = normalized.dtype.type(1) / normalized.dtype.type(p)
    for i in range(n):
        row, g = normalized[i], gradient[i]
        for j in range(p):
            dscale[j] += g[j] * row[j]
            dshift[j] += g[j]
        if not len(dx):
            continue
        out = dx[i]
        for j in range(p):
            out[j] = g[j] * scale[j]
        mean, projection = _sum(out) * inverse, _dot(out, row) * inverse
        factor = normalized.dtype.type(1) / deviation[i]
        for j in range(p):
            out[j] = (out[j] - mean - row[j] * projection) * factor
