"""Encoded training and held-out rows of the folds of a study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from tenfold.automl.schema import cells_to_records, encode_cells
from tenfold.automl.target import TargetScale

_CACHE_BYTES = 2**26  # bytes of encoded folds in memory; beyond it they are encoded again


class EncodedFold(NamedTuple):
    """Encoded rows of one fold.

    Attributes
    ----------
    X, y : training rows, and their standardized target
    held_out, held_out_rows : rows held out, and their indices among the selection rows
    rows : indices of the training rows
    scale : of the target of a regression, else None
    """

    X: Any
    y: np.ndarray
    held_out: Any
    held_out_rows: np.ndarray
    rows: np.ndarray
    scale: TargetScale | None

    @property
    def nbytes(self) -> int:
        """Memory of the encoded rows."""
        return _nbytes(self.X) + _nbytes(self.held_out)

    def unscale(self, predictions: np.ndarray) -> np.ndarray:
        """Predictions of a model in the scale of the target."""
        return predictions if self.scale is None else self.scale.backward(predictions)


class EncodedFolds:
    """The folds of a study; an encoder is fitted on the training rows of each.

    Parameters
    ----------
    cells : ColumnBatch
        The selection rows, without the target.
    y : (n_rows,) array
        Values, or class indices.
    fold : (n_rows,) array
        The fold in which each row is held out.
    encoder : callable
        Returns an unfitted encoder.
    """

    def __init__(
        self, cells: Any, y: np.ndarray, fold: np.ndarray, encoder: Callable[[], Any]
    ) -> None:
        self.cells, self.y, self.fold, self.encoder = cells, y, fold, encoder
        self.k = int(fold.max()) + 1
        self._cache: dict[int, EncodedFold] = {}

    def __getitem__(self, i: int) -> EncodedFold:
        if i not in self._cache:
            fold = self._encode(i)
            if sum(f.nbytes for f in self._cache.values()) + fold.nbytes > _CACHE_BYTES:
                self._cache.clear()
            self._cache[i] = fold
        return self._cache[i]

    def _encode(self, i: int) -> EncodedFold:
        rows, held_out = np.flatnonzero(self.fold != i), np.flatnonzero(self.fold == i)
        train = self.cells.take(rows)
        encoder = self.encoder().fit(cells_to_records(train))
        y = self.y[rows]
        scale = TargetScale.of(y) if y.dtype.kind == "f" else None
        target = y if scale is None else scale.forward(y)
        test = encode_cells(encoder, self.cells.take(held_out))
        return EncodedFold(encode_cells(encoder, train), target, test, held_out, rows, scale)


def assign_folds(y: np.ndarray, k: int, seed: int) -> np.ndarray:
    """The fold of each row: random, and stratified for classes."""
    splitter: Any = KFold if y.dtype.kind == "f" else StratifiedKFold
    fold = np.empty(len(y), np.int8)
    parts = splitter(k, shuffle=True, random_state=seed).split(np.zeros((len(y), 0)), y)
    for i, (_, held_out) in enumerate(parts):
        fold[held_out] = i
    return fold


def _nbytes(X: Any) -> int:
    return X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
