"""The engine in scope, and what the caller of a fit knows about it beyond the rows."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenfold.engine.protocols import Engine

_current_engine: contextvars.ContextVar[Engine | None] = contextvars.ContextVar(
    "engine", default=None
)


@dataclass(frozen=True)
class FitContext:
    """What the caller of a fit knows about it beyond the rows.

    Attributes
    ----------
    is_path : whether the fits to these rows follow a path of parameters, each from the solution of
        the last: a solver must not stop at a start that was good enough for other parameters
    """

    is_path: bool = False


def current_engine() -> Engine | None:
    """The engine of the innermost `use_engine`, or None: threads of this process."""
    return _current_engine.get()


@contextmanager
def use_engine(engine: Engine) -> Iterator[None]:
    """Let rows that are opened in this block be computed by an engine."""
    before = _current_engine.get()
    try:
        _current_engine.set(engine)
        yield
    finally:
        _current_engine.set(before)
