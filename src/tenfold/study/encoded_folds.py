"""The rows that models are chosen by: split into folds, and encoded within each fold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from tenfold.study.encoding import as_records, encoded
from tenfold.study.targets import TargetScale

KEPT_BYTES = 2**26  # encoded folds that are kept; beyond it they are encoded anew when needed


class EncodedFold(NamedTuple):
    """Encoded rows of one fold.

    Attributes
    ----------
    X, y : rows to learn from, and the target as models see it
    held, held_rows : rows to be judged by, and their numbers among the choosing rows
    rows : numbers of the rows to learn from
    scale : of the target of a regression, else None
    """

    X: Any
    y: np.ndarray
    held: Any
    held_rows: np.ndarray
    rows: np.ndarray
    scale: TargetScale | None

    @property
    def nbytes(self) -> int:
        """Memory of the encoded rows."""
        return _nbytes(self.X) + _nbytes(self.held)

    def seen(self, said: np.ndarray) -> np.ndarray:
        """Predictions of a model as people see them."""
        return said if self.scale is None else self.scale.backward(said)


class EncodedFolds:
    """The folds of a study; an encoder learns from the training rows of each.

    Parameters
    ----------
    cells : Cells
        The choosing rows, without the target.
    y : (n,) array
        Values, or class numbers.
    fold : (n,) array
        The fold in which each row is held out.
    encoder : callable
        Makes an unfitted encoder.
    """

    def __init__(
        self, cells: Any, y: np.ndarray, fold: np.ndarray, encoder: Callable[[], Any]
    ) -> None:
        self.cells, self.y, self.fold, self.encoder = cells, y, fold, encoder
        self.k = int(fold.max()) + 1
        self._kept: dict[int, EncodedFold] = {}

    def __getitem__(self, i: int) -> EncodedFold:
        if i not in self._kept:
            made = self._encoded(i)
            if sum(each.nbytes for each in self._kept.values()) + made.nbytes > KEPT_BYTES:
                self._kept.clear()
            self._kept[i] = made
        return self._kept[i]

    def _encoded(self, i: int) -> EncodedFold:
        rows, held = np.flatnonzero(self.fold != i), np.flatnonzero(self.fold == i)
        learn = self.cells.take(rows)
        encoder = self.encoder().fit(as_records(learn))
        y = self.y[rows]
        scale = TargetScale.of(y) if y.dtype.kind == "f" else None
        target = y if scale is None else scale.forward(y)
        judge = encoded(encoder, self.cells.take(held))
        return EncodedFold(encoded(encoder, learn), target, judge, held, rows, scale)


def fold_numbers(y: np.ndarray, k: int, seed: int) -> np.ndarray:
    """The fold of each row: at random, and stratified for classes."""
    splitter: Any = KFold if y.dtype.kind == "f" else StratifiedKFold
    fold = np.empty(len(y), np.int8)
    parts = splitter(k, shuffle=True, random_state=seed).split(np.zeros((len(y), 0)), y)
    for i, (_, held) in enumerate(parts):
        fold[held] = i
    return fold


def _nbytes(X: Any) -> int:
    return X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
