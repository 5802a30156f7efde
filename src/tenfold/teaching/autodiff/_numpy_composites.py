"""NumPy functions written as compositions of others, and the methods and reductions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.teaching.autodiff.tracer import (
    ARRAY_METHODS,
    COMPOSITE_RULES,
    UFUNC_REDUCTIONS,
    primal,
)


def _reduced_size(x: Any, axis: Any) -> int:
    """How many numbers go into one sum."""
    shape = np.shape(x)
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis)
    return int(np.prod([shape[a] for a in axes]))


def mean(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.mean`."""
    return np.sum(x, axis=axis, keepdims=keepdims) / _reduced_size(x, axis)


def var(x: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """`np.var`."""
    squares = np.square(x - np.mean(x, axis=axis, keepdims=True))
    return np.sum(squares, axis=axis, keepdims=keepdims) / (_reduced_size(x, axis) - ddof)


def std(x: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """`np.std`."""
    return np.sqrt(var(x, axis, ddof=ddof, keepdims=keepdims))


def average(x: Any, axis: Any = None, weights: Any = None) -> Any:
    """`np.average`, with weights of the shape of x or of the axis."""
    if weights is None:
        return mean(x, axis)
    return np.sum(x * weights, axis=axis) / np.sum(weights + 0.0 * x, axis=axis)


def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """`np.clip`."""
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def log_sum_exp(x: Any, axis: Any = 0, *, keepdims: bool = False) -> Any:
    """`np.logaddexp.reduce`."""
    top = np.max(primal(x), axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = top + np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True))
    return total if keepdims else np.squeeze(total, axis)


def trace(x: Any) -> Any:
    """`np.trace` of a matrix."""
    return np.sum(np.diag(x))


def diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    """`np.diff`."""
    x = np.moveaxis(x, axis, 0)
    for _ in range(n):
        x = x[1:] - x[:-1]
    return np.moveaxis(x, 0, axis)


def tensordot(a: Any, b: Any, axes: int = 2) -> Any:
    """`np.tensordot` over the last axes of a and the first of b."""
    if not isinstance(axes, int):
        raise TypeError("np.tensordot with lists of axes: use np.einsum")
    inner = int(np.prod(np.shape(b)[:axes]))
    rest = (*np.shape(a)[: np.ndim(a) - axes], *np.shape(b)[axes:])
    return np.reshape(np.reshape(a, (-1, inner)) @ np.reshape(b, (inner, -1)), rest)


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """`np.take`."""
    if axis is None:
        return np.ravel(x)[indices]
    return x[(slice(None),) * (axis % np.ndim(x)) + (indices,)]


def sort(x: Any, axis: int = -1) -> Any:
    """`np.sort`."""
    return np.take_along_axis(x, np.argsort(x, axis=axis), axis)


def take_along_axis(x: Any, indices: Any, axis: int) -> Any:
    """`np.take_along_axis`."""
    places = list(np.indices(np.shape(indices), sparse=True))
    places[axis] = indices
    return x[tuple(places)]


def median(x: Any, axis: int | None = None) -> Any:
    """`np.median`."""
    x, axis = (np.ravel(x), 0) if axis is None else (x, axis)
    n = np.shape(x)[axis]
    return np.mean(np.take(np.sort(x, axis=axis), [(n - 1) // 2, n // 2], axis=axis), axis=axis)


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """`np.repeat`."""
    x, axis = (np.ravel(x), 0) if axis is None else (x, axis)
    return np.take(x, np.repeat(np.arange(np.shape(x)[axis]), repeats), axis=axis)


def tile(x: Any, reps: Any) -> Any:
    """`np.tile`."""
    reps = tuple(np.atleast_1d(reps).tolist())
    n = max(np.ndim(x), len(reps))
    x = np.reshape(x, (1,) * (n - np.ndim(x)) + np.shape(x))
    for axis, times in enumerate((1,) * (n - len(reps)) + reps):
        x = np.concatenate([x] * times, axis=axis)
    return x


def pad(x: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """`np.pad` with a constant, or with copies of entries ("edge", "reflect", "wrap", ...)."""
    if mode != "constant":  # which entry each entry of the result is a copy of
        numbers = np.arange(np.size(primal(x))).reshape(np.shape(x))
        options: Any = {"mode": mode, **kwargs}
        return np.ravel(x)[np.pad(numbers, pad_width, **options)]
    value = kwargs.get("constant_values", 0.0)
    widths = np.broadcast_to(pad_width, (np.ndim(x), 2)).tolist()
    for axis, sizes in enumerate(widths):
        shapes = [(*np.shape(x)[:axis], size, *np.shape(x)[axis + 1 :]) for size in sizes]
        before, after = (np.full(shape, value) for shape in shapes)
        x = np.concatenate([before, x, after], axis=axis)
    return x


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """`np.convolve`: the sums of the products along the anti-diagonals of the outer product."""
    n, m = len(a), len(v)
    shifted = [pad(a * v[j], (j, m - 1 - j)) for j in range(m)]
    full = np.sum(np.stack(shifted), axis=0)
    if mode == "full":
        return full
    cut = min(n, m) - 1
    begin = cut if mode == "valid" else cut // 2
    return full[begin : begin + (max(n, m) - cut if mode == "valid" else max(n, m))]


def interp(x: Any, xp: Any, fp: Any) -> Any:
    """`np.interp`: constant beyond the first and the last point."""
    xp, fp = (np.asarray(v) if isinstance(v, list | tuple) else v for v in (xp, fp))
    x = clip(x, xp[0], xp[-1])
    right = np.clip(np.searchsorted(primal(xp), primal(x), side="right"), 1, len(xp) - 1)
    share = (x - xp[right - 1]) / (xp[right] - xp[right - 1])
    return fp[right - 1] + share * (fp[right] - fp[right - 1])


def nansum(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.nansum`; the derivative in a missing entry is zero."""
    return np.sum(np.where(np.isnan(primal(x)), 0.0, x), axis=axis, keepdims=keepdims)


def nanmean(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.nanmean`."""
    there = np.sum(~np.isnan(primal(x)), axis=axis, keepdims=keepdims)
    return nansum(x, axis, keepdims=keepdims) / there


def hstack(parts: Any) -> Any:
    """`np.hstack`."""
    parts = [np.atleast_1d(part) for part in parts]
    return np.concatenate(parts, axis=0 if np.ndim(parts[0]) == 1 else 1)


def column_stack(parts: Any) -> Any:
    """`np.column_stack`."""
    columns = [np.reshape(part, (-1, 1)) if np.ndim(part) < 2 else part for part in parts]
    return np.concatenate(columns, axis=1)


def reshape(x: Any, *shape: Any) -> Any:
    """`x.reshape(3, 2)` or `x.reshape((3, 2))`."""
    return np.reshape(x, shape[0] if len(shape) == 1 else shape)


def transpose(x: Any, *axes: Any) -> Any:
    """`x.transpose()`, with the axes one by one or as a tuple."""
    return np.transpose(x, (axes[0] if len(axes) == 1 else axes) or None)


COMPOSITE_RULES.update(
    {
        np.mean: mean,
        np.var: var,
        np.std: std,
        np.average: average,
        np.clip: clip,
        np.trace: trace,
        np.diff: diff,
        np.tensordot: tensordot,
        np.take: take,
        np.hstack: hstack,
        np.vstack: lambda parts: np.concatenate([np.atleast_2d(part) for part in parts]),
        np.column_stack: column_stack,
        np.diagonal: np.diag,
        np.flipud: lambda x: np.flip(x, 0),
        np.fliplr: lambda x: np.flip(x, 1),
        np.copy: lambda x: x,
        np.sort: sort,
        np.take_along_axis: take_along_axis,
        np.median: median,
        np.ptp: lambda x, axis=None: np.max(x, axis=axis) - np.min(x, axis=axis),
        np.repeat: repeat,
        np.tile: tile,
        np.pad: pad,
        np.convolve: convolve,
        np.interp: interp,
        np.nansum: nansum,
        np.nanmean: nanmean,
        np.sinc: lambda x: np.where(
            np.equal(x, 0), 1.0, np.sin(np.pi * x) / (np.pi * np.where(np.equal(x, 0), 1.0, x))
        ),
    }
)
UFUNC_REDUCTIONS.update(
    {
        np.add: np.sum,
        np.multiply: np.prod,
        np.maximum: np.max,
        np.minimum: np.min,
        np.logaddexp: log_sum_exp,
    }
)
ARRAY_METHODS.update(
    {
        **{name: getattr(np, name) for name in ("sum", "mean", "var", "std", "max", "min", "prod")},
        **{name: getattr(np, name) for name in ("dot", "ravel", "squeeze", "clip", "cumsum")},
        **{name: getattr(np, name) for name in ("trace", "take", "swapaxes", "diagonal")},
        **{name: getattr(np, name) for name in ("argmax", "argmin", "any", "all", "round")},
        "flatten": np.ravel,
        "reshape": reshape,
        "transpose": transpose,
        "copy": lambda x: x,
        "astype": lambda x, *_, **__: x,  # a trace stays in its own precision
    }
)
