"""Pulls of sums, of extremes, and of functions that only move numbers about."""

# ruff: noqa: ARG001, ARG005 - a pull is given all there is, and few need all

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.maths.differentiate.pointwise import summed_to
from tenfold.maths.differentiate.traced import COMPOSED, METHODS, PULLS, Pull, plain, primitive


def spread(slope: Any, x: Any, axis: Any, *, keepdims: bool = False) -> Any:
    """The slope of each sum, for each number that went into it."""
    if axis is not None and not keepdims:
        axes = axis if isinstance(axis, tuple) else (axis,)
        slope = np.expand_dims(slope, tuple(a % np.ndim(x) for a in axes))
    return np.broadcast_to(slope, np.shape(x))


def of_sum(g: Any, y: Any, x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Pull of a sum."""
    return spread(g, x, axis, keepdims=keepdims)


def of_extreme(g: Any, y: Any, x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Pull of the largest or smallest number; equal ones share the slope."""
    best = np.equal(x, spread(plain(y), x, axis, keepdims=keepdims))
    shares = best / best.sum(axis=axis, keepdims=True)
    return spread(g, x, axis, keepdims=keepdims) * shares


def of_product(g: Any, y: Any, x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Pull of a product of numbers none of which is zero."""
    if not np.all(np.not_equal(x, 0)):
        raise ValueError("the slope of np.prod is not there where a number is zero")
    return spread(g * y, x, axis, keepdims=keepdims) / x


def of_cumsum(g: Any, y: Any, x: Any, axis: Any = None) -> Any:
    """Pull of running sums: running sums from the end."""
    back = np.flip(np.cumsum(np.flip(g, axis=axis or 0), axis=axis or 0), axis=axis or 0)
    return np.reshape(back, np.shape(x))


def only(pull: Pull) -> Any:
    """Pulls of a function of which the first argument alone has a slope."""
    return lambda _: pull


@primitive(lambda g, y, part, index, shape: g[index])
def scatter(part: Any, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An array of zeros, with numbers added at an index: the pull of indexing."""
    whole = np.zeros(shape, np.result_type(part))
    np.add.at(whole, index, part)
    return whole


@primitive(lambda g, y, x, index: scatter(g, index, np.shape(x)))
def taken(x: Any, index: Any) -> Any:
    """Part of an array."""
    return x[index]


def joined_pull(i: int) -> Pull:
    """Pull of the i-th of the arrays that were put behind each other; the 0-th is the axis."""

    def pull(g: Any, y: Any, axis: int, *parts: Any) -> Any:
        ends = np.cumsum([np.shape(part)[axis] for part in parts])
        last = int(ends[i - 1])
        index = [slice(None)] * np.ndim(g)
        index[axis] = slice(last - np.shape(parts[i - 1])[axis], last)
        return g[tuple(index)]

    return pull


@primitive()
def joined(axis: int, *parts: Any) -> np.ndarray:
    """Arrays behind each other."""
    return np.concatenate(parts, axis=axis)


PULLS[joined] = joined_pull


def concatenate(parts: Any, axis: int | None = 0) -> Any:
    """`np.concatenate`, of arrays some of which are traced."""
    parts = [np.ravel(part) for part in parts] if axis is None else list(parts)
    return joined((axis or 0) % np.ndim(parts[0]), *parts)


def stack(parts: Any, axis: int = 0) -> Any:
    """`np.stack`, of arrays some of which are traced."""
    axis %= np.ndim(parts[0]) + 1
    return concatenate([np.expand_dims(part, axis) for part in parts], axis)


def transposed(g: Any, y: Any, x: Any, axes: Any = None) -> Any:
    """Pull of a transposition: back to the old order."""
    return np.transpose(g, None if axes is None else np.argsort([a % np.ndim(x) for a in axes]))


def of_diag(g: Any, y: Any, x: Any, k: int = 0) -> Any:
    """Pull of `np.diag`: of a matrix a vector, of a vector a matrix."""
    if np.ndim(x) == 1:
        return np.diag(g, k)
    rows = np.arange(np.shape(y)[0]) + max(-k, 0)
    return scatter(g, (rows, rows + k), np.shape(x))


def reshaped(g: Any, y: Any, x: Any, *_: Any, **__: Any) -> Any:
    """Pull of a function that keeps the numbers and their order."""
    return np.reshape(g, np.shape(x))


def broadcast(g: Any, y: Any, x: Any, shape: Any) -> Any:
    """Pull of broadcasting: the sum over the copies."""
    return summed_to(g, np.shape(x))


SAME_NUMBERS = (np.reshape, np.ravel, np.squeeze, np.expand_dims, np.atleast_1d, np.atleast_2d)
PULLS.update({function: only(reshaped) for function in SAME_NUMBERS})
PULLS.update(
    {
        np.sum: only(of_sum),
        np.max: only(of_extreme),
        np.min: only(of_extreme),
        np.prod: only(of_product),
        np.cumsum: only(of_cumsum),
        np.transpose: only(transposed),
        np.swapaxes: only(lambda g, y, x, a, b: np.swapaxes(g, a, b)),
        np.moveaxis: only(lambda g, y, x, a, b: np.moveaxis(g, b, a)),
        np.broadcast_to: only(broadcast),
        np.flip: only(lambda g, y, x, axis=None: np.flip(g, axis)),
        np.roll: only(lambda g, y, x, shift, axis=None: np.roll(g, -shift, axis)),
        np.tril: only(lambda g, y, x, k=0: np.tril(g, k)),
        np.triu: only(lambda g, y, x, k=0: np.triu(g, k)),
        np.diag: only(of_diag),
    }
)
COMPOSED.update({np.concatenate: concatenate, np.stack: stack})
METHODS["__getitem__"] = taken
