"""Arrays that remember how they were made, and the way back through what they remember.

A `Traced` array holds a value and, for each array that it was made from, a *pull*: the function
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

Pull = Callable[..., Any]  # pull(slope by the result, result, *arguments, **options)

PULLS: dict[Callable, Callable[[int], Pull]] = {}  # of each function: the pull of its i-th argument
COMPOSED: dict[Callable, Callable] = {}  # functions that are written as others
FLAT: set[Callable] = set()  # functions without a slope: comparisons, shapes, signs
REDUCTIONS: dict[np.ufunc, Callable] = {}  # what `ufunc.reduce` is called elsewhere
METHODS: dict[str, Callable] = {}  # of arrays, as functions

_serial = count()


class NoRuleError(TypeError):
    """A function of arrays that cannot be differentiated here."""


class Traced(NDArrayOperatorsMixin):
    """An array, or a number, that remembers how it was made."""

    __array_priority__ = 1000

    def __init__(self, value: Any, level: int, made_from: tuple = ()) -> None:
        self.value, self.level, self.made_from = value, level, made_from
        self.serial = next(_serial)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", (None,))[0]
        if out is not None and not isinstance(out, Traced):
            raise NoRuleError(
                f"np.{ufunc.__name__} would write a traced array into a plain one: write "
                "`a = a + b`, not `a += b` or `out=a`"
            )
        if method == "reduce" and ufunc in REDUCTIONS:
            return REDUCTIONS[ufunc](*inputs, **{"axis": 0, **options})
        if method != "__call__" or options:
            raise NoRuleError(f"np.{ufunc.__name__}.{method} with {options} has no derivative here")
        return dispatched(ufunc, inputs, {})

    def __array_function__(self, function: Callable, types: Any, args: Any, options: Any) -> Any:
        return dispatched(function, args, options)

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
        return METHODS["__getitem__"](self, index)

    def __getattr__(self, name: str) -> Any:
        if name in {"shape", "ndim", "size", "dtype"}:
            return getattr(self.value, name)
        if name == "T":
            return np.transpose(self)
        if name in METHODS:
            return partial(METHODS[name], self)
        raise AttributeError(f"a traced array has no {name!r}: use a function of NumPy")

    def __repr__(self) -> str:
        return f"Traced({self.value!r})"


def is_traced(x: Any) -> bool:
    """Whether x is, or is a sequence with, a traced array."""
    if isinstance(x, list | tuple):
        return any(map(is_traced, x))
    return isinstance(x, Traced)


def plain(x: Any) -> Any:
    """The numbers themselves, without any trace."""
    while isinstance(x, Traced):
        x = x.value
    return [plain(each) for each in x] if isinstance(x, list | tuple) and is_traced(x) else x


def dispatched(function: Callable, args: Any, options: Any) -> Any:
    """The result of a function of which some arguments are traced."""
    if function in COMPOSED:
        return COMPOSED[function](*args, **options)
    if function in FLAT:
        return function(*map(plain, args), **options)
    if function not in PULLS:
        name = getattr(function, "__name__", str(function))
        raise NoRuleError(
            f"{name} has no derivative here: write it with other functions of NumPy, or take "
            "finite differences (tenfold.maths.numerical_gradient)"
        )
    if any(map(is_traced, options.values())):
        raise NoRuleError(f"arrays are given to {function.__name__} by position, not by name")
    return recorded(function, args, options)


def recorded(function: Callable, args: tuple, options: dict) -> Traced:
    """The result with its pulls, in the newest of the traces that the arguments belong to."""
    level = max(arg.level for arg in args if isinstance(arg, Traced))
    mine = [i for i, arg in enumerate(args) if isinstance(arg, Traced) and arg.level == level]
    values = [arg.value if i in mine else arg for i, arg in enumerate(args)]
    result = function(*values, **options)
    pull_of = PULLS[function]
    back = tuple((args[i], partial(_pulled, pull_of(i), result, values, options)) for i in mine)
    return Traced(result, level, back)


def _pulled(pull: Pull, result: Any, values: list, options: dict, slope: Any) -> Any:
    return pull(slope, result, *values, **options)


def primitive(*pulls: Pull) -> Callable[[Callable], Callable]:
    """Give a function of our own a pull for each of its first arguments."""

    def make(function: Callable) -> Callable:
        @wraps(function)
        def called(*args: Any, **options: Any) -> Any:
            if any(isinstance(arg, Traced) for arg in args):
                return recorded(called, args, options)
            return function(*args, **options)

        PULLS[called] = pulls.__getitem__ if len(pulls) != 1 else lambda _: pulls[0]
        return called

    return make


def start(values: list) -> list[Traced]:
    """Begin a trace at these arrays."""
    level = next(_serial)
    return [Traced(value, level) for value in values]


def slopes(end: Traced, slope: Any, starts: list[Traced]) -> list:
    """Slopes by where a trace began, from the slope by where it ended."""
    waiting = {end.serial: end}
    found = {end.serial: slope}
    while waiting:
        node = waiting.pop(max(waiting))  # younger ones first: all that it was used for is done
        for parent, pull in node.made_from:
            more = pull(found[node.serial])
            old = found.get(parent.serial)
            found[parent.serial] = more if old is None else old + more
            waiting[parent.serial] = parent
        if node.made_from:
            del found[node.serial]
    return [found.get(each.serial, np.zeros_like(plain(each))) for each in starts]
