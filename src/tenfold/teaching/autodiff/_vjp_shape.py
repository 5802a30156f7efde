"""Vector-Jacobian products of sums, of extrema, and of functions that move entries about."""

# ruff: noqa: ARG001, ARG005 - all VJPs have the same signature

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.teaching.autodiff._vjp_elementwise import unbroadcast
from tenfold.teaching.autodiff.tracer import (
    ARRAY_METHODS,
    COMPOSITE_RULES,
    VJP,
    VJP_RULES,
    primal,
    primitive,
)


def expand_reduced(gradient: Any, x: Any, axis: Any, *, keepdims: bool = False) -> Any:
    """The gradient of each reduction, broadcast to the entries that it is of."""
    if axis is not None and not keepdims:
        axes = axis if isinstance(axis, tuple) else (axis,)
        gradient = np.expand_dims(gradient, tuple(a % np.ndim(x) for a in axes))
    return np.broadcast_to(gradient, np.shape(x))


def _vjp_sum(g: Any, y: Any, x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """VJP of a sum."""
    return expand_reduced(g, x, axis, keepdims=keepdims)


def _vjp_extremum(g: Any, y: Any, x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """VJP of the largest or smallest number; equal ones share the gradient."""
    best = np.equal(x, expand_reduced(primal(y), x, axis, keepdims=keepdims))
    shares = best / best.sum(axis=axis, keepdims=True)
    return expand_reduced(g, x, axis, keepdims=keepdims) * shares


def _vjp_prod(g: Any, y: Any, x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """VJP of a product of numbers none of which is zero."""
    if not np.all(np.not_equal(x, 0)):
        raise ValueError("np.prod has no gradient here where an entry is zero")
    return expand_reduced(g * y, x, axis, keepdims=keepdims) / x


def _vjp_cumsum(g: Any, y: Any, x: Any, axis: Any = None) -> Any:
    """VJP of running sums: running sums from the end."""
    back = np.flip(np.cumsum(np.flip(g, axis=axis or 0), axis=axis or 0), axis=axis or 0)
    return np.reshape(back, np.shape(x))


def first_argument_vjp(vjp: VJP) -> Any:
    """VJPs of a function of which the first argument alone has a gradient."""
    return lambda _: vjp


@primitive(lambda g, y, part, index, shape: g[index])
def _scatter_add(part: Any, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An array of zeros, with numbers added at an index: the vjp of indexing."""
    whole = np.zeros(shape, np.result_type(part))
    np.add.at(whole, index, part)
    return whole


@primitive(lambda g, y, x, index: _scatter_add(g, index, np.shape(x)))
def _get_item(x: Any, index: Any) -> Any:
    """Part of an array."""
    return x[index]


def _vjp_concatenate(i: int) -> VJP:
    """VJP of the i-th of the arrays that were put behind each other; the 0-th is the axis."""

    def vjp(g: Any, y: Any, axis: int, *parts: Any) -> Any:
        ends = np.cumsum([np.shape(part)[axis] for part in parts])
        last = int(ends[i - 1])
        index = [slice(None)] * np.ndim(g)
        index[axis] = slice(last - np.shape(parts[i - 1])[axis], last)
        return g[tuple(index)]

    return vjp


@primitive()
def _concatenate_along(axis: int, *parts: Any) -> np.ndarray:
    """Arrays behind each other."""
    return np.concatenate(parts, axis=axis)


VJP_RULES[_concatenate_along] = _vjp_concatenate


def _concatenate(parts: Any, axis: int | None = 0) -> Any:
    """`np.concatenate`, of arrays some of which are traced."""
    parts = [np.ravel(part) for part in parts] if axis is None else list(parts)
    return _concatenate_along((axis or 0) % np.ndim(parts[0]), *parts)


def _stack(parts: Any, axis: int = 0) -> Any:
    """`np.stack`, of arrays some of which are traced."""
    axis %= np.ndim(parts[0]) + 1
    return _concatenate([np.expand_dims(part, axis) for part in parts], axis)


def _vjp_transpose(g: Any, y: Any, x: Any, axes: Any = None) -> Any:
    """VJP of a transposition: back to the old order."""
    return np.transpose(g, None if axes is None else np.argsort([a % np.ndim(x) for a in axes]))


def _vjp_diag(g: Any, y: Any, x: Any, k: int = 0) -> Any:
    """VJP of `np.diag`: of a matrix a vector, of a vector a matrix."""
    if np.ndim(x) == 1:
        return np.diag(g, k)
    rows = np.arange(np.shape(y)[0]) + max(-k, 0)
    return _scatter_add(g, (rows, rows + k), np.shape(x))


def _vjp_reshape(g: Any, y: Any, x: Any, *_: Any, **__: Any) -> Any:
    """VJP of a function that keeps the numbers and their order."""
    return np.reshape(g, np.shape(x))


def _vjp_broadcast(g: Any, y: Any, x: Any, shape: Any) -> Any:
    """VJP of broadcasting: the sum over the copies."""
    return unbroadcast(g, np.shape(x))


_RESHAPE_FUNCTIONS = (
    np.reshape,
    np.ravel,
    np.squeeze,
    np.expand_dims,
    np.atleast_1d,
    np.atleast_2d,
)
VJP_RULES.update({function: first_argument_vjp(_vjp_reshape) for function in _RESHAPE_FUNCTIONS})
VJP_RULES.update(
    {
        np.sum: first_argument_vjp(_vjp_sum),
        np.max: first_argument_vjp(_vjp_extremum),
        np.min: first_argument_vjp(_vjp_extremum),
        np.prod: first_argument_vjp(_vjp_prod),
        np.cumsum: first_argument_vjp(_vjp_cumsum),
        np.transpose: first_argument_vjp(_vjp_transpose),
        np.swapaxes: first_argument_vjp(lambda g, y, x, a, b: np.swapaxes(g, a, b)),
        np.moveaxis: first_argument_vjp(lambda g, y, x, a, b: np.moveaxis(g, b, a)),
        np.broadcast_to: first_argument_vjp(_vjp_broadcast),
        np.flip: first_argument_vjp(lambda g, y, x, axis=None: np.flip(g, axis)),
        np.roll: first_argument_vjp(lambda g, y, x, shift, axis=None: np.roll(g, -shift, axis)),
        np.tril: first_argument_vjp(lambda g, y, x, k=0: np.tril(g, k)),
        np.triu: first_argument_vjp(lambda g, y, x, k=0: np.triu(g, k)),
        np.diag: first_argument_vjp(_vjp_diag),
    }
)
COMPOSITE_RULES.update({np.concatenate: _concatenate, np.stack: _stack})
ARRAY_METHODS["__getitem__"] = _get_item
