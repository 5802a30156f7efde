"""Tracers: arrays that record the operations on them, and backpropagation through the record.

A `Tracer` holds a value and, for each parent that it was computed from, a vector-Jacobian product
(VJP): the function that maps the gradient with respect to the result to the gradient with respect
to the parent. NumPy dispatches its functions to tracers (`__array_ufunc__`, `__array_function__`);
the rules are in `_vjp_elementwise`, `_vjp_shape`, `_vjp_linalg` and `_numpy_composites`.

The value may be a tracer of an outer trace. The VJPs of an inner trace are then traced by the outer
one: higher derivatives need no rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import count
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

VJP = Callable[..., Any]  # vjp(gradient of the result, result, *arguments, **options)

# the VJP of the i-th argument of each function
VJP_RULES: dict[Callable, Callable[[int], VJP]] = {}
COMPOSITE_RULES: dict[Callable, Callable] = {}  # functions as compositions of others
NON_DIFFERENTIABLE: set[Callable] = set()  # with zero derivative: comparisons, shapes, signs
UFUNC_REDUCTIONS: dict[np.ufunc, Callable] = {}  # the function of each `ufunc.reduce`
ARRAY_METHODS: dict[str, Callable] = {}  # the function of each method of arrays

_serial = count()


class NoRuleError(TypeError):
    """A function of arrays without a differentiation rule."""


class Tracer(NDArrayOperatorsMixin):
    """An array, or a number, that records how it was computed."""

    __array_priority__ = 1000

    def __init__(self, value: Any, level: int, parents: tuple = ()) -> None:
        self.value, self.level, self.parents = value, level, parents
        self.serial = next(_serial)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", (None,))[0]
        if out is not None and not isinstance(out, Tracer):
            raise NoRuleError(
                f"np.{ufunc.__name__} would write a traced array into a plain one: write "
                "`a = a + b`, not `a += b` or `out=a`"
            )
        if method == "reduce" and ufunc in UFUNC_REDUCTIONS:
            return UFUNC_REDUCTIONS[ufunc](*inputs, **{"axis": 0, **options})
        if method != "__call__" or options:
            raise NoRuleError(f"np.{ufunc.__name__}.{method} with {options} has no derivative here")
        return _dispatch(ufunc, inputs, {})

    def __array_function__(self, function: Callable, types: Any, args: Any, options: Any) -> Any:
        return _dispatch(function, args, options)

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise NoRuleError(
            "a traced array would become a plain one and lose its gradient. Instead of "
            "np.array([a, b]) write np.stack([a, b]); instead of z[i] = a, np.where or "
            "np.concatenate; "
            "functions of other libraries than NumPy need derivatives of their own"
        )

    def __float__(self) -> float:
        return self.__array__()  # pyright: ignore[reportReturnType] - it always raises

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NoRuleError("a traced array cannot be written into: use np.where or np.concatenate")

    def __bool__(self) -> bool:
        return bool(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return ARRAY_METHODS["__getitem__"](self, index)

    def __getattr__(self, name: str) -> Any:
        if name in {"shape", "ndim", "size", "dtype"}:
            return getattr(self.value, name)
        if name == "T":
            return np.transpose(self)
        if name in ARRAY_METHODS:
            return partial(ARRAY_METHODS[name], self)
        raise AttributeError(f"a traced array has no {name!r}: use a function of NumPy")

    def __repr__(self) -> str:
        return f"Tracer({self.value!r})"


def is_traced(x: Any) -> bool:
    """Whether x is, or is a sequence with, a traced array."""
    if isinstance(x, list | tuple):
        return any(map(is_traced, x))
    return isinstance(x, Tracer)


def primal(x: Any) -> Any:
    """The value without any trace."""
    while isinstance(x, Tracer):
        x = x.value
    return [primal(part) for part in x] if isinstance(x, list | tuple) and is_traced(x) else x


def _dispatch(function: Callable, args: Any, options: Any) -> Any:
    """Apply a function of which some arguments are traced."""
    if function in COMPOSITE_RULES:
        return COMPOSITE_RULES[function](*args, **options)
    if function in NON_DIFFERENTIABLE:
        return function(*map(primal, args), **options)
    if function not in VJP_RULES:
        name = getattr(function, "__name__", str(function))
        raise NoRuleError(
            f"{name} has no derivative here: write it with other functions of NumPy, or take "
            "finite differences (tenfold.teaching.autodiff.numerical_gradient)"
        )
    if any(map(is_traced, options.values())):
        raise NoRuleError(f"arrays are given to {function.__name__} by position, not by name")
    return _record(function, args, options)


def _record(function: Callable, args: tuple, options: dict) -> Tracer:
    """Apply a function and record its VJPs in the innermost trace of its arguments."""
    level = max(arg.level for arg in args if isinstance(arg, Tracer))
    traced = [i for i, arg in enumerate(args) if isinstance(arg, Tracer) and arg.level == level]
    values = [arg.value if i in traced else arg for i, arg in enumerate(args)]
    result = function(*values, **options)
    vjp_of = VJP_RULES[function]
    vjps = (partial(_apply_vjp, vjp_of(i), result, values, options) for i in traced)
    return Tracer(result, level, tuple(zip((args[i] for i in traced), vjps, strict=True)))


def _apply_vjp(vjp: VJP, result: Any, values: list, options: dict, gradient: Any) -> Any:
    return vjp(gradient, result, *values, **options)


def primitive(*vjps: VJP) -> Callable[[Callable], Callable]:
    """Decorator: a function with a VJP for each of its first arguments."""

    def make(function: Callable) -> Callable:
        @wraps(function)
        def wrapper(*args: Any, **options: Any) -> Any:
            if any(isinstance(arg, Tracer) for arg in args):
                return _record(wrapper, args, options)
            return function(*args, **options)

        VJP_RULES[wrapper] = vjps.__getitem__ if len(vjps) != 1 else lambda _: vjps[0]
        return wrapper

    return make


def start_trace(values: list) -> list[Tracer]:
    """Start a trace with these arrays as inputs."""
    level = next(_serial)
    return [Tracer(value, level) for value in values]


def backpropagate(output: Tracer, gradient: Any, inputs: list[Tracer]) -> list:
    """Gradients with respect to the inputs of a trace, from that with respect to its output."""
    pending = {output.serial: output}
    gradients = {output.serial: gradient}
    while pending:
        node = pending.pop(max(pending))  # newest first: all its children are done
        for parent, vjp in node.parents:
            term = vjp(gradients[node.serial])
            total = gradients.get(parent.serial)
            gradients[parent.serial] = term if total is None else total + term
            pending[parent.serial] = parent
        if node.parents:
            del gradients[node.serial]
    return [gradients.get(x.serial, np.zeros_like(primal(x))) for x in inputs]
