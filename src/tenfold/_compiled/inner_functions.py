"""A function that compiled code calls is compiled without wrappers for Python and for C.

numba gives every function a wrapper that takes its arguments out of Python's objects and another
for callers in C, although most calls come from other compiled functions. With a wrapper, a function
is also made executable by itself, besides being a part of its callers. Here a call from compiled
code finds a twin of the function: the same code and the same options, but no wrappers, so that it
waits to be linked with its callers (`code_library`). If Python has called the function already, its
code is there and is shared, as it is by numba.
"""

# ruff: noqa: SLF001 - dispatchers keep caches, counters and twins
from __future__ import annotations

from typing import Any

from numba.core.caching import FunctionCache, NullCache
from numba.core.dispatcher import Dispatcher

_PACKAGE = "tenfold."
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_get_call_template: Any = Dispatcher.get_call_template
_get_overload: Any = Dispatcher.get_overload


class TwinCache(FunctionCache):
    """Keeps the twin of a function in the same files, under keys of its own."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), "twin")


def find_twin(function: Any) -> Any:
    """The function itself or its twin, which is made at the first call from compiled code."""
    if "_twin" not in function.__dict__:
        function._twin = _make_twin(function) if _has_wrappers(function) else function
    return function._twin


def _has_wrappers(function: Any) -> bool:
    """Whether a function of this package has wrappers that compiled code does not need.

    One that calls itself does so by the address of its machine code, which a twin has not.
    """
    options, code = function.targetoptions, function.py_func.__code__
    return (
        (function.__module__ or "").startswith(_PACKAGE)
        and not options.get("no_cpython_wrapper")
        and not options.get("parallel")
        and code.co_name not in {*code.co_names, *code.co_freevars}
    )


def _make_twin(function: Any) -> Any:
    options = function.targetoptions | _NO_WRAPPERS
    pipeline = function._compiler.pipeline_class
    twin = type(function)(function.py_func, function.locals, options, pipeline_class=pipeline)
    twin._twin = twin
    if not isinstance(function._cache, NullCache):
        twin._cache = TwinCache(function.py_func)
    return twin


def get_call_template(self: Any, args: Any, kws: Any) -> Any:
    """How compiled code calls a function: as Python does if it has, or else by the twin."""
    _, folded = self._compiler.fold_argument_types(args, kws)
    known = tuple(folded) in self.overloads
    return _get_call_template(self if known else find_twin(self), args, kws)


def get_overload(self: Any, sig: Any) -> Any:
    """The compiled function for a signature that compiled code calls."""
    twin = find_twin(self)
    return _get_overload(twin if twin is self or tuple(sig) in twin.overloads else self, sig)


def use_twins() -> None:
    """Let compiled code call twins from now on."""
    Dispatcher.get_call_template = get_call_template  # type: ignore[method-assign]
    Dispatcher.get_overload = get_overload  # type: ignore[method-assign]
