"""Arguments made of several arrays: lists, tuples and dicts of them, as deep as one likes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def flat(tree: Any) -> tuple[list, Callable[[list], Any]]:
    """The arrays of a structure in order, and the function that puts others in their place."""
    if isinstance(tree, dict):
        return _several(list(tree.values()), lambda parts: dict(zip(tree, parts, strict=True)))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return _several(list(tree), lambda parts: type(tree)(*parts))
    if isinstance(tree, list | tuple):
        return _several(list(tree), type(tree))
    return [tree], lambda parts: parts[0]


def _several(parts: list, together: Callable[[list], Any]) -> tuple[list, Callable[[list], Any]]:
    inner = [flat(part) for part in parts]

    def rebuild(arrays: list) -> Any:
        rest = iter(arrays)
        return together([again([next(rest) for _ in own]) for own, again in inner])

    return [array for own, _ in inner for array in own], rebuild


def floats(x: Any) -> Any:
    """Numbers that have slopes: whole ones become floats; traced ones stay."""
    from tenfold.maths.differentiate.traced import Traced

    if isinstance(x, Traced):
        return x
    x = np.asarray(x)
    if x.dtype.kind not in "iubf":
        raise TypeError(f"derivatives are taken by real numbers, not by {x.dtype}")
    return x if x.dtype.kind == "f" else x.astype(np.float64)
