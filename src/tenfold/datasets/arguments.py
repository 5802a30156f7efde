"""Arguments that several loaders and generators share, checked once with one wording."""

import math
import operator
from collections.abc import Iterable

import numpy as np

Seed = int | np.random.Generator | np.random.RandomState | None


def check_count(name: str, value: int, least: int = 1) -> int:
    """Return an integer that is at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def check_scale(name: str, value: float) -> float:
    """Return a finite number that is not negative."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and not negative, got {value!r}")
    return float(value)


def check_share(name: str, value: float) -> float:
    """Return a number between 0 and 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
    return float(value)


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return one of the names that are offered."""
    offered = list(choices)
    if value not in offered:
        raise ValueError(f"{name} must be one of {offered}, got {value!r}")
    return value
