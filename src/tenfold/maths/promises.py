"""What a leaf promises to the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable)


def shows_nan(leaf: F) -> F:
    """Mark a leaf whose statistic is not finite if any number of its chunk is not.

    The engine then looks at the small statistic, not at all rows, for NaN and infinities.
    """
    leaf.shows_nan = True  # type: ignore[attr-defined]
    return leaf
