"""What the ladder knows of an encoded table when it makes models for it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

SEEN_ROWS = 5000  # rows that are looked at
FEW_VALUES = 10  # a column of no more different values is no continuous one


class Facts:
    """An encoded table, as the makers of models see it.

    Parameters
    ----------
    X : (n, p) array or CSR matrix
        Encoded rows to learn from.
    task : str
        "regression", "two-class" or "multi-class".
    k : int or None
        Number of classes.
    seed : int
        For drawn features.
    """

    def __init__(self, X: Any, task: str, k: int | None, seed: int) -> None:
        self.task, self.k, self.seed = task, k, seed
        self.n, self.p = X.shape
        self.sparse = issparse(X)
        step = max(self.n // SEEN_ROWS, 1)
        self.seen: Any = X[::step]

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted."""
        return self.k is not None

    @cached_property
    def continuous(self) -> list[int]:
        """Numbers of the columns with many different values."""
        if self.sparse:
            return []
        columns = enumerate(np.sort(self.seen, axis=0).T)
        return [j for j, x in columns if np.count_nonzero(np.diff(x)) >= FEW_VALUES]

    @cached_property
    def counts(self) -> bool:
        """Whether no entry is negative, as in counts of words."""
        return bool(self.seen.min() >= 0)

    @cached_property
    def yes_or_no(self) -> np.ndarray:
        """(p,) whether a column holds zeros and ones alone."""
        return ((self.seen == 0) | (self.seen == 1)).all(axis=0)
