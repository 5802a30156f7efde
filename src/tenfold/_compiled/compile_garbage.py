"""No search for garbage while numba compiles.

A compilation makes millions of objects, most of which live until it ends. Python's collector would
look through them again and again: about a tenth of the time of a first fit.
"""

from __future__ import annotations

import gc
from functools import wraps
from typing import Any

from numba.core.dispatcher import Dispatcher

_compile: Any = Dispatcher.compile


@wraps(_compile)
def compile_uncollected(self: Any, sig: Any) -> Any:
    """Compile a function, or load it from the cache, and let the collector wait."""
    if not gc.isenabled():  # a function that another one calls
        return _compile(self, sig)
    gc.disable()
    try:
        return _compile(self, sig)
    finally:
        gc.enable()


Dispatcher.compile = compile_uncollected
