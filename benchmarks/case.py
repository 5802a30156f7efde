"""What a benchmark case is: a model, its data, how good a fit is, and what nobody can avoid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Data(NamedTuple):
    """Rows, their target, and parameters that depend on them (first centres)."""

    X: np.ndarray
    y: np.ndarray | None = None
    params: dict[str, Any] = {}
    note: str = ""

    def head(self, rows: int) -> Data:
        y = None if self.y is None else self.y[:rows]
        return self._replace(X=self.X[:rows], y=y)


class Quality(NamedTuple):
    """A figure of a fitted model, and how much worse than a peer's it may be to count as equal."""

    name: str
    of: Callable[[Any, Data], float]
    tolerance: float  # a share of the figure
    lower_is_better: bool = True

    def as_good(self, ours: float, theirs: float) -> bool:
        worse = ours - theirs if self.lower_is_better else theirs - ours
        return worse <= self.tolerance * abs(theirs)


class Limit(NamedTuple):
    """Work that no program avoids: `way(fitted model, rows)` on all rows, `passes` times.

    Several ways to do the same work: the fastest counts.
    """

    name: str
    ways: tuple[Callable[[Any, np.ndarray], Any], ...]
    passes: Callable[[Any], int]


class Case(NamedTuple):
    """One model on one data set, against all peers that have it."""

    name: str
    model: str  # the name of the class, which is the same everywhere
    data: Callable[[int], Data]  # its argument divides the number of rows
    quality: Quality
    limit: Limit
    target: float  # times faster than scikit-learn
    params: dict[str, Any] = {}
    seeded: bool = False  # round i is fitted with random_state=i
    rounds: int = 5


def once(_: Any) -> int:
    """Passes of a model that needs no rounds."""
    return 1


def rounds_of(model: Any) -> int:
    """Rounds that an iterative model took (some libraries give an array), 0 if it has none."""
    rounds = getattr(model, "n_iter_", None)
    return 0 if rounds is None else int(np.max(rounds))
