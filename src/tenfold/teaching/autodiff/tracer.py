"""Arrays that remember how they were made, and the way back through what they remember.

A `Tracer` array holds a value and, for each array that it was made from, a *pull*: the function
that turns a slope by the result into a slope by that array. NumPy hands its calls over to it
(`__array_ufunc__`, `__array_function__`); the rules for each of its functions stand in `pointwise`,
`shaping`, `products`, `eigen` and `composed`.

The value may itself be traced, by a trace that began earlier. So the pulls of an inner trace are
traced by the outer one, and second derivatives need nothing of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import count
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

VJP = Callable[..., Any]  # pull(slope by the result, result, *arguments, **options)

VJP_RULES: dict[
    Callable, Callable[[int], VJP]
] = {}  # of each function: the pull of its i-th argument
COMPOSITE_RULES: dict[Callable, Callable] = {}  # functions that are written as others
NON_DIFFERENTIABLE: set[Callable] = set()  # functions without a slope: comparisons, shapes, signs
UFUNC_REDUCTIONS: dict[np.ufunc, Callable] = {}  # what `ufunc.reduce` is called elsewhere
ARRAY_METHODS: dict[str, Callable] = {}  # of arrays, as functions

_serial = count()


class NoRuleError(TypeError):
    """A function of arrays that cannot be differentiated here."""


class Tracer(NDArrayOperatorsMixin):
    """An array, or a number, that remembers how it was made."""

    __array_priority__ = 1000

    def __init__(self, value: Any, level: int, made_from: tuple = ()) -> None:
        self.value, self.level, self.parents = value, level, made_from
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
            "a traced array would become a plain one and lose its slope. Instead of np.array([a, "
            "b]) write np.stack([a, b]); instead of z[i] = a, np.where or np.concatenate; "
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
        return f"Traced({self.value!r})"


def is_traced(x: Any) -> bool:
    """Whether x is, or is a sequence with, a traced array."""
    if isinstance(x, list | tuple):
        return any(map(is_traced, x))
    return isinstance(x, Tracer)


def primal(x: Any) -> Any:
    """The numbers themselves, without any trace."""
    while isinstance(x, Tracer):
        x = x.value
    return [primal(each) for each in x] if isinstance(x, list | tuple) and is_traced(x) else x


def _dispatch(function: Callable, args: Any, options: Any) -> Any:
    """The result of a function of which some arguments are traced."""
    if function in COMPOSITE_RULES:
        return COMPOSITE_RULES[function](*args, **options)
    if function in NON_DIFFERENTIABLE:
        return function(*map(primal, args), **options)
    if function not in VJP_RULES:
        name = getattr(function, "__name__", str(function))
        raise NoRuleError(
            f"{name} has no derivative here: write it with other functions of NumPy, or take "
            "finite differences (tenfold.maths.numerical_gradient)"
        )
    if any(map(is_traced, options.values())):
        raise NoRuleError(f"arrays are given to {function.__name__} by position, not by name")
    return _record(function, args, options)


def _record(function: Callable, args: tuple, options: dict) -> Tracer:
    """The result with its pulls, in the newest of the traces that the arguments belong to."""
    level = max(arg.level for arg in args if isinstance(arg, Tracer))
    mine = [i for i, arg in enumerate(args) if isinstance(arg, Tracer) and arg.level == level]
    values = [arg.value if i in mine else arg for i, arg in enumerate(args)]
    result = function(*values, **options)
    pull_of = VJP_RULES[function]
    back = tuple((args[i], partial(_apply_vjp, pull_of(i), result, values, options)) for i in mine)
    return Tracer(result, level, back)


def _apply_vjp(pull: VJP, result: Any, values: list, options: dict, slope: Any) -> Any:
    return pull(slope, result, *values, **options)


def primitive(*pulls: VJP) -> Callable[[Callable], Callable]:
    """Give a function of our own a pull for each of its first arguments."""

    def make(function: Callable) -> Callable:
        @wraps(function)
        def called(*args: Any, **options: Any) -> Any:
            if any(isinstance(arg, Tracer) for arg in args):
                return _record(called, args, options)
            return function(*args, **options)

        VJP_RULES[called] = pulls.__getitem__ if len(pulls) != 1 else lambda _: pulls[0]
        return called

    return make


def start_trace(values: list) -> list[Tracer]:
    """Begin a trace at these arrays."""
    level = next(_serial)
    return [Tracer(value, level) for value in values]


def backpropagate(end: Tracer, slope: Any, starts: list[Tracer]) -> list:
    """Slopes by where a trace began, from the slope by where it ended."""
    waiting = {end.serial: end}
    found = {end.serial: slope}
    while waiting:
        node = waiting.pop(max(waiting))  # younger ones first: all that it was used for is done
        for parent, pull in node.parents:
            more = pull(found[node.serial])
            old = found.get(parent.serial)
            found[parent.serial] = more if old is None else old + more
            waiting[parent.serial] = parent
        if node.parents:
            del found[node.serial]
    return [found.get(each.serial, np.zeros_like(primal(each))) for each in starts]
