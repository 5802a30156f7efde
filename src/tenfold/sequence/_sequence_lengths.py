"""Lengths of sequences whose steps lie below each other, and other numbers of steps."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from tenfold.io.sequences import offsets_from_lengths


def check_lengths(lengths: Any, n_steps: int) -> np.ndarray:
    """Edges of sequences; one sequence, if no lengths are given.

    Examples
    --------
    >>> check_lengths([2, 0, 1], 3).tolist()
    [0, 2, 2, 3]
    """
    given = np.array([n_steps]) if lengths is None else np.asarray(lengths)
    numbers = given.ndim == 1 and given.dtype.kind in "iuf" and bool(np.isfinite(given).all())
    if not numbers or (given != np.floor(given)).any():
        raise ValueError(f"lengths={lengths!r}: give one whole number for each sequence")
    if (given < 0).any():
        raise ValueError(
            f"lengths: sequence {int(np.argmin(given))} has {given.min()} steps: give 0 or more"
        )
    if given.sum() != n_steps:
        shown = given.astype(int).tolist()
        shown = shown if len(shown) <= 10 else f"of {len(shown)} sequences"
        raise ValueError(
            f"lengths array {shown} doesn't sum to {n_steps} samples, but to "
            f"{int(given.sum())}: give the length of each sequence"
        )
    return offsets_from_lengths(given)


def check_whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number that is at least `least`.

    Examples
    --------
    >>> check_whole("lag", -1, least=0)
    Traceback (most recent call last):
    ValueError: lag=-1: give a whole number, 0 or more
    """
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r}: give a whole number, {least} or more")
    return int(value)
