"""Ctrl-C as KeyboardInterrupt, wherever it strikes.

Python runs the handler of a signal between two instructions, also between those by which compiled
code hands over its result. CPython then finds a result together with an error, and raises a
SystemError that has the error of the handler as its cause. `except KeyboardInterrupt` would miss
it, and `except Exception` would swallow it.
"""

from __future__ import annotations

from types import TracebackType


def find_interrupt(problem: BaseException | None) -> BaseException | None:
    """What a signal's handler raised, where a SystemError stands in its place; else None.

    Examples
    --------
    >>> wrapped = SystemError("<dispatcher> returned a result with an exception set")
    >>> wrapped.__cause__ = KeyboardInterrupt()
    >>> find_interrupt(wrapped), find_interrupt(ValueError("other"))
    (KeyboardInterrupt(), None)
    """
    if not isinstance(problem, SystemError):
        return None
    cause = problem.__cause__ or problem.__context__
    return find_interrupt(cause) or cause


class unwrap_interrupts:  # noqa: N801  reads as a phrase in `with unwrap_interrupts():`
    """Raise what the handler of a signal raised, not the SystemError around it."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and (interrupt := find_interrupt(problem)) is not None:
            raise interrupt.with_traceback(trace) from None
