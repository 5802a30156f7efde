"""Marks of chunk functions: what the engine may rely on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable)


def propagates_nan(leaf: F) -> F:
    """Mark a leaf whose statistic is not finite if any number of its chunk is not.

    The engine then looks at the small statistic, not at all rows, for NaN and infinities.
    """
    leaf.shows_nan = True  # type: ignore[attr-defined]
    return leaf


def on_runs(at_once: Callable) -> Callable[[F], F]:
    """Mark a leaf that has another way, `at_once(run, grid, *state)`, for many chunks in a row.

    Its result must be the leaf's own on chunks of `grid` rows, merged in the order of the tree.
    """

    def mark(leaf: F) -> F:
        leaf.on_runs = at_once  # type: ignore[attr-defined]
        return leaf

    return mark
