"""Declarations of chunk functions: what the engine may rely on, and faster forms of them.

Chunk functions without a declaration are plain functions `f(chunk, *state)` at module level.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class DeclaredChunkFunction(Generic[P, R]):
    """A chunk function with declared properties; calling it calls the function.

    Parameters
    ----------
    function : callable (chunk, *state) -> statistic
        The chunk function. For `Rows.carry`: (chunk, columns, *state) -> (statistic, columns).
    propagates_nan : bool
        Whether the statistic is not finite if any number of the chunk is not.
    run_function : callable (run, grid, *state) -> statistic, optional
        The same statistic of many consecutive chunks of `grid` rows, merged in the order of the
        merge tree. For `Rows.carry`: (run, grid, columns, *state) -> (statistic, columns).
    batch_function : callable (chunk, masks, states) -> list of statistics or None, optional
        The statistics for several states at once, each of the rows that its mask selects; None if
        these states cannot be batched.
    needs_rows : bool
        False for functions of `Rows.carry` that read the columns alone where there are any: the
        chunk then has no columns of X, no target and no weights.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        propagates_nan: bool = False,
        run_function: Callable[..., Any] | None = None,
        batch_function: Callable[..., Any] | None = None,
        needs_rows: bool = True,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.propagates_nan = propagates_nan
        self.run_function = run_function
        self.batch_function = batch_function
        self.needs_rows = needs_rows

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<chunk function {self.function.__module__}.{self.function.__qualname__}>"

    def __reduce__(self) -> Any:
        """Pickle by reference, like a function; by value where the reference would not resolve."""
        module = sys.modules.get(self.function.__module__)
        name = self.function.__qualname__
        if self.function.__module__ != "__main__" and getattr(module, name, None) is self:
            return name
        return _rebuild, (self.function, self.properties_dict())

    def properties_dict(self) -> dict[str, Any]:
        return {
            "propagates_nan": self.propagates_nan,
            "run_function": self.run_function,
            "batch_function": self.batch_function,
            "needs_rows": self.needs_rows,
        }


def _rebuild(function: Callable[..., Any], properties: dict[str, Any]) -> Any:
    return DeclaredChunkFunction(function, **properties)


def declare(function: Callable[P, R], **properties: Any) -> DeclaredChunkFunction[P, R]:
    """Add properties to a chunk function, declared already or not."""
    if isinstance(function, DeclaredChunkFunction):
        return DeclaredChunkFunction(function.function, **(function.properties_dict() | properties))
    return DeclaredChunkFunction(function, **properties)


def propagates_nan(function: Callable[P, R]) -> DeclaredChunkFunction[P, R]:
    """Declare that the statistic is not finite if any number of its chunk is not.

    The engine then checks the small statistic, not all rows, for NaN and infinities.
    """
    return declare(function, propagates_nan=True)


def on_runs(
    run_function: Callable[..., Any],
) -> Callable[[Callable[P, R]], DeclaredChunkFunction[P, R]]:
    """Declare a faster form, `run_function(run, grid, *state)`, for many consecutive chunks."""
    return lambda function: declare(function, run_function=run_function)


def batched_by(
    batch_function: Callable[..., Any],
) -> Callable[[Callable[P, R]], DeclaredChunkFunction[P, R]]:
    """Declare a faster form, `batch_function(chunk, masks, states)`, for several states at once."""
    return lambda function: declare(function, batch_function=batch_function)


def columns_only(function: Callable[P, R]) -> DeclaredChunkFunction[P, R]:
    """Declare a function of `Rows.carry` that reads no rows where it is given columns."""
    return declare(function, needs_rows=False)
